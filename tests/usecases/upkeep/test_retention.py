"""What is over goes when the file says so, with all that hangs on it; what is not over, or counts still, stays."""

from __future__ import annotations

import random
from asyncio import gather, to_thread
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from app.domain.trail.retention import Retention
from app.usecases.upkeep.retain import Retain
from tests.domain.exhibit_files import ALL
from tests.fixtures.gateway import ACME, ManualClock, open_gateway
from tests.fixtures.spending import paying
from tests.fixtures.standing import ALICE, approved, submit, write_standing
from tests.fixtures.standing import standing as given_standing
from tests.fixtures.tampering import Stranger, changed
from tests.requirements import requirement
from tests.usecases.payments.test_payees import FIRST, asked, cautions, payment, ran

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from app.domain.trail.audit import AuditEvent
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

DAY = timedelta(days=1)
KEEPS = "retention: {requests: 31d, deliveries: 14d, outbox: 7d}\n"
HANGING = ("exhibits", "decisions", "grants", "executions", "deliveries", "lifts", "idempotency_keys", "spends")


@asynccontextmanager
async def keeping(url: str, folder: Path, platform: MemoryPlatform, keeps: str = KEEPS) -> AsyncIterator[Gateway]:
    """Run a gateway whose file says how long what is over is kept."""
    folder.mkdir(exist_ok=True)
    (folder / "acme.yaml").write_text(ACME + keeps)
    async with open_gateway(url, folder, platform) as gateway:
        yield gateway


def retain_now(g: Gateway, **kept: timedelta) -> Retain:
    """Return the use case with spans that no file may name: PostgreSQL's clock is not moved by hand."""
    retention = Retention(**(kept or {"requests": -DAY}))
    book = SimpleNamespace(
        orgs=lambda: ("acme",), current=lambda _: SimpleNamespace(policy=SimpleNamespace(retention=retention))
    )
    return Retain(store=g.container.store, book=cast("Any", book), counted=g.container.telemetry.retained)


def count(g: Gateway, *tables: str) -> dict[str, int]:
    return {table: g.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in tables}


def standing(g: Gateway) -> set[str]:
    return {row["id"] for row in g.rows("SELECT id FROM requests")}


async def end_as(g: Gateway, end: str, *, evidence: Sequence[object] = (), **more: Any) -> dict[str, Any]:
    """Bring a request to one of its ends, or leave it before one."""
    tool = "pay_two" if end == "shown" else "long" if end == "pending" else "by_api"
    request = await g.ask(tool, more, evidence=list(evidence))
    if end in {"claimed", "succeeded", "failed", "pending_elsewhere"}:
        await g.decide(request)
        assert (await g.claim(request)).status_code == 200
        if end != "claimed":
            assert (await g.report(request, end)).status_code == 200
    elif end == "approved":
        await g.decide(request)
    elif end in {"denied", "shown"}:
        assert (await g.decide(request, "deny")).status_code == 200
    elif end == "cancelled":
        await g.call("POST", f"/v1/requests/{request['id']}/cancel", {})
    await g.quiet()
    return request


OVER = ("succeeded", "failed", "denied", "cancelled", "shown")
NOT_OVER = ("pending", "approved", "claimed", "pending_elsewhere")


