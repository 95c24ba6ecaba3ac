"""One exchange with the gateway over httpx2, and the one retry layer around it.

`try_once` separates three kinds of end: an answer (`body`), a fault that passes (`body` is None: refused connection,
reset, timeout, 429, 5xx, an answer that is no JSON), and a refusal that no retry can mend (raised). `ask` tries again
within the client's patience.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.to_thread
import httpx2
from anyio.lowlevel import RunVar

from assent.client.address import MALFORMED_KEY, is_sound_key, parse_address
from assent.client.call import not_json
from assent.client.errors import (
    FOREIGN,
    LATE,
    CallRefusedError,
    ClaimRefusedError,
    GatewayAwayError,
    GatewayError,
    KeyRefusedError,
    NotEntitledError,
    UnknownRequestError,
)
from assent.client.messages import STATUS_OF_DECISION
from assent.client.models import parse_object
from assent.client.pace import GatewayClock
from assent.secret_files import read_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from datetime import datetime

    from assent.client.models import Json
    from assent.client.pace import Pace

_REFUSALS: dict[int, type[GatewayError]] = {
    401: KeyRefusedError,
    403: NotEntitledError,
    404: UnknownRequestError,
    409: ClaimRefusedError,
}
_PASSING = frozenset({408, 425, 429})
_HOLD_GRACE = 15.0
_KEY_REFUSED = 401
_OURS = frozenset({"application/json", "application/problem+json", ""})
"""What an answer of Assent's is, or what is left of one that was cut."""
_LONGEST_PLACE = 200
_LONGEST_KIND = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one exchange brought: a JSON object, or (`body` None) a passing fault and how long to stay away."""

    body: Json | None
    fault: str = ""
    is_cut: bool = False
    """The caller's own time was over."""
    is_foreign: bool = False
    """Something else than Assent gave it."""
    retry_after: float = 0.0


def _carried() -> dict[str, str]:
    """Return the headers by which the gateway goes on in the trace that this process is in, if it uses OpenTelemetry.

    What an agent's process does not use is not imported for it; of what it carries along only the trace is sent.
    """
    carried: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        importlib.import_module("opentelemetry.propagate").inject(carried)
    return {name: carried[name] for name in ("traceparent", "tracestate") if name in carried}


