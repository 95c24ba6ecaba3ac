"""Connections that break at any byte, restarts in turn, calls of a platform in a heap, a host whose clock is wrong."""

from __future__ import annotations

import asyncio
import random
import signal
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.clock import SystemClock
from app.domain.errors import AlreadySettledError, AssentError, UnavailableError
from app.domain.request.decision import Verdict
from app.domain.request.request import State
from app.identifiers import RandomIds
from app.policies.file.policy_book import PolicyBook
from app.storage.make_store import dialect_for, make_store
from tests.domain.samples import FINANCE
from tests.durability.fault_proxy import fault_proxy
from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.durability.replicas import Replica, channel, replicas, write_policy
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.durability.gateway_process import Gateway

pytestmark = pytest.mark.postgres

ANN = min(FINANCE)
HEALS = 20.0
"""Seconds, on a busy machine."""


@requirement("F-21")
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(61, marks=pytest.mark.timeout(240)),
        pytest.param(1, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_a_connection_may_break_at_any_byte(
    postgres_url: str, tmp_path: Path, step: int, *, bounded: bool
) -> None:
    """Whoever votes is answered, and finds its vote there once; the next one finds a connection that works."""
    broke = 0
    async with fault_proxy(postgres_url) as (proxy, through), replicas(through, tmp_path, most=1) as [replica]:
        warm = await replica.open("req_warm")
        before = proxy.carried
        assert (await replica.vote(warm, ANN)).state is State.APPROVED
        length = proxy.carried - before
        assert length > 100
        for at in range(0, length, 17 if bounded else step):
            request = await replica.open(f"req_{at}")
            proxy.breaks_after = at
            answer = await asyncio.wait_for(replica.vote(request, ANN), HEALS)
            broke += proxy.breaks_after is None
            proxy.breaks_after = None
            assert isinstance(answer, UnavailableError) or answer.state is State.APPROVED, answer
            await asyncio.wait_for(_stands(replica, request.id), HEALS)
    assert broke > length // (17 if bounded else step) // 2
    voted = look(postgres_url, "SELECT request_id, count(*) FROM decisions GROUP BY request_id")
    assert {int(times) for _, times in voted} == {1}
    assert len(voted) == look(postgres_url, "SELECT count(*) FROM requests")[0][0]
    assert faults(postgres_url) == []


async def _stands(replica: Replica, request_id: str) -> None:
    """Vote again, as one who was not answered, until the vote is there."""
    while True:
        with suppress(AssentError):
            request = await replica.read(request_id)
            if request.state is State.APPROVED:
                return
            await replica.vote(request, ANN)
        await asyncio.sleep(0.02)


@requirement("F-12")
@pytest.mark.process
@pytest.mark.timeout(120)
async def test_replicas_that_are_restarted_in_turn_deny_nobody(postgres_url: str, tmp_path: Path) -> None:
    """Whoever waits at the one that stops is told that it still waits, and goes to the other one."""
    async with scene(postgres_url, tmp_path) as made, made.gateway() as first:
        requests = [await first.ask("wire", session=f"s-{number}") for number in range(6)]
        async with made.gateway() as second:
            await _stops(first, requests)
            for request in requests[:3]:
                assert (await second.decide("ann", request)).json()["state"] == "approved"
            async with made.gateway() as third:
                await _stops(second, requests[3:])
                await _all_approved(third, requests)
    assert look(postgres_url, "SELECT count(*) FROM audit_events WHERE kind = 'request.denied'") == [(0,)]
    assert faults(postgres_url) == []


async def _all_approved(gateway: Gateway, requests: list[dict[str, Any]]) -> None:
    for request in requests[3:]:
        assert (await gateway.decide("ann", request)).json()["state"] == "approved"
    for request in requests:
        assert (await gateway.read(request, wait=30))["state"] == "approved"


async def _stops(gateway: Gateway, waited_for: list[dict[str, Any]]) -> None:
    """Ask it to stop while callers wait at it: each is told to ask again, which is no denial."""
    held = [gateway.call("payer", "GET", f"/v1/requests/{request['id']}?wait=25") for request in waited_for]
    waiting = [asyncio.ensure_future(call) for call in held]
    await gateway.holds(len(waiting))
    gateway.process.send_signal(signal.SIGTERM)
    for told in await asyncio.wait_for(asyncio.gather(*waiting), 20):
        assert told.status_code == 503 or told.json()["state"] == "pending", told.text
    assert await asyncio.wait_for(gateway.process.ended(), 30) in {0, -signal.SIGTERM}


@requirement("F-31", "S-20")
@pytest.mark.seeds(31)
@pytest.mark.parametrize("many", [8, pytest.param(3_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_calls_of_a_platform_that_come_three_times_in_any_order_to_any_replica_count_once(
    postgres_url: str, tmp_path: Path, many: int, *, bounded: bool, seed: int
) -> None:
    drawn, chat = random.Random(seed), channel("chat")
    many = min(many, 100) if bounded else many
    async with replicas(postgres_url, tmp_path) as them:
        requests = [await them[0].open(f"req_{number}", channels=("chat",)) for number in range(many)]
        for request in requests:
            await them[0].go_live(request.id, chat)
        verdicts = {request.id: drawn.choice(list(Verdict)[:2]) for request in requests}
        heap = [request.id for request in requests] * 3
        drawn.shuffle(heap)
        clicks = [
            drawn.choice(them).click(request_id, chat, f"U-{ANN}", verdicts[request_id], f"event-{request_id}")
            for request_id in heap
        ]
        for start in range(0, len(clicks), 12):
            await asyncio.gather(*clicks[start : start + 12])
        for request in requests:
            standing = await them[0].read(request.id)
            wanted = State.APPROVED if verdicts[request.id] is Verdict.APPROVE else State.DENIED
            assert (standing.state, len(standing.decisions)) == (wanted, 1)
    assert faults(postgres_url) == []


class Wrong:
    """A host's clock that somebody has set, or that stands still."""

    def __init__(self, off: timedelta | None) -> None:
        self._off = off
        self._stands_at = SystemClock().now()

    def now(self) -> datetime:
        """Return what this host takes for the time."""
        return self._stands_at if self._off is None else SystemClock().now() + self._off


@requirement("F-34")
@pytest.mark.parametrize(
    "off",
    [timedelta(), timedelta(hours=1), timedelta(hours=-1), timedelta(days=1), timedelta(days=-1), None],
    ids=["right", "1 h ahead", "1 h behind", "1 day ahead", "1 day behind", "stands still"],
)
async def test_a_host_whose_clock_is_wrong_decides_and_expires_as_any_other(
    postgres_url: str, tmp_path: Path, off: timedelta | None
) -> None:
    store = make_store(dialect_for(postgres_url, Wrong(off)), RandomIds(), seals=None)
    store.start()
    try:
        book = await asyncio.to_thread(
            PolicyBook, write_policy(tmp_path / "clock.yaml"), environ=dict[str, str](), channel_types={}
        )
        replica = Replica(store, book)
        in_time = await replica.open("req_in_time", lives_for=timedelta(minutes=5))
        late = await replica.open("req_late", lives_for=timedelta(milliseconds=200))
        assert (await replica.vote(in_time, ANN)).state is State.APPROVED
        assert (await replica.take(in_time)).state is State.EXECUTING
        over = f"SELECT clock_timestamp() > to_timestamp({late.expires_at.timestamp() + 0.01})"
        await until("the deadline has passed", lambda: look(postgres_url, over) == [(True,)])
        refused = await replica.vote(late, ANN)
        assert isinstance(refused, AlreadySettledError)
        await replica.sweep()
        assert (await replica.read(late.id)).state is State.EXPIRED
        assert (await replica.read(in_time.id)).state is State.EXECUTING
    finally:
        await store.stop()
    assert faults(postgres_url) == []
