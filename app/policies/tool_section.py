"""The tools of the file: titles that can be filled, nothing sensitive in sight, schemas that are schemas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.domain.tool import Tool, schema_fault, title_fields
from app.policies.entries import read_entry, section
from app.policies.faults import near
from app.policies.file_models import ToolEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.canonical import JsonValue
    from app.policies.yaml_marks import MarkedYaml, Path

_NAME = re.compile(r"[^\s*]{1,200}")
_PLACES = re.compile(r"\{[A-Za-z_][A-Za-z0-9_.-]*\}")


def read_tools(marked: MarkedYaml) -> dict[str, Tool]:
    """Return the tools. One with a fault stays as its bare name, so that rules may name it."""
    tools: dict[str, Tool] = {}
    for name, raw in section(marked, "tools").items():
        path: Path = ("tools", name)
        if not _NAME.fullmatch(name):
            marked.report(path, "a tool's name has no spaces and no *")
        entry = read_entry(marked, path, {} if raw is None else raw, ToolEntry)
        tools[name] = _tool(marked, path, name, entry) if entry else Tool(name=name)
    return tools


def closed_names(schema: Mapping[str, JsonValue] | None) -> Sequence[str] | None:
    """Return the argument names of a schema that allows no others; None if it allows others."""
    if schema is None or schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return None
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def _tool(marked: MarkedYaml, path: Path, name: str, entry: ToolEntry) -> Tool:
    tool = Tool(
        name=name,
        title=entry.title,
        pin=tuple(entry.pin),
        sensitive=tuple(entry.sensitive),
        money=tuple(entry.money),
        schema=entry.arguments,
        writes=entry.writes,
        requires_confirmation=entry.requires_confirmation,
    )
    if entry.arguments is not None and (why := schema_fault(entry.arguments)):
        marked.report((*path, "schema"), why)
    title = entry.title or ""
    if re.search(r"[{}]", _PLACES.sub("", title)):
        marked.report((*path, "title"), "has a brace that is no field", "fields are written {payee} or {payee.name}")
    for field in title_fields(title):
        if tool.hides(field):
            marked.report((*path, "title"), f'shows "{field}", which is sensitive')
        _refuse_unknown(marked, (*path, "title"), field, tool)
    for index, field in enumerate(entry.pin):
        if tool.hides(field):
            marked.report((*path, "pin", index), f'shows "{field}", which is sensitive')
    for key, fields in (("pin", entry.pin), ("sensitive", entry.sensitive), ("money", entry.money)):
        for index, field in enumerate(fields):
            _refuse_unknown(marked, (*path, key, index), field, tool)
    return tool


def _refuse_unknown(marked: MarkedYaml, path: Path, field: str, tool: Tool) -> None:
    known = closed_names(tool.schema)
    first = field.split(".", maxsplit=1)[0]
    if known is not None and first not in known:
        marked.report(path, f'the schema has no argument "{first}"', near(first, known, what="arguments"))
