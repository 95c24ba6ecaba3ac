"""Only what Slack provably sent is read, and it is read as what it is."""

from __future__ import annotations

import ast
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from app.ports import CallbackRejectedError, Challenge, Click, HttpAnswer, Ignored, InboundCall
from channels.slack import callback
from channels.slack.callback import parse_payload, read_call, sign

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
FORM = ("content-type", "application/x-www-form-urlencoded")
PRESS: dict[str, object] = {
    "type": "block_actions",
    "user": {"id": "U061F7AUR", "username": "bob", "name": "bob", "team_id": "T9TK3CUKW"},
    "api_app_id": "A0APPR0VAL",
    "token": "Nj2rfC2hU8mAfgaJLemZgO7H",
    "container": {
        "type": "message",
        "message_ts": "1700000000.123459",
        "channel_id": "CBR2V3XEX",
        "is_ephemeral": False,
    },
    "trigger_id": "12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3",
    "team": {"id": "T9TK3CUKW", "domain": "example-corp"},
    "enterprise": None,
    "is_enterprise_install": False,
    "channel": {"id": "CBR2V3XEX", "name": "agent-approvals"},
    "message": {"ts": "1700000000.123459", "text": "Approval needed"},
    "state": {"values": {}},
    "response_url": "https://hooks.slack.com/actions/T9TK3CUKW/6209934123456/AbCdEf",
    "actions": [
        {
            "action_id": "assent_approve",
            "block_id": "assent_decision",
            "value": "sealed-approve",
            "type": "button",
            "action_ts": "1700000012.345678",
        }
    ],
}
PLACE = {"v": 1, "token": "sealed-deny", "chat": "CBR2V3XEX", "ts": "1700000000.123459", "fields": ["reason"]}
SUBMISSION: dict[str, object] = {
    "type": "view_submission",
    "team": {"id": "T9TK3CUKW", "domain": "example-corp"},
    "user": {"id": "U061F7AUR", "username": "bob", "name": "bob", "team_id": "T9TK3CUKW"},
    "api_app_id": "A0APPR0VAL",
    "trigger_id": "12321423424.333649436676.0b1c",
    "view": {
        "id": "V06DENY0001",
        "type": "modal",
        "callback_id": "assent_form_modal",
        "private_metadata": json.dumps(PLACE),
        "state": {
            "values": {
                "assent_field_reason": {
                    "assent_answer_reason": {"type": "plain_text_input", "value": "Wrong payee <@U061F7AUR> 请先确认"}
                }
            }
        },
        "hash": "1700000020.aBcDeFgH",
    },
    "response_urls": [],
}


def call(body: bytes, *, secret: str = SECRET, at: datetime = NOW, kind: tuple[str, str] = FORM) -> InboundCall:
    stamp = str(int(at.timestamp()))
    mac = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    headers = (kind, ("x-slack-request-timestamp", stamp), ("x-slack-signature", f"v0={mac}"))
    return InboundCall(headers=headers, body=body)


def form(payload: object) -> bytes:
    return urlencode({"payload": payload if isinstance(payload, str) else json.dumps(payload)}).encode()


def read(inbound: InboundCall, *, app_id: str = "A0APPR0VAL") -> object:
    return read_call(inbound, signing_secrets=(SECRET,), app_id=app_id, now=NOW)


def without(inbound: InboundCall, name: str) -> InboundCall:
    return InboundCall(headers=tuple(pair for pair in inbound.headers if pair[0] != name), body=inbound.body)


def having(inbound: InboundCall, name: str, value: str) -> InboundCall:
    return InboundCall(headers=(*without(inbound, name).headers, (name, value)), body=inbound.body)


def twice(inbound: InboundCall, name: str) -> InboundCall:
    return InboundCall(headers=(*inbound.headers, (name, inbound.header(name) or "")), body=inbound.body)


# --- proof ------------------------------------------------------------------------------------------------------------


def test_the_signature_of_slacks_own_example_is_reproduced() -> None:
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    assert sign(body, stamp="1531420618", signing_secret=SECRET) == expected


GOOD = call(form(PRESS))
SIGNATURE = GOOD.header("x-slack-signature") or ""

