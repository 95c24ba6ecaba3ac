"""`assent-hook doctor`: what would let a tool run unasked, or keep a good call from running."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from assent.command.exchange import exchange
from assent.command.faults import AwayError, HookError, RefusedError
from assent.command.identity import load_identity
from assent.command.options import LONGEST, Options
from assent.command.shapes import as_list, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

OLDEST_CLAUDE = (2, 1, 295)  # the first that honours onFailure: "block"
HOST_TIMEOUT = 600.0
LEAST_MARGIN = 10.0
LONGEST_MARGIN = 600.0


def examine(path: str | None, *, config: str | None) -> int:
    """Print every fault of an installation; 0 when there is none, else 1."""
    place = Path(path) if path else Path.home() / ".claude" / "settings.json"
    faults = [*_of_settings(place), *_of_gateway(config), *_of_claude()]
    for fault in faults:
        print(f"fault: {fault}")  # noqa: T201 - a command's output
    many = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    print(f"{place}: {many}" if faults else f"{place}: sound", flush=True)  # noqa: T201
    return 1 if faults else 0


def _of_settings(place: Path) -> Iterator[str]:
    try:
        settings = as_object(json.loads(place.read_bytes()))
    except FileNotFoundError:
        yield f"there is no {place}: put there what `assent-hook claude-code --print-settings` prints"
        return
    except (OSError, ValueError) as error:
        yield f"{place} cannot be read: {error}"
        return
    if settings is None:
        yield f"{place} holds no JSON object"
        return
    if settings.get("disableAllHooks"):
        yield "disableAllHooks is set: no hook runs at all"
    gates = list(_ours(settings, "PreToolUse"))
    if not gates:
        yield "no PreToolUse hook calls assent-hook; `assent-hook claude-code --print-settings` prints the lines"
    if gates and not any(matcher in {"*", "", None} for matcher, _ in gates):
        yield 'no PreToolUse entry has the matcher "*": tools outside the matchers run unasked'
    for _, hook in gates:
        yield from _of_gate(hook)
    for moment in ("PostToolUse", "PostToolUseFailure"):
        if gates and not any(_ours(settings, moment)):
            yield f"no {moment} hook calls assent-hook: outcomes stay unknown"


def _ours(settings: dict[str, Any], moment: str) -> Iterator[tuple[str | None, dict[str, Any]]]:
    hooks = as_object(settings.get("hooks")) or {}
    for entry in map(as_object, as_list(hooks.get(moment))):
        for hook in map(as_object, as_list((entry or {}).get("hooks"))):
            if entry and hook and any(name in str(hook.get("command")) for name in ("assent-hook", "hook_command.py")):
                yield entry.get("matcher"), hook


def _of_gate(hook: dict[str, Any]) -> Iterator[str]:
    if hook.get("type") != "command":
        yield f'the hook\'s type is {hook.get("type")!r}, not "command"'
    if hook.get("onFailure") != "block":
        yield 'onFailure is not "block": a hook that crashes or times out lets the tool run'
    for key in ("async", "asyncRewake", "if", "once"):
        if hook.get(key):
            yield f"'{key}' is set: the hook does not decide every call"
    words = shlex.split(str(hook.get("command")))
    yield from _of_command(words)
    try:
        options = Options(words[words.index("claude-code") + 1 :])
    except (HookError, ValueError) as error:
        yield f"the command line is not understood: {error}"
        return
    yield from _of_timeout(hook.get("timeout", HOST_TIMEOUT), options.deadline)


def _of_timeout(timeout: object, deadline: float) -> Iterator[str]:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST:
        yield f"the timeout {timeout!r} is not a number of seconds up to {LONGEST:.0f} (beyond, hosts time out at once)"
    elif timeout - deadline < LEAST_MARGIN:
        yield (
            f"the host's timeout of {timeout:g} s does not outlast the hook's deadline of {deadline:g} s "
            f"by {LEAST_MARGIN:g} s: it would end the hook first"
        )
    elif timeout - deadline > LONGEST_MARGIN:
        yield (
            f"the hook's deadline of {deadline:g} s gives up long before the host's timeout of {timeout:g} s: "
            f"set --deadline {timeout - 15:g}"
        )


def _of_command(words: list[str]) -> Iterator[str]:
    if not words or shutil.which(words[0]) is None:
        yield f"the command {words[0] if words else ''!r} is not found or not executable"
    for word in words[1:]:
        if word.endswith("hook_command.py") and not os.access(word, os.R_OK):
            yield f"{word} cannot be read"


def _of_gateway(config: str | None) -> Iterator[str]:
    try:
        identity = load_identity(config)
        if not identity.secure and identity.host not in {"127.0.0.1", "::1", "localhost"}:
            yield f"the key goes to {identity.host} in clear text: use https"
        exchange(identity, "GET", "/v1/requests?open=true&limit=1", within=10.0)
    except HookError as error:
        yield str(error)
    except RefusedError as refused:
        yield (
            f"the gateway refuses the key: {refused}"
            if refused.status in {401, 403}
            else f"the gateway does not serve this agent: {refused}"
        )
    except AwayError as away:
        yield f"the gateway does not answer: {away}"


def _of_claude() -> Iterator[str]:
    program = shutil.which("claude")
    if program is None:
        yield "claude is not found"
        return
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout  # noqa: S603 - found on PATH
    except (OSError, subprocess.TimeoutExpired) as error:
        yield f"claude --version fails: {error}"
        return
    version = re.match(r"(\d+)\.(\d+)\.(\d+)", told)
    if version is None:
        yield f"claude --version says {told.strip()!r}"
    elif tuple(int(part) for part in version.groups()) < OLDEST_CLAUDE:
        yield f"Claude Code {version[0]} ignores onFailure; it takes {'.'.join(map(str, OLDEST_CLAUDE))} or newer"
