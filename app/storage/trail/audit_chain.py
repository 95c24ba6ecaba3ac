"""The audit trail's rows: linked into the org's chain at the end of a group commit, and paged out again.

All units of a commit hand in their records; the chain's head is locked once, after every request row (the fixed lock
order: requests, then the head), so the order of events is the order of commits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from app.domain.text.canonical import plain_canonical
from app.domain.trail.audit import AuditEvent, Kind, Record
from app.domain.trail.chain import GENESIS, link
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Pending, Row, Statement, Tx
from app.storage.tables.tables import audit_events, audit_heads

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD = Statement(select(audit_heads.c.seq, audit_heads.c.hash).where(audit_heads.c.org == bindparam("for_org")))
_HEAD_LOCKED = Statement(
    select(audit_heads.c.seq, audit_heads.c.hash).where(audit_heads.c.org == bindparam("for_org")).with_for_update()
)
_NEW_HEAD = Statement(insert(audit_heads))
_MOVE_HEAD = Statement(
    update(audit_heads)
    .where(audit_heads.c.org == bindparam("for_org"))
    .values(seq=bindparam("seq"), hash=bindparam("hash"))
)
_INSERT = Statement(insert(audit_events))
_PAGE = Statement(
    select(audit_events)
    .where(audit_events.c.org == bindparam("for_org"), audit_events.c.seq > bindparam("after"))
    .order_by(audit_events.c.seq)
    .limit(bindparam("most"))
)
_OF_REQUEST = Statement(
    select(audit_events)
    .where(audit_events.c.org == bindparam("for_org"), audit_events.c.request_id == bindparam("of_request"))
    .order_by(audit_events.c.seq)
)


def append_all(tx: Tx, pending: Sequence[Pending]) -> None:
    """Link and insert an org's records in their order. Called by the store alone, last in a commit."""
    head = tx.one(_HEAD_LOCKED if tx.locks_rows else _HEAD, for_org=tx.org)
    seq, prev = (head["seq"], head["hash"]) if head else (-1, GENESIS)
    rows: list[Row] = []
    for item in pending:
        event = link(
            item.record,
            org=tx.org,
            seq=seq + 1,
            event_id=item.id,
            at=item.at,
            request_id=item.request_id,
            request_version=item.request_version,
            prev_hash=prev,
        )
        rows.append(_to_row(event))
        seq, prev = event.seq, event.hash
    tx.run_many(_INSERT, rows)
    if head:
        tx.write(_MOVE_HEAD, for_org=tx.org, seq=seq, hash=prev)
    else:
        tx.write(_NEW_HEAD, org=tx.org, seq=seq, hash=prev)


def list_events(tx: Tx, *, after: int, most: int) -> list[AuditEvent]:
    """Return a page of the org's trail, in order, behind `after` (-1 for the beginning)."""
    return [_from_row(row) for row in tx.all(_PAGE, for_org=tx.org, after=after, most=most)]


def list_of_request(tx: Tx, request_id: str) -> list[AuditEvent]:
    """Return everything the trail says of one request, in order."""
    return [_from_row(row) for row in tx.all(_OF_REQUEST, for_org=tx.org, of_request=request_id)]


def get_head(tx: Tx) -> tuple[int, str]:
    """Return the (seq, hash) of the last event; (-1, GENESIS) of an empty trail."""
    head = tx.one(_HEAD, for_org=tx.org)
    return (head["seq"], head["hash"]) if head else (-1, GENESIS)


def _to_row(event: AuditEvent) -> Row:
    return {
        "org": event.org,
        "seq": event.seq,
        "id": event.id,
        "at": to_us(event.at),
        "kind": event.record.kind.value,
        "actor": event.record.actor,
        "request_id": event.request_id,
        "request_version": event.request_version,
        "facts": plain_canonical(dict(event.record.facts)).decode(),
        "prev_hash": event.prev_hash,
        "hash": event.hash,
    }


def _from_row(row: Row) -> AuditEvent:
    return AuditEvent(
        org=row["org"],
        seq=row["seq"],
        id=row["id"],
        at=from_us(row["at"]),
        record=Record(kind=Kind(row["kind"]), actor=row["actor"], facts=json.loads(row["facts"])),
        request_id=row["request_id"],
        request_version=row["request_version"],
        prev_hash=row["prev_hash"],
        hash=row["hash"],
    )
