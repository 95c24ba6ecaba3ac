"""Keep the channels' access that ends: renew it in good time, once for all replicas, and store it before it is used.

A renewal token is good for one exchange. Whoever takes the lease on the channel's row makes it; the others use what is
still good, or wait for what comes. Where the platform has answered and nobody could record the answer (the process was
killed in between), the tokens are lost with it: the next exchange is told so, and the channel is cut off until somebody
gives the file a new renewal token. One that was spent before is never taken again, so replicas whose files differ for
a while do not throw one another out.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog
from msgspec import Struct

from app.abilities.renewal import RenewalSpentError, RenewingChannel
from app.domain.errors import UnavailableError
from app.failpoints import failpoint
from app.ports import ChannelRefusedError, ChannelUnavailableError
from app.storage.identity.platform_tokens import find_kept, lock_kept, open_pair, put_kept, seal_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import datetime

    from app.abilities.renewal import Access
    from app.domain.identity.seals import Seals
    from app.ports import Channel, Clock, IdFactory
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.identity.platform_tokens import Kept

log = structlog.get_logger(__name__)

MEND: Final = "give a new renewal token in the file (refresh_token), and restart: see docs/operations.md"
"""What a person does about a channel that is cut off."""

_EARLY: Final = timedelta(hours=2)  # of twelve, where they are that long: hours in which a platform may be away
_AT_LAST: Final = timedelta(minutes=2)  # before the end; then a call waits for the exchange
_LEASE: Final = timedelta(seconds=60)  # longer than any exchange takes
_PATIENCE: Final = 15.0
_LOOK_AGAIN: Final = 0.1
_EXCHANGES_MOST: Final = 2  # for one call: the file's token, and the pair's own behind it
_AFTER_ANSWER: Final = timedelta(seconds=10)  # whatever it was: no platform is asked more often
_AFTER_REFUSAL: Final = timedelta(minutes=1)
_AT_MOST: Final = timedelta(minutes=10)
_SEEDS_KEPT: Final = 20
_FINISHED_WITHIN: Final = 30.0
_UNREAD: Final = "its tokens were sealed under another ASSENT_SECRET, or for another channel"
_HALF: Final = "the platform gave an access without the means to renew it"


class AccessTrouble(Struct, frozen=True, kw_only=True):
    """Why a channel's access could not be renewed; `lost`: until somebody mends it, it cannot be."""

    org: str
    channel: str
    why: str
    lost: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Good:
    """There is a token to use."""

    token: str = field(repr=False)
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mine:
    """This one makes the exchange: `seed` says that it is with what the file gives."""

    renewal: str = field(repr=False)
    seed: bool
    pair: str | None = field(repr=False)


class _Wait(Struct, frozen=True, kw_only=True):
    """There is none now: somebody else is at it, or it was tried a moment ago."""

    why: str
    span: timedelta
    under_way: bool


class _Lost(Struct, frozen=True, kw_only=True):
    """There is none, and nothing to get one with."""

    why: str


