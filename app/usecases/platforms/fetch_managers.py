"""Ask the platforms' directories who is above whom: what the word `manager` means where the file names nobody.

As with groups, what they say is kept nowhere and grows old: a directory that cannot be asked, or withholds it, leaves
what it said before for an hour, and then there is no manager. It names accounts; a manager is the one person of
the file whose confirmed, active account that is. Directories that do not agree, and whoever is named as their own
manager, leave nobody. Why there is nobody is kept too, in words: a call is refused with them.

Those whose requests wait for an answer, or to be claimed, are asked about first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from app.abilities.directories import ReportingChannel, ReportsTo
from app.domain.people.people import Told, email_key
from app.ports import AccountStatus
from app.storage.cards.accounts import list_of_channel
from app.usecases.platforms.asked_now import list_unfinished
from app.usecases.platforms.hearing import Hearing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.people.people import Directory, Person
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.cards.accounts import KnownAccount
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook


class _Accounts(Struct, frozen=True):
    """Whose account is which in one channel. One of two people is nobody's."""

    of: Mapping[str, str]  # by person
    owners: Mapping[str, str]  # by account, of the active ones


class _Word(NamedTuple):
    """What one directory says of one person's manager."""

    manager: str | None
    why: str = ""
    another: bool = False  # it names somebody, who is nobody here
    is_untold: bool = False  # it has not said anything of them since the start


class FetchManagers:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        channels: ChannelBook,
        clock: Clock,
    ) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._channels = channels
        self._clock = clock
        self._heard: dict[tuple[str, str], Hearing[ReportsTo]] = {}  # by org and channel

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
        hearing = self._hearing(org, name)
        due = await self._due(org, name, hearing)
        await hearing.round(due, at_once=channel.managers_at_once, ask=channel.reports_to, then=lambda: self._use(org))

    def _hearing(self, org: str, name: str) -> Hearing[ReportsTo]:
        return self._heard.setdefault((org, name), Hearing("managers", name, clock=self._clock))

    async def _due(self, org: str, name: str, hearing: Hearing[ReportsTo]) -> list[str]:
        """Return the accounts to ask about now, in order."""
        accounts = (await self._accounts(org, [name]))[name].of
        people = self._book.current(org).policy.directory.people.values()
        owners = {accounts[each.email]: each for each in people if each.manager is None and each.email in accounts}
        due = hearing.due(owners)
        if len(due) > 1:
            waiting = await self._store.read(_requesters, org=org, long=True)
            due.sort(key=lambda account: email_key(owners[account].email) not in waiting)
        return due

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
        hearing = self._hearing(org, name)
        answer = hearing.said(account)
        if answer is None:
            return _Word(None, f"{name} has not told who it is", is_untold=not hearing.ever_said(account))
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
    if named:
        return Told(manager=named.pop())
    return Told(why=", and ".join(word.why for word in words), is_untold=any(word.is_untold for word in words))


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
    return frozenset(email_key(each.call.requester) for each in list_unfinished(tx) if each.call.requester)
