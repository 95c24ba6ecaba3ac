"""Values of our own classes, drawn field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def drawn(kind: Callable[..., T], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    """Draw each field, as `st.builds` does; but that asks a Struct for the types that only a type checker imports."""
    return st.fixed_dictionaries(fields).map(lambda found: kind(**found))
