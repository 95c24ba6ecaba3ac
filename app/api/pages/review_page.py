"""The review page as HTML: the sheet of one request, and the small pages around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.pages.page import Html, page, tag
from app.domain.text.language import Language
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.responses import Response

    from app.domain.card.card import Fact
    from app.usecases.reading.review_sheet import Entry, Sheet

_TAGS = {Language.EN: "en", Language.ZH: "zh-CN"}
_NAMES = {Language.EN: "English", Language.ZH: "中文"}
_LONG = 1_000  # characters of a value whose length is worth saying


def review_page(sheet: Sheet) -> Response:
    """Show everything about one request."""
    card, language = sheet.card, sheet.language
    arguments = "review.arguments.ran" if card.outcome else "review.arguments"
    body = (
        _bar(sheet),
        _head(sheet),
        _section(language, "review.warnings", _list(tag("p", text) for text in card.warnings), class_="warn"),
        _section(language, "review.place", _facts(language, sheet.place)),
        _section(language, "review.asked", _facts(language, sheet.asked), _claim(sheet)),
        _section(language, "review.changes", _facts(language, card.changes, boxed=True)),
        _section(language, arguments, _facts(language, sheet.arguments, boxed=True, code=True),
                 _soft(sheet.hidden)),
        _section(language, "review.dialogue", _facts(language, card.dialogue)),
        _section(language, "review.stages", _facts(language, sheet.stages) or _soft(say(language, "review.no_stage"))),
        _section(language, "review.said", _entries(sheet.said) or _soft(say(language, "review.said.nothing"))),
        _section(language, "review.decide", _decide(sheet)),
        _section(language, "review.record", _entries(sheet.record), _soft(say(language, "review.record.note"))),
        tag("section", _facts(language, sheet.ids, code=True), _soft(say(language, "review.zone", zone=sheet.zone))),
    )  # fmt: skip
    title = f"{card.headline} · {say(language, 'review.title', code=sheet.ids[0].value)}"
    return page(title, _TAGS[language], *(part for part in body if part))


def sign_in_page(language: Language, *, action: str, token: str, chosen: str | None) -> Response:
    """Ask for one press before the link is used up: whatever follows links by itself presses nothing."""
    form = tag(
        "form",
        tag("input", type="hidden", name="t", value=token),
        tag("input", type="hidden", name="lang", value=chosen) if chosen else None,
        tag("button", say(language, "review.enter"), type="submit"),
        method="post",
        action=action,
    )
    why = tag("p", say(language, "review.enter.why"))
    return page("Assent", _TAGS[language], tag("section", why, form), referrer="same-origin")


def closed_page(language: Language, name: str, status: int) -> Response:
    """Say that there is nothing to see, and what to do about it."""
    title = say(language, f"review.{name}")
    why = say(language, f"review.{name}.why", control=say(language, "control.review"))
    return page(title, _TAGS[language], tag("section", tag("h1", title), tag("p", why)), status=status)


def _bar(sheet: Sheet) -> Html:
    others = [other for other in Language if other is not sheet.language]
    links = [tag("a", _NAMES[other], href=f"?lang={other.value}", hreflang=_TAGS[other]) for other in others]
    reader = tag("span", say(sheet.language, "review.read_by", person=sheet.reader))
    return tag("div", reader, tag("nav", *links), class_="bar")


def _head(sheet: Sheet) -> Html:
    card, language = sheet.card, sheet.language
    large = [tag("div", tag("dt", fact.label), tag("dd", fact.value)) for fact in card.highlights]
    return tag(
        "header",
        tag("span", card.headline, class_="pill"),
        tag("h1", card.title),
        tag("dl", *large, class_="large") if large else None,
        tag("p", card.outcome) if card.outcome else None,
        _soft(f"{say(language, 'tool')} {card.tool} · {sheet.ids[0].label} {sheet.ids[0].value}"),
        _soft(say(language, "review.nothing")),
        class_=card.tone.value,
    )


def _claim(sheet: Sheet) -> Html | None:
    return _facts(sheet.language, (sheet.card.agent_says,), boxed=True) if sheet.card.agent_says else None


def _decide(sheet: Sheet) -> Html:
    if not sheet.commands:
        return tag("p", say(sheet.language, "review.settled"))
    commands = [tag("div", command, class_="value code") for command in sheet.commands]
    how = tag("p", say(sheet.language, "review.decide.card"))
    return tag("div", how, tag("div", *commands, class_="boxed"))


def _section(language: Language, name: str, *parts: Html | None, class_: str | None = None) -> Html | None:
    """Return a section with its heading; None where there is nothing under it."""
    return tag("section", tag("h2", say(language, name)), *parts, class_=class_) if parts[0] else None


def _facts(language: Language, facts: Iterable[Fact], *, boxed: bool = False, code: bool = False) -> Html | None:
    rows = [_fact(language, fact, boxed=boxed, code=code) for fact in facts]
    return tag("dl", *rows) if rows else None


def _fact(language: Language, fact: Fact, *, boxed: bool, code: bool) -> Html:
    kind = f"value{' boxed' if boxed else ''}{' code' if code else ''}"
    long = boxed and len(fact.value) > _LONG
    count = say(language, "review.characters", count=f"{len(fact.value):,}")
    size = tag("span", f" · {count}", class_="soft") if long else None
    # What scrolls can be reached with the keyboard.
    value = tag("dd", fact.value, class_=kind, tabindex="0" if long else None)
    return tag("div", tag("dt", fact.label, size), value)


def _entries(entries: Iterable[Entry]) -> Html | None:
    rows = [
        tag("li", tag("time", entry.at), tag("p", tag("b", entry.who), f"  {entry.text}" if entry.text else None))
        for entry in entries
    ]
    return tag("ol", *rows) if rows else None


def _list(items: Iterable[Html]) -> Html | None:
    rows = [tag("li", item) for item in items]
    return tag("ul", *rows) if rows else None


def _soft(text: str | None) -> Html | None:
    return tag("p", text, class_="soft") if text else None
