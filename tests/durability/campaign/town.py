"""Everything that lives through a campaign: a PostgreSQL of its own, two gateways, Slack, a ledger, two executors."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.clock import SystemClock
from app.domain.identity.api_key import Scope
from app.domain.identity.seals import Seals
from app.usecases.reading.keys import Keys
from examples.ledger.book import Book
from tests.durability.campaign.door import Door
from tests.durability.campaign.replicas import Replica
from tests.durability.fault_proxy import FaultProxy, fault_proxy
from tests.durability.gateway_process import OWNER, PEOPLE, SECRET, free_port, scene
from tests.durability.own_server import own_server
from tests.fixtures import forked
from tests.places import ROOT
from tests.storage.rig import look, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from channels.slack.simulator.simulator import SlackSimulator
    from tests.durability.campaign.figures import Figures
    from tests.durability.gateway_process import Scene
    from tests.durability.own_server import Server

QUOTA = 60
"""How many requests of one agent may wait at once."""
AGENTS = ("one", "two", "three", "four", "five", "six", "flood")
FUNDS = {"CNY": "100000000.00"}
_LEDGER_TOKEN = "a-token-of-the-ledger"

_POLICY = """
org: acme
default: deny
attention: {{cool_down: 0s, remember_denials: 0s}}
people:
{people}
groups:
  finance: [{finance}]
channels:
{channels}
tools:
  payout: {{title: "Pay {{payee}} {{amount}}", pin: [payee, amount, reference], money: [amount], enforced: true}}
  payout_small: {{enforced: true}}
  wire: {{}}
ask: {{stages: [{{of: [finance]}}], channels: [api], timeout: 10m, claim_within: 10m, lease: 30s}}
rules:
  - {{id: small, tools: [payout_small], then: {small}}}
  - {{id: hasty, tools: [payout], when: 'args.payee == "Hasty Ltd"', then: ask, timeout: 10s}}
  - {{id: by-card, tools: [payout], when: 'args.payee == "Card Ltd"', then: ask, channels: [pay-slack]}}
  - {{id: by-key, tools: [payout, wire], when: 'args.payee == "Acme Ltd"', then: ask}}
"""


@dataclass
class Town:
    """Who and what is there."""

    made: Scene
    url: str
    server: Server
    proxies: list[FaultProxy]
    replicas: list[Replica]
    figures: Figures
    draw: random.Random
    door: Door
    book: Book
    ledger_port: int = field(default_factory=free_port)
    ledger: asyncio.subprocess.Process | None = None
    executors: list[forked.Forked | None] = field(default_factory=lambda: [None, None])

    @property
    def slack(self) -> SlackSimulator:
        """The chat."""
        assert self.made.slack is not None
        return self.made.slack

    # --- the file -----------------------------------------------------------------------------------------------------

    def write_policy(self, *, small: str = "allow", more: str = "") -> None:
        """Write the file as an editor does: whole, or not at all."""
        people = "\n".join(
            f"  {email}: {json.dumps({'name': email[:3], **self.made.accounts.get(email, {})})}"
            for email in [*PEOPLE, OWNER]
        )
        channels = "\n".join(
            f"  {name}: {json.dumps(self.made._without_secrets(it))}" for name, it in self.made.channels.items()
        )
        text = _POLICY.format(people=people, finance=", ".join(PEOPLE), channels=channels, small=small)
        written = self.made.folder / "assent.yaml.new"
        written.write_text(text + more)
        written.replace(self.made.folder / "assent.yaml")

    # --- processes ----------------------------------------------------------------------------------------------------

    @property
    def ledger_url(self) -> str:
        """Where the ledger is."""
        return f"http://127.0.0.1:{self.ledger_port}"

    async def ledger_starts(self) -> None:
        """Start the ledger; it is there when it has said where it is."""
        words = (sys.executable, "-m", "examples.ledger", str(self.made.folder / "ledger.db"), str(self.ledger_port))
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LEDGER_TOKEN": _LEDGER_TOKEN}
        self.ledger = await asyncio.create_subprocess_exec(
            *words, env=environ, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert self.ledger.stdout is not None
        assert await asyncio.wait_for(self.ledger.stdout.readline(), 60)

    async def ledger_dies(self) -> None:
        """End the ledger as a power cut would."""
        if self.ledger is not None:
            with suppress(ProcessLookupError):
                self.ledger.kill()
            await self.ledger.communicate()

    def executor_starts(self, number: int) -> None:
        """Start an executor; each has its own gateway, and both have one name."""
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
            "ASSENT_URL": self.replicas[number].address,
            "ASSENT_KEY": self.made.keys["executor"],
            "LEDGER_URL": self.ledger_url,
            "LEDGER_TOKEN": _LEDGER_TOKEN,
        }
        with (self.made.folder / f"executor-{number}.log").open("ab") as out:
            self.executors[number] = forked.start(
                "tests.sdk.executor.executor_process", env=environ, cwd=self.made.folder, stdout=out, stderr=out
            )

    async def executor_dies(self, number: int) -> None:
        """End an executor as a power cut would."""
        process, self.executors[number] = self.executors[number], None
        if process is not None:
            process.kill()
            await process.ended()

    @property
    def ledger_headers(self) -> dict[str, str]:
        """What the ledger wants to see."""
        return {"authorization": f"Bearer {_LEDGER_TOKEN}"}

    # --- looking ------------------------------------------------------------------------------------------------------

    async def look(self, query: str) -> list[Any]:
        """Read rows past the gateways; none while the database is away."""
        return await asyncio.to_thread(look, self.url, query)


@asynccontextmanager
async def town(folder: Path, figures: Figures) -> AsyncIterator[Town]:
    """Build it, with both gateways up; take all of it down afterwards."""
    draw = random.Random(f"town {figures.seed}")
    async with AsyncExitStack() as stack:
        server, url = await stack.enter_async_context(own_server())
        made = await stack.enter_async_context(scene(url, folder, "slack"))
        await _keys(made)
        proxies, replicas = list[FaultProxy](), list[Replica]()
        for name in ("east", "west"):
            proxy, through = await stack.enter_async_context(fault_proxy(url))
            environ = {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": through}
            proxies.append(proxy)
            replicas.append(Replica(name, {**environ, "ASSENT_MAX_PENDING_PER_AGENT": str(QUOTA)}, folder))
        door = Door(replicas, made.keys, figures, draw)
        stack.push_async_callback(door.close)
        book = Book(folder / "ledger.db", funds=FUNDS)
        built = Town(made, url, server, proxies, replicas, figures, draw, door, book)
        built.write_policy()
        for replica in replicas:
            replica.knows(made.environ)
            await stack.enter_async_context(replica.running())
        await built.ledger_starts()
        stack.push_async_callback(built.ledger_dies)
        for number in range(len(built.executors)):
            built.executor_starts(number)
            stack.push_async_callback(built.executor_dies, number)
        yield built


async def _keys(made: Scene) -> None:
    async with open_store(made.url) as store:
        keys = Keys(store=store, seals=Seals([SECRET]), clock=SystemClock())
        for agent in AGENTS:
            made.keys[agent] = (
                await keys.create(org="acme", scope=Scope.AGENT, label="campaign", agent=agent, person=OWNER)
            ).text
        made.keys["admin"] = (await keys.create(org="acme", scope=Scope.ADMIN, label="campaign")).text
