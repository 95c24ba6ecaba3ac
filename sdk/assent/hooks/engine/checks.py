"""What a verdict must be before it counts: a HookResult of the right types, within the powers of its moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.hooks.contract.model_request import ModelRequest
from assent.hooks.contract.moments import POWERS, Moment, Power
from assent.hooks.contract.verdicts import HookResult, Routing

_NONE = type(None)
_SHAPES: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("allow", (bool,), "true or false"),
    ("error", (str, _NONE), "a text"),
    ("modified_args", (Mapping, _NONE), "a mapping"),
    ("modified_prompt", (str, _NONE), "a text"),
    ("modified_request", (ModelRequest, _NONE), "a ModelRequest"),
    ("ask", (str, _NONE), "a text"),
    ("route", (Routing, _NONE), "a Routing"),
    ("context", (str, _NONE), "a text"),
    ("tags", (Mapping,), "a mapping"),
    ("hidden", (bool,), "true or false"),
    ("send_back", (str, _NONE), "a text"),
    ("side_effects", (Mapping,), "a mapping"),
)


class HookFaultError(Exception):
    """A hook did not do its work; the text says what went wrong, for people and for the model."""


def check_verdict(result: object, moment: Moment) -> HookResult:
    """Return the verdict if it can count. Raises HookFaultError."""
    if not isinstance(result, HookResult):
        raise HookFaultError(f"it answered with {_a(result)} instead of a HookResult (or None)")
    for name, types, wanted in _SHAPES:
        value = getattr(result, name)
        if not isinstance(value, types):
            raise HookFaultError(f"its verdict's {name} is {_a(value)}, and must be {wanted}")
    for power in _used(result):
        if power not in POWERS[moment]:
            raise HookFaultError(f"it wants to {power}, which {moment} does not know")
    if not result.allow and not (result.error or "").strip():
        raise HookFaultError("it denied without a reason")
    return result


def _used(result: HookResult) -> list[Power]:
    """List the powers that a verdict makes use of."""
    used = (
        (not result.allow, Power.BLOCK),
        (result.modified_args is not None, Power.REWRITE_ARGS),
        (result.modified_prompt is not None, Power.REWRITE_PROMPT),
        (result.modified_request is not None, Power.REWRITE_REQUEST),
        (result.modified_result is not None, Power.REPLACE_RESULT),
        (result.ask is not None, Power.ASK),
        (result.route is not None, Power.ROUTE),
        (bool(result.context), Power.ADD_CONTEXT),
        (bool(result.tags), Power.TAG),
        (result.hidden, Power.HIDE),
        (result.send_back is not None, Power.SEND_BACK),
    )
    return [power for is_used, power in used if is_used]


def _a(value: Any) -> str:
    return f"a {type(value).__name__}"
