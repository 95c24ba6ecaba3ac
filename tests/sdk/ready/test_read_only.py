"""Read-only: what writes, or does not say, stays out as long as the switch is on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision
from assent.hooks.engine.registry import HookRegistry
from assent.hooks.ready.read_only import ReadOnlyGuard, Switch
from tests.sdk.ready.moments import before

SINCE = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("writes", "tool", "passes"),
    [
        (None, "oa__list", False),
        ({}, "read", False),
        ({"read": False}, "Read", True),
        ({"bash": False}, "exec", True),
        ({"exec": True}, "Bash", False),
        ({"oa__*": True, "oa__list": False}, "oa__list", True),
        ({"oa__*": False, "oa__pay": True}, "oa__pay", False),
        ({"oa__*": False}, "oa__list", True),
        ({"oa__*": False, "*_pay": True}, "oa__purchase_pay", False),
        ({"oa__*": False}, "crm__list", False),
        ({"read": False}.get, "read", True),
        ({"read": False}.get, "write", False),
        (lambda tool: 0, "read", False),
    ],
)
async def test_only_what_is_declared_to_read_passes_while_it_is_on(writes: Any, tool: str, passes: bool) -> None:
    said = await ReadOnlyGuard(on=True, writes=writes).execute(before(tool))
    assert (said is None or said.allow) is passes


async def test_while_it_is_off_everything_passes() -> None:
    assert await ReadOnlyGuard().execute(before("write")) is None
    assert await ReadOnlyGuard(is_on=lambda ctx: Switch(on=False, by="wang")).execute(before("write")) is None


async def test_the_switch_is_asked_at_each_call_for_its_org_and_agent() -> None:
    standing: dict[str, bool] = {}

    async def is_on(ctx: Any) -> bool:
        return standing.get(ctx.agent, False)

    guard = ReadOnlyGuard(is_on=is_on)
    assert await guard.execute(before("write", agent="shop")) is None
    standing["shop"] = True
    assert await guard.execute(before("write", agent="shop")) is not None
    assert await guard.execute(before("write", agent="ledger")) is None


async def test_the_denial_says_who_switched_it_on_when_and_why() -> None:
    guard = ReadOnlyGuard(is_on=lambda ctx: Switch(on=True, by="wang@acme.example", at=SINCE, reason="audit week"))
    said = await guard.execute(before("Bash"))
    assert said is not None
    assert said.error is not None
    assert "switched on by wang@acme.example on 2026-03-01 at 09:30 UTC: audit week" in said.error
    assert "Bash writes" in said.error
    plain = await ReadOnlyGuard(on=True).execute(before("Bash"))
    assert plain is not None
    assert "switched on" not in str(plain.error)


@pytest.mark.parametrize("answer", [None, "off", 0, 1])
async def test_a_switch_that_cannot_be_read_means_no(answer: Any) -> None:
    registry = HookRegistry()
    registry.add(ReadOnlyGuard(is_on=lambda ctx: answer))
    outcome = await run_chain(registry.get("PreToolUse", tool="write"), before("write"))
    assert outcome.decision is Decision.DENY
    assert outcome.fault
    assert f"is_on answered {answer!r}" in outcome.reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on": "yes"}, "on: give true or false"),
        ({"on": True, "is_on": lambda ctx: True}, "give one of them"),
        ({"writes": {"read": "no"}}, "writes: give true or false for each tool"),
        ({"writes": ["read"]}, "writes: give true or false for each tool"),
    ],
)
def test_a_bad_option_is_named_with_its_mend(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ReadOnlyGuard(**options)