FORGED: dict[str, InboundCall] = {
    "unsigned": InboundCall(headers=(FORM,), body=GOOD.body),
    "without a signature": without(GOOD, "x-slack-signature"),
    "without a time-stamp": without(GOOD, "x-slack-request-timestamp"),
    "with two signatures": twice(GOOD, "x-slack-signature"),
    "with two time-stamps": twice(GOOD, "x-slack-request-timestamp"),
    "with two content types": twice(GOOD, "content-type"),
    "with a header that was not lower-cased": InboundCall(
        headers=tuple((name.title(), value) for name, value in GOOD.headers), body=GOOD.body
    ),
    "with another secret": call(form(PRESS), secret="another secret of the same kind"),
    "with an empty secret": call(form(PRESS), secret=""),
    "with an empty signature": having(GOOD, "x-slack-signature", ""),
    "with a truncated signature": having(GOOD, "x-slack-signature", SIGNATURE[:-1]),
    "with a longer signature": having(GOOD, "x-slack-signature", SIGNATURE + "0"),
    "with a signature in capitals": having(GOOD, "x-slack-signature", SIGNATURE.upper()),
    "with another version": having(GOOD, "x-slack-signature", SIGNATURE.replace("v0=", "v1=")),
    "with a signature that is not ASCII": having(GOOD, "x-slack-signature", "v0=é" + SIGNATURE[4:]),
    "with one byte changed": InboundCall(headers=GOOD.headers, body=GOOD.body[:-1] + b"0"),
    "with a byte more": InboundCall(headers=GOOD.headers, body=GOOD.body + b"&"),
    "with the JSON written anew": InboundCall(headers=GOOD.headers, body=form(json.dumps(PRESS, indent=1))),
    "with an empty body": InboundCall(headers=GOOD.headers, body=b""),
    "too old": call(form(PRESS), at=NOW - timedelta(seconds=301)),
    "from the future": call(form(PRESS), at=NOW + timedelta(seconds=301)),
    "with a time that is no number": having(GOOD, "x-slack-request-timestamp", "now"),
    "with a fraction of a second": having(GOOD, "x-slack-request-timestamp", "1772359200.0"),
    "with a negative time": having(GOOD, "x-slack-request-timestamp", "-1772359200"),
    "with other digits": having(GOOD, "x-slack-request-timestamp", "１７７２３５９２００"),
    "with an endless number": having(GOOD, "x-slack-request-timestamp", "9" * 5000),
    "with an empty time": having(GOOD, "x-slack-request-timestamp", ""),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_a_call_that_is_not_proven_is_rejected(forged: InboundCall) -> None:
    with pytest.raises(CallbackRejectedError) as rejection:
        read(forged)
    assert SIGNATURE[3:] not in rejection.value.why
    assert SECRET not in rejection.value.why


@pytest.mark.parametrize("seconds", [-300, 0, 300])
def test_five_minutes_either_way_are_allowed(seconds: int) -> None:
    assert isinstance(read(call(form(PRESS), at=NOW + timedelta(seconds=seconds))), Click)


def test_nothing_is_parsed_before_the_signature_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("parsed an unproven body")

    monkeypatch.setattr(callback, "parse_qsl", never)  # the order is the promise; only the parser itself can tell it
    monkeypatch.setattr(callback, "parse_json", never)
    with pytest.raises(CallbackRejectedError, match="signature"):
        read(FORGED["with another secret"])


def test_signatures_are_compared_in_constant_time() -> None:
    tree = ast.parse(Path(callback.__file__).read_text(encoding="utf-8"))
    verify = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "verify")
    called = [ast.unparse(node.func) for node in ast.walk(verify) if isinstance(node, ast.Call)]
    compared = [ast.unparse(node) for node in ast.walk(verify) if isinstance(node, ast.Compare)]
    assert "hmac.compare_digest" in called
    assert not [text for text in compared if "expected" in text]


# --- form -------------------------------------------------------------------------------------------------------------

DEEP = '{"a":' * 100_000

