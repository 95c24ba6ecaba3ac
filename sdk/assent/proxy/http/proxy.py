"""The proxy in front of a streamable-HTTP server: the same judge, with each POST as the line it came on.

A call that people are asked about is answered as an event stream, where the client takes one: it hears that the call
waits, and a connection on which something happens is not cut. What is answered at once is the server's own answer.
"""

from __future__ import annotations

import hashlib
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpx2

from assent.client.log import warn
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import NOT_RUN
from assent.proxy import wording
from assent.proxy.calls import AFTER_CANCEL, MOST_OPEN, TICK
from assent.proxy.http import sse
from assent.proxy.http.admission import admit, refuse_two_stories, session_of
from assent.proxy.http.link import GoneError, Link, Refusal
from assent.proxy.judge import Leave, Wanted, not_known
from assent.proxy.lines import LONGEST
from assent.proxy.reading import Line, UnreadableError, asks, id_of, written

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from anyio.abc import ByteStream

    from assent.proxy.http.link import Asked
    from assent.proxy.judge import Judge
    from assent.proxy.reading import Id, Object

_CANCELLED = "notifications/cancelled"
_UP = frozenset({"accept", "authorization", "content-type", "last-event-id", "user-agent"})
_DOWN = frozenset({"content-type", "www-authenticate", "retry-after", "allow", "cache-control"})
_STREAM = "text/event-stream"
_STREAM_HEAD = [("content-type", _STREAM), ("cache-control", "no-store"), ("transfer-encoding", "chunked")]
_JSON_HEAD = [("content-type", "application/json")]
_MAY_HAVE_RUN = frozenset({408, 409, 425, 429})


class _Held:
    """One call: it waits for people until `leave` is there."""

    __slots__ = ("answer", "leave", "scope", "wanted")

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.scope = anyio.CancelScope()
        self.leave: Leave | None = None
        self.answer: Object | None = None


