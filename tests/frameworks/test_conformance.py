"""Every framework through the whole suite, before one gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.frameworks.runtimes import RUNTIMES, Driver
from tests.frameworks.suite import CASES, POLICY, Stage, call, goes_on, pay
from tests.requirements import requirement
from tests.sdk.real_gateway import RealGateway

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.heavy]

CAN = [(runtime, name) for runtime in RUNTIMES.values() for name in CASES if name not in runtime.cannot]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGateway]:
    with RealGateway(tmp_path_factory.mktemp("gateway"), policy=POLICY) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Driver]]:
    """Each framework's program, once it is asked for."""
    started = dict[str, Driver]()
    yield started
    for driver in started.values():
        driver.__exit__()


@pytest.fixture
def stage(request: pytest.FixtureRequest, real: RealGateway, drivers: dict[str, Driver], tmp_path: Path) -> Stage:
    runtime, name = request.param
    if runtime.name not in drivers:
        drivers[runtime.name] = Driver(runtime, tmp_path).__enter__()
    return Stage(runtime, drivers[runtime.name], real, tmp_path / "agent", f"{runtime.name}-{name}")


@requirement("S-08", "F-07", "F-08")
@pytest.mark.parametrize(
    ("stage", "name"),
    [((runtime, name), name) for runtime, name in CAN],
    ids=[f"{runtime.name}-{name}" for runtime, name in CAN],
    indirect=["stage"],
)
def test_a_runtime_gets_it_right(stage: Stage, name: str) -> None:
    CASES[name](stage)


@requirement("S-08")
@pytest.mark.parametrize("stage", [(RUNTIMES["claude_agent_sdk"], "one-a-turn")], ids=["claude"], indirect=True)
def test_claude_suspends_one_call_of_a_turn_and_leaves_no_card_of_the_others(stage: Stage) -> None:
    turns = [[pay("call_1", 1), pay("call_2", 2), call("look", "call_3", what="the sky")], [pay("call_4", 2)]]
    said = stage.run(*turns, form="suspend")
    assert len(said.waits) == 1
    (asked,) = stage.waiting()
    assert stage.states() == ["cancelled", "pending"]
    assert stage.ran() == [{"tool": "look", "what": "the sky"}]
    stage.real.decide(asked, "approve")
    said = stage.run(*turns, form="suspend", resume=True)
    other = "call_2" if asked["arguments"]["amount"] == 1 else "call_1"
    assert "one can wait at a time. Call it again when that one is through." in said.told[other]
    assert len(said.waits) == 1
    stage.decide()
    goes_on(stage.run(*turns, form="suspend", resume=True))
    stage_paid = [each["amount"] for each in stage.ran() if each["tool"] == "pay"]
    assert sorted(stage_paid) == sorted([asked["arguments"]["amount"], 2])
    assert stage.states() == ["cancelled", "succeeded", "succeeded"]
