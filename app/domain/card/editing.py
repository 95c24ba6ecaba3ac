"""Approving with changes: what of a call people may change in a form, and the arguments that come out of it.

A form has only what it can carry without loss: short, single values that show no escapes, none that is hidden. Whatever
else of a call is to be changed is changed through the API, which takes whole arguments.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from copy import deepcopy
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from app.domain.call.tool import title_fields
from app.domain.card.card import units
from app.domain.card.form import MOST, Field, FieldKind, Form
from app.domain.text.canonical import MAX_INT, canonical, path_text
from app.domain.text.language import Language
from app.domain.text.masking import masked
from app.domain.text.paths import DECIMAL, steps_of
from app.domain.text.visible import visible
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.call.tool import Tool
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue

MOST_FIELDS = 10
"""Fields of one form: more would not be read, and no platform shows many more."""

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_TRUTHS = {"true": True, "是": True, "false": False, "否": False}
_TRUTH_TEXTS = {(True, Language.EN): "true", (False, Language.EN): "false", (True, Language.ZH): "是"}
_LONGEST_TOLD = 200  # characters of a value that a model is told of


class FieldFaultError(ValueError):
    """What was filled in cannot be taken: `key` names the sentence that says why, `field` the argument."""

    def __init__(self, key: str, field: str) -> None:
        """Keep both."""
        super().__init__(f"{field}: {key}")
        self.key = key
        self.field = field


class _Place(Struct, frozen=True, kw_only=True):
    """One value that a form may change: where it stands, and the name of its field."""

    name: str
    steps: tuple[str | int, ...]
    value: str | int

    @property
    def label(self) -> str:
        """The path as cards write it."""
        words = [f"[{step}]" if isinstance(step, int) else f".{visible(step)}" for step in self.steps]
        return "".join(words).removeprefix(".")


def edit_form(
    request: ConfirmationRequest, tool: Tool | None, language: Language, *, shown: Mapping[str, JsonValue]
) -> Form | None:
    """Return the form with the pinned arguments that people may change, or None if there are none.

    `shown` are the arguments with texts of the shape of secrets taken out: whatever is hidden so is in no form.
    """
    fields = tuple(
        Field(
            name=place.name,
            label=_called(place, tool, language),
            kind=FieldKind.LINE,
            value=_prefilled(place.value, language),
            hint=_hint(place.value, language),
            required=place.value != "",
        )
        for place in _places(request, tool, shown)
    )
    if not fields:
        return None
    label = say(language, "control.edit")
    return Form(
        title=label, submit=label, cancel=say(language, "cancel"), note=say(language, "form.edit"), fields=fields
    )


def _called(place: _Place, tool: Tool | None, language: Language) -> str:
    """Return what the file calls it, as cards do; what stands in a list keeps its path."""
    labels = tool.labels.get(place.label) if tool else None
    return labels.get(language.value, place.label) if labels else place.label


def edited_arguments(
    request: ConfirmationRequest, tool: Tool | None, fields: Mapping[str, str], *, shown: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return the arguments as a filled-in form wants them: every value of the type that it had.

    Raises FieldFaultError for what is no such value, and for a form that is not the one of these arguments.
    """
    places = _places(request, tool, shown)
    unknown = [name for name in fields if name.startswith(_PREFIX) and name not in {place.name for place in places}]
    if unknown or not places:
        raise FieldFaultError("edit_form", "")
    edited = deepcopy(dict(request.call.arguments))
    for place in places:
        text = fields.get(place.name, "")
        if isinstance(place.value, str) and text.strip() == place.value.strip():
            continue  # a platform may have taken blanks off its ends
        _put(edited, place.steps, _typed(place, text.strip()))
    return edited


def only_lowered(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue], money: Sequence[str]) -> bool:
    """Say whether nothing but amounts of `money` differs, byte for byte, and each of them is the same or less."""
    amounts = {steps: value for dotted in money for steps, value in _values_at(before, steps_of(dotted))}
    lowered = {steps: value for dotted in money for steps, value in _values_at(after, steps_of(dotted))}
    if amounts.keys() != lowered.keys():
        return False
    one, other = deepcopy(dict(before)), deepcopy(dict(after))
    for steps in sorted(amounts, key=len, reverse=True):  # what lies deeper first: it is gone with what is above
        if canonical(amounts[steps]) != canonical(lowered[steps]) and not _is_lower(lowered[steps], amounts[steps]):
            return False
        _put(one, steps, None)
        _put(other, steps, None)
    return canonical(one) == canonical(other)


