"""What a model refuses, in the words of whoever writes the file: what is wanted, what stands there, and the mend.

Each kind of refusal has its sentence here, once; the library's own never reach anybody. A value is quoted only where it
cannot be a secret: numbers and switches, for what comes from the environment is a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from app.policies.marks.faults import near
from app.policies.marks.name_words import pattern_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic_core import ErrorDetails

    Said = tuple[str, str | None]

_SWITCH = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}


def refusal_in_words(error: ErrorDetails) -> Said:
    """Return what is wanted, and the mend where there is more to say of it."""
    said = _SAID.get(error["type"])
    if said is not None:
        return said(error["input"], error.get("ctx", {}))
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "must")  # of others' models
    return message.removesuffix("."), None


def kind_of(value: object) -> str:
    """Say what stands there, without showing it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a text" if value.strip() else "an empty text"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"


def not_a_mapping(value: object, keys: str = "{key: value}") -> Said:
    """Say that something must be a mapping, and how one is written."""
    return f"must be a mapping, and here is {kind_of(value)}", f"write {keys}, or its keys on the lines below it"


def not_a_list(value: object) -> Said:
    """Say that something must be a list, and how one is written."""
    mend = "put [ ] around it" if isinstance(value, (str, int, float)) and value != "" else "write [one, another]"
    return f"must be a list, and here is {kind_of(value)}", mend


def _text(value: object, _: Mapping[str, Any]) -> Said:
    mend = "write one text"
    if isinstance(value, bool):
        mend = f'put it in quotes: "{kind_of(value)}"'
    elif isinstance(value, (int, float)):
        mend = f'put it in quotes: "{value}"'
    return f"must be a text, and here is {kind_of(value)}", mend


def _switch(value: object, _: Mapping[str, Any]) -> Said:
    meant = _SWITCH.get(value.strip().lower()) if isinstance(value, str) else None
    return (
        "must be true or false",
        f"write {meant}, without quotes" if meant else "write one of the two, without quotes",
    )


def _whole_number(value: object, _: Mapping[str, Any]) -> Said:
    mend = "write its digits alone, such as 5: no quotes, no 0 before them, no point and no marks between them"
    return f"must be a whole number, and here is {_or_point(value)}", mend


def _number(value: object, _: Mapping[str, Any]) -> Said:
    return f"must be a number, and here is {kind_of(value)}", "write it without quotes, such as 0.5"


def _or_point(value: object) -> str:
    return "one with a point" if isinstance(value, float) else kind_of(value)


def _choice(value: object, ctx: Mapping[str, Any]) -> Said:
    wanted = str(ctx["expected"]).replace("'", "")
    words = wanted.replace(" or ", ", ").split(", ")
    meant = near(value, words, what="") if isinstance(value, str) else None
    here = "" if isinstance(value, str) and value.strip() else f", and here is {kind_of(value)}"
    return f"must be {wanted}{here}", meant if meant and meant.startswith("did you mean") else None


def _bound(words: str, key: str) -> Callable[[object, Mapping[str, Any]], Said]:
    def said(value: object, ctx: Mapping[str, Any]) -> Said:
        here = f", and here is {value}" if isinstance(value, (int, float)) else ""
        return f"must be {words.format(ctx[key])}{here}", None

    return said


def _too_short(value: object, ctx: Mapping[str, Any]) -> Said:
    if not value:
        return "is empty", "give it a value, or leave it out where it has a default"
    least = ctx["min_length"]
    if isinstance(value, str):
        return f"must have {least} characters or more, and has {len(value)}", None
    return f"must have {least} or more, and has {ctx['actual_length']}", None


def _too_long(value: object, ctx: Mapping[str, Any]) -> Said:
    if isinstance(value, str):
        return f"must have {ctx['max_length']:,} characters at most, and has {len(value):,}", "shorten it"
    return f"must have {ctx['max_length']:,} at most, and has {_many(value, ctx)}", "take some out"


def _many(value: object, ctx: Mapping[str, Any]) -> str:
    """Return how many there are; the library stops counting at the first that is too many."""
    return f"{len(cast('Sequence[object]', value)) if isinstance(value, (list, dict)) else ctx['actual_length']:,}"


def _pattern(_: object, ctx: Mapping[str, Any]) -> Said:
    return pattern_in_words(str(ctx["pattern"])), None


def _missing(_: object, __: Mapping[str, Any]) -> Said:
    return "is missing", None


_SAID: dict[str, Callable[[object, Mapping[str, Any]], Said]] = {
    "missing": _missing,
    "string_type": _text,
    "string_unicode": lambda _, __: ("has half of a character in it", "write it anew"),
    "bool_type": _switch,
    "bool_parsing": _switch,
    "int_type": _whole_number,
    "int_parsing": _whole_number,
    "int_from_float": _whole_number,
    "int_parsing_size": _whole_number,
    "float_type": _number,
    "float_parsing": _number,
    "list_type": lambda value, _: not_a_list(value),
    "tuple_type": lambda value, _: not_a_list(value),
    "set_type": lambda value, _: not_a_list(value),
    "dict_type": lambda value, _: not_a_mapping(value),
    "model_type": lambda value, _: not_a_mapping(value),
    "model_attributes_type": lambda value, _: not_a_mapping(value),
    "literal_error": _choice,
    "enum": _choice,
    "greater_than_equal": _bound("{} or more", "ge"),
    "greater_than": _bound("more than {}", "gt"),
    "less_than_equal": _bound("{} or less", "le"),
    "less_than": _bound("less than {}", "lt"),
    "string_too_short": _too_short,
    "too_short": _too_short,
    "string_too_long": _too_long,
    "too_long": _too_long,
    "string_pattern_mismatch": _pattern,
}
