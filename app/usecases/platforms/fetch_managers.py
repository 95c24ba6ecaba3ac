"""Ask the platforms' directories who is above whom: what the word `manager` means where the file names nobody.

As with groups, what they say is kept nowhere and grows old: a directory that cannot be asked, or withholds it, leaves
what it said before for `TRUSTED_FOR`, and then there is no manager. It names accounts; a manager is the one person of
the file whose confirmed, active account that is. Directories that do not agree, and whoever is named as their own
manager, leave nobody. Why there is nobody is kept too, in words: a call is refused with them.

Each round asks for a few seconds and goes on in the next: first about those whose requests wait for an answer or to be
claimed, then about those of whom nothing was asked for longest.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import structlog

from app.directories import ReportingChannel, ReportsTo
from app.domain.people.people import Told, email_key
from app.domain.request.request import Status
from app.ports import AccountStatus, ChannelUnavailableError
from app.storage.cards.accounts import list_of_channel
from app.storage.requests.request_lists import END_OF_TIME, list_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from app.domain.people.people import Directory, Person
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.cards.accounts import KnownAccount
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook

log = structlog.get_logger(__name__)

TRUSTED_FOR = timedelta(hours=1)
"""How long a directory's word counts: as long as that about an account does."""

EVERY = timedelta(minutes=5)
"""How often somebody is asked about. Who is above whom changes seldom, and some directories tell one at a time."""

_PATIENCE = 20.0
"""Seconds that a round goes on asking one directory."""

_FAILURES = 3
"""Calls that fail one after the other before a round gives up: one account that cannot be asked about is no reason."""

_LOOKED_AT = 100
"""Requests that wait, and as many that are approved, the newest: whom they are for is asked about first."""

_IN_USE_AFTER = 50
"""People after whom what was heard is taken into use, where a directory tells of one at a time."""

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Heard:
    """What one directory said, by account; when somebody was last asked about; and when it may be asked again."""

    said: dict[str, tuple[datetime, ReportsTo]] = field(default_factory=dict[str, tuple[datetime, ReportsTo]])
    asked: dict[str, datetime] = field(default_factory=dict[str, datetime])
    not_before: float = 0.0  # by the monotonic clock


@dataclass(frozen=True, slots=True)
class _Accounts:
    """Whose account is which in one channel. One of two people is nobody's."""

    of: Mapping[str, str]  # by person
    owners: Mapping[str, str]  # by account, of the active ones


class _Word(NamedTuple):
    """What one directory says of one person's manager."""

    manager: str | None
    why: str = ""
    another: bool = False  # it names somebody, who is nobody here


