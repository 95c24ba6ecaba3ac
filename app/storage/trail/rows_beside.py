"""The rows of an org beside its requests, under the names by which the trail speaks of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from sqlalchemy import Table, bindparam, func, literal_column, select

from app.domain.identity.api_key import REVOKED
from app.domain.identity.passkey import is_sealed
from app.domain.lifecycle.replayed_org import AT_ONCE, switch_name
from app.domain.rules.permits import PermitKind, permit_digest
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement
from app.storage.identity.passkeys import passkey_of
from app.storage.identity.sealed_rows import SealedRows
from app.storage.identity.secret_ids import list_seal_ids
from app.storage.permits.spent import spends_beside
from app.storage.tables.columns import MISREAD, why_unlike
from app.storage.tables.hook_tables import switches
from app.storage.tables.payment_tables import factors, payee_history, payees, restores, spends, standing_approvals
from app.storage.tables.secret_tables import api_keys, passkeys, value_keys
from app.storage.tables.tables import policies

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.storage.engine.transaction import Tx


def _all_of(table: Table) -> Statement:
    return Statement(select(table).where(table.c.org == bindparam("for_org")))


_KEYS, _POLICIES, _SWITCHES = _all_of(api_keys), _all_of(policies), _all_of(switches)
_STANDING, _PAYEES, _FACTORS = _all_of(standing_approvals), _all_of(payees), _all_of(factors)
_VALUE_KEYS, _PASSKEYS = _all_of(value_keys), _all_of(passkeys)
_HISTORY = _all_of(payee_history)
_SPENDS = Statement(
    select(spends)
    .where(spends.c.org == bindparam("for_org"), spends.c.id > bindparam("behind"))
    .order_by(spends.c.id)
    .limit(literal_column("2000"))
)
_AT_ONCE = Statement(
    select(func.count().label("payments")).where(
        spends.c.org == bindparam("for_org"),
        spends.c.request_id.is_(None),
        spends.c.standing_id.is_(None),
        spends.c.seal.is_not(None),
    )
)
_RESTORES = Statement(select(restores))


def list_texts(tx: Tx) -> dict[str, str]:
    """Return the text of every version of the org's file that ever judged a call, as far as it is one."""
    rows = tx.all(_POLICIES, for_org=tx.org)
    return {row["version"]: row["text"] for row in rows if _why_foreign(policies, row) is None}


def rows_beside(tx: Tx, *, since: int, said: Collection[str]) -> dict[str, object]:
    """Return what stands, with the restores that concern the org.

    They are those that its trail has `said`, and those declared after `since`, its first event (in µs): whether it is
    said does not hang on two clocks that may show the same, or go back. A row that no gateway wrote stands under its
    own name, with why: nothing was ever said so.
    """
    found: dict[str, object] = {}
    for statement, table, named, read in _READ:
        for row in tx.all(statement, for_org=tx.org):
            found |= _read(table, row, named(row), read)
    found |= _payees(tx, said) | _paid(tx) | _passkeys(tx) | _spent(tx) | _permits(tx) | spends_beside(tx)
    found |= {f"secret {key_id}": True for key_id in list_seal_ids(tx)}
    for row in tx.all(_RESTORES):
        name = f"restore {row['epoch']}"
        if name in said or not isinstance(row["restored_at"], int) or row["restored_at"] > since:
            found |= _read(restores, row, name, lambda row, name=name: {name: row["reason"]})
    return found


def keys_beside(tx: Tx) -> dict[str, dict[str, object]]:
    """Return what stands of each of the org's keys, by its id."""
    return {row["id"]: _read(api_keys, row, f"key {row['id']}", _key) for row in tx.all(_KEYS, for_org=tx.org)}


_Found = dict[str, object]
_Reading = Callable[["Row"], _Found]


def _read(table: Table, row: Row, name: str, read: _Reading) -> _Found:
    why = _why_foreign(table, row)
    try:
        return read(row) if why is None else {name: f"what no gateway writes: {why}"}
    except MISREAD:
        return {name: "what no gateway writes"}