MALFORMED: dict[str, InboundCall] = {
    "two payloads": call(form(PRESS) + b"&" + form(PRESS)),
    "no payload": call(b"token=x&command=%2Fapprove"),
    "no form at all": call(b"payload"),
    "a broken form": call(b"payload=%7B%7D&&"),
    "bytes that are not UTF-8": call(b"payload=%ff%fe"),
    "raw bytes that are not ASCII": call('payload={"type":"é"}'.encode()),
    "broken JSON": call(form('{"type": "block_actions"')),
    "JSON that is a list": call(form("[]")),
    "JSON that is no number": call(form('{"type": NaN}')),
    "JSON without an end": call(form(DEEP)),
    "a name twice": call(form(json.dumps(PRESS)[:-1] + ', "type": "block_actions"}')),
    "a name twice, deep inside": call(
        form(json.dumps(PRESS).replace('"id": "U061F7AUR"', '"id": "U0EVIL", "id": "U1"'))
    ),
    "no type": call(form({})),
    "a type that is no text": call(form({"type": 1})),
    "a press in JSON with no form": call(json.dumps(PRESS).encode(), kind=("content-type", "text/plain")),
    "no content type": without(call(form(PRESS)), "content-type"),
    "an event without a type": call(b"{}", kind=("content-type", "application/json")),
}


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED)
def test_a_signed_call_in_another_form_is_rejected(malformed: InboundCall) -> None:
    with pytest.raises(CallbackRejectedError):
        read(malformed)


def changed(payload: dict[str, object], change: Callable[[dict[str, object]], None]) -> dict[str, object]:
    copy: dict[str, object] = json.loads(json.dumps(payload))
    change(copy)
    return copy


def chosen_payload(**changes: object) -> dict[str, object]:
    action: dict[str, object] = {
        "type": "overflow",
        "action_id": "assent_menu",
        "block_id": "assent_decision:a1.0123abcd.handle",
        "selected_option": {"value": "h.00"},
        "action_ts": "1700000012.345678",
    }
    return {**PRESS, "actions": [{**action, **changes}]}


def answered(values: object) -> dict[str, object]:
    return changed(SUBMISSION, lambda p: p["view"].update(state={"values": values}))  # type: ignore[attr-defined]