class Wire:
    """A connection pool to one gateway for each event loop, with its key and what is known of its clock.

    A pool is made when the first call needs it, and belongs to the loop that made it: another loop (a second
    `asyncio.run`) makes its own. It is closed by `close`, or with its loop.
    """

    def __init__(
        self, url: str, key: str | os.PathLike[str], *, transport: httpx2.AsyncBaseTransport | None, pace: Pace
    ) -> None:
        parse_address(url)
        self._url = url.rstrip("/")
        self._key_file = None if isinstance(key, str) else os.fspath(key)
        self._key = _sound(key) if isinstance(key, str) else ""
        self._transport = transport
        self._pace = pace
        self._pool: RunVar[_Pool | None] = RunVar("assent_pool", None)
        self._clock = GatewayClock()

    async def open(self) -> httpx2.AsyncClient:
        """Return this loop's pool; it is made, if there is none yet, and has no connection then."""
        pool = self._own_pool()
        if pool is None:
            client = await anyio.to_thread.run_sync(self._make)  # it reads the system's certificates
            pool = self._own_pool()
            if pool is None:  # nobody else came first
                pool = _Pool(client, _closing(client), os.getpid())
                self._pool.set(pool)
                await anext(pool.closing)  # from now on the loop closes it when it ends, if nobody else does
        return pool.client

    def _make(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={"Accept": "application/json"},
            timeout=httpx2.Timeout(None, connect=self._pace.connect),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),  # waits each hold one
            transport=self._transport,
            trust_env=False,
        )

    def _own_pool(self) -> _Pool | None:
        """Return this loop's pool, unless it is another process's.

        A child that was forked off inside of a loop, and goes on with it, would read what answers its parent.
        """
        pool = self._pool.get()
        return pool if pool is not None and pool.process == os.getpid() else None

    async def close(self) -> None:
        """Close this loop's pool; harmless when there is none."""
        pool = self._own_pool()
        self._pool.set(None)
        if pool is not None:
            await pool.closing.aclose()

    def seconds_to(self, instant: datetime) -> float | None:
        """How long until the gateway's clock shows `instant`; None as long as it has never told its time."""
        return self._clock.seconds_to(instant, self._pace.monotonic())

    def surely_to(self, instant: datetime) -> float | None:
        """How long until the gateway's clock shows `instant` at the earliest, however late its answers were read."""
        return self._clock.surely_to(instant, self._pace.monotonic())

    async def back_off(self, attempt: int, *, at_least: float = 0.0, at_most: float) -> None:
        """Sleep before the next attempt: doubling, jittered over its upper half, never beyond `at_most`.

        What the gateway asks for at least is jittered too, over half as much again: all who waited when it stopped are
        told the same, and would come back at the same instant.
        """
        pace = self._pace
        chance = pace.jitter()
        span = min(pace.last_backoff, pace.first_backoff * 2 ** min(attempt - 1, 16)) * (0.5 + chance / 2)
        await pace.sleep(max(0.0, min(max(span, at_least * (1 + chance / 2)), at_most)))

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        hold: float | None = None,
        end: float | None = None,
        silence: str = "",
    ) -> Json:
        """One call, tried again while the gateway is away and patience lasts. Every call here is safe to repeat.

        `hold` is how long the gateway may hold it: no patience is spent on that. Nothing is waited for beyond `end`, an
        instant of the pace's clock; is that now, it is asked once. `silence` is what no answer means, behind a colon.
        Raises `GatewayAwayError` when patience is over, another `GatewayError` at once for a refusal, `TypeError` for a
        body that is not JSON.
        """
        started, attempt, foreign = self._pace.monotonic(), 0, True
        once = end is not None and end <= started
        while True:
            until = None if once else end
            answer = await self.try_once(method, path, body=body, headers=headers, hold=hold, end=until)
            if answer.body is not None:
                return answer.body
            foreign = foreign and answer.is_foreign
            if hold and attempt == 0:
                started = self._pace.monotonic()  # until now it was held
            attempt += 1
            now = self._pace.monotonic()
            left = self._pace.patience - (now - started)
            left = left if end is None else min(left, end - now)
            if left > 0:
                await self.back_off(attempt, at_least=answer.retry_after, at_most=left)
            if left <= 0 or (end is not None and self._pace.monotonic() >= end):
                break
        if foreign:  # Assent was not reached at all
            raise CallRefusedError(answer.fault, code=FOREIGN)
        if answer.is_cut:
            raise GatewayAwayError(f"no answer of the gateway at {self._url} in the time given{silence}", code=LATE)
        raise GatewayAwayError(f"the gateway at {self._url} is away ({answer.fault}, {attempt} attempts){silence}")

    async def try_once(
        self,
        method: str,
        path: str,
        *,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        hold: float | None = None,
        end: float | None = None,
    ) -> Answer:
        """One exchange. `hold` is the long-poll's span, for the read timeout; at `end` it is cut."""
        client, used = await self.open(), await self._key_now()
        content = None if body is None else _encode(body)
        more = {**(headers or {}), **({} if content is None else {"Content-Type": "application/json"})}
        more |= {"Authorization": f"Bearer {used}", **_carried()}
        limit = hold + _HOLD_GRACE if hold else self._pace.read
        asked = self._pace.monotonic()
        left = limit if end is None else max(0.0, end - asked)
        try:
            with anyio.fail_after(min(limit, left)):  # over the whole exchange: a server that drips bytes is away, too
                response = await client.request(method, self._url + path, content=content, headers=more)
                if response.status_code == _KEY_REFUSED and (fresh := await self._key_now(than=used)) != used:
                    more["Authorization"] = f"Bearer {fresh}"  # it was rotated meanwhile
                    response = await client.request(method, self._url + path, content=content, headers=more)
        except (httpx2.TransportError, httpx2.DecodingError, TimeoutError) as fault:
            return Answer(
                body=None, fault=type(fault).__name__, is_cut=isinstance(fault, TimeoutError) and left < limit
            )
        return self._read(response, asked)

    def _read(self, response: httpx2.Response, asked: float) -> Answer:
        status = response.status_code
        problem = _decode(response)
        if 200 <= status < 300:
            if problem is None and _kind_of(response) not in _OURS:
                return Answer(body=None, fault=self._foreign(response), is_foreign=True)
            if problem is None:
                return Answer(body=None, fault="an answer that is no JSON object, or in which a key stands twice")
            if status != STATUS_OF_DECISION.get(str(problem.get("decision")), 200):
                return Answer(body=None, fault=f"an answer whose status {status} and decision do not agree")
            self._clock.learn(response.headers.get("date", ""), asked=asked, read=self._pace.monotonic())
            return Answer(body=problem)
        if status >= 500 or status in _PASSING:
            return Answer(
                body=None, fault=f"status {status}", retry_after=_seconds(response.headers.get("retry-after"))
            )
        kind = _REFUSALS.get(status, CallRefusedError)
        said = problem or {}
        code, detail, about = said.get("code"), said.get("detail") or said.get("title"), said.get("request_id")
        if not isinstance(code, str):
            raise CallRefusedError(self._foreign(response), code=FOREIGN, status=status)
        raise kind(
            f"{(kind.__doc__ or '').splitlines()[0]} ({status} {code}" + (f": {detail})" if detail else ")"),
            code=code,
            status=status,
            detail=detail if isinstance(detail, str) else None,
            request_id=about if isinstance(about, str) else None,
        )

    def _foreign(self, response: httpx2.Response) -> str:
        """Say that this is no answer of Assent's: whoever put something else at that address can find it by that."""
        status = response.status_code
        told = (
            f"what answers at {self._url} is no gateway of Assent: status {status}, {_kind_of(response) or 'no type'}"
        )
        if 300 <= status < 400:
            place = "".join(c for c in response.headers.get("location", "").partition("?")[0] if c.isprintable())
            return (
                f"{told}; it points to {place[:_LONGEST_PLACE] or 'nowhere'}, which is not followed: is the URL right?"
            )
        return f"{told}. Does a proxy, or another program, answer there?"

    async def _key_now(self, *, than: str = "") -> str:
        """The key; from its file, where it has one, when it was not read yet or `than` was refused."""
        if self._key_file is not None and self._key == than:
            try:
                self._key = _sound(await anyio.to_thread.run_sync(read_key, self._key_file))
            except ValueError as error:
                raise KeyRefusedError(str(error)) from error
        return self._key


class _Pool(NamedTuple):
    client: httpx2.AsyncClient
    closing: AsyncGenerator[None]
    process: int


async def _closing(client: httpx2.AsyncClient) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await client.aclose()


def _sound(key: str) -> str:
    if not is_sound_key(key):
        raise ValueError(f"the gateway's key is missing or malformed: {MALFORMED_KEY}")
    return key


def _kind_of(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()[:_LONGEST_KIND]


def _encode(body: Json) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:  # a Decimal, NaN, a circle, a lone surrogate
        raise TypeError(f"the call is not JSON: {not_json(body) or error}") from error


def _decode(response: httpx2.Response) -> Json | None:
    try:
        return parse_object(json.loads(response.content, object_pairs_hook=_unique), "the body")
    except (ValueError, RecursionError, GatewayError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _seconds(text: str | None) -> float:
    """Retry-After in its form of seconds; the date form is not ours."""
    return min(float(text), 60.0) if text and text.isascii() and text.isdigit() else 0.0
