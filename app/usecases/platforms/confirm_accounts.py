"""Ask the platforms which accounts the people of the file have, and how they stand: what clicks are authorised against.

Runs beside the first card, every few minutes, and when the configuration changes. A platform that cannot be asked
leaves the last answer in place until it is too old to count (`recognise.ACCOUNT_TRUSTED_FOR`), and so does one that
says nothing of how an account stands: half an answer neither bars everybody nor reopens what was closed.

Those who are asked now come first, then those of whom nothing was heard for longest: where a platform allows few calls
a minute, a list that takes several rounds still gets all the way round. A platform that says when to come back is asked
nothing more in between; whoever is still to be confirmed by then is, in this round, as long as it has patience. A
package that fails over somebody is asked about the others, and in the rounds to come about those first.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog

from app.bulkhead.bulkhead import BOUNDS
from app.bulkhead.calls import ChannelFaultyError, ChannelHangsError
from app.ports import AccountStatus, BatchChannel, ChannelRefusedError, ChannelUnavailableError
from app.storage.cards.accounts import list_of_channel, put_account
from app.usecases.platforms.asked_now import people_asked_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from app.domain.people.people import Person
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Account, Channel
    from app.storage.cards.accounts import KnownAccount
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.contact import Contact

log = structlog.get_logger(__name__)

_AT_ONCE = 50
"""People who are asked about together where a platform can be: what of a list is lost when one such call fails."""

_PATIENCE = 240.0
"""Seconds that one round waits for a platform, in all. The next round goes on where this one ended."""

_NOBODY: frozenset[str] = frozenset()
_NEVER = datetime.min.replace(tzinfo=UTC)
_FAILED = (ChannelUnavailableError, ChannelRefusedError)


@dataclass(slots=True)
class _Round:
    """How far one round of one channel has come."""

    confirmed: int = 0
    waited: float = 0.0
    failed: str = ""  # why somebody could not be asked about
    faulty: set[str] = field(default_factory=set[str])  # over whom the package failed
    withheld: tuple[str, ...] = ()  # of whom the platform did not say how they stand, each with what is missing


class ConfirmAccounts:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        contact: Contact,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Take what it works on. `sleep` takes seconds."""
        self._store = store
        self._book = book
        self._contact = contact
        self._channels = contact.channels
        self._sleep = sleep
        self.troubles: dict[tuple[str, str], str] = {}  # of channels that were asked: why not about everybody, or ""
        self.all_asked = asyncio.Event()
        self._last: dict[tuple[str, str], frozenset[str]] = {}  # over whom a package failed when last asked

    async def __call__(self) -> int:
        """Ask every channel about everyone who may be asked; return how many accounts were confirmed."""
        rounds = (self.channel(org, channel) for (org, _), channel in self._channels.all().items())
        return sum(await asyncio.gather(*rounds))  # beside each other: one that asks to wait holds up no other

    async def channel(self, org: str, channel: Channel) -> int:
        """Ask one channel."""
        people = self._book.current(org).policy.directory.people
        at = _Round(faulty=set(self._last.get((org, channel.name), _NOBODY)))
        for group in _groups(await self._in_order(org, channel), channel):
            if not await self._ask(org, channel, group, at):
                break
        if at.withheld:
            why = at.withheld[0]
            log.error("account.unknown", channel=channel.name, people=len(at.withheld), why=why, mend="assent doctor")
        await self._store.write(_drop_strangers(channel.name, set(people)), org=org)
        self._last[org, channel.name] = frozenset(at.faulty)
        self.troubles[org, channel.name] = at.failed
        self._contact.known[channel.name] = not at.failed
        if self.troubles.keys() >= self._channels.all().keys():
            self.all_asked.set()
        return at.confirmed

    async def _in_order(self, org: str, channel: Channel) -> list[Person]:
        """Return everybody: first who is asked now, then whoever was confirmed longest ago."""
        policy = self._book.current(org).policy

        def read(tx: Tx) -> tuple[frozenset[str], dict[str, datetime]]:
            heard = {each.person: each.checked_at for each in list_of_channel(tx, channel.name)}
            return people_asked_now(tx, policy), heard

        asked, heard = await self._store.read(read, org=org, long=True)
        people = [each for each in policy.directory.people.values() if not each.joined]  # these `know_members` knows
        last = self._last.get((org, channel.name), _NOBODY)
        return sorted(
            people, key=lambda each: (each.email in last, each.email not in asked, heard.get(each.email, _NEVER))
        )

    async def _ask(self, org: str, channel: Channel, group: Sequence[Person], at: _Round) -> bool:
        """Ask about a few people, waiting as the platform wishes. False: not now, and the rest not either."""
        while True:
            try:
                accounts = await _look_up(channel, group)
            except ChannelFaultyError as error:
                return await self._faulty(org, channel, group, at, error)
            except _FAILED as error:
                at.failed = error.why
                wish = error.retry_after if isinstance(error, ChannelUnavailableError) else None
                if wish is None:
                    _not_confirmed(channel, group, error.why)
                    return True
                at.waited += wish.total_seconds()
                if at.waited > _PATIENCE:
                    _not_confirmed(channel, group, error.why)
                    return False
                await self._sleep(wish.total_seconds())
                continue
            for person in group:
                at.faulty.discard(person.email)
                account = accounts[person.email]
                await self._store.write(_remember(channel.name, person, account), org=org)
                at.confirmed += account is not None and account.status is not AccountStatus.UNKNOWN
                at.withheld += (account.withheld,) if account is not None and account.withheld else ()
            return True

    async def _faulty(
        self, org: str, channel: Channel, group: Sequence[Person], at: _Round, error: ChannelFaultyError
    ) -> bool:
        """Go on after the package failed: of several, it may be over one. False: it hangs, and no patience is left."""
        at.failed = error.why
        hangs = isinstance(error, ChannelHangsError)
        if len(group) > 1 and not hangs:
            for person in group:
                if not await self._ask(org, channel, [person], at):
                    return False
            return True
        at.waited += BOUNDS["look_up"] if hangs else 0.0
        at.faulty.update(person.email for person in group)
        _not_confirmed(channel, group, error.why)
        return at.waited <= _PATIENCE


