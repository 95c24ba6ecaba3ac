"""docs/operations.md is followed: each of its commands, in its order, as the roles that it names, on both databases.

Beside gateways that serve, from an emptied environment, a database with the roles of `deploy/roles.sh`, and the
platform's stand-in. What the page says that a command does is looked for in what it says.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from channels.slack.simulator.simulator import SlackSimulator
from migrations.state import NEWEST
from tests.durability.place import place
from tests.durability.test_operators_day import Desk
from tests.fixtures.gateway import SystemClock
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.durability.test_operators_day import Served

pytestmark = [pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(600)]  # forty commands, each a process

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
IN_COMPOSE = "docker compose exec gateway-a "
YOU, WANG = "you@acme.example", "wang@acme.example"


def commands() -> list[str]:
    """Return the page's commands of ours that stand in its boxes, without what is said beside them."""
    boxes = "\n".join(re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    lines = [line.partition(" # ")[0].removeprefix(IN_COMPOSE).rstrip() for line in boxes.splitlines()]
    return [line for line in lines if line.startswith("assent ")]


@dataclass(slots=True)
class Reader:
    """Somebody who does what the page says."""

    desk: Desk
    places: dict[str, str]
    followed: list[str] = field(default_factory=list[str])

    async def does(self, command: str, *more: str, code: int = 0, database: str = "") -> str:
        """Give a command of the page, with what it leaves open filled in; return what it said."""
        assert command in PAGE, command
        self.followed.append(command)
        for there, here in self.places.items():
            command = command.replace(there, here)
        return await self.desk.run(*shlex.split(command)[1:], *more, code=code, database=database)


@requirement("F-40")
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
async def test_every_command_of_the_page_does_what_the_page_says(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(kind, tmp_path, monkeypatch) as at, SlackSimulator(clock=SystemClock()) as slack:
        slack.add_person("U0YOU00001", name="You", email=YOU)
        slack.add_person("U0WANG0001", name="Wang", email=WANG)
        folders = {there: str(tmp_path / there.strip("/")) for there in ("/audit/2026", "/archive/trail", "/backups")}
        for folder in folders.values():
            Path(folder).mkdir(parents=True)
        reader = Reader(Desk(tmp_path, at), {"/srv/assent": str(tmp_path), "DIR": str(tmp_path), **folders})
        reader.places |= {"E-MAIL": YOU, "ORG": "acme", "…": "'as the page says'"}
        await _first_hour(reader, slack)
        await _keys(reader)
        async with _serving(reader) as gateway:
            await _stops(reader, gateway)
            await _trail(reader)
            backup = await reader.does("assent backup /backups/assent-2026-11-23")
            assert "Beside it you need" in backup
            await reader.desk.run("pause", "--agent", "shop")  # something that no backup knows of
            if kind == "postgresql":
                await asyncio.to_thread(_dumped_with_the_servers_own, tmp_path, at.backs_up)
        await _restores(reader, tmp_path / "backups" / "assent-2026-11-23")
        await _secrets(reader)
        assert reader.followed
        assert [each for each in commands() if each not in reader.followed] == []


@asynccontextmanager
async def _serving(reader: Reader) -> AsyncIterator[Served]:
    """Serve, and stop as one is stopped."""
    async with reader.desk.serving() as gateway:
        yield gateway
        gateway.process.terminate()
        await gateway.process.ended()


async def _first_hour(reader: Reader, slack: SlackSimulator) -> None:
    desk = reader.desk
    asked = await reader.does("assent init /srv/assent", code=2)
    assert "--yes" in asked  # without a terminal nothing is asked
    given = ("--channel", "slack", "--ask", "pay 1000 EUR", "--ask", "bank.pay", "--database", desk.at.url)
    await reader.does("assent init DIR --yes --approver you@acme.example", *given)
    settings, secrets, file = slack.configuration(), desk.folder / ".env", desk.folder / "assent.yaml"
    text = secrets.read_text()
    for name in ("bot_token", "app_token", "channel"):
        text = text.replace(f"SLACK_{name.upper()}=\n", f"SLACK_{name.upper()}={settings[name]}\n")
    (desk.folder / "state").mkdir()
    text += f"ASSENT_STATE_DIR={desk.folder / 'state'}\nASSENT_BACKUP_URL={shlex.quote(desk.at.backs_up)}\n"
    secrets.write_text(text)
    text = file.read_text().replace("type: slack", f'type: slack\n    api_url: "{settings["api_url"]}"')
    text = text.replace(f"  {YOU}: {{}}\n", f"  {YOU}: {{}}\n  {WANG}: {{}}\n")
    file.write_text(text + "retention: {requests: 31d, trail: 365d}\n")
    desk.source()
    assert "no fault" in await reader.does("assent config check")
    assert len((await reader.does("assent secret")).strip()) >= 32
    if desk.at.migrates != desk.at.url:
        assert "as the role that owns the tables" in await desk.run("serve", "--migrate", code=2)
    assert f"to {NEWEST}" in await reader.does("assent migrate", database=desk.at.migrates)
    refused = await reader.does("assent migrate 0012", database=desk.at.migrates, code=2)
    assert "--lose-rows" in refused
    assert "ERROR" not in await reader.does("assent doctor")


async def _keys(reader: Reader) -> None:
    """Make the first keys as in compose; the desk asks with the agent's."""
    agent, approver = [each for each in commands() if each.startswith("assent keys create")]
    reader.desk.key = (await reader.does(agent)).splitlines()[0]
    await reader.does(approver)
    listed = await reader.does("assent keys", "list")
    assert "the shop's agent" in listed
    assert "Wang, over the API" in listed


async def _ask(gateway: Served, session: str) -> tuple[int, dict[str, object]]:
    submission = {"tool": "bank.pay", "arguments": {"to": "Acme"}, "session": session}
    said = await gateway.client.post("/v1/requests", json=submission)
    return said.status_code, said.json()


async def _stops(reader: Reader, gateway: Served) -> None:
    _, waiting = await _ask(gateway, "waits")
    pauses = [each for each in commands() if each.startswith("assent pause")]
    for command in pauses[:3]:
        assert "paused" in await reader.does(command)
    listed = await reader.does(pauses[3])
    assert all(name in listed for name in ("bank.pay", "wrong payees", "shop", "acme"))
    async with asyncio.timeout(30):
        while (await _ask(gateway, "paused"))[1].get("rule") != "paused":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
    lifted = await reader.does(pauses[4])
    assert "acme" in lifted  # those that stand are named
    assert "1 " in await reader.does(pauses[5])
    request = waiting["request"]
    assert isinstance(request, dict)
    assert await gateway.state(request) == "cancelled"
    for more in (("--lift", "--tool", "bank.pay"), ("--lift", "--agent", "shop"), ("--lift", "--org", "acme")):
        await reader.desk.run("pause", *more)
    await reader.does("assent read-only", "on")
    assert "off" in await reader.does("assent read-only", "off")
    async with asyncio.timeout(30):
        while (await _ask(gateway, "again"))[0] != 202:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)


async def _trail(reader: Reader) -> None:
    at = reader.desk.at
    assert "unbroken" in await reader.does("assent audit verify")
    assert "made" in await reader.desk.run("audit", "show", "--plain")
    export, span, cut, before = [each for each in commands() if each.startswith("assent audit")]
    assert "head: " in await reader.does(export, database=at.backs_up)
    written = list((reader.desk.folder / "audit/2026").iterdir())
    assert len(written) == 1
    await reader.does(span, database=at.backs_up, code=_of_this_year(reader))
    for command in (cut, before):
        assert "nothing to cut: no event is older" in await reader.does(command, database=at.migrates)
    if at.migrates != at.url:
        assert "connect as the role that migrates" in await reader.does(cut, code=1)
    assert await reader.does("assent outbox list") is not None
    assert "unbroken" in await reader.does("assent audit verify")


def _of_this_year(reader: Reader) -> int:
    """Return the code with which an export of the page's year ends: 2 where it holds no event."""
    [(last,)] = look(reader.desk.at.url, "SELECT max(at) FROM audit_events")
    return 0 if 1_767_225_600_000_000 <= last < 1_798_761_600_000_000 else 2


def _dumped_with_the_servers_own(folder: Path, backs_up: str) -> None:
    """Dump as the page does in the database's own container."""
    [line] = [line for line in PAGE.splitlines() if " pg_dump --username assent_backup" in line]
    words, _, file = line.partition("postgres pg_dump")[2].partition(" > ")
    host = backs_up.partition("?host=")[2]
    environ = {"PATH": os.environ["PATH"], "PGHOST": host, "PGOPTIONS": "-c assent.org=*"}
    with (folder / file).open("wb") as out:
        command = ["pg_dump", *shlex.split(words)]
        subprocess.run(command, env=environ, stdout=out, check=True, timeout=HANGS)
    assert (folder / file).stat().st_size > 10_000


RESTORES = "pg_restore --create --exit-on-error --dbname postgres FILE"
"""What `place` does with a backup, in the page's words."""


async def _restores(reader: Reader, backup: Path) -> None:
    assert RESTORES in PAGE
    assert RESTORES.replace("pg_restore", "pg_restore --username postgres").replace("FILE", "< assent.dump") in PAGE
    at = reader.desk.at
    await asyncio.to_thread(at.restore, backup)
    if at.migrates != at.url:  # nobody gets in who did not before: not every role of the server
        [(rights,)] = look(at.url, "SELECT datacl::text FROM pg_database WHERE datname = 'assent'")
        assert sorted(each.partition("=")[0] for each in rights.strip("{}").split(",")) == [
            "assent_app",
            "assent_backup",
            "assent_owner",
        ]
    looked = await reader.does("assent doctor", code=1)
    assert "older than what this gateway has seen of it" in looked
    assert "the trail is broken" not in looked  # it is whole, and as old as the backup
    assert "`assent restored` says so first" in await reader.does("assent audit verify", code=1)
    [restored] = [each for each in commands() if each.startswith("assent restored")]
    assert "epoch 1" in await reader.does(restored)
    assert "unbroken" in await reader.does("assent audit verify")


async def _secrets(reader: Reader) -> None:
    """Rotate the master secret in the page's three steps; then seal anew, and forget what the org asked."""
    desk = reader.desk
    old, new = desk.environ["ASSENT_SECRET"], (await reader.does("assent secret")).strip()
    steps = re.findall(r"^ASSENT_SECRET=(\S+) ", PAGE, re.MULTILINE)
    assert len(steps) == 3
    for step in steps:
        desk.environ["ASSENT_SECRET"] = step.replace("old", old).replace("new", new)
        if step == "new":
            desk.key = (await reader.does(commands()[1])).splitlines()[0]
        async with _serving(reader) as gateway:
            assert (await _ask(gateway, step))[0] == 202, step
            for request in [row[0] for row in look(desk.at.url, "SELECT id FROM requests WHERE status = 'pending'")]:
                assert (await gateway.client.post(f"/v1/requests/{request}/cancel", json={})).status_code == 200
    assert "ERROR" not in await reader.does("assent doctor")
    assert "sealed" in await reader.does("assent reseal --by E-MAIL --reason …")
    assert "destroyed" in await reader.does("assent destroy-values --org ORG --by E-MAIL --reason …", "--yes")
    assert "unbroken" in await reader.does("assent audit verify")
