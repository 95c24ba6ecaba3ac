"""The demo's page: what everybody sees, live, and the buttons that press, type, kill and start.

It listens on loopback only, answers to its own name only, and takes acts as JSON only: no other site can press here.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from app.domain.errors import AssentError
from app.domain.text.language import Language
from channels.feishu.simulator.server import serve
from examples.demo.hands import Hands, Shown
from examples.demo.orders import BUTTONS
from examples.demo.snapshot import Snapshots
from examples.demo.visits import style

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request

    from examples.demo.child import Child
    from examples.demo.stage import Stage

_STATIC = Path(__file__).with_name("static")
_FILES = {
    "/": ("page.html", "text/html"),
    **{f"/{name}": (name, "text/css") for name in ("page.css", "feishu.css", "slack.css")},
    **{
        f"/{name}": (name, "text/javascript")
        for name in ("page.js", "feishu.js", "slack.js", "console.js", "dom.js", "words.js")
    },
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}
_FIRST_INVOICE = 118
_LOOK_SECONDS = 0.2


class BadActError(Exception):
    """The page asked for something that does not exist."""


class Page:
    """The routes around one stage."""

    def __init__(self, stage: Stage) -> None:
        """Show and move one stage."""
        self._stage = stage
        self._hands = Hands(stage)
        self._snapshots = Snapshots(stage)
        self._invoice = _FIRST_INVOICE
        self._ended = asyncio.Event()
        self.app = Starlette(
            routes=[
                *(Route(path, _file(*found)) for path, found in _FILES.items()),
                Route("/console.css", _console_style),
                Route("/console", self._look),
                Route("/events", self._events),
                Route("/act", self._act, methods=["POST"]),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
        )

    def ask(self, what: str) -> None:
        """Let the user ask the agent for what a button says. Raises KeyError for one that does not exist."""
        for each in BUTTONS[what].orders:
            self._stage.ask_agent(each.order(f"2026-{self._invoice:04}", self._stage.language))
            self._invoice += 1

    def end(self) -> None:
        """Let every open page say that the demo has ended."""
        self._ended.set()

    async def keep_fetching(self) -> None:
        """Follow the trail until cancelled."""
        while True:
            self._snapshots.gateway_answers = await self._stage.trail.fetch()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _events(self, _: Request) -> Response:
        """Stream the whole picture, each time that it changed."""

        async def pictures() -> AsyncIterator[str]:
            last = ""
            while not self._ended.is_set():
                picture = json.dumps(self._snapshots.take())
                if picture != last:
                    yield f"data: {picture}\n\n"
                    last = picture
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._ended.wait()
            yield "event: ended\ndata: ended\n\n"

        return StreamingResponse(pictures(), media_type="text/event-stream", headers=_HEADERS)

    async def _look(self, request: Request) -> Response:
        """Look at a page of the console as one of the visitors."""
        visitor = self._stage.visitors.get(request.query_params.get("who", ""))
        path = request.query_params.get("path", "")
        if visitor is None or not _is_path(path):
            return JSONResponse({"error": "there is no such page"}, status_code=400)
        return JSONResponse(asdict(await self._stage.visits.look(visitor, path)), headers=_HEADERS)

    async def _act(self, request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            return JSONResponse({"error": "acts are JSON"}, status_code=415)
        try:
            act = cast("dict[str, object]", await request.json())
            shown = await self._in_console(act) or asdict(await self._carry_out(act))
        except (BadActError, AssentError, KeyError, ValueError) as why:
            return JSONResponse({"error": str(why)}, status_code=400)
        return JSONResponse(shown, headers=_HEADERS)

    async def _in_console(self, act: dict[str, object]) -> dict[str, object] | None:
        """Press in the console, or make a link into it; None: the act is another one."""
        match act:
            case {"act": "console", "who": str(who), "path": str(path), "fields": dict()} if _is_path(path):
                fields = cast("Mapping[str, str]", act["fields"])
                return asdict(await self._stage.visits.press(self._stage.visitors[who], path, fields))
            case {"act": "link", "who": str(who)}:
                return {"url": await self._stage.beside.link(self._stage.visitors[who].email)}
            case _:
                return None

    async def _carry_out(self, act: dict[str, object]) -> Shown:
        nothing = Shown(kind="info", text="")
        match act:
            case {"act": "feishu", "who": str(who), "message": str(message), "button": str(button), "form": dict()}:
                form = cast("Mapping[str, str]", act["form"])
                return await self._hands.press_feishu(self._stage.visitors[who], message, button, form)
            case {"act": "slack", "channel": str(room), "who": str(who), "ts": str(ts), "action": str(action)}:
                visitor, option = self._stage.visitors[who], str(act.get("value", ""))
                return await self._hands.press_slack(visitor, ts, action, room=room, option=option)
            case {"act": "modal", "who": str(who), "view": str(view), "fields": dict()}:
                fields = cast("Mapping[str, str]", act["fields"])
                return await self._hands.submit_slack(self._stage.visitors[who], view, fields)
            case {"act": "close", "view": str(view)}:
                self._hands.close_slack(view)
            case {"act": "speak", "language": str(language)}:
                await self._stage.speak(Language(language))
            case {"act": "ask", "what": str(what)}:
                self.ask(what)
            case {"act": "start", "what": str(what)}:
                await self._child(what).start()
            case {"act": "kill", "what": str(what)}:
                await self._kill(what)
            case _:
                raise BadActError("there is no such act")
        return nothing

    async def _kill(self, what: str) -> None:
        await self._child(what).kill()
        if what == "agent":
            self._stage.note_in_agent_log("kill -9")
        elif what == "gateway":
            self._snapshots.gateway_answers = False

    def _child(self, what: str) -> Child:
        match what:
            case "gateway":
                return self._stage.gateway
            case "agent":
                return self._stage.agent
            case "executor":
                return self._stage.executor
            case _:
                raise BadActError("there is no such process")


def _is_path(path: str) -> bool:
    """Say whether it is a place on the gateway, and nowhere else."""
    return path.startswith("/") and not path.startswith("//") and "\\" not in path


async def _console_style(_: Request) -> Response:
    return Response(style(), media_type="text/css", headers=_HEADERS)


def _file(name: str, media_type: str):  # noqa: ANN202 - an endpoint of Starlette
    async def endpoint(_: Request) -> Response:
        return FileResponse(_STATIC / name, media_type=media_type, headers=_HEADERS)

    return endpoint


@asynccontextmanager
async def serve_page(stage: Stage) -> AsyncIterator[str]:
    """Serve the page on a free port, with a first payment asked for, and give its address."""
    page = Page(stage)
    page.ask("large")
    async with serve(page.app) as url, asyncio.TaskGroup() as group:
        fetching = group.create_task(page.keep_fetching())
        try:
            yield url
        finally:
            page.end()
            fetching.cancel()