def _why_foreign(table: Table, row: Row) -> str | None:
    """Say which cell of a row is of another type than its column, or is no instant."""
    why = why_unlike(table.columns, row)
    if why is not None:
        return why
    for name in table.columns.keys():  # noqa: SIM118 - of columns, not of a dict
        if name.endswith("_at") and row[name] is not None:
            try:
                from_us(row[name])
            except ArithmeticError:
                return f"its {name} is no instant"
    return None


def _key(row: Row) -> _Found:
    name = f"key {row['id']}"
    said = {each: row[each] for each in ("scope", "agent", "person", "label")}
    ends = from_us(row["expires_at"]).isoformat() if row["expires_at"] is not None else None
    # Whose secret it is nobody can say without that; that it is no hash of a gateway's, everybody can.
    is_hash = _HASH.fullmatch(row["secret_hash"])
    more = {} if is_hash else {f"key {row['id']} with a hash": "of no gateway"}
    stands = {**said, "revoked": row["revoked_at"] is not None}
    tools = _names(row["tools"]) if row["tools"] is not None else None
    return {name: stands, f"end of {name}": ends, f"tools of {name}": tools, **more}


def _names(text: str) -> list[str]:
    read: object = json.loads(text)
    names = cast("list[object]", read) if isinstance(read, list) else [None]
    if not all(isinstance(each, str) for each in names):
        raise TypeError("no names")
    return cast("list[str]", names)


def _policy(row: Row) -> _Found:
    name = f"policy {row['version']}"
    return {name: True, f"text of {name}": hashlib.sha256(row["text"].encode()).hexdigest()}


def _switch_name(row: Row) -> str:
    return switch_name(row["name"], row["agent"], row["tool"])


def _switch(row: Row) -> _Found:
    name = _switch_name(row)
    return {name: _SWITCHED[row["is_on"]], f"reason of {name}": row["reason"]}


def _standing(row: Row) -> _Found:
    said = {each: row[each] for each in ("proposed_by", "confirmed_by", "used", "status")}
    try:  # made anew: of what it permits, not of what it says that it is
        digest = permit_digest(row["id"], row["org"], PermitKind(row["kind"]), json.loads(row["scope"]), row["reason"])
    except MISREAD:
        digest = None
    is_own = digest == row["digest"]
    until = from_us(row["expires_at"]).isoformat()
    return {f"standing {row['id']}": {**said, "digest": digest if is_own else None, "until": until}}


def _permits(tx: Tx) -> _Found:
    """Return standing approvals and broken glasses; one that is not as it was sealed is named for that.

    Of what was revoked, or is over, none needs a seal: it may be of before there were any.
    """
    sealed, found, now = SealedRows(tx), _Found(), to_us(tx.now())
    for row in tx.all(_STANDING, for_org=tx.org):
        name = f"standing {row['id']}"
        read = _read(standing_approvals, row, name, _standing)
        why = sealed.why_not(standing_approvals, row) if _why_foreign(standing_approvals, row) is None else None
        may_hold = why is not None and row["status"] != "revoked" and row["expires_at"] > now
        found |= {name: why} if why is not None and (may_hold or row["seal"] is not None) else read
    return found


def _factor(row: Row) -> _Found:
    name, sealed = f"factor of {row['person']}", [row["secret"], row["new_secret"]]
    if any(each is not None and not _SECRET.fullmatch(each) for each in sealed):
        return {name: "what no gateway writes: its secret is none that was sealed"}
    if row["status"] not in _FACTORS_ARE:
        return {name: row["status"]}
    return {name: "active"} if row["status"] == "active" else {}


def _value_key(row: Row) -> _Found:
    name, wrapped = f"value key {row['number']}", row["wrapped"]
    if wrapped is not None and not _SECRET.fullmatch(wrapped):
        return {name: "what no gateway writes: it is none that was wrapped"}
    return {name: "destroyed"} if wrapped is None else {}


