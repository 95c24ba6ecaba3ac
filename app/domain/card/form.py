"""A form that a person fills in before something is done: fields and words, no platform's markup."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MOST = 500
"""Characters that a person may type into one field, on every platform alike."""


class FieldKind(StrEnum):
    """How a field is filled in."""

    LINE = "line"
    TEXT = "text"  # several lines
    PERSON = "person"  # answered with the platform's account id, or with an e-mail where the platform has no such field


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing to be filled in. `name` is ours: letters, digits and underscores, unique in its form."""

    name: str
    label: str
    kind: FieldKind = FieldKind.TEXT
    value: str = ""  # what stands in it at first
    hint: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What is asked, and the words on its button. `note` stands above the fields, in plain text."""

    title: str
    submit: str
    cancel: str
    note: str
    fields: tuple[Field, ...]
