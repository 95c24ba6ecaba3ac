"""What people denied a short while ago and nobody lifted, found by the call or by what must be seen of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import BigInteger, Integer, Text, bindparam, literal_column, select, true, union_all

from app.domain.call.tool_call import call_digest as digest_of
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.refusals.lifts import still_stands
from app.storage.requests.requests import OPENED, find_request
from app.storage.statements.together import ROWS, as_rows, rows_given
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, CompoundSelect, Select
    from sqlalchemy.sql.selectable import TableValuedAlias

    from app.domain.request.request import ConfirmationRequest
    from app.storage.statements.together import Row

_DENIED = requests.c.status == literal_column("'denied'")  # not a parameter: the indexes are of these rows alone
_MOST_ALIKE = 20


class _Kind(IntEnum):
    """Why a denied request was found; also the order in which they are looked at."""

    NEAR = 0
    SAME = 1
    EDITED = 2


def _denied(
    kind: _Kind, most: int, value: Callable[[str], ColumnElement[Any]], given: TableValuedAlias | None
) -> Select[int, Any]:
    of_agent = requests.c.agent == value("agent")
    which, since = {
        _Kind.NEAR: ([requests.c.near_key == value("near_key")], "near_since"),
        _Kind.SAME: ([of_agent, requests.c.call_digest == value("call_digest")], "since"),
        _Kind.EDITED: ([of_agent, requests.c.edited_by.is_not(None)], "since"),
    }[kind]
    found = (
        select(requests.c.id)
        .where(requests.c.org == value("of_org"), *which, _DENIED, requests.c.settled_at > value(since))
        .where(still_stands())
        .order_by(requests.c.settled_at.desc(), requests.c.id)
        .limit(most)
    )
    named = (found if given is None else found.correlate(given)).subquery()
    return select(literal_column(str(kind.value), Integer).label("kind"), named.c.id)


def _denials_of(
    value: Callable[[str], ColumnElement[Any]], given: TableValuedAlias | None = None
) -> CompoundSelect[int, Any]:
    most = {_Kind.NEAR: 1, _Kind.SAME: 1, _Kind.EDITED: _MOST_ALIKE}
    return union_all(*(_denied(kind, most[kind], value, given) for kind in _Kind))


_BY = {
    "of_org": Text(),
    "agent": Text(),
    "call_digest": Text(),
    "near_key": Text(),
    "near_since": BigInteger(),
    "since": BigInteger(),
}
_LOOK_BACK = Statement(_denials_of(bindparam), overlooked=[OPENED])


def _together() -> Statement:
    """The same for any number of calls, which only PostgreSQL can, where one answer is waited for."""
    given = rows_given({"at": Integer(), **_BY})
    found = _denials_of(given.c.__getitem__, given).lateral("found")
    each = select(given.c.at, found.c.kind, found.c.id).select_from(given.join(found, true()))
    return Statement(each, overlooked=[OPENED])


_LOOK_BACK_TOGETHER = _together()
_NOTHING_SINCE = datetime.max.replace(tzinfo=UTC)


class Denials(Struct, frozen=True, kw_only=True):
    """The ids of requests that people denied: one that says the same where it must be seen, one for the very call.

    `edited` are those that people changed before they denied them: one may have been changed to this call.
    """

    near: str | None = None
    same: str | None = None
    edited: tuple[str, ...] = ()


class Sought(Struct, frozen=True, kw_only=True):
    """By what denied requests are looked for, and how far back; None: not at all.

    Whoever asked is no matter where it is only near.
    """

    org: str
    agent: str
    call_digest: str
    within: timedelta | None
    near_key: str | None
    near_within: timedelta | None

    def asks(self) -> bool:
        """Whether anything is to be looked for."""
        return self.within is not None or (self.near_key is not None and self.near_within is not None)

    def since(self, now: datetime) -> dict[str, object]:
        """Return what it is looked for by, from an instant back."""
        near = self.near_within if self.near_key is not None else None
        return {
            "of_org": self.org,
            "agent": self.agent,
            "call_digest": self.call_digest,
            "near_key": self.near_key or "",
            "near_since": to_us(_NOTHING_SINCE if near is None else now - near),
            "since": to_us(_NOTHING_SINCE if self.within is None else now - self.within),
        }


def look_back(tx: Tx, sought: Sought, *, now: datetime) -> Denials:
    """Find what was denied, and whose refusal nobody lifted, all in one look, unless that was done for the batch."""
    found = tx.found(sought)
    return found if isinstance(found, Denials) else _look_back(tx, [sought], now=now)[sought]


def look_back_together(tx: Tx, wanted: Sequence[Sought]) -> Mapping[Sought, Denials]:
    """Find what was denied for several calls that are to be asked about, each as `look_back` does."""
    return _look_back(tx, wanted, now=tx.now())


def _look_back(tx: Tx, wanted: Sequence[Sought], *, now: datetime) -> dict[Sought, Denials]:
    asked = [sought for sought in wanted if sought.asks()]
    if len(asked) > 1 and tx.locks_rows:
        rows = [{"at": at, **sought.since(now)} for at, sought in enumerate(asked)]
        answers = [list[dict[str, Any]]() for _ in asked]
        for row in tx.all(_LOOK_BACK_TOGETHER, **{ROWS: as_rows(rows)}):
            answers[int(row["at"])].append(row)
    else:
        answers = [tx.all(_LOOK_BACK, **sought.since(now)) for sought in asked]
    return dict.fromkeys(wanted, Denials()) | dict(zip(asked, map(_denials, answers), strict=True))


def _denials(rows: Sequence[Row]) -> Denials:
    of = {kind: [row["id"] for row in rows if row["kind"] == kind] for kind in _Kind} if rows else {}
    near, same = (next(iter(of.get(kind, ())), None) for kind in (_Kind.NEAR, _Kind.SAME))
    return Denials(near=near, same=same, edited=tuple(of.get(_Kind.EDITED, ())))


def find_denied(tx: Tx, found: Denials, call_digest: str) -> ConfirmationRequest | None:
    """Return the request for this very call that people denied last; also one that they had changed to it."""
    if found.same is not None:
        return find_request(tx, found.same)
    changed = (find_request(tx, request_id) for request_id in found.edited)
    return next((each for each in changed if each is not None and digest_of(each.call) == call_digest), None)
