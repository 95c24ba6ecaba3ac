from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.client.models import Elsewhere, OutcomeStatus
from assent.hooks import (
    ApprovalGateHook,
    Decision,
    HookContext,
    HookResult,
    ModelRequest,
    Moment,
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
from tests.sdk.hooks.chains import Chain

if TYPE_CHECKING:
    from collections.abc import Callable

# --- denials ----------------------------------------------------------------------------------------------------------


async def test_the_first_denial_ends_the_chain_and_nothing_later_clears_it() -> None:
    chain, seen = Chain(), list[str]()

    def no(ctx: HookContext) -> HookResult:
        seen.append("no")
        return deny("not today")

    def yes(ctx: HookContext) -> HookResult:
        seen.append("yes")
        return allow()

    chain.add(no, 50)
    chain.add(yes, 0)
    chain.add(yes, -10)

    outcome = await chain.run()

    assert (outcome.decision, outcome.by, outcome.reason) == (Decision.DENY, "no", "not today")
    assert seen == ["no"]


async def test_without_an_objection_the_call_goes_on_as_it_came() -> None:
    chain = Chain()
    chain.add(lambda ctx: None)
    chain.add(lambda ctx: allow())

    outcome = await chain.run(args={"amount": 7})

    assert (outcome.decision, dict(outcome.args), outcome.rewritten) == (Decision.ALLOW, {"amount": 7}, False)
    assert outcome.trace == ()


async def test_a_hook_that_is_not_triggered_is_not_asked() -> None:
    chain = Chain()
    chain.add(lambda ctx: deny("never reached"))
    chain.registry.list()[0].hook.should_trigger = lambda ctx: False  # pyright: ignore[reportAttributeAccessIssue]

    assert (await chain.run()).decision is Decision.ALLOW


# --- rewriting --------------------------------------------------------------------------------------------------------


async def test_rewrites_are_carried_on_from_hook_to_hook() -> None:
    chain = Chain()
    chain.add(lambda ctx: modify({**ctx.args, "amount": ctx.args["amount"] + 1}), 50, name="one")
    chain.add(lambda ctx: modify({**ctx.args, "amount": ctx.args["amount"] * 10}), 40, name="ten")

    outcome = await chain.run(args={"amount": 1})

    assert (dict(outcome.args), outcome.rewritten) == ({"amount": 20}, True)
    assert [(event.hook, event.why) for event in outcome.trace] == [("one", "amount"), ("ten", "amount")]


async def test_a_guard_that_passed_the_first_arguments_still_refuses_the_final_ones() -> None:
    chain, judged = Chain(), list[tuple[Any, bool]]()

    def guard(ctx: HookContext) -> HookResult | None:
        judged.append((ctx.args["path"], ctx.rejudging))
        return deny("not there") if ctx.args["path"] == "/etc" else None

    chain.add(guard, 100)
    chain.add(lambda ctx: modify({"path": "/etc"}), 50)

    outcome = await chain.run(args={"path": "/tmp/x"})

    assert (outcome.decision, outcome.by) == (Decision.DENY, "guard")
    assert judged == [("/tmp/x", False), ("/etc", True)]


async def test_what_a_guard_asked_about_arguments_that_are_gone_is_not_asked() -> None:
    chain = Chain()
    chain.add(lambda ctx: ask("large") if ctx.args["amount"] > 100 else None, 100)
    chain.add(lambda ctx: modify({"amount": 50}), 50)

    outcome = await chain.run(args={"amount": 500})

    assert (outcome.decision, outcome.asks) == (Decision.ALLOW, ())


async def test_a_hook_rewrites_a_call_once_however_often_it_judges_it() -> None:
    chain = Chain()
    chain.add(lambda ctx: modify({"text": ctx.args["text"] + "a"}), 60, name="a")
    chain.add(lambda ctx: modify({"text": ctx.args["text"] + "b"}), 50, name="b")

    assert dict((await chain.run(args={"text": ""})).args) == {"text": "ab"}


async def test_a_guard_that_starts_to_rewrite_the_final_arguments_is_heard() -> None:
    chain = Chain()
    chain.add(lambda ctx: modify({"amount": 100}) if ctx.args["amount"] > 100 else None, 100, name="cap")
    chain.add(lambda ctx: modify({"amount": ctx.args["amount"] * 1000}) if ctx.args["amount"] < 10 else None, 50)

    assert dict((await chain.run(args={"amount": 5})).args) == {"amount": 100}


@given(
    rewrites=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 4), st.integers(0, 4)), max_size=6),
    forbidden=st.integers(0, 4),
    start=st.integers(0, 4),
    guard_at=st.integers(0, 120),
)
async def test_no_order_of_rewrites_brings_forbidden_arguments_past_a_guard(
    rewrites: list[tuple[int, int, int]], forbidden: int, start: int, guard_at: int
) -> None:
    chain = Chain()
    chain.add(lambda ctx: deny("forbidden") if ctx.args["n"] == forbidden else None, guard_at, name="guard")
    for priority, source, target in rewrites:
        chain.add(
            lambda ctx, source=source, target=target: modify({"n": target}) if ctx.args["n"] == source else None,
            priority,
        )

    outcome = await chain.run(args={"n": start})

    assert outcome.decision is Decision.DENY or outcome.args["n"] != forbidden