class HttpProxy:
    """What stands between the clients of one server and that server."""

    def __init__(self, judge: Judge, upstream: str, *, hosts: frozenset[str], session: str) -> None:
        self._judge = judge
        self._upstream = httpx2.URL(upstream)
        self._hosts = hosts
        self._session = session
        self._open: dict[tuple[str | Link, Id], _Held] = {}
        self._made = 0
        timeout = httpx2.Timeout(30.0, read=None)
        limits = httpx2.Limits(max_connections=None)
        self._client = httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout, limits=limits)

    async def connection(self, stream: ByteStream) -> None:
        """Serve one connection to its end."""
        link = Link(stream)
        async with stream:
            try:
                while await self._one(link):
                    pass
            except GoneError:
                return
            except Exception as fault:  # noqa: BLE001 - one connection must not end the others
                warn("a connection failed: %r", fault)

    async def _one(self, link: Link) -> bool:
        try:
            asked = await link.request(most=LONGEST)
            if asked is None:
                return False
            admit(asked, hosts=self._hosts, path=self._upstream.path)
            await self._answered(link, asked)
        except Refusal as refusal:
            if link.began:
                return False
            problem = written(wording.error(None, wording.INVALID_REQUEST, f"Not passed on: {refusal}."))
            await link.answer(refusal.status, problem, [*_JSON_HEAD, ("connection", "close")])
            return False
        return link.goes_on

    # --- from the client ----------------------------------------------------------------------------------------------

    async def _answered(self, link: Link, asked: Asked) -> None:
        if asked.method != "POST":
            async with anyio.create_task_group() as group:
                if asked.method == "DELETE" and session_of(asked):
                    self._leave(session_of(asked))
                    group.start_soon(partial(self._judge.left, session=self._run_of(asked)))
                await self._pass(link, asked, asked.body)
            return
        try:
            line = Line(asked.body, of_lines=False)
        except UnreadableError as fault:
            raise Refusal(400, str(fault)) from fault
        found = [self._judge.read(line, message) for message in line.messages]
        refuse_two_stories(asked, line)
        if line.batch and (any(found) or any(message.get("method") == _CANCELLED for message in line.messages)):
            raise Refusal(400, "a call in a batch is not judged here: send each by itself")
        wanted = found[0]
        if isinstance(wanted, Wanted):
            await self._called(link, asked, wanted)
        elif wanted is not None:
            await link.answer(200, written(wanted), _JSON_HEAD)
        elif self._withdrawn(asked, line.messages[0]):
            await link.answer(202)
        else:
            await self._pass(link, asked, asked.body)

    def _withdrawn(self, asked: Asked, message: Object) -> bool:
        """Whether this cancels a call that the server was never handed."""
        params = message.get("params")
        if message.get("method") != _CANCELLED or not isinstance(params, dict):
            return False
        about: Any = cast("Object", params).get("requestId")
        held = self._cancelled(session_of(asked), about) if isinstance(about, str | int | float) else None
        if held is None or held.leave is not None:
            return False
        held.scope.cancel()
        return True

    def _cancelled(self, session: str, about: Id) -> _Held | None:
        """The call that is meant; without a session the only one of this id, for whose it is cannot be told."""
        if session:
            return self._open.get((session, about))
        found = [held for (of, call_id), held in self._open.items() if isinstance(of, Link) and call_id == about]
        return found[0] if len(found) == 1 else None

    def _leave(self, session: str) -> None:
        for (of, _), held in self._open.items():
            if of == session and held.leave is None:
                held.scope.cancel()

    # --- a call -------------------------------------------------------------------------------------------------------

    async def _called(self, link: Link, asked: Asked, wanted: Wanted) -> None:
        place = (session_of(asked) or link, wanted.id)
        if place in self._open or len(self._open) >= MOST_OPEN:
            why = "another call with this id is open" if place in self._open else f"{MOST_OPEN} calls are open"
            answer = wording.error(wanted.id, wording.INVALID_REQUEST, f"{why}; this one was not passed on")
            await link.answer(200, written(answer), _JSON_HEAD)
            return
        held = self._open[place] = _Held(wanted)
        self._made += 1
        try:
            found = await self._judged(link, asked, held, f"{self._session}-{self._made}")
            if isinstance(found, Leave) and held.scope.cancel_called:
                await self._judge.not_run(found)
            elif isinstance(found, Leave):
                held.leave = found
                await self._handed_on(link, asked, held, found)
            elif found is not None and not held.scope.cancel_called:
                await _finish(link, found)
            else:
                raise GoneError
        finally:
            del self._open[place]

    async def _judged(self, link: Link, asked: Asked, held: _Held, call_id: str) -> Leave | Object | None:
        found: Leave | Object | None = None
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await link.until_gone()
                held.scope.cancel()

            group.start_soon(watch)
            group.start_soon(self._tell, link, asked, held)
            with held.scope:
                found = await self._judge.judged(held.wanted, call_id=call_id, session=self._run_of(asked))
            group.cancel_scope.cancel()
        return found

    def _run_of(self, asked: Asked) -> str:
        session = session_of(asked)
        return f"{self._session}-{hashlib.sha256(session.encode()).hexdigest()[:12]}" if session else self._session

    async def _tell(self, link: Link, asked: Asked, held: _Held) -> None:
        """Begin the answer while people are asked, and keep it alive."""
        if _STREAM not in asked.headers.get("accept", ""):
            return
        count, token = 0, held.wanted.token
        while True:
            await anyio.sleep(TICK)
            if held.scope.cancel_called:  # whoever cancelled it wants to hear no more of it
                return
            count += 1
            name = self._judge.naming.of(held.wanted.tool) or held.wanted.tool
            note = b": waiting\n\n" if token is None else sse.of(wording.progress(token, count, name))
            if not link.began:
                await link.begin(200, _STREAM_HEAD)
            await link.send(note)
            if link.gone:
                held.scope.cancel()
                return

    async def _handed_on(self, link: Link, asked: Asked, held: _Held, leave: Leave) -> None:
        """Hand the call on, and report what comes of it, also where the client does not wait for it any more."""
        why = "the server's answer ended before it was there"
        try:
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    await link.until_gone()
                    await anyio.sleep(AFTER_CANCEL)
                    group.cancel_scope.cancel()

                group.start_soon(watch)
                why = await self._exchanged(link, asked, held, leave) or why
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                if held.answer is None and why.startswith(NOT_RUN):
                    await self._judge.gate.settle(leave.permission, OutcomeStatus.FAILED, error=why)
                else:
                    await self._judge.settle(leave, held.answer, why)
        if held.answer is None and link.owes:
            await _finish(link, not_known(held.wanted.id, leave, why))

    async def _exchanged(self, link: Link, asked: Asked, held: _Held, leave: Leave) -> str | None:
        """Why there may be no answer."""
        status = 200
        try:
            async with self._sent(asked, leave.line) as response:
                status = response.status_code
                if status == 200 or not link.began:
                    await self._relayed(link, response, asked, held)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as fault:
            return f"{NOT_RUN}the server could not be reached ({type(fault).__name__})"
        except (httpx2.HTTPError, sse.TooLargeError) as fault:
            return f"the server's answer was lost ({type(fault).__name__})"
        if status == 200:
            return None
        begun = not 400 <= status < 500 or status in _MAY_HAVE_RUN
        return f"{'' if begun else NOT_RUN}the server answered with status {status}"

    # --- to and from the server ---------------------------------------------------------------------------------------

    async def _pass(self, link: Link, asked: Asked, body: bytes) -> None:
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await link.until_gone()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            try:
                async with self._sent(asked, body) as response:
                    await self._relayed(link, response, asked)
            except (httpx2.HTTPError, sse.TooLargeError) as fault:
                warn("the server did not answer: %r", fault)
                if link.began:
                    link.gone = True  # half an answer is ended by closing the connection
                else:
                    await link.answer(502)
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def _sent(self, asked: Asked, body: bytes) -> AsyncGenerator[httpx2.Response]:
        headers = {name: value for name, value in asked.headers.items() if name in _UP or name.startswith("mcp-")}
        url = self._upstream.copy_with(query=asked.target.partition("?")[2].encode() or None)
        headers["accept-encoding"] = "identity"
        async with self._client.stream(asked.method, url, headers=headers, content=body or None) as response:
            if 300 <= response.status_code < 400:
                raise httpx2.RemoteProtocolError("the server answered with a redirect, which is not followed")
            yield response

    async def _relayed(self, link: Link, response: httpx2.Response, asked: Asked, held: _Held | None = None) -> None:
        """Pass the server's answer on, hearing what is in it.

        A stream is left open that ends without the answer to the call that is `held`, and that nobody can take up.
        """
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        of = response.headers.get("mcp-session-id") or session_of(asked) or link
        if kind == _STREAM:
            if not link.began:
                await _relay_head(link, response)
            taken_up = False
            async for event in sse.events(response.aiter_raw(), most=LONGEST):
                taken_up = taken_up or event.id is not None
                await link.send(self._heard(of, event))
            if held is None or held.answer is not None or taken_up:
                await link.end()
        elif kind == "application/json":
            body = await _bounded(response.aiter_raw())
            message = self._read(of, body)
            if link.began:
                await link.send(b"data: " + message.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n\n")
            else:
                await _relay_head(link, response, len(message))
                await link.send(message)
            await link.end()
        else:
            await _relay_head(link, response)
            await _relay_rest(link, response)

    def _heard(self, of: str | Link, event: sse.Event) -> bytes:
        if event.data is None:
            return event.raw
        shown = self._read(of, event.data)
        return event.raw if shown is event.data else event.with_data(Line(shown).messages[0])

    def _read(self, of: str | Link, content: bytes) -> bytes:
        """The same bytes, or others where the model is told something besides. Raises `TooLargeError`."""
        try:
            line = Line(content, of_lines=False)
        except UnreadableError:
            return content
        for message in line.messages:
            if asks(message):
                continue
            self._judge.naming.learn(message)
            answered = id_of(message)
            held = self._open.get((of, answered)) if answered is not None else None
            if held is None or held.answer is not None:
                continue
            if held.leave is None:
                raise sse.TooLargeError("the server answered a call that it was not handed")
            held.answer = message
            if held.leave.notes and not line.batch and isinstance(message.get("result"), dict):
                return written(wording.with_notes(message, held.leave.notes)).rstrip()
        return content

    async def over(self) -> None:
        """Withdraw what waits, and report what is known."""
        for held in self._open.values():
            held.scope.cancel()
        await self._judge.over()
        await self._client.aclose()


async def _relay_head(link: Link, response: httpx2.Response, length: int | None = None) -> None:
    kept = [(k, v) for k, v in response.headers.items() if k.lower() in _DOWN or k.lower().startswith("mcp-")]
    framing = ("transfer-encoding", "chunked") if length is None else ("content-length", str(length))
    bodiless = response.status_code in {202, 204}
    await link.begin(response.status_code, [*kept, ("content-length", "0") if bodiless else framing])


async def _relay_rest(link: Link, response: httpx2.Response) -> None:
    if response.status_code not in {202, 204}:
        async for part in response.aiter_raw():
            await link.send(part)
    await link.end()


async def _finish(link: Link, message: Object) -> None:
    """Answer with a message of ours, in the form in which the answer has begun."""
    if not link.began:
        await link.answer(200, written(message), _JSON_HEAD)
        return
    await link.send(sse.of(message))
    await link.end()


async def _bounded(parts: AsyncIterator[bytes]) -> bytes:
    kept = bytearray()
    async for part in parts:
        kept += part
        if len(kept) > LONGEST:
            raise sse.TooLargeError(f"an answer is larger than {LONGEST} bytes")
    return bytes(kept)
