"""What a pause stops, and what is said of it: people have stopped a tool, an agent or an org until people lift it.

A tool is stopped under every name that runtimes have for it, and `*` in a name stands for any characters, as in rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.call.name_pattern import NamePattern
from app.domain.call.switch import PAUSE
from assent.hooks.contract.tool_names import canonical_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.domain.call.switch import Switch

PAUSED = "paused"
"""Stands where a rule's id stands, in answers and in the trail."""
_LONGEST_REASON = 200
"""Agents' runtimes quote 500 characters: what the model must not do has to be among them."""


def pauses_of(listed: Iterable[Switch]) -> tuple[Switch, ...]:
    """Return the pauses that are on."""
    return tuple(switch for switch in listed if switch.name == PAUSE and switch.is_on)


def first_binding(pauses: Iterable[Switch], agents: Iterable[str], tool: str) -> Switch | None:
    """Return the pause that stops a call of `tool` for any of `agents`, the widest one if several do.

    `agents` are the agent's own name, and those that bind it besides.
    """
    names = tuple(agents)
    found = (pause for pause in pauses if _binds(pause, names, tool))
    return min(found, key=lambda pause: (bool(pause.agent) + bool(pause.tool), pause.agent, pause.tool), default=None)


def scope_of(pause: Switch) -> str:
    """Name what is paused."""
    match pause.agent, pause.tool:
        case "", "":
            return "everything"
        case agent, "":
            return f"the agent {agent}"
        case "", tool:
            return f"the tool {tool}"
        case agent, tool:
            return f"the tool {tool} of the agent {agent}"


def told(pause: Switch) -> str:
    """Tell the model that nothing ran, and that only people end it; it is not told who they are."""
    scope = scope_of(pause)
    why = " ".join((pause.reason or "").split())
    why = why if len(why) <= _LONGEST_REASON else why[: _LONGEST_REASON - 1] + "…"
    return (
        f"{scope[0].upper()}{scope[1:]} is paused since {pause.set_at:%Y-%m-%d %H:%M:%S} UTC"
        f"{f' ({why})' if why else ''}. Nothing was run. Only people can lift a pause: do not call it again, in any "
        "form, until they say that it is lifted."
    )


def _binds(pause: Switch, agents: tuple[str, ...], tool: str) -> bool:
    of_agent = not pause.agent or any(map(NamePattern(pause.agent).matches, agents))
    return of_agent and (not pause.tool or _stands_for(pause.tool, tool))


def _stands_for(pattern: str, tool: str) -> bool:
    named = NamePattern(pattern)
    return named.matches(tool) or named.matches(canonical_name(tool)) or canonical_name(pattern) == canonical_name(tool)