def _passkeys(tx: Tx) -> _Found:
    """Hold passkeys against their own seals, too, as far as the secret that these were made with is here."""
    found: _Found = {}
    known = tx.seals.key_ids if tx.seals is not None else ()
    ever = {*known, *list_seal_ids(tx)}
    for row in tx.all(_PASSKEYS, for_org=tx.org):
        name = f"passkey {row['id']}"
        found |= _read(passkeys, row, name, lambda row, name=name: {name: row["person"]})
        if _why_foreign(passkeys, row) is None and tx.seals is not None:
            key_id, _, mac = row["seal"].partition(".")
            if not mac or key_id not in ever or (key_id in known and not is_sealed(tx.seals, passkey_of(row))):
                found[name] = "not as it was sealed"
    return found


def _payees(tx: Tx, said: Collection[str]) -> _Found:
    """Return with which accounts payees are known; one whose row is not as it was sealed is named for that.

    A row of before there were seals has none, and the trail says then of no account what its row keeps of it.
    """
    found: _Found = {}
    tails: dict[str, set[str]] = {}
    accounts: dict[str, list[list[str]]] = {}
    sealed = SealedRows(tx)
    for row in tx.all(_PAYEES, for_org=tx.org):
        name = f"payee {row['payee_key']}"
        bad = _read(payees, row, name, lambda _: {})
        why = None if bad else sealed.why_not(payees, row)
        if why is not None and (row["seal"] is not None or f"accounts of {name}" in said):
            bad = {name: why}
        if bad:
            found |= bad
            continue
        tails.setdefault(name, set()).update([row["account_tail"]] if row["is_known"] else [])
        known = [row["name"], row["account_tail"], row["account_key"]]
        accounts.setdefault(f"accounts of {name}", []).extend([known] if row["is_known"] else [])
    stand = {name: sorted(each) for name, each in tails.items()} | {name: sorted(of) for name, of in accounts.items()}
    return stand | found


def _paid(tx: Tx) -> _Found:
    """Return whom earlier payments vouch for though no gateway has written so: no event says that either."""
    sealed, found = SealedRows(tx), _Found()
    for row in tx.all(_HISTORY, for_org=tx.org):
        name = f"payee {row['payee_key']} that was paid before"
        found |= _read(payee_history, row, name, lambda _: {})
        if name not in found and (why := sealed.why_not(payee_history, row)) is not None:
            found[name] = why
    return found


def count_at_once(tx: Tx) -> int:
    """Return how many payments were spent without a request. Each of them is counted by an event.

    One of before there were seals has none, and an event of then counts none either.
    """
    return tx.all(_AT_ONCE, for_org=tx.org)[0]["payments"]


def _spent(tx: Tx) -> _Found:
    """Return how many payments were spent at once, and which of all are not as they were sealed.

    Those of requests are held against these.
    """
    sealed, found, behind = SealedRows(tx), _Found(), ""
    while rows := tx.all(_SPENDS, for_org=tx.org, behind=behind):
        behind = rows[-1]["id"]
        for row in rows:
            name = f"payment {row['id']}"
            bad = _read(spends, row, name, lambda _: {})
            why = None if bad or row["seal"] is None else sealed.why_not(spends, row)
            found |= bad or ({name: why} if why is not None else {})
    at_once = count_at_once(tx)
    return found | ({AT_ONCE: at_once} if at_once else {})


_HASH = re.compile(r"k2\.[0-9a-f]{8}\.[0-9a-f]{64}|k1\.[0-9a-f]{8}\.[0-9a-f]{64}\.[0-9a-f]{64}|[0-9a-f]{64}|" + REVOKED)
_SECRET = re.compile(r"h1\.[0-9a-f]{8}\.[A-Za-z0-9_=-]+")
_SWITCHED = {0: "off", 1: "on"}
_FACTORS_ARE = frozenset({"invited", "enrolled", "active"})
_READ: Sequence[tuple[Statement, Table, Callable[[Row], str], _Reading]] = (
    (_KEYS, api_keys, lambda row: f"key {row['id']}", _key),
    (_POLICIES, policies, lambda row: f"policy {row['version']}", _policy),
    (_SWITCHES, switches, _switch_name, _switch),
    (_FACTORS, factors, lambda row: f"factor of {row['person']}", _factor),
    (_VALUE_KEYS, value_keys, lambda row: f"value key {row['number']}", _value_key),
)
