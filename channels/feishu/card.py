"""Card -> Feishu card JSON 2.0. Pure.

Every text stands in a ``plain_text`` element, never in ``markdown``: there an argument could mention everybody, link,
or make the whole card fail with one unknown user id. Every fact has elements of its own, so that no value can pass
itself off as the next fact. Nothing is cut but the preview lines (the chat list's summary and the header's subtitle),
whose whole text stands in the body.

The platform allows 200 elements (each thing with a ``tag`` counts) and a request body of 30 KB. Three layouts, from the
most readable to the leanest, are tried until one fits: two columns a fact; label over value; one block of lines, each
continued line indented.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from app.domain.card import Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.domain.card import Buttons, Card, Fact

Json = dict[str, object]
"""One object of card JSON."""

TEXT_BUDGET = 5000
"""UTF-16 units that a card carries whole, whatever they say: five thousand of Chinese are 15 KB of the 25 KB below."""

MAX_CONTENT = 25_000
"""Bytes of card JSON; the platform expands style tags before it counts its 30 KB."""

MAX_BODY = 29_000
"""Bytes of that JSON as a string inside the request, where every quotation mark is escaped again."""

MAX_ELEMENTS = 200
REASON_INPUT = "reason"
MAX_REASON = 500

_PREVIEW = 80
_LABEL = 100
_TEMPLATES = {Tone.WAITING: "orange", Tone.GOOD: "green", Tone.BAD: "red", Tone.NEUTRAL: "grey"}


def render_card(card: Card) -> Json:
    """Render a card in the first layout that the platform takes."""
    for pinned, rest in ((_rows, _stacks), (_stacks, _stacks), (_stacks, _lines)):
        rendered = _card(card, pinned, rest)
        if _fits(rendered):
            return rendered
    return _card(card, _lines, _lines)


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
    content = dump(rendered)
    return (
        count_elements(rendered) <= MAX_ELEMENTS
        and len(content.encode()) <= MAX_CONTENT
        and len(json.dumps(content, ensure_ascii=False).encode()) <= MAX_BODY
    )


def _card(
    card: Card,
    lay_out_pinned: Callable[[Sequence[Fact]], list[Json]],
    lay_out_rest: Callable[[Sequence[Fact]], list[Json]],
) -> Json:
    """Put the parts in the order in which they are needed: what, the facts, how far, the rest, the claim, controls."""
    body = [_div(card.title, size="heading-4" if card.highlights else "heading-3")]
    body += _large(card.highlights)
    body += [_div(f"⚠️ {warning}", size="normal", colour="red") for warning in card.warnings]
    if card.outcome:
        body.append(_div(card.outcome, size="normal"))
    body += lay_out_pinned(card.facts)
    if card.progress:
        body.append(_div(card.progress, size="normal", colour="blue"))
    if card.arguments:
        body += [_rule(), *lay_out_rest(card.arguments)]
    if card.hidden:
        body.append(_div(card.hidden, size="notation", colour="grey"))
    if card.agent_says is not None:
        body += [_rule(), *lay_out_rest([card.agent_says])]
    if card.withheld:
        body += [_rule(), _div(card.withheld, size="normal", colour="red")]
    if card.buttons is not None:
        body += [_rule(), *(lay_out_pinned([card.until]) if card.until else []), *_controls(card.buttons)]
    body.append(_div(card.footer, size="notation", colour="grey"))
    return {
        "schema": "2.0",
        "config": {
            "update_multi": True,  # everybody who sees the message sees its change
            "enable_forward": False,
            "enable_forward_interaction": False,
            "summary": {"content": _preview(f"{card.headline}: {card.title}")},
        },
        "header": {
            "template": _TEMPLATES[card.tone],
            "title": _plain(card.headline),
            "subtitle": _plain(_preview(card.tool)),
        },
        "body": {"vertical_spacing": "8px", "elements": body},
    }


def _controls(buttons: Buttons) -> list[Json]:
    """Approve on its own; Deny inside a form, because only a form submits the reason.

    There is no second question before Approve: in card JSON 2.0 ``confirm`` is documented for submit buttons only.
    """
    deny = _button(buttons.deny_label, "danger", buttons.deny) | {"name": "deny", "form_action_type": "submit"}
    reason: Json = {
        "tag": "input",
        "name": REASON_INPUT,
        "required": True,
        "input_type": "multiline_text",
        "max_length": MAX_REASON,
        "width": "fill",
        "label": _plain(buttons.reason_label[:_LABEL]),
        "label_position": "top",
        "placeholder": _plain(buttons.reason_hint[:_LABEL]),
    }
    form: Json = {"tag": "form", "name": "deny_form", "elements": [reason, deny]}
    if buttons.approve is None:
        return [form]
    return [_button(buttons.approve_label, "primary_filled", buttons.approve), form]


def _button(label: str, kind: str, token: str) -> Json:
    return {
        "tag": "button",
        "type": kind,
        "width": "fill",
        "text": _plain(label[:_LABEL]),
        "behaviors": [{"type": "callback", "value": {"v": 1, "t": token}}],
    }


def _large(facts: Sequence[Fact]) -> list[Json]:
    """How much and to whom, in large letters beside each other; one below the other where the screen is narrow."""
    if not facts:
        return []
    columns = [
        _column(_div(fact.label, size="notation", colour="grey"), _div(fact.value, size="heading-2")) for fact in facts
    ]
    return [{"tag": "column_set", "flex_mode": "flow", "horizontal_spacing": "12px", "columns": columns}]


def _rows(facts: Sequence[Fact]) -> list[Json]:
    """Label and value side by side."""
    return [
        {
            "tag": "column_set",
            "flex_mode": "none",
            "horizontal_spacing": "8px",
            "columns": [
                _column(_div(fact.label, size="normal", colour="grey")),
                _column(_div(fact.value, size="normal"), weight=3),
            ],
        }
        for fact in facts
    ]


def _column(*elements: Json, weight: int = 1) -> Json:
    return {
        "tag": "column",
        "width": "weighted",
        "weight": weight,
        "vertical_align": "top",
        "elements": list(elements),
    }


def _stacks(facts: Sequence[Fact]) -> list[Json]:
    """Label over value, in two elements."""
    return [
        element
        for fact in facts
        for element in (_div(fact.label, size="notation", colour="grey"), _div(fact.value, size="normal"))
    ]


def _lines(facts: Sequence[Fact]) -> list[Json]:
    """All facts in one block; a value's own line breaks are indented, so that no line of it looks like a fact."""
    if not facts:
        return []
    lines = [f"{_indent(fact.label)}: {_indent(fact.value)}" for fact in facts]
    return [_div("\n".join(lines), size="normal")]


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _div(text: str, *, size: str, colour: str | None = None) -> Json:
    plain = _plain(text) | {"text_size": size}
    if colour is not None:
        plain["text_color"] = colour
    return {"tag": "div", "text": plain}


def _plain(text: str) -> Json:
    return {"tag": "plain_text", "content": text}


def _rule() -> Json:
    return {"tag": "hr"}


def _preview(text: str) -> str:
    flat = text.replace("\n", " ")
    return flat if len(flat) <= _PREVIEW else flat[: _PREVIEW - 1] + "…"
