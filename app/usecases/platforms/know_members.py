"""Know who is in a platform's group though nobody wrote them down: by the e-mail that the platform vouches for.

Only where the file says so of a group (``members: verified``), and of whose domains. Then a member counts as the person
of that e-mail for as long as the platform says all of it: that they are in the group, that the account is active and
ours, and that the address is theirs. Their account stands beside those of the file's people, so that whatever holds for
these holds for them. Nobody takes the e-mail of somebody who is written down: that person is known by the file's rules
alone. Nor does anybody get a second voice by a second address of one mailbox, or a second account of one address.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from app.abilities.directories import IdentifyingChannel, Member
from app.domain.people.people import Person, Staff
from app.domain.trail.audit import Kind, Record
from app.ports import AccountStatus
from app.storage.cards.accounts import list_of_channel, put_account
from app.usecases.platforms.asked_now import list_unfinished
from app.usecases.platforms.hearing import Hearing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from app.domain.people.people import Directory, GroupSource
    from app.ports import Account, Clock
    from app.storage.cards.accounts import KnownAccount
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook

UNVERIFIED, TAKEN = "email_unverified", "email_taken"
"""Why an account of such a group is nobody here, as whoever presses with it is told."""

_ADDRESS = re.compile(r"[^\s@+]{1,64}@[^\s@]{1,189}")
"""No `+`: what stands behind one is another address of the same mailbox."""


class Roll(Struct, frozen=True, kw_only=True):
    """Who is in one group: people of the file; those who joined, and those who are neither, by account.

    `unheard` are accounts of the group of which the platform has not said yet who they are.
    """

    people: frozenset[str] = frozenset()
    joined: Mapping[str, Member] = field(default_factory=dict[str, Member])
    turned_away: Mapping[str, str] = field(default_factory=dict[str, str])
    unheard: frozenset[str] = frozenset()
    is_told: bool = True  # just now; else it is what was told before, or nothing


class _Wanted(Struct, frozen=True):
    """What the accounts of one channel should be, besides those of the file's people."""

    joined: Mapping[str, Account]
    fresh: frozenset[str]  # accounts that were confirmed just now
    left: bool  # whether all was told, so that whoever is not there has left
    unheard: frozenset[str]


class KnowMembers:
    """Says who they are, and keeps their accounts beside those of the file's people."""

    def __init__(self, *, store: Store, channels: ChannelBook, clock: Clock) -> None:
        """Take what it works on."""
        self._store = store
        self._channels = channels
        self._clock = clock
        self._heard: dict[tuple[str, str], Hearing[Member]] = {}  # by org and channel
        self._fresh: dict[tuple[str, str], set[str]] = {}

    async def ask(self, org: str, rolls: Mapping[GroupSource, Roll], *, then: Callable[[], Awaitable[object]]) -> None:
        """Ask who the members are, first about those whose votes wait to be counted; `then` takes it into use."""
        members: dict[str, set[str]] = {}
        for source, roll in rolls.items():
            if source.domains:
                members.setdefault(source.channel, set()).update(roll.joined, roll.turned_away, roll.unheard)
        await asyncio.gather(*(self._ask(org, channel, accounts, then) for channel, accounts in members.items()))

    async def _ask(self, org: str, name: str, accounts: set[str], then: Callable[[], Awaitable[object]]) -> None:
        channel = self._channels.find(org, name)
        if not isinstance(channel, IdentifyingChannel):
            return
        hearing = self._hearing(org, name)
        fresh = self._fresh.setdefault((org, name), set())
        due = hearing.due(accounts)
        if len(due) > 1:
            voted = await self._store.read(lambda tx: _voted(tx, name), org=org, long=True)
            due.sort(key=lambda account: account not in voted)

        async def identify(group: tuple[str, ...]) -> Mapping[str, Member]:
            found = await channel.identify(group)
            fresh.update(account for account, member in found.items() if not member.withheld)
            return found

        await hearing.round(due, at_once=channel.members_at_once, ask=identify, then=then)

    def _hearing(self, org: str, name: str) -> Hearing[Member]:
        return self._heard.setdefault((org, name), Hearing("members", name, clock=self._clock))

    def roll(self, org: str, source: GroupSource, accounts: frozenset[str], roll: Roll, directory: Directory) -> Roll:
        """Return the roll of a group with those of its accounts that no person of the file has."""
        hearing = self._hearing(org, source.channel)
        heard = {account: member for account in sorted(accounts) if (member := hearing.said(account)) is not None}
        turned_away = {account: why_not(member, source, directory) for account, member in heard.items()}
        return replace(
            roll,
            joined={account: member for account, member in heard.items() if not turned_away[account]},
            turned_away={account: why for account, why in turned_away.items() if why},
            unheard=accounts - heard.keys(),
        )

    async def settle(self, org: str, rolls: Mapping[GroupSource, Roll], directory: Directory) -> Staff:
        """Return who is in the groups, and keep the accounts of those who joined."""
        named = _accounts_of(rolls)
        one = {at: accounts[0] for at, accounts in named.items() if len(accounts) == 1}
        for channel in sorted({source.channel for source in rolls if source.domains}):
            joined = {email: account for (at, email), account in one.items() if at == channel}
            await self._keep(org, channel, rolls, joined, directory)
        why = {
            (source.channel, account): why
            for source, roll in rolls.items()
            for account, why in roll.turned_away.items()
        }
        why |= {(channel, each.account_id): TAKEN for (channel, _), of in named.items() if len(of) > 1 for each in of}
        return Staff(
            rosters={
                source: roll.people | {who for who in _emails(roll) if (source.channel, who) in one}
                for source, roll in rolls.items()
            },
            joined=tuple(Person(email=who, name=who, joined=True) for who in sorted({who for _, who in one})),
            turned_away=why,
        )

    def _taken(self, org: str, channel: str) -> frozenset[str]:
        """Return the accounts that were confirmed since this was last asked."""
        fresh = self._fresh.get((org, channel), set())
        taken = frozenset(fresh)
        fresh.clear()
        return taken

    async def _keep(
        self,
        org: str,
        channel: str,
        rolls: Mapping[GroupSource, Roll],
        joined: Mapping[str, Account],
        directory: Directory,
    ) -> None:
        """Let the accounts of a channel be those: what has changed is an event of the trail."""
        of = {source: roll for source, roll in rolls.items() if source.channel == channel and source.domains}
        wanted = _Wanted(
            joined=joined,
            fresh=self._taken(org, channel),
            left=all(roll.is_told for roll in of.values()),
            unheard=frozenset[str]().union(*(roll.unheard for roll in of.values())),
        )
        names = {name: _emails(of[source]) for name, source in directory.sources.items() if source in of}
        groups = {email: sorted(name for name, emails in names.items() if email in emails) for email in joined}

        def unit(tx: Tx) -> None:
            known = {each.person: each for each in list_of_channel(tx, channel)}
            for email in _gone(known, wanted, directory):
                put_account(tx, channel, email, None)
                facts = {"person": email, "channel": channel, "account": known[email].account.account_id}
                tx.append(Record(kind=Kind.MEMBER_LEFT, actor="system", facts=facts))
            for email in _due(known, wanted):
                account = joined[email]
                put_account(tx, channel, email, account)
                if email not in known or known[email].account.account_id != account.account_id:
                    said = {"person": email, "channel": channel, "account": account.account_id, "groups": groups[email]}
                    tx.append(Record(kind=Kind.MEMBER_JOINED, actor="system", facts=said))

        rows = await self._store.read(lambda tx: list_of_channel(tx, channel), org=org, long=True)
        now = {each.person: each for each in rows}
        if _gone(now, wanted, directory) or _due(now, wanted):
            await self._store.write(unit, org=org)


