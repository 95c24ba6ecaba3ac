"""A route whose function reads its own request: FastAPI's OpenAPI without FastAPI's work on every call.

Our bodies are read strictly by hand (`bodies.py`), so dependency solving, validation and serialisation have nothing to
do on the hot routes; this is FastAPI's documented way to leave them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.requests import Request
    from starlette.responses import Response


class PlainRoute(APIRoute):
    """Calls its function with the request and the path's parameters; the function returns the response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what is called for each request."""
        endpoint = self.endpoint

        async def respond(request: Request) -> Response:
            return await endpoint(request=request, **request.path_params)

        return respond
