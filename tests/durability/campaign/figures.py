"""What a campaign counts, and how it tells it."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BOUND = 15.0
"""Seconds within which a gateway that is up answers any call, on a busy machine, whatever its database does."""


@dataclass(slots=True)
class Figures:
    """Counters of one run, and what was already seen to be wrong."""

    seed: int
    began: float = field(default_factory=time.monotonic)
    said: Counter[str] = field(default_factory=Counter[str])
    happened: Counter[str] = field(default_factory=Counter[str])
    took: list[float] = field(default_factory=list[float])
    cut_off: int = 0
    late: int = 0
    """Calls that a gateway which was up did not answer within its bound."""
    wrong: list[str] = field(default_factory=list[str])
    created: dict[str, str] = field(default_factory=dict[str, str])
    """Requests that a gateway has acknowledged, with their references."""
    voted: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """Votes that a gateway has acknowledged: request, person, verdict."""
    handed_out: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Under which claims a request's arguments were given out."""
    results: dict[str, Any] = field(default_factory=dict[str, Any])

    def answered(self, status: int, seconds: float, *, waited: bool) -> None:
        """Note an answer of a gateway that was up all the while; one that was waited for says nothing of speed."""
        self.said[str(status)] += 1
        if not waited:
            self.took.append(seconds)

    def seconds(self) -> float:
        """Return how long it has been going on."""
        return time.monotonic() - self.began

    def part(self, share: float) -> float:
        """Return a quantile of the answers' times, in milliseconds."""
        ordered = sorted(self.took)
        return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else 0.0

    def line(self) -> str:
        """Say in a line how it goes."""
        return (
            f"{self.seconds():5.0f} s  {self.said.total()} calls, {len(self.created)} requests, "
            f"{self.happened.total()} happenings, {len(self.wrong)} wrong"
        )

    def as_json(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "seed": self.seed,
            "seconds": round(self.seconds()),
            "calls": self.said.total(),
            "answers": dict(sorted(self.said.items())),
            "within the bound": self.said.total() - self.late,
            "not within the bound": self.late,
            "cut off by a kill or a freeze": self.cut_off,
            "p50 ms": self.part(0.5),
            "p99 ms": self.part(0.99),
            "longest ms": self.part(1.0),
            "bound ms": 1000 * BOUND,
            "happenings": dict(sorted(self.happened.items())),
            **self.results,
        }

    def tell(self, path: Path | None = None) -> None:
        """Print the table, and write it where it is wanted."""
        told = self.as_json()
        lines = [f"  {name:32} {value}" for name, value in told.items() if name != "happenings"]
        lines += [f"  {'· ' + name:32} {value}" for name, value in told["happenings"].items()]
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
        if path is not None:
            path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
