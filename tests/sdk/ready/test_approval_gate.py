"""The approval gate: whom it asks and when, and that only what people approved runs, once, as they saw it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway, OutcomeStatus, RefusalCode, current_grant
from assent.hooks import HookContext, HookResult, Hooks, PreToolUseHook, Settled, Suspended, ask, deny
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision, Outcome
from assent.hooks.engine.registry import HookRegistry
from assent.hooks.ready.approval_gate import ApprovalGate
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import ManualSeconds, manual_pace, quick_pace
from tests.sdk.ready.moments import NOON, before

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from assent.client.models import Request
    from assent.hooks import ToolResult
    from tests.sdk.stub_faults import Fault

PAY = {"payee": "ACME", "amount": 80000}


class Ledger:
    """A tool that remembers what it did."""

    def __init__(self) -> None:
        self.paid: list[dict[str, Any]] = []

    async def pay(self, payee: str, amount: int) -> str:
        if payee == "broken":
            raise LookupError("password=hunter2! refused by the bank")
        self.paid.append({"payee": payee, "amount": amount, "grant": current_grant()})
        return f"paid {amount} under sk_" + "live_0123456789abcdefghij"


@pytest.fixture
async def client(gateway: StubGateway) -> AsyncIterator[AsyncGateway]:
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as opened:
        yield opened


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


async def judged(gate: ApprovalGate, ctx: HookContext | None = None, *others: Any) -> Outcome:
    registry = HookRegistry()
    for hook in (*others, gate):
        registry.add(hook)
    call = ctx or before("oa__pay", args=PAY)
    return await run_chain(registry.get("PreToolUse", tool=call.tool_name), call)


async def call_pay(gate: ApprovalGate, ledger: Ledger, **args: Any) -> ToolResult:
    hooks = Hooks(clock=lambda: NOON)
    hooks.add(gate)
    async with hooks.session(agent="shop", session="s-1", user="wang@acme.example") as session:
        return await session.call_tool("oa__pay", {**PAY, **args}, ledger.pay, call_id="toolu_1")


async def settled(gateway: StubGateway, running: Any, state: str, **how: Any) -> Any:
    task = asyncio.ensure_future(running)
    await asyncio.to_thread(gateway.arrived, "get")
    gateway.decide("req_0001", state, **how)
    return await task


class Asking(PreToolUseHook):
    """An earlier hook that wants people to be asked."""

    name = "asking"

    async def execute(self, ctx: HookContext) -> HookResult | None:
        return ask("first payment to this payee")


async def test_an_approved_call_runs_the_stored_arguments_under_its_grant_and_is_reported(
    gateway: StubGateway, client: AsyncGateway, ledger: Ledger
) -> None:
    running = asyncio.ensure_future(call_pay(ApprovalGate(approvals=client), ledger))
    await asyncio.to_thread(gateway.arrived, "get")
    gateway.only.arguments = {"payee": "ACME", "amount": 8}
    gateway.decide("req_0001", "approved")
    result = await running
    assert result.ran
    assert result.request_id == "req_0001"
    assert ledger.paid == [{"payee": "ACME", "amount": 8, "grant": "gr_req_0001"}]
    assert gateway.only.state == "succeeded"
    assert gateway.only.outcomes[0]["result"] == "paid 8 under [redacted: Stripe key]"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("denied", 'an approver denied this call. Reason given: "wrong invoice"'),
        ("expired", "silence is not consent"),
        ("cancelled", "withdrawn"),
        ("undeliverable", "no approver could be reached"),
    ],
)
async def test_every_other_end_is_told_to_the_model_and_nothing_runs(
    gateway: StubGateway, client: AsyncGateway, ledger: Ledger, state: str, words: str
) -> None:
    result = await settled(gateway, call_pay(ApprovalGate(approvals=client), ledger), state, reason="wrong invoice")
    assert not result.ran
    assert words in result.content
    assert "do not retry" in result.content
    assert ledger.paid == []
    assert gateway.count("outcome") == 0


async def test_a_call_that_ran_before_is_told_with_its_result_and_does_not_run_again(
    gateway: StubGateway, client: AsyncGateway, ledger: Ledger
) -> None:
    gate = ApprovalGate(approvals=client)
    assert (await settled(gateway, call_pay(gate, ledger), "approved")).ran
    again = await call_pay(gate, ledger)  # replayed: the same call of the same session
    assert not again.ran
    assert "Done before: this call ran once, and succeeded" in again.content
    assert "paid 80000" in again.content
    assert (len(ledger.paid), len(gateway.rows)) == (1, 1)


async def test_what_the_rules_allow_passes_and_what_they_deny_does_not(
    gateway: StubGateway, client: AsyncGateway, ledger: Ledger
) -> None:
    gate = ApprovalGate(approvals=client)
    gateway.rules["oa__pay"] = "allow"
    assert (await call_pay(gate, ledger)).ran
    assert ledger.paid == [{**PAY, "grant": None}]
    gateway.rules["oa__pay"] = "deny"
    refused = await call_pay(gate, ledger)
    assert not refused.ran
    assert "rule 'small' forbids" in refused.content


@pytest.mark.parametrize(
    ("options", "tool", "asked"),
    [
        ({}, "oa__pay", False),
        ({"requires_confirmation": {"oa__pay": True}}, "oa__pay", True),
        ({"requires_confirmation": ["oa__*"]}, "oa__pay", True),
        ({"requires_confirmation": {"oa__*": True, "oa__list": False}}, "oa__list", False),
        ({"requires_confirmation": {"bash"}}, "Bash", True),
        ({"requires_confirmation": ["oa__*"]}, "crm__list", False),
        ({"all_tools": True}, "anything", True),
    ],
)
async def test_people_are_asked_by_flag_by_agent_and_otherwise_not(
    gateway: StubGateway, client: AsyncGateway, options: dict[str, Any], tool: str, asked: bool
) -> None:
    gate = ApprovalGate(approvals=client, rules=False, **options)
    if asked:
        outcome = await settled(gateway, judged(gate, before(tool, args=PAY)), "approved")
        assert outcome.permit is not None
        assert "confirmation" in gateway.seen[0][1]["confirm"]
    else:
        assert (await judged(gate, before(tool, args=PAY))).decision is Decision.ALLOW
        assert gateway.seen == []


async def test_what_earlier_hooks_asked_for_is_the_reason_that_people_see(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    gate = ApprovalGate(approvals=client, rules=False)
    outcome = await settled(gateway, judged(gate, None, Asking()), "approved")
    assert outcome.decision is Decision.ALLOW
    kind, body, headers = gateway.seen[0]
    assert kind == "check"
    assert body["confirm"] == "first payment to this payee"
    assert (body["tool"], body["session"], body["requester"]) == ("oa__pay", "s-1", "wang@acme.example")
    assert headers["Idempotency-Key"]


async def test_the_gateway_is_told_whose_run_it_is_beneath_and_where(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    gateway.rules["oa__pay"] = "allow"
    gate = ApprovalGate(approvals=client)
    await judged(gate, before("oa__pay", parent_session="s-0", cwd="/srv/shop"))
    await judged(gate, before("oa__pay"))
    (_, beneath, _), (_, alone, _) = gateway.seen
    assert (beneath["parent_session"], beneath["cwd"]) == ("s-0", "/srv/shop")
    assert not {"parent_session", "cwd", "confirm"} & set(alone)


@pytest.mark.parametrize("user", ["", "u-17", "wang", "a b@c", "two@at@signs"])
async def test_a_user_without_an_address_is_no_requester(gateway: StubGateway, client: AsyncGateway, user: str) -> None:
    gateway.rules["oa__pay"] = "allow"
    assert (await judged(ApprovalGate(approvals=client), before("oa__pay", user=user))).decision is Decision.ALLOW
    assert "requester" not in gateway.seen[0][1]


@pytest.mark.parametrize("options", [{"requires_confirmation": ["oa__pay"]}, {"all_tools": True}, {}])
async def test_a_gateway_that_waves_through_what_people_must_confirm_is_at_fault_and_nothing_runs(
    gateway: StubGateway, client: AsyncGateway, options: dict[str, Any]
) -> None:
    gateway.rules["oa__pay"] = "allow"
    outcome = await judged(ApprovalGate(approvals=client, **options), None, *([] if options else [Asking()]))
    assert outcome.decision is Decision.DENY
    assert "could not judge this call" in outcome.reason
    assert "people had to be asked" in outcome.reason


@pytest.mark.parametrize("kind", ["check", "get", "claim"])
@pytest.mark.parametrize("fault", ["500", "nonsense", "reset", "401", "maybe", "409"])
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_a_fault_at_any_step_means_no(gateway: StubGateway, ledger: Ledger, kind: str, fault: Fault) -> None:
    gateway.faults[kind].extend([fault] * 9999)
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(ManualSeconds())) as client:
        running = asyncio.ensure_future(call_pay(ApprovalGate(approvals=client), ledger))
        if kind == "claim":
            await asyncio.to_thread(gateway.arrived, "get")
            gateway.decide("req_0001", "approved")
        result = await running
    assert not result.ran
    assert result.refused is RefusalCode.BLOCKED
    assert ledger.paid == []


async def test_arguments_that_are_no_json_never_leave_and_never_run(gateway: StubGateway, client: AsyncGateway) -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    for args in ({"amount": float("nan")}, {"when": object()}, {"half": "\ud800"}, circle):
        outcome = await judged(ApprovalGate(approvals=client), before("oa__pay", args=args, call_id="c"))
        assert outcome.decision is Decision.DENY
        assert "contains itself" in outcome.reason if args is circle else "not JSON" in outcome.reason
    assert gateway.seen == []


async def test_a_call_repeated_after_a_crash_meets_its_request_and_another_call_of_the_same_id_does_not(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    gate = ApprovalGate(approvals=client)
    call = before("oa__pay", args=PAY, call_id="call_0")
    denied = await settled(gateway, judged(gate, call), "denied", reason="no")
    assert denied.decision is Decision.DENY
    assert (await judged(gate, call)).reason == denied.reason
    assert len(gateway.rows) == 1
    other = asyncio.ensure_future(judged(gate, before("oa__pay", args={**PAY, "amount": 1}, call_id="call_0")))
    await asyncio.to_thread(gateway.arrived, "get", 2)
    gateway.decide("req_0002", "approved")
    assert (await other).permit is not None


async def test_whoever_listens_hears_that_a_call_waits_and_that_people_have_decided(
    gateway: StubGateway, client: AsyncGateway, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    heard: dict[str, list[str]] = {"constructor": [], "engine": []}
    steps: list[Any] = []

    def broken(request: Request) -> None:
        heard["constructor"].append(request.state.value)
        raise RuntimeError("the display is gone")

    gate = ApprovalGate(approvals=client, on_suspended=broken)
    gate.listener = lambda request: heard["engine"].append(request.state.value)
    hooks = Hooks(clock=lambda: NOON)
    hooks.add(gate)
    async with hooks.session(agent="shop", session="s-1", on_step=steps.append) as session:
        running = session.call_tool("oa__pay", PAY, ledger.pay, call_id="toolu_1")
        assert (await settled(gateway, running, "approved")).ran
    assert heard == {"constructor": ["pending", "approved"], "engine": ["pending", "approved"]}
    assert "the display is gone" in caplog.text
    (suspended,) = [step for step in steps if isinstance(step, Suspended)]
    assert (suspended.request_id, suspended.state) == ("req_0001", "pending")
    assert suspended.expires_at == gateway.only.expires_at
    assert [step.state for step in steps if isinstance(step, Settled)] == ["approved"]


async def test_a_tool_that_fails_is_reported_without_its_secrets(
    gateway: StubGateway, client: AsyncGateway, ledger: Ledger
) -> None:
    result = await settled(gateway, call_pay(ApprovalGate(approvals=client), ledger, payee="broken"), "approved")
    assert result.failed
    assert gateway.only.state == "failed"
    assert gateway.only.outcomes[0]["error"] == "LookupError: password=[redacted: secret value] refused by the bank"


@pytest.mark.parametrize("result", ["half \ud800", object(), {"n": float("nan")}, "x" * 100_000, None])
async def test_a_permit_is_settled_whatever_the_result_is(
    gateway: StubGateway, client: AsyncGateway, result: Any
) -> None:
    outcome = await settled(gateway, judged(ApprovalGate(approvals=client)), "approved")
    assert outcome.permit is not None
    await outcome.permit.settle(OutcomeStatus.SUCCEEDED, result=result)
    assert gateway.only.state == "succeeded"
    told = gateway.only.outcomes[0]["result"]
    assert (told is None) is (result is None)
    assert told is None or told["kept"] is False


async def test_a_permit_that_cannot_be_settled_says_so_in_the_log_only(
    gateway: StubGateway, client: AsyncGateway, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = await settled(gateway, judged(ApprovalGate(approvals=client)), "approved")
    assert outcome.permit is not None
    gateway.faults["outcome"].append("401")
    await outcome.permit.settle(OutcomeStatus.FAILED, error="half \ud800 \x00")
    assert "outcome of request req_0001 could not be reported" in caplog.text


async def test_what_a_later_hook_denies_after_the_approval_is_reported_as_not_run(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    class Late(PreToolUseHook):
        name = "late"
        priority = -5

        async def execute(self, ctx: HookContext) -> HookResult | None:
            return deny("the ledger just closed")

    outcome = await settled(gateway, judged(ApprovalGate(approvals=client), None, Late()), "approved")
    assert outcome.decision is Decision.DENY
    assert gateway.only.state == "failed"
    assert "not run" in gateway.only.outcomes[0]["error"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"all_tools": "yes"}, "all_tools: give true or false"),
        ({"rules": 1}, "rules: give true or false"),
        ({"requires_confirmation": "oa__pay"}, r"requires_confirmation: give a list of tools"),
        ({"requires_confirmation": {"oa__pay": "always"}}, "requires_confirmation: give true or false for each tool"),
        ({"requires_confirmation": [7]}, "requires_confirmation: give true or false for each tool"),
    ],
)
def test_a_bad_option_is_named_with_its_mend(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ApprovalGate(approvals=AsyncGateway("http://127.0.0.1:1", KEY), **options)
