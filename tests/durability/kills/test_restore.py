"""A backup of ten minutes ago is put back after all of it was used: nothing old runs, presses, or is believed."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.clock import SystemClock
from app.domain.trail.chain import first_fault
from app.identifiers import RandomIds
from app.storage.make_store import dialect_for, make_store
from app.storage.trail.audit_chain import list_events
from app.storage.trail.head_file import head_file_of
from app.usecases.upkeep.restored import DeclareRestored
from app.usecases.upkeep.watch_heads import RestoredError, WatchHeads
from tests.fixtures.backups import Backup
from tests.fixtures.gateway import SECRET, ManualClock, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from app.ports import Click
    from app.usecases.upkeep.restored import Fenced
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

OLGA = "olga@acme.example"
CARDS = 6
SECOND = timedelta(seconds=1)


class Drill:
    """One restore: what was asked before the backup, and all that was done with it since."""

    def __init__(
        self, url: str, config: Path, platform: MemoryPlatform, folder: Path, clock: ManualClock | None
    ) -> None:
        self.url, self.config, self.platform, self.folder, self.clock = url, config, platform, folder, clock
        self.turn = 0  # how many restores there were before
        self.keys: dict[str, str] = {}
        self.asked: dict[str, dict[str, Any]] = {}  # what was sent, by request
        self.requests: dict[str, dict[str, Any]] = {}
        self.clicks: list[Click] = []
        self.lost: dict[str, Any] = {}  # asked after the backup: the restored database knows nothing of it

    def gateway(self, **more: Any) -> Any:
        return open_gateway(self.url, self.config, self.platform, clock=self.clock, state_dir=self.folder, **more)

    def begin(self, turn: int) -> None:
        """Begin another restore of the same database."""
        self.turn, self.asked, self.requests, self.clicks = turn, {}, {}, []

    async def ask(self, g: Gateway, number: int, *, tool: str) -> dict[str, Any]:
        number += 1_000 * self.turn
        body = {"tool": tool, "arguments": {"payee": f"P{number}", "amount": 10 + number}, "session": f"s{number}"}
        said = await g.call("POST", "/v1/requests", body, idempotency_key=f"key-{number}")
        request = said.json()["request"]
        self.asked[request["id"]] = {"body": body, "key": f"key-{number}"}
        self.requests[request["id"]] = request
        return request

    async def prepare(self, many: int) -> None:
        """Ask for all; by the backup a third is approved, and a third of those is claimed."""
        async with self.gateway() as g:
            g.keys.update(self.keys)
            for number in range(many):
                request = await self.ask(g, number, tool="pay" if number < CARDS else "by_api")
                await g.quiet()
                if number < CARDS:
                    self.clicks.append(self.platform.press(g.card(request), "U_BOB", "approve"))
                if number % 3 == 1:
                    assert (await self.decide(g, request, number)) == "approved"
                if number % 9 == 4:
                    await g.claim(request, claim_id=f"c{number}")
            self.keys = dict(g.keys)

    async def decide(self, g: Gateway, request: dict[str, Any], number: int) -> str:
        if number < CARDS:
            await g.press(request)
        else:
            await g.decide(request)
        return (await g.read(request))["state"]

    async def use_up(self) -> int:
        """Decide and run every one of them; return how many ran."""
        ran = 0
        async with self.gateway() as g:
            g.keys.update(self.keys)
            for number, request in enumerate(self.requests.values()):
                if number % 3 != 1:
                    await self.decide(g, request, number)
                claimed = await g.claim(request, claim_id=f"c{number}")
                ran += claimed.status_code == 200
                assert claimed.json()["epoch"] == self.turn
                assert (await g.report(request, claim_id=f"c{number}")).status_code == 200
            self.lost = await self.ask(g, len(self.requests), tool="pay")
            del self.asked[self.lost["id"]], self.requests[self.lost["id"]]
            self.keys = dict(g.keys)
            await g.quiet()
            self.clicks.append(self.platform.press(g.card(self.lost), "U_BOB", "approve"))
        return ran

    async def declare(self, *, clock: Any = None) -> list[Fenced]:
        """Do what `assent restored` does."""
        store = make_store(dialect_for(self.url, clock or self.clock or SystemClock()), RandomIds(), seals=None)
        store.start()
        try:
            done = await DeclareRestored(store=store)(by=OLGA, reason="the disk died")
            await WatchHeads(store=store, path=head_file_of(self.url, self.folder)).renew()
        finally:
            await store.stop()
        if self.clock:
            self.clock.advance(SECOND)
        return done


@pytest.fixture
def drill(database_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path) -> Drill:
    return Drill(database_url, config, platform, tmp_path, ManualClock() if database_url.startswith("sqlite") else None)


async def play(drill: Drill, backup: Backup, many: int) -> None:
    """Play one restore through, and look at everything that the past could still do."""
    await drill.prepare(many)
    await asyncio.to_thread(backup.take)
    assert await drill.use_up() == many
    await asyncio.to_thread(backup.restore)
    with pytest.raises(RestoredError, match="assent restored"):
        await drill.gateway().__aenter__()

    [done] = [each for each in await drill.declare() if each.org == "acme"]
    assert done.unknown == len([n for n in range(many) if n % 9 == 4])
    assert done.revoked == len([n for n in range(many) if n % 3 == 1]) - done.unknown
    assert done.cancelled >= many - done.revoked - done.unknown  # and what the turn before had asked anew
    async with drill.gateway() as g:
        g.keys.update(drill.keys)
        await g.quiet()
        await nothing_old_works(drill, g)
        await repeated_calls_ask_anew(drill, g)
        assert await g.verify() == (len(await trail(g)), None)
        await the_fork_is_declared(g, done)


async def nothing_old_works(drill: Drill, g: Gateway) -> None:
    old = list(drill.requests.values())
    for number, request in enumerate(old):
        for claim_id in (f"c{number}", "another"):
            assert (await g.claim(request, claim_id=claim_id)).status_code == 409, number
    for click in drill.clicks:
        assert (await g.send(click)).body["result"] != "recorded"  # pyright: ignore[reportOptionalSubscript]
    assert {(await g.read(request))["state"] for request in old} == {"cancelled", "lapsed", "unknown"}
    live = {message.card.request_id for message in drill.platform.live()}
    assert not live & set(drill.requests), "a card of the backup has buttons"
    assert drill.lost["id"] in live
    assert (await g.claim(drill.lost)).status_code == 404
    assert g.rows("SELECT id FROM grants WHERE status = 'issued'") == []


async def repeated_calls_ask_anew(drill: Drill, g: Gateway) -> None:
    anew: list[dict[str, Any]] = []
    for request_id, asked in drill.asked.items():
        said = await g.call("POST", "/v1/requests", asked["body"], idempotency_key=asked["key"])
        request = said.json()["request"]
        ran = (await g.read(drill.requests[request_id]))["state"] == "unknown"
        assert (request["id"] == request_id) == ran, "what may have run is told of, not asked again"
        anew += [] if ran or asked["body"]["tool"] == "pay" else [request]
    await g.decide(anew[0])
    claimed = await g.claim(anew[0], claim_id="new")
    assert (claimed.status_code, claimed.json()["epoch"]) == (200, drill.turn + 1)
    assert (await g.report(anew[0], claim_id="new")).status_code == 200


async def trail(g: Gateway) -> list[Any]:
    return await g.container.store.read(lambda tx: list_events(tx, after=-1, most=100_000), org="acme")


async def the_fork_is_declared(g: Gateway, done: Fenced) -> None:
    events = await trail(g)
    assert first_fault(events) is None
    *_, declared = [event for event in events if event.record.kind == "trail.restored"]
    assert declared.record.actor == f"cli:{OLGA}"
    assert declared.record.facts["reason"] == "the disk died"
    assert declared.record.facts["epoch"] == done.epoch
    assert (declared.record.facts["head_seq"], declared.record.facts["head_hash"]) == done.head
    assert declared.prev_hash == done.head[1]


@requirement("F-40", "S-01")
async def test_after_a_restore_nothing_old_runs_and_everything_is_asked_anew(
    drill: Drill, request: pytest.FixtureRequest
) -> None:
    await play(drill, Backup(drill.url, request), 12)


@requirement("F-40", "S-01")
@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_a_hundred_executions_after_the_backup_and_none_of_them_twice_restore_after_restore(
    drill: Drill, request: pytest.FixtureRequest, *, bounded: bool
) -> None:
    for turn in range(3 if bounded else 20):
        drill.begin(turn)
        await play(drill, Backup(drill.url, request), 100)


@requirement("F-40")
async def test_from_the_declaration_on_no_old_approval_is_handed_out_even_if_it_was_not_reached_yet(
    drill: Drill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clearing up dies at once; a gateway that runs beside it refuses all the same."""
    await drill.prepare(6)

    def dies(*_: Any, **__: Any) -> Any:
        raise RuntimeError("killed")

    async with drill.gateway() as g:
        g.keys.update(drill.keys)
        with monkeypatch.context() as patch:
            patch.setattr("app.usecases.upkeep.restored.list_open", dies)
            with pytest.raises(Exception, match=r"killed|fault|database"):
                await drill.declare()
        approved = [row["request_id"] for row in g.rows("SELECT request_id FROM grants WHERE status = 'issued'")]
        claimed = [row["request_id"] for row in g.rows("SELECT request_id FROM executions WHERE status = 'started'")]
        assert (len(approved), len(claimed)) == (1, 1)
        for request_id in approved:
            refused = await g.claim(drill.requests[request_id])
            assert "restored from a backup" in refused.json()["detail"]
        again = await g.claim(drill.requests[claimed[0]], claim_id="c4")
        assert again.status_code == 409, "not even the answer of its own claim is repeated"
        done = await drill.declare()
        assert sum(each.revoked + each.unknown for each in done) == 0, "the claims had closed those"
        assert {(await g.read(request))["state"] for request in drill.requests.values()} == {
            "cancelled",
            "lapsed",
            "unknown",
        }


