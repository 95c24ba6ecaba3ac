"""What a measure says: the figure, its reference from the same run, the goals, and which of them are met."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Verdict = Literal["stretch", "must", "missed", "no reference", "—"]


@dataclass(frozen=True, slots=True)
class Check:
    """One bound of a goal. `met` is None where its reference could not be measured."""

    text: str
    met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. Without any check it is there to be read, and is not judged."""

    id: str
    title: str
    measured: str
    reference: str = "—"
    ratio: str = "—"
    must: tuple[Check, ...] = ()
    stretch: tuple[Check, ...] = ()
    figures: dict[str, float | list[float] | None] = field(default_factory=dict[str, "float | list[float] | None"])

    @property
    def verdict(self) -> Verdict:
        """Say which goal is wholly met. What could not be compared is never called met."""
        if not self.must and not self.stretch:
            return "—"
        if any(check.met is False for check in self.must):
            return "missed"
        if all(check.met is None for check in (*self.must, *self.stretch)):
            return "no reference"
        if self.stretch and all(check.met for check in self.stretch):
            return "stretch"
        return "must" if all(check.met for check in self.must) else "no reference"


def at_least(value: float, factor: float, reference: float | None, name: str) -> Check:
    """More is better: at least `factor` times the reference. One that did nothing at all is none."""
    return Check(f"≥ {factor:g}× {name}", value >= factor * reference if reference else None)


def at_most(value: float, factor: float, reference: float | None, name: str) -> Check:
    """Less is better: at most `factor` times the reference."""
    return Check(f"≤ {factor:g}× {name}", None if reference is None else value <= factor * reference)


def below(value: float, limit: float, text: str) -> Check:
    """Less is better: at most a fixed limit."""
    return Check(f"≤ {text}", value <= limit)


def said(checks: Sequence[Check]) -> str:
    """Write the bounds of a goal, each with whether it is met."""
    marks = {True: "✓", False: "✗", None: "?"}
    return ", ".join(f"{check.text} {marks[check.met]}" for check in checks) or "—"


def times(value: float, reference: float | None) -> str:
    """Write a ratio."""
    if reference is None or reference <= 0:
        return "—"
    ratio = value / reference
    return f"{ratio:.0f}×" if ratio >= 100 else f"{ratio:.2g}×" if ratio < 10 else f"{ratio:.1f}×"


def per_second(value: float | None, what: str) -> str:
    """Write a rate."""
    return "not measured" if value is None else f"{value:,.0f} {what}/s"


def milliseconds(seconds: float | None) -> str:
    """Write a span."""
    if seconds is None:
        return "not measured"
    value = seconds * 1e3
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms" if value >= 1 else f"{value:.2g} ms"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share lies. Raises ValueError for none at all."""
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
