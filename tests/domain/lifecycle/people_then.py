"""Wishes about a waiting request, with people who may what a test says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.domain.lifecycle.wishes import Wish, Wished

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.lifecycle.wishes import People
    from app.domain.request.action import Action
    from app.domain.request.quorum import Electorate, Stage
    from app.domain.request.request import ConfirmationRequest


@dataclass(frozen=True)
class PeopleThen:
    """Who may vote now and afterwards, and whom the file lets take a place of each stage."""

    now: Electorate
    later: Electorate | None = None
    allowed: Mapping[Stage, frozenset[str]] = field(default_factory=dict)

    def voters(self) -> Electorate:
        return self.now

    def after(self, changed: ConfirmationRequest, /) -> Electorate:
        del changed
        assert self.later is not None
        return self.later

    def may_take(self, stage: Stage, /) -> frozenset[str]:
        return self.allowed[stage]


def wished(
    action: Action,
    by: str,
    people: People,
    *,
    whom: str = "",
    text: str = "",
    question_id: str | None = None,
    id_: str = "que",
    facts: Mapping[str, object] | None = None,
) -> Wished:
    """Return what somebody wants done; whatever comes to be gets the id `id_`."""
    wish = Wish(action=action, whom=whom, text=text, question_id=question_id)
    return Wished(wish=wish, by=by, people=people, new_id=lambda _: id_, facts=facts or {})
