"""Restores that were declared: the epoch of the database, and what the rows of before it still say.

A restored database repeats the past: what it calls pending or approved may have been decided or spent since. Each
declared restore begins a new epoch; what was asked before it can never be claimed, from that commit on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, delete, func, insert, literal_column, or_, select, union_all, update

from app.domain.errors import UnsealedError
from app.domain.identity.seals import BadTokenError
from app.domain.trail.audit import Kind
from app.storage.engine.dialect import MICROSECOND, from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.columns import MISREAD, json_object
from app.storage.tables.payment_tables import restores, standing_approvals
from app.storage.tables.replica_tables import database_servers
from app.storage.tables.tables import audit_events, executions, grants, idempotency_keys, requests, trail_cuts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

_EPOCHS = union_all(select(restores.c.epoch), select(database_servers.c.epoch)).subquery()
EPOCH = select(func.coalesce(func.max(_EPOCHS.c.epoch), 0).label("epoch"))
"""The newest epoch: begun with a restore, or with another server of the database."""
_NEWEST = Statement(
    select(func.coalesce(func.max(_EPOCHS.c.epoch), 0).label("epoch"), func.count(_EPOCHS.c.epoch).label("rows"))
)
_LIST = Statement(select(restores).order_by(restores.c.epoch))
_SAID = Statement(select(audit_events.c.facts).where(audit_events.c.kind == literal_column(f"'{Kind.RESTORED.value}'")))
_CARRIED = Statement(select(trail_cuts.c.carried))
_FIND = Statement(select(restores.c.restored_at).where(restores.c.epoch == bindparam("of_epoch")))
_INSERT = Statement(insert(restores))
_ANY_TIME = 2**62
_PURPOSE = "restore"
_OPEN = Statement(
    select(requests.c.id)
    .outerjoin(grants, grants.c.request_id == requests.c.id)
    .outerjoin(executions, executions.c.request_id == requests.c.id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.id > bindparam("behind"),
        requests.c.created_at <= bindparam("until"),
        or_(requests.c.status == "pending", grants.c.status == "issued", executions.c.status == "started"),
    )
    .order_by(requests.c.id)
    .limit(bindparam("most"))
)
_NEWEST_OPEN = Statement(
    select(func.max(requests.c.created_at).label("at"))
    .select_from(requests)
    .outerjoin(grants, grants.c.request_id == requests.c.id)
    .outerjoin(executions, executions.c.request_id == requests.c.id)
    .where(or_(requests.c.status == "pending", grants.c.status == "issued", executions.c.status == "started"))
)
_NEWEST_STANDING = Statement(
    select(func.max(standing_approvals.c.proposed_at).label("at")).where(standing_approvals.c.status != "revoked")
)
_FORGET_KEYS = Statement(
    delete(idempotency_keys).where(
        idempotency_keys.c.org == bindparam("for_org"), idempotency_keys.c.request_id == bindparam("of_request")
    )
)
_STANDING = Statement(
    select(standing_approvals.c.id, standing_approvals.c.kind, standing_approvals.c.status, standing_approvals.c.scope)
    .where(
        standing_approvals.c.org == bindparam("for_org"),
        standing_approvals.c.status != "revoked",
        standing_approvals.c.proposed_at <= bindparam("until"),
    )
    .order_by(standing_approvals.c.id)
)
_TAKE_BACK = Statement(
    update(standing_approvals)
    .where(standing_approvals.c.id == bindparam("standing_id"), standing_approvals.c.status != "revoked")
    .values(status="revoked", revoked_by=bindparam("by"), revoked_at=bindparam("at"), seal=None)
)


class Restore(Struct, frozen=True, kw_only=True):
    """One declared restore."""

    epoch: int
    by: str
    at: datetime
    reason: str


class Standing(Struct, frozen=True, kw_only=True):
    """A permission that was given beforehand, as far as taking it back needs it."""

    id: str
    is_glass: bool
    was_active: bool
    scope: str


def get_epoch(tx: Tx) -> int:
    """Return the epoch of this database: how many restores, and other servers, it has seen. Raises UnsealedError."""
    row = tx.one(_NEWEST)
    if row is None:
        return 0
    if type(row["epoch"]) is not int or not 0 <= row["epoch"] <= row["rows"]:  # each epoch has a row that began it
        raise UnsealedError("an epoch of the tables restores and database_servers is not what a gateway writes")
    return row["epoch"]


def list_restores(tx: Tx) -> list[Restore]:
    """Return the declared restores, the oldest first."""
    return [
        Restore(epoch=row["epoch"], by=row["restored_by"], at=from_us(row["restored_at"]), reason=row["reason"])
        for row in tx.all(_LIST)
    ]


def list_unsaid(tx: Tx, said: Collection[str], *, until: int) -> list[str]:
    """Return the names of the restores until an instant (in µs) that no trail tells of; in the scope of all orgs.

    `said` is what one trail says; those since are of that one alone: each trail that was there tells of a restore.
    Where none was there, its seal says that a gateway, or an operator with the secret, has declared it.
    """
    rows = [row for row in tx.all(_LIST) if type(row["restored_at"]) is int and row["restored_at"] <= until]
    unsaid = {name: row for row in rows if (name := f"restore {row['epoch']}") not in said}
    told = _told(tx, unsaid) if unsaid else set[tuple[str, str]]()
    return [name for name, row in unsaid.items() if (name, str(row["reason"])) not in told and not _is_sealed(tx, row)]


def _told(tx: Tx, names: Collection[str]) -> set[tuple[str, str]]:
    """Return which restores all trails tell of, and their reasons. What cannot be read is named of its own org."""
    found: set[tuple[str, str]] = set()
    for row in tx.all(_SAID):
        with suppress(*MISREAD):
            facts = json_object(row["facts"])
            found.add((f"restore {facts['epoch']}", str(facts["reason"])))
    for row in tx.all(_CARRIED):
        with suppress(*MISREAD):
            said = json_object(row["carried"])["said"]
            found |= {(name, str(said[name][0])) for name in names if name in said}
    return found


def find_newest_open(tx: Tx) -> datetime | None:
    """Return when the newest was made of all that something could still come of; in the scope of all orgs."""
    found = [row["at"] for statement in (_NEWEST_OPEN, _NEWEST_STANDING) for row in tx.all(statement) if row["at"]]
    return from_us(max(found)) if found else None


def begin_epoch(tx: Tx, epoch: int, *, by: str, reason: str, after: datetime | None) -> datetime:
    """Begin an epoch, unless it has begun; return the last instant of the one before.

    That is not before `after`, the newest of all that is open, whatever the clock says; and before this transaction's
    own instant, which what is asked in the same one shares: that is of the new epoch.
    """
    known = tx.one(_FIND, of_epoch=epoch)
    if known is not None:
        return from_us(known["restored_at"])
    last = tx.now() - MICROSECOND
    last = max(last, after or last)
    row = {"epoch": epoch, "restored_by": by, "restored_at": to_us(last), "reason": reason}
    seal = ".".join(tx.seals.seal(_PURPOSE, _text(row))) if tx.seals is not None else None
    tx.write(_INSERT, **row, seal=seal)
    return last


def _text(row: Mapping[str, object]) -> str:
    return ascii([row[name] for name in ("epoch", "restored_by", "restored_at", "reason")])


def _is_sealed(tx: Tx, row: Mapping[str, object]) -> bool:
    key_id, _, mac = str(row["seal"]).partition(".")
    if tx.seals is None:
        return False
    try:
        tx.seals.verify_text(_PURPOSE, _text(row), key_id=key_id, mac=mac)
    except BadTokenError:
        return False
    return True


def list_open(tx: Tx, *, behind: str, most: int, until: datetime | None = None) -> list[str]:
    """Return requests of which something could still come, by id; `until`: those alone that were asked until then."""
    rows = tx.all(_OPEN, for_org=tx.org, behind=behind, until=to_us(until) if until else _ANY_TIME, most=most)
    return [row["id"] for row in rows]


def forget_keys_of(tx: Tx, request_id: str) -> None:
    """Let a repeated call ask anew instead of finding this request."""
    tx.write(_FORGET_KEYS, for_org=tx.org, of_request=request_id)


def take_standing_back(tx: Tx, until: datetime, *, by: str) -> list[Standing]:
    """End every permission that was given, or proposed, beforehand, until an instant; return them as they were."""
    found = tx.all(_STANDING, for_org=tx.org, until=to_us(until))
    for row in found:
        tx.write(_TAKE_BACK, standing_id=row["id"], by=by, at=to_us(tx.now()))
    return [
        Standing(
            id=row["id"],
            is_glass=row["kind"] == "break_glass",
            was_active=row["status"] == "active",
            scope=row["scope"],
        )
        for row in found
    ]
