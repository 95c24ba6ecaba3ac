"""docs/runtimes.md, as the suite knows it: `python -m tests.frameworks.matrix` writes the page.

Runtime × case × level: one table a level, whose rows are the cases that it has, in the order of the whole suite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.command.hosts.table import HOSTS
from tests.frameworks.programs import cases as programs
from tests.frameworks.programs.table import PROGRAMS
from tests.frameworks.runtimes import RUNTIMES
from tests.frameworks.suite import CASES, sentence
from tests.places import ROOT
from tests.sdk.command import recorded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

PAGE: Path = ROOT / "docs" / "runtimes.md"
_HEAD = """\
# What every runtime is held to

For whoever chooses how to put Assent in front of an agent, or writes an adapter. One suite of cases
(`tests/frameworks/suite.py`) is run at three levels, and this page is what it knows: it is written by
`python -m tests.frameworks.matrix`, and a test holds that it is.

- **Recorded payloads**, always: what each agent program writes to its hook, as it was seen to, answered by
  `assent-hook` in a process of its own ([hosts.md](hosts.md)).
- **Frameworks**, in CI (`make frameworks`): each framework itself, as `requirements/frameworks.txt` and
  `requirements/crewai.txt` pin it, with a scripted model, agents in processes of their own that are killed, and a
  gateway as `assent serve` runs it. How each is set up is in [Gating any agent](agents.md#the-frameworks).
- **Real programs**, offline (`make agents`): the programs themselves, installed by npm in the versions below, before a
  scripted model on this machine, their hook put in by `assent-hook HOST --install`. One that cannot be installed is
  skipped, and says why. Cursor has no program that runs offline: its payloads are its documentation's word.

✓ is shown; – is what a runtime cannot do; **runs** is where its tool runs all the same, which the suite looks at too.
"""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A runtime at a level."""

    title: str
    cannot: Mapping[str, str]
    lets_run: Mapping[str, str]

    def mark(self, name: str, notes: list[str]) -> str:
        """How a case went, with the number of its reason."""
        reason = self.lets_run.get(name) or self.cannot.get(name)
        if reason is None:
            return "✓"
        return f"{'**runs**' if name in self.lets_run else '–'} ({notes.index(reason) + 1})"


def levels() -> dict[str, tuple[list[Column], Collection[str]]]:
    """Each level with its runtimes, and the cases that it has."""
    return {
        "Recorded payloads": (
            [Column(title=f"`{host}`", cannot=recorded.CANNOT[host], lets_run={}) for host in HOSTS],
            recorded.CASES,
        ),
        "Frameworks": (
            [Column(title=each.title, cannot=each.cannot, lets_run={}) for each in RUNTIMES.values()],
            CASES,
        ),
        "Real programs": (
            [
                Column(title=f"{each.title} {each.version}", cannot=each.cannot, lets_run=each.lets_run)
                for each in PROGRAMS.values()
            ],
            programs.CASES,
        ),
    }


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_level(title, *level) for title, level in levels().items())])


def _level(title: str, columns: list[Column], has: Collection[str]) -> str:
    reasons = [reason for column in columns for reason in (*column.lets_run.values(), *column.cannot.values())]
    notes = list(dict.fromkeys(reasons))
    lines = [f"## {title}", "", f"| case | {' | '.join(column.title for column in columns)} |"]
    lines += ["| --- |" + " :-: |" * len(columns)]
    for name in (name for name in CASES if name in has):
        lines.append(f"| {sentence(name)} | {' | '.join(column.mark(name, notes) for column in columns)} |")
    said = [f"{number}. {reason[0].upper()}{reason[1:]}." for number, reason in enumerate(notes, 1)]
    return "\n".join([*lines, "", "What a runtime cannot do, and why:", "", *said, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
