"""The chain: each event bound to the one before it, so that nothing of it can be changed unnoticed.

Each org has its own chain: seq 0, 1, 2, … without gaps, and each event's hash is
``SHA-256(0x00 ‖ previous hash ‖ RFC 8785 form of the event)`` (the leaf prefix of RFC 9162). Deleting, changing,
moving or inserting an event breaks every hash behind it. A chain alone does not stop someone who can rewrite all of
it: its head must also be kept elsewhere.
"""

from __future__ import annotations

import hashlib
from datetime import UTC
from typing import TYPE_CHECKING

from msgspec import Raw
from msgspec.json import Encoder

from app.domain.text.canonical import plain_canonical
from app.domain.trail.audit import AuditEvent

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from app.domain.trail.audit import Record

_encode = Encoder().encode  # for texts and whole numbers under ASCII names, this is the form of RFC 8785

GENESIS = "0" * 64
"""The hash before the first event."""


def facts_text(record: Record) -> bytes:
    """Return the facts of a record as they are kept, and as they stand in what is hashed."""
    return plain_canonical(dict(record.facts))


def link(
    record: Record,
    *,
    facts: bytes | None = None,
    org: str,
    seq: int,
    event_id: str,
    at: datetime,
    request_id: str | None,
    request_version: int | None,
    prev_hash: str,
) -> AuditEvent:
    """Bind a record to its predecessor. `facts` are its `facts_text`, where that is known."""
    leaf = _leaf(record, facts or facts_text(record), org, seq, event_id, at, request_id, request_version)
    return AuditEvent(
        org=org,
        seq=seq,
        id=event_id,
        at=at,
        record=record,
        request_id=request_id,
        request_version=request_version,
        prev_hash=prev_hash,
        hash=chained(prev_hash, leaf),
    )


def hash_of(event: AuditEvent) -> str:
    """Recompute an event's hash from its content and its predecessor's hash."""
    return chained(event.prev_hash, leaf_of(event))


def leaf_of(event: AuditEvent) -> bytes:
    """Return what an event's hash is made of, beside its predecessor's."""
    record = event.record
    facts = facts_text(record)
    return _leaf(record, facts, event.org, event.seq, event.id, event.at, event.request_id, event.request_version)


def _leaf(  # noqa: PLR0917 - the parts of an event, in the order in which it declares them
    record: Record,
    facts: bytes,
    org: str,
    seq: int,
    event_id: str,
    at: datetime,
    request_id: str | None,
    request_version: int | None,
) -> bytes:
    return _encode(
        {  # in the order of their names
            "actor": record.actor,
            "at": _instant(at),
            "facts": Raw(facts),
            "id": event_id,
            "kind": record.kind,  # written as the text that it is
            "org": org,
            "request_id": request_id,
            "request_version": request_version,
            "seq": seq,
        }
    )


def _instant(at: datetime) -> str | Raw:
    """Write an instant as `isoformat` does; the encoder takes a tenth of its time, and ends those in UTC with a Z."""
    return Raw(_encode(at)[:-2] + b'+00:00"') if at.tzinfo is UTC else at.isoformat()


def chained(prev_hash: str, leaf: bytes) -> str:
    """Return the hash of a leaf behind another event's."""
    return hashlib.sha256(b"\x00" + bytes.fromhex(prev_hash) + leaf).hexdigest()


def first_fault(events: Iterable[AuditEvent], *, after: tuple[int, str] = (-1, GENESIS)) -> str | None:
    """Walk a chain in order of `seq` and say what is wrong first, or None.

    `after` is the (seq, hash) of the event before the first one given.
    """
    found = first_fault_at(events, after=after)
    return found[1] if found else None


def first_fault_at(events: Iterable[AuditEvent], *, after: tuple[int, str]) -> tuple[int, str] | None:
    """Do as `first_fault` does, and say at which number it is."""
    seq, prev = after
    for event in events:
        if event.seq != seq + 1:
            return seq + 1, f"event {seq + 1} is missing: the next one found is {event.seq}"
        if event.prev_hash != prev:
            return event.seq, f"event {event.seq} does not follow event {seq}: its predecessor's hash differs"
        if hash_of(event) != event.hash:
            return event.seq, f"event {event.seq} was changed: its content does not give its hash"
        seq, prev = event.seq, event.hash
    return None