def changed_names(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> list[str]:
    """Name the arguments that differ, of the whole call and in order."""
    names = sorted({*before, *after})
    return [name for name in names if _bytes_of(before, name) != _bytes_of(after, name)]


def builds_on(request: ConfirmationRequest, after: Mapping[str, JsonValue]) -> bool:
    """Say whether `after` keeps something of what `request.editor` made of the agent's own call.

    It does not where each argument that they changed is as the agent had it, or is another plain value altogether.
    """
    proposed, stands = request.proposed, request.call.arguments
    if request.editor is None or proposed is None:
        return False
    for name in changed_names(proposed, stands):
        undone = _bytes_of(after, name) == _bytes_of(proposed, name)
        plain = not isinstance(after.get(name), dict | list)
        replaced = plain and name in after and _bytes_of(after, name) != _bytes_of(stands, name)
        if not (undone or replaced):
            return True
    return False


def changes_for_model(request: ConfirmationRequest) -> str:
    """Say to the model what people changed of its call, sensitive values masked; "" where it is as it was."""
    if request.proposed is None:
        return ""
    before, after = masked(request.proposed, request.sensitive), masked(request.call.arguments, request.sensitive)
    told = [
        f"{visible(name)}: {_told(before, name)} → {_told(after, name)}"
        for name in changed_names(request.proposed, request.call.arguments)
    ]
    return "; ".join(told)


_MOST_LOOKED_AT = 32 * _LONGEST_TOLD
"""Characters of a value from which its beginning is made: runs of blanks become short, and all else long."""


def _told(arguments: Mapping[str, JsonValue], name: str) -> str:
    if name not in arguments:
        return "(left out)"
    value = arguments[name]
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = visible(written[:_MOST_LOOKED_AT])
    whole = len(written) <= _MOST_LOOKED_AT and len(text) <= _LONGEST_TOLD
    return text if whole else text[: _LONGEST_TOLD - 1] + "…"


def _bytes_of(arguments: Mapping[str, JsonValue], name: str) -> bytes | None:
    return canonical(arguments[name]) if name in arguments else None


_PREFIX = "edit_"


def _places(request: ConfirmationRequest, tool: Tool | None, shown: Mapping[str, JsonValue]) -> tuple[_Place, ...]:
    """Find the values that a form may change. A field's name tells its place: one of another form is none of these."""
    arguments = request.call.arguments
    paths = request.pinned or (title_fields(tool.title) if tool and tool.title else ())
    found: dict[tuple[str | int, ...], _Place] = {}
    for dotted in paths:
        if _is_sensitive(dotted, request, tool):
            continue
        seen = dict(_values_at(shown, steps_of(dotted)))
        for steps, value in _values_at(arguments, steps_of(dotted)):
            if steps in found or seen.get(steps) != value or not _fits(value):
                continue
            mark = hashlib.sha256(path_text(*steps).encode("utf-8", "surrogatepass")).hexdigest()[:8]
            found[steps] = _Place(name=f"{_PREFIX}{len(found)}_{mark}", steps=steps, value=cast("str | int", value))
    return tuple(found.values())[:MOST_FIELDS]


def _is_sensitive(dotted: str, request: ConfirmationRequest, tool: Tool | None) -> bool:
    path = steps_of(dotted)
    secrets = [steps_of(each) for each in (*request.sensitive, *(tool.sensitive if tool else ()))]
    return any(path[: len(secret)] == secret or secret[: len(path)] == path for secret in secrets)


def _fits(value: JsonValue) -> bool:
    match value:
        case bool():
            return True
        case int():
            return abs(value) <= MAX_INT
        case str():
            return units(value) <= MOST and visible(value) == value
        case _:
            return False


def _typed(place: _Place, text: str) -> str | int:
    """Read what was typed as a value of the type that stood there."""
    match place.value:
        case bool():
            truth = _TRUTHS.get(text.casefold())
            if truth is None:
                raise FieldFaultError("edit_truth", place.label)
            return truth
        case int():
            if not _WHOLE.fullmatch(text) or abs(int(text)) > MAX_INT:
                raise FieldFaultError("edit_whole", place.label)
            return int(text)
        case str():
            pass
    text = unicodedata.normalize("NFC", text)
    if not text:
        raise FieldFaultError("edit_empty", place.label)
    if units(text) > MOST:
        raise FieldFaultError("edit_long", place.label)
    if visible(text) != text:
        raise FieldFaultError("edit_hidden", place.label)
    return text


def _prefilled(value: str | int, language: Language) -> str:
    if isinstance(value, bool):
        return _TRUTH_TEXTS.get((value, language), "否")
    return str(value)


def _hint(value: str | int, language: Language) -> str:
    match value:
        case bool():
            return say(language, "form.edit_truth")
        case int():
            return say(language, "form.edit_whole")
        case str():
            return ""


def _is_lower(amount: JsonValue, than: JsonValue) -> bool:
    """Say whether an exact amount, not below zero, is at most another of its type."""
    if type(amount) is not type(than):
        return False
    match than, amount:
        case bool(), _:
            return False
        case int(), int():
            return 0 <= amount <= than
        case str(), str() if DECIMAL.fullmatch(than) and DECIMAL.fullmatch(amount):
            return 0 <= Decimal(amount) <= Decimal(than)
        case _:
            return False


def _values_at(
    value: JsonValue | Mapping[str, JsonValue], path: tuple[str, ...], to: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], JsonValue]]:
    """Yield every value at a path of the file, with the steps that lead to it."""
    if not path:
        yield to, cast("JsonValue", value)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _values_at(item, path, (*to, index))
    elif isinstance(value, dict) and path[0] in value:
        yield from _values_at(value[path[0]], path[1:], (*to, path[0]))


def _put(arguments: dict[str, JsonValue], steps: tuple[str | int, ...], value: JsonValue) -> None:
    at: JsonValue = arguments
    for step in steps[:-1]:
        at = cast("dict[str | int, JsonValue]", at)[step]
    cast("dict[str | int, JsonValue]", at)[steps[-1]] = value
