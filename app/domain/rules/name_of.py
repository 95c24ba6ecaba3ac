"""What a person is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.people.people import RELATIONS
from app.domain.words.say import say

if TYPE_CHECKING:
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language


def name_of(policy: Policy, email: str, language: Language | None = None) -> str:
    """Return how people call a person or, in a language, a group; what the file does not name is called by its id."""
    person = policy.directory.find(email)
    if email in RELATIONS and language is not None:
        return say(language, f"relation.{email}")
    if person is None and language is not None:
        return policy.directory.names.get(email, {}).get(language.value, email)
    return person.name if person else email
