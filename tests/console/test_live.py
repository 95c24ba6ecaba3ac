"""Open pages are told that something has moved: whose they are, how many, until when, and what it does not say."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import httpx2
import pytest

from app.usecases.console.live import MOST_STREAMS
from channels.feishu.simulator.server import serve
from tests.console.signed_in import Home, field_of
from tests.fixtures.patience import HANGS, eventually
from tests.fixtures.review_visits import URL, with_url
from tests.fixtures.second_factors import ALICE, BOB, DAVE, invited
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


@pytest.fixture
async def line(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with serve(gateway.app) as address, httpx2.AsyncClient(base_url=address, timeout=HANGS) as http:
        yield http


def drawn_at(page: str) -> str:
    """Return how far the trail had come when a page was drawn."""
    found = re.search(r'data-from="(-?[0-9]+)"', page)
    assert found is not None
    return found[1]


@asynccontextmanager
async def listening(
    line: httpx2.AsyncClient, who: Home, path: str, **headers: str
) -> AsyncIterator[tuple[httpx2.Response, AsyncIterator[str]]]:
    """Open a stream as a browser's page does."""
    sent = {"cookie": f"assent-session={who.session}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    async with asyncio.timeout(HANGS), line.stream("GET", path, headers=sent) as stream:
        yield stream, stream.aiter_lines()


async def told(lines: AsyncIterator[str]) -> str | None:
    """Return where the trail is, as a stream next tells it; None once it has ended."""
    async for each in lines:
        if each.startswith("id: "):
            return each.removeprefix("id: ")
    return None


@requirement("S-14", "S-39")
async def test_a_page_is_told_that_something_moved_and_nothing_of_what_it_was_or_what_is_not_its_own(
    gateway: Gateway, line: httpx2.AsyncClient
) -> None:
    mine, other = await gateway.ask("by_api", {"n": 1}), await gateway.ask("by_api", {"n": 2})
    home, dave = await Home.of(gateway, origin=URL), await Home.of(gateway, DAVE, origin=URL)
    since = drawn_at((await home.get(f"/r/{mine['id']}")).text)
    async with listening(line, home, f"/r/{mine['id']}/live?since={since}") as (stream, lines):
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert (stream.headers["x-accel-buffering"], stream.headers["cache-control"]) == ("no", "no-store")
        await gateway.decide(other)
        await home.get(f"/r/{mine['id']}")  # looking moves nothing
        await gateway.decide(mine, "deny", who=BOB)
        seqs = [row["seq"] for row in gateway.rows("SELECT seq FROM audit_events WHERE kind = 'request.denied'")]
        assert [await told(lines)] == [str(seq) for seq in seqs]
    since = drawn_at((await home.get()).text)
    late = await gateway.ask("by_api", {"n": 3})
    async with listening(line, home, f"/live?since={since}") as (_, lines):  # between the page and its stream
        first = await told(lines)
        assert first is not None
    await gateway.decide(late)
    async with listening(line, home, "/live?since=0", last_event_id=first) as (_, lines):  # it was away meanwhile
        assert int(await told(lines) or 0) > int(first)
    async with listening(line, home, "/live?since=999999999") as (_, lines):  # it knows what we cannot tell apart
        assert await told(lines) is not None
    for who, path, status in (
        (dave, f"/r/{mine['id']}/live", 404),  # no business of his
        (home, "/r/req_nothing/live", 404),
        (Home(gateway=gateway, session="s1_x_y"), "/live", 401),
    ):
        async with listening(line, who, path) as (stream, _):
            assert stream.status_code == status, path
    await eventually(lambda: len(gateway.container.feed) == 0)


@requirement("S-39", "S-85")
async def test_a_page_that_is_open_on_a_device_whose_factor_is_taken_away_hears_nothing_more(
    gateway: Gateway, line: httpx2.AsyncClient
) -> None:
    home, bob = await Home.of(gateway, origin=URL), await Home.of(gateway, BOB, origin=URL)
    await invited(gateway, ALICE)
    path = f"/live?since={drawn_at((await home.get()).text)}"
    async with listening(line, home, path) as (_, hers), listening(line, bob, path) as (_, his):
        await eventually(lambda: len(gateway.container.console.live) == 2)
        await gateway.container.factors.remove("acme", ALICE, by="cli")
        assert await told(hers) is None
        await gateway.ask("by_api", {"n": 1})
        assert await told(his) is not None


@requirement("S-21", "F-38")
async def test_a_session_has_few_streams_which_end_with_it_and_with_the_gateway_and_keep_it_from_no_rest(
    gateway: Gateway, line: httpx2.AsyncClient
) -> None:
    live = gateway.container.console.live
    home, bob = await Home.of(gateway, origin=URL), await Home.of(gateway, BOB, origin=URL)
    seal = field_of((await home.get()).text, "seal")
    since = drawn_at((await home.get()).text)
    await gateway.advance(timedelta(minutes=30))
    before = gateway.rows("SELECT id, seen_at FROM console_sessions ORDER BY id")
    async with AsyncExitStack() as open_pages:
        streams = [
            await open_pages.enter_async_context(listening(line, home, f"/live?since={since}"))
            for _ in range(MOST_STREAMS)
        ]
        await eventually(lambda: len(live) == MOST_STREAMS)
        async with listening(line, home, "/live") as (stream, _):
            assert (stream.status_code, stream.headers["retry-after"]) == (429, "30")
        _, others = await open_pages.enter_async_context(listening(line, bob, f"/live?since={since}"))
        await eventually(lambda: len(live) == MOST_STREAMS + 1)
        assert gateway.rows("SELECT id, seen_at FROM console_sessions ORDER BY id") == before  # open is not used
        await home.post("/sign-out", origin=URL, seal=seal, where="here")
        assert [await told(lines) for _, lines in streams] == [None] * MOST_STREAMS
        assert len(live) == 1
        assert ("person.signed_out", ALICE) in gateway.trail()
        await gateway.ask("by_api", {"n": 1})
        assert await told(others) is not None
        gateway.container.feed.stop()
        assert await told(others) is None
    await eventually(lambda: len(live) == 0)
