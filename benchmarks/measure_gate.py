"""P7 to P9: what a call costs that a rule allows at once, over HTTP, in process, and through the hook command."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import assent
from app.domain.call.tool_call import ToolCall
from app.domain.rules.policy import Allow, judge
from app.policies.file.policy_book import PolicyBook
from benchmarks import references
from benchmarks.lean_http import encode, rate
from benchmarks.processes import AGENT, CONFIG, ORG, PAY, gateway
from benchmarks.results import Row, at_least, at_most, below, milliseconds, per_second, percentile, times
from benchmarks.run import known
from benchmarks.talks import CALL

if TYPE_CHECKING:
    from benchmarks.run import Run

_READ = {"tool": "read_ledger", "arguments": {"month": "2026-03"}}
_SMALL = {"tool": "pay", "arguments": {**PAY, "amount": 1200}}
_CONCURRENT = 32


async def measure_allow(run: Run) -> list[Row]:
    """P7, P7b: allowed calls a second over HTTP, without and with a durable audit row."""
    sizes, databases = run.sizes, run.databases
    server = await gateway(databases.folder / "allow", databases.new("sqlite"))
    async with server, references.floor_server(databases.new("sqlite", migrated=False)) as floor:
        unrecorded = encode("POST", "/v1/requests", key=server.keys.agent, body=_READ)
        recorded = encode("POST", "/v1/requests", key=server.keys.agent, body=_SMALL)
        plain = encode("POST", "/plain", body=CALL)
        taken = await run.medians(
            "P7 allowed calls",
            "/s",
            {
                "no audit row": lambda: rate(
                    server.port, unrecorded, concurrent=_CONCURRENT, seconds=sizes.seconds / 2
                ),
                "audit row": lambda: rate(server.port, recorded, concurrent=_CONCURRENT, seconds=sizes.seconds / 2),
                "bare FastAPI POST": lambda: rate(floor.port, plain, concurrent=_CONCURRENT, seconds=sizes.seconds / 2),
            },
        )
    bare = taken["bare FastAPI POST"]
    return [
        _allow_row(
            "P7", "allowed by a rule, no durable row (record: false)", known(taken["no audit row"]), bare, (0.4, 0.8)
        ),
        _allow_row(
            "P7b", "allowed by a condition, with a durable audit row", known(taken["audit row"]), bare, (0.25, 0.5)
        ),
    ]


def _allow_row(goal: str, title: str, value: float, bare: float | None, goals: tuple[float, float]) -> Row:
    return Row(
        id=goal,
        title=title,
        measured=per_second(value, "calls"),
        reference=f"bare FastAPI POST {per_second(bare, '')}",
        ratio=times(value, bare),
        must=(at_least(value, goals[0], bare, "FastAPI"),),
        stretch=(at_least(value, goals[1], bare, "FastAPI"),),
        figures={"assent": value, "fastapi": bare},
    )


async def measure_judge(run: Run) -> list[Row]:
    """P8: the rules' answer in process."""
    config = run.databases.folder / "judge.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    policy = PolicyBook(config, environ={}, channel_types={}).current(ORG).policy
    now, count = datetime(2026, 3, 1, tzinfo=UTC), int(20_000 * min(1.0, run.sizes.seconds))

    def span(submitted: dict[str, object]) -> float:
        began = time.perf_counter()
        for _ in range(count):
            arguments = submitted["arguments"]
            call = ToolCall(
                org=ORG,
                agent=AGENT,
                session="s",
                call_id=None,
                tool=str(submitted["tool"]),
                arguments=arguments,  # pyright: ignore[reportArgumentType] - JSON
                requester=None,
                owner=None,
                claim=None,
            )
            ruling = judge(policy, call, now=now)
            assert isinstance(ruling, Allow)
        return (time.perf_counter() - began) / count

    def plain() -> float:
        def call(tool: str, *, now: datetime) -> tuple[str, datetime]:
            return tool, now

        began = time.perf_counter()
        for _ in range(count):
            call("read_ledger", now=now)
        return (time.perf_counter() - began) / count

    async def of(span_of: float) -> float:
        return span_of

    taken = await run.medians(
        "P8 judge",
        "µs",
        {
            "no condition": lambda: of(span(_READ)),
            "one condition": lambda: of(span(_SMALL)),
            "a plain function call": lambda: of(plain()),
        },
        scale=1e6,
    )
    call = taken["a plain function call"]
    return [
        _judge_row("P8", "in process: a rule without a condition allows", known(taken["no condition"]), call),
        _judge_row("P8b", "in process: a rule with a condition allows", known(taken["one condition"]), call),
    ]


def _judge_row(goal: str, title: str, value: float, call: float | None) -> Row:
    return Row(
        id=goal,
        title=title,
        measured=f"{value * 1e6:.1f} µs",
        reference=f"a plain function call {known(call) * 1e6:.2f} µs",
        ratio=times(value, call),
        must=(below(value, 20e-6, "20 µs"),),
        stretch=(below(value, 6e-6, "6 µs"),),
        figures={"assent": value, "call": call},
    )


async def measure_hook(run: Run) -> list[Row]:
    """P9: `assent-hook claude-code`, from its start to its end with an answer, the call to the gateway included."""
    databases = run.databases
    folder = databases.folder / "hook"
    ours: list[float] = []
    bare: list[float] = []
    async with await gateway(folder, databases.new("sqlite")) as server:
        config = folder / "agent.json"
        config.write_text(json.dumps({"url": f"http://127.0.0.1:{server.port}", "key": server.keys.agent}))
        config.chmod(0o600)
        script = str(Path(assent.__file__).parent / "hook_command.py")
        words = [sys.executable, "-I", "-S", script, "claude-code", "--config", str(config)]
        event = json.dumps(
            {
                "session_id": "s-1",
                "cwd": "/tmp",
                "hook_event_name": "PreToolUse",
                "tool_name": "read_ledger",
                "tool_input": _READ["arguments"],
                "tool_use_id": "toolu_1",
            }
        ).encode()
        for turn in range(run.sizes.starts):
            ours.append(references.command_times(words, stdin=event, expect=b'"allow"'))
            bare.append(references.command_times([sys.executable, "-I", "-S", "-c", "pass"]))
            if turn % 20 == 19:
                run.tell(
                    f"P9 hook command  {turn + 1} of {run.sizes.starts}  p50 {milliseconds(percentile(ours, 0.5))}"
                )
    p50, p95, floor = percentile(ours, 0.5), percentile(ours, 0.95), percentile(bare, 0.5)
    floor95 = percentile(bare, 0.95)
    return [
        Row(
            id="P9",
            title="hook command, start to answer with the call to the gateway, p50 / p95",
            measured=f"{milliseconds(p50)} / {milliseconds(p95)}",
            reference=f"python -I -S -c pass {milliseconds(floor)} / {milliseconds(floor95)}",
            ratio=f"{times(p50, floor)} / {times(p95, floor)}",
            must=(at_most(p50, 4, floor, "python p50"), at_most(p95, 6, floor, "python p50")),
            stretch=(at_most(p50, 3, floor, "python p50"),),
            figures={"p50": p50, "p95": p95, "python": floor},
        )
    ]
