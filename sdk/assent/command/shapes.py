"""What decoded JSON is, said to the type checker in one place (`typing.cast` would cost the hook an import)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_object(value: object) -> dict[str, Any] | None:
    """The value if it is a JSON object."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object as it is read, strictly: what stands twice could be read as the one and as the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def as_list(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def text(body: dict[str, Any] | None, key: str) -> str | None:
    """The text under a key, if there is one."""
    value = body.get(key) if body else None
    return value if isinstance(value, str) and value else None
