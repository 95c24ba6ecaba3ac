"""A stand-in of E2B: its API, and the door of its sandboxes (envd), which speaks the Connect protocol.

Strict: a call that the real one would not accept is refused. Commands really run, in a shell of this machine, so that
exit codes and streams are a shell's own. `faults` maps a call (`create`, `start`, `kill`) to the status it fails with,
`hanging` names calls that are never answered.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.fixtures.patience import HANGS, accepted_are_met
from tests.sdk.sandbox.shells import Shells

KEY = "e2b_0123456789abcdef"
TOKEN = "envd-token"
_CREATE_FIELDS = {
    "templateID",
    "timeout",
    "autoPause",
    "allow_internet_access",
    "metadata",
    "envVars",
    "autoPauseMemory",
}
_END_OF_STREAM = 0x02


@dataclass
class E2BStandIn:
    """What was asked, and what is still alive."""

    faults: dict[str, int] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)
    created: list[dict[str, Any]] = field(default_factory=list)
    alive: set[str] = field(default_factory=set)
    killed: list[str] = field(default_factory=list)
    started: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    reached: dict[str, asyncio.Event] = field(default_factory=dict)
    url: str = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/api/v2/sandboxes", self._create)
        app.router.add_delete("/api/sandboxes/{id}", self._kill)
        app.router.add_post("/door/process.Process/Start", self._start)
        app.router.add_get("/door/health", self._health)
        self._groups: dict[str, int] = {}
        self._closing, self._shells = asyncio.Event(), Shells()
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        for id_ in list(self._groups):
            self._end(id_)
        await accepted_are_met()
        await self._runner.cleanup()
        await self._shells.end_left()

    async def arrival(self, call: str) -> None:
        """Wait until such a call has come."""
        await asyncio.wait_for(self.reached.setdefault(call, asyncio.Event()).wait(), HANGS)

    def release(self) -> None:
        """Answer what hangs."""
        self._closing.set()

    async def _met(self, call: str) -> web.Response | None:
        self.reached.setdefault(call, asyncio.Event()).set()
        if call in self.hanging:
            await self._closing.wait()
        if call in self.faults:
            status = self.faults[call]
            return web.json_response({"code": status, "message": f"the stand-in fails with {status}"}, status=status)
        return None

    def _refuse(self, status: int, message: str) -> web.Response:
        self.refused.append(message)
        return web.json_response({"code": status, "message": message}, status=status)

    async def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-KEY") != KEY:
            return self._refuse(401, "invalid API key")
        if (fault := await self._met("create")) is not None:
            return fault
        asked = await request.json()
        if unknown := set(asked) - _CREATE_FIELDS:
            return self._refuse(400, f"unknown fields: {sorted(unknown)}")
        if not isinstance(asked.get("templateID"), str) or not isinstance(asked.get("timeout"), int):
            return self._refuse(400, "a template and a timeout are wanted")
        id_ = f"isb{len(self.created)}"
        self.created.append(asked)
        self.alive.add(id_)
        answer = {"templateID": asked["templateID"], "sandboxID": id_, "clientID": "c", "envdVersion": "0.4.0"}
        return web.json_response({**answer, "envdAccessToken": TOKEN, "domain": None}, status=201)

    async def _kill(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-KEY") != KEY:
            return self._refuse(401, "invalid API key")
        if (fault := await self._met("kill")) is not None:
            return fault
        id_ = request.match_info["id"]
        if id_ not in self.alive:
            return self._refuse(404, "no such sandbox")
        self._end(id_)
        self.alive.discard(id_)
        self.killed.append(id_)
        return web.Response(status=204)

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=204)

    def _end(self, id_: str) -> None:
        with suppress(KeyError, ProcessLookupError):
            os.killpg(self._groups.pop(id_), signal.SIGKILL)

    async def _start(self, request: web.Request) -> web.StreamResponse:
        id_ = request.headers.get("E2b-Sandbox-Id", "")
        if request.headers.get("X-Access-Token") != TOKEN or id_ not in self.alive:
            return self._refuse(401, "no access to that sandbox")
        if request.headers.get("E2b-Sandbox-Port") != "49983" or request.headers.get("Connect-Protocol-Version") != "1":
            return self._refuse(400, "not envd's protocol")
        if request.content_type != "application/connect+json":
            return self._refuse(415, request.content_type)
        if (fault := await self._met("start")) is not None:
            return fault
        flags, size = struct.unpack(">BI", await request.content.readexactly(5))
        asked = json.loads(await request.content.readexactly(size))
        if flags or await request.content.read():
            return self._refuse(400, "one plain message is wanted")
        self.started.append(asked)
        return await self._stream(request, id_, asked["process"])

    async def _stream(self, request: web.Request, id_: str, asked: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/connect+json"})
        await response.prepare(request)
        process = await self._shells.start(
            asked["cmd"],
            *asked["args"],
            cwd=asked.get("cwd") or "/",
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **asked.get("envs", {})},
            stdin=asyncio.subprocess.DEVNULL,
        )
        self._groups[id_] = process.pid
        try:
            await _send(response, {"event": {"start": {"pid": process.pid}}})
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(_pump(process.stdout, "stdout", response))
                pumps.create_task(_pump(process.stderr, "stderr", response))
            code = await process.wait()
            await _send(
                response, {"event": {"end": {"exitCode": code, "exited": True, "status": f"exit status {code}"}}}
            )
            await response.write(_frame({}, _END_OF_STREAM))
        finally:
            self._end(id_)
            await process.wait()
        return response


def _frame(message: dict[str, Any], flags: int = 0) -> bytes:
    body = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(body)) + body


async def _send(response: web.StreamResponse, message: dict[str, Any]) -> None:
    await response.write(_frame(message))


async def _pump(stream: asyncio.StreamReader | None, name: str, response: web.StreamResponse) -> None:
    assert stream is not None
    while chunk := await stream.read(4096):
        await _send(response, {"event": {"data": {name: base64.b64encode(chunk).decode()}}})
