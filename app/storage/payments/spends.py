"""What was spent, or is reserved: a row for each payment, counted while its request may still run, ran, or failed.

Nothing releases a row: what becomes of its request says whether it counts. One that ended without being run gives its
place back by itself; an execution that failed does not, for it is the agent that says so. Sums are exact: whole
ten-thousandths of the currency's unit.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import Text, and_, bindparam, cast, delete, func, insert, literal_column, or_, select, update

from app.domain.identity.seals import BadTokenError
from app.domain.money.payment import FINEST
from app.domain.request.request import State
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.identity.sealed_rows import SealedRows, seal_of
from app.storage.identity.vault import ValueKey, number_of
from app.storage.payments.accounts import Marks, kept_as
from app.storage.statements.one_of import of_org, one_of
from app.storage.tables.payment_tables import payee_history, spends
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy.sql.elements import BindParameter, ColumnElement

    from app.domain.money.payment import Payment
    from app.domain.request.request import ConfirmationRequest

NOT_RUN = frozenset({State.DENIED, State.EXPIRED, State.CANCELLED, State.UNDELIVERABLE, State.LAPSED})
"""How a request ends without being run: what it had reserved is free again."""

_HALF = 10**8  # sums are built in two halves: neither database's whole numbers overflow before they are put together


class Spent(Struct, frozen=True, kw_only=True):
    """What one agent, owner, payee, account or org has spent with one tool in one currency."""

    whose: str
    tool: str
    currency: str
    units: int  # ten-thousandths
    payments: int


class Earlier(Struct, frozen=True, kw_only=True):
    """An earlier payment, as a later one is compared with it."""

    payee_key: str
    units: int
    currency: str
    reference: str | None
    at: datetime
    request_id: str | None  # none: nobody was asked, and nobody reports what became of it
    succeeded: bool


class Paid(Struct, frozen=True, kw_only=True):
    """To whom, and into which account, something was paid and went well: the last time."""

    payee: str
    payee_key: str
    account_key: str
    account_tail: str
    at: datetime


def units_of(amount: Decimal) -> int:
    """Return an amount in ten-thousandths."""
    return int(amount.scaleb(FINEST))


def amount_of(units: int) -> Decimal:
    """Return ten-thousandths as an amount."""
    return Decimal(units).scaleb(-FINEST)


_LOCK = Statement(select(func.pg_advisory_xact_lock(func.hashtextextended(cast(bindparam("named"), Text), 0))))
_SPENT = spends.outerjoin(requests, requests.c.id == spends.c.request_id)
_STILL = or_(
    spends.c.request_id.is_(None),
    and_(
        requests.c.state.not_in([literal_column(f"'{state.value}'") for state in sorted(NOT_RUN)]),
        spends.c.request_id != bindparam("instead_of"),
    ),
)
_UNASKED = or_(spends.c.request_id.is_(None), requests.c.allowed_by.is_not(None))
_LATELY = (spends.c.org == bindparam("for_org"), spends.c.at > bindparam("since"), _STILL)
_INSERT = Statement(insert(spends))
_DROP = Statement(delete(spends).where(spends.c.org == bindparam("for_org"), spends.c.request_id == bindparam("of_id")))


def lock_spending(tx: Tx) -> datetime:
    """Let nobody else weigh payments of this org before the commit, then read the clock.

    The order of locks is: requests, this one, the trail's head. In a group commit a unit may lock a request after
    another unit has taken this: should two replicas meet so, PostgreSQL ends one transaction, and its units are run
    again one by one, each in that order.
    """
    if tx.locks_rows:
        tx.write(_LOCK, named=f"assent.spending:{tx.org}")
    return tx.lock_now()


@cache
def _sums(column: str, size: int, unasked_only: bool) -> Statement:  # noqa: FBT001 - a part of the cache's key
    whose: ColumnElement[str] = spends.c[column]
    low = spends.c.amount - spends.c.amount // _HALF * _HALF
    named = whose.in_([bindparam(f"key_{index}") for index in range(size)])
    return Statement(
        select(
            whose.label("whose"),
            spends.c.tool,
            spends.c.currency,
            func.sum(spends.c.amount // _HALF).label("high"),
            func.sum(low).label("low"),
            func.count().label("payments"),
        )
        .select_from(_SPENT)
        .where(*_LATELY, named, *([_UNASKED] if unasked_only else []))
        .group_by(whose, spends.c.tool, spends.c.currency)
    )


def list_spent(
    tx: Tx, column: str, keys: Iterable[str], *, since: datetime, instead_of: str, unasked_only: bool = False
) -> list[Spent]:
    """Sum up what counts after `since`, for each of `keys` in a column (``agent``, ``owner``, ``payee_key`` …)."""
    marks = Marks(tx, keys) if column == "account_key" else None
    named = numbered("key", keys if marks is None else marks)
    rows = tx.all(
        _sums(column, len(named), unasked_only), for_org=tx.org, since=to_us(since), instead_of=instead_of, **named
    )
    return [
        Spent(
            whose=row["whose"] if marks is None else marks.plain(row["whose"]),
            tool=row["tool"],
            currency=row["currency"],
            units=int(row["high"]) * _HALF + int(row["low"]),
            payments=row["payments"],
        )
        for row in rows
    ]


@cache
def _alike(payees: int, amounts: int) -> Statement:
    return Statement(
        select(
            spends.c.id,
            spends.c.payee_key,
            spends.c.amount,
            spends.c.currency,
            spends.c.reference,
            spends.c.at,
            spends.c.request_id,
            requests.c.state,
        )
        .select_from(_SPENT)
        .where(
            *_LATELY,
            spends.c.payee_key.in_([bindparam(f"key_{index}") for index in range(payees)]),
            spends.c.amount.in_([bindparam(f"amount_{index}") for index in range(amounts)]),
        )
        .order_by(spends.c.at.desc(), spends.c.id)
    )


def list_alike(tx: Tx, payments: Sequence[Payment], *, since: datetime, instead_of: str) -> list[Earlier]:
    """Return what was paid after `since` to the payees of `payments` in any of their amounts, the newest first."""
    payees = numbered("key", (payment.payee_key for payment in payments))
    amounts = numbered("amount", (units_of(payment.amount) for payment in payments))
    statement = _alike(len(payees), len(amounts))
    rows = tx.all(statement, for_org=tx.org, since=to_us(since), instead_of=instead_of, **payees, **amounts)
    return [
        Earlier(
            payee_key=row["payee_key"],
            units=row["amount"],
            currency=row["currency"],
            reference=_readable(tx, row["reference"], row["id"]),
            at=from_us(row["at"]),
            request_id=row["request_id"],
            succeeded=row["state"] == State.SUCCEEDED,
        )
        for row in rows
    ]


WENT_WELL = (
    requests.c.state == literal_column(f"'{State.SUCCEEDED.value}'"),
    requests.c.allowed_by.is_(None),  # only what people have looked at vouches for anybody
)
"""How a request ended whose payments vouch for their payees."""

_PAYEE = ("payee", "payee_key", "account_key", "account_tail")


_NEWEST = func.row_number().over(
    partition_by=[spends.c[name] for name in _PAYEE], order_by=[spends.c.at.desc(), spends.c.id]
)


@cache
def _well_paid(size: int) -> tuple[Statement, Statement]:
    """The newest payment of each account, and what is kept of those whose requests were removed."""
    keys: list[BindParameter[Any]] = [bindparam(f"key_{index}") for index in range(size)]
    found = (
        select(spends, _NEWEST.label("place"))
        .select_from(spends.join(requests, requests.c.id == spends.c.request_id))
        .where(spends.c.org == bindparam("for_org"), spends.c.payee_key.in_(keys), *WENT_WELL)
        .subquery()
    )
    kept = select(payee_history).where(payee_history.c.org == bindparam("for_org"), payee_history.c.payee_key.in_(keys))
    return Statement(select(found).where(found.c.place == literal_column("1"))), Statement(kept)


def list_paid(tx: Tx, payee_keys: Iterable[str], account_keys: Iterable[str] = ()) -> list[Paid]:
    """Return under which names, and into which accounts, payees were ever paid with success, on people's approval.

    Of the accounts only `account_keys` are told; another one is told as something that is none of them. What is not as
    it was sealed vouches for nobody.
    """
    named, marks, sealed = numbered("key", payee_keys), Marks(tx, account_keys), SealedRows(tx)
    newest, kept = _well_paid(len(named))
    found = [(row, row["at"]) for row in tx.all(newest, for_org=tx.org, **named) if sealed.hold(spends, row)]
    found += [(row, row["paid_at"]) for row in tx.all(kept, for_org=tx.org, **named) if sealed.hold(payee_history, row)]
    return [
        Paid(
            payee=row["payee"],
            payee_key=row["payee_key"],
            account_key=marks.plain(row["account_key"]),
            account_tail=row["account_tail"],
            at=from_us(at),
        )
        for row, at in found
    ]


_OF_REQUESTS = (of_org(spends.c.org), one_of(spends.c.request_id, "ids"))
_VOUCHED = Statement(
    select(spends)
    .select_from(spends.join(requests, requests.c.id == spends.c.request_id))
    .where(*_OF_REQUESTS, *WENT_WELL)
    .order_by(spends.c.at, spends.c.id)
)
# How much was spent under a permission is told as long as it is listed: such a row stays, without its request.
_PARTS = Statement(select(spends).where(*_OF_REQUESTS, spends.c.standing_id.is_not(None)))
_PART = Statement(
    update(spends)
    .where(spends.c.org == bindparam("for_org"), spends.c.id == bindparam("of_id"))
    .values(request_id=None, seal=bindparam("new_seal"))
)
_SPENT_OF = Statement(select(spends).where(*_OF_REQUESTS))
_DROP_ALL = Statement(delete(spends).where(*_OF_REQUESTS))
_HISTORY = (payee_history.c.org == bindparam("for_org"), *(payee_history.c[n] == bindparam(f"of_{n}") for n in _PAYEE))
_KNOWN = Statement(select(payee_history).where(*_HISTORY))
_LATER = Statement(update(payee_history).where(*_HISTORY).values(paid_at=bindparam("at"), seal=bindparam("new_seal")))
_FIRST = Statement(insert(payee_history))


def retire_spends(tx: Tx, ids: Sequence[str]) -> None:
    """Let go of what requests have spent, and keep whom they vouch for, and since when."""
    sealed = SealedRows(tx)
    newest = {  # in their order: the last one counts
        tuple(row[name] for name in _PAYEE): row["at"]
        for row in tx.all(_VOUCHED, for_org=tx.org, ids=ids)
        if sealed.hold(spends, row)
    }
    for whom, at in newest.items():
        anew = {"org": tx.org, **dict(zip(_PAYEE, whom, strict=True)), "paid_at": at}
        one = {f"of_{name}": anew[name] for name in _PAYEE}
        known, seal = tx.one(_KNOWN, for_org=tx.org, **one), seal_of(tx, payee_history, anew)
        if known is None:
            tx.write(_FIRST, **anew, seal=seal)
        elif known["paid_at"] < at or not sealed.hold(payee_history, known):
            tx.write(_LATER, for_org=tx.org, **one, at=at, new_seal=seal)
    for row in tx.all(_PARTS, for_org=tx.org, ids=ids):
        if sealed.hold(spends, row):  # what was changed stays without its seal, and is named
            row["seal"] = seal_of(tx, spends, {**row, "request_id": None})
        tx.write(_PART, for_org=tx.org, of_id=row["id"], new_seal=row["seal"])
    tx.write(_DROP_ALL, for_org=tx.org, ids=ids)


def insert_spends(tx: Tx, rows: Sequence[dict[str, object]]) -> None:
    """Count payments from now on; see `app.usecases.payments.weigh.spend` for what a row says."""
    at = to_us(tx.now())
    made: list[Row] = [{**_with_id(tx, tx.ids.new("spd"), row), "org": tx.org, "at": at} for row in rows]
    tx.run_many(_INSERT, [{**row, "seal": seal_of(tx, spends, row)} for row in made])


def _with_id(tx: Tx, spend_id: str, row: dict[str, object]) -> dict[str, object]:
    account = kept_as(tx, str(row["account_key"]))
    return {**row, "id": spend_id, "account_key": account, "reference": _kept(tx, row["reference"], spend_id)}


def _kept(tx: Tx, reference: object, spend_id: str) -> object:
    """Return a reference as it is kept, encrypted: it is read beside the others of a payee, and never looked for."""
    if not isinstance(reference, str) or tx.vault is None:
        return reference
    return tx.vault.newest(tx, tx.org).hide(reference, _place(spend_id))


def _readable(tx: Tx, kept: str | None, spend_id: str) -> str | None:
    """Return a reference. One that cannot be read is none: such a payment is like any other to that payee."""
    number = number_of(kept) if kept is not None else None
    if kept is None or number is None or tx.vault is None:
        return kept
    key = tx.vault.find(tx, tx.org, number)
    try:
        return key.read(kept, _place(spend_id)) if isinstance(key, ValueKey) else None
    except BadTokenError:
        tx.vault.alarm(tx.org, spend_id)
        return None


def _place(spend_id: str) -> str:
    return f"{spend_id}\n{spend_id}\nreference"


def list_spent_of(tx: Tx, ids: Sequence[str]) -> dict[str, list[Row]]:
    """Return what is counted of requests, as its rows say it."""
    found: dict[str, list[Row]] = {}
    for row in tx.all(_SPENT_OF, for_org=tx.org, ids=ids):
        found.setdefault(row["request_id"], []).append(row)
    return found


def why_miscounted(request: ConfirmationRequest, rows: Iterable[Row]) -> str | None:
    """Say why what is counted of a request is not what it pays; None: it is."""
    call = request.call
    pays = Counter(
        (call.agent, call.owner, call.tool, each.payee_key, units_of(each.amount), each.currency)
        for each in request.payments
    )
    names = ("agent", "owner", "tool", "payee_key", "amount", "currency")
    since = to_us(request.created_at)
    counted = Counter(tuple(row[name] for name in names) for row in rows if row["at"] >= since)
    return None if counted == pays else "what is counted of it in budgets is not what it pays"


def drop_spends(tx: Tx, request_id: str) -> None:
    """Take back what a request has reserved: it is about to reserve something else."""
    tx.write(_DROP, for_org=tx.org, of_id=request_id)


def numbered(name: str, values: Iterable[object]) -> dict[str, object]:
    """Number the values of a list, each once; sizes are powers of two, so that there are few statements."""
    found = list(dict.fromkeys(values))
    size = 2 ** (len(found) - 1).bit_length()
    return {f"{name}_{index}": value for index, value in enumerate([*found, *[found[0]] * (size - len(found))])}
