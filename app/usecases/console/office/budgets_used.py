"""How much of each budget is used now: by whom or to whom, the fullest first, and where the trail tells of it."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from msgspec import Struct

from app.domain.money.amounts import amount_text
from app.domain.money.payment import plain
from app.domain.rules.name_of import name_of
from app.domain.rules.spending import Budget, Per
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.domain.words.span_text import span_text
from app.storage.payments.budget_use import MOST as MOST_SPENDS
from app.storage.payments.budget_use import are_more, list_used
from app.storage.payments.spends import amount_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.storage.engine.transaction import Tx
    from app.storage.payments.budget_use import Used

__all__ = ["MOST_SPENDS", "Use", "budgets_used"]

MOST_BUDGETS = 20
MOST_EACH = 5
"""So many of those who share a kind of budget are shown, the fullest first."""

_HIDDEN = "•••"
_FULL, _NEARLY = 100, 80


class Use(Struct, frozen=True, kw_only=True):
    """What is used of one budget, by one of those whom it is for. Every text is visible, in the reader's language."""

    budget: str
    span: str
    whose: str
    used: str
    limit: str
    share: int | None  # per cent of the limit, whole ones, rounded down; None: no limit names this currency
    query: str  # what finds it in the trail

    @property
    def tone(self) -> str:
        """How full it is."""
        if self.share is None:
            return "neutral"
        return "bad" if self.share >= _FULL else "waiting" if self.share >= _NEARLY else "good"

    @property
    def wide(self) -> int:
        """How much of the bar is filled, in per cent."""
        return min(self.share or 0, 100)


class _Key(NamedTuple):
    whose: str
    currency: str  # "": how many


def budgets_used(tx: Tx, policy: Policy, language: Language, now: datetime) -> tuple[tuple[Use, ...], bool]:
    """Return what is used of the file's budgets, and whether more was paid than was looked at."""
    budgets = policy.payments.budgets[:MOST_BUDGETS]
    uses = [use for budget in budgets for use in _of(tx, budget, policy, language, now)]
    longest = max((budget.within for budget in budgets), default=None)
    return tuple(uses), longest is not None and are_more(tx, since=now - longest)


def _of(tx: Tx, budget: Budget, policy: Policy, language: Language, now: datetime) -> list[Use]:
    found = list_used(tx, budget.per, since=now - budget.within, unasked_only=budget.unasked_only)
    about = [each for each in found if _is_about(budget, policy, each.tool)]
    sums: dict[_Key, Decimal] = defaultdict(Decimal)
    names: dict[str, str] = {}
    for each in about:
        sums[_Key(each.whose, each.currency)] += amount_of(each.units)
        sums[_Key(each.whose, "")] += each.payments
        hidden = names.get(each.whose) == _HIDDEN or (budget.per is Per.PAYEE and _hides_payee(policy, each.tool))
        names[each.whose] = _HIDDEN if hidden else _name(budget.per, each, policy)
    if not names:
        names[""] = visible(policy.org) if budget.per is Per.ORG else "–"
    day = (now - budget.within).astimezone(policy.zone).date().isoformat()
    uses = [
        Use(
            budget=visible(budget.id),
            span=span_text(budget.within, language),
            whose=name,
            used=used,
            limit=limit,
            share=share,
            query=urlencode({"since": day} | _sought(budget.per, whose, name)),
        )
        for whose, name in names.items()
        for used, limit, share in _lines(budget, whose, sums, language)
    ]
    return sorted(uses, key=lambda use: -(_FULL if use.share is None else use.share))[:MOST_EACH]


def _lines(
    budget: Budget, whose: str, sums: Mapping[_Key, Decimal], language: Language
) -> Iterator[tuple[str, str, int | None]]:
    """Yield what is used, of how much, and which share that is: for each currency, and for how many."""
    limits = budget.limit or {}
    others = {key.currency for key in sums if key.whose == whose and key.currency} - limits.keys()
    for currency, limit in limits.items():
        used = sums.get(_Key(whose, currency), Decimal())
        yield _money(used, currency, language), _money(limit, currency, language), _share(used, limit)
    for currency in (
        sorted(others) if budget.limit is not None else ()
    ):  # what no limit names is above it, and fills no bar
        yield _money(sums[_Key(whose, currency)], currency, language), say(language, "pulse.budgets.none"), None
    if budget.count is not None:
        made = sums.get(_Key(whose, ""), Decimal())
        counted = say(language, "pulse.budgets.count", count=budget.count)
        yield say(language, "pulse.budgets.count", count=int(made)), counted, _share(made, Decimal(budget.count))


def _share(used: Decimal, limit: Decimal) -> int:
    return int(used * 100 // limit) if limit else _FULL


def _money(amount: Decimal, currency: str, language: Language) -> str:
    return amount_text(plain(amount), currency, language) or plain(amount)


def _is_about(budget: Budget, policy: Policy, tool: str) -> bool:
    names = policy.names_of(tool)
    return not budget.tools or any(pattern.matches(name) for pattern in budget.tools for name in names)


def _hides_payee(policy: Policy, tool: str) -> bool:
    """Say whether a payee may not be told; of a tool that the file does not know (any more), none may."""
    known = policy.tools.get(tool)
    return known is None or known.payment is None or known.hides(known.payment.payee)


def _name(per: Per, used: Used, policy: Policy) -> str:
    if per is Per.PAYEE:
        return visible(used.payee)
    return visible(name_of(policy, used.whose)) if per is Per.OWNER else visible(used.whose)


def _sought(per: Per, whose: str, name: str) -> dict[str, str]:
    """Return by what the trail finds it: what a payment without people was allowed by is in none."""
    if per is Per.PAYEE:
        return {} if name in {_HIDDEN, "–"} else {"payee": name}
    if per is Per.OWNER and "@" in whose:
        return {"person": whose}
    return {"agent": whose} if per in {Per.AGENT, Per.OWNER} and whose else {}
