"""Standing approvals and broken glasses as they are stored, and what was spent under one of them.

A row is sealed as payees are. One that is not as it was sealed permits nothing, and can be ended; so is one, sealed as
it is, of which the trail says that it was ended, or used more often: an older row was set back; and one whose payments
are not what it has spent. One that no gateway can have written is none. The log has an alarm, and `assent audit verify`
names it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import structlog
from sqlalchemy import (
    BigInteger,
    Integer,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy import cast as sql_cast

from app.domain.rules.permits import Permit, PermitKind, PermitStatus
from app.domain.text.canonical import canonical
from app.domain.trail.audit import Kind
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.identity.sealed_rows import SealedRows, seal_of
from app.storage.permits.spent import spent_of, spent_text, spent_under
from app.storage.tables.columns import MISREAD, why_unlike
from app.storage.tables.payment_tables import restores, standing_approvals
from app.storage.tables.tables import OF_PERMITS, audit_events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.text.canonical import JsonValue

log = structlog.get_logger(__name__)

Place: TypeAlias = tuple[int, int, str]
"""A place in the list: 1 among what comes first, 0 among the rest; when that one was proposed, in µs; and its id."""


class PermitPage(NamedTuple):
    """A page of the list, and the place behind it; None where nothing is behind it."""

    permits: list[Permit]
    behind: Place | None


_BEFORE_ALL: Place = (2, 0, "")

_T = standing_approvals
_ONE = (_T.c.org == bindparam("for_org"), _T.c.id == bindparam("permit_id"))
_INSERT = Statement(insert(_T))
_E = audit_events
_USES = (Kind.STANDING_USED, Kind.STANDING_SESSION_USED, Kind.GLASS_USED)
_SAID_USED = (
    select(func.sum(case((_E.c.kind.in_([literal_column(f"'{kind.value}'") for kind in _USES]), 1), else_=1 << 40)))
    .where(
        _E.c.org == _T.c.org,
        text(OF_PERMITS),
        _E.c.at >= _T.c.proposed_at,
        _E.c.facts.like(literal('%"standing":"') + _T.c.id + literal('"%')),
    )
    .scalar_subquery()
)
"""How often the trail says that one was used in its time; that it was ended is more than any use."""
_WITH_TRAIL = select(_T, _SAID_USED.label("said_used")).where(*_ONE)
_GET = Statement(_WITH_TRAIL)
_LOCK = Statement(_WITH_TRAIL.with_for_update())
_OF_KIND = select(_T).where(_T.c.org == bindparam("for_org"), _T.c.kind == bindparam("of_kind"))
_MAY_HOLD = and_(_T.c.kind == "standing", _T.c.status != "revoked", _T.c.expires_at > bindparam("now"))
_UNREVIEWED = and_(_T.c.kind == "break_glass", _T.c.confirmed_by.is_not(None), _T.c.reviewed_by.is_(None))
_FIRST = case((or_(_MAY_HOLD, _UNREVIEWED), 1), else_=0)
# In SQLite a cell may hold anything: a place in the list is a number all the same.
_AT = func.coalesce(sql_cast(_T.c.proposed_at, BigInteger), 0)
_PAGE = Statement(
    _OF_KIND.add_columns(_FIRST.label("comes_first"), _AT.label("place_at"))
    .where(
        tuple_(_FIRST, _AT, _T.c.id)
        < tuple_(bindparam("first", type_=Integer), bindparam("before_at"), bindparam("before_id"))
    )
    .order_by(_FIRST.desc(), _AT.desc(), _T.c.id.desc())
    .limit(bindparam("most"))
)
_ALL = Statement(_OF_KIND.order_by(_T.c.id))
_LOCK_ALL = Statement(_OF_KIND.order_by(_T.c.id).with_for_update())
_ACTIVE = Statement(
    select(_T)
    .where(
        _T.c.org == bindparam("for_org"),
        _T.c.status == "active",
        _T.c.expires_at > bindparam("after"),
        # A restored row may have been revoked since, and whoever clears up after a restore may be cut off.
        _T.c.proposed_at > select(func.coalesce(func.max(restores.c.restored_at), -1)).scalar_subquery(),
    )
    .order_by(_T.c.expires_at, _T.c.id)
)
_OVER = Statement(
    select(_T)
    .where(_T.c.kind == "break_glass", _T.c.status == "active", _T.c.expires_at <= bindparam("by"))
    .order_by(_T.c.id)
)
_SAVED = (
    "status",
    "confirmed_by",
    "confirmed_at",
    "expires_at",
    "revoked_by",
    "revoked_at",
    "reviewed_by",
    "reviewed_at",
    "review",
    "used",
    "last_used_at",
    "seal",
    "spent",
)
_SAVE = Statement(
    update(_T)
    .where(*_ONE, _T.c.status == bindparam("old_status"), _T.c.used == bindparam("old_used"))
    .values({name: bindparam(f"new_{name}") for name in _SAVED})
)


def insert_permit(tx: Tx, permit: Permit) -> None:
    """Write a new one."""
    row = _row(tx, permit)
    tx.write(_INSERT, **row, seal=seal_of(tx, _T, row))


def find_permit(tx: Tx, permit_id: str) -> Permit | None:
    """Return one as it stands, without locking it: for showing."""
    return _one(tx, _GET, permit_id)


def lock_permit(tx: Tx, permit_id: str, *, kind: PermitKind | None = None) -> tuple[Permit, datetime] | None:
    """Lock one, and *then* read the clock: what ended while this waited is over. None: there is none of this kind."""
    permit = _one(tx, _LOCK if tx.locks_rows else _GET, permit_id)
    if permit is None or kind not in {None, permit.kind}:
        return None
    return permit, tx.lock_now() if tx.locks_rows else tx.now()


def lock_permits(tx: Tx, kind: PermitKind) -> tuple[list[Permit], datetime]:
    """Lock all of a kind in the order of their ids, and *then* read the clock."""
    rows = tx.all(_LOCK_ALL if tx.locks_rows else _ALL, for_org=tx.org, of_kind=kind.value)
    return _read(tx, rows), tx.lock_now() if tx.locks_rows else tx.now()


def list_permits(tx: Tx, kind: PermitKind, *, most: int, behind: Place | None = None) -> PermitPage:
    """Return a page of the org's, the newest first.

    Those come before all others that may still hold, of standing approvals, or that wait for a review, of glasses.
    """
    first, at, permit_id = behind or _BEFORE_ALL
    rows = tx.all(
        _PAGE,
        for_org=tx.org,
        of_kind=kind.value,
        now=to_us(tx.now()),
        first=first,
        before_at=at,
        before_id=permit_id,
        most=most + 1,
    )
    last = rows[most - 1] if len(rows) > most else None
    place = (last["comes_first"], last["place_at"], str(last["id"])) if last is not None else None
    return PermitPage(_read(tx, rows[:most]), place)


def list_active(tx: Tx, *, after: datetime) -> list[Permit]:
    """Return the org's of both kinds that are confirmed, not revoked, and end later; the first to end first.

    None that was proposed before the database was restored from a backup, and none that is not as it was sealed.
    """
    found = _read(tx, tx.all(_ACTIVE, for_org=tx.org, after=to_us(after)))
    for each in found:
        if not each.is_sealed:
            log.critical("standing.unsealed", org=tx.org, permit=each.id)
    return [each for each in found if each.is_sealed]


def list_over(tx: Tx, *, by: datetime) -> list[tuple[str, str]]:
    """Return the (org, id) of broken glasses whose time is over and that nobody has said so of; over all orgs."""
    over = [(row["org"], row["id"]) for row in tx.all(_OVER, by=to_us(by))]
    return [each for each in over if all(isinstance(part, str) for part in each)]


def save_permit(tx: Tx, before: Permit, after: Permit) -> None:
    """Write what changed, if nothing else has changed meanwhile; else the unit runs again.

    What was not as it was sealed is not sealed again: nobody can say who wrote it.
    """
    row = _row(tx, after)
    seal = seal_of(tx, _T, row) if before.is_sealed else None
    tx.guard(
        _SAVE,
        for_org=tx.org,
        permit_id=after.id,
        old_status=before.status.value,
        old_used=before.used,
        **{f"new_{name}": {**row, "seal": seal}[name] for name in _SAVED},
    )


def _row(tx: Tx, permit: Permit) -> Row:
    return {
        "id": permit.id,
        "org": tx.org,
        "kind": permit.kind.value,
        "scope": canonical(dict(permit.scope)).decode(),
        "digest": permit.digest,
        "reason": permit.reason,
        "proposed_by": permit.proposed_by,
        "proposed_at": to_us(permit.proposed_at),
        "status": permit.status.value,
        "confirmed_by": permit.confirmed_by,
        "confirmed_at": _us(permit.confirmed_at),
        "expires_at": to_us(permit.expires_at),
        "revoked_by": permit.revoked_by,
        "revoked_at": _us(permit.revoked_at),
        "reviewed_by": permit.reviewed_by,
        "reviewed_at": _us(permit.reviewed_at),
        "review": permit.review,
        "used": permit.used,
        "last_used_at": _us(permit.last_used_at),
        "spent": spent_text(permit.spent),
    }


def _us(at: datetime | None) -> int | None:
    return None if at is None else to_us(at)


def _at(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)


def _scope(stored: str) -> dict[str, JsonValue]:
    """Read what one allows; what cannot be read allows nothing, and hinders neither the others nor its revocation."""
    try:
        read: object = json.loads(stored)
    except ValueError:
        read = None
    return cast("dict[str, JsonValue]", read) if isinstance(read, dict) else {}


def _one(tx: Tx, statement: Statement, permit_id: str) -> Permit | None:
    permit = next(iter(_read(tx, tx.all(statement, for_org=tx.org, permit_id=permit_id))), None)
    return with_payments(tx, permit) if permit is not None else None


def with_payments(tx: Tx, permit: Permit) -> Permit:
    """Hold one against its payments: one to whose sum they do not add up is not as it was sealed."""
    spent = spent_under(tx, permit.id)
    if spent.adds_up:
        return replace(permit, spent=spent.amounts)
    if permit.status is not PermitStatus.REVOKED:
        why = "its payments do not add up to what it has spent"
        log.critical("standing.unsealed", org=tx.org, permit=permit.id, why=why)
    return replace(permit, is_sealed=False)


def _read(tx: Tx, rows: Sequence[Row]) -> list[Permit]:
    """Read rows, and hold them against their seals. One that no gateway can have written is left out."""
    sealed = SealedRows(tx) if rows else None
    found: list[Permit] = []
    for row in rows:
        try:
            why = why_unlike(_T.columns, row)
            if why is None and sealed is not None:
                found.append(_from_row(row, is_sealed=sealed.hold(_T, row) and not _is_older(tx, row)))
        except MISREAD as error:
            why = repr(error)
        if why is not None:
            log.critical("standing.unreadable", org=tx.org, permit=str(row["id"]), why=why)
    return found


def _is_older(tx: Tx, row: Row) -> bool:
    """Say whether the trail tells more of one that may be in force than its row does: an older one was set back."""
    is_older = row["status"] != "revoked" and (row.get("said_used") or 0) > row["used"]
    if is_older:
        why = "the trail tells more of it than its row"
        log.critical("standing.unsealed", org=tx.org, permit=str(row["id"]), why=why)
    return is_older


def _from_row(row: Row, *, is_sealed: bool) -> Permit:
    return Permit(
        is_sealed=is_sealed,
        id=row["id"],
        kind=PermitKind(row["kind"]),
        status=PermitStatus(row["status"]),
        scope=_scope(row["scope"]),
        digest=row["digest"],
        reason=row["reason"],
        proposed_by=row["proposed_by"],
        proposed_at=from_us(row["proposed_at"]),
        expires_at=from_us(row["expires_at"]),
        confirmed_by=row["confirmed_by"],
        confirmed_at=_at(row["confirmed_at"]),
        revoked_by=row["revoked_by"],
        revoked_at=_at(row["revoked_at"]),
        reviewed_by=row["reviewed_by"],
        reviewed_at=_at(row["reviewed_at"]),
        review=row["review"],
        used=row["used"],
        last_used_at=_at(row["last_used_at"]),
        spent=None if row["spent"] is None else spent_of(row["spent"]),
    )
