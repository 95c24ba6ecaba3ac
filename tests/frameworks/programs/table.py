"""The agent programs: how each is installed, pointed at a model on this machine, and what it cannot do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

INSTALL_WITHIN = 240.0
MCP_CLIENT = "@modelcontextprotocol/client@2.4.0"
"""The official client in another language, which is no agent program."""
_KILLED_RUNS = "its tool runs when the hook is killed outright: no hook can help that, so nothing may kill it"


@dataclass(frozen=True, kw_only=True)
class Program:
    """One program: its package, its words, its environment, and what it is configured by."""

    host: str
    """The host of `assent-hook` that it is."""
    title: str
    package: str
    words: tuple[str, ...]
    tool: str
    """The shell, as its model calls it."""
    argument: str = "command"
    """How the shell's command is called there."""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What its model has to say besides."""
    environ: Callable[[str], dict[str, str]]
    """What it is told of the model, at an address."""
    files: Callable[[str], dict[str, str]] = lambda _: {}
    """What stands in its home folder before the hook is installed."""
    lets_run: Mapping[str, str] = field(default_factory=dict[str, str])
    """The cases in which its tool runs all the same, each with its reason: the suite looks whether that still is so."""
    cannot: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return ROOT / ".cache" / self.host

    @property
    def version(self) -> str:
        """The one that it is pinned to."""
        return self.package.rpartition("@")[2]

    @property
    def binary(self) -> Path:
        """What is started."""
        return self.folder / "node_modules" / ".bin" / self.words[0]


def _codex(url: str) -> dict[str, str]:
    config = f"""
model = "fake-model"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
[features]
enable_request_compression = false
"""
    return {".codex/config.toml": config}


def _gemini(_: str) -> dict[str, str]:
    return {".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})}


def _qwen(_: str) -> dict[str, str]:
    return {".qwen/settings.json": json.dumps({"security": {"auth": {"selectedType": "openai"}}})}


def _opencode(url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "offline"},
        "models": {"fake-model": {"name": "fake"}},
    }
    # Its own permissions come after the hook: they would refuse a path outside of the project.
    told = {"model": "fake/fake-model", "provider": {"fake": provider}, "permission": {"external_directory": "allow"}}
    return {".config/opencode/opencode.json": json.dumps(told)}


PROGRAMS = {
    program.host: program
    for program in (
        Program(
            host="claude-code",
            title="Claude Code",
            package="@anthropic-ai/claude-code@2.1.327",
            words=("claude", "-p", "go", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"),
            tool="Bash",
            environ=lambda url: {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "offline",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "IS_SANDBOX": "1",
            },
        ),
        Program(
            host="codex",
            title="Codex",
            package="@openai/codex@0.169.0",
            words=(
                "codex",
                "exec",
                "--skip-git-repo-check",
                "--json",
                "--dangerously-bypass-hook-trust",
                "-s",
                "danger-full-access",
                "go",
            ),
            tool="exec_command",
            argument="cmd",
            environ=lambda _: {"FAKE_KEY": "offline"},
            files=_codex,
            lets_run={"hook_killed": _KILLED_RUNS},
        ),
        Program(
            host="copilot",
            title="Copilot CLI",
            package="@github/copilot@1.0.102",
            words=("copilot", "-p", "go", "--allow-all-tools", "--allow-all-paths"),
            tool="bash",
            more={"description": "make the mark"},
            environ=lambda url: {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
                "COPILOT_PROVIDER_API_KEY": "offline",
                "COPILOT_MODEL": "fake-model",
            },
        ),
        Program(
            host="gemini",
            title="Gemini CLI",
            package="@google/gemini-cli@0.61.0",
            words=("gemini", "-p", "go", "--yolo", "--output-format", "json"),
            tool="run_shell_command",
            environ=lambda url: {
                "GEMINI_API_KEY": "offline",
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            files=_gemini,
            lets_run={"hook_killed": _KILLED_RUNS},
        ),
        Program(
            host="opencode",
            title="opencode",
            package="opencode-ai@1.18.33",
            words=("opencode", "run", "go"),
            tool="bash",
            more={"description": "make the mark"},
            environ=lambda _: {
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                # It fetches a package of its own beside a plugin before it begins: for all homes once.
                "npm_config_cache": str(ROOT / ".cache" / "opencode" / "npm"),
                "npm_config_prefer_offline": "true",
            },
            files=_opencode,
        ),
        Program(
            host="qwen",
            title="Qwen Code",
            package="@qwen-code/qwen-code@0.24.4",
            words=("qwen", "-p", "go", "--yolo"),
            tool="run_shell_command",
            more={"is_background": False},
            environ=lambda url: {
                "OPENAI_API_KEY": "offline",
                "OPENAI_BASE_URL": f"{url}/v1",
                "OPENAI_MODEL": "fake-model",
            },
            files=_qwen,
            lets_run={"hook_killed": _KILLED_RUNS},
            cannot={"edit": "it ignores new arguments: the call is denied, and the model is told what to call with"},
        ),
    )
}


def installed(program: Program) -> str:
    """Where the program is; installs it on first use, and skips the test with the reason where that cannot be."""
    if not program.binary.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"{program.title}: npm is not installed, so the program cannot be")
        words = [npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel", "error"]
        words += ["--prefix", str(program.folder), program.package]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_WITHIN, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{program.title}: npm did not install {program.package} in {INSTALL_WITHIN:.0f} s")
        if not program.binary.exists():
            pytest.skip(f"{program.title}: {program.package} cannot be installed: {done.stderr[-300:]}")
    says = subprocess.run(
        [program.binary, "--version"], capture_output=True, text=True, timeout=60, check=False, env={**os.environ}
    )
    if says.returncode or program.version not in says.stdout:
        pytest.skip(
            f"{program.title}: it does not say that it is {program.version}: {(says.stdout + says.stderr)[-300:]}"
        )
    return str(program.binary)
