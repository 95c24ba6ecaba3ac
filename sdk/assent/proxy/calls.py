"""The calls of one connection: which wait for people, which the server has, and how each of them ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import anyio

from assent.client.log import warn
from assent.proxy import wording
from assent.proxy.judge import Leave, Wanted, not_known
from assent.proxy.reading import Line, UnreadableError, asks, id_in, id_of, written

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from assent.proxy.judge import Judge
    from assent.proxy.reading import Id, Object

    Send = Callable[[bytes], Awaitable[None]]

TICK = 2.0
"""Seconds between two notes of progress."""
MOST_OPEN = 1000
AFTER_CANCEL = 5.0
"""Seconds for the answer to a call that the server had and the client cancelled."""
_CANCELLED = "notifications/cancelled"
_CLOSED = "the connection to the approval gate was closed before there was an answer"


class _Held:
    """One call: it waits for people until `leave` is there, and for the server until `answered` is set."""

    __slots__ = ("answer", "answered", "leave", "scope", "ticks", "told", "wanted", "why")

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.scope = anyio.CancelScope()
        self.leave: Leave | None = None
        self.answered = anyio.Event()
        self.answer: Object | None = None
        self.why = ""
        self.ticks = 0
        self.told = False
        """Whether the client was answered, or wants no answer any more: then it gets none from us."""

    def end(self, answer: Object | None, why: str = "") -> None:
        self.answer, self.why = answer, why
        self.answered.set()


class Calls:
    """Lines of the client and of the server, each on its way. Only a `tools/call` is held; no thread, one task each."""

    def __init__(self, judge: Judge, group: TaskGroup, *, to_client: Send, to_server: Send, session: str) -> None:
        self._judge = judge
        self._group = group
        self._to_client = to_client
        self._to_server = to_server
        self._session = session
        self._open: dict[Id, _Held] = {}
        self._made = 0
        self._over = False
        self._running = 0
        self._all_told = anyio.Event()

    # --- from the client ----------------------------------------------------------------------------------------------

    async def from_client(self, raw: bytes | None) -> None:
        """Pass a line on, or hold it; None is one that is too long."""
        if self._over or (raw is not None and not raw.strip()):
            return
        try:
            line = Line(raw)
        except UnreadableError as fault:
            named = id_in(raw)
            about = None if named in self._open else named
            await self._say(wording.error(about, wording.NOT_READ, f"Not passed on by the approval gate: {fault}."))
            return
        passing = [message for message in line.messages if not await self._held_back(line, message)]
        if len(passing) == len(line.messages):
            await self._to_server(line.raw)
        elif passing:
            await self._to_server(written(passing))

    async def _held_back(self, line: Line, message: Object) -> bool:
        """Whether this message does not go on as it came."""
        if message.get("method") == _CANCELLED:
            return self._withdrawn(message)
        wanted = self._judge.read(line, message)
        if wanted is None:
            return False
        if not isinstance(wanted, Wanted):
            await self._say(wanted)
        elif wanted.id in self._open:
            why = "another call with this id is open; this one was not passed on"
            await self._say(wording.error(wanted.id, wording.INVALID_REQUEST, why))
        elif len(self._open) >= MOST_OPEN:
            await self._say(wording.refused(wanted.id, f"Not run: {MOST_OPEN} calls are open already."))
        else:
            held = self._open[wanted.id] = _Held(wanted)
            self._made += 1
            self._running += 1
            self._group.start_soon(self._through, held, f"{self._session}-{self._made}")
        return True

    def _withdrawn(self, message: Object) -> bool:
        """Whether a cancellation is about a call that the server was never handed."""
        params = message.get("params")
        about: Any = cast("Object", params).get("requestId") if isinstance(params, dict) else None
        held = self._open.get(about) if isinstance(about, str | int | float) else None
        if held is None:
            return False
        if held.leave is None:
            held.told = True
            held.scope.cancel()
            return True
        held.told = True
        self._group.start_soon(self._give_up, held)
        return False

    async def _give_up(self, held: _Held) -> None:
        with anyio.move_on_after(AFTER_CANCEL):
            await held.answered.wait()
            return
        self._close(held)
        held.end(None, "the client cancelled it when the server had it, and the server did not answer")

    # --- a call -------------------------------------------------------------------------------------------------------

    async def _through(self, held: _Held, call_id: str) -> None:
        found: Leave | Object | None = None
        try:
            with held.scope:
                found = await self._judge.judged(held.wanted, call_id=call_id)
            if isinstance(found, Leave):
                await self._handed_on(held, found)
            elif found is not None:
                self._close(held)
                await self._answer(held, found)
        except Exception as fault:  # noqa: BLE001 - one call must not end the others
            warn("a call of %s failed at the gate: %r", held.wanted.tool, fault)
            if held.leave is None:
                await self._answer(held, self._judge.gone(held.wanted, "the approval gate failed"))
        finally:
            self._close(held)
            self._ran_out()

    def _ran_out(self) -> None:
        self._running -= 1
        if not self._running:
            self._all_told.set()

    async def _answer(self, held: _Held, message: Object) -> None:
        """Answer a call in the server's place, once."""
        if not held.told:
            held.told = True
            await self._say(message)

    def _close(self, held: _Held) -> None:
        """Its id may be another's from here on."""
        if self._open.get(held.wanted.id) is held:
            del self._open[held.wanted.id]

    async def _handed_on(self, held: _Held, leave: Leave) -> None:
        if held.scope.cancel_called:
            await self._judge.not_run(leave)
            return
        held.leave = leave  # from here on the server may have it
        try:
            await self._to_server(leave.line)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            held.end(None, "the server ended when the call was handed to it")
        await held.answered.wait()
        if held.answer is None:
            await self._answer(held, not_known(held.wanted.id, leave, held.why))
        await self._judge.settle(leave, held.answer, held.why)

    async def tick(self) -> None:
        """Tell clients that want to hear it that people are asked, for as long as there is a connection."""
        while True:
            await anyio.sleep(TICK)
            for held in list(self._open.values()):
                token = held.wanted.token
                if token is not None and held.leave is None and not held.told:
                    held.ticks += 1
                    name = self._judge.naming.of(held.wanted.tool) or held.wanted.tool
                    await self._say(wording.progress(token, held.ticks, name))

    # --- from the server ----------------------------------------------------------------------------------------------

    async def from_server(self, raw: bytes) -> None:
        """Pass a line on; an answer to a call of ours is heard as well. Half a line at the end reaches nobody."""
        if not raw.endswith(b"\n"):
            if _is_cut(raw):
                warn("the server ended in the middle of a line: dropped")
                return
            raw += b"\n"  # we may have more to say behind it
        if not self._open and self._judge.naming.server is not None:
            await self._to_client(raw)
            return
        try:
            line = Line(raw)
        except UnreadableError:
            await self._to_client(raw)  # what the client makes of it, it makes without us
            return
        passing = [shown for message in line.messages if (shown := self._heard(message)) is not None]
        if all(shown is message for shown, message in zip(passing, line.messages, strict=False)) and len(
            passing
        ) == len(line.messages):
            await self._to_client(raw)
        elif passing:
            await self._to_client(written(passing if line.batch else passing[0]))

    def _heard(self, message: Object) -> Object | None:
        """What the client gets of a message; None where a server answers what it was never asked."""
        if asks(message):
            return message
        self._judge.naming.learn(message)
        answered = id_of(message)
        held = self._open.get(answered) if answered is not None else None
        if held is None or held.answered.is_set():
            return message
        if held.leave is None:
            warn("the server answered a call of %s that it was not handed: dropped", held.wanted.tool)
            return None
        self._close(held)
        held.end(message)
        notes = held.leave.notes
        return wording.with_notes(message, notes) if notes and isinstance(message.get("result"), dict) else message

    # --- ends ---------------------------------------------------------------------------------------------------------

    async def client_over(self) -> None:
        """The client is gone: nobody is there for what people might still approve."""
        self._over = True
        self._running += 1
        self._group.start_soon(self._gone)
        await self._withdraw(_CLOSED)

    async def server_over(self) -> None:
        """The server is gone: what it had may have run, and what it had not does not."""
        for held in self._open.values():
            if held.leave is not None:
                held.end(None, "the server ended before it answered; it is not known whether the call ran")
        await self._withdraw("the server of this tool has ended")

    async def _gone(self) -> None:
        try:
            await self._judge.left()
        finally:
            self._ran_out()

    async def _withdraw(self, why: str) -> None:
        """End what the server was not handed, all of it before the first answer is written."""
        waiting = [held for held in self._open.values() if held.leave is None]
        for held in waiting:
            held.scope.cancel()
        for held in waiting:
            await self._answer(held, self._judge.gone(held.wanted, why))

    async def settled(self, *, within: float) -> None:
        """Wait until nothing is open and all is reported, so long at most."""
        with anyio.move_on_after(within):
            while self._running:
                self._all_told = anyio.Event()
                await self._all_told.wait()
            await self._judge.over()

    async def _say(self, message: Object) -> None:
        await self._to_client(written(message))


def _is_cut(raw: bytes) -> bool:
    try:
        Line(raw)
    except UnreadableError:
        return True
    return False
