"""Killed between a receiver's answer and the commit that says so: the same event comes again, under the same id."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from examples.webhook_receiver import verify
from tests.durability import gateway_process
from tests.durability.gateway_process import scene, until
from tests.requirements import requirement
from tests.storage.rig import behind, look

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.may_block]  # the test itself reads the logs

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, ok").decode()


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

    application = web.Application()
    application.router.add_post("/hook", take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    entry = {"url": f"http://127.0.0.1:{runner.addresses[0][1]}/hook", "secret": "${SIEM}", "kinds": ["request.*"]}
    braced = json.dumps({"siem": entry}).replace("{", "{{").replace("}", "}}")
    monkeypatch.setattr(gateway_process, "_POLICY", f"{gateway_process._POLICY}webhooks: {braced}\n")
    async with scene(database_url, tmp_path) as made:
        made.environ["SIEM"] = SECRET
        async with made.gateway("webhook.taken:kill") as gateway:
            await until("the receiver is known", lambda: look(database_url, "SELECT 1 FROM webhooks"))
            request = await gateway.ask("wire")
            await gateway.died()
        assert [body["kind"] for _, body in got] == ["request.created"]
        with behind(database_url) as connection:
            connection.execute("UPDATE webhooks SET due_at = 1")  # the lease of the dead one is over
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
    await runner.cleanup()