CROOKED: dict[str, dict[str, object]] = {
    "another app": {**PRESS, "api_app_id": "A0THER"},
    "no app": {k: v for k, v in PRESS.items() if k != "api_app_id"},
    "no user": {**PRESS, "user": None},
    "a user id that is a number": {**PRESS, "user": {"id": 5, "team_id": "T9TK3CUKW"}},
    "an empty user id": {**PRESS, "user": {"id": "", "team_id": "T9TK3CUKW"}},
    "no workspace anywhere": {**PRESS, "team": None, "user": {"id": "U1"}},
    "no action": {**PRESS, "actions": []},
    "two actions": changed(PRESS, lambda p: p.update(actions=[*p["actions"], *p["actions"]])),  # type: ignore[misc]
    "an action without a value": changed(PRESS, lambda p: p["actions"][0].pop("value")),  # type: ignore[index]
    "an action of another type": changed(PRESS, lambda p: p["actions"][0].update(type="overflow")),  # type: ignore[index]
    "a button that brings a choice": changed(
        PRESS,
        lambda p: p["actions"][0].update(selected_option={"value": "h.00"}),  # type: ignore[index]
    ),
    "a menu that brings a value": chosen_payload(value="sealed-approve"),
    "a menu that is a button": chosen_payload(type="button"),
    "a menu of another kind": chosen_payload(type="multi_static_select"),
    "a menu without a choice": chosen_payload(selected_option=None),
    "a menu in a block that is not ours": chosen_payload(block_id="assent_decision"),
    "a menu with half a token in its block": chosen_payload(block_id="assent_decision:a1.0123abcd"),
    "a menu with more than a token in its block": chosen_payload(block_id="assent_decision:a1.0123abcd.x.y"),
    "an option with a whole token": chosen_payload(selected_option={"value": "a1.k.h.y.00"}),
    "an option without a letter": chosen_payload(selected_option={"value": "00ff"}),
    "an option with something behind it": chosen_payload(selected_option={"value": "h.00.form.x"}),
    "an option with a line break behind it": chosen_payload(selected_option={"value": "h.00\n"}),
    "two different channels": {**PRESS, "channel": {"id": "C0THER"}},
    "no channel": {**PRESS, "channel": None},
    "no message": changed(PRESS, lambda p: p["container"].pop("message_ts")),  # type: ignore[attr-defined]
    "a modal of another app": {**SUBMISSION, "api_app_id": "A0THER"},
    "a modal without our place": changed(SUBMISSION, lambda p: p["view"].update(private_metadata="")),  # type: ignore[attr-defined]
    "a modal with more than our place": changed(
        SUBMISSION,
        lambda p: p["view"].update(private_metadata=json.dumps({**PLACE, "user": "U0EVIL"})),  # type: ignore[attr-defined]
    ),
    "a modal without its field": answered({}),
    "a modal with a field more": answered(
        {
            **SUBMISSION["view"]["state"]["values"],  # type: ignore[index]
            "assent_field_person": {"assent_answer_person": {"type": "users_select", "selected_user": "U0EVIL"}},
        }
    ),
    "a modal with another field's answer": answered(
        {"assent_field_reason": {"assent_answer_note": {"type": "plain_text_input", "value": "x"}}}
    ),
    "a modal with two answers": answered(
        {
            "assent_field_reason": {
                "assent_answer_reason": {"type": "plain_text_input", "value": "x"},
                "assent_answer_note": {"type": "plain_text_input", "value": "x"},
            }
        }
    ),
    "a modal with an answer of another kind": answered(
        {"assent_field_reason": {"assent_answer_reason": {"type": "datepicker", "selected_date": "2026-03-01"}}}
    ),
    "a modal with a text that names a person": answered(
        {"assent_field_reason": {"assent_answer_reason": {"type": "plain_text_input", "selected_user": "U0EVIL"}}}
    ),
    "a modal with a person who is none": answered(
        {"assent_field_reason": {"assent_answer_reason": {"type": "users_select", "selected_user": "<!here>"}}}
    ),
    "a modal with a person who is a text": answered(
        {"assent_field_reason": {"assent_answer_reason": {"type": "users_select", "value": "U0B0B00001"}}}
    ),
    "a modal with a vast text": answered(
        {"assent_field_reason": {"assent_answer_reason": {"type": "plain_text_input", "value": "x" * 3001}}}
    ),
    "a modal whose field has a strange name": changed(
        SUBMISSION,
        lambda p: p["view"].update(private_metadata=json.dumps({**PLACE, "fields": ["<!here>"]})),  # type: ignore[attr-defined]
    ),
    "a modal that names a field twice": changed(
        SUBMISSION,
        lambda p: p["view"].update(private_metadata=json.dumps({**PLACE, "fields": ["reason", "reason"]})),  # type: ignore[attr-defined]
    ),
    "a modal with a name twice in its place": changed(
        SUBMISSION,
        lambda p: p["view"].update(private_metadata='{"v":1,"token":"a","token":"b","chat":"C","ts":"1"}'),  # type: ignore[attr-defined]
    ),
    "a modal whose place is of another version": changed(
        SUBMISSION,
        lambda p: p["view"].update(private_metadata=json.dumps({**PLACE, "v": 2})),  # type: ignore[attr-defined]
    ),
}


@pytest.mark.parametrize("payload", CROOKED.values(), ids=CROOKED)
def test_webhook_and_socket_mode_reject_the_same_crooked_payloads(payload: dict[str, object]) -> None:
    with pytest.raises(CallbackRejectedError):
        read(call(form(payload)))
    with pytest.raises(CallbackRejectedError):
        parse_payload(payload, app_id="A0APPR0VAL")


def test_an_app_that_is_not_pinned_is_told_on_rather_than_compared() -> None:
    click = read(call(form({**PRESS, "api_app_id": "A0THER"})), app_id="")
    assert isinstance(click, Click)
    assert click.app_id == "A0THER"


# --- meaning ----------------------------------------------------------------------------------------------------------


def test_a_press_names_the_person_the_place_and_the_token() -> None:
    assert read(call(form(PRESS))) == Click(
        token="sealed-approve",
        app_id="A0APPR0VAL",
        tenant="T9TK3CUKW",
        account_id="U061F7AUR",
        chat_id="CBR2V3XEX",
        message_id="1700000000.123459",
        event_key="1700000000.123459:U061F7AUR:assent_approve:1700000012.345678",
        reply_to="https://hooks.slack.com/actions/T9TK3CUKW/6209934123456/AbCdEf",
        trigger="12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3",
    )


