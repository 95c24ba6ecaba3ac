"""Who is told what of the trail as it grows: auditors and administrators all of it, others what they may read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx2
import pytest

from channels.feishu.simulator.server import serve
from tests.api.agents.test_streams import _read
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fixtures.gateway import Gateway

HANGS = 30


@pytest.fixture
async def line(either_gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with serve(either_gateway.app) as address, httpx2.AsyncClient(base_url=address, timeout=HANGS) as http:
        yield http


async def _happened(g: Gateway) -> list[int]:
    """Let things happen that are about a request, and that are not; return the numbers of all of them."""
    await g.key("alice@acme.example")
    await g.ask("by_api")
    assert (await g.call("GET", "/v1/keys")).status_code == 403
    await g.key("executor")
    await g.ask("by_api", {"n": 2})
    rows = g.rows("SELECT seq, kind, request_id FROM audit_events WHERE org = 'acme' ORDER BY seq")
    about_none = {row["kind"] for row in rows if row["request_id"] is None}
    assert {"key.created", "access.refused", "policy.loaded"} <= about_none
    return [row["seq"] for row in rows if row["seq"] > 0]


@requirement("S-14")
@pytest.mark.parametrize("who", ["auditor", "admin"])
async def test_who_audits_is_told_all_of_the_trail(either_gateway: Gateway, line: httpx2.AsyncClient, who: str) -> None:
    headers = await either_gateway.key(who)
    seqs = await _happened(either_gateway)
    told = await _read(line, {**headers, "last-event-id": "0"}, len(seqs))
    assert [event["id"] for event in told] == seqs


@requirement("S-14")
@pytest.mark.parametrize("who", ["agent:shop", "alice@acme.example"])
async def test_others_are_told_nothing_that_is_about_no_request(
    either_gateway: Gateway, line: httpx2.AsyncClient, who: str
) -> None:
    headers = await either_gateway.key(who)
    await _happened(either_gateway)
    told = await _read(line, {**headers, "last-event-id": "0"}, 2)
    assert [event["event"] for event in told] == ["request.created"] * 2
    executor = await either_gateway.key("executor")
    assert (await line.get("/v1/events", headers=executor)).status_code == 403


async def test_a_place_beyond_the_trail_is_refused_with_its_head(
    either_gateway: Gateway, line: httpx2.AsyncClient
) -> None:
    headers = await either_gateway.key("auditor")
    head = (await _happened(either_gateway))[-1]
    for beyond in ({"headers": {**headers, "last-event-id": str(head + 1)}}, {"params": {"after": 999_999}}):
        async with line.stream("GET", "/v1/events", **{"headers": headers, **beyond}) as said:
            assert said.status_code == 422
            told = json.loads(await said.aread())
        assert (told["code"], told["head"]) == ("invalid", head), "and it writes nothing"
        assert "restored" in told["detail"]
    async with line.stream("GET", "/v1/events", headers={**headers, "last-event-id": str(head)}) as stream:
        assert stream.status_code == 200
