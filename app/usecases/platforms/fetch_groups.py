"""Ask the platforms who is in the groups that they keep: user groups, and departments where a platform has such.

What they say is used for a short time and kept nowhere: a platform that cannot be asked leaves a group as it was for
`TRUSTED_FOR`, and then nobody is in it. An account that is no confirmed, active account of a person of the file is
nobody as well, unless the group takes whoever it has by their verified e-mail: see `know_members`. Who is above whom is
asked beside it: see `fetch_managers`.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct
from msgspec.structs import replace

from app.ports import AccountStatus
from app.storage.cards.accounts import list_of_channel
from app.usecases.platforms.fetch_managers import FetchManagers
from app.usecases.platforms.know_members import KnowMembers, Roll

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from app.domain.people.people import Directory, GroupSource
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.cards.accounts import KnownAccount
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook

log = structlog.get_logger(__name__)

TRUSTED_FOR = timedelta(minutes=5)
"""How long a platform's word about a group counts. It is renewed every minute; older is not good enough."""

_PATIENCE = 20.0
"""Seconds for one group: one that never answers must not keep the others from growing old."""

_NOBODY: frozenset[str] = frozenset()


class FetchGroups:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, channels: ChannelBook, clock: Clock) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._channels = channels
        self._clock = clock
        self._told: dict[tuple[str, GroupSource], tuple[datetime, frozenset[str]]] = {}
        self._managers = FetchManagers(store=store, book=book, channels=channels, clock=clock)
        self._members = KnowMembers(store=store, channels=channels, clock=clock)

    async def __call__(self) -> None:
        """Ask for every group and manager of every org, and take the answers into use."""
        await asyncio.gather(*map(self.org, self._book.orgs()))  # beside each other: one that is slow ages no other

    async def org(self, org: str) -> None:
        """Ask for the groups of one org, and for its managers."""
        await asyncio.gather(self._groups(org), self._managers.org(org))

    async def _groups(self, org: str) -> None:
        sources = set(self._book.current(org).policy.directory.sources.values())
        listed = dict(zip(sources, await asyncio.gather(*(self._list(org, each) for each in sources)), strict=True))
        rolls = await self._settle(org, listed)
        if any(source.domains for source in sources):
            try:
                await self._members.ask(org, rolls, then=lambda: self._settle(org, listed))
            finally:
                await self._settle(org, listed)  # also where it was cut short: what was heard is of use

    async def _list(self, org: str, source: GroupSource) -> Listed:
        """Return the accounts in a group, as the platform says now, or said lately."""
        try:
            async with asyncio.timeout(_PATIENCE):
                accounts = frozenset(await self._channels.get(org, source.channel).group_members(source.source))
        except Exception as error:  # noqa: BLE001 - whatever went wrong, what was told before must grow old
            at, accounts = self._told.get((org, source), (None, _NOBODY))
            # Nor is one from the future good enough: a clock that was set back must not stretch the trust.
            stale = at is None or not timedelta(0) <= self._clock.now() - at <= TRUSTED_FOR
            why = str(error) or type(error).__name__
            log.warning("group.unresolved", group=source.source, why=why, nobody=stale)
            return Listed(accounts=_NOBODY if stale else accounts, is_told=False)
        self._told[org, source] = (self._clock.now(), accounts)
        return Listed(accounts=accounts)

    async def _settle(self, org: str, listed: Mapping[GroupSource, Listed]) -> dict[GroupSource, Roll]:
        """Take into use whose these accounts are, as far as that is known now.

        Not where the file has other groups by now: whoever took it into use asks for those.
        """

        def read(tx: Tx) -> dict[str, list[KnownAccount]]:
            return {channel: list_of_channel(tx, channel) for channel in {source.channel for source in listed}}

        known = await self._store.read(read, org=org, long=True) if listed else {}
        directory = self._book.current(org).policy.directory
        rolls: dict[GroupSource, Roll] = {}
        if set(listed) != set(directory.sources.values()):
            return rolls
        for source, each in listed.items():
            people, theirs = _people(known[source.channel], each.accounts, directory)
            rolls[source] = Roll(people=people, is_told=each.is_told)
            if source.domains:
                others = each.accounts - theirs
                rolls[source] = self._members.roll(org, source, others, rolls[source], directory)
            if (told := len(rolls[source].people) + len(rolls[source].joined)) < len(each.accounts):
                log.info("group.partly_known", group=source.source, accounts=len(each.accounts), people=told)
        staff = await self._members.settle(org, rolls, directory)
        told = {source: people for source, people in staff.rosters.items() if (org, source) in self._told}
        self._book.staff(org, replace(staff, rosters=told))
        return rolls


class Listed(Struct, frozen=True, kw_only=True):
    """The accounts that a platform has in a group."""

    accounts: frozenset[str]
    is_told: bool = True  # just now; else it is what it said before, or nothing


def _people(
    known: Sequence[KnownAccount], accounts: frozenset[str], directory: Directory
) -> tuple[frozenset[str], frozenset[str]]:
    """Return which people of the file these accounts are, and every account that is theirs, however it stands.

    An account of two people is nobody's.
    """
    owners: dict[str, list[KnownAccount]] = {}
    for each in known:
        person = directory.find(each.person)
        if person is not None and not person.joined:
            owners.setdefault(each.account.account_id, []).append(each)
    found = (
        directory.find(of[0].person)
        for account in accounts
        if len(of := owners.get(account, [])) == 1 and of[0].account.status is AccountStatus.ACTIVE
    )
    return frozenset(person.email for person in found if person is not None), frozenset(owners)
