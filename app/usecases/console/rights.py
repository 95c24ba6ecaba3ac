"""What a person may see and do in the console: asked here, and nowhere else."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from app.domain.people.roles import Role, roles_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from app.domain.rules.policy import Policy


class Page(StrEnum):
    """A page, or what is done on one."""

    INBOX = "inbox"
    DECIDE = "decide"  # of a request that concerns the person: which one that is, the request says
    REQUEST = "request"
    TRAIL = "trail"
    PULSE = "pulse"
    RULES = "rules"
    SETTLE = "settle"  # say what became of an unknown outcome
    PAUSE = "pause"
    ADMIN = "admin"


_OWN = frozenset({Page.INBOX, Page.DECIDE, Page.REQUEST})
_OPENS: Mapping[Role, frozenset[Page]] = {
    Role.REQUESTER: _OWN,
    Role.APPROVER: _OWN,
    Role.AUDITOR: frozenset({Page.TRAIL, Page.PULSE, Page.RULES}),
    Role.OPERATOR: frozenset({Page.PULSE, Page.RULES, Page.SETTLE, Page.PAUSE}),
    Role.ADMIN: frozenset(Page),
}


def pages_for(policy: Policy, person: str, claims: Collection[str] = ()) -> frozenset[Page]:
    """Return all that a person may see, or do. `claims`: the groups that came with their session.

    Each page asks it of its session, in the unit that reads or acts (`refusal_for`).
    """
    roles = roles_of(policy.directory, policy.roles, person, claims)
    return frozenset(page for role in roles for page in _OPENS[role])


def roles_for(page: Page) -> tuple[Role, ...]:
    """Return the roles that open a page, in their order."""
    return tuple(role for role in Role if page in _OPENS[role])
