"""What the gateway is doing now, and did these days, in numbers: each a look of one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, bindparam, func, or_, select

from app.domain.request.request import UNCERTAIN_STATES
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import decisions, deliveries, requests

if TYPE_CHECKING:
    from datetime import datetime, timedelta

MOST_DECIDED = 1_000
"""So many of the newest decisions and votes are looked at."""

_OF_ORG = requests.c.org == bindparam("for_org")
_SINCE = requests.c.created_at >= bindparam("since", type_=BigInteger())
_WAITING = Statement(
    select(func.count().label("rows"), func.min(requests.c.created_at).label("at")).where(
        _OF_ORG, requests.c.status == "pending"
    )
)
_UNKNOWN = Statement(
    select(func.count().label("rows")).where(
        _OF_ORG, or_(*(requests.c.state == state for state in sorted(each.value for each in UNCERTAIN_STATES)))
    )
)
_UNDELIVERED = Statement(
    select(func.count(requests.c.id.distinct()).label("rows"))
    .select_from(requests.join(deliveries, deliveries.c.request_id == requests.c.id))
    .where(_OF_ORG, requests.c.status == "pending", deliveries.c.status == "undeliverable")
)
_DAY = Statement(
    select(requests.c.state, func.count().label("rows"))
    .where(_OF_ORG, _SINCE, requests.c.created_at < bindparam("until", type_=BigInteger()))
    .group_by(requests.c.state)
)
_DECIDED = Statement(
    select(requests.c.created_at, requests.c.settled_at)
    .where(
        _OF_ORG,
        _SINCE,
        or_(requests.c.status == "approved", requests.c.status == "denied"),
        requests.c.settled_by.like("%@%"),
    )
    .order_by(requests.c.created_at.desc(), requests.c.id.desc())
    .limit(MOST_DECIDED)
)
_VOTES = Statement(
    select(decisions.c.person, decisions.c.verdict, decisions.c.decided_at, requests.c.created_at)
    .select_from(requests.join(decisions, decisions.c.request_id == requests.c.id))
    .where(_OF_ORG, _SINCE)
    .order_by(requests.c.created_at.desc(), requests.c.id.desc(), decisions.c.person)
    .limit(MOST_DECIDED)
)


def count_waiting(tx: Tx) -> tuple[int, datetime | None]:
    """Return how many requests wait for people, and since when the oldest does."""
    [row] = tx.all(_WAITING, for_org=tx.org)
    return row["rows"], from_us(row["at"]) if row["at"] is not None else None


def count_unknown(tx: Tx) -> int:
    """Return of how many executions nobody knows the outcome, or the service still decides it."""
    return tx.all(_UNKNOWN, for_org=tx.org)[0]["rows"]


def count_undelivered(tx: Tx) -> int:
    """Return how many waiting requests have a card that could not be brought to its place."""
    return tx.all(_UNDELIVERED, for_org=tx.org)[0]["rows"]


def count_states(tx: Tx, since: datetime, until: datetime) -> dict[str, int]:
    """Return in which state those are now that were asked in a span."""
    rows = tx.all(_DAY, for_org=tx.org, since=to_us(since), until=to_us(until))
    return {row["state"]: int(row["rows"]) for row in rows}


def list_decided_in(tx: Tx, since: datetime) -> list[timedelta]:
    """Return how long people took, for the newest decisions of theirs since then."""
    rows = tx.all(_DECIDED, for_org=tx.org, since=to_us(since))
    return [from_us(row["settled_at"]) - from_us(row["created_at"]) for row in rows]


def list_votes_in(tx: Tx, since: datetime) -> list[tuple[str, str, timedelta]]:
    """Return the newest votes on what was asked since then: whose, what, and how long after the asking."""
    rows = tx.all(_VOTES, for_org=tx.org, since=to_us(since))
    return [(row["person"], row["verdict"], from_us(row["decided_at"]) - from_us(row["created_at"])) for row in rows]
