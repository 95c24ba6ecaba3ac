"""The servers that this database has been on, and what of its trails a new one lacks."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, insert, literal_column, select

from app.domain.trail.audit import Kind
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement
from app.storage.tables.replica_tables import database_servers
from app.storage.tables.tables import audit_events
from app.storage.trail.cuts import find_cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.storage.engine.line import Server
    from app.storage.engine.transaction import Link, Tx

_OF_SYSTEM = Statement(select(database_servers.c.timeline).where(database_servers.c.system == bindparam("of_system")))
_INSERT = Statement(insert(database_servers))
_HASH_AT = Statement(
    select(audit_events.c.hash).where(audit_events.c.org == bindparam("of_org"), audit_events.c.seq == bindparam("at"))
)
_DECLARED = Statement(
    select(audit_events.c.seq)
    .where(
        audit_events.c.org == bindparam("of_org"),
        audit_events.c.kind == Kind.RESTORED.value,
        audit_events.c.seq > bindparam("behind"),
    )
    .limit(literal_column("1"))
)


class Missing(Struct, frozen=True, kw_only=True):
    """What an org's trail lacks of what was answered as committed."""

    org: str
    kept: int  # the last event known to be there; -1: none of those that are remembered is
    links: Sequence[Link]

    @property
    def requests(self) -> list[str]:
        """The requests that they are about, each once."""
        return list(dict.fromkeys(link.request_id for link in self.links if link.request_id))


def list_timelines(tx: Tx, system: str) -> list[int]:
    """Return which servers of a system this database has been on."""
    return [row["timeline"] for row in tx.all(_OF_SYSTEM, of_system=system)]


def put_server(tx: Tx, server: Server, *, epoch: int) -> None:
    """Note a server, and the epoch that it is met in."""
    tx.write(_INSERT, system=server.system, timeline=server.timeline, epoch=epoch, met_at=to_us(tx.now()))


def list_missing(tx: Tx, tails: Mapping[str, Sequence[Link]]) -> list[Missing]:
    """Find what is not there any more of what was committed; in the scope of all orgs."""

    def is_gone(link: Link) -> bool:
        if link.seq <= until[link.org]:
            return False  # it was cut off
        row = tx.one(_HASH_AT, of_org=link.org, at=link.seq)
        return row is None or row["hash"] != link.hash

    cuts = {org: find_cut(tx.of(org)) for org in tails}
    until = {org: cut.last if cut else -1 for org, cut in cuts.items()}
    found: list[Missing] = []
    for org, tail in tails.items():
        if tail and is_gone(tail[-1]):
            first = bisect_left(tail, True, key=is_gone)
            found.append(Missing(org=org, kept=tail[first - 1].seq if first else -1, links=tail[first:]))
    return found


def is_declared(tx: Tx, missing: Missing) -> bool:
    """Say whether somebody has fenced off the past since the trail forked; in the scope of all orgs."""
    return missing.kept >= 0 and tx.one(_DECLARED, of_org=missing.org, behind=missing.kept) is not None
