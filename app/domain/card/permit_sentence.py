"""Spell out in one sentence what a permission given beforehand allows: its second person reads that and confirms it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.card.card_for import instant_text
from app.domain.money.payment import plain
from app.domain.rules.permits import WHOLE, GlassScope, StandingScope
from app.domain.rules.session_approval import SessionScope
from app.domain.text.language import Language
from app.domain.text.paths import money_text
from app.domain.text.visible import visible
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo
    from decimal import Decimal

_LONGEST = 300  # characters of one value
_COMMA = {Language.EN: ", ", Language.ZH: "、"}


def permit_sentence(
    scope: StandingScope | SessionScope | GlassScope,
    language: Language,
    zone: tzinfo,
    *,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Return the sentence. Values are shown as inert text, and quoted; `labels` are what arguments are called."""
    match scope:
        case StandingScope():
            return _standing(scope, language, zone, labels or {})
        case SessionScope():
            return _session(scope, language, zone, labels or {})
        case GlassScope():
            return _glass(scope, language)


def _standing(scope: StandingScope, language: Language, zone: tzinfo, labels: Mapping[str, str]) -> str:
    session = (
        say(language, "standing.any_session")
        if scope.session is None
        else say(language, "standing.session", session=_quoted(scope.session))
    )
    same = (
        say(language, "standing.whole", value=_quoted(kept.shown))
        if path == WHOLE
        else say(language, "standing.same", path=_called(path, labels), value=_quoted(kept.shown))
        for path, kept in sorted(scope.same.items())
    )
    amounts = (
        say(language, "standing.amounts", each=_money(scope.each, language), total=_money(scope.total, language))
        if scope.each
        else ""
    )
    uses = say(language, "standing.uses.one" if scope.uses == 1 else "standing.uses", count=scope.uses)
    return say(
        language,
        "standing.scope",
        agent=_quoted(scope.agent),
        tool=_quoted(scope.tool),
        session=session,
        same=say(language, "standing.and").join(same),
        amounts=amounts,
        uses=uses,
        until=instant_text(scope.until, zone),
    )


def _session(scope: SessionScope, language: Language, zone: tzinfo, labels: Mapping[str, str]) -> str:
    stands = scope.stands
    [(path, shown)] = stands.same.items()
    named = _COMMA[language].join(_called(path, labels) for path in scope.differ)
    differ = say(language, "standing.session.differ" if scope.differ else "standing.session.fixed", paths=named)
    one = ".one" if stands.uses == 1 else ""
    return say(
        language,
        f"standing.session.{'calls' if path == WHOLE else 'payments'}{one}",
        count=stands.uses,
        to=_quoted(shown.shown),
        tool=_quoted(stands.tool),
        each=_money(stands.each, language),
        agent=_quoted(stands.agent),
        session=_quoted(stands.session or ""),
        until=instant_text(stands.until, zone),
        differ=differ,
    )


def _glass(scope: GlassScope, language: Language) -> str:
    every = scope.tools == ("*",)
    tools = say(language, "glass.any_tool") if every else _COMMA[language].join(map(_quoted, scope.tools))
    agent = (
        say(language, "glass.any_agent")
        if scope.agent is None
        else say(language, "glass.agent", agent=_quoted(scope.agent))
    )
    return say(
        language, "glass.scope", minutes=scope.minutes, agent=agent, tools=tools, bounds=_bounds(scope, language)
    )


def _bounds(scope: GlassScope, language: Language) -> str:
    """Say how often and how much; of one from before there were bounds, nothing."""
    bounds = scope.bounds
    if bounds is None:
        return ""
    uses = say(language, "standing.uses.one" if bounds.uses == 1 else "standing.uses", count=bounds.uses)
    money = "glass.bounds.money" if bounds.each else "glass.bounds"
    each, total = _money(bounds.each, language), _money(bounds.total, language)
    factor = say(language, "glass.bounds.factor") if scope.factor else ""
    return say(language, money, uses=uses, each=each, total=total) + factor


def _money(amounts: Mapping[str, Decimal], language: Language) -> str:
    each = (f"{currency} {money_text(plain(amount))}" for currency, amount in sorted(amounts.items()))
    return _COMMA[language].join(each)


def _called(path: str, labels: Mapping[str, str]) -> str:
    return labels.get(path) or visible(path)


def _quoted(text: str) -> str:
    shown = visible(text).replace("⏎\n", "⏎ ")
    return f"“{shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + '…'}”"