@requirement("S-53")
async def test_what_is_over_goes_with_all_that_hangs_on_it_and_nothing_else_is_touched(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with keeping(sqlite_url, tmp_path / "orgs", platform) as g:
        assert isinstance(g.clock, ManualClock)
        old = [await end_as(g, end, n=end, evidence=ALL[:1]) for end in OVER]
        expires, lapses = await end_as(g, "expires", n=1), await end_as(g, "approved", n=2)
        unknown, elsewhere = await end_as(g, "claimed", n=3), await end_as(g, "pending_elsewhere", n=4)
        await g.advance(timedelta(hours=1))
        assert (await g.read(unknown))["state"] == "unknown"
        g.clock.advance(32 * DAY)
        new = [await end_as(g, end, m=end, evidence=ALL[:1]) for end in (*OVER, *NOT_OVER)]
        left = {each["id"] for each in (unknown, elsewhere, *new)}
        before = {each["id"]: await g.read(each) for each in (unknown, elsewhere, *new)}
        await g.container.retain()
        assert standing(g) == left
        assert not {each["id"] for each in (*old, expires, lapses)} & left
        assert {each["id"]: await g.read(each) for each in (unknown, elsewhere, *new)} == before
        for table in HANGING:
            assert {row["of"] for row in g.rows(f"SELECT request_id AS of FROM {table}")} <= left
        assert (await g.call("GET", f"/v1/requests/{old[0]['id']}")).status_code == 404
        told = [each for each in await events(g) if each.record.kind == "rows.removed"]
        assert sorted(cast("list[str]", told[-1].record.facts["ids"])) == sorted(
            each["id"] for each in (*old, expires, lapses)
        )
        assert told[-1].record.facts["until"] == (g.clock.now() - 31 * DAY).isoformat()
        assert (await g.verify())[1] is None
        scraped = (await g.http.get("/metrics")).text
        assert 'assent_retention_removed_total{what="requests"} 7.0' in scraped
        assert 'assent_retention_more{org="acme"} 0.0' in scraped
        trail = len(await events(g))
        await g.container.retain()
        assert len(await events(g)) == trail  # a round that finds nothing says nothing


async def test_a_file_that_says_nothing_of_it_loses_nothing(gateway: Gateway) -> None:
    assert isinstance(gateway.clock, ManualClock)
    await end_as(gateway, "shown")
    gateway.clock.advance(10_000 * DAY)
    before = gateway.content()
    await gateway.container.retain()
    assert gateway.content() == before


async def test_a_round_asks_the_database_for_the_hour_once_and_not_at_all_where_all_is_kept(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, asked = gateway.container.store, 0
    read = store.read

    async def counted(work: Any, **more: Any) -> Any:
        nonlocal asked
        asked += 1
        return await read(work, **more)

    monkeypatch.setattr(store, "read", counted)
    await retain_now(gateway, requests=DAY, deliveries=DAY, outbox=DAY)()
    assert asked == 3  # the hour, what is over, and what is shown still
    await retain_now(gateway, deduplication=DAY)()
    assert asked == 3


@requirement("S-53")
async def test_cards_and_errands_go_before_their_requests_and_never_those_of_what_waits(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with keeping(sqlite_url, tmp_path / "orgs", platform, KEEPS.replace("requests: 31d, ", "")) as g:
        assert isinstance(g.clock, ManualClock)
        shown, waits = await end_as(g, "shown"), await end_as(g, "pending")
        g.clock.advance(8 * DAY)
        await g.container.retain()
        assert {row["delivery_id"] for row in g.rows("SELECT delivery_id FROM outbox")} == {
            row["id"] for row in g.rows(f"SELECT id FROM deliveries WHERE request_id = '{waits['id']}'")
        }
        assert count(g, "deliveries") == {"deliveries": 3}
        g.clock.advance(7 * DAY)
        await g.container.retain()
        assert {row["request_id"] for row in g.rows("SELECT request_id FROM deliveries")} == {waits["id"]}
        assert standing(g) == {shown["id"], waits["id"]}
        assert (await g.press(shown))["result"] == "refused"  # its card is in the chat, and nobody knows it any more
        await g.container.confirm_accounts()
        assert (await g.press(waits))["result"] == "recorded"
        assert (await g.verify())[1] is None


@requirement("S-53")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.whole)])
@pytest.mark.heavy
async def test_rounds_that_race_each_other_and_people_lose_nothing_that_lives(
    either_gateway: Gateway, seed: int
) -> None:
    g = either_gateway
    dice = random.Random(seed)
    ends = [*OVER, *NOT_OVER] * 5
    dice.shuffle(ends)
    made: dict[str, str] = {}

    async def work(mine: list[str]) -> None:
        for n, end in enumerate(mine):
            made[(await end_as(g, end, n=n, dice=dice.random()))["id"]] = end

    async def remove() -> None:
        for _ in range(8):
            await retain_now(g)()

    await gather(work(ends[::2]), work(ends[1::2]), remove(), remove())
    await remove()
    assert standing(g) == {of for of, end in made.items() if end in NOT_OVER}
    assert (await g.verify())[1] is None
    named = [of for each in await events(g) for of in cast("list[str]", each.record.facts.get("ids", []))]
    assert sorted(named) == sorted(of for of, end in made.items() if end in OVER)


