"""Whatever a cell of its database holds, a gateway that runs goes on: one thing stops, is named, and nothing else."""

from __future__ import annotations

import gc
import sqlite3
from asyncio import to_thread
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from sqlalchemy import Integer
from structlog.testing import capture_logs

from app.domain.errors import UnavailableError, UnsealedError
from app.storage.engine.dialect import to_us
from app.storage.tables.tables import metadata
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement
from tests.usecases.proving.test_foreign_cells import BAD

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CELLS = (*BAD, "'[[['", "4611686018427387904", "CAST(X'ff00' AS TEXT)")
TABLES = tuple(sorted(set(metadata.tables) - {"standing_approvals", "api_keys"}))  # those two have their own
LISTS = (
    "/v1/requests", "/v1/requests?open=true", "/v1/switches", "/v1/payees", "/v1/audit", "/v1/break-glass",
)  # fmt: skip
VALUES: dict[str, Any] = {
    "epoch": 1,
    "is_known": 1,
    "detached": 0,
    "number": 1,
    "org": "acme",
    "channel": "chat",
    "kind": "refuse",
    "status": "active",
}
WHO = ("admin", "olga@acme.example", "agent:shop", "auditor")
WAITS = {
    *(f"audit_heads.{name}" for name in ("org", "seq", "hash")),  # nothing of the org is written
    "database_servers.epoch", "restores.epoch", "restores.restored_at",  # no UTF-8: no lock without them
    "requests.id", "requests.org",  # no UTF-8: no list of what is due can be read, and the log names the column
    "value_keys.wrapped",  # what the org's rows keep cannot be read: nothing of them is changed
}  # fmt: skip
GONE_ON = {"tick.failed", "worker.failed", "errand.failed", "delivery.unremembered", "request.failed"}


class Ticks:
    """Takes what a timetable does by the clock, and does none of it by itself."""

    def __init__(self) -> None:
        self.of: dict[str, Callable[[], Awaitable[object]]] = {}

    def every(self, _: timedelta, name: str, tick: Callable[[], Awaitable[object]], *, jitter: int = 0) -> None:
        del jitter
        self.of[name] = tick

    def start(self) -> None:
        """Nothing."""


async def _story(g: Gateway) -> Stranger:
    """Have a row in each table, and a request of each org whose time is over."""
    c = g.container
    await g.ask("by_api", {"n": 1})  # the first: it is the one that is spoilt
    await g.ask("pay")
    done = await g.ask("by_api", {"n": 2})
    await g.decide(done)
    await g.claim(done)
    await g.report(done)
    await c.switches.set_read_only("acme", on=True, reason="audit", by="olga@acme.example")
    await c.switches.set_read_only("acme", on=False, reason="audit", by="olga@acme.example")
    await g.ask("by_api", {"n": 3})
    await g.ask("anything", {}, who="agent:shop", org="globex")
    await g.quiet()
    g.container.heads.path = None  # here, the trail is put back as it was: `test_restored.py` has what it keeps
    for who in WHO:
        await g.key(who)
    for key, channel in list(g.container.channels.all().items()):
        await g.container.work.stop(key, channel)  # what it carries out, a test asks it to
    assert isinstance(g.clock, ManualClock)
    g.clock.advance(timedelta(hours=2))
    stranger = await to_thread(Stranger, g)
    stranger.kept = {
        name: rows or ([_some_row(name, to_us(g.clock.now()))] if name in TABLES else [])
        for name, rows in stranger.kept.items()
    }
    await to_thread(stranger.put_back)
    return stranger


def _some_row(name: str, now: int) -> dict[str, Any]:
    """Return a row of a table of which the story has none."""
    return {
        column.name: VALUES.get(column.name, now if isinstance(column.type, Integer) else column.name)
        for column in metadata.tables[name].columns
        if not column.nullable
    }


async def _lived(g: Gateway, ticks: Ticks) -> list[str]:
    """Do all that a gateway does by the clock, and answer everybody; say what went wrong."""
    work: dict[str, Callable[[], Awaitable[object]]] = {
        **ticks.of,
        **{f"cards of {name}": g.container.work._worker(org, name).round for org, name in g.container.channels.all()},
    }
    wrong = [f"{name}: {error!r:.200}" for name, do in work.items() if (error := await _failed(do)) is not None]
    for who, path in [(who, path) for who in WHO for path in LISTS]:
        said = await g.call("GET", path, who=who)
        if said.status_code not in {200, 403, 409}:
            wrong.append(f"{path} to {who}: {said.status_code} {said.text}")
    metrics, ready = await g.call("GET", "/metrics"), await g.call("GET", "/readyz")
    if metrics.status_code != 200 or ready.status_code not in {200, 503}:
        wrong.append(f"{metrics.status_code} {ready.status_code}")
    return wrong


async def _failed(do: Callable[[], Awaitable[object]]) -> Exception | None:
    """Return what no worker may raise: a row that cannot be read has a name, and an outage is one."""
    try:
        await do()
    except (UnsealedError, UnavailableError):
        return None
    except Exception as error:  # noqa: BLE001 - that is the question
        return error
    return None


def _still_waiting(g: Gateway, org: str) -> int:
    return g.rows(f"SELECT count(*) AS n FROM requests WHERE org = '{org}' AND status = 'pending'")[0]["n"]


