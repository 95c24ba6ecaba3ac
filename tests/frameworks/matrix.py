"""docs/runtimes.md, as the suite knows it: `python -m tests.frameworks.matrix` writes the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.frameworks.runtimes import RUNTIMES
from tests.frameworks.suite import CASES, sentence
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE: Path = ROOT / "docs" / "runtimes.md"
_HEAD = """\
# What every runtime is held to

For whoever chooses how to put Assent in front of an agent, or writes an adapter. `tests/frameworks/suite.py` is one
suite of cases, and each runtime below passes it: with the framework itself, as `requirements/frameworks.txt` and
`requirements/crewai.txt` pin it, a scripted model in the place of a real one, agents in processes of their own that are
killed, and a gateway as `assent serve` runs it. `make frameworks` runs it, and so does CI; this page is written by the
suite (`python -m tests.frameworks.matrix`), and a test holds that it is.

How each of them is set up is in [Gating any agent](agents.md#the-frameworks). The command-line agents, whose gate is a
hook, are another level: their payloads are recorded, and answered by `assent-hook` ([hosts.md](hosts.md)).

"""


def page() -> str:
    """The whole page."""
    runtimes = list(RUNTIMES.values())
    reasons = list(dict.fromkeys(reason for runtime in runtimes for reason in runtime.cannot.values()))
    lines = [f"| case | {' | '.join(runtime.title for runtime in runtimes)} |"]
    lines += ["| --- |" + " :-: |" * len(runtimes)]
    for name in CASES:
        marks = (_mark(runtime.cannot.get(name), reasons) for runtime in runtimes)
        lines.append(f"| {sentence(name)} | {' | '.join(marks)} |")
    notes = [f"{number}. {reason[0].upper()}{reason[1:]}." for number, reason in enumerate(reasons, 1)]
    return _HEAD + "\n".join([*lines, "", "What a runtime cannot do, and why:", "", *notes, ""])


def _mark(reason: str | None, reasons: list[str]) -> str:
    return "✓" if reason is None else f"– ({reasons.index(reason) + 1})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
