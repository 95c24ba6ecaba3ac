"""Of several answers to one call the strictest: deny before ask before allow. More voices may add to it, never drop.

A sub-agent's call is judged for the sub-agent and for every agent above it; hooks, flags of the catalogue and the
caller itself may want people to be asked where the rules would not.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.request.request import Risk
from app.domain.rules.policy import Allow, Ask, Deny, Policy, Ruling, ask_or_deny
from app.domain.rules.rule import Asking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.request.quorum import Stage


class Wish(Struct, frozen=True, kw_only=True):
    """Somebody other than the rules wants people to be asked: who (a hook's id, a flag, the caller), and why."""

    by: str
    reason: str


def strictest(own: Ruling, inherited: Sequence[tuple[str, Ruling]]) -> Ruling:
    """Return the strictest of the agent's own ruling and those that bind it besides, each by whose (or of what) it is.

    Where several ask, all of their people must say yes, within the shortest of their times.
    """
    if not inherited:
        return own
    rulings = [own, *(_as_inherited(agent, ruling) for agent, ruling in inherited)]
    denials = [ruling for ruling in rulings if isinstance(ruling, Deny)]
    if denials:
        return denials[0]
    questions = [ruling for ruling in rulings if isinstance(ruling, Ask)]
    if questions:
        return _together(questions)
    allowing = [ruling for ruling in rulings if isinstance(ruling, Allow)]
    recorded = any(ruling.record for ruling in allowing)
    return replace(own, record=recorded, otherwise=_otherwise(allowing)) if isinstance(own, Allow) else own


def at_least_ask(ruling: Ruling, wishes: Sequence[Wish], policy: Policy) -> Ruling:
    """Raise an allow to its rule's question, or the org's, where somebody wants people to be asked; a denial stays.

    A rule that asks keeps its people and gets the reasons besides. Without an `ask` in the file the answer is no.
    """
    if not wishes or isinstance(ruling, Deny):
        return ruling
    reasons = "; ".join(dict.fromkeys(wish.reason for wish in wishes))
    if isinstance(ruling, Ask):
        asking = ruling.asking.each_time  # what was permitted beforehand is no answer to anybody's wish
        return replace(ruling, reason=f"{ruling.reason} Besides: {reasons}", asking=asking)
    asking = ruling.otherwise or policy.ask
    each_time = asking.each_time if asking is not None else None
    return ask_or_deny(policy, wishes[0].by, reasons, each_time, ruling.trace)


def _otherwise(allowing: Sequence[Allow]) -> Asking | None:
    """Put together whom each of them would ask; None if one of them has nobody to ask."""
    askings = [ruling.otherwise for ruling in allowing if ruling.otherwise is not None]
    if len(askings) < len(allowing):
        return None
    return askings[0] if all(asking == askings[0] for asking in askings) else _joined(askings)


def _as_inherited(agent: str, ruling: Ruling) -> Ruling:
    return replace(ruling, reason=f"{ruling.reason} (as for {agent}, whose rules bind this call as well)")


def _together(questions: Sequence[Ask]) -> Ask:
    first = questions[0]
    askings = [question.asking for question in questions]
    return replace(
        first,
        reason=" ".join(dict.fromkeys(question.reason for question in questions)),
        trace=tuple(chain.from_iterable(question.trace for question in questions)),
        asking=_joined(askings),
    )


def _joined(askings: Sequence[Asking]) -> Asking:
    """Put together what several rules say of how people are asked: all people, the shortest times, the highest level.

    A standing approval is only of calls about which nobody but one rule asks.
    """
    return Asking(
        stages=_all_stages(askings),
        channels=tuple(dict.fromkeys(chain.from_iterable(asking.channels for asking in askings))),
        timeout=min(asking.timeout for asking in askings),
        claim_within=min(asking.claim_within for asking in askings),
        lease=min(asking.lease for asking in askings),
        remind=tuple(sorted(set(chain.from_iterable(asking.remind for asking in askings)))),
        # Whom only one of them would bring in may not take the place of the others' people.
        escalate=tuple(rung for rung in askings[0].escalate if all(rung in each.escalate for each in askings)),
        fallback=tuple(dict.fromkeys(chain.from_iterable(asking.fallback for asking in askings))),
        risk=max((asking.risk for asking in askings), key=tuple(Risk).index),
        assurance=max(asking.assurance for asking in askings),
    )


def _all_stages(askings: Sequence[Asking]) -> tuple[Stage, ...]:
    """Put the stages together: of equal ones (two of finance, as two stages) as many as any one question has."""
    found: list[Stage] = []
    for asking in askings:
        spare = Counter(found)
        for stage in asking.stages:
            if spare[stage]:
                spare[stage] -= 1
            else:
                found.append(stage)
    return tuple(found)
