"""The tools of the file: titles that can be filled, nothing sensitive in sight, schemas that are schemas."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from app.domain.call.schema import schema_fault
from app.domain.call.tool import PLACE, Tool, title_fields
from app.domain.text.language import Language
from app.policies.marks.entries import read_entry, section
from app.policies.marks.faults import near
from app.policies.marks.schema_paths import closed_names
from app.policies.models.file_models import ToolEntry
from app.policies.sections.tool_payment import read_payment, shown_paths
from assent.hooks.contract.presets import PRESETS, Does

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from assent.hooks.contract.presets import Preset

_NAME = re.compile(r"[^\s*]{1,200}")
_APART = frozenset(
    {
        *("title", "labels", "pin", "sensitive", "money", "payee", "result"),
        *("requires_confirmation", "irreversible", "enforced", "schema"),
    }
)
"""On what nothing else rests: all but whether it pays."""
_PAYS: dict[str, JsonValue] = {"payment": {"amount": "amount", "currency": "currency", "payee": "payee"}}
"""What stands in for a payment that is at fault: whatever is about payments of the tool is looked at all the same."""
_LANGUAGES = tuple(language.value for language in Language)
_SECRET = re.compile(r"secret|token|password|passwd|authorization|api_?key|credential", re.IGNORECASE)


def read_presets(marked: MarkedYaml, names: Sequence[str]) -> tuple[Preset, ...]:
    """Return the tool lists of the programs that the file uses."""
    for index, name in enumerate(names):
        if name not in PRESETS:
            marked.report(("use", index), f'there is no preset "{name}"', near(name, PRESETS, what="presets"))
        elif name in names[:index]:
            marked.report(("use", index), f'"{name}" again')
    return tuple(PRESETS[name] for name in names if name in PRESETS)


def read_tools(marked: MarkedYaml, presets: Sequence[Preset] = ()) -> dict[str, Tool]:
    """Return the tools. One with a fault stays as its bare name, so that rules may name it.

    Of a tool that presets have, the file's own entry says all but what it leaves out: whether it writes. Where presets
    differ, it does.
    """
    tools = _brought_along(presets)
    for name, raw in section(marked, "tools").items():
        path: Path = ("tools", name)
        if not _NAME.fullmatch(name):
            marked.report(path, "a tool's name has no spaces and no *")
        entry = read_entry(marked, path, {} if raw is None else raw, ToolEntry, apart=_APART, instead=_PAYS)
        own = _tool(marked, path, name, entry) if entry else Tool(name=name)
        brought = tools.get(name)
        tools[name] = replace(own, writes=brought.writes) if brought and own.writes is None else own
    return tools


def _brought_along(presets: Sequence[Preset]) -> dict[str, Tool]:
    done = [(name, does) for preset in presets for name, does in preset.tools.items()]
    return {name: Tool(name=name, writes=any(d is not Does.READS for n, d in done if n == name)) for name, _ in done}


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
        irreversible=entry.irreversible,
        enforced=entry.enforced,
        result=tuple(entry.result),
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
    _refuse_secret_results(marked, (*path, "result"), tool)
    tool = _with_payment(marked, (*path, "payment"), entry, tool)
    _refuse_labels(marked, (*path, "labels"), tool)
    return tool


def _with_payment(marked: MarkedYaml, path: Path, entry: ToolEntry, tool: Tool) -> Tool:
    """Return the tool with its payments: what an approval of them is bound to is shown first, and exact."""
    fields = read_payment(marked, path, entry.payment, tool)
    if fields is None:
        return tool
    return replace(
        tool,
        payment=fields,
        pin=tuple(dict.fromkeys((*shown_paths(fields, tool), *tool.pin))),
        money=tuple(dict.fromkeys((fields.amount, *tool.money))),
        payee=tuple(dict.fromkeys((fields.payee, *tool.payee))),
    )


def _refuse_secret_results(marked: MarkedYaml, path: Path, tool: Tool) -> None:
    for index, field in enumerate(tool.result):
        if tool.hides(field):
            marked.report((*path, index), f'shows "{field}", which is sensitive')
        elif _SECRET.search(field):
            marked.report((*path, index), f'"{field}" is called like a secret, and people would see it')
        elif field in tool.result[:index]:
            marked.report((*path, index), f'"{field}" again')


def _refuse_title(marked: MarkedYaml, path: Path, title: str, tool: Tool) -> None:
    if re.search(r"[{}]", PLACE.sub("", title)):
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