async def test_a_payee_stays_known_when_the_payment_that_vouched_is_removed(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        first = await asked(g, payment("10", "Globex"))
        assert cautions(g, first) == [FIRST]
        await ran(g, first)
        denied = await asked(g, payment("10", "Initech"))
        await g.decide(denied, "deny")
        await g.quiet()
        await retain_now(g)()
        assert count(g, "requests", "spends", "payee_history") == {"requests": 0, "spends": 0, "payee_history": 1}
        again = await asked(g, payment("5000", "Globex"))
        assert FIRST not in cautions(g, again)
        assert cautions(g, await asked(g, payment("5000", "Initech"))) == [FIRST.replace("Globex", "Initech")]
        await ran(g, again)
        [before] = g.rows("SELECT paid_at FROM payee_history")
        await g.quiet()
        await retain_now(g)()
        [after] = g.rows("SELECT paid_at FROM payee_history")
        assert after["paid_at"] >= before["paid_at"]
        assert (await g.verify())[1] is None


async def test_what_was_spent_under_a_standing_approval_stays_while_it_is_in_force_and_is_told_afterwards(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    pay = {"payee": "Acme Ltd", "amount": "400", "currency": "CNY"}
    async with open_gateway(database_url, write_standing(tmp_path), platform) as g:
        permit = await given_standing(g, await approved(g, "wire", pay))
        under = (await submit(g, "wire", pay))["request"]
        assert (await g.claim(under, who="executor")).status_code == 200
        path = f"/v1/requests/{under['id']}/outcome"
        said = await g.call("POST", path, {"claim_id": "claim-1", "status": "succeeded"}, who="executor")
        assert said.status_code == 200, said.text
        await g.quiet()
        await retain_now(g)()
        assert standing(g) == {under["id"]}
        assert (await g.call("DELETE", f"/v1/standing-approvals/{permit['id']}", who=ALICE)).status_code == 200
        await retain_now(g)()
        assert standing(g) == set()
        [listed] = (await g.call("GET", "/v1/standing-approvals", who=ALICE)).json()["items"]
        assert (listed["used"], listed["spent"]) == (1, {"CNY": "400"})
        assert (await g.verify())[1] is None


async def test_a_key_stands_for_its_request_as_long_as_the_file_says_and_the_request_stays_as_long(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    keeps = "retention: {requests: 30d, deduplication: 3d}\n"
    async with keeping(sqlite_url, tmp_path / "orgs", platform, keeps) as g:
        assert isinstance(g.clock, ManualClock)
        body = {"tool": "by_api", "arguments": {"n": 1}}

        async def submit() -> str:
            said = await g.call("POST", "/v1/requests", body, idempotency_key="once")
            return str(said.json()["request"]["id"])

        first = await submit()
        await g.call("POST", f"/v1/requests/{first}/cancel", {})
        g.clock.advance(2 * DAY)
        await g.container.sweep.forget()
        assert await submit() == first
        await retain_now(g)()
        assert standing(g) == {first}  # its key stands on it
        g.clock.advance(29 * DAY)
        await g.container.retain()
        assert standing(g) == set()
        assert await submit() != first  # the key says nothing any more: it is asked anew
        assert (await g.verify())[1] is None


# --- whoever removes rows without saying so, or says so of others -----------------------------------------------------


@dataclass(slots=True)
class _Kept:
    """One request that retention removed, and one that is over and stays."""

    g: Gateway
    stranger: Stranger
    events: list[AuditEvent]
    gone: str
    stays: str
    rows: dict[str, Any]


@pytest.fixture
async def kept(either_gateway: Gateway) -> _Kept:
    g = either_gateway
    gone = await end_as(g, "cancelled", n=1)
    [row] = g.rows("SELECT * FROM requests")
    await retain_now(g)()
    stays = await end_as(g, "approved", n=2)
    assert (await g.verify())[1] is None
    stranger = await to_thread(Stranger, g)
    return _Kept(g=g, stranger=stranger, events=await events(g), gone=gone["id"], stays=stays["id"], rows=row)


async def events(g: Gateway) -> list[AuditEvent]:
    return (await g.container.read.trail("acme", after=-1, most=10_000))[0]


async def test_what_goes_without_an_event_what_comes_back_and_what_was_not_over_is_named(kept: _Kept) -> None:
    seq = max(e.seq for e in kept.events if e.record.kind == "rows.removed")
    for table in (*HANGING, "requests"):
        kept.stranger(f"DELETE FROM {table} WHERE {'id' if table == 'requests' else 'request_id'} = '{kept.stays}'")
    fault = (await kept.g.verify())[1]
    assert fault is not None
    assert fault.endswith(f"asked {kept.stays}, and its row is gone")
    kept.stranger.put_back()
    kept.stranger.add("requests", **kept.rows)
    assert (await kept.g.verify())[1] == f"event {seq} says that {kept.gone} was removed, and its row is there"
    kept.stranger.put_back()
    later = [e for e in kept.events if e.seq > seq]
    told = changed(kept.events[seq], lambda facts: facts.update(ids=[kept.gone, kept.stays]))
    kept.stranger.rewrite([*kept.events[:seq], *later, told])
    for table in (*HANGING, "requests"):
        kept.stranger(f"DELETE FROM {table} WHERE {'id' if table == 'requests' else 'request_id'} = '{kept.stays}'")
    assert (await kept.g.verify())[1] == (
        f"event {kept.events[-1].seq} says that {kept.stays} was removed, and it was not over"
    )
