"""Calls in, safely: a size limit before anything is kept, strict JSON before anything is believed, then the schema."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from msgspec import json as fast_json
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from app.domain.errors import BadJsonError, InvalidError, TooLargeError, TooSlowError
from app.domain.text.canonical import MAX_VALUES, parse_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from datetime import datetime

    from starlette.requests import Request
    from starlette.types import Message

MOST_BYTES = 256 * 1024
"""The largest body that is accepted anywhere but where a tool's result or a whole model request comes in."""

MOST_BYTES_OF_A_MOMENT = 4 * 1024 * 1024
"""The largest body with a tool's result or a model request in it."""

MOST_VALUES_OF_A_MOMENT = 50_000
"""Values in such a body: a table of 5,000 rows."""

MOST_SECONDS = 10.0
"""How long a body may take to arrive: slow senders must not hold connections."""

_MOST_STRANGERS = 64
_MOST_LIKELY = 256
"""Bodies that are being read at once before anything proves that a platform sent them: by whether their heads look as
if one had. A head costs an attacker nothing, so where a lane is full, room is made: see `Arrivals`."""
_SMALL = 4_000
"""Bytes: in JSON of that size, no value is large in the sense of `assent.hooks.ready.off_loop`, whatever is in it."""
_FRESH_SECONDS = 300

_STAMP = re.compile(r"[0-9]{10}", re.ASCII)
_MINIMAL = re.compile(r"(?:^|,)\s*return\s*=\s*(?:minimal|\"minimal\")\s*(?=[,;]|$)", re.ASCII | re.IGNORECASE)
_SIGNATURE = re.compile(r"(?:v[0-9]=)?[0-9a-f]{64}", re.ASCII)

M = TypeVar("M", bound=BaseModel)


def header_of(request: Request, name: bytes) -> str | None:
    """Return a header of a call by its name in lower case, as the server has it; the first, if there are several."""
    for given, value in request.scope["headers"]:
        if given == name:
            return value.decode("latin-1")
    return None


def only_header(request: Request, name: bytes) -> str | None:
    """Return a header that says one thing. Raises InvalidError where there are several that say different ones."""
    said = {value for given, value in request.scope["headers"] if given == name}
    if len(said) > 1:
        shown = name.decode("latin-1")
        raise InvalidError(f"{shown} is there several times, and not the same each time", path=f"header.{shown}")
    return said.pop().decode("latin-1") if said else None


async def read_body(request: Request, *, most: int = MOST_BYTES, seconds: float | None = None) -> bytes:
    """Return the raw body. Raises TooLargeError as soon as it is known to be larger, announced or not."""
    announced = header_of(request, b"content-length")
    if announced is not None and (not announced.isascii() or not announced.isdigit() or int(announced) > most):
        raise _too_large(most)
    if header_of(request, b"content-encoding") not in {None, "identity"}:
        raise InvalidError("a compressed body is not accepted", path="")
    served = _served_by(request)
    if served is not None and served.body and not served.more_body:
        return _taken(await request.receive(), most)  # it is all there: most calls come in one piece
    try:
        async with asyncio.timeout(MOST_SECONDS if seconds is None else seconds):
            return await _received(request, most)
    except TimeoutError:
        raise TooSlowError from None


