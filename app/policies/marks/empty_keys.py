"""A key with nothing behind it is no key that was left out: whoever emptied it meant something by it.

`when:` with its condition commented out would otherwise be a rule for every call, and `limit:` no limit at all. Two
things are no such key: the bare name of a person, a tool or an agent of whom nothing is said, and what stands in
somebody else's JSON (a tool's `schema`, a hook's `options`, the arguments of a case), where null is a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_ANY = "*"
_MEND = "leave the key out, or give it a value"


class Shape(NamedTuple):
    """What of a kind of file may be empty: `bare` are names alone, `foreign` are places with JSON in them."""

    foreign: Sequence[tuple[str, ...]]
    bare: Sequence[tuple[str, ...]] = ()


POLICY = Shape(
    foreign=(
        ("tools", _ANY, "schema"),
        ("hooks", _ANY, "options"),
        ("agents", _ANY, "hooks", _ANY, "options"),
    ),
    bare=(("people", _ANY), ("tools", _ANY), ("agents", _ANY)),
)
"""`assent.yaml`."""
CASES = Shape(foreign=(("cases", _ANY, "args"),))
"""`cases.yaml`."""


def refuse_empty(marked: MarkedYaml, shape: Shape) -> None:
    """Note every key of the file with nothing behind it, once: nothing more is said of it."""
    pending: list[tuple[Path, JsonValue]] = [((), marked.value)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending.extend(((*path, key), part) for key, part in value.items() if not _is_one(path, shape.foreign))
        elif isinstance(value, list):
            pending.extend(((*path, index), part) for index, part in enumerate(value))
        elif value is None and path and isinstance(path[-1], str) and not _is_one(path, shape.bare):
            marked.report(path, "is empty", _MEND)
            marked.settled.add(path)


def _is_one(path: Path, shapes: Sequence[tuple[str, ...]]) -> bool:
    return any(
        len(shape) == len(path) and all(want in {_ANY, step} for want, step in zip(shape, path, strict=True))
        for shape in shapes
    )
