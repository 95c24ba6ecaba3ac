"""Fair shares: one key cannot take all places to wait, nor all streams, and figures can be closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from app.usecases.reading.follow import Feed
from app.usecases.reading.shares import Shares
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement
from tests.storage.rig import ORG, ManualClock, given_request, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform

PLACES = 20


@requirement("S-66")
@given(st.lists(st.sampled_from("aaaaaabc"), max_size=3 * PLACES))
def test_nobody_has_more_than_half_and_whoever_has_little_gets_a_place(comers: list[str]) -> None:
    shares, held = Shares(PLACES), dict.fromkeys("abc", 0)
    for who in comers:
        before = sum(held.values())
        if not shares.crowded(who, more=1):
            shares.take(who)
            held[who] += 1
        else:
            assert before >= PLACES or held[who] >= PLACES // 10
    assert len(shares) == sum(held.values()) <= PLACES
    assert all(each <= PLACES // 2 for each in held.values())
    for who, count in held.items():
        for _ in range(count):
            shares.give(who)
    assert len(shares) == 0


@requirement("S-66")
async def test_one_key_cannot_take_every_place_to_wait(sqlite_url: str, config: Path, platform: MemoryPlatform) -> None:
    async with open_gateway(sqlite_url, config, platform, max_waiters=PLACES) as g:
        request = await g.ask("by_api")
        path = f"/v1/requests/{request['id']}?wait=60"
        greedy = [asyncio.ensure_future(g.call("GET", path)) for _ in range(2 * PLACES)]
        done, held = await asyncio.wait(greedy, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        while len(held) > PLACES // 2:
            more, held = await asyncio.wait(held, timeout=20, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        assert {(await each).json()["state"] for each in done} == {"pending"}  # answered at once, with what is so
        other = asyncio.ensure_future(g.call("GET", path, who="auditor"))
        while len(g.container.waiters) <= PLACES // 2:  # noqa: ASYNC110 - it is let in, and held
            await asyncio.sleep(0)
        await g.decide(request)
        assert {(await each).json()["state"] for each in (*held, other)} == {"approved"}
        assert len(g.container.waiters) == 0


@requirement("S-66")
async def test_one_key_cannot_take_every_stream(sqlite_url: str) -> None:
    async with open_store(sqlite_url, ManualClock()) as store:
        for n in range(3):
            await given_request(store, f"req_{n}")
        feed = Feed(store=store, most=PLACES)
        streams = [feed.follow(ORG, after=-1, who="greedy") for _ in range(2 * PLACES)]
        heard = [await anext(each, None) for each in streams]
        assert sum(each is not None for each in heard) == PLACES // 2
        assert feed.crowded("greedy")
        assert not feed.crowded("auditor")
        late = feed.follow(ORG, after=-1, who="auditor")
        assert (await anext(late)).seq == 0
        for each in (*streams, late):
            await each.aclose()  # type: ignore[attr-defined]
        assert not feed.crowded("greedy")


@requirement("S-66")
async def test_a_stream_too_many_is_answered_before_it_begins(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(sqlite_url, config, platform, max_streams=1) as g:
        g.container.feed._places.take("somebody else")
        refused = await g.call("GET", "/v1/events", who="auditor")
        assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (429, "too_many", "5")


@requirement("S-66")
@pytest.mark.parametrize("path", ["/metrics", "/openapi.json"])
async def test_figures_are_open_unless_a_token_is_set(
    sqlite_url: str, config: Path, platform: MemoryPlatform, path: str
) -> None:
    async with open_gateway(sqlite_url, config, platform) as g:
        assert (await g.http.get(path)).status_code == 200
        assert (await g.http.get("/docs")).status_code == 404
    token = "t" * 32
    async with open_gateway(sqlite_url, config, platform, operations_token=SecretStr(token)) as g:
        for wrong in (b"", b"Bearer wrong", f"Basic {token}".encode(), "Bearer é".encode()):
            said = await g.http.get(path, headers=[(b"authorization", wrong)])
            assert said.status_code == 401, wrong
        assert (await g.http.get(path, headers={"authorization": f"Bearer {token}"})).status_code == 200
        assert (await g.http.get("/readyz")).status_code == 200


async def test_what_ready_tells_beside_its_status_is_for_whoever_has_the_token(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    token = "t" * 32
    async with open_gateway(sqlite_url, config, platform, operations_token=SecretStr(token)) as g:
        has_it = {"authorization": f"Bearer {token}"}
        assert (await g.http.get("/readyz")).json() == {"status": "ready"}
        assert "replicas" in (await g.http.get("/readyz", headers=has_it)).json()
        (config / "acme.yaml").write_text("org: acme\ndefault: perhaps\n")
        await g.container.configuration.use_if_changed()
        unready, why = [await g.http.get("/readyz", headers=more) for more in ({}, has_it)]
        assert (unready.status_code, why.status_code) == (503, 503)
        assert "line 2" in why.json()["detail"]
        assert "line" not in unready.text
        assert unready.headers["retry-after"] == why.headers["retry-after"]
        guesses = [
            (await g.http.get("/readyz", headers={"authorization": f"Bearer {n}"})).status_code for n in range(30)
        ]
        assert {503, 429} == set(guesses), "nobody finds the token by trying"
        assert (await g.http.get("/readyz")).status_code == 503, "a balancer is told as before"
