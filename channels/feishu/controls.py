"""What can be pressed and filled in on a card. Pure.

A form must stand at the root of the body, and every name in it must be the only one of that name on the card. So a form
is named after its action (and, for the other requests that share a card, their number), its submit button likewise, and
its inputs ``<button>_<field>``: the name of the pressed button says whose fields a click brought.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from app.domain.card.card import units
from app.domain.card.form import MOST, FieldKind
from channels.feishu.details.elements import MOST_ON_BUTTON, button, column, div, plain, rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.card.card import Buttons, Control
    from app.domain.card.form import Field, Form
    from channels.feishu.details.elements import Json

REASON_INPUT = "reason"
AN_ADDRESS = "name@example.com"
"""What shows in an empty field for a person. A picker offers only who is in the chat: in one's own, nobody else."""


def verdict_controls(buttons: Buttons, number: int, *, ready: bool = True, beside: bool = True) -> list[Json]:
    """Return Approve and Deny, a form each: only a form submits a reason, and only its button asks again (`confirm`).

    What must be typed stands beside its button, so that both are seen without a touch. `number` is 0 for the request
    whose card it is. `ready`: nothing speaks against the call; otherwise Approve is a button like any other. `beside`:
    the card has elements to spare for columns; otherwise the button stands below.
    """
    name = f"deny_{number}" if number else "deny"
    reason = _input(
        f"{name}_{REASON_INPUT}" if number else REASON_INPUT,
        label="",
        hint=f"{buttons.reason_label} {buttons.reason_hint}",
        required=True,
    )
    deny = button(buttons.deny_label, "danger", buttons.deny) | {"name": name, "form_action_type": "submit"}
    form = _form(f"deny_form_{number}" if number else "deny_form", reason, deny, beside=beside)
    if buttons.approve is None:
        return [form]
    approve = button(buttons.approve_label, "primary_filled" if ready else "default", buttons.approve)
    return [_approval_form(approve, buttons, number, beside=beside), form]


def _approval_form(approve: Json, buttons: Buttons, number: int, *, beside: bool) -> Json:
    name = f"approve_{number}" if number else "approve"
    confirm = {"title": plain(buttons.confirm_title), "text": plain(buttons.confirm_text)}
    submit = approve | {"name": name, "form_action_type": "submit", "confirm": confirm}
    typed = buttons.typed
    entry = typed and _input(
        f"{name}_{typed.name}", label="", hint=typed.label, required=typed.required, lines=False, value=typed.value
    )
    return _form(f"approve_form_{number}" if number else "approve_form", entry, submit, beside=beside)


def _form(name: str, entry: Json | None, submit: Json, *, beside: bool) -> Json:
    """Return a form of one line: what is filled in, and the button that sends it."""
    elements = [entry, submit] if entry else [submit]
    if entry and beside:
        columns = [column(entry, weight=3), column(submit, weight=2)]
        elements = [{"tag": "column_set", "flex_mode": "none", "horizontal_spacing": "8px", "columns": columns}]
    return {"tag": "form", "name": name, "elements": elements}


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
