"""What a gateway does by the clock, and how often. Each is a look at the rows: nothing is due in memory alone."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog
from msgspec import Struct

from app.domain.errors import UnavailableError
from app.usecases.reading.keys import USES_NOTED_EVERY
from app.usecases.upkeep.watch_cards import EVERY as LOOKS_EVERY
from app.usecases.upkeep.watch_replicas import EVERY as BEAT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from app.policies.file.policy_book import PolicyBook
    from app.usecases.permits.break_glass import BreakGlass
    from app.usecases.platforms.channel_book import ChannelBook
    from app.usecases.platforms.confirm_accounts import ConfirmAccounts
    from app.usecases.platforms.fetch_groups import FetchGroups
    from app.usecases.platforms.renew_access import RenewAccess
    from app.usecases.proving.seal_standing import SealStanding
    from app.usecases.reading.follow import Feed
    from app.usecases.reading.keys import Keys
    from app.usecases.reading.wait import Wait
    from app.usecases.upkeep.fail_over import FailOver
    from app.usecases.upkeep.retain import Retain
    from app.usecases.upkeep.sweep import Sweep
    from app.usecases.upkeep.watch_alarms import WatchAlarms
    from app.usecases.upkeep.watch_cards import WatchCards
    from app.usecases.upkeep.watch_heads import WatchHeads
    from app.usecases.upkeep.watch_pace import WatchPace
    from app.usecases.upkeep.watch_replicas import WatchReplicas
    from app.usecases.upkeep.watch_schema import WatchSchema
    from app.usecases.upkeep.watch_writes import WatchWrites
    from app.workers.channel_work import ChannelWork
    from app.workers.timers import Timers

log = structlog.get_logger(__name__)

_ACCESS: Final = timedelta(seconds=30)
_ACCOUNTS: Final = timedelta(minutes=5)
_ALARMS: Final = timedelta(seconds=10)
_DATABASE: Final = timedelta(seconds=3)
_FORGET: Final = timedelta(minutes=10)
_GROUPS: Final = timedelta(minutes=1)
_HEADS: Final = timedelta(seconds=5)
_KEYS: Final = timedelta(seconds=20)
_ORPHANS: Final = timedelta(seconds=30)
_PACE: Final = timedelta(hours=6)
_RELOAD: Final = timedelta(seconds=2)
_RETENTION: Final = timedelta(hours=1)


class Timetable(Struct, frozen=True, kw_only=True):
    """Whom it asks to do each of them; `tick` and `poll` are the spans that are settings."""

    tick: timedelta
    poll: timedelta
    reload: Callable[[], Awaitable[None]]
    book: PolicyBook
    channels: ChannelBook
    alarms: WatchAlarms
    break_glass: BreakGlass
    confirm_accounts: ConfirmAccounts
    fail_over: FailOver
    feed: Feed
    fetch_groups: FetchGroups
    heads: WatchHeads
    keys: Keys
    pace: WatchPace
    renew_access: RenewAccess
    replicas: WatchReplicas
    retain: Retain
    schema: WatchSchema
    seal_standing: SealStanding
    sweep: Sweep
    wait: Wait
    watch_cards: WatchCards
    work: ChannelWork
    writes: WatchWrites

    def begin(self, timers: Timers) -> None:
        """Start the metronome. Jitter is in seconds: replicas that start together need not look together."""
        timers.every(self.tick, "sweep", self._sweep)
        timers.every(self.tick, "broken glass", self.break_glass.end_over)
        timers.every(self.poll, "poll", self._poll)
        timers.every(_RELOAD, "reload", self.reload)
        timers.every(_ACCESS, "access", self.renew_access, jitter=5)
        timers.every(_ACCOUNTS, "accounts", self.confirm_accounts, jitter=30)
        timers.every(_GROUPS, "groups", self.fetch_groups, jitter=5)
        timers.every(_PACE, "pace", self._pace, jitter=60)
        timers.every(_DATABASE, "writes", self.writes)
        timers.every(_DATABASE, "schema", self.schema)
        timers.every(_DATABASE, "fail-over", self.fail_over.clear)
        timers.every(_HEADS, "heads", self.heads.note)
        timers.every(max(_ALARMS, self.tick), "alarms", self.alarms, jitter=2)
        timers.every(BEAT, "replicas", self.replicas, jitter=1)
        timers.every(_FORGET, "forget", self.sweep.forget, jitter=60)
        timers.every(_RETENTION, "retention", self.retain, jitter=300)
        timers.every(_KEYS, "value keys", self.refresh_keys, jitter=5)
        timers.every(USES_NOTED_EVERY, "uses of keys", self.keys.note_uses, jitter=30)
        timers.every(_ORPHANS, "orphans", self._orphans, jitter=5)
        timers.every(LOOKS_EVERY, "cards", self.watch_cards, jitter=2)
        timers.start()

    async def refresh_keys(self) -> None:
        """Forget the keys of values that an operator destroyed."""
        for org in self.book.orgs():
            await self.seal_standing.refresh(org)

    async def _sweep(self) -> None:
        while (swept := await self.sweep()).total:
            log.info("sweep.done", **swept.counts())
            if not swept.more:
                return

    async def _pace(self) -> None:
        """Say who approves so fast that nothing can have been read."""
        for org in self.book.orgs():
            await self.pace.warn(org)

    async def _orphans(self) -> None:
        await self.work.settle_orphans(self.channels)

    async def _poll(self) -> None:
        with suppress(UnavailableError):
            await self.wait.poll()
        self.feed.touch_all()
