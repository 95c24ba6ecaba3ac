"""What holds for all calls of an org: its switches, and whether any of its sessions was started by another.

Switches are flipped by people while everything runs: on or off for an org, an agent or a tool; by whom, when and why.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, literal, select

from app.domain.call.switch import Switch
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.hook_tables import sessions, switches
from app.storage.tables.tables import audit_heads

_LIST = Statement(
    select(switches)
    .where(switches.c.org == bindparam("for_org"))
    .order_by(switches.c.name, switches.c.agent, switches.c.tool)
)
_DROP = Statement(
    delete(switches).where(
        switches.c.org == bindparam("for_org"),
        switches.c.name == bindparam("of_name"),
        switches.c.agent == bindparam("of_agent"),
        switches.c.tool == bindparam("of_tool"),
    )
)
_PUT = Statement(insert(switches))
_ANY_CHILD = Statement(
    select(literal(1).label("one"))
    .where(sessions.c.org == bindparam("for_org"), sessions.c.parent_agent.is_not(None))
    .limit(1)
)
_ORGS = Statement(select(audit_heads.c.org).order_by(audit_heads.c.org))


def list_switches(tx: Tx) -> list[Switch]:
    """Return the org's switches that were ever touched, on and off."""
    return [
        Switch(
            name=row["name"],
            agent=row["agent"],
            tool=row["tool"],
            is_on=bool(row["is_on"]),
            reason=row["reason"],
            set_by=row["set_by"],
            set_at=from_us(row["set_at"]),
        )
        for row in tx.all(_LIST, for_org=tx.org)
    ]


def has_children(tx: Tx) -> bool:
    """Say whether any session of the org was started by another."""
    return tx.one(_ANY_CHILD, for_org=tx.org) is not None


def list_orgs(tx: Tx) -> list[str]:
    """Return every org that this gateway has ever served; in the scope of all orgs."""
    return [row["org"] for row in tx.all(_ORGS)]


def put_switch(tx: Tx, name: str, *, agent: str, tool: str = "", is_on: bool, reason: str | None, by: str) -> Switch:
    """Flip a switch now and return it."""
    now = tx.now()
    tx.write(_DROP, for_org=tx.org, of_name=name, of_agent=agent, of_tool=tool)
    tx.write(
        _PUT,
        org=tx.org,
        name=name,
        agent=agent,
        tool=tool,
        is_on=int(is_on),
        reason=reason,
        set_by=by,
        set_at=to_us(now),
    )
    return Switch(name=name, agent=agent, tool=tool, is_on=is_on, reason=reason, set_by=by, set_at=now)
