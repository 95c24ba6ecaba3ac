"""A hook that is a command in any language: the event on its standard input, a verdict on its standard output.

The event is one JSON object. Where Claude Code's hooks have a name for something it is theirs, so that a script
written for them runs here as it is:

| key                                         | from `HookContext`              | at                                   |
| ------------------------------------------- | ------------------------------- | ------------------------------------ |
| hook_event_name, timestamp (ISO 8601)       | moment, timestamp               | every moment                         |
| session_id, parent_session_id, cwd          | session, parent_session, cwd    | every moment                         |
| agent, user, org, metadata                  | the same                        | every moment                         |
| tool_name (the runtime's own), tool_input   | called_as (or tool_name), args  | PreToolUse, PostToolUse, …Failure    |
| tool (the canonical name), tool_use_id      | tool_name, call_id              | PreToolUse, PostToolUse, …Failure    |
| asks, route, rejudging                      | the same                        | PreToolUse                           |
| tool_response                               | result                          | PostToolUse                          |
| error                                       | error                           | PostToolUseFailure                   |
| duration_ms (or null)                       | duration                        | PostToolUse, PostToolUseFailure      |
| prompt                                      | prompt                          | UserPromptSubmit                     |
| request                                     | request, as an object           | PreModelRequest                      |
| source (`startup`, `resume`)                | source (`new`, `resumed`)       | SessionStart                         |
| reason                                      | reason                          | SessionEnd                           |
| trigger, custom_instructions (null)         | reason                          | PreCompact                           |
| stop_hook_active, last_assistant_message    | sent_back, last_message         | Stop, SubagentStop                   |

How it ends is the verdict: exit 0 with one JSON object (`assent.hooks.commands.answer`), exit 0 without a word (no
opinion), exit 2 (blocks; its standard error is the reason). Anything else is a fault, and means what `on_error` says.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

from assent.hooks.commands.answer import blocked, parse_answer
from assent.hooks.commands.spawn import MOST_OUTPUT, Finished, Terms, TooMuchOutputError, environment, run
from assent.hooks.contract.hook import Hook
from assent.hooks.contract.moments import TOOL_MOMENTS, Moment
from assent.hooks.engine.checks import HookFaultError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.verdicts import HookResult

_BLOCKS = 2
_NOT_EXECUTABLE = 126
_NOT_FOUND = 127
_LONGEST_REASON = 10_000  # characters
_LONGEST_SAID = 200
_SOURCES = {"new": "startup", "resumed": "resume"}


class CommandHook(Hook):
    """Runs a shell line (a text), or a program with its arguments and no shell (a list), for every event.

    It runs in our own working directory (never in the agent's: the agent would choose the script), without our
    ASSENT_ variables and without those in `hidden`.
    """

    def __init__(
        self,
        moment: Moment,
        command: str | Sequence[str],
        *,
        name: str | None = None,
        description: str | None = None,
        hidden: Collection[str] = (),
        cwd: str | None = None,
        terms: Terms | None = None,
    ) -> None:
        """`hidden` are further names of the environment that the command must not see; `terms` bind it further."""
        words = (command,) if isinstance(command, str) else tuple(command)
        if not words or not words[0].strip():
            raise ValueError("the command is empty")
        if any("\0" in word for word in words):
            raise ValueError("the command has a zero byte in it")
        self.moment = moment  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue] - a command has no class of its own
        self.line = command if isinstance(command, str) else shlex.join(words)
        self.name = name or _short(self.line)
        self.description = description or f"runs {_short(self.line)}"
        self._argv = ("/bin/sh", "-c", command) if isinstance(command, str) else words
        self._hidden = frozenset(hidden)
        self._cwd = cwd
        self._terms = terms

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Run the command once. Raises HookFaultError for every end that is no verdict."""
        try:
            stdin = event_text(ctx).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise HookFaultError(f"the event cannot be written as JSON: {error}") from None
        passes = self._terms.passes if self._terms else None
        env = environment(os.environ, without=self._hidden, passes=passes)
        try:
            finished = await run(self._argv, stdin=stdin, env=env, cwd=self._cwd, terms=self._terms)
        except KeyError:
            raise HookFaultError("the account that commands are to run as is not there") from None
        except TooMuchOutputError:
            raise HookFaultError(f"the command wrote more than {MOST_OUTPUT >> 20} MiB and was stopped") from None
        except OSError as error:
            raise HookFaultError(f"the command cannot be started: {self._why_not(error)}") from None
        match finished.code:
            case 0:
                return parse_answer(finished.out, ctx)
            case 2:
                return blocked(finished.err.decode(errors="replace")[:_LONGEST_REASON], ctx)
            case _:
                raise HookFaultError(_ending(finished))

    def _why_not(self, error: OSError) -> str:
        program = self._argv[0]
        match error:
            case FileNotFoundError():
                return f"there is no program {program!r}" + (f", or no folder {self._cwd!r}" if self._cwd else "")
            case PermissionError():
                return f"{program!r} is not executable: chmod +x, or name its interpreter"
            case _:
                return f"{program!r}: {error.strerror or error}"


def event_text(ctx: HookContext) -> str:
    """Write what a hook sees as one line of JSON (the table above)."""
    event: dict[str, Any] = {
        "hook_event_name": ctx.moment.value,
        "session_id": ctx.session,
        "parent_session_id": ctx.parent_session,
        "agent": ctx.agent,
        "user": ctx.user,
        "org": ctx.org,
        "cwd": ctx.cwd,
        "timestamp": ctx.timestamp.isoformat(),
        "metadata": ctx.metadata,
    }
    if ctx.moment in TOOL_MOMENTS:
        event["tool_name"] = ctx.called_as or ctx.tool_name
        event["tool"] = ctx.tool_name
        event["tool_input"] = ctx.args
        event["tool_use_id"] = ctx.call_id
    return json.dumps({**event, **_special(ctx)}, default=_plain, allow_nan=False)


def _special(ctx: HookContext) -> dict[str, Any]:
    told: dict[str, Any]
    match ctx.moment:
        case Moment.SESSION_START:
            told = {"source": _SOURCES.get(ctx.source, ctx.source)}
        case Moment.USER_PROMPT_SUBMIT:
            told = {"prompt": ctx.prompt}
        case Moment.PRE_MODEL_REQUEST:
            told = {"request": ctx.request}
        case Moment.PRE_TOOL_USE:
            told = {"asks": ctx.asks, "route": ctx.route, "rejudging": ctx.rejudging}
        case Moment.POST_TOOL_USE:
            told = {"tool_response": ctx.result, "duration_ms": _milliseconds(ctx.duration)}
        case Moment.POST_TOOL_USE_FAILURE:
            told = {"error": ctx.error, "duration_ms": _milliseconds(ctx.duration)}
        case Moment.PRE_COMPACT:
            told = {"trigger": ctx.reason, "custom_instructions": None}
        case Moment.STOP | Moment.SUBAGENT_STOP:
            told = {"stop_hook_active": ctx.sent_back, "last_assistant_message": ctx.last_message}
        case Moment.SESSION_END:
            told = {"reason": ctx.reason}
    return told


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _plain(value: object) -> object:
    """Turn what JSON has no form for into what it has; a tool's result may be anything."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(map(str, cast("set[object]", value)))
    return str(value)


def _ending(finished: Finished) -> str:
    code = finished.code
    said = _last_line(finished.err)
    if code < 0:
        how = f"was ended by {_signal_name(-code)}"
    elif code == _NOT_EXECUTABLE:
        how = "ended with exit code 126: what it names is not executable (chmod +x, or name its interpreter)"
    elif code == _NOT_FOUND:
        how = "ended with exit code 127: what it names was not found"
    elif code > 128 and _is_signal(code - 128):
        how = f"ended with exit code {code}, a shell's word for a program that was ended by {_signal_name(code - 128)}"
    else:
        how = f"ended with exit code {code}, which is no verdict (0 and {_BLOCKS} are)"
    return f"the command {how}" + (f"; it said: {said}" if said else "")


def _is_signal(number: int) -> bool:
    return number in {each.value for each in signal.Signals}


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if _is_signal(number) else f"signal {number}"


def _last_line(err: bytes) -> str:
    lines = err[-4096:].decode(errors="replace").split("\n")
    return next((line.strip()[:_LONGEST_SAID] for line in reversed(lines) if line.strip()), "")


def _short(line: str) -> str:
    shown = " ".join(line.split())
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