def _voted(tx: Tx, channel: str) -> frozenset[str]:
    """Return the accounts of a channel that voted on what waits: to be decided, or to be claimed."""
    evidence = (vote.evidence for request in list_unfinished(tx) for vote in request.decisions)
    return frozenset(each.account_id for each in evidence if each.channel == channel)


def why_not(member: Member, source: GroupSource, directory: Directory) -> str:
    """Say why a member counts as nobody: the key of what they are told. "": they count."""
    if member.account.status is not AccountStatus.ACTIVE:
        return "unknown" if member.account.status is AccountStatus.UNKNOWN else "inactive"
    email = member.email
    plain = email.isascii() and unicodedata.normalize("NFKC", email) == email
    if not plain or not _ADDRESS.fullmatch(email) or email.lower().rpartition("@")[2] not in source.domains:
        return UNVERIFIED
    written = directory.find(email)
    return TAKEN if written is not None and not written.joined else ""


def _emails(roll: Roll) -> frozenset[str]:
    return frozenset(member.email.lower() for member in roll.joined.values())


def _accounts_of(rolls: Mapping[GroupSource, Roll]) -> dict[tuple[str, str], list[Account]]:
    """Return which accounts an e-mail has in each channel, over all its groups: by channel and e-mail."""
    found: dict[tuple[str, str], dict[str, Account]] = {}
    for source, roll in rolls.items():
        for account, member in roll.joined.items():
            found.setdefault((source.channel, member.email.lower()), {})[account] = member.account
    return {at: list(accounts.values()) for at, accounts in found.items()}


def _gone(known: Mapping[str, KnownAccount], wanted: _Wanted, directory: Directory) -> list[str]:
    """Return whose account here is none any more. Nobody is gone because a platform has not answered yet."""
    if not wanted.left:
        return []
    written = {who for who in known if (person := directory.find(who)) is not None and not person.joined}
    gone = known.keys() - written - wanted.joined.keys()
    return sorted(who for who in gone if known[who].account.account_id not in wanted.unheard)


def _due(known: Mapping[str, KnownAccount], wanted: _Wanted) -> list[str]:
    """Return whose account is to be written: it is new, another, or was confirmed anew."""
    return sorted(
        who
        for who, account in wanted.joined.items()
        if who not in known or known[who].account.account_id != account.account_id or account.account_id in wanted.fresh
    )
