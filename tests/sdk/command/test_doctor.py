"""`assent-hook doctor`: names each thing that would let a tool run unasked; a sound installation it calls sound."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement
from tests.sdk.command.claude_program import printed_settings, with_gate
from tests.sdk.hook_process import HOOK, HookLine, Said, run_words

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

pytestmark = pytest.mark.process


class Clinic:
    """A scratch installation that the doctor looks at, with a stand-in for `claude --version`."""

    def __init__(self, hook: HookLine, folder: Path) -> None:
        self._hook = hook
        self._folder = folder
        self.claude_says("2.1.327 (Claude Code)")

    def claude_says(self, version: str | None) -> None:
        program = self._folder / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        if version is None:
            program.unlink()
        else:
            program.write_text(f"#!/bin/sh\necho '{version}'\n")
            program.chmod(0o755)

    def examine(self, settings: dict[str, Any] | str) -> Said:
        path = self._folder / "settings.json"
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
        words = [sys.executable, "-I", "-S", str(HOOK), "doctor", str(path), "--config", str(self._hook.config())]
        return run_words(words, env={"PATH": f"{self._folder / 'bin'}:/usr/bin:/bin"})


@pytest.fixture
def clinic(hook: HookLine, tmp_path: Path) -> Clinic:
    return Clinic(hook, tmp_path)


@pytest.fixture
def settings(hook: HookLine) -> dict[str, Any]:
    return printed_settings(hook)


def test_the_printed_settings_ask_about_everything_and_block_on_failure(settings: dict[str, Any]) -> None:
    (entry,) = settings["hooks"]["PreToolUse"]
    (gate,) = entry["hooks"]
    assert (entry["matcher"], gate["type"], gate["timeout"], gate["onFailure"]) == ("*", "command", 86400, "block")
    assert "--deadline 86385" in gate["command"]
    assert set(settings["hooks"]) == {"PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"}


def test_without_settings_it_says_what_to_do(hook: HookLine, tmp_path: Path) -> None:
    missing = tmp_path / "no-settings.json"
    said = run_words([sys.executable, "-I", "-S", str(HOOK), "doctor", str(missing), "--config", str(hook.config())])
    assert said.code == 1
    told = next(line for line in said.out.decode().splitlines() if "no-settings" in line)
    assert told == f"fault: there is no {missing}: `assent-hook claude-code --install` writes it"


def test_one_fault_is_called_one(clinic: Clinic, settings: dict[str, Any]) -> None:
    del settings["hooks"]["PostToolUse"]
    assert clinic.examine(settings).out.decode().endswith("settings.json: 1 fault\n")


def test_a_sound_installation_is_called_sound(clinic: Clinic, settings: dict[str, Any]) -> None:
    said = clinic.examine(settings)
    assert said.code == 0, said
    assert said.out.decode().endswith("settings.json: sound\n")


@requirement("S-08")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"onFailure": None}, 'onFailure is not "block"'),
        ({"onFailure": "continue"}, 'onFailure is not "block"'),
        ({"timeout": None}, "does not outlast the hook's deadline"),
        ({"timeout": 86390}, "does not outlast the hook's deadline"),
        ({"timeout": 90000}, "gives up long before"),
        ({"timeout": 3_000_000}, "is not a number of seconds"),
        ({"timeout": "86400"}, "is not a number of seconds"),
        ({"async": True}, "'async' is set"),
        ({"if": "Bash(git push *)"}, "'if' is set"),
        ({"type": "prompt"}, "type is 'prompt'"),
        ({"command": "/nowhere/assent-hook claude-code --deadline 86385"}, "is not found or not executable"),
        ({"command": f"{sys.executable} /nowhere/hook_command.py claude-code --deadline 86385"}, "cannot be read"),
        ({"command": "assent-hook claude-code --deadline never"}, "command line is not understood"),
        ({"command": "assent-hook"}, "command line is not understood"),
        ({"command": "something else"}, "no PreToolUse hook calls assent-hook"),
    ],
)
@pytest.mark.sampled(3)
def test_each_fault_of_the_settings_is_named(
    clinic: Clinic, settings: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    said = clinic.examine(with_gate(settings, **changes))
    assert said.code == 1
    assert words in said.out.decode()


@requirement("S-08")
def test_a_matcher_that_leaves_tools_out_is_named(clinic: Clinic, settings: dict[str, Any]) -> None:
    settings["hooks"]["PreToolUse"][0]["matcher"] = "Bash"
    assert "tools outside the matchers run unasked" in clinic.examine(settings).out.decode()


def test_hooks_that_are_switched_off_are_named(clinic: Clinic, settings: dict[str, Any]) -> None:
    assert "disableAllHooks" in clinic.examine({**settings, "disableAllHooks": True}).out.decode()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hooks": []}', '{"hooks": {"PreToolUse": [1, {"hooks": 2}]}}'])
def test_settings_that_are_none_are_named(clinic: Clinic, text: str) -> None:
    assert clinic.examine(text).code == 1


def test_missing_reports_are_named(clinic: Clinic, settings: dict[str, Any]) -> None:
    del settings["hooks"]["PostToolUseFailure"]
    assert "outcomes stay unknown" in clinic.examine(settings).out.decode()


@requirement("S-08")
@pytest.mark.parametrize("version", ["2.1.294 (Claude Code)", "1.9.999", "unreadable"])
def test_a_program_that_ignores_block_on_failure_is_named(
    clinic: Clinic, settings: dict[str, Any], version: str
) -> None:
    clinic.claude_says(version)
    assert clinic.examine(settings).code == 1


def test_a_missing_program_is_named(clinic: Clinic, settings: dict[str, Any]) -> None:
    clinic.claude_says(None)
    assert "claude is not found" in clinic.examine(settings).out.decode()


def test_a_gateway_that_does_not_answer_or_refuses_the_key_is_named(
    clinic: Clinic, gateway: StubGateway, settings: dict[str, Any]
) -> None:
    gateway.faults["list"].append("401")
    assert "refuses the key" in clinic.examine(settings).out.decode()
    gateway.faults["list"].append("redirect")
    told = clinic.examine(settings).out.decode()
    assert "is no gateway of Assent: status 307" in told
    assert "does not serve this agent" not in told
    gateway.stop()
    assert "does not answer" in clinic.examine(settings).out.decode()


def test_a_configuration_that_others_can_read_is_named(
    clinic: Clinic, hook: HookLine, settings: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "open.json"
    path.write_text(hook.config().read_text())
    path.chmod(0o644)
    said = run_words(
        [sys.executable, "-I", "-S", str(HOOK), "doctor", "/nowhere", "--config", str(path)],
        env={"PATH": os.environ["PATH"]},
    )
    assert said.code == 1
    assert "chmod 600" in said.out.decode()
