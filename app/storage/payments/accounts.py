"""Accounts as rows keep them: a mark that only the org's value key makes, so that nobody guesses short numbers by it.

A mark is ``k<number>.`` and HMAC-SHA256 in hex, under the value key of that number, over what `account_key` returns.
Whoever asks gives that, and gets it back: nothing above the storage knows a mark. An account that was kept before there
were marks is found as well, and marked at the next start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, exists, literal_column, select, update

from app.storage.engine.transaction import Statement
from app.storage.tables.payment_tables import payee_history, payees, spends

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import FromClause, Table

    from app.storage.engine.transaction import Tx

NONE = ""
"""No account was named."""
_MARKED = "k"  # behind every sign of a hash in hex, and before no mark
_TABLES = (spends, payees, payee_history)


def kept_as(tx: Tx, account_key: str) -> str:
    """Return what a row keeps of an account from now on."""
    return tx.vault.newest(tx, tx.org).mark(account_key) if account_key and tx.vault is not None else account_key


class Marks:
    """All that rows may keep of these accounts, under each of the org's keys that can be read, or under none."""

    def __init__(self, tx: Tx, account_keys: Iterable[str]) -> None:
        """Take them as `account_key` returns them."""
        keys = tx.vault.readable(tx, tx.org) if tx.vault is not None else ()
        self._plain = {
            mark: each
            for each in dict.fromkeys(account_keys)
            for mark in ((each, *(key.mark(each) for key in keys)) if each else (NONE,))
        }

    def __iter__(self) -> Iterator[str]:
        """Go through the marks."""
        return iter(self._plain)

    def plain(self, kept: str) -> str:
        """Return which of the accounts a row keeps; of another one the mark, which is like none of them."""
        return self._plain.get(kept, kept)


def _same(table: FromClause, column: str) -> tuple[Any, ...]:
    return table.c.org == bindparam("for_org"), table.c.account_key == bindparam(column)


def _listing(table: Table) -> Statement:
    unmarked = (table.c.account_key > literal_column("''"), table.c.account_key < literal_column(f"'{_MARKED}'"))
    found = select(table.c.account_key).distinct().where(table.c.org == bindparam("for_org"), *unmarked)
    return Statement(found.limit(bindparam("most")))


def _moving(table: Table) -> tuple[Statement, ...]:
    """Keep the mark, unless it stands there beside: a payee has each account once."""
    other = table.alias("other")
    rest = [other.c[column.name] == column for column in table.primary_key if column.name not in {"account_key", "id"}]
    twin = exists().where(*_same(other, "mark"), *rest)
    keep = Statement(update(table).where(*_same(table, "plain")).values(account_key=bindparam("mark")))
    if "account_key" not in table.primary_key:
        return (keep,)
    return Statement(delete(table).where(*_same(table, "plain"), twin)), keep


_LISTING = tuple(map(_listing, _TABLES))
_MOVING = tuple(statement for table in _TABLES for statement in _moving(table))


def list_unmarked(tx: Tx, *, most: int) -> list[str]:
    """Return accounts of the org that rows keep from before there were marks, or from a tool that had no key."""
    return list(
        dict.fromkeys(row["account_key"] for each in _LISTING for row in tx.all(each, for_org=tx.org, most=most))
    )


def mark_accounts(tx: Tx, account_keys: Iterable[str]) -> None:
    """Mark these accounts wherever they stand."""
    for each in account_keys:
        named = {"plain": each, "mark": kept_as(tx, each)}
        for statement in _MOVING:
            tx.write(statement, for_org=tx.org, **named)
