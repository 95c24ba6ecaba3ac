"""Answers once, and in time: a second thread that ends the hook at its deadline, at a signal, or when its host is gone.

A host that times a hook out lets the tool run, so the hook must speak first, whatever its main thread hangs in (a
look-up, a handshake, a dripping answer). Signals wake it through a pipe: Python's own handlers run in the main thread
only, and a signal that comes just before a blocking call would be heard when that call is over. The lock is the right
to end: whoever holds it writes the answer. The main thread takes it before it sends what may claim an approval, so that
no "still waiting" can follow a claim, and lets go of it once it is answered that nothing was claimed. Where the end
comes meanwhile, the watch hangs up for it, and it has `GRACE` to give back what it may have claimed.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import socket
import time

from assent.command.faults import HookError, TooLateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_LOOK_EVERY = 0.2
GRACE = 8.0
"""Seconds that a claim under way may take past the deadline; the host's timeout must leave room for them."""


class Watch:
    """The deadline, the host, and the one answer."""

    def __init__(self, *, started: float, deadline: float) -> None:
        self._end = started + deadline
        self._host = os.getppid()
        self._right_to_end = _thread.allocate_lock()
        self._held = False
        self._signals = -1
        self._line: socket.socket | None = None
        self.over = False
        """Whether the end has come while the main thread has the right to it: no further call, but a goodbye."""
        self.last_word: Callable[[], bytes] | None = None
        """What to answer at the deadline; None: nothing is known yet, block by exit code."""

    def shorten(self, within: float) -> None:
        """For moments that decide nothing: end within so many seconds, silently and with success."""
        self._end = min(self._end, time.monotonic() + within)
        self.last_word = bytes

    def start(self) -> None:
        """Begin to watch; the signals to be told of must have handlers by now."""
        self._signals, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        _thread.start_new_thread(self._look, ())

    def remaining(self) -> float:
        """Seconds until the deadline."""
        return self._end - time.monotonic()

    def host_is_gone(self) -> bool:
        """Whether nobody can read an answer any more: the parent ended, or the other end of stdout is closed."""
        if os.getppid() != self._host:
            return True
        poll = select.poll()
        poll.register(1, 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))

    def commit(self) -> None:
        """Take the right to end, before a claim. Raises `HookError` when it is too late, or the host is gone."""
        if not self._held:
            if not self._right_to_end.acquire(timeout=GRACE):
                raise TooLateError("too late")
            self._held = True
        if self.remaining() <= 0 or self.host_is_gone():
            raise (HookError if self.remaining() > 0 else TooLateError)("too late, or the host is gone")

    def let_go(self) -> None:
        """Give the right to end back: nothing was claimed, and nothing that may claim is under way."""
        if self._held:
            self._held = False
            self._right_to_end.release()

    def hold(self, line: socket.socket) -> None:
        """Be told of the connection that a call under the right to end waits on, to hang up when the end comes."""
        self._line = line
        if self.over:
            self._hang_up()

    def _hang_up(self) -> None:
        self.over = True
        if self._line is not None:
            try:  # of the socket itself: a TLS connection's own shutdown is for the thread that uses it
                socket.socket.shutdown(self._line, socket.SHUT_RDWR)
            except OSError:
                return  # it is closed already

    def answer(self, text: bytes) -> None:
        """Write the one answer. Raises `OSError` when nobody can read it."""
        if not self._held:
            self._right_to_end.acquire()
            self._held = True
        write_out(text)

    def _look(self) -> None:
        try:
            poll = select.poll()
            poll.register(self._signals, select.POLLIN)
            while (left := self.remaining()) > 0:
                interrupted = poll.poll(1000 * min(_LOOK_EVERY, left))
                if not interrupted and not self.host_is_gone():
                    continue
                if self._right_to_end.acquire(blocking=False):
                    os.write(2, b"Not approved: the approval hook was ended by its host.\n")
                    os._exit(2)  # the request stays; the same call, asked again, joins it
                self._hang_up()
                time.sleep(GRACE)  # the main thread gives back what it may have claimed, and ends
                os._exit(2)
            self._end_by_deadline()
        finally:
            os._exit(2)  # a watch that fails must not leave an unwatched hook behind

    def _end_by_deadline(self) -> NoReturn:
        if not self._right_to_end.acquire(blocking=False):
            self._hang_up()
            if not self._right_to_end.acquire(timeout=GRACE):
                os._exit(2)
        if self.last_word is not None:
            write_out(self.last_word())
            os._exit(0)
        os.write(2, b"Not approved: the approval hook ran out of time.\n")
        os._exit(2)


def write_out(text: bytes) -> None:
    """All of it to stdout, past Python's buffers: what failed must fail here, not at exit."""
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(1, rest) :]
