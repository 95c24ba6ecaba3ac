"""How a call differs from the last one like it that people approved: argument by argument, old and new, for one reader.

Sensitive values are masked in both, by what either of the two hides; what differs behind the mask is said without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card import Fact
from app.domain.card.card_for import instant_text
from app.domain.request.decision import Verdict
from app.domain.text.masking import masked
from app.domain.text.visible import visible, visible_value
from app.domain.words.say import say
from app.usecases.cards.compose import terms_for
from app.usecases.cards.secret_texts import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from app.domain.card.shown_call import Terms
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language

_MOST = 20
"""Arguments whose difference is written out, and characters of each value."""
_LONGEST = 300


class Earlier(Struct, frozen=True, kw_only=True):
    """The comparison. `told` says it in one sentence; every text is visible and masked."""

    told: str
    differences: tuple[Fact, ...]
    more: str | None  # how many differences are not written out


def compared(request: ConfirmationRequest, earlier: ConfirmationRequest, policy: Policy, language: Language) -> Earlier:
    """Compare a request with one that people approved before."""
    terms = terms_for(request, policy, language)
    there = list(_differences(request, earlier, terms))
    people = [terms.name_of(each.person) for each in earlier.decisions if each.verdict is Verdict.APPROVE]
    settled = earlier.settlement.at if earlier.settlement else earlier.created_at
    told = say(
        language,
        "console.earlier.differs" if there else "console.earlier.same",
        count=len(there),
        people=say(language, "batch.separator").join(dict.fromkeys(people)),
        date=instant_text(settled, terms.zone).partition(" ")[0],
    )
    left = len(there) - _MOST
    more = say(language, "console.earlier.more", count=left) if left > 0 else None
    return Earlier(told=told, differences=tuple(there[:_MOST]), more=more)


def _differences(request: ConfirmationRequest, earlier: ConfirmationRequest, terms: Terms) -> Iterator[Fact]:
    now, was = request.call.arguments, earlier.call.arguments
    hidden = tuple(dict.fromkeys((*request.sensitive, *earlier.sensitive)))
    shown, before = masked(without_secrets(now), hidden), masked(without_secrets(was), hidden)
    for name in sorted({*now, *was}, key=lambda each: (each not in request.pinned, each)):
        if name in now and name in was and now[name] == was[name]:
            continue
        old, new = _text(before, name), _text(shown, name)
        alike = name in now and name in was and old == new
        value = "console.earlier.hidden" if alike else "changed.value"
        label = terms.labels.get(name) or visible(name)
        yield Fact(label=label, value=say(terms.language, value, before=old, after=new))


def _text(arguments: Mapping[str, JsonValue], name: str) -> str:
    if name not in arguments:
        return "–"
    text = visible_value(arguments[name])
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
