"""For operations: alive, ready, and the figures."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from app.api.wire.bodies import answer
from app.domain.errors import UnavailableError

if TYPE_CHECKING:
    from app.api.wire.services import Services


def health_router(c: Services) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["operations"])

    @router.get("/healthz")
    async def healthz() -> Response:
        """The process runs."""
        return answer({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> Response:
        """The process can do its work: the database answers and takes writes, and it is not stopping."""
        if c.waiters.stopping:
            raise UnavailableError("stopping")
        await c.read.answers()
        return answer({"status": "ready"})

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Prometheus' text format."""
        c.access.to_operations(request)
        rows = None
        with suppress(UnavailableError):  # then the figures are needed most
            rows = await c.read.outbox_by_status()
        trouble = c.read.trouble
        text = c.telemetry.render(waiting=len(c.waiters), outbox=rows, trouble=trouble.value if trouble else None)
        return Response(text, media_type="text/plain; version=0.0.4")

    return router
