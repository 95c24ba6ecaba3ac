"""Rate limits: so many calls in a window, whoever has a budget of its own, and what happens beyond."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from limits import parse

from assent.hooks.contract.hook import PreToolUseHook
from assent.hooks.contract.verdicts import HookResult, modify
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision
from assent.hooks.engine.registry import HookRegistry
from assent.hooks.ready.rate_limit import RateLimit
from tests.fixtures.patience import HANGS
from tests.sdk.ready.moments import before

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext


class Tally:
    """Counters that let so many through for ever, and remember what they were asked."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}
        self.asked: list[tuple[int, float]] = []

    async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
        self.asked.append((calls, window_seconds))
        if self.taken.get(key, 0) >= calls:
            return 41.2
        self.taken[key] = self.taken.get(key, 0) + 1
        return None


async def passes(hook: RateLimit, ctx: HookContext) -> bool:
    said = await hook.execute(ctx)
    return said is None or (said.allow and said.ask is None)


async def test_beyond_the_limit_a_call_is_denied_with_the_time_to_wait() -> None:
    hook = RateLimit(limit="2/minute", per=["connector", "user"])
    assert await passes(hook, before())
    assert await passes(hook, before())
    said = await hook.execute(before())
    assert said is not None
    assert not said.allow
    wait = said.side_effects["retry_after"]
    assert 1 <= wait <= 60
    assert f"wait {'1 minute' if wait == 60 else f'{wait} second'}" in str(said.error)
    assert "2 calls in 1 minute (connector oa, user wang@acme.example)" in str(said.error)


@pytest.mark.heavy
async def test_the_window_moves_and_the_time_told_is_true() -> None:
    hook = RateLimit(calls=1, window=1)
    assert await passes(hook, before())
    said = await hook.execute(before())
    assert said is not None
    await anyio.sleep(said.side_effects["retry_after"] + 0.1)  # what the test is about: the time that was told
    assert await passes(hook, before())


@pytest.mark.heavy
async def test_a_refused_call_does_not_count() -> None:
    hook = RateLimit(calls=1, window=1)
    assert await passes(hook, before())
    with anyio.fail_after(HANGS):
        while not await passes(hook, before()):  # noqa: ASYNC110 - a window's end has no event; one that counted would put the end off for ever
            await anyio.sleep(0.2)


@pytest.mark.parametrize(
    ("per", "other", "shared"),
    [
        ("connector", {"tool": "crm__list"}, False),
        ("connector", {"tool": "oa__list"}, True),
        ("user", {"user": "chen@acme.example"}, False),
        ("user", {"tool": "crm__list"}, True),
        ("agent", {"agent": "ledger"}, False),
        ("session", {"session": "s-2"}, False),
        ("tool", {"tool": "oa__list"}, False),
        ("tool", {"user": "chen@acme.example"}, True),
        (None, {"tool": "crm__list", "user": "chen@acme.example", "agent": "ledger"}, True),
        (None, {"org": "globex"}, False),
    ],
)
async def test_each_has_a_budget_of_its_own(per: str | None, other: dict[str, str], shared: bool) -> None:
    hook = RateLimit(limit="1/hour", per=[per] if per else [])
    assert await passes(hook, before())
    assert await passes(hook, before(**other)) is not shared


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("mcp__github__issue", "mcp__github__pull", True),
        ("mcp__github__issue", "mcp__slack__post", False),
        ("github__issue", "mcp__github__pull", True),
        ("bash", "exec", True),
        ("bash", "read", False),
    ],
)
async def test_a_connector_is_what_stands_before_the_tools_own_name(one: str, other: str, same: bool) -> None:
    hook = RateLimit(limit="1/hour", per=["connector"])
    assert await passes(hook, before(one))
    assert await passes(hook, before(other)) is not same


async def test_hooks_that_share_counters_share_a_budget_only_by_its_name() -> None:
    tally = Tally()
    one, same, other = (RateLimit(limit="1/hour", counters=tally, budget=name) for name in ("a", "a", "b"))
    assert [await passes(hook, before()) for hook in (one, same, other)] == [True, False, True]


