"""The tools of the file: titles that can be filled, nothing sensitive in sight, schemas that are schemas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from app.domain.card import Language
from app.domain.tool import Tool, schema_fault, title_fields
from app.policies.entries import read_entry, section
from app.policies.faults import near
from app.policies.file_models import ToolEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.canonical import JsonValue
    from app.policies.yaml_marks import MarkedYaml, Path

_NAME = re.compile(r"[^\s*]{1,200}")
_LANGUAGES = tuple(language.value for language in Language)
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
    titles = {} if entry.title is None or isinstance(entry.title, str) else dict(entry.title)
    tool = Tool(
        name=name,
        title=entry.title if isinstance(entry.title, str) else next(iter(titles.values()), None),
        pin=tuple(entry.pin),
        sensitive=tuple(entry.sensitive),
        money=tuple(entry.money),
        payee=tuple(entry.payee),
        titles=cast("dict[str, str]", titles),
        labels={
            field: dict.fromkeys(_LANGUAGES, label) if isinstance(label, str) else cast("dict[str, str]", label)
            for field, label in entry.labels.items()
        },
        schema=entry.arguments,
        writes=entry.writes,
        requires_confirmation=entry.requires_confirmation,
    )
    if entry.arguments is not None and (why := schema_fault(entry.arguments)):
        marked.report((*path, "schema"), why)
    for language, title in titles.items():
        _refuse_title(marked, (*path, "title", language), title, tool)
    if isinstance(entry.title, str):
        _refuse_title(marked, (*path, "title"), entry.title, tool)
    for key, fields in (("pin", entry.pin), ("payee", entry.payee)):
        for index, field in enumerate(fields):
            if tool.hides(field):
                marked.report((*path, key, index), f'shows "{field}", which is sensitive')
    lists = (("pin", entry.pin), ("sensitive", entry.sensitive), ("money", entry.money), ("payee", entry.payee))
    for key, fields in lists:
        for index, field in enumerate(fields):
            _refuse_unknown(marked, (*path, key, index), field, tool)
    _refuse_labels(marked, (*path, "labels"), tool)
    return tool


def _refuse_title(marked: MarkedYaml, path: Path, title: str, tool: Tool) -> None:
    if re.search(r"[{}]", _PLACES.sub("", title)):
        marked.report(path, "has a brace that is no field", "fields are written {payee} or {payee.name}")
    for field in title_fields(title):
        if tool.hides(field):
            marked.report(path, f'shows "{field}", which is sensitive')
        _refuse_unknown(marked, path, field, tool)


def _refuse_labels(marked: MarkedYaml, path: Path, tool: Tool) -> None:
    """Note labels of what does not exist, and two arguments of one name: who reads them could not tell them apart."""
    for field in tool.labels:
        _refuse_unknown(marked, (*path, field), field, tool)
    for language in _LANGUAGES:
        called: dict[str, str] = {}
        for field, labels in tool.labels.items():
            other = called.setdefault(labels.get(language, field), field)
            if other != field:
                marked.report((*path, field), f'is called like "{other}"')
        for field in (*tool.pin, *tool.money, *tool.payee):
            if field not in tool.labels and field in called:
                marked.report((*path, called[field]), f'is called like the argument "{field}"')


def _refuse_unknown(marked: MarkedYaml, path: Path, field: str, tool: Tool) -> None:
    known = closed_names(tool.schema)
    first = field.split(".", maxsplit=1)[0]
    if known is not None and first not in known:
        marked.report(path, f'the schema has no argument "{first}"', near(first, known, what="arguments"))
