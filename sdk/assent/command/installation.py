"""The lines for a host's settings: what `--print-settings` writes."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TIMEOUT = 86_400
DEADLINE = TIMEOUT - 15
REPORT_TIMEOUT = 30


def hook_words() -> list[str]:
    """The fast way to start the hook: the file by its path, by this interpreter, without site-packages."""
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve().parents[1] / "hook_command.py")]


def settings(*, config: str | None) -> dict[str, Any]:
    """The `hooks` for Claude Code's settings.json: each call is asked about, for up to a day, and faults block it."""
    more = [] if config is None else ["--config", config]
    gate = shlex.join([*hook_words(), "claude-code", "--deadline", str(DEADLINE), *more])
    tell = shlex.join([*hook_words(), "claude-code", *more])
    after = {"matcher": "*", "hooks": [{"type": "command", "command": tell, "timeout": REPORT_TIMEOUT}]}
    before = {"matcher": "*", "hooks": [{"type": "command", "command": gate, "timeout": TIMEOUT, "onFailure": "block"}]}
    return {"hooks": {"PreToolUse": [before], "PostToolUse": [after], "PostToolUseFailure": [after]}}


def print_settings(*, config: str | None) -> int:
    """Write the lines to stdout. `--config`, when given, becomes part of the command."""
    path = config if config is None or config == "env" else str(Path(config).resolve())
    print(json.dumps(settings(config=path), indent=2), flush=True)  # noqa: T201 - a command's output
    return 0
