"""What can be pressed and filled in on a card. Pure.

A form must stand at the root of the body, and every name in it must be the only one of that name on the card. So a form
is named after its action (and, for the other requests that share a card, their number), its submit button likewise, and
its inputs ``<button>_<field>``: the name of the pressed button says whose fields a click brought.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from app.domain.card.card import units
from app.domain.card.form import MOST, FieldKind
from channels.feishu.details.elements import MOST_ON_BUTTON, button, div, plain, rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.card.card import Buttons, Control
    from app.domain.card.form import Field, Form
    from channels.feishu.details.elements import Json

REASON_INPUT = "reason"
AN_ADDRESS = "name@example.com"
"""What shows in an empty field for a person. A picker offers only who is in the chat: in one's own, nobody else."""


def verdict_controls(buttons: Buttons, number: int) -> list[Json]:
    """Return Approve on its own, and Deny inside a form, because only a form submits the reason.

    Where something must be typed before Approve counts, it is a form as well: one of its own, so that neither asks for
    what belongs to the other. `number` is 0 for the request whose card it is. There is no second question before
    Approve: in card JSON 2.0 ``confirm`` is documented for submit buttons only.
    """
    name = f"deny_{number}" if number else "deny"
    reason = _input(
        f"{name}_{REASON_INPUT}" if number else REASON_INPUT,
        label=buttons.reason_label,
        hint=buttons.reason_hint,
        required=True,
    )
    deny = button(buttons.deny_label, "danger", buttons.deny) | {"name": name, "form_action_type": "submit"}
    form: Json = {"tag": "form", "name": f"deny_form_{number}" if number else "deny_form", "elements": [reason, deny]}
    if buttons.approve is None:
        return [form]
    approve = button(buttons.approve_label, "primary_filled", buttons.approve)
    return [approve if buttons.typed is None else _approval_form(approve, buttons.typed, number), form]


def _approval_form(approve: Json, typed: Field, number: int) -> Json:
    name = f"approve_{number}" if number else "approve"
    submit = approve | {"name": name, "form_action_type": "submit"}
    elements = [*_field(typed, f"{name}_{typed.name}"), submit]
    return {"tag": "form", "name": f"approve_form_{number}" if number else "approve_form", "elements": elements}


def plain_controls(controls: Sequence[Control]) -> list[Json]:
    """Return the controls that need no form, small and beside each other."""
    columns: list[Json] = [
        {
            "tag": "column",
            "width": "auto",
            "elements": [button(control.label, "default", control.token) | {"width": "default", "size": "small"}],
        }
        for control in controls
        if control.form is None
    ]
    if not columns:
        return []
    return [{"tag": "column_set", "flex_mode": "flow", "horizontal_spacing": "8px", "columns": columns}]


def form_control(control: Control, form: Form, number: int) -> list[Json]:
    """Return a control as the form that it needs."""
    name = f"{control.action.value}_{number}" if number else control.action.value
    inside: list[Json] = [div(form.title, size="heading-4")]
    if form.note and form.note != form.title:
        inside.append(div(form.note, size="normal", colour="grey"))
    for field in form.fields:
        inside += _field(field, f"{name}_{field.name}")
    submit = button(form.submit, "primary", control.token) | {"name": name, "form_action_type": "submit"}
    return [rule(), {"tag": "form", "name": f"{name}_form", "elements": [*inside, submit]}]


def fillable(form: Form) -> bool:
    """Say whether a person could submit the form as it is first shown: a longer value would have to be cut."""
    return all(units(field.value) <= MOST for field in form.fields)


def own_fields(pressed: str | None, values: Mapping[str, str]) -> dict[str, str]:
    """Return what was typed into the form of a pressed button, by our names of the fields."""
    fields = {REASON_INPUT: values[REASON_INPUT]} if REASON_INPUT in values else {}
    if pressed:
        prefix = f"{pressed}_"
        fields |= {name.removeprefix(prefix): text for name, text in values.items() if name.startswith(prefix)}
    return fields


def _field(field: Field, name: str) -> list[Json]:
    """Return the input for a field; a label that is too long for it stands above."""
    short = len(field.label) <= MOST_ON_BUTTON
    above = [] if short else [div(field.label, size="normal")]
    entry = _input(
        name,
        label=field.label if short else "",
        hint=_hint(field),
        required=field.required,
        lines=field.kind is FieldKind.TEXT or "\n" in field.value,
        value=field.value,
    )
    return [*above, entry]


def _hint(field: Field) -> str:
    match field.kind:
        case FieldKind.PERSON:
            return field.hint or AN_ADDRESS
        case FieldKind.LINE | FieldKind.TEXT:
            return field.hint
        case _:
            assert_never(field.kind)


def _input(name: str, *, label: str, hint: str, required: bool, lines: bool = True, value: str = "") -> Json:
    entry: Json = {
        "tag": "input",
        "name": name,
        "required": required,
        "input_type": "multiline_text" if lines else "text",
        "max_length": MOST,
        "width": "fill",
    }
    if label:
        entry |= {"label": plain(label[:MOST_ON_BUTTON]), "label_position": "top"}
    if hint:
        entry["placeholder"] = plain(hint[:MOST_ON_BUTTON])
    if value:
        entry["default_value"] = value
    return entry
