"""R1: a ruling over 500 rules, against the bare evaluation of the conditions that it looks at."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import cel

from app.domain.call.tool_call import ToolCall
from app.domain.rules.policy import Ask, judge
from app.policies.file.policy_file import load_policy
from benchmarks.processes import AGENT, ORG
from benchmarks.results import Row, below, times
from benchmarks.run import known

if TYPE_CHECKING:
    from app.domain.rules.policy import Policy
    from benchmarks.run import Run

RULES = 500
_TOOLS = 50
_LIMIT = 300e-6  # seconds
_ARGUMENTS = {"amount": "80000.00", "currency": "CNY", "payee": "Acme", "n": 100_000}


def _file(tools: int) -> str:
    """Write 500 rules over some tools; none of the conditions is true of the call that is judged."""
    names = [f"tool_{index}" for index in range(tools)]
    lines = [
        f"org: {ORG}",
        "default: ask",
        "people: {ann@acme.example: {}}",
        "groups: {finance: [ann@acme.example]}",
        "ask: {stages: [{of: [finance]}], channels: [api]}",
        f"tools: {{{', '.join(f'{name}: {{}}' for name in names)}}}",
        "rules:",
    ]
    for index in range(RULES):
        when = f'args.currency == "CNY" && args.n < {index}'
        lines.append(f"  - {{id: r{index}, tools: [{names[index % tools]}], when: '{when}', then: allow}}")
    return "\n".join(lines)


def _policy(tools: int) -> Policy:
    return load_policy(_file(tools), environ={}, channel_types={}).policy


async def measure_rules(run: Run) -> list[Row]:
    """R1, R1b: the default's answer after every rule that is about the tool was looked at."""
    spread, single = _policy(_TOOLS), _policy(1)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    turns = max(20, int(1_000 * min(1.0, run.sizes.seconds)))

    def span(policy: Policy, looked_at: int) -> float:
        call = ToolCall(
            org=ORG,
            agent=AGENT,
            session="s",
            call_id=None,
            tool="tool_0",
            arguments=dict(_ARGUMENTS),
            requester=None,
            owner=None,
            claim=None,
        )
        began = time.perf_counter()
        for _ in range(turns):
            ruling = judge(policy, call, now=now)
            assert isinstance(ruling, Ask)
            assert len(ruling.trace) == looked_at + 1
        return (time.perf_counter() - began) / turns

    def bare(policy: Policy) -> float:
        programs = [cel.compile(rule.when.source) for rule in policy.rules_for("tool_0") if rule.when]
        began = time.perf_counter()
        for _ in range(turns):
            context = cel.Context(variables={"args": dict(_ARGUMENTS)})
            assert not any(program.execute(context) for program in programs)
        return (time.perf_counter() - began) / turns

    async def of(value: float) -> float:
        return value

    taken = await run.medians(
        "R1 rules",
        "µs",
        {
            "10 of 500": lambda: of(span(spread, RULES // _TOOLS)),
            "all 500": lambda: of(span(single, RULES)),
            "bare 10": lambda: of(bare(spread)),
            "bare 500": lambda: of(bare(single)),
        },
        scale=1e6,
    )
    return [
        _row(
            "R1", f"a ruling over {RULES} rules, 10 of them about the tool", known(taken["10 of 500"]), taken["bare 10"]
        ),
        _row("R1b", f"a ruling over {RULES} rules, all about one tool", known(taken["all 500"]), taken["bare 500"]),
    ]


def _row(goal: str, title: str, value: float, bare: float | None) -> Row:
    return Row(
        id=goal,
        title=title,
        measured=f"{value * 1e6:.0f} µs",
        reference=f"those conditions alone, in bare CEL {known(bare) * 1e6:.0f} µs",
        ratio=times(value, bare),
        must=(below(value, _LIMIT, "300 µs"),),
        stretch=(below(value, _LIMIT / 6, "50 µs"),),
        figures={"assent": value, "cel": bare},
    )
