"""What a pause can bind besides new calls: requests that wait for people, and grants that nobody has used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import and_, bindparam, literal_column, or_, select

from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import grants, requests

if TYPE_CHECKING:
    from sqlalchemy import Column

START = (-1, "")
"""Before the first of them."""

_WHOSE = (requests.c.id, requests.c.agent, requests.c.session, requests.c.tool)


class Standing(Struct, frozen=True, kw_only=True):
    """One of them: whose call of which tool, and its place in the order of deadlines."""

    request_id: str
    agent: str
    session: str | None
    tool: str
    place: tuple[int, str]


def _after(due: Column[int], name: Column[str]) -> Statement:
    later = or_(due > bindparam("after_at"), and_(due == bindparam("after_at"), name > bindparam("after_id")))
    # Texts, not parameters: the indexes on deadlines are of these rows alone.
    stands = (
        requests.c.status == literal_column("'pending'")
        if due is requests.c.expires_at
        else grants.c.status == literal_column("'issued'")
    )
    found = select(*_WHOSE, due.label("due")).where(requests.c.org == bindparam("for_org"), stands, later)
    if due is grants.c.not_after:
        found = found.join(grants, grants.c.request_id == requests.c.id)
    return Statement(found.order_by(due, name).limit(bindparam("most")))


_PENDING = _after(requests.c.expires_at, requests.c.id)
_ISSUED = _after(grants.c.not_after, grants.c.request_id)


def list_pending(tx: Tx, *, after: tuple[int, str], most: int) -> list[Standing]:
    """Return the org's next requests that wait for people, the nearest deadline first."""
    return _found(tx, _PENDING, after, most)


def list_issued(tx: Tx, *, after: tuple[int, str], most: int) -> list[Standing]:
    """Return the org's next requests with a grant that nobody has used, the nearest end first."""
    return _found(tx, _ISSUED, after, most)


def _found(tx: Tx, statement: Statement, after: tuple[int, str], most: int) -> list[Standing]:
    rows = tx.all(statement, for_org=tx.org, after_at=after[0], after_id=after[1], most=most)
    return [
        Standing(
            request_id=row["id"],
            agent=row["agent"],
            session=row["session"],
            tool=row["tool"],
            place=(row["due"], row["id"]),
        )
        for row in rows
    ]
