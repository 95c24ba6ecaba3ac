"""Everything that reads an agent's text, each as a function of one text. A refusal is an answer as well."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.domain.call.exhibit import MOST_OF_A_FILE, read_evidence
from app.domain.call.tool import Tool, check_arguments, title_for
from app.domain.call.tool_call import ToolCall, near_key
from app.domain.errors import AssentError
from app.domain.request.redact import scrubbed
from app.domain.rules.condition import ConditionFailedError, compile_condition, scope_of
from app.domain.text.canonical import MAX_VALUES, canonical, parse_json
from app.domain.text.lookalike import find_lookalikes
from app.domain.text.visible import visible, visible_value
from assent.guards.command_guard import CommandGuard
from assent.guards.path_guard import PathGuard
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from assent.hooks.ready.redact import redact
from assent.shell.reading import reader
from assent.shell.reading.reader import read_script
from tests.domain.exhibit_files import a_file, a_link, jpeg, png

if TYPE_CHECKING:
    from collections.abc import Callable

_NOW = datetime(2026, 11, 22, tzinfo=UTC)
_COMMANDS, _PATHS = CommandGuard(), PathGuard()
_LIST = {
    "type": "array",
    "uniqueItems": True,
    "items": {"anyOf": [{"type": "string", "pattern": "^([A-Za-z0-9]+[- ]?)+$"}, {"$ref": "#/$defs/list"}, {}]},
}
_SCHEMA: dict[str, Any] = {
    "$defs": {"list": _LIST},
    "type": "object",
    "properties": {"text": {"type": "string", "pattern": "^([A-Za-z0-9]+[- ]?)+$"}, "items": {"$ref": "#/$defs/list"}},
    "patternProperties": {"^(x+)+$": {"type": "string"}},
    "additionalProperties": {"anyOf": [{"type": "string"}, _LIST]},
}
_TOOL = Tool(name="t", title="Do {text} {items}", pin=("text",), sensitive=("secret",), schema=_SCHEMA)
_BARE = Tool(name="t", title="Do {text} {items}", pin=("text", "items"))
_CONDITIONS = [
    compile_condition(source)
    for source in (
        'args.text.matches("^([A-Za-z0-9]+[- ]?)+$")',
        "args.items.exists(x, args.items.exists(y, args.items.exists(z, x == y && y == z && z == args.text)))",
        "args.items.all(x, x in args.items)",
        "args.items.map(x, args.items).exists(y, y == args.items)",
    )
]


def _judged(guard: CommandGuard | PathGuard, tool: str, args: dict[str, Any]) -> None:
    ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=_NOW, tool_name=tool, args=args, cwd="/home/u/app")
    guard._judge(ctx)


def _as_list(text: str) -> list[Any]:
    return list(text)[: MAX_VALUES // 2]


def _as_json(text: str) -> None:
    parse_json(text.encode("utf-8", "replace"))
    parse_json(b"[" * 50 + b'{"a":' + text.encode("utf-8", "replace"))


def _as_value(text: str) -> None:
    value: Any = {"text": text, "items": _as_list(text)}
    for work in (canonical, visible_value, lambda v: redact(v, fields=["b"])):
        work(value)


def _as_call(text: str) -> None:
    arguments = {"text": text, "items": _as_list(text), "secret": text[:200]}
    call = ToolCall(
        org="o",
        agent="a",
        session=None,
        call_id=None,
        requester=None,
        owner=None,
        claim=None,
        tool="t",
        arguments=arguments,
    )
    check_arguments(_BARE, arguments)
    near_key(call, _BARE, ())
    title_for(_BARE, arguments)
    scrubbed(text, arguments, ("secret",))


def _as_conditions(text: str) -> None:
    arguments = {"text": text, "items": _as_list(text)}
    scope = scope_of(arguments=arguments, agent="a", user=None, session=None, tool="t", now=_NOW)
    for condition in _CONDITIONS:
        try:
            condition.holds(scope)
        except ConditionFailedError:
            continue


def _as_evidence(text: str) -> None:
    raw = text.encode("utf-8", "replace")
    files = [(b"%PDF-1.7\n", "application/pdf"), (png()[:-12], "image/png"), (jpeg()[:-2], "image/jpeg")]
    given = [a_file((begin + raw)[:MOST_OF_A_FILE], kind, text[:200] or "x") for begin, kind in files]
    given += [a_link(f"https://{text}", title=text[:200]), {**given[0], "content": text}]
    for each in given:
        try:
            read_evidence([each], told=str)
        except AssentError:
            continue


READERS: dict[str, Callable[[str], object]] = {
    "shell": read_script,
    "command guard": lambda text: _judged(_COMMANDS, "exec", {"command": text}),
    "command guard, words": lambda text: _judged(_COMMANDS, "exec", {"argv": text.split()[:MAX_VALUES]}),
    "command guard, statement": lambda text: _judged(_COMMANDS, "exec", {"argv": ["cloudctl", "-e", text]}),
    "command guard, verbs": lambda text: _judged(_COMMANDS, "exec", {"argv": ["cloudctl", *text.split()[:MAX_VALUES]]}),
    "command guard, sent": lambda text: _judged(
        _COMMANDS, "exec", {"argv": ["curl", "-X", "POST", f"https://x.io/{text}"]}
    ),
    "path guard, command": lambda text: _judged(_PATHS, "exec", {"command": text}),
    "path guard, path": lambda text: _judged(_PATHS, "read", {"path": text}),
    "path guard, paths": lambda text: _judged(_PATHS, "read", {"paths": text.split("a")[:MAX_VALUES]}),
    "path guard, glob": lambda text: _judged(_PATHS, "glob", {"pattern": text, "path": "/home/u"}),
    "path guard, patch": lambda text: _judged(_PATHS, "apply_patch", {"patch": text}),
    "redaction": redact,
    "look-alikes": lambda text: find_lookalikes(text, strict=True),
    "visible text": visible,
    "evidence": _as_evidence,
    "json": _as_json,
    "value": _as_value,
    "call": _as_call,
    "conditions": _as_conditions,
    "schema, text": lambda text: check_arguments(_TOOL, {"text": text}),
    "schema, list": lambda text: check_arguments(_TOOL, {"items": [[char] for char in _as_list(text)]}),
    "schema, members": lambda text: check_arguments(_TOOL, dict.fromkeys(text.split("a")[:MAX_VALUES], text[:50])),
}
"""By name. A new reader of agents' text is added here, and `make fuzz` looks for what it takes too long for."""


def read(name: str, text: str) -> None:
    """Let a reader read a text that it has not seen. Raises what is no refusal."""
    reader._read_short.cache_clear()
    reader._read_long.cache_clear()
    try:
        READERS[name](text)
    except AssentError:
        return
