from __future__ import annotations

import re

import pytest

from assent.hooks import (
    ApprovalGateHook,
    Hook,
    HookContext,
    HookRegistry,
    HookResult,
    Hooks,
    Moment,
    NeverMatchesError,
    OnError,
    PostToolUseHook,
    PreToolUseHook,
    StopHook,
    allow,
)
from assent.hooks.ready.audit_log import AuditLog
from assent.hooks.ready.redact import Redact
from assent.hooks.ready.result_truncate import ResultTruncate


class Watch(PreToolUseHook):
    name = "watch"
    description = "sees everything"

    async def execute(self, ctx: HookContext) -> HookResult | None:
        return None


class Gate(ApprovalGateHook):
    name = "gate"

    async def execute(self, ctx: HookContext) -> HookResult | None:
        return allow()


class AtTheEnd(StopHook):
    async def execute(self, ctx: HookContext) -> HookResult | None:
        return None


def ids(registry: HookRegistry, tool: str = "pay", agent: str = "payer") -> list[str]:
    return [entry.id for entry in registry.get("PreToolUse", tool=tool, agent=agent)]


def test_higher_priority_runs_first_and_equals_run_as_they_were_registered() -> None:
    registry = HookRegistry()
    for name, priority in (("a", 0), ("b", 100), ("c", 0), ("d", -5), ("e", 50)):
        registry.add(Watch(), id=name, priority=priority)

    assert ids(registry) == ["b", "e", "a", "c", "d"]


@pytest.mark.parametrize("priority", [1000, 0, -1000])
def test_the_gate_stands_between_the_general_hooks_and_the_logs_whatever_its_priority(priority: int) -> None:
    registry = HookRegistry()
    registry.add(Gate(), priority=priority)
    registry.add(Watch(), id="log", priority=-1)
    registry.add(Watch(), id="general", priority=0)

    assert ids(registry) == ["general", "gate", "log"]


def test_an_id_is_unique_and_says_who_has_it() -> None:
    registry = HookRegistry()
    registry.add(Watch(), id="mine")

    with pytest.raises(ValueError, match=r"the id 'mine' is taken \(by watch\)"):
        registry.add(Watch(), id="mine")


def test_a_hook_that_is_added_again_without_an_id_gets_one_of_its_own() -> None:
    registry = HookRegistry()

    assert [registry.add(Watch()) for _ in range(3)] == ["watch", "watch-2", "watch-3"]
    registry.remove("watch-2")
    assert registry.add(Watch()) == "watch-2"


def test_removing_takes_effect_at_once_and_an_unknown_id_is_an_error_that_names_the_others() -> None:
    registry = HookRegistry()
    registry.add(Watch(), id="one")
    registry.add(Watch(), id="two")
    assert ids(registry) == ["one", "two"]

    registry.remove("one")

    assert ids(registry) == ["two"]
    with pytest.raises(KeyError, match="there are: two"):
        registry.remove("one")


def test_clear_takes_everything_out() -> None:
    registry = HookRegistry()
    registry.add(Watch())
    assert ids(registry)

    registry.clear()

    assert ids(registry) == []
    assert registry.list() == ()


def test_list_shows_by_moment_what_runs_and_what_a_fault_would_mean() -> None:
    registry = HookRegistry()
    registry.add(AtTheEnd())
    registry.add(Watch(), on_error="ask", timeout=5)

    shown = [(entry.moment, entry.name, entry.on_error, entry.timeout) for entry in registry.list()]
    assert shown == [
        (Moment.PRE_TOOL_USE, "watch", OnError.ASK, 5),
        (Moment.STOP, "AtTheEnd", OnError.ALLOW, 30),
    ]


@pytest.mark.parametrize(
    ("tools", "tool", "runs"),
    [
        ("pay", "pay", True),
        ("pay", "pay_back", False),
        ("pay*", "pay_back", True),
        (["read", "pay"], "pay", True),
        (["read", "pay"], "write", False),
        (re.compile(r"oa__.*_pay"), "oa__purchase_pay", True),
        (re.compile(r"oa__"), "oa__purchase_pay", False),
        ("bash", "exec", True),
        ("exec", "Bash", True),
        ("exec", "run_shell_command", True),
        ("apply-patch", "apply_patch", True),
        ("apply_patch", "apply-patch", True),
        ("PAY", "pay", False),
        ("*", "anything", True),
        (None, "anything", True),
    ],
)
def test_a_hook_runs_for_the_tools_that_its_matcher_names(tools: object, tool: str, runs: bool) -> None:
    registry = HookRegistry()
    registry.add(Watch(), tools=tools)  # pyright: ignore[reportArgumentType] - a table of different shapes

    assert ids(registry, tool=tool) == (["watch"] if runs else [])


def test_the_table_of_tool_names_can_be_extended() -> None:
    registry = HookRegistry(known_tools=["our_shell"], aliases={"our-shell": "exec"})
    registry.add(Watch(), tools="exec")

    assert ids(registry, tool="our_shell") == ["watch"]


