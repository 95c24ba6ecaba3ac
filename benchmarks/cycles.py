"""Load: full cycles over HTTP, requests that wait, decisions on them; many at a time, from another process."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.lean_http import Connection, require
from benchmarks.talks import Opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.births import Births
    from benchmarks.talks import GatewayTalk, Talk


@dataclass(slots=True)
class Tally:
    """What a load has done: cycles, and each one's seconds."""

    seconds: float = 0.0
    spans: list[float] = field(default_factory=list[float])
    total: int = 0
    """Cycles with those of the warm-up."""

    @property
    def rate(self) -> float:
        """Cycles per second."""
        return len(self.spans) / self.seconds


async def run_cycles(talk: Talk, *, concurrent: int, seconds: float, whole: bool = True) -> Tally:
    """Run cycles for a while. `whole`: with claim and outcome; else only until the waiter has been woken."""
    tally = Tally(seconds=seconds)
    warm_until = time.perf_counter() + min(1.0, seconds / 3)
    until = warm_until + seconds

    async def worker(number: int) -> None:
        agent, approver = await Connection.open(talk.port), await Connection.open(talk.port)
        turn = 0
        while (began := time.perf_counter()) < until:
            turn += 1
            await _cycle(talk, agent, approver, claim_id=f"c{number}-{turn}", whole=whole)
            ended = time.perf_counter()
            tally.total += 1
            if warm_until <= ended <= until:
                tally.spans.append(ended - began)
        agent.close()
        approver.close()

    async with asyncio.TaskGroup() as group:
        for number in range(concurrent):
            group.create_task(worker(number))
    return tally


async def run_one_call(*talks: GatewayTalk, births: Births, concurrent: int, seconds: float) -> Tally:
    """Run cycles as an agent makes them best: one call until the approval is its own, and one for the outcome.

    As many approvers decide on whatever is new. Of several replicas each has its share of both, and what was asked at
    one is decided at any.
    """
    tally = Tally(seconds=seconds)
    warm_until = time.perf_counter() + min(1.0, seconds / 3)
    until = warm_until + seconds
    new: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def people() -> None:
        async for born in births.come():
            new.put_nowait(born)

    async def approver(talk: GatewayTalk) -> None:
        connection = await Connection.open(talk.port)
        while True:
            request_id, digest = await new.get()
            said = await connection.send(talk.decide(Opened(f"/v1/requests/{request_id}", digest)))
            require(said, 200, "decide")

    async def worker(number: int, talk: GatewayTalk) -> None:
        agent, turn = await Connection.open(talk.port), 0
        while (began := time.perf_counter()) < until:
            turn += 1
            claim_id = f"o{number}-{turn}"
            taken = require(await agent.send(talk.one_call(claim_id, 30)), 200, "the one call").body()
            path = f"/v1/requests/{taken['request']['id']}"
            require(await agent.send(talk.outcome(path, claim_id)), 200, "outcome")
            ended = time.perf_counter()
            tally.total += 1
            if warm_until <= ended <= until or not tally.spans:  # a tiny round has one at least
                tally.spans.append(ended - began)
        agent.close()

    shares = [(number, talks[number % len(talks)]) for number in range(concurrent)]
    others = [asyncio.ensure_future(people()), *(asyncio.ensure_future(approver(talk)) for _, talk in shares)]
    try:
        await asyncio.gather(*(worker(number, talk) for number, talk in shares))
    finally:
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    return tally


async def _cycle(talk: Talk, agent: Connection, approver: Connection, *, claim_id: str, whole: bool) -> None:
    opened = await create(talk, agent)
    woken = agent.send(talk.hold(opened, 30))
    require(await approver.send(talk.decide(opened)), 200, "decide")
    answer = require(await woken, 200, "wait")
    if b'"state":"approved"' not in answer.content:
        raise RuntimeError(f"a waiter was answered before the decision: {answer.content[:300]!r}")
    if whole:
        for request in talk.finish(opened, claim_id):
            require(await agent.send(request), 200, "claim and outcome")


async def create(talk: Talk, agent: Connection) -> Opened:
    """Open a request."""
    return talk.opened(require(await agent.send(talk.create()), talk.created, "create"))


async def open_many(talk: Talk, count: int, *, concurrent: int = 32) -> list[Opened]:
    """Open many requests that then wait."""
    opened: list[Opened] = []
    left = iter(range(count))

    async def worker() -> None:
        agent = await Connection.open(talk.port)
        while next(left, None) is not None:
            opened.append(await create(talk, agent))
        agent.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrent):
            group.create_task(worker())
    return opened


async def hold_many(talk: Talk, opened: Sequence[Opened], *, seconds: int) -> list[Connection]:
    """Attach one waiter to each request, each on a connection of its own, and leave them there."""
    held: list[Connection] = []
    for start in range(0, len(opened), 100):
        part = opened[start : start + 100]
        connections = await asyncio.gather(*(Connection.open(talk.port) for _ in part))
        for connection, one in zip(connections, part, strict=True):
            connection.send(talk.hold(one, seconds))
        held += connections
        await asyncio.sleep(0.01)
    return held


async def wake_times(
    waiting: Talk, deciding: Talk, *, samples: int, at_once: int = 20
) -> tuple[list[float], list[float]]:
    """Decide on held requests, 20 ms apart: (sent → waiter answered, acknowledged → waiter answered), in seconds."""
    sent: list[float] = []
    acknowledged: list[float] = []
    approver = await Connection.open(deciding.port)
    while len(sent) < samples:
        opened = await open_many(waiting, at_once, concurrent=4)
        agents = [await Connection.open(waiting.port) for _ in opened]
        woken = [agent.send(waiting.hold(one, 30)) for agent, one in zip(agents, opened, strict=True)]
        await asyncio.sleep(0.25)  # until all are held
        for one, waiter in zip(opened, woken, strict=True):
            decided = require(await approver.send(deciding.decide(one)), 200, "decide")
            answered = require(await waiter, 200, "wait")
            sent.append(answered.at - decided.sent_at)
            acknowledged.append(max(0.0, answered.at - decided.at))
            await asyncio.sleep(0.02)
        for agent in agents:
            agent.close()
    approver.close()
    return sent, acknowledged