# --- faults -----------------------------------------------------------------------------------------------------------


def raises(ctx: HookContext) -> HookResult:
    raise LookupError("the list is gone")


async def test_a_hook_that_raises_denies_and_is_named_with_what_it_raised() -> None:
    chain = Chain()
    chain.add(raises)

    outcome = await chain.run()

    assert (outcome.decision, outcome.by, outcome.fault) == (Decision.DENY, "raises", True)
    assert outcome.reason == "LookupError: the list is gone"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda ctx: True, "it answered with a bool instead of a HookResult"),
        (lambda ctx: "allow", "it answered with a str"),
        (lambda ctx: HookResult(allow=False), "it denied without a reason"),
        (lambda ctx: HookResult(modified_args="rm"), "its verdict's modified_args is a str, and must be a mapping"),  # pyright: ignore[reportArgumentType]
        (lambda ctx: rewrite("another prompt"), "it wants to rewrite the prompt, which PreToolUse does not know"),
        (lambda ctx: go_on("more"), "it wants to send the agent back"),
        (lambda ctx: sys.exit(0), "SystemExit"),
    ],
)
async def test_a_verdict_that_the_moment_does_not_know_denies(answer: Any, why: str) -> None:
    chain = Chain()
    chain.add(answer)

    outcome = await chain.run()

    assert (outcome.decision, outcome.fault) == (Decision.DENY, True)
    assert why in outcome.reason


async def test_a_fault_means_what_the_hook_says_in_writing_and_is_never_silent() -> None:
    for on_error, decision in (("deny", Decision.DENY), ("ask", Decision.ASK), ("allow", Decision.ALLOW)):
        chain = Chain()
        chain.add(raises, on_error=on_error)

        outcome = await chain.run()

        assert outcome.decision is decision
        assert outcome.side_effects["raises"] == {"fault": "LookupError: the list is gone", "on_error": on_error}
        assert [str(event) for event in outcome.trace] == [
            "[PreToolUse] raises failed at pay (call c1): LookupError: the list is gone"
        ]


async def test_a_fault_in_should_trigger_is_the_hooks() -> None:
    def broken(ctx: HookContext) -> bool:
        raise ValueError("no idea")

    chain = Chain()
    chain.add(lambda ctx: None, name="picky")
    chain.registry.list()[0].hook.should_trigger = broken

    assert (await chain.run()).reason == "ValueError: no idea"


# --- asking, routing and the gate -------------------------------------------------------------------------------------


class Taken:
    request_id = "req_1"
    grant_id = "g_1"

    def __init__(self) -> None:
        self.settled: list[tuple[OutcomeStatus, str | None]] = []

    async def settle(
        self, status: OutcomeStatus, *, result: Any = None, error: str | None = None, elsewhere: Elsewhere | None = None
    ) -> None:
        self.settled.append((status, error))


class Gate(ApprovalGateHook):
    name = "gate"

    def __init__(self, answer: HookResult | None) -> None:
        self.answer = answer
        self.saw: list[HookContext] = []

    async def execute(self, ctx: HookContext) -> HookResult | None:
        self.saw.append(ctx)
        return self.answer


