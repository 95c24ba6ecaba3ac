"""`assent restored`, and the small file by which a restored database is noticed."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert
from structlog.testing import capture_logs

from app.cli.commands import app
from app.embedded import embedded_gateway
from app.identifiers import RandomIds
from app.serve import StartRefusedError, hold_database
from app.storage.engine.transaction import EVERY_ORG, Statement
from app.storage.make_store import dialect_for, make_store
from app.storage.tables.payment_tables import standing_approvals
from app.storage.trail.head_file import HeadFileError, Heads, find_heads, head_file_of, read_heads, write_heads
from app.storage.trail.restores import list_restores
from app.usecases.upkeep.restored import DeclareRestored
from app.usecases.upkeep.watch_heads import RestoredError, WatchHeads
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET, ManualClock, open_gateway, query
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement
from tests.storage.rig import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.storage.engine.store import Store
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

OLGA = "olga@acme.example"
PLAIN = "org: acme\ndefault: deny\n"


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    async with open_store(database_url) as opened:
        yield opened


def permit(name: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name, "org": "acme", "kind": "standing", "status": "active", "digest": "d", "scope": "{}", "used": 0,
        "reason": "weekly", "proposed_by": OLGA, "proposed_at": 1, "confirmed_by": "bob@acme.example",
        "confirmed_at": 2, "expires_at": 2**52, **more,
    }  # fmt: skip


@requirement("F-40")
async def test_what_was_permitted_beforehand_is_taken_back_and_the_trail_says_so(either_gateway: Gateway) -> None:
    g = either_gateway
    await g.ask("by_api", {})  # the org has a trail
    for row in (
        permit("sta_1"),
        permit("sta_2", status="proposed", confirmed_by=None, confirmed_at=None),
        permit("bgl_1", kind="break_glass"),
        permit("sta_3", status="revoked", revoked_by="bob@acme.example", revoked_at=7),
    ):
        statement = Statement(insert(standing_approvals).values(**row))
        await g.container.store.write(lambda tx, it=statement: tx.write(it), org="acme")
    [done] = [
        each for each in await DeclareRestored(store=g.container.store)(by=OLGA, reason="x") if each.org == "acme"
    ]
    assert done.standing == 3
    rows = {row["id"]: row for row in g.rows("SELECT * FROM standing_approvals")}
    assert {row["status"] for row in rows.values()} == {"revoked"}
    assert (rows["sta_3"]["revoked_by"], rows["sta_1"]["revoked_by"]) == ("bob@acme.example", f"cli:{OLGA}")
    ended = [kind for kind, actor in g.trail() if actor == f"cli:{OLGA}"]
    assert sorted(ended) == [
        "break_glass.ended",
        "standing.revoked",
        "standing.revoked",
        "trail.restored",
        "trail.restored",  # of the other org
    ]


@requirement("F-40")
async def test_it_may_be_stopped_and_run_again_and_reaches_everything_in_batches(
    either_gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = either_gateway
    monkeypatch.setattr("app.usecases.upkeep.restored._MOST", 2)
    requests = [await g.ask("by_api", {"n": n}) for n in range(5)]
    declare = DeclareRestored(store=g.container.store)
    done = {each.org: each for each in await declare(by=OLGA, reason="the first")}
    assert done["acme"].cancelled == 5
    again = {each.org: each for each in await declare(by=OLGA, reason="to be sure")}
    assert (again["acme"].cancelled, again["acme"].epoch) == (0, 2)
    for request in requests:
        seen = await g.read(request)
        assert (seen["state"], seen["settled"]["by"], seen["settled"]["via"]) == ("cancelled", "system", None)
        assert seen["settled"]["reason"] == "the database was restored from a backup, or by a standby: ask again"
    restores = await g.container.store.read(list_restores, org=EVERY_ORG)
    assert [(each.epoch, each.reason) for each in restores] == [(1, "the first"), (2, "to be sure")]
    assert await g.verify("globex") == (
        len(g.rows("SELECT 1 FROM audit_events WHERE org='globex'")),
        None,
    )


async def test_a_database_without_any_trail_begins_an_epoch_too(store: Store) -> None:
    assert await DeclareRestored(store=store)(by=OLGA, reason="empty") == []
    [only] = await store.read(list_restores, org=EVERY_ORG)
    assert (only.epoch, only.by) == (1, f"cli:{OLGA}")


# --- the file ---------------------------------------------------------------------------------------------------------


def test_where_the_file_is() -> None:
    state = Path("/var/lib/assent")
    assert head_file_of("sqlite:////data/my%20db.sqlite?x=1", None) == Path("/data/my db.sqlite.head")
    assert head_file_of("sqlite:////data/assent.db", state) == state / "assent.db.head"
    assert head_file_of("postgresql://u:p@h:5432/pay.ments?sslmode=require", None) is None
    assert head_file_of("postgresql://u:p@h:5432/pay.ments?sslmode=require", state) == state / "pay_ments.head"


@pytest.mark.may_block
@requirement("F-40")
async def test_a_running_gateway_never_forgets_how_far_the_trail_had_come(
    either_gateway: Gateway, tmp_path: Path
) -> None:
    g, file = either_gateway, tmp_path / "x.head"
    watch = WatchHeads(store=g.container.store, path=file)
    await watch.check()
    await watch.note()
    first = read_heads(file)
    assert first is not None
    await g.ask("by_api", {})
    await watch.note()
    now = read_heads(file)
    assert now is not None
    assert now == await g.container.store.read(find_heads, org=EVERY_ORG)
    assert now.orgs["acme"][0] > first.orgs["acme"][0]
    ahead = Heads(epoch=0, orgs={**now.orgs, "acme": (now.orgs["acme"][0] + 1, "0" * 64)})
    watch._noted = ahead  # as if the database had been put back under it
    write_heads(file, ahead)
    await watch.note()
    assert read_heads(file) == ahead
    with pytest.raises(RestoredError, match="the trail of acme ends at event"):
        await watch.check()


@pytest.mark.may_block
@requirement("F-40")
async def test_another_event_at_the_same_place_is_noticed_and_a_declared_restore_is_not_asked_for_twice(
    either_gateway: Gateway, tmp_path: Path
) -> None:
    g, file = either_gateway, tmp_path / "x.head"
    watch = WatchHeads(store=g.container.store, path=file)
    heads = await g.container.store.read(find_heads, org=EVERY_ORG)
    write_heads(file, Heads(epoch=0, orgs={**heads.orgs, "acme": (heads.orgs["acme"][0], "f" * 64)}))
    with pytest.raises(RestoredError, match="is not the one that was there"):
        await watch.check()
    await DeclareRestored(store=g.container.store)(by=OLGA, reason="x")  # by the other replica's host
    await watch.check()
    write_heads(file, Heads(epoch=2, orgs={}))
    with pytest.raises(RestoredError, match="2 restores were declared, and the database knows of 1"):
        await watch.check()


@pytest.mark.may_block
@requirement("F-25", "F-40")
async def test_a_gateway_left_behind_writes_nothing_over_what_another_one_has_seen(
    either_gateway: Gateway, tmp_path: Path
) -> None:
    g, file = either_gateway, tmp_path / "shared.head"
    watch = WatchHeads(store=g.container.store, path=file)
    await watch.note()
    for seen in (Heads(epoch=3, orgs={}), Heads(epoch=0, orgs={"acme": (10_000, "a" * 64)})):
        write_heads(file, seen)  # by a gateway on the server that was promoted
        await g.ask("by_api", {})
        await watch.note()
        assert read_heads(file) == seen


JUNK = (
    "hash = 'NaN'", "hash = ''", "hash = X'ff00'", "hash = CAST(X'ff00' AS TEXT)", "hash = upper(hash)",
    f"hash = '{'a' * 64}'", "seq = 'now'", "seq = seq + 0.5", "seq = -1", "seq = 4611686018427387904", "seq = X'00'",
)  # fmt: skip


@pytest.mark.may_block
@requirement("S-64")
async def test_a_head_that_nothing_bears_out_is_said_and_not_written_down_and_once_it_is_right_all_is_as_before(
    gateway: Gateway, tmp_path: Path
) -> None:
    g, file = gateway, tmp_path / "x.head"
    await g.ask("by_api", {})
    watch = WatchHeads(store=g.container.store, path=file)
    await watch.note()
    seen, right = read_heads(file), query(g.url, "SELECT seq, hash FROM audit_heads WHERE org = 'acme'")[0]
    stranger = await asyncio.to_thread(Stranger, g)
    for junk in JUNK:
        with capture_logs() as logs:
            stranger(f"UPDATE audit_heads SET {junk} WHERE org = 'acme'")
            await watch.note()
            assert read_heads(file) == seen, junk
            await watch.check()  # the events are there: the database was not restored
            assert [(each["event"], each["org"]) for each in logs] == [("head.doubted", "acme")], junk
            stranger(f"UPDATE audit_heads SET seq = {right['seq']}, hash = '{right['hash']}' WHERE org = 'acme'")
            await watch.note()
        assert len(logs) == 1, junk
    await g.ask("by_api", {})
    await watch.note()
    now = read_heads(file)
    assert now is not None
    assert now.orgs["acme"][0] > right["seq"]
    with pytest.raises(HeadFileError):
        write_heads(file, Heads(epoch=0, orgs={"acme": (1, "NaN")}))
    assert read_heads(file) == now


@pytest.mark.may_block
@requirement("S-64")
@pytest.mark.parametrize("epoch", ["'x'", "4611686018427387904", "0.5", "CAST(X'ff00' AS TEXT)"])
async def test_an_epoch_that_nothing_began_is_said_and_not_written_down(
    gateway: Gateway, tmp_path: Path, epoch: str
) -> None:
    g, file = gateway, tmp_path / "x.head"
    watch = WatchHeads(store=g.container.store, path=file)
    await DeclareRestored(store=g.container.store)(by=OLGA, reason="x")
    await watch.note()
    seen = read_heads(file)
    stranger = await asyncio.to_thread(Stranger, g)
    stranger(f"UPDATE restores SET epoch = {epoch}")
    with capture_logs() as logs:
        await watch.note()
        assert [(each["event"], each["org"]) for each in logs] == [("head.doubted", EVERY_ORG)]
    stranger.put_back()
    await watch.check()
    assert read_heads(file) == seen


async def test_a_file_that_cannot_be_written_stops_nobody(
    sqlite_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path
) -> None:
    async with open_gateway(sqlite_url, config, platform, state_dir=tmp_path / "nowhere") as g:
        assert (await g.ask("by_api", {}))["state"] == "pending"


@requirement("F-40")
async def test_a_clock_that_was_set_back_leaves_nothing_of_the_past_on_this_side(gateway: Gateway) -> None:
    g = gateway
    waiting, granted = await g.ask("by_api", {"n": 1}), await g.ask("by_api", {"n": 2})
    await g.decide(granted)
    slow = make_store(dialect_for(g.url, ManualClock(g.clock.now() - timedelta(hours=1))), RandomIds(), seals=None)
    slow.start()
    try:
        done = {each.org: each for each in await DeclareRestored(store=slow)(by=OLGA, reason="a new host")}
    finally:
        await slow.stop()
    assert (await g.claim(granted)).status_code == 409
    assert (done["acme"].cancelled, done["acme"].revoked) == (1, 1)
    assert (await g.read(waiting))["state"] == "cancelled"


@pytest.mark.may_block
def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, before = tmp_path / "x.head", Heads(epoch=1, orgs={})
    write_heads(file, before)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_heads(file, Heads(epoch=2, orgs={}))
    assert read_heads(file) == before
    assert [each.name for each in tmp_path.iterdir()] == ["x.head"]


# --- the commands -----------------------------------------------------------------------------------------------------


class Desk:
    """A folder with a configuration and a database, and a terminal."""

    def __init__(self, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = folder / "assent.yaml"
        self.config.write_text(PLAIN)
        monkeypatch.setenv("ASSENT_SECRET", SECRET)
        monkeypatch.setenv("ASSENT_DATABASE_URL", url)

    def __call__(self, *words: str) -> Any:
        return CliRunner().invoke(app, list(words))


@pytest.fixture
def desk(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, sqlite_url, monkeypatch)


@pytest.mark.may_block
@requirement("F-40")
def test_the_gateway_refuses_to_start_on_a_restored_file_until_that_is_declared(desk: Desk, sqlite_url: str) -> None:
    file = head_file_of(sqlite_url, None)
    assert file is not None
    write_heads(file, Heads(epoch=0, orgs={"acme": (41, "a" * 64)}))
    refused = desk("serve", "-c", str(desk.config), "--port", "0")
    assert refused.exit_code == 2
    assert "the trail of acme ends at event -1, and had come to 41" in refused.stderr
    assert "assent restored --by E-MAIL --reason" in refused.stderr
    done = desk("restored", "--by", OLGA, "--reason", "the disk died")
    assert done.exit_code == 0, done.stderr
    assert f"{file} is renewed" in done.stdout
    assert "keys that you have revoked since then work again" in done.stdout
    assert json.loads(file.read_text()) == {"epoch": 1, "orgs": {}}
    assert query(sqlite_url, "SELECT epoch, restored_by, reason FROM restores") == [
        {"epoch": 1, "restored_by": f"cli:{OLGA}", "reason": "the disk died"}
    ]


@requirement("F-40", "S-64")
async def test_a_gateway_that_has_just_begun_has_noted_where_its_trails_are(gateway: Gateway) -> None:
    file = head_file_of(gateway.url, None)
    assert file is not None
    noted = await asyncio.to_thread(read_heads, file)
    assert noted is not None
    assert set(noted.orgs) == {"acme", "globex"}


@pytest.mark.may_block
@requirement("F-40")
def test_nothing_is_declared_while_a_gateway_works_on_the_file(desk: Desk, sqlite_url: str) -> None:
    with hold_database(sqlite_url):
        refused = desk("restored", "--by", OLGA, "--reason", "the disk died")
    assert refused.exit_code == 2
    assert "already uses" in refused.stderr
    assert "nothing was declared: stop it" in refused.stderr
    assert query(sqlite_url, "SELECT epoch FROM restores") == []


@pytest.mark.may_block
@requirement("F-40")
def test_whoever_verifies_the_trail_is_told_of_the_restores_that_were_declared(desk: Desk) -> None:
    assert desk("keys", "create", "--scope", "auditor", "--label", "k", "-c", str(desk.config)).exit_code == 0
    assert "restore" not in desk("audit", "verify", "-c", str(desk.config)).stdout
    assert desk("restored", "--by", OLGA, "--reason", "the disk died").exit_code == 0
    said = desk("audit", "verify", "-c", str(desk.config))
    assert said.exit_code == 0, said.stderr
    assert re.search(rf"^declared restore 1: \S+ \S+ UTC by cli:{OLGA}: the disk died$", said.stdout, re.MULTILINE)


@pytest.mark.may_block
def test_a_file_that_cannot_be_written_is_said_after_the_restore_was_declared(
    desk: Desk, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSENT_STATE_DIR", str(tmp_path / "nowhere"))
    done = desk("restored", "--by", OLGA, "--reason", "the disk died")
    assert (done.exit_code, type(done.exception)) == (1, SystemExit)
    assert "declared, but" in done.stderr
    assert "could not be written (No such file or directory)" in done.stderr
    assert query(sqlite_url, "SELECT epoch FROM restores") == [{"epoch": 1}]


@pytest.mark.may_block
@pytest.mark.parametrize("words", [("--by", "me", "--reason", "x"), ("--by", OLGA, "--reason", " "), ("--by", OLGA)])
def test_who_and_why_must_be_said(desk: Desk, sqlite_url: str, words: tuple[str, ...]) -> None:
    assert desk("restored", *words).exit_code == 2
    assert query(sqlite_url, "SELECT epoch FROM restores") == []


@pytest.mark.may_block
async def test_an_embedded_gateway_refuses_as_well(tmp_path: Path, sqlite_url: str) -> None:
    (tmp_path / "assent.yaml").write_text(PLAIN)
    write_heads(tmp_path / "assent.db.head", Heads(epoch=0, orgs={"acme": (41, "a" * 64)}))
    with pytest.raises(StartRefusedError, match="restored from a backup"):
        async with embedded_gateway(sqlite_url, tmp_path / "assent.yaml", agent="a", secret=SECRET, environ={}):
            pass
