"""The weather itself: three clouds, each with its own happenings, one after the other, as the seed draws them."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from typing import TYPE_CHECKING

from tests.durability.campaign.agents import Agent
from tests.durability.campaign.happenings import AROUND, DATABASE, PROCESSES, Scenery, switch, withdraw_all
from tests.durability.campaign.people import Approver
from tests.durability.campaign.town import AGENTS
from tests.durability.gateway_process import PEOPLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.durability.campaign.happenings import Happening
    from tests.durability.campaign.town import Town

CALM = 240.0
"""Seconds within which everything has come to its end once the weather is fine."""
_OPEN = "SELECT count(*) FROM requests WHERE state IN ('pending', 'approved', 'executing')"
_ERRANDS = "SELECT count(*) FROM outbox WHERE status = 'queued'"
_STILL_QUEUED = (
    "SELECT o.kind, o.attempts, (o.due_at / 1000000 - extract(epoch FROM now()))::int, o.error, d.status, d.request_id"
    " FROM outbox o LEFT JOIN deliveries d ON d.id = o.delivery_id WHERE o.status = 'queued' LIMIT 5"
)
"""What they are, how often each was tried, in how many seconds it is due, and why it was not done."""
_CLOUDS = {"processes": (PROCESSES, 4.0), "database": (DATABASE, 8.0), "around": (AROUND, 3.0)}


async def blow(town: Town, seconds: float) -> list[Approver]:
    """Let everybody work through so many seconds of it, and then until all is quiet; return the people."""
    seed, town.figures.began = town.figures.seed, time.monotonic()
    agents = [Agent(town, name, random.Random(f"{name} {seed}")) for name in AGENTS if name != "flood"]
    people = [Approver(town, email, random.Random(f"{email} {seed}")) for email in PEOPLE]
    async with asyncio.TaskGroup() as group:
        working = [group.create_task(agent.live()) for agent in agents]
        deciding = [group.create_task(person.live()) for person in people]
        telling = group.create_task(_tell(town))
        until = time.monotonic() + seconds
        async with asyncio.TaskGroup() as clouds:
            for name, (happenings, between) in _CLOUDS.items():
                at = Scenery(town, agents, people, random.Random(f"{name} {seed}"))
                clouds.create_task(_cloud(at, happenings, between, until))
        await _clears_up(town, agents, people)
        for task in (*deciding, telling, *working):
            task.cancel()
    return people


async def _cloud(at: Scenery, happenings: Sequence[Happening], between: float, until: float) -> None:
    weights = [each.weight for each in happenings]
    while time.monotonic() < until:
        [happening] = at.draw.choices(happenings, weights)
        at.town.figures.happened[happening.name] += 1
        await happening.happen(at)
        await asyncio.sleep(at.draw.uniform(0.2, between))


async def _clears_up(town: Town, agents: list[Agent], people: list[Approver]) -> None:
    """Wait until nothing is on its way any more."""
    for agent in agents:
        agent.asks_more = False
    for person in people:
        person.thorough = True
    town.slack.world.faults.clear()
    await switch(town, {"on": False, "reason": "the weather is fine"})
    await withdraw_all(town)
    try:
        async with asyncio.timeout(CALM):
            while await _at_work(town) or any(agent.unfinished() for agent in agents):  # noqa: ASYNC110 - rows
                await asyncio.sleep(0.3)
    except TimeoutError:
        unfinished = [entry for agent in agents for entry in agent.unfinished()]
        town.figures.wrong.append(
            f"not quiet within {CALM} s of fine weather: {await _at_work(town)}; "
            + "; ".join(f"{each.reference} ({(each.request or {}).get('state')})" for each in unfinished[:5])
            + f"; {await town.look(_STILL_QUEUED)}"
        )


async def _at_work(town: Town) -> str:
    [[standing]], [[errands]] = await town.look(_OPEN), await town.look(_ERRANDS)
    return f"{standing} requests, {errands} errands" if standing or errands else ""


async def _tell(town: Town) -> None:
    """Print how it goes."""
    while True:
        await asyncio.sleep(10)
        answer = await town.door.call("one", "GET", "/v1/requests?open=true&limit=1")
        standing = "?" if answer is None else answer.status_code
        sys.stdout.write(f"\n{town.figures.line()}; a look at the open ones: {standing}")
        sys.stdout.flush()
