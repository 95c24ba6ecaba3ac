"""Find requests by what is kept in clear: each look goes through so many of them, newest first, and says how far.

What calls carry is encrypted where it stands, and cannot be searched. Who was paid how much is kept beside it for the
limits, and what the trail says of a request is in clear.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Text, bindparam, func, or_, select, tuple_

from app.domain.request.request import BROKEN_GLASS, UNCERTAIN_STATES, State
from app.storage.engine.transaction import Statement, Tx
from app.storage.requests.request_rows import list_readable
from app.storage.requests.requests import list_rows_of
from app.storage.tables.payment_tables import spends
from app.storage.tables.tables import audit_events, decisions, requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement

    from app.domain.request.request import ConfirmationRequest

WINDOW = 2_000
"""So many requests one look goes through."""

QUICK = 10 * 1_000_000
"""Microseconds: an approval within them was hardly read."""

_PLACE = tuple_(requests.c.created_at, requests.c.id)
_BEFORE = (
    requests.c.org == bindparam("for_org"),
    tuple_(bindparam("before_at", type_=BigInteger()), bindparam("before_id")) > _PLACE,
)
_NEWEST = (requests.c.created_at.desc(), requests.c.id.desc())


@cache
def _edge(window: int) -> Statement:
    last = select(requests.c.created_at, requests.c.id).where(*_BEFORE).order_by(*_NEWEST)
    return Statement(last.offset(window - 1).limit(1))


def _like(column: Any, name: str) -> ColumnElement[bool]:
    # The database lowers both: SQLite knows the Latin letters alone, and what is written alike must be found.
    return func.lower(column).like(func.lower(bindparam(name, type_=Text())), escape="/")


def _paid(*conditions: Any) -> ColumnElement[bool]:
    return select(spends.c.id).where(spends.c.request_id == requests.c.id, *conditions).exists()


def _said(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return select(audit_events.c.seq).where(audit_events.c.request_id == requests.c.id, condition).exists()


_VOTED = (
    select(decisions.c.id).where(decisions.c.request_id == requests.c.id, decisions.c.person == bindparam("person"))
).exists()
_FILTERS: Mapping[str, ColumnElement[bool]] = {
    "payee": _paid(_like(spends.c.payee, "payee")),
    "least": _paid(spends.c.amount >= bindparam("least", type_=BigInteger())),
    "most_paid": _paid(spends.c.amount <= bindparam("most_paid", type_=BigInteger())),
    "person": or_(*(requests.c[name] == bindparam("person") for name in ("requester", "owner", "settled_by")), _VOTED),
    "agent": requests.c.agent == bindparam("agent"),
    "tool": _like(requests.c.tool, "tool"),
    "code": requests.c.code == bindparam("code"),
    "text": _said(_like(audit_events.c.facts, "text")),
    "state": requests.c.state == bindparam("state"),
    "since": requests.c.created_at >= bindparam("since", type_=BigInteger()),
    "unknown": or_(*(requests.c.state == state for state in sorted(each.value for each in UNCERTAIN_STATES))),
    "expired": requests.c.state == State.EXPIRED.value,
    "glass": requests.c.allowed_by.like(f"{BROKEN_GLASS.replace('_', '/_')}%", escape="/"),
    "quick": (requests.c.settled_at - requests.c.created_at < QUICK)
    & (requests.c.status == "approved")
    & requests.c.settled_by.like("%@%"),
}
_FLAGS = frozenset({"unknown", "glass", "expired", "quick"})


@cache
def _found(names: frozenset[str], most: int) -> Statement:
    window = select(requests.c.id).where(*_BEFORE).order_by(*_NEWEST).limit(most).subquery()
    return Statement(
        select(requests.c.created_at, requests.c.id)
        .join(window, window.c.id == requests.c.id)
        .where(requests.c.org == bindparam("for_org"), *(_FILTERS[name] for name in sorted(names)))
        .order_by(*_NEWEST)
        .limit(bindparam("most"))
    )


def find_requests(
    tx: Tx, wanted: Mapping[str, str | int], *, before: tuple[int, str], most: int
) -> tuple[list[ConfirmationRequest], tuple[int, str] | None]:
    """Return what a look finds, newest first, and where the next one goes on; None: there is nothing further back.

    `wanted` names filters and what they look for; of texts a part, whatever the case of its Latin letters.
    """
    sought = {name: pattern_of(value) if name in {"payee", "tool"} else value for name, value in wanted.items()}
    if "text" in sought:
        sought["text"] = pattern_of(json.dumps(wanted["text"], ensure_ascii=False)[1:-1])
    given = {name: value for name, value in sought.items() if name not in _FLAGS}
    place = {"for_org": tx.org, "before_at": before[0], "before_id": before[1]}
    edge = tx.one(_edge(WINDOW), **place)
    rows = tx.all(_found(frozenset(wanted), WINDOW), **place, most=most + 1, **given)
    shown = [row["id"] for row in rows[:most]]
    by_id = list_rows_of(tx, shown) if shown else {}
    found = list_readable(tx, by_id, shown)
    if len(rows) > most:
        return found, (rows[most - 1]["created_at"], rows[most - 1]["id"])
    return found, (edge["created_at"], edge["id"]) if edge else None


def pattern_of(value: object) -> str:
    """Return the pattern that finds a text anywhere in another."""
    text = str(value)
    for sign in "/%_":
        text = text.replace(sign, f"/{sign}")
    return f"%{text}%"
