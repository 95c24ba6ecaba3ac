"""The agent's one call, cut at every step: nothing is lost, nothing runs twice, and whoever comes back goes on.

The steps are those of `app/usecases/executing/take_when_decided.py`. A cut is the gateway's death, the caller's, or
that of the connection between them; the caller comes back with the same `Idempotency-Key`, or with the request's id.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.durability.gateway_process import Gateway, Scene

pytestmark = pytest.mark.process

CALL = {
    "tool": "wire", "arguments": {"payee": "Acme", "amount": 80000}, "session": "s-1", "wait": 30, "claim_id": "c-1"
}  # fmt: skip
LARGE = {**CALL, "arguments": {"payee": "Acme", "memo": ["x" * 60_000] * 3}}
"""More than a server takes in at once: it stops reading such a connection, and must begin again to see it end."""


@asynccontextmanager
async def on(url: str, folder: Path) -> AsyncIterator[Scene]:
    """Set the scene, and look at the invariants when it is over."""
    async with scene(url, folder) as made:
        yield made
    assert faults(url) == []


def one_call(gateway: Gateway, body: object = CALL) -> asyncio.Task[httpx2.Response]:
    return asyncio.ensure_future(gateway.call("payer", "POST", "/v1/requests", body, **{"idempotency-key": "k-1"}))


async def comes_back(gateway: Gateway, request_id: str, claim_id: str = "c-1", wait: int = 20) -> httpx2.Response:
    path = f"/v1/requests/{request_id}?wait={wait}&claim_id={claim_id}"
    return await gateway.call("payer", "GET", path)


def found(url: str) -> list[dict[str, Any]]:
    rows = look(url, "SELECT id, digest, state FROM requests")
    return [{"id": row[0], "digest": row[1], "state": row[2]} for row in rows]


async def opened(url: str) -> dict[str, Any]:
    await until("it is opened", lambda: found(url))
    [request] = found(url)
    return request


def claims(url: str) -> int:
    return int(look(url, "SELECT count(*) FROM executions")[0][0])


async def approves(gateway: Gateway, request: dict[str, Any]) -> None:
    """Approve; the answer may be lost, for the gateway may die of it."""
    with suppress(httpx2.HTTPError):
        said = await gateway.decide("ann", request)
        assert said.status_code == 200, said.text


async def goes_on(gateway: Gateway, url: str, request_id: str) -> dict[str, Any]:
    """Come back in both ways, report, and find that all of it happened once."""
    first = await comes_back(gateway, request_id)
    again = await one_call(gateway)
    assert (first.status_code, first.json()["decision"]) == (200, "claimed"), first.text
    assert again.json()["claimed"] == first.json()["claimed"]
    thief = await comes_back(gateway, request_id, claim_id="c-2")
    assert (thief.status_code, thief.json()["code"]) == (409, "already_claimed")
    assert (await gateway.report({"id": request_id})).json()["state"] == "succeeded"
    assert (len(found(url)), claims(url)) == (1, 1)
    return first.json()["claimed"]


@requirement("F-51")
@pytest.mark.parametrize("place", ["call.received", "call.opened"])
async def test_the_gateway_dies_around_the_opening(database_url: str, tmp_path: Path, place: str) -> None:
    async with on(database_url, tmp_path) as made:
        async with made.gateway(f"{place}:kill") as gateway:
            with pytest.raises(httpx2.HTTPError):
                await one_call(gateway)
            await gateway.died()
        assert len(found(database_url)) == (place == "call.opened")
        async with made.gateway() as gateway:
            call = one_call(gateway)
            request = await opened(database_url)
            await gateway.holds()
            await approves(gateway, request)
            assert (await call).json()["decision"] == "claimed"
            await goes_on(gateway, database_url, request["id"])


@requirement("F-52")
async def test_the_gateway_dies_while_it_holds_the_call(database_url: str, tmp_path: Path) -> None:
    async with on(database_url, tmp_path) as made:
        async with made.gateway() as gateway:
            call = one_call(gateway)
            request = await opened(database_url)
            await gateway.holds()
            gateway.process.kill()
            with pytest.raises(httpx2.HTTPError):
                await call
        async with made.gateway() as gateway:
            assert (await gateway.read(request))["state"] == "pending"
            back = asyncio.ensure_future(comes_back(gateway, request["id"]))
            await gateway.holds()
            await approves(gateway, request)
            assert (await back).json()["decision"] == "claimed"
            await goes_on(gateway, database_url, request["id"])


@requirement("F-53", "F-54")
@pytest.mark.parametrize("place", ["call.decided", "call.claimed"])
async def test_the_gateway_dies_behind_the_decision(database_url: str, tmp_path: Path, place: str) -> None:
    async with on(database_url, tmp_path) as made:
        async with made.gateway(f"{place}:kill") as gateway:
            call = one_call(gateway)
            request = await opened(database_url)
            await gateway.holds()
            await approves(gateway, request)
            with pytest.raises(httpx2.HTTPError):
                await call
            await gateway.died()
        assert claims(database_url) == (place == "call.claimed")
        async with made.gateway() as gateway:
            state = "executing" if place == "call.claimed" else "approved"
            assert (await gateway.read(request))["state"] == state
            await goes_on(gateway, database_url, request["id"])


@requirement("F-55")
@pytest.mark.parametrize("body", [CALL, LARGE], ids=["small", "large"])
async def test_the_caller_has_gone_when_the_decision_comes(sqlite_url: str, tmp_path: Path, body: object) -> None:
    async with on(sqlite_url, tmp_path) as made, made.gateway() as gateway:
        call = one_call(gateway, body)
        request = await opened(sqlite_url)
        await gateway.holds()
        call.cancel()  # its connection is closed
        with pytest.raises(asyncio.CancelledError):
            await call
        await approves(gateway, request)
        await gateway.holds(0)  # it was seen that nobody is there
        assert (claims(sqlite_url), (await gateway.read(request))["state"]) == (0, "approved")
        assert (await comes_back(gateway, request["id"])).json()["decision"] == "claimed"


@requirement("F-56")
async def test_a_proxy_gives_up_before_the_wait_is_over(sqlite_url: str, tmp_path: Path) -> None:
    """It hangs up on both sides: the caller knows no request yet, and asks again under its key."""
    async with on(sqlite_url, tmp_path) as made, made.gateway() as gateway:
        proxy = await Impatient.between(gateway)
        for tries in (1, 2):
            asking = asyncio.ensure_future(proxy.call(gateway, CALL))
            await until("it is opened", lambda: found(sqlite_url))
            await gateway.holds(tries)  # that nobody listens any more is only seen when it is decided
            proxy.give_up()
            with pytest.raises(httpx2.HTTPError):
                await asking
        [request] = found(sqlite_url)
        await approves(gateway, request)
        await gateway.holds(0)
        assert (claims(sqlite_url), found(sqlite_url)[0]["state"]) == (0, "approved")
        said = await one_call(gateway, {**CALL, "wait": 0})  # now shorter than the proxy's patience
        assert said.json()["decision"] == "claimed"
        await goes_on(gateway, sqlite_url, request["id"])
        await proxy.close()


@requirement("F-57")
async def test_a_gateway_that_is_told_to_stop_answers_pending_and_another_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    async with on(database_url, tmp_path) as made:
        async with made.gateway() as gateway:
            call = one_call(gateway)
            request = await opened(database_url)
            await gateway.holds()
            os.kill(gateway.process.pid, signal.SIGTERM)
            said = await call
            assert (said.status_code, said.json()["decision"], said.json()["request"]["id"]) == (
                202, "ask", request["id"],
            )  # fmt: skip
            assert said.headers["retry-after"] == "1"
            assert await asyncio.wait_for(gateway.process.ended(), 20) in {0, -signal.SIGTERM}
        async with made.gateway() as gateway:
            back = asyncio.ensure_future(comes_back(gateway, request["id"]))
            await gateway.holds()
            await approves(gateway, request)
            assert (await back).json()["decision"] == "claimed"
            await goes_on(gateway, database_url, request["id"])


@requirement("F-57")
async def test_the_decision_falls_on_one_replica_and_the_call_comes_back_to_another(
    postgres_url: str, tmp_path: Path
) -> None:
    async with on(postgres_url, tmp_path) as made, made.gateway() as other:
        async with made.gateway() as gateway:
            call = one_call(gateway)
            request = await opened(postgres_url)
            await gateway.holds()
            gateway.process.kill()
            with pytest.raises(httpx2.HTTPError):
                await call
        back = asyncio.ensure_future(comes_back(other, request["id"]))
        await other.holds()
        async with made.gateway() as third:
            await approves(third, request)
            assert (await back).json()["decision"] == "claimed"
            await goes_on(third, postgres_url, request["id"])


class Impatient:
    """A proxy that carries bytes until it gives up; then it closes both sides."""

    def __init__(self) -> None:
        self.address = ""
        self._server: asyncio.Server | None = None
        self._pairs: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @staticmethod
    async def between(gateway: Gateway) -> Impatient:
        proxy = Impatient()
        port = int(gateway.address.rpartition(":")[2])

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(65536):
                writer.write(data)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            back, forth = await asyncio.open_connection("127.0.0.1", port)
            proxy._pairs.append((writer, forth))
            proxy._tasks |= {asyncio.ensure_future(carry(reader, forth)), asyncio.ensure_future(carry(back, writer))}

        proxy._server = await asyncio.start_server(serve, "127.0.0.1", 0)
        proxy.address = f"http://127.0.0.1:{proxy._server.sockets[0].getsockname()[1]}"
        return proxy

    async def call(self, gateway: Gateway, body: object) -> httpx2.Response:
        """Make the call through it."""
        sent = {"authorization": f"Bearer {gateway._keys['payer']}", "idempotency-key": "k-1"}
        async with httpx2.AsyncClient(base_url=self.address, timeout=30, trust_env=False) as client:
            return await client.post("/v1/requests", json=body, headers=sent)

    def give_up(self) -> None:
        for near, far in self._pairs:
            near.close()
            far.close()
        self._pairs.clear()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
