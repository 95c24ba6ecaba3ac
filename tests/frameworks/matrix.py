"""docs/runtimes.md, as the suite knows it: `python -m tests.frameworks.matrix` writes the page.

Runtime × case × level: one table a level, whose rows are the cases that it has, in the order of the whole suite. What
of it is about one runtime stands on that one's page as well (`tests/frameworks/pages.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
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

Below each table stand the suite's other cases, each with the reason for which its level does not have it.

✓ is shown; – is what a runtime cannot do; **runs** is where its tool runs all the same, which the suite looks at too.
"""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A runtime at a level."""

    name: str
    title: str
    cannot: Mapping[str, str]
    lets_run: Mapping[str, str]

    def mark(self, name: str, notes: list[str]) -> str:
        """How a case went, with the number of its reason."""
        reason = self.lets_run.get(name) or self.cannot.get(name)
        if reason is None:
            return "✓"
        return f"{'**runs**' if name in self.lets_run else '–'} ({notes.index(reason) + 1})"


@dataclass(frozen=True, kw_only=True)
class Level:
    """A table of the page: its runtimes, the cases that it has, and why it does not have the others."""

    columns: list[Column]
    has: Collection[str]
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])


def levels() -> dict[str, Level]:
    """Each level, under its title."""
    return {
        "Recorded payloads": Level(
            columns=[Column(name=host, title=f"`{host}`", cannot=recorded.CANNOT[host], lets_run={}) for host in HOSTS],
            has=recorded.CASES,
            left_out=recorded.LEFT_OUT,
        ),
        "Frameworks": Level(
            columns=[
                Column(name=each.name, title=each.title, cannot=each.cannot, lets_run={}) for each in RUNTIMES.values()
            ],
            has=CASES,
        ),
        "Real programs": Level(
            columns=[
                Column(
                    name=each.host,
                    title=f"{each.title} {each.version}",
                    cannot=each.cannot,
                    lets_run=each.lets_run,
                )
                for each in PROGRAMS.values()
            ],
            has=programs.CASES,
            left_out=programs.LEFT_OUT,
        ),
    }


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_level(title, level) for title, level in levels().items())])


def _level(title: str, level: Level) -> str:
    columns = level.columns
    reasons = [reason for column in columns for reason in (*column.lets_run.values(), *column.cannot.values())]
    notes = list(dict.fromkeys(reasons))
    lines = [f"## {title}", "", f"| case | {' | '.join(column.title for column in columns)} |"]
    lines += ["| --- |" + " :-: |" * len(columns)]
    for name in (name for name in CASES if name in level.has):
        lines.append(f"| {sentence(name)} | {' | '.join(column.mark(name, notes) for column in columns)} |")
    said = [f"{number}. {reason[0].upper()}{reason[1:]}." for number, reason in enumerate(notes, 1)]
    return "\n".join([*lines, "", "What a runtime cannot do, and why:", "", *said, "", *_left_out(level.left_out)])


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    """The cases that a level does not have; those with one reason stand together."""
    told: dict[str, list[str]] = {}
    for name in (name for name in CASES if name in reasons):
        told.setdefault(reasons[name], []).append(sentence(name))
    rows = [f"| {' · '.join(cases)} | {reason[0].upper()}{reason[1:]}. |" for reason, cases in told.items()]
    return ["What is not looked at here, and why:", "", "| case | why |", "| --- | --- |", *rows, ""] if rows else []


def main() -> None:
    """Write the page, and the last section of each runtime's own."""
    from tests.frameworks.pages import pages

    PAGE.write_text(page(), encoding="utf-8")
    for each in pages():
        each.write()


if __name__ == "__main__":
    main()
