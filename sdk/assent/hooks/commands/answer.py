"""What a hook command printed, as a verdict: one JSON object in our short form, in Claude Code's, or in Copilot's.

    {"decision": "allow" | "deny" | "modify" | "ask" | "context" | "route", "reason": "…", …}
    {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", …}}
    {"permissionDecision": "deny", "permissionDecisionReason": "…", "modifiedArgs": {…}}

Nothing printed, and `{}`, is no opinion. Everything else is a fault: a misspelt word must not be taken for consent.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from assent.hooks.contract.model_request import ModelRequest
from assent.hooks.contract.moments import POWERS, Moment, Power
from assent.hooks.contract.tool_names import canonical_name
from assent.hooks.contract.verdicts import HookResult, Routing
from assent.hooks.engine.checks import HookFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from assent.hooks.contract.context import HookContext

_DECISIONS = {
    "allow": "allow",
    "approve": "allow",
    "deny": "deny",
    "block": "deny",
    "modify": "modify",
    "ask": "ask",
    "defer": "ask",
    "context": "context",
    "route": "route",
}
_KEYS = {
    "decision": str,
    "reason": str,
    "name": str,
    "args": dict,
    "result": object,
    "prompt": str,
    "request": dict,
    "context": str,
    "tags": dict,
    "hide_output": bool,
    "side_effects": dict,
    "provider": str,
    "command": str,
    "options": dict,
}
_BESIDE = frozenset({"context", "tags", "hide_output", "side_effects"})
"""What says something without a decision."""
_LONG_KEYS = {
    "permissionDecision": "decision",
    "permissionDecisionReason": "reason",
    "updatedInput": "args",
    "additionalContext": "context",
    "updatedToolOutput": "result",
}
_FLAT_KEYS = {
    "arguments": "args",
    "permissionDecision": "decision",
    "permissionDecisionReason": "reason",
    "modifiedArgs": "args",
    "additionalContext": "context",
}
"""As Copilot says it, and our own other word."""
_UNIVERSAL = {"continue": bool, "stopReason": str, "systemMessage": str, "suppressOutput": bool}
_MODIFIES = {
    Moment.PRE_TOOL_USE: "args",
    Moment.POST_TOOL_USE: "result",
    Moment.POST_TOOL_USE_FAILURE: "result",
    Moment.USER_PROMPT_SUBMIT: "prompt",
    Moment.PRE_MODEL_REQUEST: "request",
}
_NO_REASON = "the hook gave no reason"


def parse_answer(printed: bytes, ctx: HookContext) -> HookResult | None:
    """Return the verdict, or None for no opinion. Raises HookFaultError with what is wrong with it."""
    whole = _parse_object(printed)
    if not whole:
        return None
    universal = {key: _typed(key, whole.pop(key), kind) for key, kind in _UNIVERSAL.items() if key in whole}
    said = _short_form(whole, ctx)
    if universal.get("systemMessage"):
        said["side_effects"] = {**said.get("side_effects", {}), "system_message": universal["systemMessage"]}
    if universal.get("continue") is False and Power.BLOCK in POWERS[ctx.moment]:
        said = {**said, "decision": "deny", "reason": universal.get("stopReason") or said.get("reason", "")}
    return _verdict(said, ctx) if said else None


def blocked(reason: str, ctx: HookContext) -> HookResult:
    """Return the verdict of a hook that blocks: at Stop, that the agent is to go on."""
    told = reason.strip() or _NO_REASON
    if ctx.moment is Moment.STOP:
        return HookResult(send_back=told)
    return HookResult(allow=False, error=told)


def _parse_object(printed: bytes) -> dict[str, Any]:
    try:
        text = printed.decode()
    except UnicodeDecodeError as error:
        raise HookFaultError(f"it printed what is no UTF-8 (at byte {error.start})") from None
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise HookFaultError("it printed more than one JSON value: print one object, and nothing else") from None
        raise HookFaultError(
            f"it printed what is no JSON ({error.msg.removesuffix(' at')} at character {error.pos}): {_cut(text)}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise HookFaultError(f"it printed JSON that cannot be taken: {_cut(str(error))}") from None
    if not isinstance(value, dict):
        raise HookFaultError(f"it printed a JSON {_kind(value)} instead of an object: {_cut(text)}")
    return cast("dict[str, Any]", value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands there twice")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise ValueError(f"{digits} is too large")
    return number


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _short_form(whole: dict[str, Any], ctx: HookContext) -> dict[str, Any]:
    """Bring both forms into the short one, every value of the type that it must have."""
    long = whole.pop("hookSpecificOutput", None)
    said: dict[str, Any] = {}
    for key, value in whole.items():
        _say(said, _FLAT_KEYS.get(key, key), key, value)
    if long is None:
        beside = _BESIDE | {"args"} if "modifiedArgs" in whole else _BESIDE
        if "decision" not in said and not said.keys() <= beside:
            raise HookFaultError(f'it printed {", ".join(said)}, but no "decision"')
        return said
    specific = cast("dict[str, Any]", _typed("hookSpecificOutput", long, dict))
    moment = specific.pop("hookEventName", ctx.moment.value)
    if moment != ctx.moment.value:
        raise HookFaultError(f'its "hookEventName" is {_cut(repr(moment))}, but the moment is {ctx.moment}')
    for key, value in specific.items():
        if key not in _LONG_KEYS:
            raise HookFaultError(_unknown("key", key, ("hookEventName", *_LONG_KEYS)))
        _say(said, _LONG_KEYS[key], key, value)
    if "decision" not in said and not said.keys() <= {*_BESIDE, "args", "result"}:
        raise HookFaultError('it printed a reason, but no "permissionDecision"')
    return said


def _say(said: dict[str, Any], short: str, key: str, value: object) -> None:
    if short not in _KEYS:
        raise HookFaultError(_unknown("key", key, (*_KEYS, *_UNIVERSAL, "hookSpecificOutput")))
    if short in said:
        raise HookFaultError(f'it printed both "{short}" and "{key}", which mean the same')
    said[short] = _typed(key, value, _KEYS[short])


def _verdict(said: Mapping[str, Any], ctx: HookContext) -> HookResult:
    word = said.get("decision", "context" if "context" in said else "allow")
    if word not in _DECISIONS:
        raise HookFaultError(_unknown("decision", word, _DECISIONS))
    if "name" in said and canonical_name(said["name"]) not in {ctx.tool_name, canonical_name(ctx.called_as)}:
        raise HookFaultError(f"it answers about the tool {_cut(said['name'])!r}, but was asked about {ctx.tool_name!r}")
    result = _decided(_DECISIONS[word], said, ctx)
    return replace(
        result,
        context=said.get("context") or None,
        tags=said.get("tags", result.tags),
        hidden=said.get("hide_output", False),
        side_effects=said.get("side_effects", result.side_effects),
    )


def _decided(decision: str, said: Mapping[str, Any], ctx: HookContext) -> HookResult:
    reason = str(said.get("reason", "")).strip()
    match decision:
        case "deny":
            return blocked(reason, ctx)
        case "ask":
            return replace(_rewritten(said, ctx), ask=reason or _NO_REASON)
        case "modify":
            needed = _MODIFIES.get(ctx.moment)
            if needed is None:
                raise HookFaultError(f'its decision is "modify", but there is nothing to modify at {ctx.moment}')
            if said.get(needed) is None:
                raise HookFaultError(f'its decision is "modify", but it printed no "{needed}"')
        case "context":
            if not str(said.get("context", "")).strip():
                raise HookFaultError('its decision is "context", but it printed no "context"')
        case "route":
            if not said.get("provider"):
                raise HookFaultError('its decision is "route", but it printed no "provider"')
            options = said.get("options", {})
            routing = Routing(provider=said["provider"], command=said.get("command"), options=options)
            return replace(_rewritten(said, ctx), route=routing)
        case _:
            pass
    return _rewritten(said, ctx)


def _rewritten(said: Mapping[str, Any], ctx: HookContext) -> HookResult:
    return HookResult(
        modified_args=said.get("args"),
        modified_result=said.get("result"),
        modified_prompt=said.get("prompt"),
        modified_request=_request(said["request"], ctx) if "request" in said else None,
    )


_LISTS = ("messages", "tools")
_REQUEST = {field.name for field in fields(ModelRequest)}
_REQUEST_TYPES: dict[str, tuple[type, ...]] = {
    "provider": (str,),
    "model": (str,),
    "system": (str,),
    "messages": (list,),
    "tools": (list,),
    "temperature": (int, float, type(None)),
    "thinking": (str, type(None)),
    "reasoning": (str, type(None)),
    "extra": (dict,),
}


def _request(given: dict[str, Any], ctx: HookContext) -> ModelRequest:
    """Return the request with what is given changed; what is left out stays as it is."""
    for key, value in given.items():
        if key not in _REQUEST:
            raise HookFaultError(_unknown("key of the request", key, _REQUEST))
        if not isinstance(value, _REQUEST_TYPES[key]) or isinstance(value, bool):
            raise HookFaultError(f'the request\'s "{key}" cannot be {_a(value)}')
    parts = {key: value for key, value in given.items() if key not in _LISTS}
    for key in _LISTS:
        rows = cast("list[object]", given.get(key, []))
        if not all(isinstance(row, dict) for row in rows):
            raise HookFaultError(f'the request\'s "{key}" must be a list of objects')
        if key in given:
            parts[key] = tuple(rows)
    return replace(ctx.request or ModelRequest(), **parts)


def _typed(key: str, value: Any, kind: type) -> Any:
    if kind is object:
        if value is None:
            raise HookFaultError(f'"{key}" cannot be null')
    elif not isinstance(value, kind):
        raise HookFaultError(f'"{key}" must be {_a(kind())}, not {_a(value)}')
    return value


def _unknown(what: str, name: str, valid: Iterable[str]) -> str:
    names = list(valid)
    nearest = get_close_matches(name.lower(), names, n=1)
    hint = f'did you mean "{nearest[0]}"?' if nearest else f"there are: {', '.join(names)}"
    return f'it printed the unknown {what} "{_cut(name)}"; {hint}'


_KINDS: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (lambda value: value is None, "null"),
    (lambda value: isinstance(value, bool), "true or false"),
    (lambda value: isinstance(value, int | float), "number"),
    (lambda value: isinstance(value, str), "text"),
    (lambda value: isinstance(value, list), "list"),
)


def _kind(value: object) -> str:
    return next((name for test, name in _KINDS if test(value)), "object")


def _a(value: object) -> str:
    kind = _kind(value)
    return kind if kind in {"null", "true or false"} else f"{'an' if kind == 'object' else 'a'} {kind}"


def _cut(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= 80 else f"{shown[:79]}…"
