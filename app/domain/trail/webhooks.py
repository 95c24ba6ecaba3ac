"""What the outside is told of the trail: which events, in which form, and signed so that nobody else can have said it.

The form is that of Standard Webhooks: HMAC-SHA256 over ``id.timestamp.body``, in base64 behind ``v1,``. While a secret
is changed there are two, and as many signatures; whoever receives takes the message if one of them is right.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.trail.audit import AuditEvent, Kind

TEST: Final = "webhook.test"
"""The kind of a message that only tries a receiver."""
_PREFIX: Final = "whsec_"
_SHORTEST: Final = 24
_LONGEST: Final = 64


class BadSecretError(ValueError):
    """A secret is not in its form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One receiver. `kinds` are kinds of events, or their beginnings with ``.*`` behind, or ``*``."""

    name: str
    url: str
    host: str
    secrets: tuple[bytes, ...] = field(repr=False)
    kinds: tuple[str, ...]
    private: bool = False

    def wants(self, kind: Kind) -> bool:
        """Say whether it is told of such events."""
        return any(covers(pattern, kind.value) for pattern in self.kinds)


def covers(pattern: str, kind: str) -> bool:
    """Say whether a pattern means a kind."""
    return pattern in {"*", kind} or (pattern.endswith(".*") and kind.startswith(pattern[:-1]))


def read_secret(text: str) -> bytes:
    """Read ``whsec_`` and base64 of 24 to 64 bytes. Raises BadSecretError."""
    try:
        secret = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if not text.startswith(_PREFIX) or not _SHORTEST <= len(secret) <= _LONGEST:
        why = "must be whsec_ and the base64 of 24 to 64 random bytes: echo whsec_$(openssl rand -base64 32)"
        raise BadSecretError(why)
    return secret


def body_of(event: AuditEvent) -> bytes:
    """Return what is sent of an event: the facts are those of the trail, which hold no sensitive value."""
    told = {
        "id": event.id,
        "kind": event.record.kind.value,
        "at": event.at.isoformat(),
        "org": event.org,
        "seq": event.seq,
        "actor": event.record.actor,
        "request_id": event.request_id,
        "facts": dict(event.record.facts),
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def body_of_test(event_id: str, *, org: str, webhook: str, now: datetime) -> bytes:
    """Return what a receiver is sent that is tried: in the form of an event, of a kind that no trail has."""
    told = {
        "id": event_id,
        "kind": TEST,
        "at": now.isoformat(),
        "org": org,
        "seq": 0,
        "actor": "cli",
        "request_id": None,
        "facts": {"webhook": webhook},
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def headers_of(event_id: str, body: bytes, *, secrets: Sequence[bytes], now: datetime) -> dict[str, str]:
    """Return the headers that prove a body: the same id for every attempt, the time of this one."""
    stamp = str(int(now.timestamp()))
    signed = b".".join((event_id.encode(), stamp.encode(), body))
    signatures = (base64.b64encode(hmac.digest(secret, signed, "sha256")).decode() for secret in secrets)
    return {
        "webhook-id": event_id,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