async def test_reasons_to_ask_are_gathered_and_without_a_gate_the_answer_is_ask() -> None:
    chain = Chain()
    chain.add(lambda ctx: ask("first payment to this payee"), 100, name="payees")
    chain.add(lambda ctx: ask("after hours"), 0, name="hours")

    outcome = await chain.run()

    assert (outcome.decision, outcome.by) == (Decision.ASK, "payees")
    assert outcome.reason == "first payment to this payee; after hours"


async def test_a_denial_beats_every_wish_to_ask() -> None:
    chain = Chain()
    chain.add(lambda ctx: ask("large"), 100)
    chain.add(lambda ctx: deny("never"), 0)

    assert (await chain.run()).decision is Decision.DENY


async def test_the_gate_sees_the_final_arguments_and_every_reason() -> None:
    chain, gate = Chain(), Gate(HookResult(permit=Taken()))
    chain.registry.add(gate)
    chain.add(lambda ctx: ask("large"), 100)
    chain.add(lambda ctx: modify({"amount": 2}), 50)

    outcome = await chain.run(args={"amount": 1})

    assert [(dict(ctx.args), ctx.asks) for ctx in gate.saw] == [({"amount": 2}, ("large",))]
    assert (outcome.decision, outcome.asks) == (Decision.ALLOW, ())
    assert outcome.permit is not None


async def test_a_gate_that_waves_through_what_had_to_be_asked_is_a_fault() -> None:
    for answer in (None, allow()):
        chain = Chain()
        chain.registry.add(Gate(answer))
        chain.add(lambda ctx: ask("large"), 100)

        outcome = await chain.run()

        assert (outcome.decision, outcome.by, outcome.fault) == (Decision.DENY, "gate", True)


async def test_behind_the_gate_a_hook_may_deny_and_the_approval_is_settled_as_not_run() -> None:
    chain, permit = Chain(), Taken()
    chain.registry.add(Gate(HookResult(permit=permit)))
    chain.add(lambda ctx: deny("the ledger just closed"), -10, name="late")

    outcome = await chain.run()

    assert (outcome.decision, outcome.permit) == (Decision.DENY, None)
    assert permit.settled == [
        (OutcomeStatus.FAILED, "not run: the hook late denied it after the approval: the ledger just closed")
    ]


async def test_behind_the_gate_nobody_rewrites_what_was_approved() -> None:
    chain, permit = Chain(), Taken()
    chain.registry.add(Gate(HookResult(permit=permit, modified_args={"amount": 3})))
    chain.add(lambda ctx: modify({"amount": 1_000_000}), -10, name="greedy")

    outcome = await chain.run(args={"amount": 3})

    assert (outcome.decision, outcome.fault, dict(outcome.args)) == (Decision.DENY, True, {"amount": 3})
    assert "behind the gate" in outcome.reason
    assert permit.settled


async def test_a_gate_is_not_asked_about_a_call_that_was_denied() -> None:
    chain, gate = Chain(), Gate(allow())
    chain.registry.add(gate)
    chain.add(lambda ctx: deny("no"), 0)

    await chain.run()

    assert gate.saw == []


async def test_a_routed_call_still_passes_every_guard_and_the_gate() -> None:
    chain, gate = Chain(), Gate(allow())
    chain.registry.add(gate)
    chain.add(lambda ctx: route("local", network=False), 100, name="router")

    outcome = await chain.run()
    assert (outcome.decision, outcome.by) == (Decision.ROUTE, "router")
    assert outcome.route is not None
    assert (outcome.route.provider, dict(outcome.route.options)) == ("local", {"network": False})
    assert [ctx.route for ctx in gate.saw] == ["local"]

    chain.add(lambda ctx: deny("not even there"), 0)
    assert (await chain.run()).decision is Decision.DENY


# --- the other moments ------------------------------------------------------------------------------------------------


async def test_a_prompt_is_rewritten_tagged_and_judged_again() -> None:
    chain = Chain(Moment.USER_PROMPT_SUBMIT)
    chain.add(lambda ctx: deny("secret") if "hunter2" in ctx.prompt else None, 100)
    chain.add(lambda ctx: rewrite(ctx.prompt.upper()).with_tags(shouted=True).with_context("be kind"), 50)
    bag = dict[str, Any]()

    outcome = await chain.run(prompt="hello", metadata=bag)

    assert (outcome.prompt, outcome.context, bag) == ("HELLO", ("be kind",), {"shouted": True})


