"""Forms in Slack: a modal for any form of ours, and its answer read back. Pure.

A modal's answer names no message, so the sealed token, the place and the names of the fields travel in
``private_metadata``. The token and the place are compared like those of a button.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, assert_never

from app.domain.card.card import units
from app.domain.card.form import MOST, FieldKind
from app.ports import ChannelRefusedError
from channels.slack.details.texts import clip, plain, sections

if TYPE_CHECKING:
    from app.domain.card.form import Field, Form
    from app.ports import Click

FORM_MODAL: Final = "assent_form_modal"
PERSON_ID: Final = re.compile(r"[UW][A-Z0-9]{2,30}")
"""What a person's id looks like in Slack."""

_METADATA_MOST: Final = 3_000
_BLOCKS_MOST: Final = 100


def field_block(name: str) -> str:
    """Return how the block of a field is called; an error is shown under it."""
    return f"assent_field_{name}"


def field_input(name: str) -> str:
    """Return how the one input of a field is called."""
    return f"assent_answer_{name}"


def modal(form: Form, click: Click) -> dict[str, object]:
    """Return the modal for a form. Raises ChannelRefusedError when it has more than a modal carries whole."""
    place = {
        "v": 1,
        "token": click.token,
        "chat": click.chat_id,
        "ts": click.message_id,
        "fields": [field.name for field in form.fields],
    }
    metadata = json.dumps(place, separators=(",", ":"))
    blocks = [*sections("assent_form_note", form.note), *(_input(field) for field in form.fields)]
    if len(metadata) > _METADATA_MOST or len(blocks) > _BLOCKS_MOST:
        why = f"the form has {len(form.fields)} fields, more than a modal carries"
        raise ChannelRefusedError(why)
    return {
        "type": "modal",
        "callback_id": FORM_MODAL,
        "private_metadata": metadata,
        "title": plain(clip(form.title, 24)),
        "submit": plain(clip(form.submit, 24)),
        "close": plain(clip(form.cancel, 24)),
        "blocks": blocks or sections("assent_form_note", "–"),
    }


def _input(field: Field) -> dict[str, object]:
    return {
        "type": "input",
        "block_id": field_block(field.name),
        "label": plain(clip(field.label, 2_000)),
        **({"hint": plain(clip(field.hint, 2_000))} if field.hint else {}),
        "optional": not field.required,
        "element": _element(field),
    }


def _element(field: Field) -> dict[str, object]:
    match field.kind:
        case FieldKind.PERSON:
            known = PERSON_ID.fullmatch(field.value)
            return {
                "type": "users_select",
                "action_id": field_input(field.name),
                **({"initial_user": field.value} if known else {}),
            }
        case FieldKind.LINE | FieldKind.TEXT:
            if units(field.value) > MOST:
                why = f"the field {field.name} begins with more than {MOST} characters"
                raise ChannelRefusedError(why)
            return {
                "type": "plain_text_input",
                "action_id": field_input(field.name),
                "multiline": field.kind is FieldKind.TEXT,
                **({"min_length": 1} if field.required else {}),
                "max_length": MOST,
                **({"initial_value": field.value} if field.value else {}),
            }
        case _:
            assert_never(field.kind)
