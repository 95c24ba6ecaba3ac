"""Makes one channel's calls, within their bounds, and says what was wrong with them."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

import structlog

from app.bulkhead import checked
from app.bulkhead.calls import ChannelFaultyError, ChannelHangsError, Failed, UnusableError, call_within, place_of
from app.ports import ChannelRefusedError, ChannelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = structlog.get_logger(__name__)

T = TypeVar("T")

BOUNDS: Final[dict[str, float]] = {
    "post": 21.0,
    "refresh": 21.0,
    "notify": 21.0,
    "announce": 21.0,
    "find": 60.0,
    "look_up": 45.0,
    "look_up_all": 45.0,
    "group_members": 60.0,
    "identify": 60.0,
    "reports_to": 60.0,
    "list_missing": 120.0,
    "open_form": 10.0,
    "tell": 25.0,
    "examine": 100.0,
    "warm_up": 150.0,
    "renew": 55.0,
    "close": 10.0,
}
"""Seconds that a call may take. The channels that come with the gateway end theirs before: one operation after 20 at
most, of which to look somebody up may be two; a library is loaded for 120. An errand of the outbox waits up to 8 for
its turn and has 30 in all (`outbox_worker`)."""

_SAID_AGAIN: Final = 60.0
"""Seconds after which the same fault is logged again: of a thousand people, a look-up that fails is one line."""


class Bulkhead:
    """Makes the calls of one channel, and says what was wrong with them."""

    def __init__(self, name: str, of: object) -> None:
        """`of` is the package's own."""
        self._name = name
        self._package = type(of).__module__.partition(".")[0]
        self._told: dict[tuple[str, str], float] = {}

    async def call(self, what: str, make: Callable[[], Awaitable[object]], usable: Callable[[object], T]) -> T:
        """Make a call that has a bound, and return what is usable of what it returned.

        Raises what the package may raise, and ChannelFaultyError or ChannelHangsError.
        """
        came = await call_within(make, seconds=BOUNDS[what])
        if came is None:
            why = f"its package did not come back from {what} in {BOUNDS[what]:.0f} seconds"
            self.tell(what, why)
            raise ChannelHangsError(why)
        if isinstance(came, Failed):
            raise self.fault(what, came.error)
        try:
            return usable(came.value)
        except Exception as error:  # noqa: BLE001 - even to look at it may run code of the package
            fault = self.fault(what, error)
        raise fault

    def fault(self, what: str, error: BaseException) -> Exception:
        """Return what is to be raised for an error, and log it if no channel may raise it."""
        if isinstance(error, (ChannelUnavailableError, ChannelRefusedError)):
            with suppress(Exception):  # it may be of a class that does not let itself be mended
                checked.error(error)
                return error
        if isinstance(error, UnusableError):
            why = f"its package returned from {what} what cannot be used: {error}"
        else:
            at = place_of(error, self._package)
            why = f"its package failed in {what}: {type(error).__name__}{f' ({at})' if at else ''}"
        self.tell(what, why)
        return ChannelFaultyError(why)

    def number(self, what: str, of: object) -> int:
        """Return a number that the package says; 0 where it says none."""
        try:
            said = getattr(of, what)
        except Exception as error:  # noqa: BLE001 - anything: it is somebody else's package
            self.fault(what, error)
            return 0
        return said if type(said) is int else 0

    def tell(self, what: str, why: str) -> None:
        """Log a fault, unless it was logged a moment ago."""
        now = time.monotonic()
        if now - self._told.get((what, why), -_SAID_AGAIN) < _SAID_AGAIN:
            return
        self._told = {fault: at for fault, at in self._told.items() if now - at < _SAID_AGAIN} | {(what, why): now}
        log.error("channel.faulty", channel=self._name, call=what, why=why)
