"""A stand-in of Daytona: its API, and the toolbox of its sandboxes, whose sessions run commands and stream their logs.

Strict: a call that the real one would not accept is refused. Commands really run, in a shell of this machine, so that
exit codes and streams are a shell's own. `faults` maps a call (`create`, `session`, `exec`, `logs`, `delete`) to the
status it fails with, `hanging` names calls that are never answered. Events (Socket.IO) are not served: the SDK polls.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.fixtures.patience import HANGS, accepted_are_met
from tests.sdk.sandbox.shells import Shells

KEY = "dtn_0123456789abcdef"
_OUT, _ERR = b"\x01\x01\x01", b"\x02\x02\x02"  # they label each piece of a log
_CREATE_FIELDS = {
    "name", "snapshot", "env", "labels", "networkBlockAll", "autoStopInterval", "autoDeleteInterval", "ttlMinutes",
    "target", "volumes",
}  # fmt: skip


@dataclass
class Command:
    """One command of a session."""

    text: str
    process: asyncio.subprocess.Process


@dataclass
class Sandbox:
    """One sandbox; `polls` more looks at it find it still starting."""

    asked: dict[str, Any]
    polls: int = 0
    sessions: set[str] = field(default_factory=set)
    commands: list[Command] = field(default_factory=list)


@dataclass
class DaytonaStandIn:
    """What was asked, and what is still alive."""

    faults: dict[str, int] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)
    polls: int = 0
    created: list[dict[str, Any]] = field(default_factory=list)
    alive: dict[str, Sandbox] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    reached: dict[str, asyncio.Event] = field(default_factory=dict)
    url: str = ""

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._authenticated])
        session = "/toolbox/{id}/process/session"
        app.router.add_post("/api/sandbox", self._create)
        app.router.add_get("/api/sandbox/{id}", self._get)
        app.router.add_delete("/api/sandbox/{id}", self._delete)
        app.router.add_post(session, self._session)
        app.router.add_post(session + "/{session}/exec", self._exec)
        app.router.add_get(session + "/{session}/command/{command}/logs", self._logs)
        app.router.add_get(session + "/{session}/command/{command}", self._command)
        self._closing, self._shells = asyncio.Event(), Shells()
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        for sandbox in self.alive.values():
            await _end(sandbox)
        await accepted_are_met()
        await self._runner.cleanup()
        for sandbox in self.alive.values():  # some call may have started one meanwhile
            await _end(sandbox)
        await self._shells.end_left()

    async def arrival(self, call: str) -> None:
        """Wait until such a call has come."""
        await asyncio.wait_for(self.reached.setdefault(call, asyncio.Event()).wait(), HANGS)

    def release(self) -> None:
        """Answer what hangs."""
        self._closing.set()

    @web.middleware
    async def _authenticated(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path.startswith("/api/socket.io"):
            return web.Response(status=404)
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return self._refuse(401, "invalid credentials")
        return await handler(request)

    async def _met(self, call: str) -> web.Response | None:
        self.reached.setdefault(call, asyncio.Event()).set()
        if call in self.hanging:
            await self._closing.wait()
        if call in self.faults:
            return _problem(self.faults[call], f"the stand-in fails with {self.faults[call]}")
        return None

    def _refuse(self, status: int, message: str) -> web.Response:
        self.refused.append(message)
        return _problem(status, message)

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if unknown := set(asked) - _CREATE_FIELDS:
            return self._refuse(400, f"unknown fields: {sorted(unknown)}")
        if (fault := await self._met("create")) is not None:
            return fault
        id_ = f"sb-{len(self.created)}"
        self.created.append(asked)
        self.alive[id_] = Sandbox(asked=asked, polls=self.polls)
        return web.json_response(self._shape(id_))

    def _shape(self, id_: str) -> dict[str, Any]:
        sandbox = self.alive[id_]
        asked = sandbox.asked
        return {
            "id": id_, "organizationId": "org", "name": asked["name"], "user": "daytona", "env": asked.get("env", {}),
            "labels": asked.get("labels", {}), "public": False, "networkBlockAll": asked.get("networkBlockAll", False),
            "kvm": False, "target": "eu", "cpu": 1, "gpu": 0, "memory": 1, "disk": 3,
            "state": "starting" if sandbox.polls else "started", "toolboxProxyUrl": f"{self.url}/toolbox",
        }  # fmt: skip

    def _find(self, request: web.Request) -> str | None:
        wanted = request.match_info["id"]
        return next((id_ for id_, sandbox in self.alive.items() if wanted in {id_, sandbox.asked["name"]}), None)

    async def _get(self, request: web.Request) -> web.Response:
        id_ = self._find(request)
        if id_ is None:
            return _problem(404, "no such sandbox")
        self.alive[id_].polls = max(0, self.alive[id_].polls - 1)
        return web.json_response(self._shape(id_))

    async def _delete(self, request: web.Request) -> web.Response:
        if (fault := await self._met("delete")) is not None:
            return fault
        id_ = self._find(request)
        if id_ is None:
            return _problem(404, "no such sandbox")
        shape = {**self._shape(id_), "state": "destroyed"}
        await _end(self.alive.pop(id_))
        self.deleted.append(id_)
        return web.json_response(shape)

    async def _session(self, request: web.Request) -> web.Response:
        if (fault := await self._met("session")) is not None:
            return fault
        id_, asked = self._find(request), await request.json()
        if id_ is None or set(asked) != {"sessionId"}:
            return self._refuse(400, "a sandbox and a sessionId are wanted")
        self.alive[id_].sessions.add(asked["sessionId"])
        return web.Response(status=201)

    async def _exec(self, request: web.Request) -> web.Response:
        if (fault := await self._met("exec")) is not None:
            return fault
        id_, asked = self._find(request), await request.json()
        if id_ is None or request.match_info["session"] not in self.alive[id_].sessions:
            return self._refuse(404, "no such session")
        if asked.get("runAsync") is not True or not isinstance(asked.get("command"), str):
            return self._refuse(400, "a command to run is wanted")
        sandbox = self.alive[id_]
        env = {"PATH": os.environ["PATH"], **sandbox.asked.get("env", {})}
        process = await self._shells.start("/bin/sh", "-c", asked["command"], cwd="/", env=env)
        sandbox.commands.append(Command(asked["command"], process))
        self.commands.append(asked["command"])
        return web.json_response({"cmdId": str(len(sandbox.commands) - 1)}, status=202)

    def _asked_for(self, request: web.Request) -> Command | None:
        id_ = self._find(request)
        return None if id_ is None else self.alive[id_].commands[int(request.match_info["command"])]

    async def _command(self, request: web.Request) -> web.Response:
        command = self._asked_for(request)
        if command is None:
            return _problem(404, "no such command")
        code = command.process.returncode
        ended = {} if code is None else {"exitCode": code}
        return web.json_response({"id": request.match_info["command"], "command": command.text, **ended})

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        if (fault := await self._met("logs")) is not None:
            return fault
        command = self._asked_for(request)
        if command is None or request.query.get("follow") != "true":
            return self._refuse(404, "no such log")
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(_pump(command.process.stdout, _OUT, socket))
            pumps.create_task(_pump(command.process.stderr, _ERR, socket))
        await socket.close()
        return socket


def _problem(status: int, message: str) -> web.Response:
    return web.json_response({"statusCode": status, "message": message, "code": "STAND_IN"}, status=status)


async def _end(sandbox: Sandbox) -> None:
    for command in sandbox.commands:
        if command.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(command.process.pid, signal.SIGKILL)
        await command.process.wait()


async def _pump(stream: asyncio.StreamReader | None, label: bytes, socket: web.WebSocketResponse) -> None:
    assert stream is not None
    while chunk := await stream.read(4096):
        with suppress(ConnectionError):  # whoever listened has gone
            await socket.send_bytes(label + chunk)
