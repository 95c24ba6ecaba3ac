"""An SDK client on the gateway of a story (its app, in this process), and a tool that counts its calls."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import format_datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2

from assent import AsyncGateway
from assent.executor.executor import Executor
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.fixtures.gateway import Gateway


class Line(httpx2.AsyncBaseTransport):
    """Carries calls to the app, with the gateway's time on every answer, as a server puts it there.

    `faults[verb]` holds what happens around calls whose path ends so: `before` or `after` the app is called.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._app = httpx2.ASGITransport(gateway.app)
        self.after: dict[str, Callable[[], Any]] = {}
        self.before: dict[str, Callable[[], Any]] = {}
        self.called: list[str] = []
        self.dated = True

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        verb = request.url.path.rpartition("/")[2]
        self.called.append(verb)
        if verb in self.before:
            self.before[verb]()
        answer = await self._app.handle_async_request(request)
        if self.dated:
            answer.headers["Date"] = format_datetime(self._gateway.clock.now(), usegmt=True)
        if verb in self.after:
            self.after[verb]()
            await asyncio.sleep(0)  # whoever was cancelled by it does not get the answer
        return answer


@dataclass
class Spy:
    """A tool with a record of what it did, under which key; `does` is what happens on the way."""

    calls: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)
    does: Callable[[], Any] | None = None

    async def run(self, *, idempotency_key: str, **arguments: Any) -> Any:
        self.calls.append((arguments, idempotency_key))
        return self.does() if self.does else "paid"

    def run_plainly(self, *, idempotency_key: str, **arguments: Any) -> Any:
        self.calls.append((arguments, idempotency_key))
        return self.does() if self.does else "paid"

    def lookup(self, key: str) -> Any:
        return self.known.get(key)


@asynccontextmanager
async def executing(
    gateway: Gateway, spy: Spy, *, tool: str = "by_api", who: str = "executor", org: str = "acme", **more: Any
) -> AsyncIterator[tuple[Executor, Line]]:
    """One executor process; `more` goes to the registration of its tool, but for `state_file` and `at_once`."""
    line = Line(gateway)
    key = (await gateway.key(who, org=org))["authorization"].removeprefix("Bearer ")
    pace = quick_pace(patience=0.05, hold=0.2)
    async with AsyncGateway("http://gateway.test", key, transport=line, pace=pace) as client:
        own = {"state_file": more.pop("state_file", None), "at_once": more.pop("at_once", 4)}
        made = partial(Executor, client, name="payments", look_every=0.01, **own)
        executor = await asyncio.to_thread(made)  # it may read a file
        executor.tool(tool, **{"run": spy.run, "lookup": spy.lookup, **more})
        yield executor, line


def restored(line: Line, epoch: int) -> None:
    """Let the gateway say in its claims that it was restored so often."""
    whole = line.handle_async_request

    async def told(asked: httpx2.Request) -> httpx2.Response:
        answer = await whole(asked)
        if not asked.url.path.endswith("/claim"):
            return answer
        body = {**json.loads(await answer.aread()), "epoch": epoch}
        return type(answer)(200, content=json.dumps(body), headers={"Date": answer.headers["Date"]})

    line.handle_async_request = told  # type: ignore[method-assign]
