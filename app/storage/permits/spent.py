"""What was spent under a standing approval or a broken glass: its sealed row says it, and its payments must add up.

So nobody who has the database alone takes payments away to have more let pass. A row of before it said so (NULL) is
summed up from the payments, once more at its next use, and says it from then on.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, cast

from sqlalchemy import BigInteger, and_, bindparam, func, select
from sqlalchemy import cast as sql_cast

from app.domain.money.payment import plain
from app.domain.text.canonical import canonical
from app.storage.engine.transaction import Statement
from app.storage.tables.columns import MISREAD
from app.storage.tables.payment_tables import spends, standing_approvals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.storage.engine.transaction import Tx

_UNIT = Decimal(10) ** -4  # amounts are stored in ten-thousandths
_T, _S = standing_approvals, spends
# In one statement, so that it is of one instant though nothing is locked.
_SUMS = (
    select(
        _T.c.id,
        _T.c.spent,
        _S.c.currency,
        sql_cast(func.sum(_S.c.amount), BigInteger).label("amount"),
        (func.count(_S.c.id) - func.count(_S.c.seal)).label("unsealed"),
    )
    .select_from(_T.outerjoin(_S, and_(_S.c.standing_id == _T.c.id, _S.c.org == _T.c.org)))
    .where(_T.c.org == bindparam("for_org"))
    .group_by(_T.c.id, _T.c.spent, _S.c.currency)
    .order_by(_T.c.id, _S.c.currency)
)
_OF_ONE, _OF_ALL = Statement(_SUMS.where(_T.c.id == bindparam("permit_id"))), Statement(_SUMS)


class Spent(NamedTuple):
    """What was spent under one, by currency, and whether its payments add up to what its row says."""

    amounts: dict[str, Decimal]
    adds_up: bool = True


def spent_under(tx: Tx, permit_id: str) -> Spent:
    """Return what was paid under one of them; whatever became of it, it counts. What its row says goes before all."""
    said, paid = None, dict[str, Decimal]()
    for row in tx.all(_OF_ONE, for_org=tx.org, permit_id=permit_id):
        said = row["spent"]
        if row["currency"] is not None:
            paid[str(row["currency"])] = row["amount"] * _UNIT
    if said is None:
        return Spent(paid)
    try:
        known = spent_of(said)
    except MISREAD:
        return Spent(paid, adds_up=False)
    return Spent(known, adds_up=known == paid)


def spent_text(spent: Mapping[str, Decimal] | None) -> str | None:
    """Write it as a row says it."""
    return None if spent is None else canonical({code: plain(amount) for code, amount in spent.items()}).decode()


def spent_of(text: str) -> dict[str, Decimal]:
    """Read it back. Raises one of MISREAD."""
    read: object = json.loads(text)
    if not isinstance(read, dict):
        raise TypeError("no amounts")
    found = {str(code): Decimal(amount) for code, amount in cast("dict[str, str]", read).items()}
    if not all(amount.is_finite() for amount in found.values()):
        raise ValueError("no amount")
    return found


def spends_beside(tx: Tx) -> dict[str, object]:
    """Return what was spent under each of the org's, by its payments and by its row, under the names of the trail."""
    found: dict[str, object] = {}
    for row in tx.all(_OF_ALL, for_org=tx.org):
        name = f"standing {row['id']}"
        paid = cast("dict[str, str]", found.setdefault(f"spent under {name}", {}))
        if row["currency"] is not None:
            paid[str(row["currency"])] = plain(row["amount"] * _UNIT)
        unsealed = f"unsealed payments under {name}"
        found[unsealed] = cast("int", found.get(unsealed, 0)) + row["unsealed"]
        if row["spent"] is not None:
            try:
                amounts = spent_of(row["spent"])
                found[f"spent in the row of {name}"] = {code: plain(amount) for code, amount in amounts.items()}
            except MISREAD:
                found[f"spent in the row of {name}"] = "what no gateway writes"
    return found