class FetchManagers:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        channels: ChannelBook,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._channels = channels
        self._clock = clock
        self._monotonic = monotonic
        self._heard: dict[tuple[str, str], _Heard] = {}  # by org and channel

    async def org(self, org: str) -> None:
        """Ask the directories of one org, beside each other, and take what they say into use as it comes."""
        try:
            await asyncio.gather(*(self._round(org, name, channel) for name, channel in self._telling(org).items()))
        finally:
            await self._use(org)  # whatever went wrong, what was told before must grow old

    def _telling(self, org: str) -> dict[str, ReportingChannel]:
        return {
            name: channel
            for (of, name), channel in self._channels.all().items()
            if of == org and isinstance(channel, ReportingChannel) and channel.managers_at_once > 0
        }

    async def _round(self, org: str, name: str, channel: ReportingChannel) -> None:
        """Ask one directory about those who are due."""
        heard = self._heard.setdefault((org, name), _Heard())
        until, failed = self._monotonic() + _PATIENCE, 0
        due = await self._due(org, name, heard)
        for start in range(0, len(due), channel.managers_at_once):
            now = self._monotonic()
            if now < heard.not_before or now >= until or failed >= _FAILURES:
                return
            group = due[start : start + channel.managers_at_once]
            heard.asked |= dict.fromkeys(group, self._clock.now())
            failed = 0 if await self._ask(name, channel, group, heard) else failed + 1
            if start % _IN_USE_AFTER == 0:
                await self._use(org)  # a long list is of use before it is at its end

    async def _ask(self, name: str, channel: ReportingChannel, group: Sequence[str], heard: _Heard) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE):
                answers = await channel.reports_to(tuple(group))
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the others are asked and this one grows old
            if isinstance(error, ChannelUnavailableError) and error.retry_after is not None:
                heard.not_before = self._monotonic() + error.retry_after.total_seconds()
            log.warning("managers.untold", channel=name, people=len(group), why=str(error) or type(error).__name__)
            return False
        now = self._clock.now()
        for account in group:
            answer = answers.get(account)
            # What is withheld now may have been told before: that grows old by itself, as it does where nothing comes.
            if answer is not None and (not answer.withheld or account not in heard.said):
                heard.said[account] = (now, answer)
        if withheld := [answer.withheld for answer in answers.values() if answer.withheld]:
            log.error("managers.withheld", channel=name, people=len(withheld), why=withheld[0], mend="assent doctor")
        return True

    async def _due(self, org: str, name: str, heard: _Heard) -> list[str]:
        """Return the accounts to ask about now, in order."""
        accounts = (await self._accounts(org, [name]))[name].of
        now = self._clock.now()
        due: list[tuple[Person, str]] = []
        for person in self._book.current(org).policy.directory.people.values():
            account = accounts.get(person.email)
            if person.manager is None and account and not now - EVERY < heard.asked.get(account, _NEVER) <= now:
                due.append((person, account))
        if len(due) > 1:
            waiting = await self._store.read(_requesters, org=org, long=True)
            due.sort(key=lambda each: (email_key(each[0].email) not in waiting, heard.asked.get(each[1], _NEVER)))
        return [account for _, account in due]

    async def _accounts(self, org: str, channels: Iterable[str]) -> dict[str, _Accounts]:
        def read(tx: Tx) -> dict[str, list[KnownAccount]]:
            return {name: list_of_channel(tx, name) for name in channels}

        tables = await self._store.read(read, org=org, long=True)
        return {name: _whose(table) for name, table in tables.items()}

    async def _use(self, org: str) -> None:
        """Take what counts now into use."""
        telling = self._telling(org)
        directory = self._book.current(org).policy.directory
        accounts = await self._accounts(org, telling) if telling else {}
        told = {
            person.email: _agreed([self._word(org, name, person, of, directory) for name, of in accounts.items()])
            for person in directory.people.values()
            if accounts and person.manager is None
        }
        self._book.tell_managers(org, told)

    def _word(self, org: str, name: str, person: Person, accounts: _Accounts, directory: Directory) -> _Word:
        """Return what one directory says of one person."""
        account = accounts.of.get(person.email)
        if account is None:
            return _Word(None, f"{name} knows no account of theirs")
        at, answer = self._heard.get((org, name), _Heard()).said.get(account, (_NEVER, None))
        # Nor is an answer from the future good enough: a clock that was set back must not stretch the trust.
        if answer is None or not timedelta(0) <= self._clock.now() - at <= TRUSTED_FOR:
            return _Word(None, f"{name} has not told who it is")
        if answer.withheld:
            return _Word(None, f"{name} withholds who it is: {answer.withheld}")
        if not answer.account_id:
            return _Word(None, f"{name} names none")
        named = directory.find(accounts.owners.get(answer.account_id, ""))
        if named is None:
            return _Word(None, f"whom {name} names is nobody under people with an active account there", another=True)
        if named.email == person.email:
            return _Word(None, f"{name} names them as their own", another=True)
        return _Word(named.email)


def _agreed(words: Sequence[_Word]) -> Told:
    """Return the one person whom the directories name. One that names somebody else, whoever it is, leaves nobody."""
    named = {word.manager for word in words if word.manager is not None}
    others = [word for word in words if word.another]
    if len(named) > 1 or (named and others):
        return Told(why="the directories do not name one and the same person")
    return Told(manager=named.pop()) if named else Told(why=", and ".join(word.why for word in words))


def _whose(table: Sequence[KnownAccount]) -> _Accounts:
    people: dict[str, list[KnownAccount]] = {}
    for each in table:
        people.setdefault(each.account.account_id, []).append(each)
    alone = [known[0] for known in people.values() if len(known) == 1]
    return _Accounts(
        of={each.person: each.account.account_id for each in alone if each.account.status.reachable},
        owners={each.account.account_id: each.person for each in alone if each.account.status is AccountStatus.ACTIVE},
    )


def _requesters(tx: Tx) -> frozenset[str]:
    """Return for whom requests wait: for an answer, or to be claimed."""
    found = (
        list_requests(tx, filters={"status": status.value}, before=(END_OF_TIME, ""), most=_LOOKED_AT)
        for status in (Status.PENDING, Status.APPROVED)
    )
    return frozenset(email_key(each.call.requester) for page in found for each in page if each.call.requester)
