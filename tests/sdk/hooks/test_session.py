from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway, Elsewhere, RefusalCode, ToolElsewhere, current_grant, guarded
from assent.hooks import (
    ApprovalGateHook,
    HookContext,
    HookResult,
    Hooks,
    ModelRequest,
    ModelRequestBlockedError,
    Moment,
    Observed,
    PromptBlockedError,
    Step,
    Suspended,
    WillCall,
    allow,
    ask,
    deny,
    go_on,
    modify,
    replace_result,
    rewrite,
    route,
    send,
)
from assent.hooks.contract.sandbox import Report, SandboxFault
from tests.requirements import requirement
from tests.sdk.hooks.chains import NOON

if TYPE_CHECKING:
    from assent.client.models import OutcomeStatus
    from assent.hooks import Routing


def some_hooks(**settings: Any) -> Hooks:
    return Hooks(clock=lambda: NOON, **settings)


class Ledger:
    """A tool that counts."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str | None]] = []

    async def pay(self, amount: int) -> str:
        self.paid.append((amount, current_grant()))
        return f"paid {amount}"


class Permit:
    request_id = "req_1"
    grant_id = "g_1"

    def __init__(self) -> None:
        self.settled: list[tuple[str, Any, str | None]] = []
        self.elsewhere: Elsewhere | None = None

    async def settle(
        self,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.settled.append((status.value, result, error))
        self.elsewhere = elsewhere


class Approves(ApprovalGateHook):
    """A gate whose people always say yes, to these arguments."""

    name = "gate"

    def __init__(self, permit: Permit, args: dict[str, Any] | None = None) -> None:
        self.permit, self.args = permit, args

    async def execute(self, ctx: HookContext) -> HookResult:
        return HookResult(permit=self.permit, modified_args=self.args)


# --- the order of a run -----------------------------------------------------------------------------------------------


async def test_a_whole_run_calls_every_moment_in_its_place() -> None:
    hooks, seen = some_hooks(), list[str]()

    def note(ctx: HookContext) -> None:
        seen.append(ctx.moment.value)

    for register in (
        hooks.session_start,
        hooks.user_prompt_submit,
        hooks.pre_model_request,
        hooks.pre_tool_use,
        hooks.post_tool_use,
        hooks.post_tool_use_failure,
        hooks.pre_compact,
        hooks.subagent_stop,
        hooks.stop,
        hooks.session_end,
    ):
        register(note)
    async with hooks.session(agent="payer") as session:
        await session.submit("pay")
        await session.model_request(ModelRequest())
        await session.call_tool("pay", {"amount": 1}, Ledger().pay)
        await session.call_tool("pay", {"wrong": 1}, Ledger().pay)
        await session.compact("full")
        await session.subagent_stop("done")
        await session.stop("done")

    assert seen == [
        "SessionStart",
        "UserPromptSubmit",
        "PreModelRequest",
        "PreToolUse",
        "PostToolUse",
        "PreToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "SubagentStop",
        "Stop",
        "SessionEnd",
    ]


async def test_hooks_see_whose_run_it_is() -> None:
    hooks, seen = some_hooks(), list[HookContext]()
    hooks.pre_tool_use(seen.append)  # pyright: ignore[reportArgumentType, reportCallIssue] - returns None

    async with hooks.session(agent="a", session="s", user="u@x", org="o", cwd="/w") as session:
        await session.call_tool("Bash", {"command": "ls"}, lambda command: "", call_id="c1")

    (ctx,) = seen
    assert (ctx.agent, ctx.session, ctx.user, ctx.org, ctx.cwd, ctx.timestamp) == ("a", "s", "u@x", "o", "/w", NOON)
    assert (ctx.tool_name, ctx.called_as, ctx.call_id, dict(ctx.args)) == ("exec", "Bash", "c1", {"command": "ls"})


@pytest.mark.parametrize(("resumed", "source"), [(False, "new"), (True, "resumed")])
async def test_what_a_session_starts_with_reaches_the_first_prompt_only(resumed: bool, source: str) -> None:
    hooks = some_hooks()
    hooks.session_start(lambda ctx: allow().with_context(f"a {ctx.source} session"))

    async with hooks.session(resumed=resumed) as session:
        assert (await session.submit("one")).context == (f"a {source} session",)
        assert (await session.submit("two")).context == ()


async def test_a_session_ends_with_its_reason_also_when_it_fails_or_is_stopped() -> None:
    hooks, reasons = some_hooks(), list[str]()
    hooks.session_end(lambda ctx: reasons.append(ctx.reason))

    async with hooks.session():
        pass
    with pytest.raises(KeyError):
        async with hooks.session():
            raise KeyError
    with pytest.raises(asyncio.CancelledError):
        async with hooks.session():
            raise asyncio.CancelledError

    assert reasons == ["completed", "failed", "cancelled"]


# --- prompts, requests, stopping --------------------------------------------------------------------------------------


async def test_a_blocked_prompt_is_told_and_goes_nowhere() -> None:
    hooks = some_hooks()
    hooks.user_prompt_submit(name="secrets")(lambda ctx: deny("it holds a password"))

    async with hooks.session() as session:
        with pytest.raises(PromptBlockedError) as blocked:
            await session.submit("my password is hunter2")

    assert str(blocked.value) == "The guard 'secrets' blocked the prompt. Reason given: \"it holds a password\"."


async def test_a_prompt_hook_that_fails_blocks() -> None:
    hooks = some_hooks()

    @hooks.user_prompt_submit
    def broken(ctx: HookContext) -> HookResult:
        raise OSError("no list")

    async with hooks.session() as session:
        with pytest.raises(PromptBlockedError, match="OSError: no list"):
            await session.submit("hello")


async def test_tags_go_from_the_prompt_to_the_model_request_and_end_with_the_turn() -> None:
    hooks, models = some_hooks(), list[Any]()
    hooks.user_prompt_submit(lambda ctx: rewrite(ctx.prompt.strip()).with_tags(hard="proof" in ctx.prompt))

    @hooks.pre_model_request
    def choose(ctx: HookContext) -> HookResult:
        models.append(ctx.metadata.get("hard"))
        return send(ModelRequest(model="large" if ctx.metadata["hard"] else "small", thinking="off"))

    async with hooks.session() as session:
        assert (await session.submit("  a proof ")).text == "a proof"
        assert (await session.model_request(ModelRequest(model="?"))).model == "large"
        await session.submit("hi")
        assert (await session.model_request(ModelRequest(model="?"))).model == "small"
    assert models == [True, False]


async def test_a_request_that_a_hook_blocks_is_not_sent() -> None:
    hooks = some_hooks()
    hooks.pre_model_request(name="budget")(lambda ctx: deny("the budget is used up"))

    async with hooks.session() as session:
        with pytest.raises(ModelRequestBlockedError, match="budget is used up"):
            await session.model_request(ModelRequest())


async def test_stop_sends_the_agent_back_once_in_each_turn() -> None:
    hooks = some_hooks()
    hooks.stop(lambda ctx: go_on("run the tests"))

    async with hooks.session() as session:
        await session.submit("one")
        assert [await session.stop(), await session.stop()] == ["run the tests", None]
        await session.submit("two")
        assert await session.stop() == "run the tests"


# --- tools ------------------------------------------------------------------------------------------------------------


async def test_a_denied_call_never_reaches_the_tool_and_the_model_is_told_finally() -> None:
    hooks, ledger = some_hooks(), Ledger()
    hooks.pre_tool_use(name="fridays", tools="pay")(lambda ctx: deny("payments rest on Fridays"))

    async with hooks.session() as session:
        result = await session.call_tool("pay", {"amount": 1}, ledger.pay)

    assert (ledger.paid, result.ran, result.refused) == ([], False, RefusalCode.BLOCKED)
    assert result.content == (
        "Not run: the guard 'fridays' blocks this call. Reason given: \"payments rest on Fridays\". This is final: do "
        "not retry or rephrase the call, and do not try to reach the same end another way. Tell the user."
    )


async def test_every_way_not_to_run_has_a_text_of_its_own() -> None:
    texts = dict[str, str]()
    for name, judge in {
        "blocked": lambda ctx: deny("no"),
        "fault": lambda ctx: 1 / 0,
        "asked": lambda ctx: ask("large"),
        "routed": lambda ctx: route("nowhere"),
    }.items():
        hooks = some_hooks()
        hooks.pre_tool_use(judge)  # pyright: ignore[reportArgumentType, reportCallIssue] - one of them is a fault
        async with hooks.session() as session:
            result = await session.call_tool("pay", {"amount": 1}, Ledger().pay)
        assert not result.ran
        texts[name] = result.content.split(" Reason given")[0]

    assert len(set(texts.values())) == 4
    assert texts["fault"] == "Not run: the check '<lambda>' of this call failed, and a failed check means no."


async def test_the_tool_runs_with_the_rewritten_arguments() -> None:
    hooks, ledger = some_hooks(), Ledger()
    hooks.pre_tool_use(lambda ctx: modify({"amount": 5}).with_context("capped at 5"))

    async with hooks.session() as session:
        result = await session.call_tool("pay", {"amount": 500}, ledger.pay)

    assert ledger.paid == [(5, None)]
    assert (result.content, dict(result.args), result.context) == ("paid 5", {"amount": 5}, ("capped at 5",))


async def test_a_plain_function_can_be_a_tool() -> None:
    async with some_hooks().session() as session:
        assert (await session.call_tool("add", {"a": 1, "b": 2}, lambda a, b: a + b)).content == 3


async def test_an_approved_call_runs_the_stored_arguments_under_its_grant_and_is_settled() -> None:
    hooks, ledger, permit = some_hooks(), Ledger(), Permit()
    hooks.add(Approves(permit, {"amount": 3}))
    requests = list[str]()
    hooks.post_tool_use(priority=-10)(lambda ctx: requests.append(ctx.request_id))

    async with hooks.session() as session:
        result = await session.call_tool("pay", {"amount": 300}, ledger.pay)

    assert ledger.paid == [(3, "g_1")]
    assert (result.request_id, requests) == ("req_1", ["req_1"])
    assert permit.settled == [("succeeded", "paid 3", None)]
    assert current_grant() is None


async def test_a_tool_that_fails_is_told_to_the_model_and_settled_as_failed() -> None:
    hooks, permit = some_hooks(), Permit()
    hooks.add(Approves(permit))
    hooks.post_tool_use_failure(lambda ctx: replace_result(f"({ctx.error})"))

    async def broken(amount: int) -> str:
        raise LookupError("the bank is closed")

    async with hooks.session() as session:
        result = await session.call_tool("pay", {"amount": 3}, broken)

    assert (result.ran, result.failed, result.content) == (True, True, "(LookupError: the bank is closed)")
    assert permit.settled == [("failed", None, "LookupError")]  # the rest is the hook's to show or withhold


@requirement("S-72")
@pytest.mark.parametrize(
    ("raised", "status", "place"),
    [
        (TimeoutError("no answer"), "unknown", None),
        (ToolElsewhere("apr_1"), "pending_elsewhere", Elsewhere(id="apr_1")),
    ],
)
async def test_a_tool_whose_error_may_come_behind_the_deed_is_not_settled_as_failed(
    raised: Exception, status: str, place: Elsewhere | None
) -> None:
    hooks, permit = some_hooks(), Permit()
    hooks.add(Approves(permit))

    async def broken(amount: int) -> str:
        raise raised

    async with hooks.session() as session:
        result = await session.call_tool("pay", {"amount": 3}, broken)

    assert (result.failed, [told for told, *_ in permit.settled], permit.elsewhere) == (True, [status], place)


async def test_a_tool_that_is_cut_off_in_the_middle_is_settled_as_unknown() -> None:
    hooks, permit, started = some_hooks(), Permit(), asyncio.Event()
    hooks.add(Approves(permit))

    async def slow(amount: int) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    async with hooks.session() as session, asyncio.TaskGroup() as group:
        call = group.create_task(session.call_tool("pay", {"amount": 3}, slow))
        await started.wait()
        call.cancel()

    assert [status for status, _, _ in permit.settled] == ["unknown"]


async def test_a_result_is_replaced_or_withheld_but_the_approval_is_settled_with_what_happened() -> None:
    hooks, permit = some_hooks(), Permit()
    hooks.add(Approves(permit))
    hooks.post_tool_use(name="keys")(lambda ctx: deny("it holds a key").hiding_output())

    async with hooks.session() as session:
        result = await session.call_tool("pay", {"amount": 3}, Ledger().pay)

    assert (
        result.content == "The tool has run; the guard 'keys' withholds its result. Reason given: \"it holds a key\"."
    )
    assert (result.ran, result.hidden) == (True, True)
    assert permit.settled == [("succeeded", None, None)]  # what is withheld here is not sent to the gateway either


async def test_a_hook_of_results_that_fails_withholds_the_result() -> None:
    hooks = some_hooks()

    @hooks.post_tool_use
    def scan(ctx: HookContext) -> HookResult:
        raise OSError("no rules")

    async with hooks.session() as session:
        result = await session.call_tool("read", {}, lambda: "the secret")

    assert "the secret" not in result.content
    assert "OSError: no rules" in result.content


# --- sandboxes --------------------------------------------------------------------------------------------------------


class Sandbox:
    def __init__(self, answer: Report | SandboxFault) -> None:
        self.answer = answer
        self.ran: list[tuple[str | None, Any]] = []

    async def run(self, routing: Routing, ctx: HookContext) -> Report:
        self.ran.append((routing.command, dict(ctx.args)))
        if isinstance(self.answer, SandboxFault):
            raise self.answer
        return self.answer


async def test_a_routed_call_runs_in_the_sandbox_and_its_report_is_the_result() -> None:
    sandbox = Sandbox(Report(exit_code=0, stdout="ok\n"))
    hooks, ledger = some_hooks(sandboxes=sandbox), Ledger()
    hooks.pre_tool_use(lambda ctx: route("local", "make test"))

    async with hooks.session() as session:
        result = await session.call_tool("exec", {"command": "make all"}, ledger.pay)

    assert (ledger.paid, sandbox.ran) == ([], [(None, {"command": "make test"})])
    assert (result.ran, result.failed, result.sandbox) == (True, False, "local")
    assert "exit code: 0" in result.content
    assert "ok" in result.content


async def test_a_command_that_fails_in_the_sandbox_is_a_failure_with_its_report() -> None:
    hooks = some_hooks(sandboxes=Sandbox(Report(exit_code=2, stderr="no rule")))
    hooks.pre_tool_use(lambda ctx: route("local"))

    async with hooks.session() as session:
        result = await session.call_tool("exec", {"command": "make"}, Ledger().pay)

    assert (result.ran, result.failed) == (True, True)
    assert "no rule" in result.content


async def test_a_sandbox_that_fails_means_no_and_an_approval_is_settled_as_not_run() -> None:
    permit = Permit()
    hooks = some_hooks(sandboxes=Sandbox(SandboxFault("bwrap is not installed", started=False)))
    hooks.add(Approves(permit))
    hooks.pre_tool_use(lambda ctx: route("local"))
    ledger = Ledger()

    async with hooks.session() as session:
        result = await session.call_tool("exec", {"command": "make"}, ledger.pay)

    assert (result.ran, result.refused, ledger.paid) == (False, RefusalCode.SANDBOX_FAULT, [])
    assert "bwrap is not installed" in result.content
    assert permit.settled == [("failed", None, "not run: bwrap is not installed")]


async def test_a_sandbox_that_fails_half_way_leaves_an_approval_unknown_and_the_model_is_told_so() -> None:
    permit = Permit()
    hooks = some_hooks(sandboxes=Sandbox(SandboxFault("the line broke")))
    hooks.add(Approves(permit))
    hooks.pre_tool_use(lambda ctx: route("remote"))

    async with hooks.session() as session:
        result = await session.call_tool("exec", {"command": "make"}, Ledger().pay)

    assert (result.ran, result.refused) == (True, RefusalCode.SANDBOX_UNKNOWN)
    assert result.content.startswith("The sandbox failed, and it is not known whether this call ran")
    assert permit.settled == [("unknown", None, "the line broke")]


async def test_a_guarded_function_is_not_asked_about_twice() -> None:
    hooks, permit = some_hooks(), Permit()
    hooks.add(Approves(permit))

    @guarded(AsyncGateway("http://127.0.0.1:9", "ak_never_asked_000000"), tool="pay")
    async def pay(amount: int) -> str:
        return f"paid {amount} under {current_grant()}"

    async with hooks.session() as session:
        assert (await session.call_tool("pay", {"amount": 3}, pay)).content == "paid 3 under g_1"


async def test_what_session_start_tags_is_in_every_turn() -> None:
    hooks, seen = some_hooks(), list[Any]()
    hooks.session_start(lambda ctx: allow().with_tags(tier="gold"))
    hooks.user_prompt_submit(lambda ctx: seen.append(dict(ctx.metadata)))

    async with hooks.session() as session:
        await session.submit("one")
        await session.submit("two")

    assert seen == [{"tier": "gold"}, {"tier": "gold"}]


async def test_a_watcher_of_steps_that_fails_loses_nothing() -> None:
    def broken(step: Step) -> None:
        raise OSError("disk full")

    async with some_hooks().session(on_step=broken) as session:
        assert (await session.call_tool("pay", {"amount": 3}, Ledger().pay)).content == "paid 3"


# --- sub-agents and watching ------------------------------------------------------------------------------------------


async def test_a_sub_agent_inherits_its_parents_hooks_and_gate_and_may_add() -> None:
    hooks, ledger = some_hooks(), Ledger()
    hooks.pre_tool_use(name="parents", agents="payer")(lambda ctx: deny("the parent may not") if ctx.args else None)
    seen = list[tuple[str, str]]()
    hooks.pre_tool_use(priority=200, agents="clerk")(lambda ctx: seen.append((ctx.agent, ctx.parent_session)))

    async with (
        hooks.session(agent="payer", session="p") as parent,
        parent.subagent("clerk") as child,
        child.subagent("intern") as grandchild,
    ):
        results = [await each.call_tool("pay", {"amount": 1}, ledger.pay) for each in (child, grandchild)]

    assert [result.ran for result in results] == [False, False]
    assert ledger.paid == []
    assert seen == [("clerk", "p"), ("intern", child.id)]


async def test_the_streaming_side_sees_a_call_from_its_wish_to_its_observation() -> None:
    steps = list[Step]()
    hooks = some_hooks()

    async with hooks.session(on_step=steps.append) as session:
        await session.call_tool("pay", {"amount": 1}, Ledger().pay, call_id="c1")

    assert steps == [
        WillCall(tool_name="pay", call_id="c1", args={"amount": 1}),
        Observed(tool_name="pay", call_id="c1", ran=True, content="paid 1", hidden=False),
    ]
    assert not any(isinstance(step, Suspended) for step in steps)


async def test_steps_can_be_read_as_they_happen_until_the_session_ends() -> None:
    hooks, names = some_hooks(), list[str]()
    listening = asyncio.Event()

    async def listen(session: Any) -> None:
        stream = session.steps()
        listening.set()
        names.extend([type(step).__name__ async for step in stream])

    async with asyncio.TaskGroup() as group, hooks.session() as session:
        group.create_task(listen(session))
        await listening.wait()
        await asyncio.sleep(0)
        await session.call_tool("pay", {"amount": 1}, Ledger().pay)

    assert names == ["WillCall", "Observed"]


async def test_the_gate_comes_last_in_a_session_too() -> None:
    hooks, order = some_hooks(), list[str]()

    class Gate(ApprovalGateHook):
        async def execute(self, ctx: HookContext) -> HookResult | None:
            order.append("gate")
            return None

    hooks.add(Gate(), priority=500)
    hooks.pre_tool_use(priority=0)(lambda ctx: order.append("general"))
    hooks.pre_tool_use(priority=-5)(lambda ctx: order.append("log"))

    async with hooks.session() as session:
        await session.call_tool("pay", {"amount": 1}, Ledger().pay)

    assert order == ["general", "gate", "log"]
    assert [entry.moment for entry in hooks.list()] == [Moment.PRE_TOOL_USE] * 3
