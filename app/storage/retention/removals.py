"""What is over and old, by page, and its removal with all the rows that hang on it.

A request is over when nothing is owed any more and nothing else stands on it: no grant that could be claimed, no
outcome that is not known, no errand on its way, nobody's idempotency key, no request that asked it again, no card that
shows another request too, and no permission in force (or glass that nobody has reviewed) that counts what it spent.
Rows are looked for by a reader; whoever removes them looks again, under their locks, at what was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import and_, bindparam, delete, exists, literal_column, or_, select

from app.domain.request.request import OPEN_STATES, DeliveryStatus, ExecutionStatus
from app.domain.rules.permits import BY_RULE
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.payments.spends import retire_spends
from app.storage.requests.known import forget
from app.storage.statements.one_of import of_org, one_of
from app.storage.tables.payment_tables import lifts, spends, standing_approvals
from app.storage.tables.secret_tables import exhibits
from app.storage.tables.tables import (
    decisions,
    deliveries,
    executions,
    grants,
    idempotency_keys,
    outbox,
    requests,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import BindParameter, Table
    from sqlalchemy.sql.elements import ColumnElement

MOST = 64
"""Requests that one transaction removes: the writing lane is soon free again."""

MOST_ERRANDS = 512


class Removed(Struct, frozen=True, kw_only=True):
    """What one transaction removed."""

    requests: tuple[str, ...] = ()
    deliveries: int = 0
    outbox: int = 0


def _words(values: Sequence[str] | frozenset[str]) -> list[ColumnElement[str]]:
    return [literal_column(f"'{value}'") for value in sorted(values)]


_AT: BindParameter[Any] = bindparam("before")
_UNSETTLED = _words(["pending_elsewhere", ExecutionStatus.STARTED.value, ExecutionStatus.UNKNOWN.value])
_OVER = (
    requests.c.created_at < _AT,
    requests.c.settled_at < _AT,
    requests.c.status != literal_column("'pending'"),
    requests.c.state.not_in(_words(frozenset(state.value for state in OPEN_STATES))),
    ~exists().where(
        grants.c.request_id == requests.c.id,
        or_(
            grants.c.status == literal_column("'issued'"),
            and_(grants.c.status != literal_column("'consumed'"), grants.c.not_after >= _AT),
        ),
    ),
    ~exists().where(
        executions.c.request_id == requests.c.id,
        or_(executions.c.status.in_(_UNSETTLED), executions.c.ended_at.is_(None), executions.c.ended_at >= _AT),
    ),
)
_ON_ITS_WAY = exists().where(outbox.c.delivery_id == deliveries.c.id, outbox.c.status == literal_column("'queued'"))
_other = deliveries.alias("other")
_CARRIES = exists().where(_other.c.carrier_id == deliveries.c.id, _other.c.request_id != deliveries.c.request_id)
_successor = requests.alias("successor")
_FREE = (
    ~exists().where(deliveries.c.request_id == requests.c.id, or_(_ON_ITS_WAY, _CARRIES)),
    ~exists().where(_successor.c.predecessor_id == requests.c.id),
    ~exists().where(idempotency_keys.c.request_id == requests.c.id, idempotency_keys.c.expires_at > bindparam("at")),
    ~exists().where(
        spends.c.request_id == requests.c.id,
        spends.c.standing_id == standing_approvals.c.id,
        or_(
            and_(
                standing_approvals.c.status == literal_column("'active'"),
                or_(
                    standing_approvals.c.confirmed_by.not_like(literal_column(f"'{BY_RULE}%'")),
                    standing_approvals.c.expires_at > bindparam("at"),
                ),
            ),
            and_(
                standing_approvals.c.kind == literal_column("'break_glass'"), standing_approvals.c.reviewed_at.is_(None)
            ),
        ),
    ),
)
_SHOWN = and_(
    deliveries.c.status.in_(_words([DeliveryStatus.RETIRED.value, DeliveryStatus.UNDELIVERABLE.value])),
    ~_ON_ITS_WAY,
    ~_CARRIES,
)
_HAS_SHOWN = exists().where(deliveries.c.request_id == requests.c.id, _SHOWN)
_BEHIND = or_(
    requests.c.created_at > bindparam("behind_at"),
    and_(requests.c.created_at == bindparam("behind_at"), requests.c.id > bindparam("behind_id")),
)


def _page(*conditions: ColumnElement[bool]) -> Statement:
    ours = requests.c.org == bindparam("for_org")
    found = select(requests.c.id, requests.c.created_at).where(ours, *_OVER, *conditions, _BEHIND)
    return Statement(found.order_by(requests.c.created_at, requests.c.id).limit(literal_column(str(MOST))))


def _still(*conditions: ColumnElement[bool]) -> Statement:
    named = of_org(requests.c.org), one_of(requests.c.id, "ids")
    found = select(requests.c.id).where(*named, *_OVER, *conditions).order_by(requests.c.id)
    return Statement(found.with_for_update(of=requests, skip_locked=True))


_REQUESTS, _STILL_REQUESTS = _page(*_FREE), _still(*_FREE)
_CARDS, _STILL_CARDS = _page(_HAS_SHOWN), _still(_HAS_SHOWN)
_OF_THEM = select(deliveries.c.id).where(of_org(deliveries.c.org), one_of(deliveries.c.request_id, "ids"))


def _of_requests(table: Table) -> Statement:
    return Statement(delete(table).where(of_org(table.c.org), one_of(table.c.request_id, "ids")))


_DROP_ERRANDS = Statement(delete(outbox).where(outbox.c.delivery_id.in_(_OF_THEM)))
_DROP_CARDS = _of_requests(deliveries)
_DROP_REST = tuple(_of_requests(table) for table in (lifts, idempotency_keys, exhibits, decisions, executions, grants))
_DROP = Statement(delete(requests).where(of_org(requests.c.org), one_of(requests.c.id, "ids")))
_DROP_SHOWN_ERRANDS = Statement(delete(outbox).where(outbox.c.delivery_id.in_(_OF_THEM.where(_SHOWN))))
_DROP_SHOWN = Statement(
    delete(deliveries).where(deliveries.c.id.in_(_OF_THEM.where(_SHOWN)))  # those that carry others stay with them
)
_OLD_ERRANDS = (
    outbox.c.org == bindparam("for_org"),
    outbox.c.status != literal_column("'queued'"),
    outbox.c.created_at < _AT,
    exists().where(
        deliveries.c.id == outbox.c.delivery_id,
        requests.c.id == deliveries.c.request_id,
        requests.c.status != literal_column("'pending'"),
    ),
)
_DROP_OLD_ERRANDS = Statement(
    delete(outbox).where(
        outbox.c.id.in_(
            select(outbox.c.id)
            .where(*_OLD_ERRANDS)
            .order_by(outbox.c.created_at)
            .limit(literal_column(str(MOST_ERRANDS)))
        )
    )
)
Seen = tuple[int, str]
"""The (created_at in µs, id) of the last request that was looked at."""

BEGINNING: Seen = (-1, "")


def list_over(tx: Tx, *, before: datetime, behind: Seen) -> list[Seen]:
    """Return a page of requests that ended before an instant and that nothing stands on, the oldest first."""
    rows = tx.all(
        _REQUESTS,
        for_org=tx.org,
        before=to_us(before),
        at=to_us(tx.now()),
        behind_at=behind[0],
        behind_id=behind[1],
    )
    return [(row["created_at"], row["id"]) for row in rows]


def list_shown(tx: Tx, *, before: datetime, behind: Seen) -> list[Seen]:
    """Return a page of requests that ended before an instant and have cards that nobody needs any more."""
    rows = tx.all(_CARDS, for_org=tx.org, before=to_us(before), behind_at=behind[0], behind_id=behind[1])
    return [(row["created_at"], row["id"]) for row in rows]


def remove_requests(tx: Tx, found: Sequence[Seen], *, before: datetime) -> Removed:
    """Remove those of a page of which all that is still so, with everything that hangs on them."""
    named = [request_id for _, request_id in found]
    rows = tx.all(_STILL_REQUESTS, for_org=tx.org, before=to_us(before), at=to_us(tx.now()), ids=named)
    ids = [row["id"] for row in rows]
    if not ids:
        return Removed()
    retire_spends(tx, ids)
    errands = tx.run(_DROP_ERRANDS, for_org=tx.org, ids=ids)
    cards = tx.run(_DROP_CARDS, for_org=tx.org, ids=ids)
    for statement in _DROP_REST:
        tx.write(statement, for_org=tx.org, ids=ids)
    tx.write(_DROP, for_org=tx.org, ids=ids)
    for each in ids:
        forget(tx, each)
    return Removed(requests=tuple(ids), deliveries=cards, outbox=errands)


def remove_shown(tx: Tx, found: Sequence[Seen], *, before: datetime) -> Removed:
    """Remove the cards of a page of requests that nobody needs any more."""
    named = [request_id for _, request_id in found]
    ids = [row["id"] for row in tx.all(_STILL_CARDS, for_org=tx.org, before=to_us(before), ids=named)]
    if not ids:
        return Removed()
    errands = tx.run(_DROP_SHOWN_ERRANDS, for_org=tx.org, ids=ids)
    return Removed(deliveries=tx.run(_DROP_SHOWN, for_org=tx.org, ids=ids), outbox=errands)


def remove_errands(tx: Tx, *, before: datetime) -> Removed:
    """Remove errands that were begun before an instant and are done or given up, the oldest first."""
    return Removed(outbox=tx.run(_DROP_OLD_ERRANDS, for_org=tx.org, before=to_us(before)))
