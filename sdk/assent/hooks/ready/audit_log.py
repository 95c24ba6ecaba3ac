"""`AuditLog`: every call that ran, as one record: whose, what, how long, and digests of what went in and came out.

    hooks.add(AuditLog(path="/var/log/assent/calls.jsonl"))     # successes, and with them failures

It runs after all other hooks, so the result is the one that the model sees. A digest is the SHA-256 of the canonical
JSON (RFC 8785): whoever has the arguments can prove that they are the ones, and nobody can read them from the log.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import anyio.to_thread

from assent.hooks.contract.hook import LOGGING, OnError, PostToolUseFailureHook, PostToolUseHook
from assent.hooks.ready.off_loop import off_loop
from assent.hooks.ready.redact import checked_fields, redact

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.verdicts import HookResult

REQUEST_ID = "assent.request_id"
"""Where `ctx.metadata` may carry the id of the request that people approved."""

Sink: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[object] | object]
"""Takes one record; plain or asynchronous. What it raises is a fault of the hook, which disturbs nobody."""

_log = logging.getLogger("assent.audit")
_LONGEST_ERROR = 500


def to_logger(record: Mapping[str, Any]) -> None:
    """Write a record as one line of JSON to the logger `assent.audit`, at the level INFO."""
    _log.info("%s", json.dumps(record))


class JsonLines:
    """Appends each record to a file as one line of JSON; the file is opened anew each time, so it may be rotated."""

    def __init__(self, path: str) -> None:
        """Raises ValueError where no file can be."""
        self._path = Path(path)
        if not path or not self._path.parent.is_dir() or self._path.is_dir():
            raise ValueError(f"path: {path!r} is no file in an existing folder; make the folder, or name another file")

    async def __call__(self, record: Mapping[str, Any]) -> None:
        """Append a record. Raises OSError."""
        await anyio.to_thread.run_sync(self._append, json.dumps(record).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while line:  # nearly always at once: the lines of several processes then do not mix
                line = line[os.write(file, line) :]
        finally:
            os.close(file)


class _Records:
    """What the two hooks share: the options, and the making of a record."""

    def __init__(self, *, path: str | None, sink: Sink | None, arguments: bool, fields: Sequence[str]) -> None:
        if path is not None and sink is not None:
            raise ValueError("path, sink: give one of them")
        if not isinstance(arguments, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
            raise ValueError(f"arguments: give true or false, not {arguments!r}")  # noqa: TRY004 - as all bad options
        self._sink = JsonLines(path) if path is not None else sink or to_logger
        self._arguments = arguments
        self._fields = checked_fields(fields)

    async def write(self, ctx: HookContext, outcome: str) -> None:
        record: dict[str, Any] = {
            "time": ctx.timestamp.isoformat(),
            "org": ctx.org,
            "agent": ctx.agent,
            "session": ctx.session,
            "user": ctx.user,
            "tool": ctx.tool_name,
            "called_as": ctx.called_as,
            "call_id": ctx.call_id,
            "outcome": outcome,
            "duration": ctx.duration,
            "args_sha256": await off_loop(digest, ctx.args),
            "result_sha256": await off_loop(digest, ctx.result),
            "request_id": ctx.request_id or ctx.metadata.get(REQUEST_ID),
        }
        if ctx.error:
            record["error"] = redact(ctx.error[:_LONGEST_ERROR], fields=self._fields)[0]
        if self._arguments:
            record["args"] = await off_loop(lambda args: _json(redact(args, fields=self._fields)[0]), ctx.args)
        written = self._sink(record)
        if inspect.isawaitable(written):
            await written


class AuditLog(PostToolUseHook):
    """Records every call that succeeded; its `sibling` those that failed, in the same place.

    `path` appends lines of JSON to a file, `sink` takes the records itself; with neither they go to the logger
    `assent.audit`. Arguments are recorded only with `arguments`, and then redacted (`fields` as for `redact`).
    """

    name = "audit-log"
    description = "records every call"
    priority = LOGGING
    on_error = OnError.ALLOW

    def __init__(
        self,
        *,
        path: str | None = None,
        sink: Sink | None = None,
        arguments: bool = False,
        fields: Sequence[str] = (),
    ) -> None:
        self._records = _Records(path=path, sink=sink, arguments=arguments, fields=fields)
        self.sibling = AuditLogFailure(path=path, sink=sink, arguments=arguments, fields=fields)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Record the call. No opinion."""
        await self._records.write(ctx, "succeeded")


class AuditLogFailure(PostToolUseFailureHook):
    """Records every call that failed; `AuditLog` brings it along."""

    name = "audit-log-failure"
    description = "records every failed call"
    priority = LOGGING
    on_error = OnError.ALLOW

    def __init__(
        self,
        *,
        path: str | None = None,
        sink: Sink | None = None,
        arguments: bool = False,
        fields: Sequence[str] = (),
    ) -> None:
        self._records = _Records(path=path, sink=sink, arguments=arguments, fields=fields)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Record the call. No opinion."""
        await self._records.write(ctx, "failed")


# --- canonical JSON ---------------------------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Return the SHA-256 of the value's canonical JSON (RFC 8785), as 64 hexadecimal digits. Never raises.

    What JSON cannot say stands there as its text; halves of surrogate pairs as three bytes each.
    """
    try:
        text = _canonical(value)
    except RecursionError:
        text = json.dumps(type(value).__name__)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> str:
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(int(value))
        case float():
            return _number(value)
        case Mapping():
            members = {str(key): member for key, member in cast("Mapping[object, Any]", value).items()}
            ordered = sorted(members.items(), key=lambda each: each[0].encode("utf-16-be", "surrogatepass"))
            return (
                "{"
                + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_canonical(each)}" for key, each in ordered)
                + "}"
            )
        case list() | tuple():
            return "[" + ",".join(_canonical(each) for each in cast("Sequence[Any]", value)) + "]"
        case _:
            return json.dumps(_shown(value), ensure_ascii=False)


def _number(value: float) -> str:
    """A number as ECMAScript writes it: Python finds the same digits, and sets them differently."""
    if not math.isfinite(value):
        return json.dumps(str(value))
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if len(text) <= point <= 21:
        text = text + "0" * (point - len(text))
    elif 0 < point <= 21:
        text = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{text}"
    else:
        text = f"{text[0]}{'.' if len(text) > 1 else ''}{text[1:]}e{point - 1:+d}"
    return f"-{text}" if sign else text


def _shown(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign object's own; the record of the call must not fail on it
        return type(value).__name__


def _json(value: Any) -> Any:
    """Return the value as JSON can say it."""
    return json.loads(json.dumps(value, default=_as_json))


def _as_json(value: object) -> object:
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else _shown(value)