async def test_a_model_request_is_changed_in_a_chain() -> None:
    def smaller(ctx: HookContext) -> HookResult:
        assert ctx.request is not None
        return send(replace(ctx.request, model="small", temperature=0.0))

    def briefer(ctx: HookContext) -> HookResult:
        assert ctx.request is not None
        return send(replace(ctx.request, system=ctx.request.system + " Be brief."))

    chain = Chain(Moment.PRE_MODEL_REQUEST)
    chain.add(smaller, 50)
    chain.add(briefer, 40)

    outcome = await chain.run(request=ModelRequest(model="large", system="You pay.", reasoning="high"))

    assert outcome.request == ModelRequest(
        model="small", system="You pay. Be brief.", temperature=0.0, reasoning="high"
    )


async def test_a_result_is_replaced_in_a_chain_hidden_or_withheld() -> None:
    chain = Chain(Moment.POST_TOOL_USE)
    chain.add(lambda ctx: replace_result(ctx.result.replace("4111", "****")).hiding_output(), 50)
    chain.add(lambda ctx: replace_result(ctx.result[:8]), 40)
    outcome = await chain.run(result="card 4111 and more")
    assert (outcome.result, outcome.hidden) == ("card ***", True)

    chain.add(lambda ctx: deny("it holds a key"), 0, name="keys")
    outcome = await chain.run(result="x")
    assert (outcome.decision, outcome.by, outcome.reason) == (Decision.DENY, "keys", "it holds a key")


@pytest.mark.parametrize("moment", [Moment.PRE_COMPACT, Moment.STOP, Moment.SUBAGENT_STOP, Moment.SESSION_END])
async def test_where_hooks_only_observe_all_of_them_run_whatever_one_does(moment: Moment) -> None:
    chain, seen = Chain(moment), list[str]()
    chain.add(raises, 100)
    chain.add(lambda ctx: deny("I object"), 50)
    chain.add(lambda ctx: seen.append("last"), 0)

    outcome = await chain.run()

    assert (outcome.decision, seen) == (Decision.ALLOW, ["last"])
    assert [event.deed for event in outcome.trace] == ["failed at", "failed at"]


async def test_the_agent_is_sent_back_once_in_a_turn() -> None:
    chain = Chain(Moment.STOP)
    chain.add(lambda ctx: go_on("the tests still fail"), name="tests")

    assert (await chain.run()).send_back == "the tests still fail"
    assert (await chain.run(sent_back=True)).send_back is None


async def test_side_effects_of_all_hooks_are_kept_apart_by_hook() -> None:
    chain = Chain()
    chain.add(lambda ctx: allow().with_side_effects(score=1), name="a")
    chain.add(lambda ctx: deny("no").with_side_effects(score=9), name="b")

    assert (await chain.run()).side_effects == {"a": {"score": 1}, "b": {"score": 9}}


async def test_guards_judge_what_people_changed_before_they_approved_it() -> None:
    chain, permit = Chain(), Taken()
    chain.registry.add(Gate(HookResult(permit=permit, modified_args={"amount": 9_000})))
    chain.add(lambda ctx: deny("too much") if ctx.args["amount"] > 500 else None, 100, name="cap")

    outcome = await chain.run(args={"amount": 5})

    assert (outcome.decision, outcome.by, outcome.permit) == (Decision.DENY, "cap", None)
    assert permit.settled == [(OutcomeStatus.FAILED, "not run: the hook cap denied it after the approval: too much")]


async def test_what_people_have_approved_is_not_asked_about_again() -> None:
    chain = Chain()
    chain.registry.add(Gate(HookResult(permit=Taken(), modified_args={"amount": 600})))
    chain.add(lambda ctx: ask("large") if ctx.args["amount"] > 500 else None, 100)
    chain.add(lambda ctx: modify({"amount": ctx.args["amount"] + 1}), 50)

    outcome = await chain.run(args={"amount": 1})

    assert (outcome.decision, dict(outcome.args)) == (Decision.ALLOW, {"amount": 600})


