"""Every configuration that ever judged a call, as it was written: what an auditor reads a ruling against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, insert, select

from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import policies

if TYPE_CHECKING:
    from datetime import datetime

_GET = Statement(
    select(policies.c.text).where(policies.c.org == bindparam("for_org"), policies.c.version == bindparam("of_version"))
)
_PUT = Statement(insert(policies))
_LIST = Statement(
    select(policies.c.version, policies.c.text, policies.c.loaded_at)
    .where(policies.c.org == bindparam("for_org"))
    .order_by(policies.c.loaded_at.desc(), policies.c.version)
    .limit(bindparam("most"))
)


class Kept(Struct, frozen=True, kw_only=True):
    """One version as it is kept: when it first came into force, and its text, secrets unexpanded."""

    version: str
    text: str
    loaded_at: datetime


def remember_policy(tx: Tx, version: str, text: str) -> bool:
    """Keep a version's text. False: it was known."""
    if tx.one(_GET, for_org=tx.org, of_version=version):
        return False
    tx.write(_PUT, org=tx.org, version=version, text=text, loaded_at=to_us(tx.now()))
    return True


def find_policy(tx: Tx, version: str) -> str | None:
    """Return the text of a version, secrets unexpanded."""
    row = tx.one(_GET, for_org=tx.org, of_version=version)
    return row["text"] if row else None


def list_policies(tx: Tx, *, most: int) -> list[Kept]:
    """Return the versions that came into force last, the newest first."""
    rows = tx.all(_LIST, for_org=tx.org, most=most)
    return [Kept(version=row["version"], text=row["text"], loaded_at=from_us(row["loaded_at"])) for row in rows]
