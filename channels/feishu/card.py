"""Card -> Feishu card JSON 2.0. Pure.

Every text stands in a ``plain_text`` element, never in ``markdown``: there an argument could mention everybody, link,
or make the whole card fail with one unknown user id. Every fact has elements of its own, so that no value can pass
itself off as the next fact. Nothing is cut but the preview lines (the chat list's summary and the header's subtitle),
whose whole text stands in the body.

The platform allows 200 elements (each thing with a ``tag`` counts) and a request body of 30 KB. A few layouts, from the
most readable to the leanest, are tried until one fits: two columns a fact; label over value; blocks of lines, each
continued line indented. What still does not fit loses forms (of the controls besides Approve and Deny), never a word of
the call; and what does not fit without them either is refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from app.domain.card.card import Fact, Tone
from app.ports import ContentRefusedError
from channels.feishu.controls import fillable, form_control, plain_controls, verdict_controls
from channels.feishu.details.elements import column, div, plain, rule
from channels.feishu.settings import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.domain.card.card import Card, Control
    from channels.feishu.details.elements import Json

TEXT_BUDGET = LIMITS.text_budget
"""UTF-16 units that a card carries whole, whatever they say: five thousand of Chinese are 15 KB of the 25 KB below."""

MAX_CONTENT = 25_000
"""Bytes of card JSON; the platform expands style tags before it counts its 30 KB."""

MAX_BODY = 29_000
"""Bytes of that JSON as a string inside the request, where every quotation mark is escaped again."""

MAX_ELEMENTS = 200

_PREVIEW = 80
_TEMPLATES = {Tone.WAITING: "orange", Tone.WARNED: "carmine", Tone.GOOD: "green", Tone.BAD: "red", Tone.NEUTRAL: "grey"}
_COLOURS = {Tone.WAITING: "orange", Tone.WARNED: "carmine", Tone.GOOD: "green", Tone.BAD: "red", Tone.NEUTRAL: "grey"}


class _Layout(Struct, frozen=True, kw_only=True):
    """How the facts of a card are laid out."""

    large: Callable[[Sequence[Fact]], list[Json]]
    changes: Callable[[Sequence[Fact]], list[Json]]
    pinned: Callable[[Sequence[Fact]], list[Json]]
    rest: Callable[[Sequence[Fact]], list[Json]]
    small: Callable[[Sequence[Fact]], list[Json]]
    ruled: bool = True  # whether lines part the blocks of one request


def render_card(card: Card) -> Json:
    """Render a card in the first layout that the platform takes. Raises ContentRefusedError if it takes none."""
    offered = [_forms(each) for each in (card, *card.also)]
    for layout in _LAYOUTS:
        rendered = _card(card, layout, offered)
        if _fits(rendered):
            return rendered
    kept: list[list[Control]] = [[] for _ in offered]
    rendered = _card(card, _LEANEST, kept)
    if not _fits(rendered):
        raise ContentRefusedError("the card is too long for Feishu")
    for number, forms in enumerate(offered):
        for control in forms:
            more = [[*each, control] if at == number else each for at, each in enumerate(kept)]
            richer = _card(card, _LEANEST, more)
            if _fits(richer):
                kept, rendered = more, richer
    return rendered


def render_content(card: Card) -> str:
    """Render a card as the string that the message API wants."""
    return dump(render_card(card))


def dump(rendered: Json) -> str:
    """Write card JSON compactly; Chinese stays Chinese (three bytes a character, not six)."""
    return json.dumps(rendered, ensure_ascii=False, separators=(",", ":"))


def count_elements(node: object) -> int:
    """Count what the platform counts: everything that has a tag."""
    match node:
        case dict():
            fields = cast("Json", node)  # JSON objects have string keys
            return ("tag" in fields) + sum(count_elements(child) for child in fields.values())
        case list():
            return sum(count_elements(child) for child in cast("list[object]", node))
        case _:
            return 0


def _fits(rendered: Json) -> bool:
    """Say whether the platform takes it. In the JSON text of a value every quotation mark has a backslash before it."""
    content = dump(rendered)
    length = len(content.encode())
    return (
        content.count('"tag":') <= MAX_ELEMENTS
        and length <= MAX_CONTENT
        # Escaped once more, no character of it becomes more than two: only a long card must be counted.
        and (2 * length + 2 <= MAX_BODY or len(json.dumps(content, ensure_ascii=False).encode()) <= MAX_BODY)
    )


def _forms(card: Card) -> list[Control]:
    """Return the controls whose forms may stand here: what one person fills in, nobody else should have before them."""
    return [each for each in card.controls if card.own and each.form is not None and fillable(each.form)]


def _card(card: Card, layout: _Layout, forms: Sequence[Sequence[Control]]) -> Json:
    body = [_which(card, 1, of=len(card.also) + 1)] if card.also else []
    body += _body(card, layout, forms[0], number=0)
    for number, other in enumerate(card.also, 1):
        body += [rule(), _which(other, number + 1, of=len(card.also) + 1)]
        body += _body(other, layout, forms[number], number=number)
    # While one of several still waits, the header must not say that all is settled.
    lead = next((each for each in (card, *card.also) if each.asks), card)
    return {
        "schema": "2.0",
        "config": {
            "update_multi": True,  # everybody who sees the message sees its change
            "enable_forward": False,
            "enable_forward_interaction": False,
            "summary": {"content": _preview(f"{card.alert}{lead.headline}: {lead.title}")},
        },
        "header": {
            "template": _TEMPLATES[lead.tone],
            "title": plain(f"{card.alert}{lead.headline}"),
        },
        "body": {"vertical_spacing": "6px", "elements": body},
    }


def _which(card: Card, number: int, *, of: int) -> Json:
    return div(f"{number}/{of} · {card.told}", size="normal", colour=_COLOURS[card.tone])


def _body(card: Card, layout: _Layout, forms: Sequence[Control], *, number: int) -> list[Json]:
    """Put the parts in the order in which they are needed.

    How much, to whom, what speaks against it, until when and what then, Approve and Deny: what a phone shows without a
    touch. Then the details: the sentence, the facts, how far it has come, the rest, the claim, the forms.
    """
    line = [rule()] if layout.ruled else []
    title = div(card.title, size="normal" if card.highlights else "heading-4" if number else "heading-3")
    first = layout.large(card.highlights) if card.highlights else [title]
    body = [*_told(card.outcome), *first, *layout.changes(card.changes), *_asked(card, layout, number)]
    below = title if card.highlights else None
    if layout.ruled:
        body += [*line, *([below] if below else []), *layout.pinned(card.facts), *_told(card.progress, colour="blue")]
    else:  # where elements are few, the sentence and how far it has come are lines beside the facts
        said = [Fact(label=text, value="") for text in (card.title if below else "", card.progress) if text]
        body += layout.pinned([*said[:1], *card.facts, *said[1:]] if below else [*card.facts, *said])
    if card.arguments:
        body += [*line, *layout.rest(card.arguments)]
    body += _told(card.hidden, size="notation", colour="grey")
    if card.agent_says is not None:
        body += [*line, *layout.rest([card.agent_says])]
    if card.dialogue:
        body += [*line, *layout.rest(card.dialogue)]
    if card.details:
        body += [*line, *layout.small(card.details)]
    body.append(div(f"{card.tool} · {card.footer}", size="notation", colour="grey"))
    if not card.asks:
        body += plain_controls(card.controls)  # far from where Approve was: a press may still be on its way there
    for control in forms:
        if control.form is not None:
            body += form_control(control, control.form, number)
    return body


def _told(text: str | None, *, size: str = "normal", colour: str | None = None) -> list[Json]:
    return [div(text, size=size, colour=colour)] if text else []


def _asked(card: Card, layout: _Layout, number: int) -> list[Json]:
    """What speaks against the call, why there may be no Approve, until when and what then; and what can be pressed.

    Of several warnings the title names the weightiest and the first is spelled out there; others follow the buttons.
    """
    warned = [div(f"⚠️ {warning}", size="normal", colour="red") for warning in card.warnings]
    body = warned[:1] if card.asks else warned
    body += _told(card.withheld, colour="red")
    body += _told(f"⏳ {card.until.label} {card.until.value}" if card.until else None)
    if not card.asks:
        return body
    ready = card.tone is not Tone.WARNED
    verdict = verdict_controls(card.buttons, number, ready=ready, beside=layout.ruled) if card.buttons else []
    return [*body, *verdict, *warned[1:], *plain_controls(card.controls)]


def _large(facts: Sequence[Fact]) -> list[Json]:
    """How much and to whom, a line each: the first, which is the amount where there is one, the largest."""
    return [
        {
            "tag": "column_set",
            "flex_mode": "none",
            "horizontal_spacing": "8px",
            "columns": [
                column(div(fact.label, size="normal", colour="grey")) | {"width": "auto"},
                column(div(fact.value, size="heading-4" if number else "heading-2")),
            ],
        }
        for number, fact in enumerate(facts)
    ]


def _large_lines(facts: Sequence[Fact]) -> list[Json]:
    """The same in one block, where several requests share the elements of a card."""
    if not facts:
        return []
    return [div("\n".join(f"{_indent(fact.label)}: {_indent(fact.value)}" for fact in facts), size="heading-3")]


def _changed(facts: Sequence[Fact]) -> list[Json]:
    """What people changed of the call: larger than the facts, in a colour that nothing else has."""
    return [
        element
        for fact in facts
        for element in (
            div(f"✏️ {fact.label}", size="normal", colour="violet"),
            div(fact.value, size="heading-4", colour="violet"),
        )
    ]


def _changed_lines(facts: Sequence[Fact]) -> list[Json]:
    """The same in one block."""
    if not facts:
        return []
    lines = [f"✏️ {_indent(fact.label)}: {_indent(fact.value)}" for fact in facts]
    return [div("\n".join(lines), size="heading-4", colour="violet")]


def _rows(facts: Sequence[Fact]) -> list[Json]:
    """Label and value side by side."""
    return [
        {
            "tag": "column_set",
            "flex_mode": "none",
            "horizontal_spacing": "8px",
            "columns": [
                column(div(fact.label, size="normal", colour="grey")),
                column(div(fact.value, size="normal"), weight=3),
            ],
        }
        for fact in facts
    ]


def _small(facts: Sequence[Fact]) -> list[Json]:
    """What is for whoever looks closely, each on a grey line of its own."""
    return [div(_line(fact), size="notation", colour="grey") for fact in facts]


def _stacks(facts: Sequence[Fact]) -> list[Json]:
    """Label over value, in two elements."""
    return [
        element
        for fact in facts
        for element in (div(fact.label, size="notation", colour="grey"), div(fact.value, size="normal"))
    ]


def _lines(facts: Sequence[Fact]) -> list[Json]:
    """All facts in one block; a value's own line breaks are indented, so that no line of it looks like a fact."""
    if not facts:
        return []
    return [div("\n".join(map(_line, facts)), size="normal")]


def _line(fact: Fact) -> str:
    return f"{_indent(fact.label)}: {_indent(fact.value)}" if fact.value else _indent(fact.label)


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _preview(text: str) -> str:
    flat = text.replace("\n", " ")
    return flat if len(flat) <= _PREVIEW else flat[: _PREVIEW - 1] + "…"


_LEANEST = _Layout(large=_large_lines, changes=_changed_lines, pinned=_lines, rest=_lines, small=_lines, ruled=False)
_LAYOUTS = (
    _Layout(large=_large, changes=_changed, pinned=_rows, rest=_stacks, small=_small),
    _Layout(large=_large, changes=_changed, pinned=_stacks, rest=_stacks, small=_small),
    _Layout(large=_large, changes=_changed, pinned=_stacks, rest=_lines, small=_small),
    _Layout(large=_large, changes=_changed_lines, pinned=_lines, rest=_lines, small=_lines),
    _LEANEST,
)