async def _tried(g: Gateway, ticks: Ticks, stranger: Stranger, column: str, change: str) -> list[str]:
    """Put a value into a cell, let the gateway live with it, and put it back; say what went wrong."""
    try:
        await to_thread(stranger, "PRAGMA ignore_check_constraints = ON", change)
    except sqlite3.Error:  # a second row of its kind
        return []
    with capture_logs() as logs:
        wrong = await _lived(g, ticks)
    if column not in WAITS and (_still_waiting(g, "globex") or _still_waiting(g, "acme") > 1):
        wrong.append("no time is over")
    wrong += [f"{each}" for each in logs if each["event"] in GONE_ON and each.get("error") != "UnsealedError"]
    named = [f"{each}"[:300] for each in logs if "unreadable" in each["event"]]
    await to_thread(stranger.put_back)
    return [f"{change[:100]}: {each} {named}" for each in wrong]


@requirement("S-64")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("step", [len(CELLS), pytest.param(1, marks=pytest.mark.whole)])
@pytest.mark.heavy
async def test_a_cell_that_no_gateway_wrote_stops_one_thing_and_nothing_else(
    sqlite_url: str, config: Path, platform: MemoryPlatform, table: str, step: int
) -> None:
    async with open_gateway(sqlite_url, config, platform) as g:
        stranger, ticks = await _story(g), Ticks()
        g.container.timetable.begin(cast("Any", ticks))
        columns = metadata.tables[table].columns
        of = f"rowid = (SELECT min(rowid) FROM {table} {'WHERE org = ' + repr('acme') if 'org' in columns else ''})"
        found: list[str] = []
        for place, column in enumerate(columns):
            for bad in CELLS[place % step :: step]:
                change = f"UPDATE {table} SET {column.name} = {bad.replace('?', column.name)} WHERE {of}"
                found += await _tried(g, ticks, stranger, f"{table}.{column.name}", change)
        assert not found, "\n".join(found)
        assert await _lived(g, ticks) == [], "once it is put right"
        assert [_still_waiting(g, org) for org in ("acme", "globex")] == [0, 0]


@requirement("S-64")
async def test_a_switch_that_cannot_be_read_is_named_and_once_it_is_right_nobody_reads_what_was(
    gateway: Gateway,
) -> None:
    g = gateway
    await g.ask("by_api")
    await g.container.switches.set_read_only("acme", on=False, reason="audit", by="olga@acme.example")
    stranger = await to_thread(Stranger, g)
    for change, says in {
        "set_at = '[[['": "no gateway wrote it: set_at of switches",
        "set_at = X'ff00'": "no gateway wrote it: set_at of switches",
        "set_at = 4611686018427387904": "no gateway wrote it: set_at of switches",
        "reason = CAST(X'ff00' AS TEXT)": "its column 'reason' is no UTF-8",
    }.items():
        await to_thread(stranger, f"UPDATE switches SET {change}")
        for path in ("/v1/switches", "/v1/requests?open=true"):
            said = await g.call("GET", path, who="admin")
            assert (said.status_code, said.json()["code"]) == (409, "unsealed"), (path, change)
            assert says in said.json()["detail"]
        await to_thread(stranger.put_back)
        gc.disable()  # what a failed statement held is let go at once, and not when the collector comes by
        try:
            assert [(await g.call("GET", "/v1/switches", who="admin")).status_code for _ in range(9)] == [200] * 9
        finally:
            gc.enable()


@requirement("S-64")
@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ("outbox SET created_at = '[[[', status = 'queued'", 'assent_oldest_seconds{what="outbox"}'),
        ("outbox SET created_at = 4611686018427387904, status = 'queued'", 'assent_oldest_seconds{what="outbox"}'),
        ("requests SET created_at = X'ff00'", 'assent_oldest_seconds{what="pending"}'),
    ],
)
async def test_a_figure_that_cannot_be_told_is_left_out_and_the_others_are_told(
    gateway: Gateway, change: str, missing: str
) -> None:
    g = gateway
    await g.ask("pay")
    before = (await g.call("GET", "/metrics")).text
    stranger = await to_thread(Stranger, g)
    await to_thread(stranger, "PRAGMA ignore_check_constraints = ON", f"UPDATE {change}")
    with capture_logs() as logs:
        said = await g.call("GET", "/metrics")
    assert said.status_code == 200
    names = [{line.split(" ")[0] for line in text.splitlines() if "oldest" in line} for text in (before, said.text)]
    assert names[0] - names[1] == {missing}, names
    assert "row.unreadable" in [each["event"] for each in logs]
    assert (await g.call("GET", "/readyz")).status_code == 200


@requirement("S-64")
@pytest.mark.parametrize("junk", ["hash = 'NaN'", "seq = '[[['", "seq = -5", "hash = X'ff00'", "seq = 2.5"])
async def test_behind_a_head_that_cannot_be_read_nothing_is_written_and_whoever_asks_is_told_why(
    gateway: Gateway, junk: str
) -> None:
    g = gateway
    asked = await g.ask("by_api", {"n": 1})
    await g.key("alice@acme.example")
    stranger = await to_thread(Stranger, g)
    await to_thread(stranger, f"UPDATE audit_heads SET {junk} WHERE org = 'acme'")
    for said in (
        await g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": 2}}),
        await g.decide(asked),
        await g.call("POST", f"/v1/requests/{asked['id']}/cancel", {}),
    ):
        assert (said.status_code, said.json()["code"]) == (409, "unsealed")
        assert said.json()["detail"] == "the head of the trail cannot be read: `assent audit verify` names it"
    assert (await g.ask("anything", {}, org="globex"))["state"] == "pending"
    assert "its head says what no gateway writes" in str((await g.verify())[1])
    await to_thread(stranger.put_back)
    assert (await g.ask("by_api", {"n": 2}))["state"] == "pending"
