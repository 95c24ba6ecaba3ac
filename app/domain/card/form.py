"""A form that a person fills in before something is done: fields and words, no platform's markup."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

MOST = 500
"""Characters that a person may type into one field, on every platform alike."""


class FieldKind(StrEnum):
    """How a field is filled in."""

    LINE = "line"
    TEXT = "text"  # several lines
    PERSON = "person"  # answered with the platform's account id, or with an e-mail where the platform has no such field


class Field(Struct, frozen=True, kw_only=True):
    """One thing to be filled in. `name` is ours: letters, digits and underscores, unique in its form."""

    name: str
    label: str
    kind: FieldKind = FieldKind.TEXT
    value: str = ""  # what stands in it at first
    hint: str = ""
    required: bool = True


class Form(Struct, frozen=True, kw_only=True):
    """What is asked, and the words on its button. `note` stands above the fields, in plain text."""

    title: str
    submit: str
    cancel: str
    note: str
    fields: tuple[Field, ...]
