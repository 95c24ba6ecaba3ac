"""Who may vote on a request right now: today's members of its groups, without the requester and the agent's owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.people import email_key
from app.domain.quorum import Electorate, electorate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.people import Directory
    from app.domain.quorum import Stage


def voters_of(stages: Sequence[Stage], barred: frozenset[str], directory: Directory) -> Electorate:
    """Return the electorate of `stages`. A group that no longer exists, or is empty, is nobody."""
    members = [frozenset[str]().union(*(directory.members(name) for name in stage.of)) for stage in stages]
    return electorate(stages, members, {email_key(who) for who in barred})
