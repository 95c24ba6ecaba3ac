"""The rows of an org beside its requests, under the names by which the trail speaks of them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from app.domain.errors import AssentError
from app.domain.lifecycle.replayed_org import switch_name
from app.domain.rules.permits import PermitKind, permit_digest
from app.storage.engine.dialect import from_us
from app.storage.engine.transaction import Statement
from app.storage.tables.hook_tables import switches
from app.storage.tables.payment_tables import factors, payees, restores, standing_approvals
from app.storage.tables.secret_tables import passkeys, value_keys
from app.storage.tables.tables import api_keys, policies

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Table

    from app.storage.engine.transaction import Row, Tx


def _all_of(table: Table) -> Statement:
    return Statement(select(table).where(table.c.org == bindparam("for_org")))


_KEYS, _POLICIES, _SWITCHES = _all_of(api_keys), _all_of(policies), _all_of(switches)
_STANDING, _PAYEES, _FACTORS = _all_of(standing_approvals), _all_of(payees), _all_of(factors)
_VALUE_KEYS, _PASSKEYS = _all_of(value_keys), _all_of(passkeys)
_RESTORES = Statement(select(restores))


def list_texts(tx: Tx) -> dict[str, str]:
    """Return the text of every version of the org's file that ever judged a call."""
    return {row["version"]: row["text"] for row in tx.all(_POLICIES, for_org=tx.org)}


def rows_beside(tx: Tx, *, since: int, said: Collection[str]) -> dict[str, object]:
    """Return what stands, with the restores that concern the org.

    They are those that its trail has `said`, and those declared after `since`, its first event (in µs): whether it is
    said does not hang on two clocks that may show the same, or go back.
    """
    found: dict[str, object] = {}
    for row in tx.all(_KEYS, for_org=tx.org):
        found |= _key(row)
    for version, text in list_texts(tx).items():
        found[f"policy {version}"] = True
        found[f"text of policy {version}"] = hashlib.sha256(text.encode()).hexdigest()
    for row in tx.all(_SWITCHES, for_org=tx.org):
        found[switch_name(row["name"], row["agent"], row["tool"])] = "on" if row["is_on"] else "off"
    for row in tx.all(_STANDING, for_org=tx.org):
        found[f"standing {row['id']}"] = _standing(row)
    tails: dict[str, set[str]] = {}
    for row in tx.all(_PAYEES, for_org=tx.org):
        tails.setdefault(f"payee {row['payee_key']}", set()).update([row["account_tail"]] if row["is_known"] else [])
    found |= {name: sorted(known) for name, known in tails.items()}
    for row in tx.all(_FACTORS, for_org=tx.org):
        if row["status"] == "active":
            found[f"factor of {row['person']}"] = "active"
    found |= {f"passkey {row['id']}": row["person"] for row in tx.all(_PASSKEYS, for_org=tx.org)}
    found |= _destroyed(tx)
    for row in tx.all(_RESTORES):
        name = f"restore {row['epoch']}"
        if name in said or row["restored_at"] > since:
            found[name] = row["reason"]
    return found


def _destroyed(tx: Tx) -> dict[str, object]:
    gone = [row["number"] for row in tx.all(_VALUE_KEYS, for_org=tx.org) if row["wrapped"] is None]
    return {f"value key {number}": "destroyed" for number in gone}


def _key(row: Row) -> dict[str, object]:
    name = f"key {row['id']}"
    said = {each: row[each] for each in ("scope", "agent", "person", "label")}
    ends = from_us(row["expires_at"]).isoformat() if row["expires_at"] is not None else None
    return {name: {**said, "revoked": row["revoked_at"] is not None}, f"end of {name}": ends}


def _standing(row: Row) -> dict[str, object]:
    said = {each: row[each] for each in ("proposed_by", "confirmed_by", "used", "status")}
    try:  # made anew: of what it permits, not of what it says that it is
        digest = permit_digest(row["id"], row["org"], PermitKind(row["kind"]), json.loads(row["scope"]), row["reason"])
    except (ValueError, TypeError, AssentError):
        digest = None
    return {**said, "digest": digest, "until": from_us(row["expires_at"]).isoformat()}