class RenewAccess:
    """The use case: every channel's keeper, and the tick that renews before anybody need wait."""

    def __init__(
        self,
        *,
        store: Store,
        seals: Seals,
        clock: Clock,
        ids: IdFactory,
        later: Callable[[Coroutine[object, object, None]], object],
    ) -> None:
        """Take what it works on. `later` runs what must not end with whoever began it."""
        self.store = store
        self.seals = seals
        self.clock = clock
        self.later = later
        self.name = ids.new("gw")
        self.under_way: set[asyncio.Event] = set()
        self.troubles: tuple[AccessTrouble, ...] = ()
        """As they were at the last tick, or when this gateway met one."""
        self._keepers: dict[tuple[str, str], Keeper] = {}

    def serve(self, org: str, channel: Channel) -> None:
        """Give a channel its keeper, if its access ends; forget that of one before it."""
        self.forget(org, channel.name)
        if isinstance(channel, RenewingChannel) and channel.first_renewal is not None:
            keeper = self._keepers[org, channel.name] = Keeper(self, org, channel.name, channel)
            channel.use_access(keeper)

    def forget(self, org: str, name: str) -> None:
        """Renew a channel no longer: it stops, or another one has its name."""
        self._keepers.pop((org, name), None)

    async def __call__(self) -> None:
        """Renew whatever ends soon, and look how all of it stands."""
        for keeper in tuple(self._keepers.values()):
            with suppress(ChannelRefusedError, ChannelUnavailableError):  # said where it happened; another tick comes
                await keeper.renew_early()
        await self.look()

    async def look(self) -> tuple[AccessTrouble, ...]:
        """Read how every channel's access stands."""
        found = [await self.store.read(keeper.trouble, org=keeper.org) for keeper in tuple(self._keepers.values())]
        self.troubles = tuple(trouble for trouble in found if trouble is not None)
        return self.troubles

    async def finish(self) -> None:
        """Wait for the exchanges that are under way: what they bring is nowhere else."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FINISHED_WITHIN):
                for done in tuple(self.under_way):
                    await done.wait()


class Keeper:
    """One channel's tokens. See `app.abilities.renewal.AccessKeeper`."""

    def __init__(self, all_of: RenewAccess, org: str, name: str, channel: RenewingChannel) -> None:
        """Remember no token yet."""
        self.org = org
        self._all = all_of
        self._name = name
        self._channel = channel
        self._seed = channel.first_renewal or ""
        self._good: _Good | None = None

    async def token(self) -> str:
        """Return a token that is good now."""
        good = self._good
        if good is None or self._all.clock.now() > good.ends_at - _AT_LAST:
            good = await self._find(early=_AT_LAST)
        return good.token

    async def token_after(self, refused: str) -> str:
        """Return another one than this."""
        good = await self._find(early=_AT_LAST, refused=refused)
        return good.token

    async def renew_early(self) -> None:
        """Renew if it is time, whoever has asked for nothing."""
        await self._find(early=_EARLY)

    def trouble(self, tx: Tx) -> AccessTrouble | None:
        """Read what is wrong with it, if anything is."""
        kept = find_kept(tx, self._name)
        if kept is None:
            return None
        unread = kept.pair is not None and self._open(kept) is None
        why = _UNREAD if unread else kept.trouble
        lost = unread or kept.lost_at is not None
        return AccessTrouble(org=self.org, channel=self._name, why=why, lost=lost) if why else None

    async def _find(self, *, early: timedelta, refused: str = "") -> _Good:
        """Take what is there, wait for it, or get it."""
        waited, exchanges = 0.0, 0
        while True:
            try:
                step = await self._all.store.write(lambda tx: self._step(tx, early, refused), org=self.org)
            except UnavailableError as error:
                raise ChannelUnavailableError(f"no token could be read: {error.detail}") from None
            match step:
                case _Good():
                    self._good = step
                    return step
                case _Lost():
                    raise ChannelRefusedError(f"cut off: {step.why}; {MEND}")
                case _Mine() if exchanges < _EXCHANGES_MOST:
                    exchanges += 1
                    await self._exchange_beside(step)
                case _Mine():
                    raise ChannelUnavailableError("no token yet: the platform gave none that is good")
                case _Wait() if step.under_way and waited < _PATIENCE:
                    waited += _LOOK_AGAIN
                    await asyncio.sleep(_LOOK_AGAIN)
                case _Wait():
                    raise ChannelUnavailableError(f"no token yet: {step.why}", retry_after=step.span)

    def _step(self, tx: Tx, early: timedelta, refused: str) -> _Good | _Mine | _Wait | _Lost:
        """Say what is to be done now; where that is an exchange, it is this process's alone until the lease ends."""
        kept = lock_kept(tx, self._name)
        now = tx.lock_now()
        pair = self._open(kept)
        token, renewal = pair or ("", "")
        seed = _digest(self._seed) not in kept.seeds
        usable = bool(token) and token != refused and now < kept.ends_at - _AT_LAST
        good = _Good(token=token, ends_at=kept.ends_at)
        if usable and not seed and (now < kept.ends_at - early or not renewal or kept.lost_at):
            self._seal_anew(tx, kept, now)
            return good
        if now < kept.refreshing_until:
            if usable:
                return good
            under_way = bool(kept.refreshing_by)
            why = "it is being got" if under_way else kept.trouble or "one was got a moment ago, and is none"
            return _Wait(why=why, span=kept.refreshing_until - now, under_way=under_way)
        if not seed and (kept.lost_at or not renewal):
            return _Lost(why=kept.trouble or _UNREAD)
        put_kept(tx, self._name, replace(kept, refreshing_until=now + _LEASE, refreshing_by=self._all.name))
        return _Mine(renewal=self._seed if seed else renewal, seed=seed, pair=kept.pair)

    def _seal_anew(self, tx: Tx, kept: Kept, now: datetime) -> None:
        """Seal the pair under the newest secret, unless somebody is about to replace it."""
        pair = self._open(kept)
        if kept.pair and pair and now >= kept.refreshing_until and not self._all.seals.is_newest(kept.pair):
            put_kept(tx, self._name, replace(kept, pair=self._seal(*pair)))

    def _seal(self, token: str, renewal: str) -> str:
        return seal_pair(self._all.seals, token, renewal, org=self.org, channel=self._name)

    def _open(self, kept: Kept) -> tuple[str, str] | None:
        return open_pair(self._all.seals, kept.pair, org=self.org, channel=self._name) if kept.pair else None

    async def _exchange_beside(self, mine: _Mine) -> None:
        """Let the exchange come to its end, whatever becomes of who waits for it: its answer is there once."""
        done = asyncio.Event()
        self._all.under_way.add(done)
        self._all.later(self._exchange(mine, done))
        await done.wait()

    async def _exchange(self, mine: _Mine, done: asyncio.Event) -> None:
        try:
            change = await self._asked(mine)
            failpoint("renewal.answered")
            await self._store(change)
        finally:
            self._all.under_way.discard(done)
            done.set()

    async def _asked(self, mine: _Mine) -> Callable[[Tx, Kept], Kept]:
        """Ask the platform, and return what is to be written of its answer."""
        try:
            access = await self._channel.renew(mine.renewal)
        except RenewalSpentError as spent:
            told = spent.why
            return lambda tx, kept: self._spent(kept, mine, told, now=tx.lock_now())
        except ChannelRefusedError as refusal:
            why, pause = refusal.why, _AFTER_REFUSAL
        except ChannelUnavailableError as error:
            why, pause = error.why, min(error.retry_after or _AFTER_ANSWER, _AT_MOST)
        else:
            return lambda tx, kept: self._renewed(kept, mine, access, now=tx.lock_now())
        log.warning("access.not_renewed", channel=self._name, why=why, again_in=pause.total_seconds())
        return lambda tx, kept: kept.freed(until=tx.lock_now() + pause, trouble=why)

    async def _store(self, change: Callable[[Tx, Kept], Kept]) -> None:
        """Write it down, however long the database is away: it stands in this process's memory alone."""

        def unit(tx: Tx) -> None:
            put_kept(tx, self._name, change(tx, lock_kept(tx, self._name)))

        while True:
            try:
                await self._all.store.write(unit, org=self.org)
                break
            except UnavailableError as error:
                log.error("access.not_stored", channel=self._name, why=error.detail)  # noqa: TRY400 - an outage
                await asyncio.sleep(1)
        with suppress(UnavailableError):
            await self._all.look()

    def _renewed(self, kept: Kept, mine: _Mine, access: Access, *, now: datetime) -> Kept:
        """Put the new pair in the old one's place; a half of one is kept as well."""
        if kept.pair != mine.pair:
            log.critical("access.outdated", channel=self._name)
            return kept
        if access.renewal:
            log.info("access.renewed", channel=self._name, lasts=access.lasts.total_seconds())
        else:
            log.critical("access.half_renewed", channel=self._name, why=_HALF, mend=MEND)
        return replace(
            kept.freed(until=now + _AFTER_ANSWER, trouble="" if access.renewal else _HALF),
            pair=self._seal(access.token, access.renewal),
            ends_at=now + access.lasts if access.token else now,
            seeds=self._seeds(kept, mine),
            lost_at=None if access.renewal else now,
        )

    def _spent(self, kept: Kept, mine: _Mine, why: str, *, now: datetime) -> Kept:
        """Remember that this token is good for nothing; where it was the pair's own, nothing is left."""
        if kept.pair != mine.pair:
            return kept
        seeds, other = self._seeds(kept, mine), self._open(kept)
        if mine.seed and other and other[1] and not kept.lost_at:
            log.error("access.seed_refused", channel=self._name, why=why, mend=MEND)
            return replace(kept.freed(until=now, trouble=f"the file's renewal token was refused: {why}"), seeds=seeds)
        log.critical("access.lost", channel=self._name, why=why, mend=MEND)
        return replace(kept.freed(until=now, trouble=why), seeds=seeds, lost_at=kept.lost_at or now)

    def _seeds(self, kept: Kept, mine: _Mine) -> tuple[str, ...]:
        return (*kept.seeds, _digest(self._seed))[-_SEEDS_KEPT:] if mine.seed else kept.seeds


def _digest(seed: str) -> str:
    return hashlib.sha256(b"assent.renewal.v1\x00" + seed.encode()).hexdigest()[:32]
