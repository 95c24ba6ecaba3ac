"""Take secrets out of what leaves: `redact`, a pure function, and the hooks that apply it to what tools return.

redact({"note": "use sk-ant-…", "iban": "DE02…"}, fields=["iban"])
→ ({"note": "use [redacted: Anthropic key]", "iban": "[redacted: field iban]"}, ("Anthropic key", "field iban"))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from assent.hooks.contract.hook import GUARD, PostToolUseFailureHook, PostToolUseHook
from assent.hooks.contract.verdicts import HookResult, replace_result
from assent.hooks.ready.off_loop import off_loop
from assent.hooks.ready.redact_shapes import SHAPES, Shape, find_secret_name, worth_hiding

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext

_PRIORITY = GUARD  # a guard: what a later hook puts into a result is redacted as well
_DEEPEST = 100
_SHORTEST = 6  # characters: no shape is found in less, and trying them all takes 25 µs
_PIECE = 131_072  # characters: milliseconds of any pattern
_MARGIN = 40_000  # more than any pattern looks at without having found
_BY_NAME = {shape.name: shape for shape in SHAPES}
_NO_LETTER = re.compile(r"[\W_]+")


def redact(value: Any, *, fields: Iterable[str] = (), shapes: Iterable[Shape] = SHAPES) -> tuple[Any, tuple[str, ...]]:
    """Return `value` without its secrets, and the kinds that were found, each once, in the order of their finding.

    Texts lose what has the shape of a secret. Members of objects lose their whole value when their name is one of
    `fields` (case, `_` and `-` do not count), and texts also when their name is a secret's (`password`, `apiKey`, …;
    part of the shape `assignment`). Where something changed, lists, tuples and objects are copied, never written to.
    What is no JSON is replaced by its redacted text if that text holds a secret, else left as it is. What nests beyond
    100 levels, or in a circle, is taken out. What was redacted once stays as it is.
    """
    run = _Redaction(tuple(shapes), {_folded(field): field for field in fields})
    return run.value(value, 0), tuple(run.found)


def matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer` would; a long text is searched piece by piece. No match may be empty.

    A search lets no other thread run until it ends; so none lasts longer than a piece takes. A piece comes with as much
    of what follows it as the longest secret may take; one that is longer still is searched for in the whole text.
    """
    at = 0
    while at < len(text):
        piece = at + _PIECE
        end = min(len(text), piece + _MARGIN)
        match = pattern.search(text, at, end)
        if end < len(text) and (match is None or match.end() > piece):
            onward = piece if match is None else min(match.start(), piece)
            if onward > at:
                at = onward
                continue
            match = pattern.search(text, at)
        if match is None:
            return
        yield match
        at = match.end()


@lru_cache(maxsize=16)
def _hinted(shapes: tuple[Shape, ...]) -> tuple[re.Pattern[str], tuple[Shape, ...]]:
    """Return what finds a hint of any shape in a text, in one search, and the shapes that have none."""
    hints = sorted({hint for shape in shapes for hint in shape.hints})
    return re.compile("|".join(map(re.escape, hints)) or r"(?!)"), tuple(shape for shape in shapes if not shape.hints)


