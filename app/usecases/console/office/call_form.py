"""A form drawn from a tool's schema, and a call read from it again: whoever tries rules need not write JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.call.tool_call import ToolCall
from app.domain.errors import BadJsonError, InvalidError
from app.domain.text.canonical import parse_json
from app.domain.text.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.call.tool import Tool
    from app.domain.rules.policy import Policy
    from app.domain.text.canonical import JsonValue

MOST_FIELDS = 24
"""Arguments that have a field of their own; the others are written as JSON."""

MORE = "more"
_ARG = "arg."
_NUMBERS = frozenset({"integer", "number"})
_MOST_CHOICES = 50


class Asked(Struct, frozen=True, kw_only=True):
    """One field: `kind` is text, number, boolean, choice or json; `choices` are those of a choice."""

    name: str
    label: str
    kind: str
    needed: bool = False
    choices: tuple[str, ...] = ()


def fields_for(tool: Tool, language: str) -> tuple[Asked, ...]:
    """Return a field for each argument that the schema names; without a schema, for each that is shown first."""
    labels = tool.labels.get(language, {})
    schema = tool.schema or {}
    properties, required = schema.get("properties"), schema.get("required")
    needed = {str(name) for name in required} if isinstance(required, list) else set[str]()
    if not isinstance(properties, dict):
        plain = [path for path in tool.pin if "." not in path][:MOST_FIELDS]
        return tuple(Asked(name=_ARG + name, label=labels.get(name, name), kind="text") for name in plain)
    return tuple(
        _asked(name, labels.get(name, visible(name)), rule, needed=name in needed)
        for name, rule in list(properties.items())[:MOST_FIELDS]
    )


def _asked(name: str, label: str, rule: JsonValue, *, needed: bool) -> Asked:
    said = rule if isinstance(rule, dict) else {}
    kind, choices = said.get("type"), said.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= _MOST_CHOICES:
        words = tuple(json.dumps(each, ensure_ascii=False) for each in choices)
        return Asked(name=_ARG + name, label=label, kind="choice", needed=needed, choices=words)
    if kind == "string":
        return Asked(name=_ARG + name, label=label, kind="text", needed=needed)
    if kind == "boolean":
        return Asked(name=_ARG + name, label=label, kind="choice", needed=needed, choices=("true", "false"))
    return Asked(name=_ARG + name, label=label, kind="number" if kind in _NUMBERS else "json", needed=needed)


def call_in(form: Mapping[str, str], tool: Tool, policy: Policy, language: str) -> ToolCall:
    """Return the call that a filled form says. Raises InvalidError, its `path` the label of what cannot be read."""
    more = form.get(MORE, "").strip()
    arguments = _object(more) if more else {}
    for asked in fields_for(tool, language):
        given = form.get(asked.name, "")
        if given.strip():
            arguments[asked.name.removeprefix(_ARG)] = given if asked.kind == "text" else _json(given, asked.label)
    return ToolCall(
        org=policy.org,
        agent=form.get("agent", "").strip(),
        session=None,
        call_id=None,
        tool=tool.name,
        arguments=arguments,
        requester=form.get("requester", "").strip() or None,
        owner=None,
        claim=None,
    )


def _object(text: str) -> dict[str, JsonValue]:
    value = _json(text, MORE)
    if not isinstance(value, dict):
        raise InvalidError("must be an object", path=MORE)
    return value


def _json(text: str, what: str) -> JsonValue:
    try:
        return parse_json(text.strip().encode())
    except BadJsonError as error:
        raise InvalidError(error.detail, path=what) from None
