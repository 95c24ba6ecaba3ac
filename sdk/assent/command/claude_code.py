"""Claude Code's dialect: its event on stdin, its answer on stdout.

Only `allow` and `deny` are ever said, each with a reason: `ask` and `defer` mean other things to other hosts that read
the same settings, and plain text or an empty answer means "no opinion", which lets the tool run.
"""

from __future__ import annotations

import json

from assent.command.faults import HookError
from assent.command.shapes import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_LONGEST_WORDS = 4_000  # of the gateway
LONGEST_REASON = 9_000  # Claude Code cuts strings at 10,000


class Event:
    """One moment of a tool call: `arguments` is the tool's input, `raw` the whole event."""

    __slots__ = ("arguments", "call_id", "moment", "raw", "session", "tool")

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.moment = _text(raw, "hook_event_name")
        self.session = _text(raw, "session_id")
        self.tool = _text(raw, "tool_name")
        call_id = raw.get("tool_use_id")
        self.call_id = call_id if isinstance(call_id, str) and call_id else None
        arguments = as_object(raw.get("tool_input"))
        if arguments is None:
            raise HookError("the event has no object in 'tool_input'")
        self.arguments = arguments

    def claim_id(self) -> str | None:
        """The claim of this very call, the same before and after the tool; None when the host gives calls no id."""
        if self.call_id is None:
            return None
        import hashlib

        return "clm_" + hashlib.sha256(f"{self.session}\n{self.call_id}".encode()).hexdigest()

    def words(self) -> str | None:
        """The agent's own description of the call, for the approver."""
        words = self.arguments.get("description")
        return words[:_LONGEST_WORDS] if isinstance(words, str) else None


def _text(raw: dict[str, Any], key: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value:
        raise HookError(f"the event has no text in '{key}'")
    return value


def parse_event(content: bytes) -> Event:
    """The event, strictly: what JSON does not allow could be judged as one thing and run as another."""
    try:
        raw = as_object(json.loads(content.decode(), object_pairs_hook=_unique, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise HookError(f"the event is not JSON: {error}") from error
    if raw is None:
        raise HookError("the event is no JSON object")
    return Event(raw)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def plain(value: object) -> str:
    """Arguments, or a result, as a model reads them: JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two argument objects are the same JSON (True is not 1)."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def render_allow(reason: str, *, replaced: dict[str, Any] | None = None, context: Sequence[str] = ()) -> bytes:
    """The tool may run; `replaced` are the arguments to run it with, `context` what the model is told besides."""
    more: dict[str, Any] = {} if replaced is None else {"updatedInput": replaced}
    if context:
        more["additionalContext"] = "\n".join(context)[:LONGEST_REASON]
    return _render("allow", reason, more)


def render_deny(reason: str) -> bytes:
    """The tool may not run; the reason reaches the model."""
    return _render("deny", reason, {})


def _render(decision: str, reason: str, more: dict[str, Any]) -> bytes:
    answer = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason[:LONGEST_REASON],
        **more,
    }
    return json.dumps({"hookSpecificOutput": answer}, allow_nan=False).encode() + b"\n"
