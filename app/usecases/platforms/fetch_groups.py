"""Ask the platforms who is in the groups that they keep: user groups, and departments where a platform has such.

What they say is used for a short time and kept nowhere: a platform that cannot be asked leaves a group as it was for
`TRUSTED_FOR`, and then nobody is in it. An account that is no confirmed, active account of a person of the file is
nobody as well. Who is above whom is asked beside it: see `fetch_managers`.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from app.ports import AccountStatus
from app.storage.cards.accounts import list_of_channel
from app.usecases.platforms.fetch_managers import FetchManagers

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.people.people import GroupSource
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
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

    async def __call__(self) -> None:
        """Ask for every group and manager of every org, and take the answers into use."""
        await asyncio.gather(*map(self.org, self._book.orgs()))  # beside each other: one that is slow ages no other

    async def org(self, org: str) -> None:
        """Ask for the groups of one org, and for its managers."""
        await asyncio.gather(self._groups(org), self._managers.org(org))

    async def _groups(self, org: str) -> None:
        sources = set(self._book.current(org).policy.directory.sources.values())
        if not sources:
            return
        rosters = await asyncio.gather(*(self._roster(org, source) for source in sources))
        self._book.staff(org, dict(zip(sources, rosters, strict=True)))

    async def _roster(self, org: str, source: GroupSource) -> frozenset[str]:
        try:
            async with asyncio.timeout(_PATIENCE):
                accounts = frozenset(await self._channels.get(org, source.channel).group_members(source.source))
                people = await self._people(org, source.channel, accounts)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, what was told before must grow old
            at, people = self._told.get((org, source), (None, _NOBODY))
            # Nor is one from the future good enough: a clock that was set back must not stretch the trust.
            stale = at is None or not timedelta(0) <= self._clock.now() - at <= TRUSTED_FOR
            why = str(error) or type(error).__name__
            log.warning("group.unresolved", group=source.source, why=why, nobody=stale)
            return _NOBODY if stale else people
        if len(people) < len(accounts):
            log.info("group.partly_known", group=source.source, accounts=len(accounts), people=len(people))
        self._told[org, source] = (self._clock.now(), people)
        return people

    async def _people(self, org: str, channel: str, accounts: frozenset[str]) -> frozenset[str]:
        """Return whose these accounts are. An account of two people is nobody's."""
        known = await self._store.read(lambda tx: list_of_channel(tx, channel), org=org, long=True)
        owners: dict[str, list[str]] = {}
        for each in known:
            if each.account.status is AccountStatus.ACTIVE:
                owners.setdefault(each.account.account_id, []).append(each.person)
        directory = self._book.current(org).policy.directory
        found = (directory.find(owners[one][0]) for one in accounts if len(owners.get(one, ())) == 1)
        return frozenset(person.email for person in found if person is not None)