def _taken(message: Message, most: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    body: bytes = message["body"]
    if len(body) > most:
        raise _too_large(most)
    return body


async def _received(request: Request, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def _too_large(most: int) -> TooLargeError:
    return TooLargeError(f"the body may have {most} bytes", limit=most)


def is_small(request: Request) -> bool:
    """Say whether the body that was read is small, as its head said and the server saw to."""
    announced = header_of(request, b"content-length")
    return announced is not None and int(announced) <= _SMALL


def prefers_minimal(request: Request) -> bool:
    """Say whether a caller prefers to be told no more than it must be: `Prefer: return=minimal` (RFC 7240)."""
    return _MINIMAL.search(header_of(request, b"prefer") or "") is not None


async def is_gone(request: Request) -> bool:
    """Say whether the caller's connection is closed."""
    served = _served_by(request)
    return await request.is_disconnected() if served is None else served.disconnected


def _served_by(request: Request) -> RequestResponseCycle | None:
    """Return how uvicorn answers a call: it knows what the protocol tells nobody without a task and a message."""
    served = getattr(request.receive, "__self__", None)
    return served if isinstance(served, RequestResponseCycle) else None


async def read_model(request: Request, model: type[M], *, most: int = MOST_BYTES) -> M:
    """Parse the body into `model`. Raises BadJsonError or InvalidError with the path of the fault."""
    values = MOST_VALUES_OF_A_MOMENT if most >= MOST_BYTES_OF_A_MOMENT else MAX_VALUES
    value = parse_json(await read_body(request, most=most), max_values=values)
    if not isinstance(value, dict):
        raise BadJsonError("the body must be a JSON object", path="")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        raise InvalidError(f"{path}: {first['msg']}" if path else first["msg"], path=path) from None


class Answer(JSONResponse):
    """An answer that is there whole, and after which nothing is to be done."""

    body: bytes

    def __init__(self, content: object, status: int, headers: Mapping[str, str] | None) -> None:
        # Not by the framework's own way, which asks of each answer what is known of all of these.
        self.status_code = status
        self.background = None
        self.body = body = fast_json.encode(content)
        self.raw_headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        if headers:
            self.raw_headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def answer(body: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Render an answer."""
    return Answer(body, status, headers)


def looks_signed(headers: Iterable[tuple[str, str]], *, now: datetime) -> bool:
    """Whether a head has a well-formed signature and a fresh time: what every platform's has. It proves nothing."""
    stamps = [value for name, value in headers if name.endswith("-request-timestamp")]
    signatures = [value for name, value in headers if name.endswith("-signature")]
    if len(stamps) != 1 or len(signatures) != 1 or not _STAMP.fullmatch(stamps[0]):
        return False
    return abs(now.timestamp() - int(stamps[0])) <= _FRESH_SECONDS and bool(_SIGNATURE.fullmatch(signatures[0]))


class Arrivals:
    """Bodies that are arriving, at most so many. Whoever comes then takes the place of one that dawdles.

    A platform's body comes with its head, and is there at once. So the oldest goes, of the address that has most of
    them: a thousand that never end keep out nobody whose body comes.
    """

    def __init__(self, most: int) -> None:
        """Take the bound."""
        self._most = most
        self._count = 0
        self._by_source: dict[str, dict[asyncio.Timeout, None]] = {}

    @asynccontextmanager
    async def place(self, source: str) -> AsyncGenerator[None]:
        """Hold a place. Raises TooSlowError when somebody else was given it."""
        if self._count >= self._most:
            self._make_room()
        limit = asyncio.timeout(None)
        self._by_source.setdefault(source, {})[limit] = None
        self._count += 1
        try:
            async with limit:
                yield
        except TimeoutError:
            raise TooSlowError from None
        finally:
            self._leave(source, limit)

    def _make_room(self) -> None:
        source, arriving = max(self._by_source.items(), key=lambda each: len(each[1]))
        oldest = next(iter(arriving))
        oldest.reschedule(asyncio.get_running_loop().time())
        self._leave(source, oldest)

    def _leave(self, source: str, limit: asyncio.Timeout) -> None:
        arriving = self._by_source.get(source, {})
        if limit in arriving:
            del arriving[limit]
            self._count -= 1
        if not arriving:
            self._by_source.pop(source, None)


class Unproven:
    """Bodies of calls that nothing proves yet: whose heads look signed have a lane of their own."""

    def __init__(self) -> None:
        """Begin with none."""
        self._strangers, self._likely = Arrivals(_MOST_STRANGERS), Arrivals(_MOST_LIKELY)

    async def read(
        self, request: Request, headers: Iterable[tuple[str, str]], *, now: datetime, seconds: float
    ) -> bytes:
        """Return the raw body; only so many are kept at a time. Raises what `read_body` does."""
        lane = self._likely if looks_signed(headers, now=now) else self._strangers
        async with lane.place(request.client.host if request.client else "?"):
            return await read_body(request, seconds=seconds)
