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
PLACE = {"v": 1, "token": "sealed-deny", "chat": "CBR2V3XEX", "ts": "1700000000.123459"}
SUBMISSION: dict[str, object] = {
    "type": "view_submission",
    "team": {"id": "T9TK3CUKW", "domain": "example-corp"},
    "user": {"id": "U061F7AUR", "username": "bob", "name": "bob", "team_id": "T9TK3CUKW"},
    "api_app_id": "A0APPR0VAL",
    "trigger_id": "12321423424.333649436676.0b1c",
    "view": {
        "id": "V06DENY0001",
        "type": "modal",
        "callback_id": "assent_deny_modal",
        "private_metadata": json.dumps(PLACE),
        "state": {"values": {"assent_reason": {"assent_reason_text": {"value": "Wrong payee <@U061F7AUR> 请先确认"}}}},
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
    return read_call(inbound, signing_secret=SECRET, app_id=app_id, now=NOW)


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
    "two different channels": {**PRESS, "channel": {"id": "C0THER"}},
    "no channel": {**PRESS, "channel": None},
    "no message": changed(PRESS, lambda p: p["container"].pop("message_ts")),  # type: ignore[attr-defined]
    "a modal of another app": {**SUBMISSION, "api_app_id": "A0THER"},
    "a modal without our place": changed(SUBMISSION, lambda p: p["view"].update(private_metadata="")),  # type: ignore[attr-defined]
    "a modal with more than our place": changed(
        SUBMISSION,
        lambda p: p["view"].update(private_metadata=json.dumps({**PLACE, "user": "U0EVIL"})),  # type: ignore[attr-defined]
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
    assert (click.wants_reason, click.token, bool(click.trigger)) == (True, "sealed-deny", True)


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
    assert read(call(form(SUBMISSION))) == Click(
        token="sealed-deny",
        app_id="A0APPR0VAL",
        tenant="T9TK3CUKW",
        account_id="U061F7AUR",
        chat_id="CBR2V3XEX",
        message_id="1700000000.123459",
        event_key="V06DENY0001:U061F7AUR:1700000020.aBcDeFgH",
        reason="Wrong payee <@U061F7AUR> 请先确认",
        via_modal=True,
    )


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