def test_a_redelivery_has_the_same_key_and_another_press_another() -> None:
    first, again = read(call(form(PRESS))), read(call(form(PRESS), at=NOW + timedelta(seconds=60)))
    later = changed(PRESS, lambda p: p["actions"][0].update(action_ts="1700000099.000001"))  # type: ignore[index]
    other = read(call(form(later)))
    assert isinstance(first, Click)
    assert isinstance(again, Click)
    assert isinstance(other, Click)
    assert first.event_key == again.event_key != other.event_key


def test_a_press_of_deny_wants_the_reason() -> None:
    payload = changed(PRESS, lambda p: p["actions"][0].update(action_id="assent_deny", value="sealed-deny"))  # type: ignore[index]
    click = read(call(form(payload)))
    assert isinstance(click, Click)
    assert (click.wants_form, click.token, bool(click.trigger)) == (True, "sealed-deny", True)


def test_the_workspace_is_the_persons_own_in_a_shared_channel() -> None:
    click = read(call(form({**PRESS, "user": {"id": "U0FOREIGN", "team_id": "T0FOREIGN"}})))
    assert isinstance(click, Click)
    assert click.tenant == "T0FOREIGN"


@pytest.mark.parametrize(
    ("user", "team", "tenant"),
    [
        ({"id": "U1"}, {"id": "T9TK3CUKW"}, "T9TK3CUKW"),
        ({"id": "U1", "team_id": "T0GRID"}, None, "T0GRID"),
    ],
)
def test_the_workspace_is_found_in_installations_for_a_whole_organisation(
    user: dict[str, str], team: dict[str, str] | None, tenant: str
) -> None:
    click = read(call(form({**PRESS, "user": user, "team": team, "is_enterprise_install": team is None})))
    assert isinstance(click, Click)
    assert click.tenant == tenant


def test_a_submitted_modal_brings_the_reason_and_the_place_it_was_opened_from() -> None:
    reason = "Wrong payee <@U061F7AUR> 请先确认"
    click = read(call(form(SUBMISSION)))
    assert isinstance(click, Click)
    assert click.event_key.startswith("V06DENY0001:U061F7AUR:1700000020.aBcDeFgH:")
    assert replace(click, event_key="") == Click(
        token="sealed-deny",
        app_id="A0APPR0VAL",
        tenant="T9TK3CUKW",
        account_id="U061F7AUR",
        chat_id="CBR2V3XEX",
        message_id="1700000000.123459",
        event_key="",
        reason=reason,
        fields={"reason": reason},
        via_modal=True,
    )


def submitted(*names: str, **values: dict[str, object]) -> dict[str, object]:
    state = {"values": {f"assent_field_{name}": {f"assent_answer_{name}": value} for name, value in values.items()}}
    place = json.dumps({**PLACE, "fields": names})
    return changed(SUBMISSION, lambda p: p["view"].update(private_metadata=place, state=state))  # type: ignore[attr-defined]


PERSON: dict[str, object] = {"type": "users_select", "selected_user": "U0B0B00001"}
NOTE: dict[str, object] = {"type": "plain_text_input", "value": "on leave <!here>"}


def test_a_form_brings_its_fields_in_its_own_order() -> None:
    click = read(call(form(submitted("person", "note", note=NOTE, person=PERSON))))
    assert isinstance(click, Click)
    assert list(click.fields.items()) == [("person", "U0B0B00001"), ("note", "on leave <!here>")]
    assert click.reason is None


def test_fields_that_were_left_empty_are_empty() -> None:
    person = {"type": "users_select", "selected_user": None}
    note = {"type": "plain_text_input", "value": None}
    click = read(call(form(submitted("person", "note", "reason", person=person, note=note, reason=note))))
    assert isinstance(click, Click)
    assert (dict(click.fields), click.reason) == ({"person": "", "note": "", "reason": ""}, None)