async def _look_up(channel: Channel, group: Sequence[Person]) -> Mapping[str, Account | None]:
    if len(group) > 1 and isinstance(channel, BatchChannel):
        return await channel.look_up_all(tuple(person.email for person in group))
    [person] = group
    named = person.accounts.get(channel.kind, "")
    return {person.email: await channel.look_up(email=person.email, account_id=named)}


def _groups(people: Sequence[Person], channel: Channel) -> Iterator[Sequence[Person]]:
    """Yield those who can be asked about together, and each of the others alone."""
    together: list[Person] = []
    takes_many = isinstance(channel, BatchChannel)
    for person in people:
        if not takes_many or person.accounts.get(channel.kind):
            yield [person]
            continue
        together.append(person)
        if len(together) == _AT_ONCE:
            yield together
            together = []
    if together:
        yield together


def _not_confirmed(channel: Channel, group: Sequence[Person], why: str) -> None:
    for person in group:
        log.warning("account.unconfirmed", channel=channel.name, person=person.email, why=why)


def _remember(channel: str, person: Person, account: Account | None):  # noqa: ANN202 - a unit of work
    def unit(tx: Tx) -> None:
        known = {each.person: each for each in list_of_channel(tx, channel)}.get(person.email)
        if account is None or not _says_less(account, known):
            put_account(tx, channel, person.email, account)

    return unit


def _says_less(account: Account, known: KnownAccount | None) -> bool:
    """Say whether an answer without a standing meets an earlier one, about the same account, that had one.

    What was closed stays closed, and what was active grows old and stops counting by itself.
    """
    return (
        known is not None
        and account.status is AccountStatus.UNKNOWN
        and known.account.status is not AccountStatus.UNKNOWN
        and known.account.account_id == account.account_id
    )


def _drop_strangers(channel: str, known: set[str]):  # noqa: ANN202 - a unit of work
    """Whoever left the file has no account here any more."""

    def unit(tx: Tx) -> None:
        for account in list_of_channel(tx, channel):
            if account.person not in known:
                put_account(tx, channel, account.person, None)

    return unit
