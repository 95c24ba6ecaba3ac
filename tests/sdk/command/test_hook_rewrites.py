"""What the gateway's hooks make of a call reaches the agent: the hook command and the client against the gateway."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

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
from tests.sdk.hook_process import HookLine, event
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
