"""What the gateway is doing now, and did these days, in numbers: each a look of one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, bindparam, func, literal_column, select, text

from app.domain.request.request import UNCERTAIN_STATES, State
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import decisions, deliveries, requests

if TYPE_CHECKING:
    from datetime import datetime, timedelta

MOST_DECIDED = 1_000
"""So many of the newest decisions are looked at, with the votes on them."""

MOST_UNDELIVERED = 1_000
"""So many waiting requests with a card that did not arrive are counted."""

_OF_ORG = requests.c.org == bindparam("for_org")
_SINCE = requests.c.created_at >= bindparam("since", type_=BigInteger())
_OF_STATE = requests.c.state == bindparam("state")
# By state, and not by status: an index has all that is counted, and no row is read for it.
_COUNTED = Statement(
    select(func.count().label("rows"), func.min(requests.c.created_at).label("at")).where(_OF_ORG, _OF_STATE)
)
_MISSED = (
    select(requests.c.id)
    .distinct()
    .select_from(deliveries.join(requests, requests.c.id == deliveries.c.request_id))
    .where(
        deliveries.c.org == bindparam("for_org"),
        deliveries.c.status == literal_column("'undeliverable'"),  # as in the index
        requests.c.status == "pending",
    )
    .limit(MOST_UNDELIVERED)
    .subquery()
)
_UNDELIVERED = Statement(select(func.count().label("rows")).select_from(_MISSED))
_DAY = Statement(
    select(requests.c.state, func.count().label("rows"))
    .where(
        _OF_ORG,
        requests.c.state.in_(
            [literal_column(f"'{each.value}'") for each in State]
        ),  # so that each is a walk of its own
        _SINCE,
        requests.c.created_at < bindparam("until", type_=BigInteger()),
    )
    .group_by(requests.c.state)
)
_NEWEST = (
    select(requests.c.id, requests.c.created_at, requests.c.settled_at, requests.c.settled_by)
    .where(_OF_ORG, _SINCE, text("status IN ('approved', 'denied')"))  # as in the index
    .order_by(requests.c.created_at.desc(), requests.c.id.desc())
    .limit(MOST_DECIDED)
    .subquery()
)
_DECIDED = Statement(select(_NEWEST.c.created_at, _NEWEST.c.settled_at).where(_NEWEST.c.settled_by.like("%@%")))
_VOTES = Statement(
    select(decisions.c.person, decisions.c.verdict, decisions.c.decided_at, _NEWEST.c.created_at).select_from(
        _NEWEST.join(decisions, decisions.c.request_id == _NEWEST.c.id)
    )
)


def count_waiting(tx: Tx) -> tuple[int, datetime | None]:
    """Return how many requests wait for people, and since when the oldest does."""
    [row] = tx.all(_COUNTED, for_org=tx.org, state=State.PENDING.value)
    return row["rows"], from_us(row["at"]) if row["at"] is not None else None


def count_unknown(tx: Tx) -> int:
    """Return of how many executions nobody knows the outcome, or the service still decides it."""
    return sum(tx.all(_COUNTED, for_org=tx.org, state=each.value)[0]["rows"] for each in UNCERTAIN_STATES)


def count_undelivered(tx: Tx) -> int:
    """Return how many waiting requests have a card that could not be brought to its place; `MOST_UNDELIVERED`: more."""
    return tx.all(_UNDELIVERED, for_org=tx.org)[0]["rows"]


def count_states(tx: Tx, since: datetime, until: datetime) -> dict[str, int]:
    """Return in which state those are now that were asked in a span."""
    rows = tx.all(_DAY, for_org=tx.org, since=to_us(since), until=to_us(until))
    return {row["state"]: int(row["rows"]) for row in rows}


def list_decided_in(tx: Tx, since: datetime) -> list[timedelta]:
    """Return how long people took, for those of the newest decisions since then that were theirs."""
    rows = tx.all(_DECIDED, for_org=tx.org, since=to_us(since))
    return [from_us(row["settled_at"]) - from_us(row["created_at"]) for row in rows]


def list_votes_in(tx: Tx, since: datetime) -> list[tuple[str, str, timedelta]]:
    """Return the votes on the newest of what was decided, asked since then: whose, what, how long after the asking."""
    rows = tx.all(_VOTES, for_org=tx.org, since=to_us(since))
    return [(row["person"], row["verdict"], from_us(row["decided_at"]) - from_us(row["created_at"])) for row in rows]
