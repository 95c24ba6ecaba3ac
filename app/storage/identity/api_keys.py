"""API keys as they are stored: a keyed hash, a scope, and whose they are.

A revocation stands in the trail too, and is believed there: a row that is set back to before it opens nothing.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, exists, func, insert, literal, literal_column, or_, select, update

from app.domain.call.name_pattern import NamePattern
from app.domain.identity.api_key import REVOKED, ApiKey, Scope
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.columns import MISREAD, why_unlike
from app.storage.tables.secret_tables import api_keys
from app.storage.tables.tables import audit_events, trail_cuts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_SAID_REVOKED = (
    select(func.min(audit_events.c.at))
    .where(
        audit_events.c.org == api_keys.c.org,
        audit_events.c.kind == literal_column("'key.revoked'"),  # as its index has it
        audit_events.c.facts == literal('{"key":"') + api_keys.c.id + literal('"}'),
    )
    .scalar_subquery()
)
_IS_CUT = exists().where(trail_cuts.c.org == api_keys.c.org)
_WITH_TRAIL = select(api_keys, _SAID_REVOKED.label("said_revoked_at"), _IS_CUT.label("is_cut"))
_GET = Statement(_WITH_TRAIL.where(api_keys.c.id == bindparam("key_id")))
_LIST = Statement(_WITH_TRAIL.where(api_keys.c.org == bindparam("for_org")).order_by(api_keys.c.created_at))
_CUT = Statement(
    select(trail_cuts.c.carried, trail_cuts.c.cut_at)
    .where(trail_cuts.c.org == bindparam("for_org"))
    .order_by(trail_cuts.c.seq.desc())
    .limit(literal_column("1"))
)
_INSERT = Statement(insert(api_keys))
_UNREVOKED = (
    api_keys.c.org == bindparam("for_org"), api_keys.c.id == bindparam("key_id"), api_keys.c.revoked_at.is_(None)
)  # fmt: skip
_REVOKE = Statement(update(api_keys).where(*_UNREVOKED).values(revoked_at=bindparam("at"), secret_hash=REVOKED))


_PUT_HASH = Statement(update(api_keys).where(*_UNREVOKED).values(secret_hash=bindparam("after")))
_PUT_USE = Statement(
    update(api_keys)
    .where(
        api_keys.c.org == bindparam("for_org"),
        api_keys.c.id == bindparam("key_id"),
        or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < bindparam("at")),
    )
    .values(last_used_at=bindparam("at"))
)


def put_use(tx: Tx, key_id: str, at: datetime) -> None:
    """Keep when a key was used, unless a later use is known, from another replica."""
    tx.write(_PUT_USE, for_org=tx.org, key_id=key_id, at=to_us(at))


def put_hash(tx: Tx, key_id: str, after: str) -> None:
    """Keep another hash of the same secret; none of a key that was revoked meanwhile."""
    tx.write(_PUT_HASH, for_org=tx.org, key_id=key_id, after=after)


def insert_key(tx: Tx, key: ApiKey) -> None:
    """Write a new key."""
    tx.write(
        _INSERT,
        id=key.id,
        org=key.org,
        scope=key.scope.value,
        agent=key.agent,
        person=key.person,
        label=key.label,
        secret_hash=key.secret_hash,
        created_at=to_us(key.created_at),
        expires_at=to_us(key.expires_at) if key.expires_at else None,
        revoked_at=None,
        tools=json.dumps([pattern.text for pattern in key.tools]) if key.tools else None,
        last_used_at=None,
    )


def find_key(tx: Tx, key_id: str) -> ApiKey | None:
    """Read a key by its id, in whichever org it is (the caller does not know its org yet).

    A row that no gateway wrote is no key.
    """
    row = tx.one(_GET, key_id=key_id)
    return next(iter(_read(tx, [row])), None) if row else None


def list_keys(tx: Tx) -> list[ApiKey]:
    """Return an org's keys, oldest first. A row that no gateway wrote is none: `assent audit verify` names it."""
    return _read(tx, tx.all(_LIST, for_org=tx.org))


def revoke_key(tx: Tx, key_id: str) -> bool:
    """End a key for good, and its hash. False: unknown, or revoked before. Nothing ever clears a revocation."""
    return tx.run(_REVOKE, for_org=tx.org, key_id=key_id, at=to_us(tx.now())) == 1


def _read(tx: Tx, rows: Sequence[Row]) -> list[ApiKey]:
    """Read the keys of one org. Revoked is what the row, the trail or what was cut off the trail says so of."""
    cut = tx.one(_CUT, for_org=rows[0]["org"]) if any(row["is_cut"] for row in rows) else None
    revoked = _revoked_in(cut["carried"]) if cut else frozenset[str]()
    found: list[ApiKey] = []
    for row in rows:
        ends = (row["revoked_at"], row["said_revoked_at"], cut["cut_at"] if cut and row["id"] in revoked else None)
        try:
            if why_unlike(api_keys.columns, row) is None:
                found.append(_from_row({**row, "revoked_at": next((at for at in ends if at is not None), None)}))
        except MISREAD:
            continue
    return found


@lru_cache(maxsize=16)
def _revoked_in(carried: str) -> frozenset[str]:
    """Return the ids of the keys that were revoked before a cut; of a record that no gateway wrote none."""
    try:
        said = json.loads(carried)["said"].items()
        keys = {name.removeprefix("key "): each[0] for name, each in said if name.startswith("key ")}
        return frozenset(key_id for key_id, stands in keys.items() if stands["revoked"])
    except MISREAD:
        return frozenset()


def _from_row(row: Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        org=row["org"],
        scope=Scope(row["scope"]),
        agent=row["agent"],
        person=row["person"],
        label=row["label"],
        secret_hash=row["secret_hash"],
        created_at=from_us(row["created_at"]),
        expires_at=from_us(row["expires_at"]) if row["expires_at"] is not None else None,
        revoked_at=from_us(row["revoked_at"]) if row["revoked_at"] is not None else None,
        tools=tuple(map(NamePattern, json.loads(row["tools"] or "[]"))),
        last_used_at=from_us(row["last_used_at"]) if row["last_used_at"] is not None else None,
    )
