"""Who did what when, in a chain.

Each org has its own chain: seq 0, 1, 2, … without gaps, and each event's hash is
``SHA-256(0x00 ‖ previous hash ‖ RFC 8785 form of the event)`` (the leaf prefix of RFC 9162). Deleting, changing,
moving or inserting an event breaks every hash behind it. A chain alone does not stop someone who can rewrite all of
it: its head must also be kept elsewhere.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from app.domain.text.canonical import plain_canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

GENESIS = "0" * 64
"""The hash before the first event."""


class Kind(StrEnum):
    """What an event is about."""

    CREATED = "request.created"
    VOTE = "request.voted"
    APPROVED = "request.approved"
    DENIED = "request.denied"
    EXPIRED = "request.expired"
    CANCELLED = "request.cancelled"
    UNDELIVERABLE = "request.undeliverable"
    HANDED_OVER = "request.handed_over"
    APPROVER_ADDED = "request.approver_added"
    ASKED_BACK = "request.asked_back"
    ANSWERED = "request.answered"
    REMINDED = "request.reminded"
    ESCALATED = "request.escalated"
    EXTENDED = "request.extended"
    EDITED = "request.edited"
    REVIEWED = "request.reviewed"
    REOPENED = "request.reopened"
    CLAIMED = "grant.claimed"
    LAPSED = "grant.lapsed"
    REVOKED = "grant.revoked"
    SUCCEEDED = "execution.succeeded"
    FAILED = "execution.failed"
    UNKNOWN = "execution.unknown"
    RECONCILED = "execution.reconciled"
    ALLOWED = "call.allowed"
    REFUSED = "call.refused"
    CLICK_REFUSED = "click.refused"
    CARD_HELD = "card.held"
    CARD_POSTED = "card.posted"
    CARD_RETIRED = "card.retired"
    CARD_FAILED = "card.failed"
    CARD_LATE = "card.late"
    CARD_REROUTED = "card.rerouted"
    KEY_CREATED = "key.created"
    KEY_REVOKED = "key.revoked"
    POLICY_LOADED = "policy.loaded"
    HOOK_BLOCKED = "hook.blocked"
    HOOK_FAULTED = "hook.faulted"
    HOOK_NOTED = "hook.noted"
    SESSION_DETACHED = "session.detached"
    EVALUATION_BYPASSED = "evaluation.bypassed"
    SWITCH_SET = "switch.set"
    LIFTED = "request.lifted"
    APPROVER_LOCKED = "approver.locked"
    FACTOR_INVITED = "factor.invited"
    FACTOR_ADDED = "factor.added"
    FACTOR_REMOVED = "factor.removed"
    STANDING_PROPOSED = "standing.proposed"
    STANDING_CONFIRMED = "standing.confirmed"
    STANDING_USED = "standing.used"
    STANDING_REVOKED = "standing.revoked"
    GLASS_PROPOSED = "break_glass.proposed"
    GLASS_BROKEN = "break_glass.broken"
    GLASS_USED = "break_glass.used"
    GLASS_ENDED = "break_glass.ended"
    GLASS_REVIEWED = "break_glass.reviewed"
    PAYEE_ADDED = "payee.added"
    PAYEE_REMOVED = "payee.removed"
    RESTORED = "trail.restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is to be said of one act.

    `facts` are texts, whole numbers, true, false, null, lists of them and objects of them with plain ASCII names; they
    hold no sensitive value.
    """

    kind: Kind
    actor: str  # e-mail of a person, "agent:<name>", "key:<id>" or "system"
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One link of an org's chain."""

    org: str
    seq: int
    id: str
    at: datetime
    record: Record
    request_id: str | None
    request_version: int | None  # set on the one event of each change of a request
    prev_hash: str
    hash: str


def link(
    record: Record,
    *,
    org: str,
    seq: int,
    event_id: str,
    at: datetime,
    request_id: str | None,
    request_version: int | None,
    prev_hash: str,
) -> AuditEvent:
    """Bind a record to its predecessor."""
    leaf = _leaf(record, org, seq, event_id, at, request_id, request_version)
    return AuditEvent(
        org=org,
        seq=seq,
        id=event_id,
        at=at,
        record=record,
        request_id=request_id,
        request_version=request_version,
        prev_hash=prev_hash,
        hash=_chained(prev_hash, leaf),
    )


def hash_of(event: AuditEvent) -> str:
    """Recompute an event's hash from its content and its predecessor's hash."""
    leaf = _leaf(event.record, event.org, event.seq, event.id, event.at, event.request_id, event.request_version)
    return _chained(event.prev_hash, leaf)


def _leaf(  # noqa: PLR0917 - the parts of an event, in the order in which it declares them
    record: Record,
    org: str,
    seq: int,
    event_id: str,
    at: datetime,
    request_id: str | None,
    request_version: int | None,
) -> bytes:
    return plain_canonical(
        {
            "org": org,
            "seq": seq,
            "id": event_id,
            "at": at.isoformat(),
            "kind": record.kind.value,
            "actor": record.actor,
            "facts": dict(record.facts),
            "request_id": request_id,
            "request_version": request_version,
        }
    )


def _chained(prev_hash: str, leaf: bytes) -> str:
    return hashlib.sha256(b"\x00" + bytes.fromhex(prev_hash) + leaf).hexdigest()


def first_fault(events: Iterable[AuditEvent], *, after: tuple[int, str] = (-1, GENESIS)) -> str | None:
    """Walk a chain in order of `seq` and say what is wrong first, or None.

    `after` is the (seq, hash) of the event before the first one given.
    """
    seq, prev = after
    for event in events:
        if event.seq != seq + 1:
            return f"event {seq + 1} is missing: the next one found is {event.seq}"
        if event.prev_hash != prev:
            return f"event {event.seq} does not follow event {seq}: its predecessor's hash differs"
        if hash_of(event) != event.hash:
            return f"event {event.seq} was changed: its content does not give its hash"
        seq, prev = event.seq, event.hash
    return None
