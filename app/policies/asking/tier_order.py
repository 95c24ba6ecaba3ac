"""What makes one way of asking laxer than another, as far as the file itself tells: fewer people, or less of a proof.

People are compared by their names there. Of two stages with other groups nobody can say here which is stricter: so a
stage of groups that the lower tier does not ask may stand in the place of any of its stages, with as many people.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from app.domain.request.quorum import stages_at
from app.domain.request.request import Risk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.domain.request.quorum import Stage
    from app.domain.rules.rule import Asking

_ALLOWANCES = ("allow_requester", "allow_owner", "allow_editor", "allow_alone")


def laxer_in(higher: Asking, lower: Asking) -> Iterator[tuple[str, str]]:
    """Yield each key in which a higher tier asks for less than the one below it, and what both of them say."""
    if higher.assurance < lower.assurance:
        yield "assurance", f"{higher.assurance.value} is less than {lower.assurance.value}"
    risks = tuple(Risk)
    if risks.index(higher.risk) < risks.index(lower.risk):
        yield "risk", f"{higher.risk.value} is less than {lower.risk.value}"
    if not higher.stages or not lower.stages:
        return  # a fault of its own
    above, below = stages_at(higher.stages, higher.assurance), stages_at(lower.stages, lower.assurance)
    if (why := _fewer(above, below)) is not None:
        yield "stages", why
    for key in _ALLOWANCES:
        if any(getattr(each, key) for each in above) and not any(getattr(each, key) for each in below):
            yield "stages", f"{key} stands here alone"


def _fewer(above: Sequence[Stage], below: Sequence[Stage]) -> str | None:
    """Return which people of the lower tier need not agree in the higher one, or None.

    For each set of its groups: as many people of them alone, or of groups that it does not ask.
    """
    known = frozenset(name for stage in below for name in stage.of)
    others = sum(stage.need for stage in above if known.isdisjoint(stage.of))
    for size in range(1, len(below) + 1):
        for chosen in combinations(below, size):
            names = frozenset(name for stage in chosen for name in stage.of)
            wanted, takes = _of_these(below, names), _of_these(above, names) + others
            if takes < wanted:
                return f"{wanted} of {', '.join(sorted(names))} must agree there, and {takes or 'none'} here"
    return None


def _of_these(stages: Sequence[Stage], names: frozenset[str]) -> int:
    """Return how many people have to agree who are in no other group than these."""
    return sum(stage.need for stage in stages if names.issuperset(stage.of))
