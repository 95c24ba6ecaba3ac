"""An operator's day, on both databases, with nothing in the environment but what `assent init` wrote.

From the first question to the first card, a backup, a kill, a restore and a verified trail, a later release that
migrates beside the gateways, and weeks after which what is over goes. Every step is the real command in a process of
its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from channels.slack.simulator.simulator import CannotPressError, SlackSimulator
from migrations import run as migrations
from migrations.state import NEWEST
from tests.durability import stepped
from tests.durability.gateway_process import free_port, until
from tests.durability.place import place
from tests.durability.stepped import SteppedClock
from tests.durability.weather.test_migrating import STEPS, write_steps
from tests.fixtures import forked
from tests.fixtures.gateway import SystemClock
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.durability.place import Place
    from tests.fixtures.forked import Forked

pytestmark = [pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(300)]

ANN = "ann@acme.example"
BEFORE = "0016"
"""The schema of an earlier release, which the day begins with."""

FIRST_STEP = next(iter(STEPS))


@dataclass(slots=True)
class Desk:
    """The operator's folder and shell: an environment that holds what `.env` says, and nothing else."""

    folder: Path
    at: Place
    environ: dict[str, str] = field(default_factory=dict[str, str])
    key: str = ""
    program: str = "app.cli.main"

    async def run(self, *words: str, code: int = 0, database: str = "") -> str:
        """Give a command; return what it said. `database`: as another role."""
        known = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environ}
        known |= {"ASSENT_DATABASE_URL": database} if database else {}
        done = await asyncio.to_thread(forked.run, self.program, *words, env=known, cwd=self.folder, timeout=60)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def source(self) -> None:
        """Take what `.env` says, as `set -a && . ./.env` does."""
        lines = (self.folder / ".env").read_text().splitlines()
        pairs = [line.partition("=") for line in lines if re.match(r"\w+=", line)]
        self.environ = {name: "".join(shlex.split(value)) for name, _, value in pairs}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Served]:
        """Serve until it is over, or was killed before."""
        port, log = free_port(), self.folder / f"serve-{len(list(self.folder.glob('serve-*')))}.log"
        known = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environ}
        with log.open("wb") as out:
            words = (self.program, "serve", "--port", str(port))
            process = forked.start(*words, env=known, cwd=self.folder, stdout=out, stderr=out)
        headers = {"authorization": f"Bearer {self.key}"}
        client = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30, trust_env=False)
        try:
            await until("it serves", lambda: _serves(log) or process.returncode is not None, seconds=90)
            assert process.returncode is None, log.read_text()
            yield Served(process, client, log)
        finally:
            await client.aclose()
            process.kill()
            await process.ended()


def _serves(log: Path) -> bool:
    """Whether a gateway has greeted, and a click would find it: its long connection stands."""
    said = log.read_text()
    return "gateway.greeted" in said and "connection.opened" in said


@dataclass(frozen=True, slots=True)
class Served:
    """A gateway that runs."""

    process: Forked
    client: httpx2.AsyncClient
    log: Path

    async def ask(self, session: str, **more: str) -> dict[str, Any]:
        """Ask, as the agent does; return the request. `more` are further headers."""
        submission = {"tool": "mail.send", "arguments": {"to": "list@acme.example"}, "session": session}
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        said = await self.client.post("/v1/requests", json=submission, headers=headers)
        assert said.status_code == 202, said.text
        return said.json()["request"]

    async def claim(self, request: dict[str, Any], claim_id: str) -> int:
        """Spend the approval, and say that it went well; return the claim's status."""
        path, body = f"/v1/requests/{request['id']}", {"digest": request["digest"], "claim_id": claim_id}
        status = (await self.client.post(f"{path}/claim", json=body)).status_code
        if status == 200:
            told = {"claim_id": claim_id, "status": "succeeded"}
            assert (await self.client.post(f"{path}/outcome", json=told)).status_code == 200
        return status

    async def state(self, request: dict[str, Any]) -> str:
        return (await self.client.get(f"/v1/requests/{request['id']}")).json()["state"]

    async def newer(self) -> str | None:
        """Return the newer schema that it names; None if it names none, or does not answer."""
        with suppress(httpx2.HTTPError):
            return (await self.client.get("/readyz")).json().get("newer_schema")
        return None


