"""Who can be asked: people by e-mail, and the groups that rules name.

An e-mail is compared whole, after NFKC and case folding: no prefix, no suffix, no display name ever stands for a
person. Whatever cannot be found is nobody.
"""

from __future__ import annotations

import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from decimal import Decimal

_NOBODY: frozenset[str] = frozenset()
REQUESTER, OWNER, MANAGER = "requester", "owner", "manager"
RELATIONS = (REQUESTER, OWNER, MANAGER)
"""Words of the file for people who are others with each call: no group is called so."""


def email_key(email: str) -> str:
    """Return the form in which e-mails are compared."""
    return unicodedata.normalize("NFKC", email).casefold()


class Away(Struct, frozen=True, kw_only=True):
    """Days, the first and the last included, on which `to` may act for somebody."""

    first: date
    last: date
    to: str  # e-mail of a person of the file


class Amount(Struct, frozen=True, kw_only=True):
    """What a call would spend, exactly."""

    value: Decimal
    currency: str


class Person(Struct, frozen=True, kw_only=True):
    """Someone who may be asked. `accounts` maps a channel kind (its ``type``) to the immutable account id there.

    `limits` by currency: they may approve no more than that, and nothing of which the amount is not known. None: no
    limit. `away` never overlaps, so that one person at most acts for another.
    """

    email: str  # lower case; the person's id
    name: str
    accounts: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: Mapping[str, Decimal] | None = None
    away: tuple[Away, ...] = ()
    manager: str | None = None  # e-mail of a person of the file
    joined: bool = False  # nobody wrote them down: a platform's group has them, and vouches for the e-mail
    language: str | None = None  # what their own copies, notes and pages are written in; None: the channel's

    def may_approve(self, amount: Amount | None) -> bool:
        """Say whether a call is within this person's limits. An unknown amount, or another currency, is not."""
        if self.limits is None:
            return True
        most = self.limits.get(amount.currency) if amount else None
        return amount is not None and most is not None and amount.value.copy_abs() <= most  # abs() would round

    def delegate_on(self, day: date) -> str | None:
        """Return the e-mail of whoever may act for this person on a day."""
        return next((away.to for away in self.away if away.first <= day <= away.last), None)


class GroupSource(Struct, frozen=True, kw_only=True):
    """A group that a platform keeps: asked for by `source`, in the platform's own words, over one of our channels.

    `domains`: whoever is in it with a verified e-mail of one of these counts, written down or not; (): people of the
    file alone.
    """

    channel: str
    source: str
    domains: tuple[str, ...] = ()


class Staff(Struct, frozen=True, kw_only=True):
    """Who is in the platforms' groups, as they were last told.

    `joined` are those whom nobody wrote down. `turned_away`: why an account that is in such a group is nobody here, by
    channel and account: the key of a sentence.
    """

    rosters: Mapping[GroupSource, frozenset[str]] = field(default_factory=dict[GroupSource, "frozenset[str]"])
    """Without the groups of which the platform has not said a word since the start."""
    joined: tuple[Person, ...] = ()
    turned_away: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


class Told(Struct, frozen=True, kw_only=True):
    """What the platforms' directories say of somebody's manager: one person of the file, or nobody, and why."""

    manager: str | None = None
    why: str = ""
    is_untold: bool = False  # there is nobody yet: a directory that may know has not said a word since the start


class Directory(Struct, frozen=True, kw_only=True, dict=True):
    """The people of an org by `email_key`, and the e-mails in each group.

    A group with a source in `sources` has nobody in it until the platform has been asked: see `staffed`.
    """

    people: Mapping[str, Person] = field(default_factory=dict[str, Person])
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    sources: Mapping[str, GroupSource] = field(default_factory=dict[str, GroupSource])
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])
    """What people call a group, by language, where the file says so."""
    told: Mapping[str, Told] = field(default_factory=dict[str, Told])
    """By e-mail, of those of whom the file names no manager: see `manager_of`."""
    turned_away: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    untold: frozenset[str] = frozenset()
    """The groups of which no platform has said a word since the start."""

    @cached_property
    def limited(self) -> tuple[Person, ...]:
        """Those with limits, found once: where there are none, nobody asks what a call would spend."""
        return tuple(who for who in self.people.values() if who.limits is not None)

    @cached_property
    def absent(self) -> tuple[Person, ...]:
        """Those who are away on some day, found once: where there are none, nobody asks which day it is."""
        return tuple(who for who in self.people.values() if who.away)

    def over_limit(self, amount: Amount | None) -> frozenset[str]:
        """Return the people who may not approve as much, by e-mail."""
        return frozenset(who.email for who in self.limited if not who.may_approve(amount))

    def staffed(self, staff: Staff) -> Directory:
        """Return the directory with the platforms' groups as they were last told; one that was not told is empty.

        Who is written down is whom the file says, whatever a platform says of the same e-mail.
        """
        told = {name: staff.rosters.get(source, _NOBODY) for name, source in self.sources.items()}
        members = _NOBODY.union(*told.values())  # of the groups that this file has
        written = {key: person for key, person in self.people.items() if not person.joined}
        joined = {email_key(person.email): person for person in staff.joined if person.email in members}
        people = written | {key: person for key, person in joined.items() if key not in written}
        untold = {name for name, source in self.sources.items() if source not in staff.rosters}
        return replace(
            self,
            people=people,
            groups={**self.groups, **told},
            turned_away=staff.turned_away,
            untold=frozenset(untold),
        )

    def manager_of(self, person: Person) -> str | None:
        """Return the e-mail of somebody's manager. A directory is asked only where the file names none.

        The file is what was reviewed, and what a request's version of it names; a directory is written elsewhere, for
        other purposes, by whoever administers it.
        """
        told = self.told.get(person.email)
        return person.manager or (told.manager if told else None)

    def find(self, email: str) -> Person | None:
        """Return the person with this e-mail, or None."""
        return self.people.get(email_key(email))

    def find_by_account(self, kind: str, account_id: str) -> Person | None:
        """Return the one person whose account in the file is exactly this; None if nobody or several."""
        found = [person for person in self.people.values() if person.accounts.get(kind) == account_id]
        return found[0] if len(found) == 1 and account_id else None

    def acting_on(self, day: date) -> tuple[tuple[str, str], ...]:
        """Return who may act for whom on a day, as (delegate, person away). A delegate's delegate acts for nobody."""
        pairs = ((person.delegate_on(day), person.email) for person in self.absent)
        known = ((self.find(to), of) for to, of in pairs if to is not None)
        return tuple((delegate.email, of) for delegate, of in known if delegate is not None)

    def named(self, name: str, *, requester: str | None, owner: str | None) -> frozenset[str]:
        """Return the e-mails that a name stands for where a call for `requester` by `owner`'s agent is meant."""
        if name not in RELATIONS:
            return self.members(name)
        asked = self.find(requester) if requester else None
        related = {REQUESTER: requester, OWNER: owner, MANAGER: self.manager_of(asked) if asked else None}
        return self.members(related[name] or "@")

    def ever(self, name: str) -> frozenset[str]:
        """Return who a name may stand for, whatever the call is, as far as the file and the directories say."""
        if name != MANAGER:
            return self.members(name)
        return frozenset(filter(None, map(self.manager_of, self.people.values())))

    def members(self, name: str) -> frozenset[str]:
        """Return the e-mails that a stage's name stands for: a group's, or a known person's own. Unknown: nobody."""
        if "@" in name:
            person = self.find(name)
            return frozenset({person.email}) if person else _NOBODY
        return frozenset(email for email in self.groups.get(name, _NOBODY) if self.find(email))
