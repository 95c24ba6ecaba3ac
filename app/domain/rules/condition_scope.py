"""What conditions see of a call, and how the record tells it: the values that tripped a rule."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, cast

from app.domain.rules.condition import scope_of
from app.domain.text.masking import HIDDEN
from app.domain.text.paths import text_of, values_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from app.domain.call.tool import Tool
    from app.domain.call.tool_call import ToolCall
    from app.domain.people.working_time import WorkingTime
    from app.domain.rules.condition import Condition, Scope
    from app.domain.text.canonical import JsonValue

_LONGEST_VALUE = 200


def facts_of(tool: Tool, *, known: bool) -> dict[str, object]:
    """Return what conditions see of a tool: what the file declares. One that may write counts as writing."""
    return {
        "name": tool.name,
        "known": known,
        "writes": tool.writes is not False,
        "requires_confirmation": tool.requires_confirmation,
        "money": list(tool.money),
        "pin": list(tool.pin),
        "sensitive": list(tool.sensitive),
    }


def look(tool: Tool, call: ToolCall, now: datetime, *, known: bool, zone: tzinfo, hours: WorkingTime | None) -> Scope:
    """Return what conditions see of a call at an instant; `known`: the file has the tool, and `zone` and `hours`."""
    return scope_of(
        arguments=call.arguments,
        agent=call.agent,
        user=call.requester,
        session=call.session,
        tool=lambda: facts_of(tool, known=known),
        now=now,
        zone=zone,
        hours=hours,
    )


def values_seen(condition: Condition, tool: Tool, call: ToolCall, scope: Scope) -> tuple[tuple[str, str], ...]:
    """Return what a condition names, each with its value as people read it; sensitive arguments are hidden."""
    key = (condition.reads, condition.sees)
    told = scope.told.get(key)
    if told is None:
        named = [seen for path in condition.reads for seen in _shown(path, tool, call)]
        named += [(name, _seen(name, scope)) for name in condition.sees]
        told = scope.told[key] = tuple(named)
    return told


def _seen(name: str, scope: Scope) -> str:
    """Write a variable other than the arguments for people."""
    if name.startswith("tool."):
        facts = cast("Mapping[str, JsonValue]", scope.value("tool"))
        return text_of(facts.get(name.removeprefix("tool.")))[:_LONGEST_VALUE]
    value = scope.value(name)
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return text_of(cast("JsonValue", value))[:_LONGEST_VALUE]


def _shown(path: str, tool: Tool, call: ToolCall) -> list[tuple[str, str]]:
    hidden = bool(tool.sensitive) and tool.hides(path)
    if "." not in path:  # the plain case, kept fast: this runs for every condition of every call
        if path not in call.arguments:
            return []
        return [(path, HIDDEN if hidden else text_of(call.arguments[path])[:_LONGEST_VALUE])]
    return [
        (at, HIDDEN if hidden else text_of(value)[:_LONGEST_VALUE]) for at, value in values_at(call.arguments, path)
    ]
