"""Reads the options of a routing, strictly: an option that nobody knows or that has no sense is a fault."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.sandbox import SandboxFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Options:
    """The options that a hook gave, of which `known` are allowed. Every method raises SandboxFault for a bad value."""

    def __init__(self, given: Mapping[str, Any], *, provider: str, known: Sequence[str]) -> None:
        self._given = given
        self._provider = provider
        unknown = sorted(str(name) for name in given if name not in known)
        if unknown:
            raise SandboxFault(
                f"the sandbox {provider!r} has no option {', '.join(map(repr, unknown))}; "
                f"it knows {', '.join(sorted([*known, 'env']))}",
                started=False,
            )

    def number(self, name: str, default: float, *, most: float) -> float:
        """A number above zero, up to `most`."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._fault(name, f"a number, not {value!r}")
        if not 0 < value <= most:
            raise self._fault(name, f"above 0 and at most {most:g}, not {value:g}")
        return float(value)

    def whole(self, name: str, default: int, *, least: int = 1, most: int) -> int:
        """A whole number from `least` to `most`."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._fault(name, f"a whole number from {least} to {most}, not {value!r}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """True or False, nothing that resembles them."""
        value = self._given.get(name, default)
        if not isinstance(value, bool):
            raise self._fault(name, f"True or False, not {value!r}")
        return value

    def text(self, name: str, default: str) -> str:
        """A string that is not empty, or the default."""
        value = self._given.get(name, default)
        if not isinstance(value, str) or (name in self._given and not value.strip()):
            raise self._fault(name, f"a text, not {value!r}")
        return value

    def _fault(self, name: str, wanted: str) -> SandboxFault:
        return SandboxFault(f"the sandbox {self._provider!r} wants its option {name!r} to be {wanted}", started=False)
