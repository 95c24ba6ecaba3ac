"""What the file says of one tool: how its calls are shown, and what its arguments must look like.

Fields are named by dotted paths (``payee.name``); a path goes through every element of a list on its way
(``items.price`` is the price of each item).
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from app.domain.call.schema import first_error
from app.domain.errors import BadArgumentsError
from app.domain.money.payment import payments_of, plain
from app.domain.text.canonical import MAX_VALUES, check_value, path_text
from app.domain.text.paths import DECIMAL, list_values, money_text, text_of, values_at
from app.domain.text.visible import PLAIN, on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jsonschema.exceptions import ValidationError

    from app.domain.money.payment import PaymentFields
    from app.domain.text.canonical import JsonValue

MISSING = "?"
LONGEST_TITLE = 200
PLACE = re.compile(r"\{([^\W\d][\w.-]*)\}")
"""A field of a title: an argument's name, in the letters of any script, or a path of such."""
_LONGEST_RULE = 120  # characters of a schema's keyword that are worth repeating to the caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `title` is a template such as ``Pay {payee}``; None shows the bare name.

    `titles` are its translations and `labels` what arguments are called, both by language (``en``, ``zh``). `pin` is
    shown first, `sensitive` is never shown, `money` must be whole numbers or decimal texts, `payee` is to whom; without
    it a pinned argument that is called like one counts. `schema` is a JSON
    Schema (draft 2020-12) of the arguments, or None. `writes` is False for tools that only read, None where the file
    does not say: such a tool counts as writing. `requires_confirmation` asks people whatever the rules would allow.
    `payment` says where its payments stand; they are in `pin`, `money` and `payee` as well. `irreversible`: there is
    never a standing approval. `enforced`: it runs behind an executor only. `result` are the parts of its result that
    people may see.
    """

    name: str
    title: str | None = None
    pin: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    money: tuple[str, ...] = ()
    payee: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"], hash=False)
    schema: Mapping[str, JsonValue] | None = field(default=None, hash=False)
    writes: bool | None = None
    requires_confirmation: bool = False
    payment: PaymentFields | None = None
    irreversible: bool = False
    enforced: bool = False
    result: tuple[str, ...] = ()

    def hides(self, path: str) -> bool:
        """Say whether showing the value at `path` would show something sensitive."""
        return _hides(self.sensitive, path)


def _hides(sensitive: Iterable[str], path: str) -> bool:
    return any(_within(path, secret) or _within(secret, path) for secret in sensitive)


def title_fields(template: str) -> tuple[str, ...]:
    """Return the fields that a title names."""
    return tuple(PLACE.findall(template))


def title_for(tool: Tool, arguments: Mapping[str, JsonValue], language: str | None = None) -> str:
    """Fill the title. Missing and sensitive fields are "?"; money is grouped; other texts stay, all else is JSON.

    In `language` where the file has it so.
    """
    template = tool.titles.get(language or "", tool.title)
    if template is None:
        return tool.name

    words, *places = _pieces(template, tool.sensitive)
    for path, between in places:
        words += MISSING if path is None else _filled_in(tool, arguments, path)
        words += between
    return words


@lru_cache(maxsize=1024)
def _pieces(template: str, sensitive: tuple[str, ...]) -> tuple[Any, ...]:
    """Return a title's first words, and of each of its fields the path (None: it is never shown) and what follows."""
    first, *rest = PLACE.split(template)
    return first, *(
        (None if _hides(sensitive, path) else path, words) for path, words in zip(rest[::2], rest[1::2], strict=True)
    )


def _filled_in(tool: Tool, arguments: Mapping[str, JsonValue], path: str) -> str:
    values = list_values(arguments, path)
    if tool.payment is not None and tool.payment.minor_units and path == tool.payment.amount:
        values = _in_units(tool.payment, arguments) or values
    money = path in tool.money
    return ", ".join([(money and money_text(value)) or text_of(value) for value in values]) if values else MISSING


def title_line(tool: Tool, arguments: Mapping[str, JsonValue], language: str | None = None) -> str:
    """Return the filled title as people read it: visible, on one line, and no longer than a sentence is.

    What is left out at its end stands whole among the arguments.
    """
    title = title_for(tool, arguments, language)
    shown = title[: LONGEST_TITLE + 1]
    if PLAIN.fullmatch(shown) is None:
        shown = on_one_line(shown)
    return shown if len(shown) <= LONGEST_TITLE else f"{shown[: LONGEST_TITLE - 1]}…"


