"""Roles: what somebody may see and do in the console beside the requests that concern them.

Whoever asked for a call, and whoever decides it by the rules, has what that takes without being named anywhere: they
are its requester and its approvers. The other roles are given in the file, by name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from app.domain.people.people import email_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from app.domain.people.people import Directory

CLAIM = "claim:"
"""How a name begins that stands for a group which whoever signs a person in says that they are in."""


class Role(StrEnum):
    """What a person is in an org."""

    REQUESTER = "requester"
    APPROVER = "approver"
    AUDITOR = "auditor"
    OPERATOR = "operator"
    ADMIN = "admin"


BY_RULES = frozenset({Role.REQUESTER, Role.APPROVER})
"""What everybody of the file may be, each time by a request and its rules."""

GIVEN = tuple(role for role in Role if role not in BY_RULES)
"""What the file gives by name."""


def roles_of(
    directory: Directory, given: Mapping[Role, tuple[str, ...]], person: str, claims: Collection[str] = ()
) -> frozenset[Role]:
    """Return a person's roles at this instant; nobody's, for whom the file does not know."""
    known = directory.find(person)
    if known is None:
        return frozenset()
    who = email_key(known.email)

    def is_named(name: str) -> bool:
        if name.startswith(CLAIM):
            return name.removeprefix(CLAIM) in claims
        return who in {email_key(each) for each in directory.members(name)}

    return BY_RULES | {role for role, names in given.items() if any(map(is_named, names))}
