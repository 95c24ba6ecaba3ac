"""The few elements of card JSON 2.0 that our cards are made of. Whatever is written stands in ``plain_text``."""

from __future__ import annotations

Json = dict[str, object]
"""One object of card JSON."""

MOST_ON_BUTTON = 100
"""Characters on a button, in a placeholder and in a label."""


def div(text: str, *, size: str, colour: str | None = None) -> Json:
    """Return a line of text that nothing parses."""
    words = plain(text) | {"text_size": size}
    if colour is not None:
        words["text_color"] = colour
    return {"tag": "div", "text": words}


def plain(text: str) -> Json:
    """Return text as the other elements hold it."""
    return {"tag": "plain_text", "content": text}


def rule() -> Json:
    """Return a line across the card."""
    return {"tag": "hr"}


def column(*elements: Json, weight: int = 1) -> Json:
    """Return a column that takes its share of the width."""
    return {
        "tag": "column",
        "width": "weighted",
        "weight": weight,
        "vertical_align": "top",
        "elements": list(elements),
    }


def button(label: str, kind: str, token: str) -> Json:
    """Return a button across the whole width; pressed, it gives back the token and nothing else."""
    return {
        "tag": "button",
        "type": kind,
        "width": "fill",
        "text": plain(label[:MOST_ON_BUTTON]),
        "behaviors": [{"type": "callback", "value": {"v": 1, "t": token}}],
    }
