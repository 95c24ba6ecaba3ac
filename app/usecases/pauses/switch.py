"""Flip a switch of an org, of one agent or of one tool while everything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.call.switch import PAUSE, READ_ONLY, Switch
from app.domain.trail.audit import Kind, Record
from app.storage.sessions.switches import list_switches, put_switch
from assent.hooks.ready.read_only import Switch as GuardSwitch

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


class Switches:
    """Sets and lists; at every call `LookUp` knows how they stand."""

    def __init__(self, *, store: Store, flipped: Callable[[str], None] | None = None) -> None:
        """`flipped` is told the org of each switch that was set here."""
        self._store = store
        self._flipped = flipped

    async def set_read_only(
        self, org: str, *, on: bool, agent: str | None = None, reason: str | None = None, by: str
    ) -> Switch:
        """Switch an org (or only one of its agents) to read-only, or back. `by` stands in the trail and in denials."""
        return await self._set(org, READ_ONLY, on=on, agent=agent or "", tool="", reason=reason, by=by)

    async def set_pause(
        self,
        org: str,
        *,
        on: bool,
        agent: str | None = None,
        tool: str | None = None,
        reason: str | None = None,
        by: str,
    ) -> Switch:
        """Pause an org, or only an agent, a tool, or a tool of an agent; or lift exactly that pause again.

        From the commit on no approval is handed out (`Claim` reads it in its own transaction), and within half a
        second every other replica refuses the calls. What runs already goes on.
        """
        return await self._set(org, PAUSE, on=on, agent=agent or "", tool=tool or "", reason=reason, by=by)

    async def _set(
        self, org: str, name: str, *, on: bool, agent: str, tool: str, reason: str | None, by: str
    ) -> Switch:
        facts = {"switch": name, "state": "on" if on else "off", "agent": agent or "every agent"}
        facts |= {"tool": tool} if tool else {}

        def unit(tx: Tx) -> Switch:
            why = reason or (_reason_of(tx, name, agent, tool) if on else None)
            switch = put_switch(tx, name, agent=agent, tool=tool, is_on=on, reason=why, by=by)
            tx.append(Record(kind=Kind.SWITCH_SET, actor=by, facts={**facts, "reason": why}))
            return switch

        switch = await self._store.write(unit, org=org)
        if self._flipped is not None:
            self._flipped(org)
        return switch

    async def list(self, org: str) -> list[Switch]:
        """Return the org's switches that were ever touched, as they stand."""
        return await self._store.read(list_switches, org=org)


def _reason_of(tx: Tx, name: str, agent: str, tool: str) -> str | None:
    """Return why a switch is on already: set again without a reason (``--deny-waiting``), it keeps the one it has."""
    of_this = (name, agent, tool)
    standing = (each for each in list_switches(tx) if each.is_on and (each.name, each.agent, each.tool) == of_this)
    return next((each.reason for each in standing), None)


def as_guard_sees(switch: Switch | None) -> GuardSwitch:
    """Return the switch in the words of the engine's read-only guard, which tells the model who set it and when."""
    if switch is None:
        return GuardSwitch(on=False)
    whose = f" for the agent {switch.agent}" if switch.agent else ""
    why = f" ({switch.reason})" if switch.reason else ""
    return GuardSwitch(on=True, by=f"{switch.set_by}{whose}{why}", at=switch.set_at)