@requirement("F-40")
async def test_beside_the_first_host_a_restored_copy_hands_out_nothing_old_and_says_that_it_is_the_later_one(
    sqlite_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    drill = Drill(sqlite_url, config, platform, tmp_path, ManualClock())
    await drill.prepare(6)
    backup, copy = Backup(drill.url, request), f"sqlite:///{tmp_path / 'second.db'}"
    await asyncio.to_thread(backup.take)
    await asyncio.to_thread(backup.restore, copy)
    second = Drill(copy, drill.config, drill.platform, drill.folder, drill.clock)
    await second.declare()
    async with drill.gateway() as one, second.gateway() as two:
        for g in (one, two):
            g.keys.update(drill.keys)
        old = list(drill.requests.values())[1]  # approved, and not claimed
        assert (await two.claim(old)).status_code == 409
        assert (await one.claim(old)).json()["epoch"] == 0
        new = await two.ask("by_api", {"n": 1})
        await two.decide(new)
        assert (await two.claim(new)).json()["epoch"] == 1


@requirement("F-40")
async def test_the_secrets_are_rotated_under_load_and_no_live_card_or_key_is_refused(
    database_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path
) -> None:
    """Known to all first, used second, the old one dropped last: at each step the replicas differ, and none refuses."""
    clock, new = (ManualClock() if database_url.startswith("sqlite") else None), f"new-{SECRET}"
    steps = (SECRET, f"{SECRET},{new}", f"{new},{SECRET}")
    keys: dict[str, str] = {}
    waiting: list[dict[str, Any]] = []
    number = 0
    for older, newer in ((steps[0], steps[1]), (steps[1], steps[2])):
        async with (
            open_gateway(database_url, config, platform, clock=clock, secret=older, state_dir=tmp_path) as one,
            open_gateway(database_url, config, platform, clock=clock, secret=newer, state_dir=tmp_path) as two,
        ):
            both = (one, two)
            for g in both:
                g.keys = keys  # made at either, good at both
            for asking in (one,) * 4 + (two,) * 4:
                number += 1
                waiting.append(await asking.ask(arguments={"payee": f"P{number}", "amount": number}))
            for place, request in enumerate(waiting[:-4]):
                heard = await both[place % 2].press(request)
                assert heard["result"] == "recorded", (place, heard)
            waiting = waiting[-4:]
    async with open_gateway(database_url, config, platform, clock=clock, secret=steps[2], state_dir=tmp_path) as last:
        last.keys = keys
        for request in waiting:
            assert (await last.press(request))["result"] == "recorded"
            assert (await last.claim(request)).status_code == 200


@requirement("F-40")
@pytest.mark.parametrize("broken", ["", "{}", "no json", '{"epoch": 0, "orgs": {"acme": [1]}}', '{"epoch": "0"}'])
@pytest.mark.sampled(3)
async def test_a_file_that_cannot_be_read_refuses_the_start_and_says_which(
    sqlite_url: str, config: Path, platform: MemoryPlatform, broken: str
) -> None:
    async with open_gateway(sqlite_url, config, platform):
        pass
    file = head_file_of(sqlite_url, None)
    assert file is not None
    assert set(json.loads(file.read_text())["orgs"]) == {"acme", "globex"}
    file.write_text(broken)
    with pytest.raises(RestoredError, match=r"assent\.db\.head cannot be read"):
        await open_gateway(sqlite_url, config, platform).__aenter__()
    file.unlink()
    async with open_gateway(sqlite_url, config, platform):
        pass
