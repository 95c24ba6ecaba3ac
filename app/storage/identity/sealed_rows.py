"""Rows by which payees are known, budgets counted and calls permitted beforehand are sealed.

Whoever has the database alone puts nobody in.

A seal is a mark under the org's value key (`ValueKey.mark`) over all that a row says, so it outlives ASSENT_SECRET as
accounts do, and ends with the org's values. A row without one, or with another row's, vouches for nobody: the payee is
asked about again. So it is with standing approvals and broken glass: they permit nothing. Nothing is sealed that stands
already; what is put in anew is.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from app.storage.identity.vault import DESTROYED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table

    from app.storage.engine.transaction import Tx

# By name, not as the tables have them: a column that is younger than its seals must not break those from before.
_COVERED = {
    "payees": (
        "org", "payee_key", "account_key", "name", "account_tail", "is_known", "set_by", "set_at", "removed_at",
    ),
    "payee_history": ("org", "payee_key", "account_key", "payee", "account_tail", "paid_at"),
    "spends": (
        "org", "id", "request_id", "standing_id", "agent", "owner", "tool", "payee", "payee_key", "account_key",
        "account_tail", "reference", "currency", "amount", "at",
    ),
    "standing_approvals": (
        "org", "id", "kind", "status", "scope", "digest", "reason", "proposed_by", "proposed_at", "confirmed_by",
        "confirmed_at", "expires_at", "revoked_by", "revoked_at", "reviewed_by", "reviewed_at", "review", "used",
        "last_used_at",
    ),
}  # fmt: skip
# Covered where they say something: a row that was sealed before there was such a column is as it was sealed.
_YOUNGER = {"standing_approvals": ("spent",)}


def seal_of(tx: Tx, table: Table, row: Mapping[str, object]) -> str | None:
    """Return the seal of a row as it is to be written. Without a key (a tool beside the database) it has none."""
    return tx.vault.newest(tx, tx.org).mark(_text(table, row)) if tx.vault is not None else None


class SealedRows:
    """Says of rows whether they are as they were sealed, under any of the org's keys that can be read."""

    def __init__(self, tx: Tx) -> None:
        """Read the keys, once for all rows."""
        self._tx = tx
        self._keys = {key.number: key for key in tx.vault.readable(tx, tx.org)} if tx.vault is not None else {}

    def hold(self, table: Table, row: Mapping[str, object]) -> bool:
        """Say whether a row may be relied on. Where there is no secret at all, nothing is known, and nothing done."""
        return self._tx.vault is None or self._is_sealed(table, row)

    def why_not(self, table: Table, row: Mapping[str, object]) -> str | None:
        """Say why a row is not what a gateway wrote; None: it is, or its key was destroyed with the org's values."""
        seal = row["seal"]
        if self.hold(table, row):
            return None
        if seal is None:
            return "has no seal"
        number = str(seal).partition(".")[0].removeprefix("k")
        if number.isascii() and number.isdecimal() and len(number) < 10 and self._tx.vault is not None:
            key = self._tx.vault.find(self._tx, self._tx.org, int(number))
            if key == DESTROYED:
                return None
        return "is not as it was sealed"

    def _is_sealed(self, table: Table, row: Mapping[str, object]) -> bool:
        seal = row["seal"]
        if not isinstance(seal, str) or not seal.isascii():
            return False
        text = _text(table, row)
        return True in [hmac.compare_digest(seal, key.mark(text)) for key in self._keys.values()]


def _text(table: Table, row: Mapping[str, object]) -> str:
    younger = [(name, row[name]) for name in _YOUNGER.get(table.name, ()) if row[name] is not None]
    return ascii((table.name, *(row[name] for name in _COVERED[table.name]), *younger))
