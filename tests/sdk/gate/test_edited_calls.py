"""What people changed before they approved it is what runs, whichever way an agent comes to its gateway."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway, ClaimRefusedError, Gateway, Pending, Ran, ToolCall, current_changes, guarded, resume
from assent.hooks import Hooks
from assent.hooks.ready.approval_gate import ApprovalGate
from tests.requirements import requirement
from tests.sdk.hook_process import HookLine, event, finish
from tests.sdk.pace import quick_pace
from tests.sdk.real_gateway import POLICY, RealGateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.process

TOOLS = """\
  pay: {money: [amount], sensitive: [account]}
  Bash: {}
"""
ASKED = {"payee": "Acme Ltd", "amount": 80000, "account": "DE02100100109307118603"}
CHANGED = {**ASKED, "amount": 50000}
TOLD = "A person changed its arguments: amount: 80000 → 50000."


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGateway]:
    with RealGateway(folder=tmp_path_factory.mktemp("gateway")) as gateway:
        policy = POLICY.replace("  Bash: {}\n  pay: {}\n", TOOLS)
        gateway.configure(policy.replace("{of: [finance], need: 1}", "{of: [finance], allow_editor: true}"))
        yield gateway


@pytest.fixture
async def client(real: RealGateway, request: pytest.FixtureRequest) -> AsyncIterator[AsyncGateway]:
    async with AsyncGateway(real.url, real.key, session=request.node.name, pace=quick_pace(patience=20)) as opened:
        yield opened


async def approve_changed(real: RealGateway, session: str | None, **changed: Any) -> None:
    """Approve the one call that waits, with changes."""
    request = await asyncio.to_thread(real.pending, session=session)
    arguments = {**request["arguments"], "amount": 50000, **changed}
    await asyncio.to_thread(lambda: real.decide(request, "approve", arguments=arguments))


@requirement("S-02")
async def test_a_guarded_function_runs_with_the_changed_arguments_and_can_say_so(
    real: RealGateway, client: AsyncGateway
) -> None:
    @guarded(client, tool="pay")
    async def pay(payee: str, amount: int, account: str) -> tuple[str, int, str, str | None]:
        return payee, amount, account, current_changes()

    ran, _ = await asyncio.gather(pay(**ASKED), approve_changed(real, client.session))
    assert ran[:3] == ("Acme Ltd", 50000, ASKED["account"])
    assert TOLD in str(ran[3])
    assert str(ASKED["account"]) not in str(ran[3])
    assert current_changes() is None


async def test_a_synchronous_guard_does_so_too(real: RealGateway) -> None:
    def work() -> int:
        with Gateway(real.url, real.key, session="sync", pace=quick_pace(patience=20)) as gateway:

            @guarded(gateway, tool="pay")
            def pay(payee: str, amount: int, account: str) -> int:
                assert (payee, account) == ("Acme Ltd", ASKED["account"])
                return amount

            return pay(**ASKED)

    amount, _ = await asyncio.gather(asyncio.to_thread(work), approve_changed(real, "sync"))
    assert amount == 50000


async def test_a_session_runs_the_changed_arguments_and_tells_the_model(
    real: RealGateway, client: AsyncGateway
) -> None:
    hooks = Hooks()
    hooks.add(ApprovalGate(approvals=client))
    async with hooks.session(agent="claude", session=client.session or "") as session:
        ran, _ = await asyncio.gather(
            session.call_tool("pay", ASKED, lambda **arguments: arguments, call_id="c-1"),
            approve_changed(real, client.session),
        )
    assert (ran.ran, ran.content, dict(ran.args)) == (True, CHANGED, CHANGED)
    assert any(TOLD in text for text in ran.context)


async def test_an_agent_that_starts_again_runs_the_changed_arguments(real: RealGateway, client: AsyncGateway) -> None:
    await client.check(ToolCall("pay", ASKED))
    await approve_changed(real, client.session)
    (resumed,) = await resume(client, {"pay": lambda **arguments: arguments})
    assert resumed.outcome == Ran(result=CHANGED)
    assert TOLD in str(resumed.request.changes)
    assert (resumed.request.arguments, resumed.request.proposed) == (CHANGED, ASKED)


@requirement("S-02")
async def test_a_claim_for_what_was_asked_at_first_is_refused(real: RealGateway, client: AsyncGateway) -> None:
    asked = await client.check(ToolCall("pay", ASKED))
    assert isinstance(asked, Pending)
    await approve_changed(real, client.session)
    with pytest.raises(ClaimRefusedError) as refused:
        await client.claim(asked.request)
    assert refused.value.code == "digest_mismatch"
    assert (await client.claim(await client.get(asked.request.id))).arguments == CHANGED


@requirement("S-02")
async def test_claude_code_runs_the_changed_arguments_and_the_model_is_told(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    process = hook.begin(event(tool="pay", session="edited", arguments=ASKED))
    await approve_changed(real, "edited")
    said = await asyncio.to_thread(finish, process)
    assert said.decision == "allow"
    assert said.answer["updatedInput"] == CHANGED
    assert TOLD in said.answer["additionalContext"]
    after = event(moment="PostToolUse", tool="pay", session="edited", arguments=CHANGED)
    assert (await asyncio.to_thread(hook.run, after)).code == 0
    assert [each["state"] for each in real.requests() if each["session"] == "edited"] == ["succeeded"]


@requirement("S-02")
async def test_a_host_that_runs_a_call_only_as_it_was_made_is_told_which_call_was_approved(
    real: RealGateway, tmp_path: Path
) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    process = hook.begin(event(tool="pay", session="fixed", arguments=ASKED), "--fixed-input")
    await approve_changed(real, "fixed")
    said = await asyncio.to_thread(finish, process)
    assert said.decision == "deny"
    assert f"exactly these arguments: {json.dumps(CHANGED)} Any other call" in said.reason
    again = event(tool="pay", session="fixed", call_id="toolu_2", arguments=CHANGED)
    said = await asyncio.to_thread(hook.run, again, "--fixed-input")
    assert (said.decision, "updatedInput" in said.answer) == ("allow", False)
    after = event(moment="PostToolUse", tool="pay", session="fixed", call_id="toolu_2", arguments=CHANGED)
    assert (await asyncio.to_thread(hook.run, after)).code == 0
    assert [each["state"] for each in real.requests() if each["session"] == "fixed"] == ["succeeded"]


async def test_such_a_host_never_runs_the_call_as_it_was_asked_at_first(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    process = hook.begin(event(tool="pay", session="stubborn", arguments=ASKED), "--fixed-input")
    await approve_changed(real, "stubborn")
    assert (await asyncio.to_thread(finish, process)).decision == "deny"
    assert (
        await asyncio.to_thread(hook.run, event(tool="pay", session="stubborn", arguments=ASKED), "--fixed-input")
    ).decision == "deny"
    assert [each["state"] for each in real.requests() if each["session"] == "stubborn"] == ["approved"]
