"""The register of payees: whom people have put in, with which accounts, and whom they have taken out again."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select, update

from app.domain.money.payee import Payee
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.identity.sealed_rows import SealedRows, seal_of
from app.storage.payments.accounts import Marks, kept_as
from app.storage.payments.spends import numbered
from app.storage.tables.payment_tables import payees

if TYPE_CHECKING:
    from collections.abc import Iterable


_OF_ORG = payees.c.org == bindparam("for_org")
_OF_KEY = payees.c.payee_key == bindparam("of_key")
_LIST = Statement(select(payees).where(_OF_ORG, payees.c.is_known == 1).order_by(payees.c.name, payees.c.account_key))
_DROP = Statement(delete(payees).where(_OF_ORG, _OF_KEY, payees.c.account_key == bindparam("of_account")))
_PUT = Statement(insert(payees))
_ALL_OF = Statement(select(payees).where(_OF_ORG, _OF_KEY))
_GONE = ("is_known", "set_by", "set_at", "removed_at", "seal")
_REMOVE = Statement(
    update(payees)
    .where(_OF_ORG, _OF_KEY, payees.c.account_key == bindparam("of_account"))
    .values({name: bindparam(f"new_{name}") for name in _GONE})
)
_NEVER_BEFORE = datetime.max.replace(tzinfo=UTC)
"""When a payee was last taken out whose row nobody can rely on: whatever was paid before vouches no more."""


@cache
def _find(size: int) -> Statement:
    named = payees.c.payee_key.in_([bindparam(f"key_{index}") for index in range(size)])
    return Statement(select(payees).where(_OF_ORG, named).order_by(payees.c.set_at, payees.c.account_key))


def list_payees(tx: Tx) -> list[Payee]:
    """Return whom the register knows now, by name."""
    unknown, sealed = Marks(tx, ()), SealedRows(tx)
    return [_payee(row, unknown) for row in tx.all(_LIST, for_org=tx.org) if sealed.hold(payees, row)]


def find_payees(tx: Tx, payee_keys: Iterable[str], account_keys: Iterable[str] = ()) -> list[Payee]:
    """Return all that was ever set of these payees, those that were taken out as well.

    Of the accounts only `account_keys` are told; another one is told as something that is none of them. A row that is
    not as it was sealed is none that is known, and nothing that was paid before it vouches for its payee.
    """
    named, marks, sealed = numbered("key", payee_keys), Marks(tx, account_keys), SealedRows(tx)
    found: list[Payee] = []
    for row in tx.all(_find(len(named)), for_org=tx.org, **named):
        if sealed.hold(payees, row):
            found.append(_payee(row, marks))
        else:
            found.append(_unknown(row))
    return found


def put_payee(tx: Tx, payee: Payee) -> str | None:
    """Put a payee in with one account, in the place of what was set of it before.

    Return what the trail names the account by: what its row keeps of it. None where there was no key to keep it with.
    """
    for mark in Marks(tx, [payee.account_key]):
        tx.write(_DROP, for_org=tx.org, of_key=payee.payee_key, of_account=mark)
    row: Row = {
        "org": tx.org,
        "payee_key": payee.payee_key,
        "account_key": kept_as(tx, payee.account_key),
        "name": payee.name,
        "account_tail": payee.account_tail,
        "is_known": int(payee.is_known),
        "set_by": payee.set_by,
        "set_at": to_us(payee.set_at),
        "removed_at": to_us(payee.removed_at) if payee.removed_at else None,
    }
    tx.write(_PUT, **row, seal=seal_of(tx, payees, row))
    return row["account_key"] if tx.vault is not None else None


def remove_payee(tx: Tx, payee_key: str, *, by: str) -> None:
    """Take a payee out with all accounts, in all spellings."""
    at = to_us(tx.now())
    for row in tx.all(_ALL_OF, for_org=tx.org, of_key=payee_key):
        gone = {**row, "is_known": 0, "set_by": by, "set_at": at, "removed_at": at}
        gone["seal"] = seal_of(tx, payees, gone)
        changed = {f"new_{name}": gone[name] for name in _GONE}
        tx.write(_REMOVE, for_org=tx.org, of_key=payee_key, of_account=row["account_key"], **changed)


def _unknown(row: Row) -> Payee:
    return Payee(
        name=str(row["name"]),
        payee_key=row["payee_key"],
        account_key=_NO_ACCOUNT,
        account_tail="",
        is_known=False,
        set_by="",
        set_at=_NEVER_BEFORE,
        removed_at=_NEVER_BEFORE,
    )


_NO_ACCOUNT = "?"  # of no payment


def _payee(row: Row, marks: Marks) -> Payee:
    return Payee(
        name=row["name"],
        payee_key=row["payee_key"],
        account_key=marks.plain(row["account_key"]),
        account_tail=row["account_tail"],
        is_known=bool(row["is_known"]),
        set_by=row["set_by"],
        set_at=from_us(row["set_at"]),
        removed_at=from_us(row["removed_at"]) if row["removed_at"] is not None else None,
    )
