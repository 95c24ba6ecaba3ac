"""Runs the hook command as a host does: a real process, an event on stdin, an answer on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import assent
from tests.sdk.gateway_stub import KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

HOOK = Path(assent.__file__).parent / "hook_command.py"
BOUND = 10.0


def event(
    *,
    moment: str = "PreToolUse",
    session: str = "s-1",
    tool: str = "Bash",
    call_id: str = "toolu_1",
    arguments: dict[str, Any] | None = None,
    **more: Any,
) -> bytes:
    """A Claude Code event, as its program writes it."""
    return json.dumps(
        {
            "session_id": session,
            "transcript_path": "/tmp/t.jsonl",
            "cwd": "/tmp",
            "permission_mode": "bypassPermissions",
            "hook_event_name": moment,
            "tool_name": tool,
            "tool_input": {"command": "touch marker"} if arguments is None else arguments,
            "tool_use_id": call_id,
            **more,
        }
    ).encode()


@dataclass(frozen=True, kw_only=True)
class Said:
    """How a hook ended."""

    code: int
    out: bytes
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """Claude's own part of the answer; fails unless stdout holds exactly one such object."""
        whole = json.loads(self.out)
        assert set(whole) == {"hookSpecificOutput"}
        return whole["hookSpecificOutput"]

    @property
    def decision(self) -> str:
        return self.answer["permissionDecision"]

    @property
    def reason(self) -> str:
        return self.answer["permissionDecisionReason"]

    def blocks(self) -> bool:
        """Whether Claude Code then keeps the tool from running: exit code 2, or 0 with a deny and its reason."""
        if self.code == 2:
            return bool(self.err.strip())
        return self.code == 0 and self.decision == "deny" and bool(self.reason)


@dataclass(frozen=True, kw_only=True)
class HookLine:
    """A hook's command line and configuration."""

    url: str
    folder: Path
    key: str = KEY
    ca: str | None = None
    host: str = "claude-code"

    def config(self) -> Path:
        """The user's configuration file, closed to others."""
        path = self.folder / "agent.json"
        path.write_text(json.dumps({"url": self.url, "key": self.key, "ca": self.ca}))
        path.chmod(0o600)
        return path

    def words(self, *options: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(HOOK), self.host, "--config", str(self.config()), *options]

    def start(
        self, *options: str, stdin: int = subprocess.PIPE, stdout: int = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.words(*options), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]}
        )

    def begin(self, content: bytes, *options: str) -> subprocess.Popen[bytes]:
        """Start a hook and give it its event; it goes on on its own."""
        process = self.start(*options)
        feed(process, content)
        return process

    def run(self, content: bytes, *options: str, within: float = BOUND) -> Said:
        return finish(self.begin(content, *options), within=within)


def finish(process: subprocess.Popen[bytes], *, within: float = BOUND) -> Said:
    """Wait for the end of a hook."""
    try:
        out, err = process.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    finally:
        close(process)
    return Said(code=process.returncode, out=out, err=err.decode())


def feed(process: subprocess.Popen[bytes], content: bytes) -> None:
    """Write all of stdin and end it; a hook that has ended already does not read it."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(content)
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.stdin = None


def close(process: subprocess.Popen[bytes]) -> None:
    """Close our ends of a hook's pipes."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def run_words(words: Sequence[str], *, env: dict[str, str] | None = None, stdin: bytes = b"") -> Said:
    """Any command line, to its end."""
    process = subprocess.Popen(
        list(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env or {"PATH": os.environ["PATH"]},
    )
    feed(process, stdin)
    return finish(process)
