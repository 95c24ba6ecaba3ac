"""What may happen: each happening has a name, what it stands for, and leaves nothing behind but its consequences."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from channels.slack.simulator.state import Fault
from tests.durability.campaign.town import QUOTA

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from tests.durability.campaign.agents import Agent
    from tests.durability.campaign.people import Approver
    from tests.durability.campaign.town import Town


@dataclass(frozen=True, slots=True)
class Scenery:
    """What a happening can touch."""

    town: Town
    agents: list[Agent]
    people: list[Approver]
    draw: random.Random


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that may happen. `shows` are the rows of the ledger that it is a part of."""

    name: str
    shows: tuple[str, ...]
    happen: Callable[[Scenery], Awaitable[None]]
    weight: int = 1


# --- processes --------------------------------------------------------------------------------------------------------


async def _kill_gateway(at: Scenery) -> None:
    replica = at.draw.choice(at.town.replicas)
    replica.kill()
    await asyncio.sleep(at.draw.uniform(0, 2))


async def _freeze_gateway(at: Scenery) -> None:
    await at.draw.choice(at.town.replicas).freeze(at.draw.uniform(1, 8))


async def _rolling_restart(at: Scenery) -> None:
    """One replica after the other, each when the one before answers again."""
    for replica in at.town.replicas:
        with suppress(TimeoutError):  # while the database is away, none starts
            await asyncio.wait_for(replica.restarted(), 60)


async def _kill_executor(at: Scenery) -> None:
    number = at.draw.randrange(len(at.town.executors))
    await at.town.executor_dies(number)
    await asyncio.sleep(at.draw.uniform(0, 1))
    at.town.executor_starts(number)


async def _kill_ledger(at: Scenery) -> None:
    await at.town.ledger_dies()
    await asyncio.sleep(at.draw.uniform(0, 1.5))
    await at.town.ledger_starts()


async def _kill_agent(at: Scenery) -> None:
    at.draw.choice(at.agents).kill()


# --- the database -----------------------------------------------------------------------------------------------------


async def _freeze_database(at: Scenery) -> None:
    at.town.server.freeze()
    try:
        await asyncio.sleep(at.draw.uniform(1, 8))
    finally:
        at.town.server.thaw()


async def _restart_database(at: Scenery) -> None:
    await asyncio.to_thread(at.town.server.stop_at_once)
    try:
        await asyncio.sleep(at.draw.uniform(0, 3))
    finally:
        await asyncio.to_thread(at.town.server.start)


async def _cut_connections(at: Scenery) -> None:
    for _ in range(at.draw.randint(1, 5)):
        at.draw.choice(at.town.proxies).cut()
        await asyncio.sleep(at.draw.uniform(0, 0.3))


async def _swallow_answers(at: Scenery) -> None:
    for _ in range(at.draw.randint(1, 5)):
        at.draw.choice(at.town.proxies).swallow_reply("COMMIT")
        await asyncio.sleep(at.draw.uniform(0.1, 0.6))


async def _slow_database(at: Scenery) -> None:
    proxy = at.draw.choice(at.town.proxies)
    proxy.late = at.draw.uniform(0.02, 0.2)
    try:
        await asyncio.sleep(at.draw.uniform(2, 5))
    finally:
        proxy.late = 0.0


async def _partition(at: Scenery) -> None:
    """One gateway and the database do not hear of each other any more, and nobody hangs up."""
    proxy = at.draw.choice(at.town.proxies)
    proxy.flows.clear()
    try:
        await asyncio.sleep(at.draw.uniform(1, 8))
    finally:
        proxy.flows.set()
        proxy.cut()  # what has lost bytes in the middle of a message is of no use


# --- the platform -----------------------------------------------------------------------------------------------------

_SICK = (
    Fault.RATE_LIMITED,
    Fault.SERVER_ERROR,
    Fault.UNAVAILABLE,
    Fault.FATAL_AFTER_STORE,
    Fault.RESET_BEFORE,
    Fault.RESET_AFTER_RECEIVE,
    Fault.HANG,
    Fault.BROKEN_JSON,
    Fault.PLAIN_TEXT,
)


async def _sick_platform(at: Scenery) -> None:
    for _ in range(at.draw.randint(1, 4)):
        method = at.draw.choice(["chat.postMessage", "chat.update", "conversations.history", "users.info"])
        at.town.slack.fail_next(method, at.draw.choice(_SICK), times=at.draw.randint(1, 2))
    await asyncio.sleep(at.draw.uniform(0.5, 3))


async def _callbacks_again(at: Scenery) -> None:
    """Slack delivers old calls again: several times, in any order, to the other gateway, after a death."""
    pressed = [delivery for person in at.people for delivery in person.pressed[-20:]]
    chosen = at.draw.choices(pressed, k=min(9, len(pressed))) if pressed else []
    for delivery in chosen:
        replica = at.draw.choice(at.town.replicas)
        at.town.slack.callback_url = f"{replica.address}/v1/channels/pay-slack/callback"
        await at.town.slack.send_raw(delivery.body, delivery.headers)


