"""What the gateway's hooks make of a call reaches the agent: the hook command and the client against the gateway."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from assent import (
    Allowed,
    AsyncGateway,
    Denied,
    NotApprovedError,
    Pending,
    RefusalCode,
    ToolCall,
    current_grant,
    guarded,
)
from assent.hooks import Hooks, Observed, Settled, Step, Suspended, WillCall, deny
from assent.hooks.ready.approval_gate import ApprovalGate
from tests.requirements import requirement
from tests.sdk.hook_process import HookLine, event, finish
from tests.sdk.pace import quick_pace
from tests.sdk.real_gateway import POLICY, RealGateway

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.process

HOOKS = """\
ask: {stages: [{of: [finance]}], channels: [api]}
hooks:
  - {id: by-note, on: PreToolUse, tools: [free], python: tests.api.agents.acme_hooks.by_note}
rules:
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGateway]:
    with RealGateway(folder=tmp_path_factory.mktemp("gateway")) as gateway:
        gateway.configure(POLICY.replace("rules:\n", HOOKS).replace("  Bash: {}\n", "  Bash: {}\n  free: {}\n"))
        yield gateway


def test_claude_code_runs_the_arguments_as_the_hooks_left_them(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    said = hook.run(event(tool="free", arguments={"amount": 80, "note": "halve"}))
    assert said.decision == "allow"
    assert said.answer["updatedInput"] == {"amount": 40, "note": "halved"}
    assert "updatedInput" not in hook.run(event(tool="free", arguments={"amount": 80})).answer


@requirement("S-08")
def test_a_megabyte_of_arguments_is_judged_and_claimed_as_little_is(real: RealGateway, tmp_path: Path) -> None:
    """The hook writes head and body at once, so the gateway reads them as one: the body is no part of the head."""
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    text = "one more line, with 'quotes' and \\n in it" * 23_000
    assert hook.run(event(tool="free", arguments={"text": text})).decision == "allow"
    waiting = hook.begin(event(tool="pay", session="large", call_id="toolu_large", arguments={"text": text}))
    asked = real.pending(session="large")
    assert asked["arguments"] == {"text": text}
    real.decide(asked, "approve")
    assert finish(waiting).decision == "allow"


def test_claude_code_is_told_which_guard_blocked_and_why(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    said = hook.run(event(tool="free", arguments={"note": "deny"}))
    assert said.decision == "deny"
    assert "the guard 'by-note' blocks this call" in said.reason
    assert "the note says so" in said.reason


def test_a_call_for_a_sandbox_does_not_run_outside_of_one(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    said = hook.run(event(tool="free", arguments={"note": "route"}))
    assert said.decision == "deny"
    assert "sandbox" in said.reason


async def test_the_client_hands_on_what_hooks_changed_and_added(real: RealGateway) -> None:
    async with AsyncGateway(real.url, real.key, session="c", pace=quick_pace(patience=20)) as client:
        changed = await client.check(ToolCall("free", {"amount": 80, "note": "halve"}))
        assert isinstance(changed, Allowed)
        assert changed.arguments == {"amount": 40, "note": "halved"}
        told = await client.check(ToolCall("free", {"note": "context"}))
        assert isinstance(told, Allowed)
        assert (told.arguments, told.context) == (None, ("the ledger is closed",))
        denied = await client.check(ToolCall("free", {"note": "deny"}))
        assert isinstance(denied, Denied)
        assert (denied.hook, denied.rule) == ("by-note", None)


async def test_the_client_can_insist_on_people(real: RealGateway) -> None:
    async with AsyncGateway(real.url, real.key, session="i", pace=quick_pace(patience=20)) as client:
        asked = await client.check(ToolCall("free", {}, confirm="the library says so"))
        assert isinstance(asked, Pending)
        assert "the library says so" in (asked.request.reason or "")


def test_claude_code_is_told_what_hooks_add_for_the_model(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    said = hook.run(event(tool="free", arguments={"note": "context"}))
    assert (said.decision, said.answer["additionalContext"]) == ("allow", "the ledger is closed")


async def test_a_guarded_function_runs_what_the_gateways_hooks_made_of_the_call(real: RealGateway) -> None:
    async with AsyncGateway(real.url, real.key, session="g", pace=quick_pace(patience=20)) as client:

        @guarded(client, tool="free")
        async def free(amount: int, note: str) -> tuple[int, str]:
            return amount, note

        assert await free(80, "halve") == (40, "halved")
        with pytest.raises(NotApprovedError, match="the guard 'by-note' blocks this call") as refused:
            await free(80, "deny")
        assert refused.value.code is RefusalCode.BLOCKED


async def test_a_session_runs_and_its_own_guards_judge_what_the_gateways_hooks_made_of_the_call(
    real: RealGateway,
) -> None:
    async with AsyncGateway(real.url, real.key, session="h", pace=quick_pace(patience=20)) as client:
        hooks = Hooks()
        hooks.add(ApprovalGate(approvals=client))
        async with hooks.session(session="h") as session:
            result = await session.call_tool("free", {"amount": 80, "note": "halve"}, lambda amount, note: amount)
            assert result.content == 40
            hooks.pre_tool_use(name="no-forty")(lambda ctx: deny("not 40") if ctx.args["amount"] == 40 else None)
            result = await session.call_tool("free", {"amount": 80, "note": "halve"}, lambda amount, note: amount)
            assert (result.ran, result.refused) == (False, RefusalCode.BLOCKED)


async def test_a_session_shows_a_call_that_waits_for_people_until_they_have_decided(real: RealGateway) -> None:
    steps = list[Step]()
    async with AsyncGateway(real.url, real.key, session="w", pace=quick_pace(patience=20)) as client:
        hooks = Hooks()
        hooks.add(ApprovalGate(approvals=client))
        async with (
            hooks.session(agent="claude", session="w", on_step=steps.append) as session,
            asyncio.TaskGroup() as group,
        ):
            call = group.create_task(
                session.call_tool("pay", {"amount": 7}, lambda amount: current_grant(), call_id="c")
            )
            request = await asyncio.to_thread(real.pending, session="w")
            await asyncio.to_thread(real.decide, request, "approve")
            result = await call

    assert [type(step) for step in steps] == [WillCall, Suspended, Settled, Observed]
    suspended = next(step for step in steps if isinstance(step, Suspended))
    assert (suspended.request_id, suspended.state, suspended.code) == (request["id"], "pending", request["code"])
    assert suspended.expires_at == datetime.fromisoformat(request["expires_at"])
    assert result.request_id == request["id"]
    assert str(result.content).startswith("g")


@pytest.mark.parametrize(
    ("host", "went"),
    [
        *((host, went) for host in ("gemini", "copilot", "qwen", "cursor") for went in ("well", "wrong")),
        ("opencode", "well"),  # of a tool that throws it was not seen to tell
    ],
)
@pytest.mark.sampled(3)
async def test_every_host_is_asked_for_approved_and_its_outcome_is_filed(
    real: RealGateway, tmp_path: Path, host: str, went: str
) -> None:
    """By the call's id where the host has one, else by session, tool and arguments."""
    before, well, wrong = CALLS[host]
    named = f"{host}-{went}"
    line = HookLine(url=real.url, key=real.key, folder=tmp_path, host=host)

    def told(raw: dict[str, Any]) -> bytes:
        return json.dumps(raw).replace("SESSION", named).encode()

    process = line.begin(told(before))
    real.decide(await asyncio.to_thread(real.pending, session=named), "approve")
    said = await asyncio.to_thread(finish, process)
    assert (said.code, b'"allow"' in said.out) == (0, True)
    after = await asyncio.to_thread(line.run, told(well if went == "well" else wrong))
    assert (after.code, after.out, after.err) == (0, b"", "")
    (filed,) = [each for each in real.requests() if each["session"] == named]
    assert filed["state"] == ("succeeded" if went == "well" else "failed")


PAY = {"payee": "Acme", "amount": 80}
_CAMEL: dict[str, Any] = {"sessionId": "SESSION", "timestamp": 1, "cwd": "/w", "toolName": "pay", "toolArgs": PAY}
_SNAKE: dict[str, Any] = {"session_id": "SESSION", "cwd": "/w", "tool_name": "pay", "tool_input": PAY}
_CURSOR: dict[str, Any] = {
    "conversation_id": "SESSION", "tool_name": "pay", "tool_input": PAY, "tool_use_id": "u-1"
}  # fmt: skip
_OPENCODE: dict[str, Any] = {"sessionID": "SESSION", "tool": "pay", "args": PAY, "callID": "o-1"}
_GONE = {"message": "gone", "type": "shell_execute_error"}
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "gemini": (
        {**_SNAKE, "hook_event_name": "BeforeTool"},
        {**_SNAKE, "hook_event_name": "AfterTool", "tool_response": {"llmContent": "paid"}},
        {**_SNAKE, "hook_event_name": "AfterTool", "tool_response": {"llmContent": "", "error": _GONE}},
    ),
    "copilot": (
        _CAMEL,
        {**_CAMEL, "toolResult": {"resultType": "success", "textResultForLlm": "paid"}},
        {**_CAMEL, "toolResult": {"resultType": "failure", "textResultForLlm": "gone"}},
    ),
    "qwen": (
        {**_SNAKE, "hook_event_name": "PreToolUse", "tool_call_id": "q-1"},
        {**_SNAKE, "hook_event_name": "PostToolUse", "tool_call_id": "q-1", "tool_response": {}},
        {**_SNAKE, "hook_event_name": "PostToolUseFailure", "tool_call_id": "q-1", "error": "gone"},
    ),
    "cursor": (
        {**_CURSOR, "hook_event_name": "preToolUse"},
        {**_CURSOR, "hook_event_name": "postToolUse", "tool_output": "paid"},
        {**_CURSOR, "hook_event_name": "postToolUseFailure", "error_message": "gone"},
    ),
    "opencode": (
        {**_OPENCODE, "hook_event_name": "tool.execute.before"},
        {**_OPENCODE, "hook_event_name": "tool.execute.after"},
        {},
    ),
}
