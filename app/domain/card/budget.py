"""A card within its platform's budget: whole, or without Approve and marked wherever something is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.card.card import Card, Fact, units
from app.domain.request.action import Action
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.text.language import Language

# How many characters of each value, and how many values of each list, are tried in turn on a card that is too long.
_TRIES = ((1_500, 40), (600, 40), (300, 30), (120, 20), (60, 12), (30, 6), (12, 2))
_SHORTEST_TITLE = 60
_DIALOGUE_TRIES = (200, 60, 12)  # characters of each question and answer


def fitted(card: Card, budget: int, *, review: str) -> Card:
    """Return the card if it fits; else without the agent's prose; else in parts, with Deny alone and `review`.

    The agent's prose, and what was asked and answered, are claims, not part of what is approved: they give way first.
    What is cut says how much of it is missing.
    """
    size, brief = card.size(), card
    if size <= budget:
        return card
    if card.agent_says is not None:
        omitted = say(card.language, "claim.omitted", size=units(card.agent_says.value))
        brief = replace(card, agent_says=replace(card.agent_says, value=omitted))
        if brief.size() <= budget:
            return brief
    for room in _DIALOGUE_TRIES if card.dialogue else ():
        told = replace(brief, dialogue=tuple(_cut_fact(fact, room, card.language) for fact in card.dialogue))
        if told.size() <= budget:
            return told
    note = say(card.language, "withheld.size", size=size, budget=budget, review=review)
    bare = withheld(card, note)
    for room, most in _TRIES:
        parts = _cut_card(bare, room, most)
        if parts.size() <= budget:
            return parts
    return _cut_card(replace(bare, highlights=(), facts=(), details=(), warnings=(), hidden=None), *_TRIES[-1])


def withheld(card: Card, note: str) -> Card:
    """Take Approve away, with changes too, and say why; what was said before stays."""
    buttons = replace(card.buttons, approve=None) if card.buttons else None
    controls = tuple(control for control in card.controls if control.action is not Action.EDIT)
    said = f"{card.withheld} {note}" if card.withheld else note
    return replace(card, withheld=said, buttons=buttons, controls=controls)


def _cut_card(card: Card, room: int, most: int) -> Card:
    return replace(
        card,
        title=_cut(card.title, max(room, _SHORTEST_TITLE), card.language),
        tool=_cut(card.tool, room, card.language),
        highlights=_cut_facts(card.highlights, room, most, card.language),
        facts=_cut_facts(card.facts, room, most, card.language),
        arguments=_cut_facts(card.arguments, room, most, card.language),
        changes=_cut_facts(card.changes, room, most, card.language),
        details=_cut_facts(card.details, room, most, card.language),
        dialogue=_cut_facts(card.dialogue, min(room, _DIALOGUE_TRIES[0]), most, card.language),
        agent_says=card.agent_says and _cut_fact(card.agent_says, min(room, 300), card.language),
        warnings=tuple(_cut(warning, max(room, _SHORTEST_TITLE), card.language) for warning in card.warnings),
        outcome=card.outcome and _cut(card.outcome, max(room, _SHORTEST_TITLE), card.language),
        progress=card.progress and _cut(card.progress, room, card.language),
    )


def _cut_facts(facts: Sequence[Fact], room: int, most: int, language: Language) -> tuple[Fact, ...]:
    kept = [_cut_fact(fact, room, language) for fact in facts[:most]]
    if len(facts) > most:
        kept.append(Fact(label="…", value=say(language, "cut.facts", count=len(facts) - most)))
    return tuple(kept)


def _cut_fact(fact: Fact, room: int, language: Language) -> Fact:
    return Fact(label=_cut(fact.label, min(room, 80), language), value=_cut(fact.value, room, language))


def _cut(text: str, room: int, language: Language) -> str:
    if len(text) <= room:
        return text
    return say(language, "cut", text=text[:room], count=len(text) - room)
