"""`Portal`: the background thread with an event loop on which a `Gateway` runs the asynchronous client.

It starts with the first call, and ends with `close`, with its `Portal`, or with the process, which it never holds up.
Of a process that forks, the child has the objects and not the thread: there the next call starts another thread, with
a loop and connections of its own, and what the parent waits for is the parent's.

Closing never waits for people: calls that still wait are cancelled, as if whoever made them were gone, and get the time
to withdraw what they asked. What reports an outcome is not cut short in that time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from threading import Condition, Event, Lock, Thread, get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet, finalize

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager

    from anyio.from_thread import BlockingPortal

T = TypeVar("T")

_CLOSED = "the Gateway was closed, by another thread, before this call had its answer"


class Portal:
    """Runs work on a thread of its own, inside of `line`. Threads may share it, and forked processes."""

    def __init__(self, line: AbstractAsyncContextManager[Any], *, last: float) -> None:
        self._line = line
        self._last = last
        """Seconds that work has to end when it is cancelled."""
        self._opening = Lock()
        self._thread: _Thread | None = None
        self._dropped: finalize[..., Any] | None = None
        _all().add(self)

    def forget(self) -> None:
        """Begin anew without closing anything: what there was is the process's that this one was forked off."""
        self._opening = Lock()  # perhaps a thread held it that is not here
        self._thread = None
        if self._dropped is not None:
            self._dropped.detach()

    def open(self) -> _Thread:
        """Start the thread, unless it runs. Raises what opening the line raises."""
        with self._opening:
            if self._thread is None:
                self._thread = _Thread(self._line)
                self._dropped = finalize(self, self._thread.leave)
                self._dropped.atexit = False
            return self._thread

    def close(self) -> None:
        """End what still waits, and the thread, which is over then, unless a tool of the caller's holds it up.

        Raises RuntimeError on that very thread.
        """
        with self._opening:
            thread = self._thread
            if thread is None:
                return
            if thread.is_this():
                raise RuntimeError("a Gateway cannot be closed by what it calls itself (on_pending, on_question)")
            self._thread = None
            if self._dropped is not None:
                self._dropped.detach()
        thread.close(self._last)

    def run(self, work: Callable[[], Awaitable[T]], *, is_report: bool = False) -> T:
        """Run work there, and return what it returns.

        Interrupted (Ctrl-C), or closed by another thread, it is cancelled there, and its end is waited for, up to the
        time that cancelled work has. Raises `concurrent.futures.CancelledError` where it was closed.
        """
        over = Event()

        async def watched() -> T:
            try:
                return await work()
            finally:
                over.set()

        thread = self.open()
        while (running := thread.begin(watched, is_report=is_report)) is None:
            thread = self.open()  # it was closed in this very moment: another one starts
        try:
            return running.result()
        except BaseException as error:
            if not over.is_set():
                running.cancel()
                over.wait(self._last)
            if running.cancelled() and thread.closed and isinstance(error, Exception):
                raise type(error)(_CLOSED) from None
            raise
        finally:
            thread.ended(running)


class _Thread:
    """One thread, from its start to its end."""

    def __init__(self, line: AbstractAsyncContextManager[Any]) -> None:
        from concurrent.futures import Future

        self._line = line
        self.closed = False
        self._turn = Condition()
        self._beginning = 0
        self._running: dict[Future[Any], bool] = {}
        self._leave: Callable[[], object] = _nothing
        self._over = Event()
        opened: Future[BlockingPortal] = Future()
        thread = Thread(target=self._serve, args=(opened,), name="assent-gateway", daemon=True)
        thread.start()
        self._portal = opened.result()
        self._ident = thread.ident

    def is_this(self) -> bool:
        """Say whether this is what runs now."""
        return get_ident() == self._ident

    def begin(self, work: Callable[[], Awaitable[T]], *, is_report: bool) -> Future[T] | None:
        """Start work; None where the thread is being closed."""
        with self._turn:
            if self.closed:
                return None
            self._beginning += 1
        try:
            running = self._portal.start_task_soon(work)
            self._running[running] = is_report
            return running
        finally:
            with self._turn:
                self._beginning -= 1
                self._turn.notify_all()

    def ended(self, running: Future[Any]) -> None:
        """Forget work that is over."""
        with self._turn:
            self._running.pop(running, None)
            self._turn.notify_all()

    def close(self, last: float) -> None:
        """Cancel what waits, wait for its end and for reports, and end the thread; each wait up to `last` seconds."""
        end = monotonic() + last
        with self._turn:
            self.closed = True
            self._turn.wait_for(lambda: not self._beginning, last)
            for running, is_report in list(self._running.items()):
                if not is_report:
                    running.cancel()
            self._turn.wait_for(lambda: not self._running, max(0.0, end - monotonic()))
        self.leave()
        self._over.wait(last)

    def leave(self) -> None:
        """End the thread, and cancel what still runs there."""
        self.closed = True
        with suppress(RuntimeError):  # its loop is closed already
            self._leave()

    def _serve(self, opened: Future[BlockingPortal]) -> None:
        import anyio

        async def serve() -> None:
            from anyio.from_thread import BlockingPortal
            from anyio.lowlevel import current_token

            gone = anyio.Event()
            loop: Any = current_token().native_token
            async with self._line, BlockingPortal() as portal:
                self._leave = lambda: loop.call_soon_threadsafe(gone.set)
                opened.set_result(portal)
                await gone.wait()
                await portal.stop(cancel_remaining=True)

        try:
            anyio.run(serve)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever opens, and nobody else is there to be told
            if not opened.done():
                opened.set_exception(error)
        finally:
            self._over.set()


def _nothing() -> None:
    """Do nothing."""


@cache
def _all() -> WeakSet[Portal]:
    """All portals of this process; a child that is forked off it begins anew with each."""
    portals: WeakSet[Portal] = WeakSet()

    def forget() -> None:
        for portal in list(portals):
            portal.forget()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)
    return portals