def test_a_hook_runs_for_its_agents_and_for_those_that_descend_from_them() -> None:
    registry = HookRegistry()
    registry.add(Watch(), id="for-payer", agents="pay*")
    registry.add(Watch(), id="for-clerk", agents=["clerk"])

    assert ids(registry, agent="payer") == ["for-payer"]
    child = registry.get(Moment.PRE_TOOL_USE, tool="pay", agent=("clerk", "payer"))
    assert [entry.id for entry in child] == ["for-payer", "for-clerk"]


def test_a_matcher_that_can_never_match_is_refused_with_the_valid_names_and_the_nearest() -> None:
    registry = HookRegistry(known_tools=["oa__purchase_pay", "read_file"])

    with pytest.raises(NeverMatchesError, match="did you mean 'oa__purchase_pay'") as refused:
        registry.add(Watch(), tools=["read_file", "oa__purchase_pya"])
    assert "read_file" in str(refused.value)
    assert registry.list() == ()
    with pytest.raises(NeverMatchesError):
        registry.add(Watch(), tools=re.compile("ao__.*"))
    with pytest.raises(NeverMatchesError):
        registry.add(Watch(), tools="ao__*")


def test_an_agent_matcher_is_checked_where_the_agents_are_known() -> None:
    registry = HookRegistry(known_agents=["payer"])

    with pytest.raises(NeverMatchesError, match="did you mean 'payer'"):
        registry.add(Watch(), agents="payor")


def test_the_shells_and_file_tools_are_known_without_being_listed() -> None:
    registry = HookRegistry(known_tools=["pay"])

    registry.add(Watch(), tools=["bash", "read", "apply-patch"])

    assert ids(registry, tool="Bash") == ["watch"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"tools": []}, "an empty list of tools matches nothing"),
        ({"timeout": 0}, "more than 0"),
        ({"timeout": float("inf")}, "at most"),
        ({"on_error": "maybe"}, "maybe"),
    ],
)
def test_a_bad_setting_is_refused_at_registration(settings: dict[str, object], why: str) -> None:
    registry = HookRegistry()

    with pytest.raises(ValueError, match=why):
        registry.add(Watch(), **settings)  # pyright: ignore[reportArgumentType] - the point of the test
    assert registry.list() == ()


def test_a_hook_about_no_tool_has_no_tool_matcher() -> None:
    with pytest.raises(ValueError, match="Stop is about no tool"):
        HookRegistry().add(AtTheEnd(), tools="pay")


def test_where_nothing_can_be_stopped_a_fault_cannot_stop_anything() -> None:
    with pytest.raises(ValueError, match="at Stop nothing can be stopped"):
        HookRegistry().add(AtTheEnd(), on_error="deny")


def test_people_are_asked_before_a_tool_runs_and_not_after() -> None:
    class Look(PostToolUseHook):
        async def execute(self, ctx: HookContext) -> HookResult | None:
            return None

    with pytest.raises(ValueError, match="on_error 'ask' is for PreToolUse"):
        HookRegistry().add(Look(), on_error="ask")


def test_a_gate_that_fails_never_lets_pass() -> None:
    with pytest.raises(ValueError, match="an approval gate that fails lets nothing pass"):
        HookRegistry().add(Gate(), on_error="allow")


def test_what_is_no_hook_is_refused() -> None:
    with pytest.raises(TypeError, match="is no hook"):
        HookRegistry().add(lambda ctx: None)  # pyright: ignore[reportArgumentType] - the point of the test


def test_names_from_outside_do_not_fill_the_memory() -> None:
    registry = HookRegistry()
    registry.add(Watch())

    for number in range(10_050):
        registry.get(Moment.PRE_TOOL_USE, tool=f"tool-{number}")

    assert len(registry._chains) <= 10_000


# --- siblings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hook", [Redact(), ResultTruncate(), AuditLog()])
def test_a_hook_on_results_is_there_for_failures_too(hook: Hook) -> None:
    registry = HookRegistry()
    added = registry.add(hook, id="mine", tools="pay", priority=42, timeout=3.0, on_error="allow", origin="file:3")
    (found,) = registry.get(Moment.POST_TOOL_USE_FAILURE, tool="pay")
    assert (added, found.id, found.hook) == ("mine", "mine-failures", hook.sibling)
    assert (found.priority, found.timeout, found.on_error, found.origin) == (42, 3.0, OnError.ALLOW, "file:3")
    assert not registry.get(Moment.POST_TOOL_USE_FAILURE, tool="read")
    registry.remove("mine")
    assert not registry.list()
    assert registry.add(hook, id="mine") == "mine"


async def test_what_a_failing_tool_says_is_redacted_where_redact_was_added() -> None:
    hooks = Hooks()
    hooks.add(Redact())

    def failing() -> None:
        raise RuntimeError("401 with token ghp_" + "a" * 36)

    async with hooks.session(agent="shop") as session:
        result = await session.call_tool("pay", {}, failing)
    assert result.failed
    assert "ghp_" not in result.content
    assert "[redacted: GitHub token]" in result.content