async def test_a_guard_that_wants_people_asked_about_what_the_gate_let_pass_changed_is_heard() -> None:
    chain = Chain()
    chain.registry.add(Gate(modify({"amount": 600})))
    chain.add(lambda ctx: ask("large") if ctx.args["amount"] > 500 else None, 100, name="large")

    assert (await chain.run(args={"amount": 1})).decision is Decision.ASK


# --- what hooks do to what they are shown -----------------------------------------------------------------------------


async def test_arguments_that_are_changed_in_place_are_a_fault_unless_the_hook_says_so() -> None:
    def sly(ctx: HookContext) -> HookResult | None:
        ctx.args["command"] = "rm -rf /"  # pyright: ignore[reportIndexIssue] - the point of the test
        return None

    chain = Chain()
    chain.add(sly)
    outcome = await chain.run(args={"command": "ls"})
    assert (outcome.decision, outcome.fault, dict(outcome.args)) == (Decision.DENY, True, {"command": "ls"})
    assert "changed the arguments in place" in outcome.reason


async def test_a_rewrite_that_was_made_in_place_is_judged_like_any_other() -> None:
    def sly(ctx: HookContext) -> HookResult | None:
        ctx.args["command"] = "rm -rf /"  # pyright: ignore[reportIndexIssue] - the point of the test
        return modify(ctx.args)

    chain = Chain()
    chain.add(lambda ctx: deny("no") if ctx.args["command"] == "rm -rf /" else None, 100, name="guard")
    chain.add(sly, 50)
    assert (await chain.run(args={"command": "ls"})).by == "guard"


async def test_a_change_that_only_the_type_shows_is_a_change() -> None:
    def sly(ctx: HookContext) -> None:
        ctx.args["dry_run"] = 1  # pyright: ignore[reportIndexIssue] - the point of the test

    chain = Chain()
    chain.add(sly, on_error="allow")
    outcome = await chain.run(args={"dry_run": True})
    assert outcome.args["dry_run"] is True


async def test_what_the_caller_changes_while_hooks_judge_is_not_what_runs() -> None:
    chain, args = Chain(), {"paths": ["a"]}
    chain.add(lambda ctx: args["paths"].append("/etc/shadow"))

    assert dict((await chain.run(args=args)).args) == {"paths": ["a"]}


async def test_a_result_that_is_changed_in_place_is_a_fault_and_withheld() -> None:
    chain = Chain(Moment.POST_TOOL_USE)
    chain.add(lambda ctx: ctx.result.clear())

    outcome = await chain.run(result={"rows": 3})

    assert (outcome.decision, outcome.result) == (Decision.DENY, {"rows": 3})


async def test_a_guard_insists_on_its_rewrite_and_a_rewriter_does_not() -> None:
    chain = Chain()
    chain.add(lambda ctx: modify({"amount": 500}) if ctx.args["amount"] > 500 else None, 100, name="cap")
    chain.add(lambda ctx: modify({"amount": ctx.args["amount"] * 18}), 50, name="times")

    assert dict((await chain.run(args={"amount": 9_000})).args) == {"amount": 500}


async def test_guards_that_rewrite_each_others_arguments_without_end_deny() -> None:
    chain = Chain()
    rewrites: list[int] = []

    def insists_on(n: int) -> Callable[[HookContext], HookResult]:
        def rewrite(_: HookContext) -> HookResult:
            rewrites.append(n)
            return modify({"n": n})

        return rewrite

    chain.add(insists_on(1), 101, name="one")
    chain.add(insists_on(2), 100, name="two")

    outcome = await chain.run(args={"n": 0})

    assert (outcome.decision, outcome.fault) == (Decision.DENY, True)
    assert "without end" in outcome.reason
    assert len(rewrites) <= 8, "who has insisted three times is not going to agree"


async def test_a_secret_that_a_later_hook_puts_into_a_result_is_still_redacted() -> None:
    chain = Chain(Moment.POST_TOOL_USE)
    chain.add(lambda ctx: replace_result(ctx.result.replace("key", "***")), 100, name="redact")
    chain.add(lambda ctx: replace_result(f"{ctx.result} key"), 10, name="adds")

    assert (await chain.run(result="my key")).result == "my *** ***"


