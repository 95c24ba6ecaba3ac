"""Killed between a receiver's answer and the commit that says so: the same event comes again, under the same id."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from aiohttp import web

from examples.webhook_receiver import verify
from tests.durability import gateway_process
from tests.durability.gateway_process import scene, until
from tests.requirements import requirement
from tests.storage.rig import behind, look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.durability.gateway_process import Scene

pytestmark = [pytest.mark.process, pytest.mark.may_block]  # the test itself reads the logs

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, ok").decode()


SAID = "SELECT id FROM audit_events WHERE kind LIKE 'request.%' ORDER BY seq"


def lease_ran_out(url: str) -> None:
    """Stand in for waiting half a minute: the dead process holds it no longer."""
    with behind(url) as connection:
        connection.execute("UPDATE webhooks SET due_at = 1")


@asynccontextmanager
async def listening(
    take: Callable[[web.Request], Awaitable[web.Response]], patch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """Let a receiver stand outside, of which the gateways' file knows."""
    application = web.Application()
    application.router.add_post("/hook", take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    entry = {"url": f"http://127.0.0.1:{runner.addresses[0][1]}/hook", "secret": "${SIEM}", "kinds": ["request.*"]}
    braced = json.dumps({"siem": entry}).replace("{", "{{").replace("}", "}}")
    patch.setattr(gateway_process, "_POLICY", f"{gateway_process._POLICY}webhooks: {braced}\n")
    try:
        yield
    finally:
        await runner.cleanup()


@requirement("S-36", "F-02")
async def test_a_gateway_killed_behind_the_answer_tells_the_same_again_and_goes_on(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[tuple[str, dict[str, Any]]] = []

    async def take(request: web.Request) -> web.Response:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        got.append((verify(headers, body, [SECRET]), json.loads(body)))
        return web.Response()

    async with listening(take, monkeypatch), scene(database_url, tmp_path) as made:
        made.environ["SIEM"] = SECRET
        async with made.gateway("webhook.taken:kill") as gateway:
            await until("the receiver is known", lambda: look(database_url, "SELECT 1 FROM webhooks"))
            request = await gateway.ask("wire")
            await gateway.died()
        assert [body["kind"] for _, body in got] == ["request.created"]
        lease_ran_out(database_url)
        async with made.gateway() as gateway:
            await gateway.decide("ann", request)
            await until("it goes on", lambda: len(got) >= 3)
            figures = (await gateway.call("payer", "GET", "/metrics")).text
            assert "assent_webhook_failing_seconds{" not in figures
        assert [body["kind"] for _, body in got] == ["request.created", "request.created", "request.approved"]
        assert got[0] == got[1]
        assert {body["request_id"] for _, body in got} == {request["id"]}
        for log in tmp_path.glob("gateway-*.log"):
            assert SECRET not in log.read_text()


PLACES = ("commit.before:kill:9", "webhook.taken:kill:1", "commit.after:kill:9", "webhook.taken:kill:2", None)
"""Where a gateway dies: before a lease is committed, behind an answer, behind a commit; or while one is under way."""


async def one_life(made: Scene, place: str | None, session: str, under_way: Callable[[], bool]) -> None:
    """Let a gateway ask and decide until it dies at `place`, or else, at the end, wherever it is then."""
    with suppress(httpx2.HTTPError, AssertionError):  # it may die before it is ready
        async with made.gateway(place) as gateway:
            await gateway.decide("ann", await gateway.ask("wire", session=session))
            if place is None:
                await until("it has one under way", under_way)


@requirement("S-36", "F-02")
@pytest.mark.heavy
@pytest.mark.parametrize("many", [5, pytest.param(40, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_killed_at_each_step_every_event_comes_at_least_once_and_in_order(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    got: list[dict[str, Any]] = []
    hangs = asyncio.Event()

    async def take(request: web.Request) -> web.Response:
        got.append(await request.json())
        if hangs.is_set():
            await asyncio.sleep(30)  # whoever sent it is killed long before
        return web.Response()

    async with listening(take, monkeypatch), scene(sqlite_url, tmp_path) as made:
        made.environ["SIEM"] = SECRET
        async with made.gateway() as gateway:
            await until("the receiver is known", lambda: look(sqlite_url, "SELECT 1 FROM webhooks"))
            await gateway.ask("wire", session="first")
        for number in range(many):
            place, before = PLACES[number % len(PLACES)], len(got)
            (hangs.clear if place else hangs.set)()
            await one_life(made, place, f"s-{number}", lambda before=before: len(got) > before)
            lease_ran_out(sqlite_url)
        hangs.clear()
        async with made.gateway():
            said = [row[0] for row in look(sqlite_url, SAID)]
            await until("all of it came", lambda: {event["id"] for event in got} >= {*said})
    assert list(dict.fromkeys(event["id"] for event in got)) == said, "in order, and none left out"
    assert len(got) > len(said), "what was under way came again"
    assert len({json.dumps(event, sort_keys=True) for event in got}) == len(said), "as it was the first time"
