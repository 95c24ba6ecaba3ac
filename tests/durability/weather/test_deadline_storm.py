"""Many deadlines at one instant: all expire, once each, and who decides meanwhile does not wait behind them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.request.request import State
from tests.domain.samples import FINANCE
from tests.durability.invariants import faults
from tests.durability.replicas import replicas
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from pathlib import Path

    from tests.durability.replicas import Replica

ANN = min(FINANCE)
DECIDED = 20
STORM = pytest.mark.parametrize(
    "many",
    [
        pytest.param(1_500, marks=pytest.mark.timeout(120)),
        pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)], id="100k"),
    ],
)


@requirement("F-35", "S-53")
@STORM
async def test_a_storm_of_deadlines_ends_and_keeps_no_decision_waiting(
    database_url: str, tmp_path: Path, many: int, *, bounded: bool
) -> None:
    storm = min(many, 10_000) if bounded else many
    async with replicas(database_url, tmp_path) as them:
        first = them[0]
        waiting = [await first.open(f"waits_{index}") for index in range(DECIDED)]
        for start in range(0, storm, 500):
            due = (first.open(f"req_{n}", lives_for=timedelta(milliseconds=1)) for n in range(start, start + 500))
            await asyncio.gather(*due)
        sweeping = asyncio.ensure_future(asyncio.gather(*(sweep_all(replica) for replica in them)))
        decided = list[Any]()
        for request in waiting:  # one after the other: each must be answered while the storm goes on
            decided.append(await them[-1].vote(request, ANN))
        swept = await sweeping
    assert [each.state for each in decided] == [State.APPROVED] * DECIDED
    assert sum(swept) == storm
    kinds = [
        kind
        for (kind,) in look(
            database_url,
            "SELECT kind FROM audit_events WHERE kind IN ('request.expired', 'request.approved') ORDER BY seq",
        )
    ]
    assert kinds.count("request.expired") == storm
    # A decision that had to wait for the sweep would stand behind all of it.
    behind = kinds[: kinds.index("request.approved")].count("request.expired")
    assert behind < storm / 2
    if storm <= 10_000:
        assert faults(database_url) == []


async def sweep_all(replica: Replica) -> int:
    """Sweep as the metronome does, until nothing is due; return how many this replica expired."""
    expired = 0
    while (swept := await replica.sweep()).total:
        expired += swept.expired
    return expired
