"""What was paid to a payee before, and went well: what a person compares a payment with."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, func, select

from app.storage.engine.dialect import from_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.payments.accounts import Marks
from app.storage.payments.spends import WENT_WELL, amount_of, numbered
from app.storage.tables.payment_tables import spends
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

MOST = 200
"""So many earlier payments are looked at: more tell a reader no more."""

MOST_SHARING = 2_000
"""So many of the newest payments into one account are looked at for who shares it."""

_OF_ORG = spends.c.org == bindparam("for_org")
_WELL = spends.join(requests, requests.c.id == spends.c.request_id)
_BEFORE = Statement(
    select(spends.c.account_key, spends.c.currency, spends.c.amount, spends.c.at)
    .select_from(_WELL)
    .where(_OF_ORG, spends.c.payee_key == bindparam("of_key"), spends.c.payee == bindparam("of_name"), *WENT_WELL)
    .order_by(spends.c.at.desc(), spends.c.id)
    .limit(MOST)
)


class Before(Struct, frozen=True, kw_only=True):
    """One earlier payment to the same payee."""

    account_key: str
    currency: str
    amount: Decimal
    at: datetime


@cache
def _sharing(size: int) -> Statement:
    named = spends.c.account_key.in_([bindparam(f"account_{index}") for index in range(size)])
    lately = select(spends.c.payee_key).select_from(_WELL).where(_OF_ORG, named, *WENT_WELL)
    lately = lately.order_by(spends.c.at.desc()).limit(MOST_SHARING).subquery()
    return Statement(select(func.count(lately.c.payee_key.distinct()).label("payees")))


def list_before(tx: Tx, payee_key: str, name: str, *, account_key: str) -> list[Before]:
    """Return what was paid, on people's approval, to a payee under exactly this name; the newest first.

    Only that account is told; another one is told as something that it is not.
    """
    marks = Marks(tx, [account_key])
    return [
        Before(
            account_key=marks.plain(row["account_key"]),
            currency=row["currency"],
            amount=amount_of(row["amount"]),
            at=from_us(row["at"]),
        )
        for row in tx.all(_BEFORE, for_org=tx.org, of_key=payee_key, of_name=name)
    ]


def count_sharing(tx: Tx, account_key: str) -> int:
    """Return how many payees were paid into one account."""
    named = numbered("account", Marks(tx, [account_key]))
    row = tx.one(_sharing(len(named)), for_org=tx.org, **named)
    return int(row["payees"]) if row else 0