# --- people who run it ------------------------------------------------------------------------------------------------


async def _file_saved_again(at: Scenery) -> None:
    at.town.write_policy()
    await asyncio.sleep(1)


async def _file_broken(at: Scenery) -> None:
    at.town.write_policy(more="rules: [\n")
    try:
        await asyncio.sleep(at.draw.uniform(2, 5))
    finally:
        at.town.write_policy()


async def _file_tightened(at: Scenery) -> None:
    """What a rule allowed is asked about for a while, also where it was allowed already and is not claimed yet."""
    at.town.write_policy(small="ask")
    try:
        await asyncio.sleep(at.draw.uniform(2, 6))
    finally:
        at.town.write_policy()


async def _pause(at: Scenery) -> None:
    """An administrator pauses an agent, or everything, and lifts it after a while: each until it is done."""
    scope = {} if at.draw.random() < 0.2 else {"agent": at.draw.choice(at.agents).name}
    await switch(at.town, {**scope, "on": True, "reason": "to have a look"})
    try:
        await asyncio.sleep(at.draw.uniform(1, 5))
    finally:
        await switch(at.town, {**scope, "on": False, "reason": "looked"})


async def switch(town: Town, body: dict[str, object]) -> None:
    """Set or lift a pause; whoever got no answer does it again."""
    async with asyncio.timeout(120):
        while True:
            said = await town.door.call("admin", "PUT", "/v1/switches/pause", body)
            if said is not None and said.status_code == 200:
                return
            await asyncio.sleep(0.3)


async def _burst(at: Scenery) -> None:
    """One agent asks for more than may wait, through both gateways at once; then it takes all of it back."""
    town, burst = at.town, at.draw.randrange(10**9)
    bodies = [
        {
            "tool": "wire",
            "arguments": {"payee": "Acme Ltd", "amount": "1.00", "currency": "CNY", "reference": f"FLOOD-{burst}-{n}"},
            "session": "s-flood",
        }
        for n in range(QUOTA + 20)
    ]
    said = await asyncio.gather(*(town.door.call("flood", "POST", "/v1/requests", body) for body in bodies))
    for answer in said:
        if answer is not None and answer.status_code == 202:
            request = answer.json()["request"]
            town.figures.created[request["id"]] = request["arguments"]["reference"]
    with suppress(Exception):  # the database may be away just now: then nobody counts
        [[waiting]] = await town.look("SELECT count(*) FROM requests WHERE agent = 'flood' AND status = 'pending'")
        if waiting > QUOTA:
            town.figures.wrong.append(f"{waiting} requests of one agent wait, {QUOTA} may")
    await withdraw_all(town)


async def withdraw_all(town: Town) -> None:
    """Take back what the flooding agent has asked."""
    for _ in range(5):
        path = f"/v1/requests?status=pending&limit={QUOTA + 40}"
        listed = await town.door.call("flood", "GET", path)
        found = listed.json()["items"] if listed is not None and listed.status_code == 200 else None
        if found == []:
            return
        calls = [town.door.call("flood", "POST", f"/v1/requests/{each['id']}/cancel", {}) for each in found or ()]
        await asyncio.gather(*calls)
        await asyncio.sleep(0.3)


PROCESSES = (
    Happening("a gateway killed", ("F-02", "F-04", "F-05", "F-06"), _kill_gateway, 4),
    Happening("an executor killed", ("F-08", "F-09"), _kill_executor, 5),
    Happening("the ledger killed", ("F-09",), _kill_ledger, 2),
    Happening("an agent killed", ("F-07",), _kill_agent, 4),
    Happening("a gateway frozen", ("F-13",), _freeze_gateway, 2),
    Happening("a rolling restart", ("F-12",), _rolling_restart, 1),
)
DATABASE = (
    Happening("the database frozen", ("F-41",), _freeze_database, 1),
    Happening("the database stopped at once", ("F-22",), _restart_database, 1),
    Happening("connections to the database cut", ("F-21",), _cut_connections, 2),
    Happening("answers to COMMIT swallowed", ("F-20",), _swallow_answers, 3),
    Happening("a slow database", ("F-38",), _slow_database, 2),
    Happening("a gateway parted from the database", ("F-32",), _partition, 1),
)
AROUND = (
    Happening("the platform sick", ("F-03", "F-29"), _sick_platform, 4),
    Happening("callbacks delivered again", ("F-31",), _callbacks_again, 4),
    Happening("the file saved again", (), _file_saved_again, 1),
    Happening("the file broken", (), _file_broken, 1),
    Happening("the file tightened", (), _file_tightened, 2),
    Happening("an agent paused", (), _pause, 3),
    Happening("a burst at the quota", ("F-49",), _burst, 1),
)
