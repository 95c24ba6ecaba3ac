"""The audit trail's rows: linked into the org's chain at the end of a group commit, and paged out again.

All units of a commit hand in their records; the chain's head is locked once, after every request row (the fixed lock
order: requests, then the head), so the order of events is the order of commits.

On PostgreSQL the head is read beside what a commit reads first, which costs no wait of its own, and is locked as it is
moved: from what was read, and from nothing else. Where another replica was faster the whole commit is run again, and it
and those after it lock the head before they link to it: for two that are busy, losing costs more than waiting.
"""

from __future__ import annotations

import re
import time
from types import NoneType
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, literal_column, select

from app.domain.errors import UnsealedError
from app.domain.trail.audit import AuditEvent, Kind, Record
from app.domain.trail.chain import GENESIS, facts_text, link
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import EVERY_ORG, Link, Pending, Row, Statement, Tx
from app.storage.statements.one_of import of_org, one_of
from app.storage.statements.together import Rank, inserting, saving
from app.storage.tables.columns import MISREAD, json_object
from app.storage.tables.tables import audit_events, audit_heads

if TYPE_CHECKING:
    from collections.abc import Sequence

_HASH = re.compile(r"[0-9a-f]{64}")
_MOST_EVENTS = 2**53
_HEAD = Statement(select(audit_heads.c.seq, audit_heads.c.hash).where(audit_heads.c.org == bindparam("for_org")))
_HEAD_LOCKED = Statement(
    select(audit_heads.c.seq, audit_heads.c.hash).where(audit_heads.c.org == bindparam("for_org")).with_for_update()
)
_NEW_HEAD = inserting(audit_heads, rank=Rank.LINE, key="org")
_MOVE_HEAD = saving(
    audit_heads,
    rank=Rank.LINE,
    named={"for_org": "org", "from_seq": "seq", "from_hash": "hash"},
    values=("seq", "hash"),
)
_BUSY = 10.0
"""Seconds in which commits lock the head before they link to it, once another process has moved it under one."""
_INSERT = inserting(audit_events, rank=Rank.SAY)
_PAGE = Statement(
    select(audit_events)
    .where(audit_events.c.org == bindparam("for_org"), audit_events.c.seq > bindparam("after"))
    .order_by(audit_events.c.seq)
    .limit(bindparam("most"))
)
# Found by their request and sorted then: in the order of `seq` itself, the whole trail would be walked for them.
_BY_SEQ = audit_events.c.seq + literal_column("0")
_OF_REQUEST = Statement(
    select(audit_events)
    .where(audit_events.c.org == bindparam("for_org"), audit_events.c.request_id == bindparam("of_request"))
    .order_by(_BY_SEQ)
)


_OF_REQUESTS = Statement(
    select(audit_events).where(of_org(audit_events.c.org), one_of(audit_events.c.request_id, "ids")).order_by(_BY_SEQ)
)


_ANY_OF_REQUEST = Statement(
    select(audit_events.c.seq)
    .where(
        audit_events.c.org == bindparam("for_org"),
        audit_events.c.request_id == bindparam("of_request"),
        audit_events.c.kind == bindparam("of_kind"),
    )
    .limit(literal_column("1"))
)
_ANY_OF = Statement(
    select(audit_events.c.seq)
    .where(audit_events.c.org == bindparam("for_org"), audit_events.c.kind == bindparam("of_kind"))
    .limit(literal_column("1"))
)


_ABOUT_KEYS = Statement(
    select(audit_events)
    .where(
        audit_events.c.org == bindparam("for_org"),
        audit_events.c.kind.in_([literal_column(f"'{kind.value}'") for kind in (Kind.KEY_CREATED, Kind.KEY_REVOKED)]),
    )
    .order_by(audit_events.c.seq)
)


class UnreadableEventError(ValueError):
    """A row of the trail is not what this gateway writes; the text says which."""


class Chains:
    """Where a store's commits are linked to. Used by its writing lane alone."""

    def __init__(self) -> None:
        """Begin without knowing of anybody else."""
        self._busy_until: dict[str, float] = {}
        """Until when an org's head is locked before it is linked to (monotonic seconds): others write there, too."""

    def foresee(self, tx: Tx) -> None:
        """Ask for the head that this commit will link to, unless it is to be locked then."""
        if tx.is_again:
            self._busy_until[tx.org] = time.monotonic() + _BUSY
        elif tx.org != EVERY_ORG and self._busy_until.get(tx.org, 0.0) <= time.monotonic():
            tx.foresee(_HEAD, for_org=tx.org)

    def append_all(self, tx: Tx, pending: Sequence[Pending]) -> None:
        """Link and insert an org's records in their order. Called by the store alone, last in a commit.

        Raises UnsealedError for a head that no gateway wrote: nothing is linked to it.
        """
        found = tx.rely()
        if found is None:
            found = tx.all(_HEAD_LOCKED if tx.locks_rows else _HEAD, for_org=tx.org)
        from_seq, from_hash = seq, prev = _head_of(found[0] if found else None)
        for item in pending:
            facts = facts_text(item.record)
            event = link(
                item.record,
                facts=facts,
                org=tx.org,
                seq=seq + 1,
                event_id=item.id,
                at=item.at,
                request_id=item.request_id,
                request_version=item.request_version,
                prev_hash=prev,
            )
            tx.gather(_INSERT, **_to_row(event, facts))
            tx.linked(Link(tx.org, event.seq, event.hash, event.request_id))
            seq, prev = event.seq, event.hash
        if found:
            tx.gather(_MOVE_HEAD, for_org=tx.org, from_seq=from_seq, from_hash=from_hash, seq=seq, hash=prev)
        else:
            tx.gather(_NEW_HEAD, org=tx.org, seq=seq, hash=prev)