def _in_units(fields: PaymentFields, arguments: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Return amounts of cents in units of their currency: nobody reads 500001 as ¥5,000.01."""
    try:
        return [plain(payment.amount) for payment in payments_of(fields, arguments)]
    except BadArgumentsError:
        return []


def check_arguments(tool: Tool, arguments: object) -> dict[str, JsonValue]:
    """Return the arguments with the schema's defaults filled in.

    Raises BadJsonError for values that JSON cannot say safely and BadArgumentsError for money that is not exact and for
    arguments against the schema; both with the `path` of the fault and without the value that is at fault.
    """
    if not isinstance(arguments, dict):
        raise BadArgumentsError("the arguments are not an object", path="")
    whole = cast("dict[str, JsonValue]", check_value(cast("object", arguments), max_values=MAX_VALUES))
    if tool.schema is not None:
        whole = cast("dict[str, JsonValue]", _filled(whole, tool.schema))
        error = first_error(tool.schema, whole)
        if error is not None:
            raise _refusal(error)
    for dotted in tool.money:
        for path, value in values_at(whole, dotted):
            _refuse_inexact(path, value)
    return whole


def as_one(tools: Iterable[Tool]) -> Tool:
    """Return one tool of which everything holds that is said of any of `tools`; its name and schema are the first's."""
    first, *others = tools
    if not others:
        return first
    every = (first, *others)
    writes = [tool.writes for tool in every if tool.writes is not None]
    return replace(
        first,
        title=next((tool.title for tool in every if tool.title is not None), None),
        pin=_all_of(tool.pin for tool in every),
        sensitive=_all_of(tool.sensitive for tool in every),
        money=_all_of(tool.money for tool in every),
        payee=_all_of(tool.payee for tool in every),
        titles=next((tool.titles for tool in every if tool.title is not None), first.titles),
        labels=dict(ChainMap(*(dict(tool.labels) for tool in every))),
        writes=any(writes) if writes else None,
        requires_confirmation=any(tool.requires_confirmation for tool in every),
        payment=next((tool.payment for tool in every if tool.payment is not None), None),
        irreversible=any(tool.irreversible for tool in every),
        enforced=any(tool.enforced for tool in every),
        result=() if any(not tool.result for tool in every) else _all_of(tool.result for tool in every),
    )


def checked(tools: Iterable[Tool], arguments: object) -> dict[str, JsonValue]:
    """Return the arguments with the defaults of every schema, their payments readable.

    Raises BadJsonError, BadArgumentsError as one does.
    """
    first, *others = tools
    whole = check_arguments(first, arguments)
    for tool in others:
        whole = check_arguments(tool, whole)
    for tool in (first, *others):
        if tool.payment is not None:
            payments_of(tool.payment, whole)
    return whole


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith(f"{outer}.")


def _refuse_inexact(path: str, value: JsonValue) -> None:
    match value:
        case bool():
            pass
        case int():
            return
        case str() if DECIMAL.fullmatch(value):
            return
        case list():
            for index, item in enumerate(value):
                _refuse_inexact(f"{path}[{index}]", item)
            return
        case _:
            pass
    why = 'money must be a whole number or a decimal text such as "12.50"'
    raise BadArgumentsError(f"{path}: {why}", path=path, why=why)


def _filled(value: JsonValue, schema: JsonValue | Mapping[str, JsonValue]) -> JsonValue:
    """Fill `default`s of missing properties, through plain `properties` only; `value` itself is left alone."""
    if not isinstance(value, dict) or not isinstance(schema, dict):
        return value
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return value
    filled = dict(value)
    for name, rule in properties.items():
        if name in filled:
            filled[name] = _filled(filled[name], rule)
        elif isinstance(rule, dict) and "default" in rule:
            filled[name] = rule["default"]
    return filled


def _refusal(error: ValidationError) -> BadArgumentsError:
    """Tell what the schema wants. Never with the library's own message: it repeats the caller's values."""
    where = path_text(*error.absolute_path)
    wanted = cast("object", error.validator_value)
    match error.validator:
        case "required":
            here = cast("dict[str, object]", error.instance)
            lacking = [name for name in cast("list[str]", wanted) if name not in here]
            why = f"lacks {', '.join(lacking)}"
        case "additionalProperties":
            known = cast("dict[str, object]", cast("dict[str, object]", error.schema).get("properties", {}))
            extra = [name for name in cast("dict[str, object]", error.instance) if name not in known]
            why = f"has unknown {path_text(extra[0])}" if extra else "has unknown fields"
        case "type":
            why = f"must be of type {text_of(cast('JsonValue', wanted))}"
        case _:
            why = f"does not satisfy `{error.validator}: {text_of(cast('JsonValue', wanted))[:_LONGEST_RULE]}`"
    return BadArgumentsError(f"{where}: {why}" if where else f"the arguments: {why}", path=where, why=why)


def _all_of(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for paths in lists for path in paths))
