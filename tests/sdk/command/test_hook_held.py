"""The hook's one question is held until people have decided; it claims by itself, awake, with its host there."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.requirements import requirement
from tests.sdk.hook_process import HookLine, event, finish

if TYPE_CHECKING:
    from tests.sdk.gateway_stub import StubGateway

pytestmark = pytest.mark.process


@pytest.fixture
def gateway(gateway: StubGateway) -> StubGateway:
    gateway.one_call = True
    return gateway


def test_asked_and_held_in_one_call_and_claimed_in_another(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event(call_id="toolu_9"))
    gateway.arrived("check")
    gateway.decide("req_0001", "approved")
    assert finish(process).decision == "allow"
    assert [kind for kind, _, _ in gateway.seen] == ["check", "claim"]
    assert "claim_id" not in gateway.seen[0][1]
    assert hook.run(event(moment="PostToolUse", call_id="toolu_9")).code == 0
    assert gateway.only.state == "succeeded"


def test_what_people_changed_comes_with_the_answer(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event(arguments={"command": "pay 80000"}))
    gateway.arrived("check")
    gateway.only.arguments = {"command": "pay 8000"}
    gateway.decide("req_0001", "approved")
    assert finish(process).answer["updatedInput"] == {"command": "pay 8000"}


def test_what_people_deny_is_denied_with_their_reason(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("check")
    gateway.decide("req_0001", "denied", reason="not this week")
    assert 'Reason given: "not this week"' in finish(process).reason


def test_whoever_waits_longer_than_one_call_comes_back(gateway: StubGateway, hook: HookLine) -> None:
    gateway.honour_wait = False  # as a proxy that cuts every wait short
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    assert finish(process).decision == "allow"
    assert gateway.count("claim") == 1


def test_a_hook_that_comes_back_is_not_told_its_arguments_again(gateway: StubGateway, hook: HookLine) -> None:
    gateway.honour_wait = False
    process = hook.begin(event())
    gateway.arrived("get", 2)
    assert {headers["Prefer"] for kind, _, headers in gateway.seen if kind == "get"} == {"return=minimal"}
    gateway.only.arguments = {"command": "pay 8000"}
    gateway.decide("req_0001", "approved")
    assert finish(process).answer["updatedInput"] == {"command": "pay 8000"}


@requirement("F-07")
def test_a_lost_answer_is_asked_for_again_under_the_same_key(gateway: StubGateway, hook: HookLine) -> None:
    gateway.faults["check"].append("lost")
    process = hook.begin(event())
    gateway.arrived("check")
    gateway.decide("req_0001", "approved")
    assert finish(process).decision == "allow"
    asked = [headers["Idempotency-Key"] for kind, _, headers in gateway.seen if kind == "check"]
    assert len(asked) == 2
    assert len(set(asked)) == 1


@requirement("S-08", "F-32")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_hook_interrupted_while_it_is_held_has_claimed_nothing(
    gateway: StubGateway, hook: HookLine, number: signal.Signals
) -> None:
    process = hook.begin(event())
    gateway.arrived("check")
    process.send_signal(number)
    said = finish(process)
    assert (said.code, said.out) == (2, b"")
    gateway.decide("req_0001", "approved")
    assert gateway.only.execution is None


@requirement("S-08", "F-32")
def test_a_host_that_stops_reading_while_its_hook_is_held_is_noticed(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("check")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(30) == 2
    gateway.decide("req_0001", "approved")
    assert gateway.only.execution is None
    assert process.stderr is not None
    process.stderr.close()


@requirement("S-08", "F-32")
def test_the_deadline_comes_with_nothing_claimed(gateway: StubGateway, hook: HookLine) -> None:
    said = hook.run(event(), "--deadline", "2")
    assert "still waits" in said.reason
    gateway.decide("req_0001", "approved")
    assert gateway.only.execution is None
    assert float(gateway.seen[0][1]["wait"]) < 2


@requirement("S-08", "F-32")
@pytest.mark.parametrize(("deadline", "last"), [(2, 1.5), (24, 19)])
def test_a_gateway_has_a_quarter_of_the_time_and_five_seconds_at_most_to_say_not_yet_in(
    gateway: StubGateway, hook: HookLine, deadline: int, last: float
) -> None:
    """A busy one that is a little late would else read as away, to a model that is told then that this is final."""
    process = hook.begin(event(), "--deadline", str(deadline))
    gateway.arrived("check")
    gateway.decide("req_0001", "approved")
    assert finish(process).decision == "allow"
    assert last - 1 < float(gateway.seen[0][1]["wait"]) < last


@requirement("S-08", "F-32")
def test_a_gateway_that_freezes_is_left_by_the_deadline(gateway: StubGateway, hook: HookLine) -> None:
    gateway.faults["check"].append("hang")
    said = hook.run(event(), "--deadline", "0.8")
    assert said.blocks()
    assert gateway.rows == {}


def test_what_only_an_executor_runs_is_waited_for_and_never_claimed(gateway: StubGateway, hook: HookLine) -> None:
    gateway.enforced = True
    process = hook.begin(event())
    gateway.arrived("check")
    gateway.decide("req_0001", "denied", reason="no")
    assert finish(process).decision == "deny"
    assert gateway.count("claim") == 0
