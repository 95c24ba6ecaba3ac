"""What every driver stands on: a program that imports its framework once, and forks an agent for each scene.

A scene is a line of JSON on standard input: the gateway, the turns of the scripted model, and where the agent ends as
by a power cut. The answer is the agent's process id. What the agent said, its model read and its tools did is written
into the scene's folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from assent import AsyncGateway, Gateway
from assent.client.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TICK = 0.02
BOUND = 40.0


@dataclass(kw_only=True)
class Scene:
    """One agent: its line to the gateway, its script, and its end."""

    url: str
    key: str
    folder: Path
    session: str = "order-1"
    turns: list[Any] = field(default_factory=list)
    """What the model says in turn: a list of calls (`{id, tool, args}`), or its last word."""
    form: str = "wait"
    sub_agent: str | None = None
    deadline: float | None = None
    patience: float = 20.0
    die: str = ""
    resume: bool = False
    """Go on from what a killed one left, where the framework keeps such a thing."""
    cancel_when: str = ""
    """A file; as soon as it is there, the agent's task is cancelled."""
    blocking: bool = False
    told: dict[str, str] = field(default_factory=dict[str, str])
    """What the model read of each call, by its id."""
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    """What else the test is to know."""

    @property
    def session_of_gateway(self) -> str | None:
        """None where the framework names its sessions itself."""
        return self.session

    def pace(self) -> Pace:
        """As quick as a test wants to be."""
        return Pace(hold=5.0, patience=self.patience, first_backoff=0.01, last_backoff=0.1, connect=1.0, read=3.0)

    def gateway(self, session: str | None = None) -> Any:
        """The line to the gateway: blocking where the scene is."""
        kind = Gateway if self.blocking else AsyncGateway
        return kind(self.url, self.key, session=session, transport=Mortal(self), pace=self.pace())

    def passes(self, here: str) -> None:
        """End here, if this is the place."""
        if self.die == here:
            os.kill(os.getpid(), signal.SIGKILL)

    def turn(self, answered: int) -> Any:
        """What the model says after it has been answered so often."""
        return self.turns[min(answered, len(self.turns) - 1)]

    def ran(self, tool: str, **arguments: Any) -> None:
        """Write down that a tool did what it does."""
        with (self.folder / "ran.jsonl").open("a", encoding="utf-8") as book:
            book.write(json.dumps({"tool": tool, **arguments}) + "\n")


class Mortal(httpx2.AsyncHTTPTransport):
    """Ends the process when the outcome has been reported, if that is the place."""

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        if request.url.path.endswith("/outcome") and answer.status_code < 300:
            await answer.aread()
            self._scene.passes("reported")
        return answer


class Tools:
    """What the agents can do. Each is a plain function of JSON, which the drivers hand to their frameworks."""

    def __init__(self, scene: Scene, control_flow: Callable[[], BaseException | None] = lambda: None) -> None:
        self._scene = scene
        self._control_flow = control_flow

    def pay(self, payee: str, amount: int) -> str:
        """Pay somebody."""
        self._scene.passes("claimed")
        self._scene.ran("pay", payee=payee, amount=amount)
        self._scene.passes("ran")
        return f"paid {amount} to {payee}"

    def look(self, what: str) -> str:
        """Look at something; a rule allows it."""
        self._scene.ran("look", what=what)
        return f"seen {what}"

    def drop(self, what: str) -> str:
        """Drop something; a rule denies it."""
        self._scene.ran("drop", what=what)
        return f"dropped {what}"

    def hurry(self, what: str) -> str:
        """Do something for which people have a second only."""
        self._scene.ran("hurry", what=what)
        return f"hurried {what}"

    def strange(self, what: str) -> str:
        """Do something that the gateway's file does not name."""
        self._scene.ran("strange", what=what)
        return f"done {what}"

    def explode(self, what: str) -> str:
        """Fail."""
        raise ValueError(f"the bank is closed: {what}")

    def direct(self, what: str) -> str:
        """Direct the framework's flow, once; then do it."""
        raised = self._control_flow()
        if raised is not None:
            raise raised
        self._scene.ran("direct", what=what)
        return f"directed {what}"

    NAMES = ("pay", "look", "drop", "hurry", "strange", "explode", "direct")

    def all(self) -> list[Callable[..., str]]:
        """Return every one of them, as a function."""
        return [getattr(self, name) for name in self.NAMES]


def serve(play: Callable[[Scene], Awaitable[None]]) -> None:
    """Fork an agent for each line, and tell how it ended when asked; to the end of the input."""
    _say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        answer = _ended(**asked["wait"]) if "wait" in asked else {"pid": _forked(play, asked["scene"])}
        _say(answer)


def _say(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def _forked(play: Callable[[Scene], Awaitable[None]], told: dict[str, Any]) -> int:
    scene = Scene(**{**told, "folder": Path(told["folder"])})
    pid = os.fork()
    if pid:
        return pid
    log = os.open(scene.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 1
    try:
        asyncio.run(_played(play, scene))
        code = 0
    except BaseException:  # noqa: BLE001 - the test reads it in the log
        traceback.print_exc()
    os._exit(code)


async def _played(play: Callable[[Scene], Awaitable[None]], scene: Scene) -> None:
    error: str | None = None
    try:
        agent = asyncio.ensure_future(play(scene))
        if scene.cancel_when:
            while not agent.done() and not (scene.folder / scene.cancel_when).exists():  # noqa: ASYNC110 - a file
                await asyncio.sleep(TICK)
            agent.cancel()
        await agent
    except asyncio.CancelledError:
        error = "CancelledError"
        if others := asyncio.all_tasks() - {asyncio.current_task()}:  # what the framework lets end by itself
            await asyncio.wait(others, timeout=BOUND)
    except Exception as raised:  # noqa: BLE001 - what a run ends with is what the tests look at
        traceback.print_exc()
        error = f"{type(raised).__name__}: {raised}"
    said = {"error": error, "told": scene.told, **scene.said}
    (scene.folder / "said.json").write_text(json.dumps(said), encoding="utf-8")


def _ended(pid: int, within: float = BOUND) -> dict[str, Any]:
    end = time.monotonic() + within
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return {"code": os.waitstatus_to_exitcode(status)}
        time.sleep(TICK)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return {"code": None}