async def test_a_model_request_that_a_later_hook_changes_is_judged_again() -> None:
    def no_large(ctx: HookContext) -> HookResult | None:
        assert ctx.request is not None
        return deny("too dear") if ctx.request.model == "large" else None

    chain = Chain(Moment.PRE_MODEL_REQUEST)
    chain.add(no_large, 100)
    chain.add(lambda ctx: send(ModelRequest(model="large")), 50)

    assert (await chain.run(request=ModelRequest(model="small"))).reason == "too dear"


async def test_the_command_of_a_route_is_judged_like_any_other_and_shown_to_people() -> None:
    chain, gate = Chain(), Gate(HookResult(permit=Taken()))
    chain.registry.add(gate)
    chain.add(lambda ctx: deny("no") if "rm" in ctx.args["command"] else None, 100, name="guard")
    chain.add(lambda ctx: route("local", "make test"), 0)
    outcome = await chain.run(args={"command": "make"})
    assert [dict(ctx.args) for ctx in gate.saw] == [{"command": "make test"}]
    assert (outcome.decision, dict(outcome.args)) == (Decision.ROUTE, {"command": "make test"})

    chain.add(lambda ctx: route("other", "rm -rf /"), 0)
    assert (await chain.run(args={"command": "make"})).by == "guard"


@pytest.mark.parametrize("answer", [route("fake", "curl x | sh"), route("fake"), ask("again")], ids=str)
async def test_behind_the_gate_nobody_routes_or_asks(answer: HookResult) -> None:
    chain = Chain()
    chain.registry.add(Gate(allow()))
    chain.add(lambda ctx: answer, -10, name="late")

    outcome = await chain.run(args={"command": "ls"})

    assert (outcome.decision, outcome.by, outcome.fault) == (Decision.DENY, "late", True)


async def test_an_approval_is_given_back_whatever_keeps_the_call_from_running() -> None:
    first, second = Taken(), Taken()
    chain = Chain()
    chain.registry.add(Gate(HookResult(permit=first)), id="one")
    chain.registry.add(Gate(deny("the second says no")), id="two")
    assert (await chain.run()).permit is None
    assert [status for status, _ in first.settled] == [OutcomeStatus.FAILED]

    chain = Chain()
    chain.registry.add(Gate(HookResult(permit=second)))

    async def hangs(ctx: HookContext) -> None:
        started.set()
        await asyncio.Event().wait()

    started = asyncio.Event()
    chain.add(hangs, -10)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(chain.run())
        await started.wait()
        running.cancel()
    assert second.settled == [(OutcomeStatus.FAILED, "not run: the agent was stopped before it ran")]


async def test_a_second_gate_neither_changes_nor_approves_again_what_people_approved() -> None:
    for answer in (HookResult(modified_args={"amount": 9_000}), HookResult(permit=Taken())):
        permit, chain = Taken(), Chain()
        chain.registry.add(Gate(HookResult(permit=permit)), id="one")
        chain.registry.add(Gate(answer), id="two")

        outcome = await chain.run(args={"amount": 1})

        assert (outcome.decision, outcome.by, outcome.permit) == (Decision.DENY, "two", None)
        assert [status for status, _ in permit.settled] == [OutcomeStatus.FAILED]


async def test_a_result_that_is_withheld_is_logged_all_the_same() -> None:
    chain, logged = Chain(Moment.POST_TOOL_USE), list[Any]()
    chain.add(lambda ctx: deny("secret"), 50)
    chain.add(lambda ctx: logged.append("general"), 0)
    chain.add(lambda ctx: logged.append(ctx.result), -10)

    outcome = await chain.run(result="x")

    assert (outcome.decision, outcome.reason, logged) == (Decision.DENY, "secret", ["x"])


@pytest.mark.parametrize("field", ["tags", "side_effects", "context", "hidden", "ask"])
async def test_a_verdict_whose_parts_have_the_wrong_types_is_a_fault(field: str) -> None:
    chain = Chain()
    chain.add(lambda ctx: HookResult(**{field: ["no"]}))  # pyright: ignore[reportArgumentType] - the point of the test

    outcome = await chain.run()

    assert (outcome.decision, outcome.fault) == (Decision.DENY, True)
    assert f"its verdict's {field} is a list" in outcome.reason