def list_events(tx: Tx, *, after: int, most: int) -> list[AuditEvent]:
    """Return a page of the org's trail, in order, behind `after` (-1 for the beginning).

    Raises UnsealedError, as all that reads events for people, where one is not what a gateway writes.
    """
    return [_event_of(row) for row in tx.all(_PAGE, for_org=tx.org, after=after, most=most)]


def list_kept(tx: Tx, *, after: int, most: int) -> list[AuditEvent]:
    """Return a page as `list_events` does, and look at each row as it is kept. Raises UnreadableEventError."""
    found: list[AuditEvent] = []
    for row in tx.all(_PAGE, for_org=tx.org, after=after, most=most):
        try:
            event = _from_row(row)
            same = facts_text(event.record).decode() == row["facts"] and _is_whole(row)
        except MISREAD:
            same, event = False, None
        if event is None or not same:
            raise UnreadableEventError(f"event {row['seq']} was changed: it is not as a gateway writes it")
        found.append(event)
    return found


def _is_whole(row: Row) -> bool:
    """Say whether the numbers of an event are whole ones: in SQLite a column holds others, and some hash alike."""
    return type(row["seq"]) is type(row["at"]) is int and type(row["request_version"]) in {int, NoneType}


def list_of_requests(tx: Tx, ids: Sequence[str]) -> dict[str, list[AuditEvent]]:
    """Return what the trail says of each of these requests, in order."""
    found: dict[str, list[AuditEvent]] = {request_id: [] for request_id in ids}
    for row in tx.all(_OF_REQUESTS, for_org=tx.org, ids=ids):
        found[row["request_id"]].append(_event_of(row))
    return found


def was_said(tx: Tx, request_id: str, kind: Kind) -> bool:
    """Say whether the trail has an event of a kind of this request."""
    return tx.one(_ANY_OF_REQUEST, for_org=tx.org, of_request=request_id, of_kind=kind.value) is not None


def has_kind(tx: Tx, kind: Kind) -> bool:
    """Say whether the org's trail has an event of a kind. It walks the whole of it."""
    return tx.one(_ANY_OF, for_org=tx.org, of_kind=kind.value) is not None


def list_of_request(tx: Tx, request_id: str) -> list[AuditEvent]:
    """Return everything the trail says of one request, in order."""
    return [_event_of(row) for row in tx.all(_OF_REQUEST, for_org=tx.org, of_request=request_id)]


def list_about_keys(tx: Tx) -> list[AuditEvent]:
    """Return what the trail says of the org's keys, in order. It walks the whole of it."""
    return [_event_of(row) for row in tx.all(_ABOUT_KEYS, for_org=tx.org)]


def get_head(tx: Tx) -> tuple[int, str]:
    """Return the (seq, hash) of the last event; (-1, GENESIS) of an empty trail. Raises UnsealedError."""
    return _head_of(tx.one(_HEAD, for_org=tx.org))


def is_head(seq: object, digest: object) -> bool:
    """Say whether this may be the last event of a trail: its number, and a hash."""
    is_number = type(seq) is int and 0 <= seq < _MOST_EVENTS
    return is_number and type(digest) is str and _HASH.fullmatch(digest) is not None


def _head_of(row: Row | None) -> tuple[int, str]:
    if row is None:
        return -1, GENESIS
    seq, digest = row["seq"], row["hash"]
    if not is_head(seq, digest):
        raise UnsealedError("the head of the trail cannot be read: `assent audit verify` names it")
    return seq, digest


def _to_row(event: AuditEvent, facts: bytes | None = None) -> Row:
    return {
        "org": event.org,
        "seq": event.seq,
        "id": event.id,
        "at": to_us(event.at),
        "kind": str(event.record.kind),
        "actor": event.record.actor,
        "request_id": event.request_id,
        "request_version": event.request_version,
        "facts": (facts or facts_text(event.record)).decode(),
        "prev_hash": event.prev_hash,
        "hash": event.hash,
    }


def _event_of(row: Row) -> AuditEvent:
    try:
        return _from_row(row)
    except MISREAD:
        raise UnsealedError(f"event {row['seq']} of the trail cannot be read: `assent audit verify` names it") from None


def _from_row(row: Row) -> AuditEvent:
    return AuditEvent(
        org=row["org"],
        seq=row["seq"],
        id=row["id"],
        at=from_us(row["at"]),
        record=Record(kind=Kind(row["kind"]), actor=row["actor"], facts=json_object(row["facts"])),
        request_id=row["request_id"],
        request_version=row["request_version"],
        prev_hash=row["prev_hash"],
        hash=row["hash"],
    )
