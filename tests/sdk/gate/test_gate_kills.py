"""An agent that is killed anywhere around its tool, and replays the call: one card, one payment, and no untrue word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures import forked
from tests.requirements import requirement
from tests.sdk.real_gateway import RealGateway

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fixtures.forked import Forked

pytestmark = pytest.mark.process

SIGKILLED = -9
DOUBT = "it is not known whether it ran. It may be running still."
ENDS = {  # the place of death: the payments, and what the replay is told
    "pending": (1, "Ran", ""),
    "claimed": (0, "Refused", DOUBT),
    "ran": (1, "Refused", DOUBT),
    "reported": (1, "Replayed", "ran once, and succeeded. It did not run again, and is not to be repeated."),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGateway]:
    with RealGateway(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


class Agent:
    """The program, and the folder in which it pays."""

    def __init__(self, real: RealGateway, folder: Path) -> None:
        self._environ = {"PATH": "/usr/bin:/bin", "ASSENT_URL": real.url, "ASSENT_KEY": real.key}
        self._folder = folder

    def start(self, *words: str) -> Forked:
        return forked.start("tests.sdk.gate.agent_process", *words, env=self._environ, cwd=self._folder)

    def said(self, process: Forked) -> dict[str, Any]:
        assert process.wait(20) == 0
        return json.loads((self._folder / "said.txt").read_text())

    @property
    def paid(self) -> int:
        book = self._folder / "paid.txt"
        return len(book.read_text().splitlines()) if book.exists() else 0


@requirement("F-07", "F-08")
@pytest.mark.parametrize("place", ENDS)
def test_a_killed_agent_that_replays_its_call_is_told_what_is_known(
    real: RealGateway, tmp_path: Path, place: str
) -> None:
    payments, kind, words = ENDS[place]
    agent, call, before = Agent(real, tmp_path), f"toolu_{place}", len(real.requests())
    killed = agent.start(call, place)
    if place == "pending":
        assert killed.wait(20) == SIGKILLED
        real.decide(real.pending(), "approve")
    else:
        real.decide(real.pending(), "approve")
        assert killed.wait(20) == SIGKILLED
    said = agent.said(agent.start(call))
    assert (said["kind"], agent.paid) == (kind, payments)
    assert words in said["words"]
    assert "Not run" not in said["words"]
    assert said["result"] == (None if kind == "Refused" else {"receipt": "R-1"})
    assert len(real.requests()) == before + 1  # one card, whatever was killed
