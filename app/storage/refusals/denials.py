"""What people denied a short while ago and nobody lifted, found by the call or by what must be seen of it."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import Integer, bindparam, literal_column, select, union_all

from app.domain.call.tool_call import call_digest as digest_of
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.refusals.lifts import still_stands
from app.storage.requests.requests import OPENED, find_request
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select

    from app.domain.request.request import ConfirmationRequest

_DENIED = requests.c.status == literal_column("'denied'")  # not a parameter: the indexes are of these rows alone
_MOST_ALIKE = 20


class _Kind(IntEnum):
    """Why a denied request was found; also the order in which they are looked at."""

    NEAR = 0
    SAME = 1
    EDITED = 2


def _denied(kind: _Kind, since: str, most: int, *which: ColumnElement[bool]) -> Select[int, Any]:
    found = (
        select(requests.c.id)
        .where(requests.c.org == bindparam("for_org"), *which, _DENIED, requests.c.settled_at > bindparam(since))
        .where(still_stands())
        .order_by(requests.c.settled_at.desc(), requests.c.id)
        .limit(most)
        .subquery()
    )
    kind_of = literal_column(str(kind.value), Integer).label("kind")
    return select(kind_of, found.c.id)


_OF_AGENT = requests.c.agent == bindparam("agent")
_LOOK_BACK = Statement(
    union_all(
        _denied(_Kind.NEAR, "near_since", 1, requests.c.near_key == bindparam("of_near_key")),
        _denied(_Kind.SAME, "since", 1, _OF_AGENT, requests.c.call_digest == bindparam("call_digest")),
        _denied(_Kind.EDITED, "since", _MOST_ALIKE, _OF_AGENT, requests.c.edited_by.is_not(None)),
    ),
    overlooked=[OPENED],
)
_NOTHING_SINCE = datetime.max.replace(tzinfo=UTC)


class Denials(Struct, frozen=True, kw_only=True):
    """The ids of requests that people denied: one that says the same where it must be seen, one for the very call.

    `edited` are those that people changed before they denied them: one may have been changed to this call.
    """

    near: str | None = None
    same: str | None = None
    edited: tuple[str, ...] = ()


def look_back(
    tx: Tx,
    agent: str,
    call_digest: str,
    *,
    near_key: str | None,
    near_since: datetime | None,
    since: datetime | None,
) -> Denials:
    """Find what was denied since, and whose refusal nobody lifted, all in one look; None: do not look for it.

    Whoever asked is no matter where it is only near.
    """
    near = near_since if near_key is not None else None
    if near is None and since is None:
        return Denials()
    rows = tx.all(
        _LOOK_BACK,
        for_org=tx.org,
        agent=agent,
        call_digest=call_digest,
        of_near_key=near_key or "",
        near_since=to_us(near or _NOTHING_SINCE),
        since=to_us(since or _NOTHING_SINCE),
    )
    of = {kind: [row["id"] for row in rows if row["kind"] == kind] for kind in _Kind}
    return Denials(
        near=next(iter(of[_Kind.NEAR]), None), same=next(iter(of[_Kind.SAME]), None), edited=tuple(of[_Kind.EDITED])
    )


def find_denied(tx: Tx, found: Denials, call_digest: str) -> ConfirmationRequest | None:
    """Return the request for this very call that people denied last; also one that they had changed to it."""
    if found.same is not None:
        return find_request(tx, found.same)
    changed = (find_request(tx, request_id) for request_id in found.edited)
    return next((each for each in changed if each is not None and digest_of(each.call) == call_digest), None)
