from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.ports import CallbackRejectedError, Challenge, Click, Ignored, InboundCall
from channels.feishu.callback import Audience, Secrets, decrypt, parse_event, read_webhook
from channels.feishu.simulator.wire import encrypt, seal
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
KEY, TOKEN = "an-encrypt-key-of-ours", "a-verification-token"
SECRETS = Secrets(encrypt_keys=(KEY,), verification_tokens=(TOKEN,))
APP = "cli_a5fb0ae6a4c8d00e"
AUDIENCE = Audience(app_id=APP, tenant_key=None)


def an_event(**changes: Any) -> dict[str, Any]:
    """Return the platform's documented card action, with our button's value; `changes` replace dotted paths."""
    event: dict[str, Any] = {
        "schema": "2.0",
        "header": {
            "event_id": "f7984f25108f8137722bb63c0a1b2c3d",
            "token": TOKEN,
            "create_time": "1700000012345678",
            "event_type": "card.action.trigger",
            "tenant_key": "2df73991750a1b2c",
            "app_id": APP,
        },
        "event": {
            "operator": {
                "tenant_key": "2df73991750a1b2c",
                "user_id": "867a1b2c",
                "open_id": "ou_3c14f3a59eaf2825dbe25359f15a0b1c",
                "union_id": "on_cad4860e7af114fb4ff6c5d496d0a1b2",
            },
            "token": "c-295ee57216a5dc9de90fefd0aadb4b1d7d0a1b2c",
            "action": {"value": {"v": 1, "t": "a1.k.h.y.m"}, "tag": "button", "timezone": "Asia/Shanghai"},
            "host": "im_message",
            "context": {
                "open_message_id": "om_574d639e4a44e4dd646eaf628e20a1b2",
                "open_chat_id": "oc_e4d2605ca917e695f54f11aaf560a1b2",
            },
        },
    }
    for path, value in changes.items():
        *owners, name = path.split("__")
        target = event
        for owner in owners:
            target = target[owner]
        if value is ...:
            del target[name]
        else:
            target[name] = value
    return event


def sealed(payload: object, *, key: str = KEY, at: datetime = NOW, nonce: str = "6f2d8a") -> InboundCall:
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    delivery = seal(raw, encrypt_key=key, timestamp=int(at.timestamp()), nonce=nonce, iv=bytes(range(16)))
    return InboundCall(headers=delivery.headers, body=delivery.body)


def resigned(call: InboundCall, body: bytes) -> InboundCall:
    """Sign another body correctly, as somebody who knows the key could."""
    stamp, nonce = call.header("x-lark-request-timestamp"), call.header("x-lark-request-nonce")
    signature = hashlib.sha256(f"{stamp}{nonce}{KEY}".encode() + body).hexdigest()
    return replace(with_header(call, "x-lark-signature", signature), body=body)


def with_header(call: InboundCall, name: str, *values: str) -> InboundCall:
    kept = tuple(pair for pair in call.headers if pair[0] != name)
    return replace(call, headers=(*kept, *((name, value) for value in values)))


def read(
    call: InboundCall, *, secrets: Secrets = SECRETS, audience: Audience = AUDIENCE, now: datetime = NOW
) -> object:
    return read_webhook(call, now=now, secrets=secrets, audience=audience)


def test_the_documentation_s_check_value_decrypts() -> None:
    assert decrypt("test key", "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=") == b"hello world"


def test_a_genuine_click_is_read_whole() -> None:
    click = read(sealed(an_event()))
    assert click == Click(
        token="a1.k.h.y.m",
        app_id=APP,
        tenant="2df73991750a1b2c",
        account_id="ou_3c14f3a59eaf2825dbe25359f15a0b1c",
        chat_id="oc_e4d2605ca917e695f54f11aaf560a1b2",
        message_id="om_574d639e4a44e4dd646eaf628e20a1b2",
        event_key="f7984f25108f8137722bb63c0a1b2c3d",
    )


def test_a_denial_brings_its_reason() -> None:
    action = {"value": {"v": 1, "t": "t"}, "tag": "button", "name": "deny", "form_value": {"reason": "  金额不对 \n"}}
    click = read(sealed(an_event(event__action=action)))
    assert isinstance(click, Click)
    assert click.reason == "金额不对"