async def test_names_cannot_be_chosen_so_that_two_budgets_become_one() -> None:
    hook = RateLimit(limit="1/hour", per=["agent", "user"])
    assert await passes(hook, before(agent='a", "user": "b', user="c"))
    assert await passes(hook, before(agent="a", user='b", "user": "c'))


async def test_over_the_limit_people_can_be_asked_instead() -> None:
    hook = RateLimit(limit="1/hour", over="ask", counters=Tally())
    assert await passes(hook, before())
    said = await hook.execute(before())
    assert said is not None
    assert said.allow
    assert said.ask == "over the limit of 1 call in 1 hour (connector oa); there is room again in 42 seconds"


class Rewrite(PreToolUseHook):
    """Changes the arguments, so that whoever judged before judges again."""

    name = "rewrite"
    priority = 10

    async def execute(self, ctx: HookContext) -> HookResult | None:
        return modify({"dry_run": True})


@pytest.mark.parametrize("over", ["deny", "ask"])
async def test_a_call_that_is_judged_again_is_counted_once_and_judged_alike(over: str) -> None:
    tally = Tally()
    registry = HookRegistry()
    registry.add(RateLimit(limit="2/hour", over=over, counters=tally))
    registry.add(Rewrite())
    bag: dict[str, Any] = {}
    chain = registry.get("PreToolUse", tool="oa__pay")
    decisions = [(await run_chain(chain, before("oa__pay", call_id=f"c-{n}", metadata=bag))).decision for n in range(3)]
    assert list(tally.taken.values()) == [2]
    assert decisions == [Decision.ALLOW, Decision.ALLOW, Decision.DENY if over == "deny" else Decision.ASK]


async def test_counters_that_fail_mean_no() -> None:
    class Broken:
        async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
            raise ConnectionError("the store is away")

    registry = HookRegistry()
    registry.add(RateLimit(limit="2/hour", counters=Broken()))
    outcome = await run_chain(registry.get("PreToolUse", tool="oa__pay"), before("oa__pay"))
    assert outcome.decision is Decision.DENY
    assert outcome.fault


@pytest.mark.parametrize(
    "limit",
    [
        "10/minute",
        "10 / minute",
        "10 per minute",
        "5 per 2 hours",
        "5/2hour",
        "1/day",
        "7 per 3 months",
        "1/YEAR",
        "3/second",
    ],
)
async def test_the_notation_means_what_the_library_says(limit: str) -> None:
    tally = Tally()
    await RateLimit(limit=limit, counters=tally).execute(before())
    item = parse(limit)
    assert tally.asked == [(item.amount, item.get_expiry())]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "calls: give at least 1"),
        ({"limit": "ten/minute"}, "limit: write one like '10/minute'"),
        ({"limit": 10}, "limit: write one like"),
        ({"limit": "10/minute;100/hour"}, "limit: write one like"),
        ({"limit": "0/minute"}, "limit: give at least 1 call"),
        ({"limit": "1/minute", "calls": 1}, "give limit alone"),
        ({"calls": 1}, "window: give a window"),
        ({"calls": True, "window": 60}, "calls: give at least 1"),
        ({"calls": 1, "window": 0}, "window: give a window of 1 second to a year"),
        (
            {"limit": "1/minute", "per": ["person"]},
            "per: give a list out of connector, user, agent, session, tool, not",
        ),
        ({"limit": "1/minute", "per": "user"}, "per: give a list"),
        ({"limit": "1/minute", "over": "allow"}, "over: give deny or ask"),
    ],
)
def test_a_bad_option_is_named_with_its_mend(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RateLimit(**options)


def test_without_the_library_the_hook_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_limits(name: str, *rest: Any) -> Any:  # the library is installed here: its absence has to be played
        if name.partition(".")[0] == "limits":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_limits)
    with pytest.raises(ImportError, match=r"pip install 'assent\[limits\]'"):
        RateLimit(limit="1/minute")
    assert RateLimit(limit="1/minute", counters=Tally()).name == "rate-limit"
