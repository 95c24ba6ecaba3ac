"""Requests that concern one person: what waits for people, what they decided, what was asked for in their name.

Each is one walk along an index, from the place where the last page ended, and for no more rows than are wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import BigInteger, Integer, Text, and_, bindparam, literal_column, or_, select

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.requests.request_rows import list_readable
from app.storage.requests.requests import list_rows_of
from app.storage.tables.request_columns import REQUEST
from app.storage.tables.tables import decisions, requests

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement

    from app.domain.request.quorum import Stage
    from app.domain.request.request import ConfirmationRequest, Risk

MOST_VOTES = 2_000
"""So many votes of a person are looked through for those that still wait: whoever votes on more is not kept waiting."""

_LAST = 2**63 - 1
_OF_ORG = requests.c.org == bindparam("for_org")
_OF_PERSON = bindparam("of_person", type_=Text())
_MOST = bindparam("most", type_=Integer())
_PENDING = requests.c.status == literal_column("'pending'")  # as in the index, whose rows are the waiting ones alone
_AT, _ID = bindparam("at", type_=BigInteger()), bindparam("behind_id", type_=Text())


def _behind(instant: ColumnElement[int], *, newest_first: bool = False) -> ColumnElement[bool]:
    """Select what stands behind a place; the first comparison alone is what an index is entered by."""
    enters, further = (instant <= _AT, instant < _AT) if newest_first else (instant >= _AT, instant > _AT)
    return and_(enters, or_(further, requests.c.id > _ID))


_DECIDED = Statement(
    select(requests.c.id, decisions.c.decided_at.label("at"))
    .select_from(decisions.join(requests, requests.c.id == decisions.c.request_id))
    .where(decisions.c.org == bindparam("for_org"), decisions.c.person == _OF_PERSON, requests.c.status != "pending")
    .where(_behind(decisions.c.decided_at, newest_first=True))
    .order_by(decisions.c.decided_at.desc(), requests.c.id)
    .limit(_MOST)
)
_LATEST = (
    select(decisions.c.request_id)
    .where(decisions.c.org == bindparam("for_org"), decisions.c.person == _OF_PERSON)
    .order_by(decisions.c.decided_at.desc())
    .limit(MOST_VOTES)
    .subquery()
)
# Looked up by their names alone, each by itself: of what else is asked, and of an order, PostgreSQL makes walks through
# all that waits, once for each vote where its figures say that nothing does.
_VOTED = Statement(
    select(requests.c.id, requests.c.org, requests.c.status, requests.c.expires_at.label("at")).join_from(
        _LATEST, requests, requests.c.id == _LATEST.c.request_id
    )
)


def _asked(column: ColumnElement[str]) -> Statement:
    return Statement(
        select(requests.c.id, requests.c.created_at.label("at"))
        .where(_OF_ORG, column == _OF_PERSON, _behind(requests.c.created_at, newest_first=True))
        .order_by(requests.c.created_at.desc(), requests.c.id)
        .limit(_MOST)
    )


_ASKED = tuple(map(_asked, (requests.c.requester, requests.c.owner)))


_STAGES: Callable[[str], tuple[Stage, ...]] = next(
    each.kept.decode for each in REQUEST.all if each.name == "stages" and each.kept.decode
)


_WAITING = Statement(
    select(requests.c.id, requests.c.expires_at.label("at"), requests.c.stages)
    .where(_OF_ORG, _PENDING, requests.c.risk == bindparam("risk"), _behind(requests.c.expires_at))
    .order_by(requests.c.expires_at, requests.c.id)
    .limit(_MOST)
)


class Place(NamedTuple):
    """Where a request stands in a list: what comes next stands behind it."""

    at: int  # in the database's own microseconds
    id: str


FIRST, NEWEST = Place(0, ""), Place(_LAST, "")


class Waiting(NamedTuple):
    """A request that waits, and of whom it is asked, as that is stored: the same text for the same people."""

    place: Place
    asked_of: str


def stages_of(asked_of: str) -> tuple[Stage, ...]:
    """Return of whom a request is asked."""
    return _STAGES(asked_of)


def list_waiting(tx: Tx, risk: Risk, *, behind: Place, since: datetime, most: int) -> list[Waiting]:
    """Return what waits for people with this risk, the next to expire first."""
    start = max(behind, Place(to_us(since), "\x7f"))  # what is over already waits for nobody
    rows = tx.all(_WAITING, for_org=tx.org, risk=risk.value, at=start.at, behind_id=start.id, most=most)
    return [Waiting(Place(int(row["at"]), row["id"]), row["stages"]) for row in rows]


def list_voted(tx: Tx, person: str, *, most: int) -> list[str]:
    """Return what still waits of the last `MOST_VOTES` that this person voted on, the next to expire first."""
    voted = tx.all(_VOTED, for_org=tx.org, of_person=person)
    waiting = [row for row in voted if row["status"] == "pending" and row["org"] == tx.org]
    return [place.id for place in sorted(_places(waiting))[:most]]


def list_decided(tx: Tx, person: str, *, behind: Place, most: int) -> list[Place]:
    """Return what is settled and had a vote of this person, their last one first."""
    return _places(tx.all(_DECIDED, for_org=tx.org, of_person=person, at=behind.at, behind_id=behind.id, most=most))


def list_asked(tx: Tx, person: str, *, behind: Place, most: int) -> list[Place]:
    """Return what was asked for in this person's name, or by an agent of theirs, the newest first."""
    how = {"for_org": tx.org, "of_person": person, "at": behind.at, "behind_id": behind.id, "most": most}
    found = {place for each in _ASKED for place in _places(tx.all(each, **how))}
    return sorted(found, key=lambda place: (-place.at, place.id))[:most]


def read_all(tx: Tx, ids: Sequence[str]) -> list[ConfirmationRequest]:
    """Return requests as they stand, in the order of their ids."""
    found = list_rows_of(tx, ids) if ids else {}
    return list_readable(tx, found, ids)


def _places(rows: Sequence[dict[str, object]]) -> list[Place]:
    return [Place(int(str(row["at"])), str(row["id"])) for row in rows]
