"""Take turns at a platform: as fast as it allows, one method and one chat beside another.

A platform's limits belong to a method and a chat, not to a message: whoever sends each card as soon as it is due has
nearly all of them refused. So each pair has a lane. In it calls begin one after the other, no faster than what
`Limits` say of the platform; and once it has said when to come back, nothing goes out in that lane before.

A short wait is waited out here. A longer one is the outbox's: the errand is put off, without any call, until it is
over. What is urgent is claimed first there (`claim_due`), and so gets the next turn.

Where several replicas speak to one platform, their turns are of one kind too: each is taken in a unit of its own, from
a row that all of them go by, before the call and outside of it (`storage.cards.turns`). A platform that says nothing of
its pace has no such row; whoever it refuses waits, each replica for itself.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.errors import AssentError
from app.ports import ChannelUnavailableError
from app.storage.cards.turns import hold_turns, take_turn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from app.ports import Channel
    from app.spec import Pace, Spec
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

PATIENCE = 8.0
"""Seconds that an errand waits for its turn. With the longest call this stays below a worker's lease."""

_MOST_LANES = 2000
"""Lanes that are kept: a chat each, with a person's own among them. Those in which nothing goes on are dropped."""


_Key = tuple[str, str, str, str]  # org, channel, method, chat


@dataclass(slots=True)
class _Lane:
    """One method in one chat."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    paid_until: float = 0.0  # when everything sent so far is paid for at the platform's pace
    held_until: float = 0.0  # the platform said: not before

    def busy(self, now: float) -> bool:
        """Say whether anything goes on in it."""
        return self.turn.locked() or max(self.paid_until, self.held_until) > now


class Pacing:
    """Knows how fast each platform may be spoken to, and how fast it was."""

    def __init__(
        self,
        platforms: Mapping[str, Spec],
        *,
        shared: Store | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Take what the platforms say of themselves. `clock` and `sleep` are in seconds; the clock never steps.

        `shared`: where turns are taken that other replicas take too; None: there are no others.
        """
        self._platforms = platforms
        self.shared = shared
        self.clock = clock
        self.sleep = sleep
        self._lanes: dict[_Key, _Lane] = {}

    @asynccontextmanager
    async def post(self, org: str, channel: Channel, chat_id: str) -> AsyncGenerator[None]:
        """Wait for a turn to speak in a chat, and take it. Raises ChannelUnavailableError where that is far off."""
        async with self._turn((org, channel.name, "post", chat_id), self._pace(channel, "posts")):
            yield

    @asynccontextmanager
    async def edit(self, org: str, channel: Channel) -> AsyncGenerator[None]:
        """The same for changing a message: platforms count these a method, wherever the message is."""
        async with self._turn((org, channel.name, "edit", ""), self._pace(channel, "edits")):
            yield

    @asynccontextmanager
    async def look(self, org: str, channel: Channel) -> AsyncGenerator[None]:
        """The same for asking whether messages are there: as fast as they are changed, and beside that."""
        async with self._turn((org, channel.name, "look", ""), self._pace(channel, "edits")):
            yield

    def _pace(self, channel: Channel, of: str) -> Pace | None:
        spec = self._platforms.get(channel.kind)
        if spec is None:
            return None
        return spec.limits.posts if of == "posts" else spec.limits.edits

    @asynccontextmanager
    async def _turn(self, key: _Key, pace: Pace | None) -> AsyncGenerator[None]:
        lane = self._lane(key)
        self._refuse_if_held(lane)
        try:
            async with asyncio.timeout(PATIENCE):
                await lane.turn.acquire()
        except TimeoutError:
            raise ChannelUnavailableError("others go first", retry_after=timedelta(seconds=1), limited=True) from None
        try:
            if self.shared is not None and pace is not None:
                await self._wait_with_others(self.shared, lane, key, pace)
            else:
                await self._wait(lane, pace)
        finally:
            lane.turn.release()  # a call that hangs holds up nobody else's
        try:
            yield
        except ChannelUnavailableError as error:
            if error.limited and error.retry_after is not None:
                lane.held_until = max(lane.held_until, self.clock() + error.retry_after.total_seconds())
                if self.shared is not None and pace is not None:
                    await _hold(self.shared, key, error.retry_after)
            raise

    async def _wait_with_others(self, store: Store, lane: _Lane, key: _Key, pace: Pace) -> None:
        """Take the next turn that nobody else has, and wait for it."""
        self._refuse_if_held(lane)
        org, channel, method, chat_id = key
        patience = timedelta(seconds=PATIENCE)

        def unit(tx: Tx) -> tuple[timedelta, bool, float]:
            wait, taken = take_turn(
                tx, (channel, method, chat_id), every=pace.every, burst=pace.burst, patience=patience
            )
            return wait, taken, self.clock()  # behind the lock: how long the commit takes is no part of the wait

        wait, taken, at = await store.write(unit, org=org)
        if not taken:
            raise ChannelUnavailableError("others go first", retry_after=max(wait - patience, pace.every), limited=True)
        left = at + wait.total_seconds() - self.clock()
        if left > 0:
            await self.sleep(left)
            self._refuse_if_held(lane)  # somebody may have been told so meanwhile

    async def _wait(self, lane: _Lane, pace: Pace | None) -> None:
        """Wait until the lane is free, and pay for one call."""
        self._refuse_if_held(lane)
        every = pace.every.total_seconds() if pace is not None else 0.0
        free_at = max(lane.held_until, lane.paid_until - every * (pace.burst - 1 if pace is not None else 0))
        if free_at > self.clock():
            await self.sleep(free_at - self.clock())
            self._refuse_if_held(lane)  # somebody may have been told so meanwhile
        lane.paid_until = max(lane.paid_until, self.clock()) + every

    def _refuse_if_held(self, lane: _Lane) -> None:
        wait = lane.held_until - self.clock()
        if wait > PATIENCE:
            raise ChannelUnavailableError(
                "the platform asked us to wait", retry_after=timedelta(seconds=wait), limited=True
            )

    def _lane(self, key: _Key) -> _Lane:
        lane = self._lanes.get(key)
        if lane is None:
            if len(self._lanes) >= _MOST_LANES:
                now = self.clock()
                self._lanes = {of: each for of, each in self._lanes.items() if each.busy(now)}
            lane = self._lanes[key] = _Lane()
        return lane


async def _hold(store: Store, key: _Key, wait: timedelta) -> None:
    """Tell the others what the platform said; where that cannot be done, they will hear it themselves."""
    org, channel, method, chat_id = key
    with suppress(AssentError):
        await store.write(lambda tx: hold_turns(tx, (channel, method, chat_id), wait=wait), org=org)