@pytest.mark.parametrize(
    ("form", "reason"), [({}, None), ({"reason": "   "}, None), ({"reason": 7}, None), ("x", None)]
)
def test_an_empty_reason_is_none(form: object, reason: None) -> None:
    action = {"value": {"v": 1, "t": "t"}, "form_value": form}
    click = read(sealed(an_event(event__action=action)))
    assert isinstance(click, Click)
    assert click.reason is reason


def test_half_a_surrogate_pair_in_a_reason_becomes_a_question_mark() -> None:
    action = {"value": {"v": 1, "t": "t"}, "form_value": {"reason": "\ud800 no"}}
    click = read(sealed(an_event(event__action=action)))
    assert isinstance(click, Click)
    assert click.reason == "? no"


def test_somebody_from_another_tenant_keeps_their_tenant() -> None:
    click = read(sealed(an_event(event__operator__tenant_key="another")))
    assert isinstance(click, Click)
    assert click.tenant == "another"


def test_unknown_fields_are_tolerated() -> None:
    assert isinstance(
        read(sealed(an_event(event__new="x", header__later={"a": [1]}, event__action__timezone=7))), Click
    )


def _tampered(position: int) -> Callable[[], InboundCall]:
    def make() -> InboundCall:
        call = sealed(an_event())
        body = bytearray(call.body)
        body[position] ^= 1
        return replace(call, body=bytes(body))

    return make


