"""Texts of the shape or the name of a secret, taken out of a call's arguments before people are shown them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from assent.hooks.ready.redact import redact
from assent.hooks.ready.redact_shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

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
