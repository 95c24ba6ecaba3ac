"""Switches that people flip while everything runs: on or off for an org or for one agent, by whom, when and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select

from app.storage.dialect import from_us, to_us
from app.storage.hook_tables import switches
from app.storage.transaction import Statement, Tx

if TYPE_CHECKING:
    from datetime import datetime

READ_ONLY = "read-only"
"""While it is on, only tools that are declared to write nothing run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One switch as it stands. `agent` "" stands for the whole org."""

    name: str
    agent: str
    is_on: bool
    reason: str | None
    set_by: str
    set_at: datetime


_LIST = Statement(
    select(switches).where(switches.c.org == bindparam("for_org")).order_by(switches.c.name, switches.c.agent)
)
_DROP = Statement(
    delete(switches).where(
        switches.c.org == bindparam("for_org"),
        switches.c.name == bindparam("of_name"),
        switches.c.agent == bindparam("of_agent"),
    )
)
_PUT = Statement(insert(switches))


def list_switches(tx: Tx) -> list[Switch]:
    """Return the org's switches that were ever touched, on and off."""
    return [
        Switch(
            name=row["name"],
            agent=row["agent"],
            is_on=bool(row["is_on"]),
            reason=row["reason"],
            set_by=row["set_by"],
            set_at=from_us(row["set_at"]),
        )
        for row in tx.all(_LIST, for_org=tx.org)
    ]


def put_switch(tx: Tx, name: str, *, agent: str, is_on: bool, reason: str | None, by: str) -> Switch:
    """Flip a switch now and return it."""
    now = tx.now()
    tx.write(_DROP, for_org=tx.org, of_name=name, of_agent=agent)
    tx.write(_PUT, org=tx.org, name=name, agent=agent, is_on=int(is_on), reason=reason, set_by=by, set_at=to_us(now))
    return Switch(name=name, agent=agent, is_on=is_on, reason=reason, set_by=by, set_at=now)
