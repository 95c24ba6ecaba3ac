"""What a person is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.domain.rules.policy import Policy


def name_of(policy: Policy, email: str) -> str:
    """Return how people call a person; whoever the file does not know is called by their id."""
    person = policy.directory.find(email)
    return person.name if person else email
