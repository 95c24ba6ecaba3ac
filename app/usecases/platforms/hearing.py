"""Ask a platform about many accounts, a few at a time, and remember for a while what it said.

What was said holds for `TRUSTED_FOR` where the platform cannot be asked, says nothing, or withholds it by now: half an
answer takes nothing back, and an old one counts for nothing. A round asks for a few seconds; the next one goes on with
those about whom nothing was asked for longest. One account that cannot be asked about keeps nobody from being told.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import structlog

from app.ports import ChannelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from app.ports import Clock

log = structlog.get_logger(__name__)

TRUSTED_FOR = timedelta(hours=1)
"""How long such a word counts: as long as that about an account's standing does."""

EVERY = timedelta(minutes=5)
"""How often somebody is asked about: it changes seldom, and some platforms tell of one at a time."""

PATIENCE = 20.0
"""Seconds that a round goes on, and that one call may take."""

_FAILURES = 3
"""Calls that fail one after the other before a round gives up: then it is the platform, and not one account."""

_IN_USE_AFTER = 50  # accounts

_NEVER = datetime.min.replace(tzinfo=UTC)


class Word(Protocol):
    """What a platform says of one account."""

    @property
    def withheld(self) -> str:
        """What it does not say, and how to mend that; "" where it said all."""
        ...


W = TypeVar("W", bound=Word)


class Hearing(Generic[W]):
    """What one channel's platform said of accounts; `what` that is about, the log says."""

    def __init__(self, what: str, channel: str, *, clock: Clock) -> None:
        """Nothing was asked yet."""
        self._what = what
        self._channel = channel
        self._clock = clock
        self._said: dict[str, tuple[datetime, W]] = {}
        self._asked: dict[str, datetime] = {}
        self._not_before = 0.0  # by the monotonic clock: the platform's own wish

    def said(self, account: str) -> W | None:
        """Return what counts of an account now."""
        at, word = self._said.get(account, (_NEVER, None))
        # Nor is a word from the future good enough: a clock that was set back must not stretch the trust.
        return word if timedelta(0) <= self._clock.now() - at <= TRUSTED_FOR else None

    def ever_said(self, account: str) -> bool:
        """Say whether anything was said of an account since this gateway was started, however long ago."""
        return account in self._said

    def due(self, accounts: Iterable[str]) -> list[str]:
        """Return whom to ask about now, who was not asked about for longest first."""
        now = self._clock.now()
        asked = ((self._asked.get(account, _NEVER), account) for account in accounts)
        return [account for at, account in sorted(asked) if not now - EVERY < at <= now]

    async def round(
        self,
        due: Sequence[str],
        *,
        at_once: int,
        ask: Callable[[tuple[str, ...]], Awaitable[Mapping[str, W]]],
        then: Callable[[], Awaitable[object]] | None = None,
    ) -> set[str]:
        """Ask about these, and return of whom something was said.

        `then` takes it into use, after the first call and now and then on the way: long before a long list ends.
        """
        heard: set[str] = set()
        until, failed = time.monotonic() + PATIENCE, 0
        for start in range(0, len(due), at_once):
            if time.monotonic() < self._not_before or time.monotonic() >= until or failed >= _FAILURES:
                break
            group = tuple(due[start : start + at_once])
            self._asked |= dict.fromkeys(group, self._clock.now())
            words = await self._ask(group, ask)
            failed = failed + 1 if words is None else 0
            heard |= self._remember(group, words or {})
            if then is not None and start % max(_IN_USE_AFTER, at_once) == 0:
                await then()
        return heard

    async def _ask(
        self, group: tuple[str, ...], ask: Callable[[tuple[str, ...]], Awaitable[Mapping[str, W]]]
    ) -> Mapping[str, W] | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await ask(group)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the others are asked and this one grows old
            if isinstance(error, ChannelUnavailableError) and error.retry_after is not None:
                self._not_before = time.monotonic() + error.retry_after.total_seconds()
            why = str(error) or type(error).__name__
            log.warning("directory.untold", of=self._what, channel=self._channel, people=len(group), why=why)
            return None

    def _remember(self, group: tuple[str, ...], words: Mapping[str, W]) -> set[str]:
        heard: set[str] = set()
        now = self._clock.now()
        for account in group:
            word = words.get(account)
            if word is not None and (not word.withheld or account not in self._said):
                self._said[account] = (now, word)
                heard.add(account)
        if withheld := [word.withheld for word in words.values() if word.withheld]:
            log.error("directory.withheld", of=self._what, channel=self._channel, people=len(withheld), why=withheld[0])
        return heard
