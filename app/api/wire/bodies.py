"""Calls in, safely: a size limit before anything is kept, strict JSON before anything is believed, then the schema.

Routes that read their bodies so leave FastAPI nothing to solve, validate or serialise: they are `PlainRoute`s.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.responses import JSONResponse

from app.domain.errors import BadJsonError, InvalidError, TooLargeError, TooSlowError
from app.domain.text.canonical import MAX_VALUES, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

MOST_BYTES = 256 * 1024
"""The largest body that is accepted anywhere but where a tool's result or a whole model request comes in."""

MOST_BYTES_OF_A_MOMENT = 4 * 1024 * 1024
"""The largest body with a tool's result or a model request in it."""

MOST_VALUES_OF_A_MOMENT = 50_000
"""Values in such a body: a table of 5,000 rows."""

MOST_SECONDS = 10.0
"""How long a body may take to arrive: slow senders must not hold connections."""

M = TypeVar("M", bound=BaseModel)


class PlainRoute(APIRoute):
    """Calls its function with the request and the path's parameters; the function returns the response.

    FastAPI's OpenAPI without FastAPI's work on every call: its documented way to leave that out.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what is called for each request."""
        endpoint = self.endpoint

        async def respond(request: Request) -> Response:
            return await endpoint(request=request, **request.path_params)

        return respond


async def read_body(request: Request, *, most: int = MOST_BYTES, seconds: float | None = None) -> bytes:
    """Return the raw body. Raises TooLargeError as soon as it is known to be larger, announced or not."""
    announced = request.headers.get("content-length")
    if announced is not None and (not announced.isascii() or not announced.isdigit() or int(announced) > most):
        raise TooLargeError(f"the body may have {most} bytes", limit=most)
    if request.headers.get("content-encoding", "identity") != "identity":
        raise InvalidError("a compressed body is not accepted", path="")
    try:
        async with asyncio.timeout(MOST_SECONDS if seconds is None else seconds):
            return await _received(request, most)
    except TimeoutError:
        raise TooSlowError from None


async def _received(request: Request, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLargeError(f"the body may have {most} bytes", limit=most)
        parts.append(part)
    return b"".join(parts)


async def read_model(request: Request, model: type[M], *, most: int = MOST_BYTES) -> M:
    """Parse the body into `model`. Raises BadJsonError or InvalidError with the path of the fault."""
    values = MOST_VALUES_OF_A_MOMENT if most > MOST_BYTES else MAX_VALUES
    value = parse_json(await read_body(request, most=most), max_values=values)
    if not isinstance(value, dict):
        raise BadJsonError("the body must be a JSON object", path="")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        raise InvalidError(f"{path}: {first['msg']}" if path else first["msg"], path=path) from None


def answer(body: Mapping[str, object], status: int = 200) -> JSONResponse:
    """Render an answer."""
    return JSONResponse(body, status_code=status)
