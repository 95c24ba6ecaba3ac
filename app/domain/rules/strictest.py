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
from app.domain.text.visible import named, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.request.quorum import Stage


_ENDS = (".", "。", "!", "！", "?", "？", "…")


class Wish(Struct, frozen=True, kw_only=True):
    """Somebody other than the rules wants people to be asked: who (a hook's id, a flag, the caller), and why."""

    by: str
    reason: str


def hook_wish(hook: str, words: str) -> Wish:
    """Return a hook's wish, in its own words."""
    return Wish(by=f"hook:{hook}", reason=f"The hook {named(hook)} wants people to be asked: {quoted(words)}.")


def caller_wish(by: str, words: str) -> Wish:
    """Return the wish of whoever makes the call, in its own words."""
    return Wish(by=by, reason=f"The agent's side asks for confirmation (its own words): {quoted(words)}.")


def strictest(own: Ruling, inherited: Sequence[tuple[str, Ruling]]) -> Ruling:
    """Return the strictest of the agent's own ruling and those that bind it besides, each by whose (or of what) it is.

    Where several ask, all of their people must say yes, within the shortest of their times.
    """
    if not inherited:
        return own
    others = [(ruling, f" (as for {named(of)}, whose rules bind this call as well)") for of, ruling in inherited]
    voices = [(own, ""), *others]
    denials = [(ruling, whose) for ruling, whose in voices if isinstance(ruling, Deny)]
    if denials:
        denial, whose = denials[0]
        return replace(denial, reason=denial.reason + whose)
    questions = [(ruling, whose) for ruling, whose in voices if isinstance(ruling, Ask)]
    if questions:
        return _together(questions)
    allowing = [ruling for ruling, _ in voices if isinstance(ruling, Allow)]
    recorded = any(ruling.record for ruling in allowing)
    return replace(own, record=recorded, otherwise=_otherwise(allowing)) if isinstance(own, Allow) else own


def at_least_ask(ruling: Ruling, wishes: Sequence[Wish], policy: Policy) -> Ruling:
    """Raise an allow to its rule's question, or the org's, where somebody wants people to be asked; a denial stays.

    A rule that asks keeps its people and gets the reasons besides. Without an `ask` in the file the answer is no.
    """
    if not wishes or isinstance(ruling, Deny):
        return ruling
    reasons = _sentences([wish.reason for wish in wishes])
    if isinstance(ruling, Ask):
        asking = ruling.asking.each_time  # what was permitted beforehand is no answer to anybody's wish
        return replace(ruling, reason=f"{_sentences([ruling.reason])} Besides: {reasons}", asking=asking)
    asking = ruling.otherwise or policy.ask
    each_time = asking.each_time if asking is not None else None
    return ask_or_deny(policy, wishes[0].by, reasons, each_time, ruling.trace)


def _otherwise(allowing: Sequence[Allow]) -> Asking | None:
    """Put together whom each of them would ask; None if one of them has nobody to ask."""
    askings = [ruling.otherwise for ruling in allowing if ruling.otherwise is not None]
    if len(askings) < len(allowing):
        return None
    return askings[0] if all(asking == askings[0] for asking in askings) else _joined(askings)


def _sentences(reasons: Sequence[str]) -> str:
    """Put reasons behind each other, each of them once and with an end."""
    return " ".join(each if each.endswith(_ENDS) else f"{each}." for each in dict.fromkeys(reasons))


def _together(questions: Sequence[tuple[Ask, str]]) -> Ask:
    """Put questions together, each with the words that say whose rules it is of; each reason is said once."""
    first = questions[0][0]
    askings = [question.asking for question, _ in questions]
    told: dict[str, str] = {}
    for question, whose in questions:
        told.setdefault(question.reason, whose)
    reasons = [reason + whose for reason, whose in told.items()]
    return replace(
        first,
        reason=_sentences(reasons) if len(reasons) > 1 else reasons[0],
        trace=tuple(chain.from_iterable(question.trace for question, _ in questions)),
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
