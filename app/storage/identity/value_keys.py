"""The value keys of an org as they are kept: wrapped, numbered, and never removed; a destroyed one is an empty row."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import bindparam, insert, select, update

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.secret_tables import value_keys

_LIST = Statement(
    select(value_keys.c.number, value_keys.c.wrapped, value_keys.c.caught_up_at)
    .where(value_keys.c.org == bindparam("for_org"))
    .order_by(value_keys.c.number)
)
_INSERT = Statement(insert(value_keys))
_SAME = (
    value_keys.c.org == bindparam("for_org"),
    value_keys.c.number == bindparam("of_number"),
    value_keys.c.wrapped == bindparam("before"),
)
_REWRAP = Statement(update(value_keys).where(*_SAME).values(wrapped=bindparam("after")))
_CATCH_UP = Statement(
    update(value_keys).where(value_keys.c.org == bindparam("for_org")).values(caught_up_at=bindparam("at"))
)
_DESTROY = Statement(
    update(value_keys)
    .where(value_keys.c.org == bindparam("for_org"), value_keys.c.wrapped.is_not(None))
    .values(wrapped=None)
)


class Kept(NamedTuple):
    """One of them."""

    number: int
    wrapped: str | None  # none: it was destroyed
    caught_up: bool = False  # all that stood in clear before it was encrypted


def list_value_keys(tx: Tx, org: str) -> list[Kept]:
    """Return an org's keys, the oldest first."""
    return [Kept(row["number"], row["wrapped"], row["caught_up_at"] is not None) for row in tx.all(_LIST, for_org=org)]


def put_value_key(tx: Tx, org: str, kept: Kept) -> None:
    """Keep a new one. Two at once lose a race: the unit of one of them runs again, and finds the other's."""
    tx.write(_INSERT, org=org, number=kept.number, wrapped=kept.wrapped, made_at=to_us(tx.now()), caught_up_at=None)


def rewrap(tx: Tx, kept: Kept, wrapped: str) -> bool:
    """Keep a key wrapped anew. False: somebody else did, or it was destroyed."""
    return tx.run(_REWRAP, for_org=tx.org, of_number=kept.number, before=kept.wrapped, after=wrapped) == 1


def has_caught_up(tx: Tx) -> bool:
    """Say whether nothing of the org stands in clear any more."""
    return any(each.caught_up for each in list_value_keys(tx, tx.org))


def note_caught_up(tx: Tx) -> None:
    """Remember that nothing of the org stands in clear any more."""
    tx.write(_CATCH_UP, for_org=tx.org, at=to_us(tx.now()))


def destroy_value_keys(tx: Tx) -> list[int]:
    """Destroy all keys of the org; return their numbers. What they encrypted is read by nobody from then on."""
    numbers = [each.number for each in list_value_keys(tx, tx.org) if each.wrapped is not None]
    tx.run(_DESTROY, for_org=tx.org)
    return numbers
