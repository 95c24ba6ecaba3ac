"""Every configuration that ever judged a call, as it was written: what an auditor reads a ruling against."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import policies

_GET = Statement(
    select(policies.c.text).where(policies.c.org == bindparam("for_org"), policies.c.version == bindparam("of_version"))
)
_PUT = Statement(insert(policies))


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
