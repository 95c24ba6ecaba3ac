"""Who can be asked: people by e-mail, and the groups that rules name.

An e-mail is compared whole, after NFKC and case folding: no prefix, no suffix, no display name ever stands for a
person. Whatever cannot be found is nobody.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOBODY: frozenset[str] = frozenset()


def email_key(email: str) -> str:
    """Return the form in which e-mails are compared."""
    return unicodedata.normalize("NFKC", email).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Someone who may be asked. `accounts` maps a channel kind (``slack``) to the immutable account id there."""

    email: str  # lower case; the person's id
    name: str
    accounts: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The people of an org by `email_key`, and the e-mails in each group."""

    people: Mapping[str, Person] = field(default_factory=dict[str, Person])
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def find(self, email: str) -> Person | None:
        """Return the person with this e-mail, or None."""
        return self.people.get(email_key(email))

    def find_by_account(self, kind: str, account_id: str) -> Person | None:
        """Return the one person whose account in the file is exactly this; None if nobody or several."""
        found = [person for person in self.people.values() if person.accounts.get(kind) == account_id]
        return found[0] if len(found) == 1 and account_id else None

    def members(self, name: str) -> frozenset[str]:
        """Return the e-mails that a stage's name stands for: a group's, or a known person's own. Unknown: nobody."""
        if "@" in name:
            person = self.find(name)
            return frozenset({person.email}) if person else _NOBODY
        return frozenset(email for email in self.groups.get(name, _NOBODY) if self.find(email))
