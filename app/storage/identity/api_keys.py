"""API keys as they are stored: a keyed hash, a scope, and whose they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, or_, select, update

from app.domain.call.name_pattern import NamePattern
from app.domain.identity.api_key import ApiKey, Scope
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.columns import MISREAD, why_unlike
from app.storage.tables.tables import api_keys

if TYPE_CHECKING:
    from datetime import datetime

_INSERT = Statement(insert(api_keys))
_GET = Statement(select(api_keys).where(api_keys.c.id == bindparam("key_id")))
_LIST = Statement(select(api_keys).where(api_keys.c.org == bindparam("for_org")).order_by(api_keys.c.created_at))
_REVOKE = Statement(
    update(api_keys)
    .where(
        api_keys.c.org == bindparam("for_org"), api_keys.c.id == bindparam("key_id"), api_keys.c.revoked_at.is_(None)
    )
    .values(revoked_at=bindparam("at"))
)


_PUT_HASH = Statement(
    update(api_keys)
    .where(api_keys.c.org == bindparam("for_org"), api_keys.c.id == bindparam("key_id"))
    .values(secret_hash=bindparam("after"))
)
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
    """Keep another hash of the same secret."""
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
    return _read(row) if row else None


def list_keys(tx: Tx) -> list[ApiKey]:
    """Return an org's keys, oldest first. A row that no gateway wrote is none: `assent audit verify` names it."""
    return [key for row in tx.all(_LIST, for_org=tx.org) if (key := _read(row)) is not None]


def revoke_key(tx: Tx, key_id: str) -> bool:
    """End a key for good. False: unknown, or revoked before. Nothing ever clears a revocation."""
    return tx.run(_REVOKE, for_org=tx.org, key_id=key_id, at=to_us(tx.now())) == 1


def _read(row: Row) -> ApiKey | None:
    try:
        return _from_row(row) if why_unlike(api_keys.columns, row) is None else None
    except MISREAD:
        return None


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
