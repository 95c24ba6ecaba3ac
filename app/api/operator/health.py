"""For operations: alive, ready, and the figures."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from app.api.wire.bodies import answer
from app.api.wire.routes import Request, Response, Router
from app.domain.errors import UnavailableError
from app.domain.trail.replicas import Matter

if TYPE_CHECKING:
    from app.api.wire.services import Services

_UNREADY = "not ready: the log says why, and so does this, to whoever sends the operations' token along"


def health_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["operations"])

    @router.get("/healthz", head=True)
    async def healthz(request: Request) -> Response:
        """The process runs."""
        del request
        return answer({"status": "ok"})

    @router.get("/readyz", head=True)
    async def readyz(request: Request) -> Response:
        """The process can do its work: the database answers, its own files and secret are in order, it is not stopping.

        In what gateways differ, and which channels nothing reaches, is said beside it; only what makes this very one
        unfit makes it unready. Where a token guards the figures, only its holder is told more than the status.
        """
        told = c.access.is_operations(request)
        try:
            await _check(c)
        except UnavailableError as error:
            if told:
                raise
            raise UnavailableError(_UNREADY, retry_after=error.more.get("retry_after", 1)) from None
        return answer({"status": "ready", **(_beside(c) if told else {})})

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Prometheus' text format."""
        c.access.to_operations(request)
        standing = None
        with suppress(UnavailableError):  # then the figures are needed most
            standing = await c.read.standing()
        trouble = c.read.trouble
        seen = c.replicas.seen
        # Receivers of several orgs may have one name: the one that has failed for longest is told, as it comes last.
        failing = sorted(c.webhooks.failing, key=lambda each: each.since, reverse=True)
        text = await asyncio.to_thread(  # what the kernel says of the process is read from files
            c.telemetry.render,
            waiting=len(c.waiters),
            streams=len(c.feed),
            backlog=c.read.backlog(),
            outbox=standing and standing.outbox,
            requests=standing and standing.requests,
            oldest=standing and standing.oldest,
            trouble=trouble.value if trouble else None,
            replicas=seen.live,
            differ=[each.matter.value for each in seen.differences],
            directions=c.contact.directions(),
            webhooks={each.webhook: (c.clock.now() - each.since).total_seconds() for each in failing},
            access={trouble.channel: trouble.lost for trouble in c.renew_access.troubles},
        )
        return Response(text, media_type="text/plain; version=0.0.4")

    return router


async def _check(c: Services) -> None:
    """Raise UnavailableError if this gateway cannot do its work."""
    if c.waiters.stopping:
        raise UnavailableError("stopping")
    await c.read.answers()
    c.schema.check()
    c.replicas.check()


def _beside(c: Services) -> dict[str, object]:
    """Return what is said beside that a gateway is ready."""
    seen = c.replicas.seen
    differ = {each.matter.value: each.listed for each in seen.differences if each.matter is not Matter.REFUSED}
    refused = [name for each in seen.differences if each.matter is Matter.REFUSED for name in sorted(each.values)]
    if refused:  # by whom alone: why repeats the file, and where no token is set anybody may read this
        differ[Matter.REFUSED.value] = refused
    cut_off = [trouble.channel for trouble in c.renew_access.troubles if trouble.lost]
    more = {**({"differ": differ} if differ else {}), **({"cut_off": cut_off} if cut_off else {})}
    more |= {"newer_schema": c.schema.newer} if c.schema.newer else {}
    return {"replicas": seen.live, **more}
