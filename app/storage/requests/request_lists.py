"""Many requests at once: pages for people and agents, versions for the slow poll."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, or_, select, tuple_

from app.domain.request.request import OPEN_STATES, UNCERTAIN_STATES, State
from app.storage.engine.dialect import from_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.requests.request_rows import list_readable
from app.storage.requests.requests import list_rows_of
from app.storage.statements.one_of import each_of
from app.storage.tables.tables import executions, requests

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest

_FILTERS = {
    "agent": requests.c.agent == bindparam("agent"),
    "session": requests.c.session == bindparam("session"),
    "status": requests.c.status == bindparam("status"),
    "state": requests.c.state == bindparam("state"),
    "open": or_(*(requests.c.state == state for state in sorted(state.value for state in OPEN_STATES))),
    "enforced": requests.c.enforced == 1,
}


@cache
def _page(filters: frozenset[str]) -> Statement:
    """The list query for a set of filters: few combinations, each with its own plan."""
    # Compared as one row: the index is gone through from there on. Two conditions with an "or" would sort all of it.
    before = tuple_(requests.c.created_at, requests.c.id) < tuple_(bindparam("before_at"), bindparam("before_id"))
    return Statement(
        select(requests.c.id)
        .where(requests.c.org == bindparam("for_org"), before, *(_FILTERS[name] for name in sorted(filters)))
        .order_by(requests.c.created_at.desc(), requests.c.id.desc())
        .limit(bindparam("most"))
    )


_VERSIONS = Statement(select(requests.c.id, requests.c.org, requests.c.version).where(each_of(requests.c.id, "ids")))
_COUNTS = Statement(select(requests.c.state, func.count().label("rows")).group_by(requests.c.state))
_OLDEST = Statement(select(func.min(requests.c.created_at).label("at")).where(requests.c.status == "pending"))

_OF_SESSION = (
    requests.c.org == bindparam("for_org"),
    requests.c.agent == bindparam("agent"),
    requests.c.session == bindparam("session"),
)
_MOST_ALIKE = 20
_BY_CALL_ID = Statement(
    select(requests.c.id, requests.c.state)
    .where(*_OF_SESSION, requests.c.call_id == bindparam("call_id"))
    .order_by(requests.c.created_at.desc(), requests.c.id.desc())
    .limit(_MOST_ALIKE)
)
_BY_CLAIM = Statement(
    select(requests.c.id, requests.c.state)
    .join(executions, executions.c.request_id == requests.c.id)
    .where(*_OF_SESSION, executions.c.claim_id == bindparam("claim_id"))
    .order_by(requests.c.created_at.desc(), requests.c.id.desc())
    .limit(_MOST_ALIKE)
)
_BY_DIGEST = Statement(
    select(requests.c.id, requests.c.state)
    .where(*_OF_SESSION, requests.c.call_digest == bindparam("call_digest"))
    .order_by(requests.c.created_at.desc(), requests.c.id.desc())
    .limit(_MOST_ALIKE)
)

_IDS = Statement(
    select(requests.c.id)
    .where(requests.c.org == bindparam("for_org"), requests.c.id > bindparam("behind"))
    .order_by(requests.c.id)
    .limit(bindparam("most"))
)

END_OF_TIME = 2**62
"""A `created_at` after every other: where the first page begins."""


def list_requests(
    tx: Tx, *, filters: Mapping[str, str], flags: Collection[str] = (), before: tuple[int, str], most: int
) -> list[ConfirmationRequest]:
    """Return a page, newest first, of what lies before the (created_at in µs, id) of the last one seen.

    `filters` may name agent, session, status and state; `flags` are "open" (something is still owed) and "enforced".
    """
    names = frozenset(filters) | frozenset(flags)
    page = tx.all(_page(names), for_org=tx.org, before_at=before[0], before_id=before[1], most=most, **filters)
    ids = [row["id"] for row in page]
    by_id = list_rows_of(tx, ids) if ids else {}
    return list_readable(tx, by_id, ids)


def list_versions(tx: Tx, ids: Sequence[str]) -> list[tuple[str, int]]:
    """Return the (id, version) of requests."""
    return [(row["id"], row["version"]) for row in tx.all(_VERSIONS, ids=ids) if row["org"] == tx.org]


def list_ids(tx: Tx, *, behind: str, most: int) -> list[str]:
    """Return ids of the org's requests in their order, behind the last one seen ("" for the beginning)."""
    return [row["id"] for row in tx.all(_IDS, for_org=tx.org, behind=behind, most=most)]


def find_call(tx: Tx, agent: str, session: str, *, call_id: str, claim_id: str) -> str | None:
    """Return the id of the request that a session's call belongs to, by the call's id or by the claim made for it."""
    found = tx.all(_BY_CALL_ID, for_org=tx.org, agent=agent, session=session, call_id=call_id)
    claimed = tx.all(_BY_CLAIM, for_org=tx.org, agent=agent, session=session, claim_id=claim_id)
    return _running_first([*claimed, *found])


def find_call_by_digest(tx: Tx, agent: str, session: str, call_digest: str) -> str | None:
    """Return the id of the request of a session's call that has no id: of several alike one that runs, the newest."""
    return _running_first(tx.all(_BY_DIGEST, for_org=tx.org, agent=agent, session=session, call_digest=call_digest))


def _running_first(rows: Sequence[Row]) -> str | None:
    running = [row for row in rows if row["state"] in UNCERTAIN_STATES | {State.EXECUTING}]
    chosen = next(iter(running or rows), None)
    return chosen["id"] if chosen else None


def count_open(tx: Tx) -> dict[str, int]:
    """Return how many requests are in each state in which something is owed; over all orgs, in its scope."""
    counted = {row["state"]: int(row["rows"]) for row in tx.all(_COUNTS)}
    return {state.value: counted.get(state.value, 0) for state in sorted(OPEN_STATES)}


def oldest_pending(tx: Tx) -> datetime | None:
    """Return since when the oldest request waits that waits for people."""
    row = tx.one(_OLDEST)
    return from_us(row["at"]) if row is not None and row["at"] is not None else None
