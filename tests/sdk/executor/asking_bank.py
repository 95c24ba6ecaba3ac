"""A service that asks its own people before it pays: a stand-in over real HTTP, for tools and for whole executors."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from assent.executor.executor import ToolFailed, ToolSucceeded
from assent.executor.http_tool import HttpTool
from tests.fixtures.patience import accepted_are_met

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

STRIPE = {
    "error": {
        "type": "approval_error",
        "code": "approval_required",
        "approval_request": "apr_1Q2w",
        "message": "This request needs to be approved in the Dashboard.",
        "request_log_url": "https://bank.example/logs/req_9",
    }
}


def read_payment(answer: Any) -> ToolSucceeded | ToolFailed | None:
    match answer:
        case {"status": "paid"}:
            return ToolSucceeded(result=answer)
        case {"status": "refused", "why": str(why)}:
            return ToolFailed(error=why)
        case _:
            return None


@dataclass
class AskingBank:
    """A service that answers as it is told to; it remembers every payment that was sent, and every question."""

    url: str = ""
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None
    known: dict[str, tuple[int, Any]] = field(default_factory=dict[str, tuple[int, Any]])
    sent: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    def says(self, status: int, body: Any = None, **headers: str) -> None:
        self.status, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}
        self.body = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()

    async def pay(self, request: web.Request) -> web.StreamResponse:
        self.sent.append(request.headers["Idempotency-Key"])
        if self.answer is not None:
            return await self.answer(request)
        return web.Response(status=self.status, body=self.body, headers=self.headers)

    async def tell(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        status, body = self.known.get(request.match_info["of"], (404, {}))
        return web.json_response(body, status=status)

    def tool(self, **more: Any) -> HttpTool:
        return HttpTool(
            f"{self.url}/payments",
            read=read_payment,
            lookup=f"{self.url}/payments/{{key}}",
            lookup_elsewhere=f"{self.url}/approvals/{{id}}",
            **more,
        )


@asynccontextmanager
async def served(bank: AskingBank) -> AsyncIterator[AskingBank]:
    app = web.Application()
    app.router.add_post("/payments", bank.pay)
    app.router.add_get("/payments/{of}", bank.tell)
    app.router.add_get("/approvals/{of}", bank.tell)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    bank.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield bank
    finally:
        await accepted_are_met()
        await runner.cleanup()
