"""What a person must be warned of before they decide: found once, and said in one sentence each, for every surface.

Card, review page, API, command line and the line that a phone shows take their warnings from here; none has a warning
of its own, and none leaves one out. What a surface cannot show (values hidden, a card too long) is no warning about the
call and stays that surface's own.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from app.domain.card.shown_call import ShownCall, texts_in
from app.domain.money.amounts import digits_text, has_too_many_decimals, with_currency
from app.domain.money.payment import plain
from app.domain.request.caution import CautionKind
from app.domain.text.lookalike import Look, find_lookalikes
from app.domain.text.visible import on_one_line, visible
from app.domain.words.say import say
from app.domain.words.span_text import span_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.card.shown_call import Terms
    from app.domain.request.caution import Caution
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language

MOST_LOOKS = 4
"""Warnings of how a text looks that a card has room for; how many more there are is said."""

_MOST_NAMED = 2  # kinds of warnings that a title names
_LOOKED_AT = 20_000  # characters of a value that are searched for look-alikes: more than any card can show with Approve
_OF_BUDGETS = (("made", ".count"), ("spent", ""), ("currency", ".currency"))
"""Which sentence tells of a budget, by the first of these values that its caution has."""


class Mark(StrEnum):
    """What is neither a caution nor a matter of looks."""

    PAUSED = "paused"  # at, by, why: nothing of this runs until people lift the pause
    DECIMALS = "decimals"  # more digits after the point than the currency has
    UNSEARCHED = "unsearched"  # count, most: too long to be searched for look-alikes whole
    MORE = "more"  # count: further ones about how texts look, left out here


WarningKind = CautionKind | Look | Mark


class RequestWarning(Struct, frozen=True, kw_only=True):
    """One of them. Its texts are visible, and masked where the card masks them."""

    kind: WarningKind
    path: str | None = None  # the argument that it is about; None: the call as a whole
    values: Mapping[str, str] = field(default_factory=dict[str, str])


def warnings_of(
    request: ConfirmationRequest, terms: Terms, *, pause: Mapping[str, str] | None = None
) -> tuple[RequestWarning, ...]:
    """Return all there is to be warned of, the weightiest first, each once. `pause`: its at, by, why, if one binds."""
    return warnings_in(ShownCall(request, terms), pause=pause)


def warnings_in(call: ShownCall, *, pause: Mapping[str, str] | None = None) -> tuple[RequestWarning, ...]:
    """Return the same of a call whose arguments are laid out already."""
    found = [RequestWarning(kind=Mark.PAUSED, values=pause)] if pause is not None else []
    found += [RequestWarning(kind=each.kind, values=each.values) for each in call.cautions()]
    found += _looks(call)
    return tuple({(each.kind, each.path, *sorted(each.values.items())): each for each in found}.values())


def fewer(warnings: Sequence[RequestWarning], most: int = MOST_LOOKS) -> tuple[RequestWarning, ...]:
    """Keep the first `most` about how texts look, and all others; then say how many more there are."""
    looks = [each for each in warnings if isinstance(each.kind, Look) or each.kind in {Mark.DECIMALS, Mark.UNSEARCHED}]
    if len(looks) <= most:
        return tuple(warnings)
    first = warnings[: len(warnings) - len(looks)]
    more = RequestWarning(kind=Mark.MORE, values={"count": str(len(looks) - most)})
    return (*first, *looks[:most], more)


def in_short(warnings: Sequence[RequestWarning], language: Language) -> str:
    """Name warnings in a few words, for a title: the weightiest kinds, how many of each, and how many others."""
    kinds: Counter[str] = Counter()
    for each in warnings:
        kinds["look" if isinstance(each.kind, Look) else each.kind.value] += 1 + int(each.values.get("more", "0"))
    named = [(say(language, f"short.{kind}"), count) for kind, count in [*kinds.items()][:_MOST_NAMED]]
    more = kinds.total() - sum(count for _, count in named)
    told = " · ".join(f"{name} ×{count}" if count > 1 else name for name, count in named)
    return f"{told} +{more}" if more else told


def warning_sentence(warning: RequestWarning, terms: Terms) -> str:
    """Say a warning in the language of those terms, and call its argument as they do."""
    language, values = terms.language, warning.values
    match warning.kind:
        case CautionKind():
            return caution_sentence(warning.kind, values, language)
        case Mark.PAUSED:
            why = f" ({values['why']})" if values["why"] else ""
            return say(language, "paused", at=_without_zone(values["at"]), by=values["by"], why=why)
        case kind:
            path = warning.path
            where = say(language, values.get("of", "tool")) if path is None else terms.labels.get(path) or visible(path)
            return say(language, f"look.{kind.value}", **{**values, "where": where})


# --- how texts look ---------------------------------------------------------------------------------------------------


def _looks(call: ShownCall) -> Iterator[RequestWarning]:
    """Payees first, then amounts and the other arguments, then who asks."""
    for path in sorted(call.payees):
        for _, value in call.at(path):
            yield from _look(value, path, strict=True)
    for path in call.terms.money:
        for _, value in call.at(path):
            if has_too_many_decimals(value, call.currency(path)):
                yield RequestWarning(kind=Mark.DECIMALS, path=path)
    for name, value in call.values.items():
        if name not in call.payees:
            yield from _look({name: value}, name)
    asked = call.request.call
    for of, text in (("asks", asked.requester or ""), ("asks", asked.agent), ("tool", asked.tool)):
        yield from _look(text, None, of=of)


def _look(value: JsonValue, path: str | None, *, strict: bool = False, **more: str) -> Iterator[RequestWarning]:
    for text in texts_in(value):
        for finding in find_lookalikes(text[:_LOOKED_AT], strict=strict):
            shown = visible(finding.shown) if finding.look is Look.DISGUISED else finding.shown
            values = {"shown": shown, **more} if shown else more
            yield RequestWarning(kind=finding.look, path=path, values=values)
        if len(text) > _LOOKED_AT:
            values = {"count": str(len(text)), "most": str(_LOOKED_AT), **more}
            yield RequestWarning(kind=Mark.UNSEARCHED, path=path, values=values)


# --- cautions ---------------------------------------------------------------------------------------------------------


def caution_sentences(cautions: Sequence[Caution], language: Language) -> tuple[str, ...]:
    """Say each caution; their texts are visible, and masked, already."""
    return tuple(caution_sentence(each.kind, each.values, language) for each in cautions)


def caution_sentence(kind: CautionKind, values: Mapping[str, str], language: Language) -> str:
    """Say what speaks against taking the call as one of many."""
    values = {**values, "at": _without_zone(values["at"])} if "at" in values else values
    match kind:
        case CautionKind.NEW_ACCOUNT:
            said = _new_account(values, language)
        case CautionKind.NEAR_DENIED:
            said = _say(language, kind.value, **{**values, "at": _day(values["at"])})
        case CautionKind.DUPLICATE:
            said = _duplicate(values, language)
        case CautionKind.OVER_BUDGET:
            said = _over_budget(values, language)
        case _:
            said = _say(language, kind.value, **values)
    more = values.get("more")
    return f"{said} {_say(language, 'more', count=more)}" if more else said


def _without_zone(at: str) -> str:
    """Leave out which zone an instant is of: a card says so once, with its ids."""
    return at.partition(" UTC")[0]


def _day(at: str) -> str:
    return at.partition(" ")[0]


def _new_account(values: Mapping[str, str], language: Language) -> str:
    before, now = on_one_line(values["before"]), on_one_line(values["now"])
    compared = bool(before and now) and before != now
    key = "new_account.none" if "none" in values else "new_account" if compared else "new_account.other"
    return _say(language, key, payee=values["payee"], before=before, now=now)


def _duplicate(values: Mapping[str, str], language: Language) -> str:
    how = next((each for each in ("paid", "allowed") if each in values), "asked")
    key = "duplicate" if "at" not in values else f"duplicate.{how}"
    reference = values["reference"]
    return _say(
        language,
        key,
        amount=with_currency(values["amount"], values["currency"], language),
        payee=values["payee"],
        reference=_say(language, "duplicate.reference", reference=reference) if reference else "",
        at=values.get("at", ""),
    )


def _over_budget(values: Mapping[str, str], language: Language) -> str:
    kind = next((kind for named, kind in _OF_BUDGETS if named in values), ".untold")
    currency = values.get("currency", "")
    told = {name: digits_text(value, currency) or on_one_line(value) for name, value in values.items()}
    told["payee"] = _say(language, "over_budget.payee", payee=values["payee"]) if "payee" in values else ""
    told["budget"] = on_one_line(values["budget"])
    over = _over(values)
    told["over"] = with_currency(over, currency, language) if currency and over else over
    told["span"] = span_text(timedelta(seconds=int(values["span"])), language)
    return _say(language, f"over_budget{kind}", **told)


def _over(values: Mapping[str, str]) -> str:
    """Say by how much a call goes beyond a budget: nobody should have to reckon while they decide."""
    used, limit = values.get("spent", values.get("made")), values.get("limit", values.get("count"))
    if used is None or limit is None:
        return ""
    try:
        return plain(Decimal(used) + Decimal(values["adds"]) - Decimal(limit))
    except ArithmeticError:
        return "?"


def _say(language: Language, key: str, **values: object) -> str:
    return say(language, f"caution.{key}", **values)
