"""What is taken out of texts on their way: secrets out of a card, and a card out of a platform's complaint about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from app.domain.request.redact import scrubbed_for, unquoted
from assent.hooks.ready.redact import redact
from assent.hooks.ready.redact_shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from app.domain.card.card import Card
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue

# The number of a card or account is what people compare before they pay; the file says where it is sensitive.
_IN_ARGUMENTS = tuple(shape for shape in SHAPES if shape.name != "card-number")

_BY_NAME = "assignment"  # the shape that also goes by the names of arguments


def without_secrets(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return arguments without what has the shape or the name of a secret."""
    # Most calls have nothing of the kind: one look over the whole spares a look at each text for each shape.
    text = json.dumps(arguments, ensure_ascii=False).lower()
    likely = [shape for shape in _IN_ARGUMENTS if shape.name == _BY_NAME or any(hint in text for hint in shape.hints)]
    return cast("dict[str, JsonValue]", redact(dict(arguments), shapes=likely)[0])


def complaint_without(why: str, card: Card, requests: Iterable[ConfirmationRequest]) -> str:
    """Return a platform's words without what they quote of a card that it would not take: they are kept in clear."""
    for request in requests:
        why = scrubbed_for(why, request)
    return unquoted(why, _said_on(card))


def _said_on(card: Card) -> Iterator[str]:
    """Yield what a card says of the call and of what was said about it; not the words that are ours."""
    for each in (card, *card.also):
        yield each.title
        yield from each.warnings
        facts = (*each.highlights, *each.facts, *each.arguments, *each.changes, *each.dialogue)
        yield from (fact.value for fact in (*facts, *filter(None, [each.agent_says])))
