"""What is sent of the trail proves itself: the published vector, two secrets at a time, and nothing but the trail."""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime

import pytest

from app.domain.trail.audit import AuditEvent, Kind, Record
from app.domain.trail.webhooks import BadSecretError, Webhook, body_of, covers, headers_of, read_secret
from examples.webhook_receiver import verify
from tests.requirements import requirement

# The vector that the libraries of Standard Webhooks are tested with.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, STAMP, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OTHER = "whsec_" + base64.b64encode(b"another secret of thirty-two bytes").decode()
AT = datetime.fromtimestamp(STAMP, UTC)
EVENT = AuditEvent(
    org="acme",
    seq=7,
    id="evt_1",
    at=AT,
    record=Record(kind=Kind.APPROVED, actor="alice@acme.example", facts={"channel": "pay-slack", "reason": "gültig"}),
    request_id="req_1",
    request_version=3,
    prev_hash="0" * 64,
    hash="1" * 64,
)


@requirement("S-36")
def test_the_published_vector_is_reproduced() -> None:
    headers = headers_of(ID, BODY, secrets=[read_secret(SECRET)], now=AT)
    assert headers == {"webhook-id": ID, "webhook-timestamp": str(STAMP), "webhook-signature": SIGNATURE}


@requirement("S-36")
def test_under_two_secrets_a_receiver_with_either_of_them_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: STAMP)
    headers = headers_of(ID, BODY, secrets=[read_secret(OTHER), read_secret(SECRET)], now=AT)
    assert headers["webhook-signature"].split()[1] == SIGNATURE
    assert [verify(headers, BODY, [secret]) for secret in (SECRET, OTHER)] == [ID, ID]
    assert verify(headers_of(ID, BODY, secrets=[read_secret(OTHER)], now=AT), BODY, [SECRET, OTHER]) == ID


@requirement("S-36")
@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_2"},
        {"webhook-timestamp": str(STAMP + 1)},
        {"webhook-signature": SIGNATURE.replace("v1,", "v2,")},
        {"webhook-signature": SIGNATURE[:-2]},
        {"webhook-signature": ""},
    ],
)
def test_what_was_changed_is_refused(change: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: STAMP)
    headers = headers_of(ID, BODY, secrets=[read_secret(SECRET)], now=AT)
    assert verify(headers, BODY, [SECRET]) == ID
    with pytest.raises(ValueError, match="no signature of ours"):
        verify(headers | change, BODY, [SECRET])
    with pytest.raises(ValueError, match="no signature of ours"):
        verify(headers, BODY + b" ", [SECRET])


@requirement("S-36")
@pytest.mark.parametrize("away", [-301, 301, 10**6])
def test_a_receiver_refuses_what_is_more_than_five_minutes_away(away: int, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = headers_of(ID, BODY, secrets=[read_secret(SECRET)], now=AT)
    monkeypatch.setattr(time, "time", lambda: STAMP + away)
    with pytest.raises(ValueError, match="five minutes"):
        verify(headers, BODY, [SECRET])


@requirement("S-36")
@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "whsec_c2hvcnQ=", SECRET.removeprefix("whsec_"), "whsec_?", "whsec_" + "A" * 100, "wh" * 20],
)
def test_a_secret_that_is_none_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(BadSecretError, match="openssl rand -base64 32") as refused:
        read_secret(secret)
    assert not secret or secret not in str(refused.value) or secret == "whsec_"


@requirement("S-36")
def test_the_body_is_what_the_trail_says_and_no_more() -> None:
    assert json.loads(body_of(EVENT)) == {
        "id": "evt_1",
        "kind": "request.approved",
        "at": "2021-02-25T15:02:10+00:00",
        "org": "acme",
        "seq": 7,
        "actor": "alice@acme.example",
        "request_id": "req_1",
        "facts": {"channel": "pay-slack", "reason": "gültig"},
    }


@pytest.mark.parametrize(
    ("pattern", "told"),
    [("*", True), ("request.*", True), ("request.approved", True), ("request", False), ("requ.*", False),
     ("request.denied", False), ("grant.*", False)],
)  # fmt: skip
def test_a_pattern_covers_a_kind_or_its_family(pattern: str, told: bool) -> None:
    assert covers(pattern, Kind.APPROVED.value) is told
    hook = Webhook(name="siem", url="https://x.example", host="x.example", secrets=(b"canary",), kinds=(pattern,))
    assert hook.wants(Kind.APPROVED) is told
    assert "canary" not in repr(hook)