class _Redaction:
    def __init__(self, shapes: tuple[Shape, ...], fields: Mapping[str, str]) -> None:
        self.found: dict[str, None] = {}
        self._shapes = shapes
        self._fields = fields
        self._any_hint, self._without_hint = _hinted(shapes)
        self._knows_names = _BY_NAME["assignment"] in shapes
        self._open: set[int] = set()

    def value(self, value: Any, depth: int) -> Any:
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self._text(value)
            case Mapping() | list() | tuple():
                return self._nested(cast("Mapping[Any, Any] | Sequence[Any]", value), depth)
            case _:
                shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                clean = self._text(shown)
                return value if clean == shown else clean

    def _nested(self, value: Mapping[Any, Any] | Sequence[Any], depth: int) -> Any:
        if depth >= _DEEPEST or id(value) in self._open:
            return self._instead("nested too deep")
        self._open.add(id(value))
        try:
            return self._members(value, depth) if isinstance(value, Mapping) else self._items(value, depth)
        finally:
            self._open.discard(id(value))

    def _items(self, items: Sequence[Any], depth: int) -> Sequence[Any]:
        clean = [self.value(item, depth + 1) for item in items]
        if all(new is old for new, old in zip(clean, items, strict=True)):
            return items
        return tuple(clean) if isinstance(items, tuple) else clean

    def _members(self, members: Mapping[Any, Any], depth: int) -> Mapping[Any, Any]:
        clean: dict[Any, Any] = {}
        changed = False
        for key, old in members.items():
            name, new = self.value(key, depth + 1) if isinstance(key, str) else key, self._member(key, old, depth)
            changed = changed or name is not key or new is not old
            while name in clean:
                name += "'"  # two secrets served as names: both members stay
            clean[name] = new
        return clean if changed else members

    def _member(self, key: object, member: Any, depth: int) -> Any:
        if not isinstance(key, str) or member is None:
            return self.value(member, depth + 1)
        field = self._fields.get(_folded(key))
        if field is not None:
            return member if _is_redacted(member) else self._instead(f"field {field}")
        if not isinstance(member, str) or not self._knows_names:
            return self.value(member, depth + 1)
        clean = self._text(member)
        name = find_secret_name(key) if clean == member else None
        return self._instead("secret value") if name and worth_hiding(name, member) else clean

    def _text(self, text: str) -> str:
        if len(text) < _SHORTEST:
            return text
        lowered = text.lower()
        for shape in self._shapes if self._any_hint.search(lowered) else self._without_hint:
            if not shape.hints or any(hint in lowered for hint in shape.hints):
                text = self._without(text, shape)
        return text

    def _without(self, text: str, shape: Shape) -> str:
        parts: list[str] = []
        done = 0
        for match in matches(shape.pattern, text):
            parts += (text[done : match.start()], self._cut(match, shape))
            done = match.end()
        return "".join((*parts, text[done:])) if parts else text

    def _cut(self, match: re.Match[str], shape: Shape) -> str:
        if shape.accept is not None and not shape.accept(match):
            return match[0]
        (start, end), whole, at = shape.span(match), match[0], match.start()
        return whole[: start - at] + self._instead(shape.kind) + whole[end - at :]

    def _instead(self, kind: str) -> str:
        self.found[kind] = None
        return f"[redacted: {kind}]"


def _is_redacted(value: object) -> bool:
    return isinstance(value, str) and value.startswith("[redacted: ") and value.endswith("]")


def _folded(name: str) -> str:
    return _NO_LETTER.sub("", name.casefold())


def checked_fields(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the option `fields` as it should be. Raises ValueError."""
    if isinstance(fields, str) or not all(isinstance(field, str) and _folded(field) for field in fields):  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
        raise ValueError(f"fields: give a list of the names of members (fields: [iban]), not {fields!r}")
    return tuple(fields)


def _checked_shapes(names: Sequence[str] | None) -> tuple[Shape, ...]:
    if names is None:
        return SHAPES
    unknown = [names] if isinstance(names, str) else [name for name in names if name not in _BY_NAME]
    if unknown:
        raise ValueError(f"shapes: {unknown[0]!r} is none; give a list out of {', '.join(_BY_NAME)}")
    return tuple(shape for shape in SHAPES if shape.name in names)


class Redact(PostToolUseHook):
    """Takes secrets out of a tool's result before the model sees it, and (its `sibling`) out of what a failure says.

    `fields` are names of members whose value never passes; `shapes` the names of the shapes to look for (all).
    """

    name = "redact"
    description = "takes secrets out of what tools return"
    priority = _PRIORITY

    def __init__(self, *, fields: Sequence[str] = (), shapes: Sequence[str] | None = None) -> None:
        self._fields = checked_fields(fields)
        self._shapes = _checked_shapes(shapes)
        self.sibling = RedactFailure(fields=fields, shapes=shapes)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Replace the result if a secret is in it."""
        return await _replaced(ctx.result, self._fields, self._shapes)


class RedactFailure(PostToolUseFailureHook):
    """Takes secrets out of what a failing tool says; `Redact` brings it along."""

    name = "redact-failure"
    description = "takes secrets out of what failing tools say"
    priority = _PRIORITY

    def __init__(self, *, fields: Sequence[str] = (), shapes: Sequence[str] | None = None) -> None:
        self._fields = checked_fields(fields)
        self._shapes = _checked_shapes(shapes)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Replace the error's text if a secret is in it."""
        return await _replaced(ctx.error if ctx.result is None else ctx.result, self._fields, self._shapes)


async def _replaced(result: Any, fields: tuple[str, ...], shapes: tuple[Shape, ...]) -> HookResult | None:
    clean, found = await off_loop(lambda value: redact(value, fields=fields, shapes=shapes), result)
    return replace_result(clean).with_side_effects(redacted=list(found)) if found else None
