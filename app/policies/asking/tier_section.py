"""The tiers of a rule: what it answers by amount, each tier above the one before it and never laxer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.rules.rule import Asking, Then, Tier
from app.policies.asking.asking_section import (
    Inherited,
    merged,
    read_asking,
    refuse_asking_keys,
    refuse_unmet,
)
from app.policies.marks.entries import read_entry
from app.policies.models.file_models import RuleEntry, TierEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from app.domain.call.name_pattern import NamePattern
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_STRICTER = (Then.ALLOW, Then.ASK, Then.DENY)


def read_tiers(  # noqa: PLR0917 - what the tiers may name, and what they build on
    marked: MarkedYaml,
    path: Path,
    entry: RuleEntry,
    around: Surroundings,
    inherited: Inherited,
    tools: tuple[NamePattern, ...],
) -> tuple[Tier, ...]:
    """Return the tiers of a rule, the lowest first; () if one of them cannot be read. Every fault is noted."""
    raws = entry.tiers or []
    entries = [read_entry(marked, (*path, "tiers", at), raw, TierEntry) for at, raw in enumerate(raws)]
    read = [each for each in entries if each is not None]
    _refuse_without_payment(marked, path, tools, around)
    base = merged(marked, path, entry, around, inherited, tools)
    said = {key for key in ("stages", "channels") if getattr(entry, key) is not None}
    above = Inherited(asking=base, given=inherited.given | said)
    if len(read) < len(raws):
        return ()
    tiers = tuple(_tier(marked, (*path, "tiers", at), each, around, above, tools) for at, each in enumerate(read))
    _refuse_disorder(marked, (*path, "tiers"), tiers)
    _refuse_unanswered(marked, (*path, "tiers"), tiers, above)
    plain = [each.asking for at, each in enumerate(tiers) if each.asking and not _own(marked, (*path, "tiers", at))]
    if plain:
        refuse_unmet(marked, path, plain[0], around)
    return _with_fallback(tiers, base)


def _own(marked: MarkedYaml, path: Path) -> bool:
    return any((*path, key) in marked.marks for key in ("assurance", "stages"))


def _tier(  # noqa: PLR0917 - as above
    marked: MarkedYaml,
    path: Path,
    entry: TierEntry,
    around: Surroundings,
    above: Inherited,
    tools: tuple[NamePattern, ...],
) -> Tier:
    then = Then(entry.then)
    if then is not Then.ASK:
        refuse_asking_keys(marked, path, entry, f'means nothing on a tier that says "then: {then.value}"')
    asking = read_asking(marked, path, entry, around, above, tools) if then is Then.ASK else None
    return Tier(up_to=entry.up_to, then=then, asking=asking)


def _with_fallback(tiers: Sequence[Tier], base: Asking) -> tuple[Tier, ...]:
    """Give tiers that allow, and have none above them that asks, whom to ask when something speaks against it."""
    asks = max((at for at, tier in enumerate(tiers) if tier.then is Then.ASK), default=-1)
    return tuple(
        replace(tier, asking=base) if tier.then is Then.ALLOW and at > asks and base.stages else tier
        for at, tier in enumerate(tiers)
    )


def _refuse_without_payment(marked: MarkedYaml, path: Path, tools: Sequence[NamePattern], around: Surroundings) -> None:
    for index, pattern in enumerate(tools):
        reached = around.named([pattern])
        without = [tool.name for tool in reached if tool.payment is None]
        at: Path = (*path, "tools", index)
        if without:
            why = f'tiers are by amount, and "{without[0]}" has no "payment"'
            marked.report(at, why, f"add to tools.{without[0]}: payment: {{amount: …, currency: …, payee: …}}")
        elif pattern.is_glob and not reached:
            marked.report(at, f'tiers are by amount, and "{pattern.text}" stands for no tool with a "payment"')


def _refuse_disorder(marked: MarkedYaml, path: Path, tiers: Sequence[Tier]) -> None:
    last = len(tiers) - 1
    reached: dict[str, tuple[Decimal, int]] = {}
    for at, tier in enumerate(tiers):
        here: Path = (*path, at)
        if tier.up_to is None and at < last:
            marked.report(here, '"up_to" is missing: only the last tier is for all that is above')
        if tier.up_to is not None:
            if at == last:
                why = "leaves what is above it without an answer"
                marked.report((*here, "up_to"), why, 'add a last tier without "up_to"')
            _refuse_shrinking(marked, (*here, "up_to"), at, tier.up_to, reached)
        if at and _STRICTER.index(tier.then) < _STRICTER.index(tiers[at - 1].then):
            why = f"is laxer than tier {at}, which is for less: it says {tiers[at - 1].then.value}"
            marked.report((*here, "then") if (*here, "then") in marked.marks else here, why)
        if at:
            _refuse_laxer(marked, here, at, tiers)


def _refuse_laxer(marked: MarkedYaml, path: Path, at: int, tiers: Sequence[Tier]) -> None:
    """Note in what a tier that asks is laxer than the one below it, which asks too. What neither says, `ask` does."""
    higher, lower = tiers[at], tiers[at - 1]
    if not (higher.then is lower.then is Then.ASK) or higher.asking is None or lower.asking is None:
        return
    from app.policies.asking.tier_order import laxer_in

    for key, why in laxer_in(higher.asking, lower.asking):
        place = (*path, key) if (*path, key) in marked.marks else path
        what = f"{key} of tier {at + 1} is laxer than that of tier {at}, which is for less: {why}"
        marked.report(place, what, f"a tier takes at least what the one below it does: say {key} here")


def _refuse_shrinking(
    marked: MarkedYaml, path: Path, at: int, up_to: Mapping[str, Decimal], reached: dict[str, tuple[Decimal, int]]
) -> None:
    for currency, amount in up_to.items():
        before, tier = reached.get(currency, (None, 0))
        here: Path = (*path, currency) if (*path, currency) in marked.marks else path
        if not amount:
            marked.report(here, "must be above 0: no payment would be in it")
        elif before is not None and amount <= before:
            marked.report(here, f"does not grow: tier {tier} goes up to {currency} {before:f}")
        reached[currency] = (amount, at + 1)
    for currency, (_, tier) in reached.items():
        if currency not in up_to:
            why = f"lacks {currency}, which tier {tier} has: a little more of it would skip this tier"
            marked.report(path, why)


def _refuse_unanswered(marked: MarkedYaml, path: Path, tiers: Sequence[Tier], above: Inherited) -> None:
    """Note a tier that allows, where nobody could be asked once a budget is used up."""
    asks = any(tier.then is Then.ASK for tier in tiers)
    if tiers and tiers[0].then is Then.ALLOW and not asks and not {"stages", "channels"} <= above.given:
        why = 'allows, and no tier above asks, nor a top-level "ask": who is asked above a budget?'
        marked.report((*path, 0), why)


def highest_asking(tiers: Sequence[Tier]) -> Asking | None:
    """Return how the highest tier asks that does; None if none does."""
    return next((tier.asking for tier in reversed(tiers) if tier.asking is not None), None)
