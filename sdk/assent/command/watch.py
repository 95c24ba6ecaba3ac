"""Answers once, and in time: a second thread that ends the hook at its deadline, at a signal, or when its host is gone.

A host that times a hook out lets the tool run, so the hook must speak first, whatever its main thread hangs in (a
look-up, a handshake, a dripping answer). Signals wake it through a pipe: Python's own handlers run in the main thread
only, and a signal that comes just before a blocking call would be heard when that call is over. The lock is the right
to end: whoever holds it writes the answer. The main thread takes it before it claims an approval, so that no "still
waiting" can follow a claim.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import time

from assent.command.faults import HookError

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
                raise HookError("too late")
            self._held = True
        if self.remaining() <= 0 or self.host_is_gone():
            raise HookError("too late, or the host is gone")

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
                time.sleep(_LOOK_EVERY)  # the main thread has claimed; it ends soon
            self._end_by_deadline()
        finally:
            os._exit(2)  # a watch that fails must not leave an unwatched hook behind

    def _end_by_deadline(self) -> NoReturn:
        if self._right_to_end.acquire(timeout=GRACE) and self.last_word is not None:
            write_out(self.last_word())
            os._exit(0)
        os.write(2, b"Not approved: the approval hook ran out of time.\n")
        os._exit(2)


def write_out(text: bytes) -> None:
    """All of it to stdout, past Python's buffers: what failed must fail here, not at exit."""
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(1, rest) :]
