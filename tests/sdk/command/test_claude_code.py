"""End to end with the real Claude Code program: its tool call leaves its mark exactly when it was approved."""

from __future__ import annotations

import os
import shlex
import signal
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement
from tests.sdk.command.claude_program import (
    ClaudeCode,
    find_program,
    finish,
    hook_processes,
    printed_settings,
    with_gate,
)
from tests.sdk.command.fake_llm import Call, FakeLlm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway
    from tests.sdk.hook_process import HookLine

pytestmark = [pytest.mark.process, pytest.mark.claude, pytest.mark.timeout(120)]
SOON = 20.0


@pytest.fixture(scope="module")
def program() -> str:
    return find_program()


@pytest.fixture
def claude(program: str, tmp_path: Path) -> Iterator[ClaudeCode]:
    """A model that makes one call, and then says that it is done."""
    touch = Call(tool="Bash", arguments={"command": f"touch {tmp_path / 'marker'}", "description": "make the mark"})
    with FakeLlm([touch, "done"]) as llm:
        yield ClaudeCode(program=program, llm=llm, folder=tmp_path)


@pytest.fixture
def settings(hook: HookLine) -> dict[str, Any]:
    return printed_settings(hook)


def test_an_approved_call_runs_and_its_outcome_is_reported(
    claude: ClaudeCode, gateway: StubGateway, settings: dict[str, Any]
) -> None:
    running = claude.start(settings)
    gateway.arrived("get", within=SOON)
    assert not claude.marker.exists()
    gateway.decide("req_0001", "approved")
    result = finish(running)
    assert claude.marker.exists()
    assert result["permission_denials"] == []
    assert gateway.only.state == "succeeded"
    assert gateway.only.claim == "make the mark"


@requirement("S-08")
def test_a_denied_call_does_not_run_and_the_model_is_told_why(
    claude: ClaudeCode, gateway: StubGateway, settings: dict[str, Any]
) -> None:
    running = claude.start(settings)
    gateway.arrived("get", within=SOON)
    gateway.decide("req_0001", "denied", reason="not on a Friday")
    result = finish(running)
    assert not claude.marker.exists()
    assert len(result["permission_denials"]) == 1
    assert 'Reason given: "not on a Friday"' in claude.llm.told[0]
    assert "do not retry" in claude.llm.told[0]


@requirement("S-08")
def test_a_gateway_that_is_away_keeps_the_tool_from_running(
    claude: ClaudeCode, gateway: StubGateway, settings: dict[str, Any]
) -> None:
    gateway.stop()
    gate = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    claude.run(with_gate(settings, command=f"{gate} --patience 1"))
    assert not claude.marker.exists()
    assert "no answer means no" in claude.llm.told[0]


@requirement("S-08")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_hook_that_is_killed_keeps_the_tool_from_running(
    claude: ClaudeCode, gateway: StubGateway, hook: HookLine, settings: dict[str, Any], number: signal.Signals
) -> None:
    running = claude.start(settings)
    gateway.arrived("get", within=SOON)
    for process in hook_processes(hook.config()):
        os.kill(process, number)
    finish(running)
    assert not claude.marker.exists()
    assert gateway.only.state == "cancelled", "the session ended: nobody is to approve for nobody"


@requirement("S-08", "F-07")
def test_the_deadline_answers_before_the_host_and_the_repeated_call_joins(
    claude: ClaudeCode, gateway: StubGateway, settings: dict[str, Any]
) -> None:
    claude.llm.turns.insert(1, claude.llm.turns[0])
    gate = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    running = claude.start(with_gate(settings, command=f"{gate} --deadline 1.5", timeout=30))
    gateway.arrived("check", 2, within=SOON)
    assert "still waits for a person's decision" in claude.llm.told[0]
    assert not claude.marker.exists()
    gateway.decide("req_0001", "approved")
    finish(running)
    assert claude.marker.exists()
    assert gateway.only.state == "succeeded"


@requirement("F-07")
def test_an_agent_that_was_killed_is_resumed_and_joins_its_request(
    claude: ClaudeCode, gateway: StubGateway, settings: dict[str, Any]
) -> None:
    claude.llm.turns.insert(1, claude.llm.turns[0])
    session = str(uuid.uuid4())
    running = claude.start(settings, "--session-id", session)
    gateway.arrived("get", within=SOON)
    claude.await_transcript(session)
    running.kill()
    running.communicate()
    gateway.decide("req_0001", "approved")
    assert not claude.marker.exists()
    claude.run(settings, "--resume", session)
    assert claude.marker.exists()
    assert gateway.only.state == "succeeded"
    assert gateway.only.session == session


@requirement("S-08")
def test_a_hook_that_hangs_past_the_hosts_timeout_keeps_the_tool_from_running(
    claude: ClaudeCode, gateway: StubGateway, hook: HookLine, settings: dict[str, Any]
) -> None:
    running = claude.start(with_gate(settings, timeout=4))
    gateway.arrived("get", within=SOON)
    stopped = hook_processes(hook.config())
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    try:
        finish(running)
    finally:
        for process in hook_processes(hook.config()):
            os.kill(process, signal.SIGKILL)
    assert stopped
    assert not claude.marker.exists()


@requirement("S-08")
@pytest.mark.parametrize(
    "command",
    [
        "exit 1",
        "exit 3",
        "exit 126",
        "exit 127",
        "/nowhere/assent-hook claude-code",
        "/etc/passwd claude-code",
        "/nowhere/python -I -S hook_command.py",
        "kill -9 $$",
        "cat > /dev/full",
        "echo '{\"hookSpecificOutput\": '; exit 1",
    ],
)
def test_a_hook_that_cannot_run_keeps_the_tool_from_running(
    claude: ClaudeCode, gateway: StubGateway, settings: dict[str, Any], command: str
) -> None:
    claude.run(with_gate(settings, command=command))
    assert not claude.marker.exists()
    assert gateway.count("check") == 0


def test_without_block_on_failure_a_crash_would_let_the_tool_run(claude: ClaudeCode, settings: dict[str, Any]) -> None:
    """The control: it shows that the tests above can fail, and why `doctor` insists."""
    claude.run(with_gate(settings, command="exit 1", onFailure=None))
    assert claude.marker.exists()


def test_edited_arguments_are_what_runs(claude: ClaudeCode, gateway: StubGateway, settings: dict[str, Any]) -> None:
    running = claude.start(settings)
    gateway.arrived("get", within=SOON)
    other = claude.folder / "approved-instead"
    gateway.only.arguments = {"command": f"touch {shlex.quote(str(other))}"}
    gateway.decide("req_0001", "approved")
    finish(running)
    assert other.exists()
    assert not claude.marker.exists()