def test_an_answer_that_was_mended_is_another_click_and_a_redelivery_the_same() -> None:
    first, again = (read(call(form(submitted("note", note=NOTE)), at=NOW + timedelta(seconds=s))) for s in (0, 60))
    mended = read(call(form(submitted("note", note={**NOTE, "value": "back on Monday"}))))
    pressed_again = read(call(form({**submitted("note", note=NOTE), "trigger_id": "12321423424.333649436676.0b1d"})))
    keys = [click.event_key for click in (first, again, mended, pressed_again) if isinstance(click, Click)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


HEAD, MAC = "a1.0123abcd.4jq8w6c1tz5n0v3b7k2m", "0f" * 20


def chosen(value: str, *, block: str = f"assent_decision:{HEAD}", kind: str = "overflow", **more: object) -> object:
    option = {"text": {"type": "plain_text", "text": "Hand over", "emoji": False}, "value": value}
    action = {"type": kind, "action_id": "assent_menu", "block_id": block, "selected_option": option, **more}
    return {**PRESS, "actions": [{"action_ts": "1700000012.345678", **action}]}


@pytest.mark.parametrize("kind", ["overflow", "static_select"])
@pytest.mark.parametrize(("value", "asks"), [(f"h.{MAC}.form", True), (f"r.{MAC}", False)])
@pytest.mark.parametrize("mark", ["", "_3"])
def test_a_choice_from_a_menu_names_the_whole_token(kind: str, value: str, asks: bool, mark: str) -> None:
    block = f"assent_decision{mark}:{HEAD}"
    click = read(call(form(chosen(value, kind=kind, block=block, action_id=f"assent_menu{mark}"))))
    assert isinstance(click, Click)
    assert (click.token, click.wants_form) == (f"{HEAD}.{value.removesuffix('.form')}", asks)
    assert click.message_id == "1700000000.123459"


@pytest.mark.parametrize(
    ("action_id", "asks"),
    [
        ("assent_approve_2", False),
        ("assent_deny_12", True),
        ("assent_use_review", False),
        ("assent_use_remind_4", False),
        ("assent_form_hand_over", True),
        ("assent_form_hand_over_3", True),
    ],
)
def test_every_button_of_ours_says_whether_a_form_comes_first(action_id: str, asks: bool) -> None:
    click = read(call(form(changed(PRESS, lambda p: p["actions"][0].update(action_id=action_id)))))  # type: ignore[index]
    assert isinstance(click, Click)
    assert (click.token, click.wants_form) == ("sealed-approve", asks)
    assert action_id in click.event_key


def test_the_address_is_confirmed_once_it_is_proven() -> None:
    body = json.dumps({"type": "url_verification", "token": "x", "challenge": '3eZbr"w1'}).encode()
    kind = ("content-type", "application/json; charset=utf-8")
    assert read(call(body, kind=kind)) == Challenge(answer=HttpAnswer(body={"challenge": '3eZbr"w1'}))
    with pytest.raises(CallbackRejectedError):
        read(call(body, kind=kind, secret="another secret of the same kind"))


IGNORED: dict[str, InboundCall] = {
    "a certificate check": call(b"ssl_check=1&token=x"),
    "a shortcut": call(form({**PRESS, "type": "shortcut"})),
    "a closed modal": call(form({"type": "view_closed"})),
    "an event": call(b'{"type":"event_callback","event":{}}', kind=("content-type", "application/json")),
    "somebody else's button": call(
        form(changed(PRESS, lambda p: p["actions"][0].update(action_id="poll_vote")))  # type: ignore[index]
    ),
    "a button with more behind our name": call(
        form(changed(PRESS, lambda p: p["actions"][0].update(action_id="assent_approve_now")))  # type: ignore[index]
    ),
    "a modal of ours from before": call(
        form(changed(SUBMISSION, lambda p: p["view"].update(callback_id="assent_deny_modal")))  # type: ignore[attr-defined]
    ),
    "a button on a copy": call(
        form(changed(PRESS, lambda p: p["container"].update(type="message_attachment")))  # type: ignore[attr-defined]
    ),
    "a button on a private note": call(
        form(changed(PRESS, lambda p: p["container"].update(is_ephemeral=True)))  # type: ignore[attr-defined]
    ),
    "somebody else's modal": call(
        form(changed(SUBMISSION, lambda p: p["view"].update(callback_id="poll")))  # type: ignore[attr-defined]
    ),
}


@pytest.mark.parametrize("inbound", IGNORED.values(), ids=IGNORED)
def test_a_genuine_call_that_asks_nothing_of_us_is_ignored(inbound: InboundCall) -> None:
    assert isinstance(read(inbound), Ignored)
