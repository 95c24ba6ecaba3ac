"""The real Claude Code program, from its npm package, offline against a fake model, our hook its only gate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.places import ROOT
from tests.sdk.hook_process import HOOK, HookLine, run_words

if TYPE_CHECKING:
    from tests.sdk.command.fake_llm import FakeLlm

VERSION = "2.1.327"
FOLDER = ROOT / ".cache" / "claude-code"
BOUND = 60.0


def find_program() -> str:
    """The program's path; installs the package on first use, skips the test with its reason when that cannot be."""
    program = _native()
    if program is None:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed, so the Claude Code package cannot be")
        words = [
            npm,
            "install",
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(FOLDER),
            f"@anthropic-ai/claude-code@{VERSION}",
        ]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        program = _native()
        if program is None:
            pytest.skip(f"the Claude Code package cannot be installed: {done.stderr[-300:]}")
    return program


def _native() -> str | None:
    """The program, in the platform's own package: the wrapper's post-install step, which only links it, may not run."""
    for path in sorted((FOLDER / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude")):
        version = json.loads((path.parent / "package.json").read_text())["version"]
        if version == VERSION and os.access(path, os.X_OK):
            return str(path)
    return None


@dataclass(frozen=True, kw_only=True)
class ClaudeCode:
    """One installation in a scratch home, without the program's own questions: the hook is the only gate."""

    program: str
    llm: FakeLlm
    folder: Path

    @property
    def marker(self) -> Path:
        """What the tool call creates."""
        return self.folder / "marker"

    def start(self, settings: dict[str, Any], *options: str) -> subprocess.Popen[bytes]:
        home, work = self.folder / "home", self.folder / "work"
        home.mkdir(exist_ok=True)
        work.mkdir(exist_ok=True)
        path = self.folder / "settings.json"
        path.write_text(json.dumps(settings))
        words = [
            self.program,
            "-p",
            "go",
            "--settings",
            str(path),
            "--output-format",
            "json",
            "--model",
            "claude-sonnet-4-5",
        ]
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": self.llm.url,
            "ANTHROPIC_API_KEY": "offline",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        }
        return subprocess.Popen(
            [*words, "--dangerously-skip-permissions", *options],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def await_transcript(self, session: str) -> None:
        """Wait until the program has written down its call: killed before, it has no session to resume."""
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            for path in (self.folder / "home" / ".claude" / "projects").glob(f"*/{session}.jsonl"):
                if '"tool_use"' in path.read_text():
                    return
            time.sleep(0.02)  # a foreign program's file has no event that we could wait for
        raise TimeoutError(f"no transcript of {session}")

    def run(self, settings: dict[str, Any], *options: str) -> dict[str, Any]:
        return finish(self.start(settings, *options))


def finish(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Wait for the end of a run; its result."""
    try:
        out, _ = process.communicate(timeout=BOUND)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    assert out.startswith(b"{"), out.decode()
    return json.loads(out)


def printed_settings(hook: HookLine) -> dict[str, Any]:
    """What `assent-hook claude-code --print-settings` prints for this hook's configuration."""
    said = run_words(
        [sys.executable, "-I", "-S", str(HOOK), "claude-code", "--print-settings", "--config", str(hook.config())]
    )
    assert said.code == 0, said.err
    return json.loads(said.out)


def with_gate(settings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The settings with the gate's entry changed."""
    changed = json.loads(json.dumps(settings))
    gate = changed["hooks"]["PreToolUse"][0]["hooks"][0]
    for name, value in changes.items():
        if value is None:
            gate.pop(name)
        else:
            gate[name] = value
    return changed


def hook_processes(config: Path) -> list[int]:
    """The running gates that use a configuration file, by its path on their command lines."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue  # it ended meanwhile
        if str(HOOK).encode() in words and str(config).encode() in words:
            found.append(int(entry.name))
    return found