PLAIN = json.dumps(an_event()).encode()
FORGED = {
    # What the vendor's dispatcher took with HTTP 200: no signature at all, a chosen open_id (measured).
    "unsigned plaintext that names any open_id": lambda: InboundCall(
        headers=(("content-type", "application/json"),), body=PLAIN
    ),
    "unsigned, encrypted with our key": lambda: replace(sealed(an_event()), headers=()),
    "wrong key": lambda: sealed(an_event(), key="another-encrypt-key"),
    "empty key": lambda: sealed(an_event(), key=""),
    "signature missing": lambda: with_header(sealed(an_event()), "x-lark-signature"),
    "timestamp missing": lambda: with_header(sealed(an_event()), "x-lark-request-timestamp"),
    "nonce missing": lambda: with_header(sealed(an_event()), "x-lark-request-nonce"),
    "signature empty": lambda: with_header(sealed(an_event()), "x-lark-signature", ""),
    "signature doubled": lambda: with_header(
        sealed(an_event()), "x-lark-signature", sealed(an_event()).header("x-lark-signature") or "", "0" * 64
    ),
    "timestamp doubled": lambda: with_header(
        sealed(an_event()), "x-lark-request-timestamp", "1772359200", "1772359200"
    ),
    "signature in capitals": lambda: with_header(
        sealed(an_event()), "x-lark-signature", (sealed(an_event()).header("x-lark-signature") or "").upper()
    ),
    "signature with odd letters": lambda: with_header(sealed(an_event()), "x-lark-signature", "é" * 64),
    "timestamp with odd digits": lambda: with_header(
        sealed(an_event()), "x-lark-request-timestamp", "１７７２３５９２００"
    ),
    "other nonce": lambda: with_header(sealed(an_event()), "x-lark-request-nonce", "other"),
    "one byte changed at the start": _tampered(0),
    "one byte changed in the ciphertext": _tampered(60),
    "one byte changed at the end": _tampered(-1),
    "re-serialised": lambda: replace(
        sealed(an_event()), body=json.dumps(json.loads(sealed(an_event()).body), indent=1).encode()
    ),
    "five minutes old": lambda: sealed(an_event(), at=NOW - timedelta(seconds=301)),
    "from the future": lambda: sealed(an_event(), at=NOW + timedelta(seconds=301)),
    "plaintext, correctly signed, while a key is set": lambda: resigned(sealed(an_event()), PLAIN),
    "plaintext beside the ciphertext": lambda: resigned(
        sealed(an_event()), json.dumps(json.loads(sealed(an_event()).body) | an_event()).encode()
    ),
    "verification token absent": lambda: sealed(an_event(header__token=...)),
    "verification token blank": lambda: sealed(an_event(header__token="")),
    "verification token wrong": lambda: sealed(an_event(header__token="wrong-verification-token")),
    "verification token not a string": lambda: sealed(an_event(header__token=["a-verification-token"])),
    "another app's event": lambda: sealed(an_event(header__app_id="cli_another")),
    "app id absent": lambda: sealed(an_event(header__app_id=...)),
    "header absent": lambda: sealed(an_event(header=...)),
    "operator absent": lambda: sealed(an_event(event__operator=...)),
    "operator's tenant absent": lambda: sealed(an_event(event__operator__tenant_key=...)),
    "open_id not a string": lambda: sealed(an_event(event__operator__open_id=["ou_1"])),
    "open_id blank": lambda: sealed(an_event(event__operator__open_id="")),
    "open_id with odd letters": lambda: sealed(an_event(event__operator__open_id="ou_é")),
    "context absent": lambda: sealed(an_event(event__context=...)),
    "message id absent": lambda: sealed(an_event(event__context__open_message_id=...)),
    "event id absent": lambda: sealed(an_event(header__event_id=...)),
    "key that comes twice": lambda: sealed(PLAIN.replace(b'"operator": {', b'"operator": {"open_id": "ou_evil", ', 1)),
    "outer key that comes twice": lambda: resigned(
        sealed(an_event()), sealed(an_event()).body.replace(b"{", b'{"encrypt": "x", ', 1)
    ),
    "not a number": lambda: sealed(PLAIN.replace(b'"schema": "2.0"', b'"schema": NaN', 1)),
    "a list": lambda: sealed([an_event()]),
    "not JSON": lambda: sealed(b"\xff\xfe"),
    "deeply nested": lambda: sealed(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "empty": lambda: replace(sealed(an_event()), body=b""),
    "encrypted nothing": lambda: resigned(sealed(an_event()), b'{"encrypt": ""}'),
    "encrypted half a block": lambda: resigned(sealed(an_event()), b'{"encrypt": "AAAA"}'),
    "encrypted bad padding": lambda: resigned(
        sealed(an_event()), json.dumps({"encrypt": encrypt("x" * 20, b"hello", iv=b"0" * 16)}).encode()
    ),
    "encrypted number": lambda: resigned(sealed(an_event()), b'{"encrypt": 7}'),
    "too large": lambda: sealed(b'{"a":"' + b"x" * 300_000 + b'"}'),
    "plaintext address check": lambda: InboundCall(
        headers=(), body=json.dumps({"type": "url_verification", "challenge": "c", "token": TOKEN}).encode()
    ),
    "address check with another token": lambda: replace(
        sealed({"type": "url_verification", "challenge": "c", "token": "wrong-token"}), headers=()
    ),
    "address check without a token": lambda: replace(
        sealed({"type": "url_verification", "challenge": "c"}), headers=()
    ),
    "address check without a challenge": lambda: replace(
        sealed({"type": "url_verification", "token": TOKEN}), headers=()
    ),
}


@requirement("S-04", "S-05")
@pytest.mark.parametrize("forged", FORGED)
def test_a_call_that_is_not_provably_the_platform_s_is_rejected(forged: str) -> None:
    with pytest.raises(CallbackRejectedError):
        read(FORGED[forged]())


@requirement("S-05")
def test_a_legacy_card_signature_is_rejected() -> None:
    body = json.dumps(
        {"open_id": "ou_evil", "open_message_id": "om_1", "tenant_key": "t", "action": {"value": {}}}
    ).encode()
    stamp, nonce = str(int(NOW.timestamp())), "6f2d8a"
    legacy = hashlib.sha1(f"{stamp}{nonce}{TOKEN}".encode() + body).hexdigest()
    headers = (("x-lark-request-timestamp", stamp), ("x-lark-request-nonce", nonce), ("x-lark-signature", legacy))
    with pytest.raises(CallbackRejectedError):
        read(InboundCall(headers=headers, body=body))


@requirement("S-20")
@pytest.mark.parametrize("seconds", [-300, -1, 0, 1, 300])
def test_the_window_is_five_minutes_both_ways(seconds: int) -> None:
    assert isinstance(read(sealed(an_event(), at=NOW + timedelta(seconds=seconds))), Click)


@requirement("S-20")
def test_moving_a_digit_between_timestamp_and_nonce_does_not_make_a_call_fresh() -> None:
    old = sealed(an_event(), at=NOW - timedelta(days=3), nonce="12ab")
    stamp = old.header("x-lark-request-timestamp") or ""
    moved = with_header(with_header(old, "x-lark-request-timestamp", f"{stamp}1"), "x-lark-request-nonce", "2ab")
    with pytest.raises(CallbackRejectedError, match="window"):
        read(moved)
    with pytest.raises(CallbackRejectedError, match="window"):
        read(moved, now=datetime.fromtimestamp(int(f"{stamp}1"), UTC))


@requirement("S-33")
def test_what_is_not_signed_right_is_never_decrypted() -> None:
    broken = replace(sealed(an_event()), body=b'{"encrypt": "AAAA"}')
    with pytest.raises(CallbackRejectedError, match="signature"):
        read(broken)


@requirement("S-51")
def test_why_holds_nothing_that_came_with_the_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    reasons = []
    for forge in FORGED.values():
        with pytest.raises(CallbackRejectedError) as caught:
            read(forge())
        reasons.append(caught.value.why)
        assert caught.value.__cause__ is None
    told = " ".join(reasons) + caplog.text
    for secret in (
        KEY,
        TOKEN,
        "wrong-verification",
        "ou_",
        "cli_another",
        sealed(an_event()).header("x-lark-signature"),
    ):
        assert str(secret) not in told


@requirement("S-45")
def test_a_pinned_tenant_s_events_only() -> None:
    pinned = replace(AUDIENCE, tenant_key="2df73991750a1b2c")
    assert isinstance(read(sealed(an_event()), audience=pinned), Click)
    with pytest.raises(CallbackRejectedError):
        read(sealed(an_event(header__tenant_key="another")), audience=pinned)


@requirement("S-04")
@pytest.mark.parametrize("said", ["", None])
def test_what_we_do_not_know_ourselves_is_nobody_s(said: str | None) -> None:
    nowhere = replace(AUDIENCE, app_id="", tenant_key="")
    for audience in (nowhere, replace(AUDIENCE, tenant_key="")):
        with pytest.raises(CallbackRejectedError):
            parse_event(an_event(header__app_id=said, header__tenant_key=said), audience=audience)
    with pytest.raises(CallbackRejectedError):
        read(sealed(an_event(header__token=said)), secrets=dataclasses.replace(SECRETS, verification_tokens=("",)))


@requirement("S-46")
@pytest.mark.parametrize(
    "forged",
    [
        name
        for name in FORGED
        if name.startswith(("another app", "app id", "operator", "open_id", "context", "event id"))
    ],
)
def test_the_long_connection_s_events_pass_the_same_checks(forged: str) -> None:
    payload = json.loads(decrypt(KEY, json.loads(FORGED[forged]().body)["encrypt"]))
    with pytest.raises(CallbackRejectedError):
        parse_event(payload, audience=AUDIENCE)


@pytest.mark.parametrize("signed", [True, False])
def test_the_console_s_address_check_is_answered(signed: bool) -> None:
    call = sealed({"challenge": 'ajls384k-"1a2b', "token": TOKEN, "type": "url_verification"})
    inbound = read(call if signed else replace(call, headers=()))
    assert isinstance(inbound, Challenge)
    assert (inbound.answer.status, inbound.answer.body) == (200, {"challenge": 'ajls384k-"1a2b'})


@pytest.mark.parametrize(
    "changes",
    [
        {"header__event_type": "im.message.receive_v1"},
        {"header__event_type": "<script>"},
        {"event__action": {"value": {"cid": "cfm_1", "d": "approve"}}},
        {"event__action": {"value": "a string"}},
        {"event__action": {}},
        {"event__action": {"value": {"v": 2, "t": "x"}}},
        {"event__action": {"value": {"v": 1, "t": "x" * 201}}},
        {"event__action": {"value": {"v": 1, "t": "é"}}},
        {"event__action": {"value": {"v": 1, "t": ""}}},
        {"event__action": {"value": {"v": 1, "t": 7}}},
    ],
)
def test_what_is_not_ours_to_answer_is_ignored(changes: dict[str, Any]) -> None:
    inbound = read(sealed(an_event(**changes)))
    assert isinstance(inbound, Ignored)
    assert "script" not in inbound.why


def test_the_documented_sample_parses_to_nothing_of_ours() -> None:
    sample = Path(__file__).parent / "samples" / "feishu_card_action_v2.json"
    payload = json.loads(sample.read_text("utf-8"))
    assert isinstance(parse_event(payload, audience=AUDIENCE), Ignored)
    payload["event"]["action"]["value"] = {"v": 1, "t": "a1.k.h.y.m"}
    assert isinstance(parse_event(payload, audience=AUDIENCE), Click)


@requirement("S-04")
@pytest.mark.parametrize("given", ["", None])
def test_without_a_verification_token_nothing_matches_not_even_nothing(given: str | None) -> None:
    none = Secrets(encrypt_keys=(KEY,), verification_tokens=("",))
    with pytest.raises(CallbackRejectedError, match="verification token"):
        read_webhook(sealed(an_event(header__token=given)), now=NOW, secrets=none, audience=AUDIENCE)
