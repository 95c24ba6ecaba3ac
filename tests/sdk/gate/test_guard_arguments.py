"""What is given to a guard that cannot be is refused where it is given, and what is no JSON is named."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway, BlockingGate, Gateway, NotApprovedError, Ran, RefusalCode, ToolCall, guarded
from assent.client.call import not_json
from assent.gate.aftermath import UnknownOutcomeError
from tests.fixtures.patience import HANGS
from tests.project.source_tree import ROOT
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@dataclass
class Money:
    amount: int


CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)


@pytest.fixture
def blocking(gateway: StubGateway) -> Iterator[Gateway]:
    with Gateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"amount": Decimal("1.5")}, "amount is a Decimal"),
        ({"lines": [{"a": 1}, {"due": date(2026, 3, 1)}]}, "lines[1].due is a date"),
        ({"file": b"x"}, "file is a bytes"),
        ({"sum": Money(1)}, "sum is a Money"),
        ({"pair": (1, {2})}, "pair[1] is a set"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"rate": float("-inf")}, "rate is -inf"),
        ({"memo": "\ud800"}, "memo holds half of a surrogate pair"),
        ({"\ud800": 1}, "a key of it holds half of a surrogate pair"),
        ({"by": {(1, 2): 3}}, "by has a key that is a tuple"),
        ({"all": CIRCLE}, "it is nested too deeply, or in a circle"),
        ({"a": None, "b": [True, 1, 1.5, "x", {"c": ()}]}, None),
    ],
)
def test_what_is_no_json_is_named(value: object, fault: str | None) -> None:
    assert not_json(value) == fault


async def test_a_model_is_told_which_argument_is_none(gateway: StubGateway) -> None:
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as client:

        @guarded(client, tool="pay")
        async def pay(lines: list[dict[str, Any]]) -> None:
            raise AssertionError("it ran")

        with pytest.raises(NotApprovedError) as refused:
            await pay([{"amount": Decimal(1)}])
        assert refused.value.code is RefusalCode.BAD_ARGUMENTS
        assert 'Reason given: "they are not JSON: lines[0].amount is a Decimal".' in str(refused.value)
        with pytest.raises(TypeError, match=r"the call is not JSON: arguments\.amount is a Decimal"):
            await client.check(ToolCall("pay", {"amount": Decimal(1)}))
    assert gateway.seen == []


@pytest.mark.parametrize("tool", ["", None, 7])
def test_a_guard_without_the_name_of_a_tool_is_not_made(tool: str) -> None:
    with pytest.raises(ValueError, match="tool: give the name under which the call is judged"):
        guarded(Gateway("http://x", KEY), tool=tool)


class Till:
    """A tool that is an object."""

    async def __call__(self, amount: int) -> str:
        await asyncio.sleep(0)
        return f"paid {amount}"


class PlainTill:
    """One whose call is plain."""

    def __call__(self, amount: int) -> str:
        return f"paid {amount}"


async def pay_in(currency: str, amount: int) -> str:
    await asyncio.sleep(0)
    return f"paid {amount} {currency}"


async def test_an_object_whose_call_is_asynchronous_is_guarded_as_such(gateway: StubGateway) -> None:
    gateway.rules["pay"] = "allow"
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as client:
        guard = guarded(client, tool="pay")
        assert await guard(Till())(1) == "paid 1"
        assert await guard(partial(pay_in, currency="CNY"))(amount=2) == "paid 2 CNY"
        for plain in (PlainTill(), partial(PlainTill())):
            with pytest.raises(TypeError, match="asynchronous function with an AsyncGateway"):
                guard(plain)


def test_a_generator_is_not_guarded_for_it_runs_when_it_was_reported() -> None:
    def each(amount: int) -> Iterator[int]:
        yield amount

    async def each_later(amount: int) -> AsyncIterator[int]:
        yield amount

    for function in (each, each_later):
        for gateway in (Gateway("http://x", KEY), AsyncGateway("http://x", KEY)):
            with pytest.raises(TypeError, match="a generator runs when the gate is done with it"):
                guarded(gateway, tool="pay")(function)


@pytest.mark.process
@pytest.mark.parametrize(("key", "url"), [(None, None), ("", ""), ("", "http://x")])
def test_the_example_agent_says_what_to_set(key: str | None, url: str | None) -> None:
    said = {"ASSENT_KEY": key, "ASSENT_URL": url}
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "sdk")}
    environ |= {name: value for name, value in said.items() if value is not None}
    words = [sys.executable, str(ROOT / "examples/readme_agent.py")]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False, timeout=HANGS)
    assert (done.returncode, done.stderr) == (1, "set ASSENT_KEY to the line that `assent keys create` printed\n")


def test_a_blocking_gate_takes_no_tool_that_nobody_would_await(gateway: StubGateway, blocking: Gateway) -> None:
    gateway.rules["pay"] = "allow"
    gate = BlockingGate(blocking)
    for tool in (Till(), pay_in, partial(pay_in, "CNY"), partial(Till())):
        with pytest.raises(TypeError, match="for an asynchronous one take a Gate"):
            gate.run("pay", {"amount": 1}, tool)
        with pytest.raises(TypeError, match="for an asynchronous one take a Gate"):
            gate.finish("{}", tool)
        with pytest.raises(TypeError, match="asynchronous function"):
            guarded(blocking, tool="pay")(tool)
    assert gateway.seen == []
    assert gate.run("pay", {"amount": 1}, PlainTill()) == Ran(result="paid 1")


def test_what_a_plain_tool_leaves_to_be_awaited_is_not_reported_as_done(
    gateway: StubGateway, blocking: Gateway
) -> None:
    blocking.check(ToolCall("pay", {"amount": 1}))
    gateway.decide("req_0001", "approved")
    left = Till()(1)
    with pytest.raises(UnknownOutcomeError, match="a BlockingGate awaits nothing"):
        BlockingGate(blocking).run("pay", {"amount": 1}, lambda amount: left)
    left.close()
    assert gateway.only.outcomes[-1]["status"] == "unknown"