def _cards(slack: SlackSimulator) -> list[dict[str, object]]:
    """Return the cards that can be pressed, the oldest first."""
    return [message for message in slack.view(slack.room.id) if "assent_approve" in str(message)]


async def _press(slack: SlackSimulator) -> None:
    for card in _cards(slack):
        with suppress(CannotPressError):
            await slack.click("U0ANN00001", slack.room.id, str(card["ts"]), "assent_approve")


async def _approved_by_card(gateway: Served, slack: SlackSimulator, session: str) -> dict[str, Any]:
    """Ask, wait for the card, and let Ann press Approve."""
    request = await gateway.ask(session)
    await until("the card is there", lambda: len(_cards(slack)) == 1)
    async with asyncio.timeout(90):
        while await gateway.state(request) != "approved":
            await _press(slack)  # a replica that has not heard of the card yet says: press again
            await asyncio.sleep(0.5)
    await until("the card is settled", lambda: not _cards(slack))
    return request


@requirement("F-40", "F-43")
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
async def test_an_operators_day(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with place(kind, tmp_path, monkeypatch) as at, SlackSimulator(clock=SystemClock()) as slack:
        slack.add_person("U0ANN00001", name="Ann", email=ANN)
        desk = Desk(tmp_path, at)
        await _first_hour(desk, slack)
        approved = await _until_the_kill(desk, slack)
        await _restore(desk)
        async with desk.serving() as gateway, AsyncExitStack() as others:
            assert {await gateway.claim(request, "c-2") for request in approved} == {409}
            anew = await _approved_by_card(gateway, slack, "third")
            assert await gateway.claim(anew, "c-3") == 200
            more = [] if kind == "sqlite" else [await others.enter_async_context(desk.serving())]
            await _upgraded(desk, [gateway, *more], slack, monkeypatch)
        assert "unbroken" in await desk.run("audit", "verify")
        await _weeks_later(desk)
        assert "unbroken" in await desk.run("audit", "verify")
        await _cut_off(desk)
        looked = await desk.run("doctor")
        assert "ERROR" not in looked
        assert "nobody will be asked" not in looked


async def _first_hour(desk: Desk, slack: SlackSimulator) -> None:
    """From the questions to the first key; the platform is a stand-in, so its address is written into the file."""
    given = (
        "--channel",
        "slack",
        "--approver",
        ANN,
        "--ask",
        "pay 1000 EUR",
        "--ask",
        "mail.send",
        "--database",
        desk.at.url,
    )
    told = await desk.run("init", ".", "--yes", *given)
    assert told.partition("next:\n")[2].count("\n") == 3
    settings, secrets = slack.configuration(), desk.folder / ".env"
    text = secrets.read_text()
    for name in ("bot_token", "app_token", "channel"):
        text = text.replace(f"SLACK_{name.upper()}=\n", f"SLACK_{name.upper()}={settings[name]}\n")
    (desk.folder / "state").mkdir()
    text += f"ASSENT_STATE_DIR={desk.folder / 'state'}\nASSENT_BACKUP_URL={shlex.quote(desk.at.backs_up)}\n"
    secrets.write_text(text)
    file = desk.folder / "assent.yaml"
    file.write_text(file.read_text().replace("type: slack", f'type: slack\n    api_url: "{settings["api_url"]}"'))
    with file.open("a") as more:
        more.write("retention: {requests: 31d, deliveries: 14d, outbox: 7d, deduplication: 2d}\n")
    desk.source()

    await desk.run("migrate", BEFORE, database=desk.at.migrates)  # what an earlier release has left
    assert f"at {BEFORE}, this gateway needs {NEWEST}: run `assent migrate`" in await desk.run("serve", code=2)
    assert f"to {NEWEST}" in await desk.run("migrate", database=desk.at.migrates)
    looked = await desk.run("doctor")
    assert "no agent has a key: nobody can ask yet" in looked
    assert "ERROR" not in looked
    words = ("keys", "create", "--scope", "agent", "--agent", "shop", "--label", "the shop")
    desk.key = (await desk.run(*words)).splitlines()[0]
    assert "no agent has a key" not in await desk.run("doctor")


async def _until_the_kill(desk: Desk, slack: SlackSimulator) -> list[dict[str, Any]]:
    """Work, take a backup beside it, use one of the approvals up, and be killed; return the approvals."""
    async with desk.serving() as gateway:
        assert "1 of 1 person found" in gateway.log.read_text()
        approved = [await _approved_by_card(gateway, slack, session) for session in ("first", "second")]
        assert "Beside it you need" in await desk.run("backup", "copy")
        assert await gateway.claim(approved[0], "c-1") == 200
        await _noted(desk)
        gateway.process.kill()
        await gateway.process.ended()
    return approved


async def _noted(desk: Desk) -> None:
    """Wait until the gateway has written down where the trail ends: then a restore is noticed."""
    [(last,)] = look(desk.at.url, "SELECT max(seq) FROM audit_events")
    heads = desk.folder / "state"

    def noted() -> bool:
        found = [json.loads(each.read_text())["orgs"].get("acme", [-1])[0] for each in heads.glob("*.head")]
        return max(found, default=-1) >= last

    await until("the head is noted", noted)


async def _restore(desk: Desk) -> None:
    """Put the backup back, and say so: what does not know of it refuses."""
    await asyncio.to_thread(desk.at.restore, desk.folder / "copy")
    assert "older than what this gateway has seen of it" in await desk.run("serve", code=2)
    assert "epoch 1" in await desk.run("restored", "--by", ANN, "--reason", "the disk died")
    assert "unbroken" in await desk.run("audit", "verify")


async def _weeks_later(desk: Desk) -> None:
    """Let weeks pass while it serves: what is over goes by the file, what still waits is there; the key holds on."""
    clock = SteppedClock(desk.folder, owner=desk.at.migrates)
    desk.program, desk.environ = stepped.PROGRAM, desk.environ | clock.environ
    async with desk.serving() as gateway:
        assert len(look(desk.at.url, "SELECT id FROM requests")) > 1
        waits = await gateway.ask("weeks", idempotency_key="weekly")
        assert (await gateway.ask("weeks", idempotency_key="weekly"))["id"] == waits["id"]
        clock.ahead(timedelta(days=40))
        left = [(waits["id"],)]
        await until("rows are gone", lambda: look(desk.at.url, "SELECT id FROM requests") == left, seconds=90)
        await until("it is said", lambda: "retention.done" in gateway.log.read_text())
        hang = ("deliveries", "idempotency_keys", "decisions", "grants", "executions")
        hanging = " UNION ".join(f"SELECT request_id FROM {table}" for table in hang)
        assert look(desk.at.url, hanging) == left
        errands = "SELECT count(*) FROM outbox WHERE delivery_id NOT IN (SELECT id FROM deliveries)"
        assert look(desk.at.url, errands) == [(0,)]
        anew = await gateway.ask("weeks", idempotency_key="weekly")
        assert anew["id"] != waits["id"]  # its key stood for it for two days


async def _cut_off(desk: Desk) -> None:
    """Cut the trail off before the first request that stands, as the tables' owner; both parts verify together."""
    archive = desk.folder / "archive"
    archive.mkdir()
    words = ("audit", "cut", "--to", str(archive), "--by", ANN, "--before", "2099-01-01")
    assert "whose rows stand" in await desk.run(*words, database=desk.at.migrates)
    assert len([*archive.iterdir()]) == 1
    assert "from the cut at" in await desk.run("audit", "verify")
    assert "from 1 segment" in await desk.run("audit", "verify", "--segments", str(archive))


async def _upgraded(desk: Desk, gateways: list[Served], slack: SlackSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a later release's first step run beside the gateways: they name it, and go on; then back again."""
    later = write_steps(desk.folder)
    monkeypatch.setattr(migrations, "VERSIONS", [*migrations.VERSIONS, later])
    await asyncio.to_thread(migrations.bring, desk.at.migrates, FIRST_STEP)
    for number, gateway in enumerate(gateways):
        async with asyncio.timeout(90):
            while await gateway.newer() != FIRST_STEP:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
        meanwhile = await _approved_by_card(gateway, slack, f"meanwhile-{number}")
        assert await gateway.claim(meanwhile, f"m-{number}") == 200
    assert "newer than the" in await desk.run("keys", "list", code=2)
    await asyncio.to_thread(migrations.bring, desk.at.migrates, NEWEST, may_lose=True)
