"""A pause against claims, on one gateway and on two replicas: what was refused is unspent, and no claim follows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import PausedError
from app.domain.request.decision import Verdict
from app.domain.request.request import ConfirmationRequest
from app.usecases.pauses.switch import Switches
from tests.durability.invariants import faults
from tests.durability.races.test_races import ANN, all_at_once, number
from tests.durability.replicas import Replica, replicas
from tests.requirements import requirement
from tests.storage.rig import ORG, look

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = pytest.mark.parametrize(
    "rounds", [8, pytest.param((100, 1_000), marks=[pytest.mark.long, pytest.mark.timeout(3600)], id="many")]
)
WIDTH = 6


async def approved(of: Replica, request_id: str) -> ConfirmationRequest:
    request = await of.open(request_id)
    await of.decide(
        org=ORG, request_id=request.id, person=ANN, verdict=Verdict.APPROVE, reason=None, digest=request.digest
    )
    return request


def switches(of: Replica) -> Switches:
    return Switches(store=of.store)


@requirement("S-49", "S-03")
@ROUNDS
async def test_a_claim_before_the_pause_runs_once_and_none_after_it_runs(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    async with replicas(database_url, tmp_path) as them:
        one, other = switches(them[0]), them[-1]
        for index in range(number(rounds, bounded=bounded)):
            requests = [await approved(them[0], f"req_{index}_{place}") for place in range(WIDTH)]

            async def stop() -> None:
                await one.set_pause(ORG, on=True, tool="oa__purchase_pay", by="cli")

            async def late(request: ConfirmationRequest) -> Any:
                return await other.take(request, "c-late")

            racing, waiting = requests[: WIDTH // 2], requests[WIDTH // 2 :]
            _, *at_once = await all_at_once(stop(), *(other.take(request) for request in racing))
            refused = await asyncio.gather(*map(late, waiting))
            assert [type(each) for each in refused] == [PausedError] * len(waiting)
            at_once += refused
            for request, first in zip(requests, at_once, strict=True):
                assert isinstance(first, ConfirmationRequest | PausedError), first
                [(status,)] = look(database_url, f"SELECT status FROM grants WHERE request_id = '{request.id}'")
                assert status == ("issued" if isinstance(first, PausedError) else "consumed")
            await one.set_pause(ORG, on=False, tool="oa__purchase_pay", by="cli")
            again = await asyncio.gather(*map(late, requests))
            for first, last in zip(at_once, again, strict=True):
                assert isinstance(last, ConfirmationRequest) == isinstance(first, PausedError)
    assert faults(database_url) == []
