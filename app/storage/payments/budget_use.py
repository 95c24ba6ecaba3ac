"""What counts lately, summed up for everybody at once: how much of each budget is used, for who looks at all."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import BigInteger, and_, bindparam, func, literal_column, or_, select

from app.domain.rules.spending import Per
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.payments.spends import NOT_RUN
from app.storage.tables.payment_tables import spends
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from datetime import datetime

MOST = 5_000
"""So many payments of a span are looked at, the newest; of more, the sums say so."""

_HALF = 10**8  # as in `spends.py`: sums are built in two halves


class Used(Struct, frozen=True, kw_only=True):
    """What one agent, owner, payee or the org comes to with one tool in one currency."""

    whose: str
    payee: str  # as one of the payments writes it
    tool: str
    currency: str
    units: int  # ten-thousandths
    payments: int


@cache
def _used(per: Per, unasked_only: bool) -> Statement:  # noqa: FBT001 - a part of the cache's key
    lately = (
        select(spends)
        .where(spends.c.org == bindparam("for_org"), spends.c.at > bindparam("since", type_=BigInteger()))
        .order_by(spends.c.at.desc())
        .limit(MOST)
        .subquery()
    )
    whose = {
        Per.AGENT: lately.c.agent,
        Per.OWNER: func.coalesce(lately.c.owner, lately.c.agent),
        Per.PAYEE: lately.c.payee_key,
        Per.ORG: lately.c.org,
    }[per].label("whose")
    ended = requests.c.state.not_in([literal_column(f"'{state.value}'") for state in sorted(NOT_RUN)])
    counts = or_(lately.c.request_id.is_(None), and_(requests.c.id.is_not(None), ended))
    unasked = or_(lately.c.request_id.is_(None), requests.c.allowed_by.is_not(None))
    low = lately.c.amount - lately.c.amount // _HALF * _HALF
    return Statement(
        select(
            whose,
            func.max(lately.c.payee).label("payee"),
            lately.c.tool,
            lately.c.currency,
            func.sum(lately.c.amount // _HALF).label("high"),
            func.sum(low).label("low"),
            func.count().label("payments"),
        )
        .select_from(lately.outerjoin(requests, requests.c.id == lately.c.request_id))
        .where(counts, *([unasked] if unasked_only else []))
        .group_by(whose, lately.c.tool, lately.c.currency)
    )


def _counted(most: int) -> Statement:
    lately = spends.c.org == bindparam("for_org"), spends.c.at > bindparam("since", type_=BigInteger())
    found = select(spends.c.id).where(*lately).limit(most + 1).subquery()
    return Statement(select(func.count().label("rows")).select_from(found))


_COUNT = _counted(MOST)


def list_used(tx: Tx, per: Per, *, since: datetime, unasked_only: bool) -> list[Used]:
    """Sum up what counts after `since`, of the newest `MOST` payments, by whose budget they are in."""
    return [
        Used(
            whose=row["whose"],
            payee=row["payee"],
            tool=row["tool"],
            currency=row["currency"],
            units=int(row["high"]) * _HALF + int(row["low"]),
            payments=int(row["payments"]),
        )
        for row in tx.all(_used(per, unasked_only), for_org=tx.org, since=to_us(since))
    ]


def are_more(tx: Tx, *, since: datetime) -> bool:
    """Say whether there are more payments after `since` than are looked at."""
    return int(tx.all(_COUNT, for_org=tx.org, since=to_us(since))[0]["rows"]) > MOST
