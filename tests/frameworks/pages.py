"""The page of each runtime: where it stands, and its last section, which says what the suite saw.

`python -m tests.frameworks.matrix` writes that section; the others are written by people, and `test_pages.py` holds
their form.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.command.hosts.table import HOSTS
from tests.frameworks.matrix import levels
from tests.frameworks.programs.table import MCP_CLIENT
from tests.frameworks.runtimes import RUNTIMES
from tests.frameworks.suite import CASES, sentence
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tests.frameworks.matrix import Column, Level

DOCS = ROOT / "docs"
HEADINGS = ("In five lines", "What it protects", "What it does not", "When people take long", "Seen with")
_LEVELS = {
    "Recorded payloads": "recorded payloads",
    "Frameworks": "the framework itself",
    "Real programs": "the program",
}


@dataclass(frozen=True, kw_only=True)
class Page:
    """A runtime's page, and what it was seen with: rows of a level, of what was run, and of what was shown."""

    path: Path
    rows: tuple[tuple[str, str, str], ...]
    left: tuple[tuple[str, str], ...] = ()
    """What was not, and why."""

    @property
    def text(self) -> str:
        """The page as it stands."""
        return self.path.read_text(encoding="utf-8")

    @property
    def seen(self) -> str:
        """Its last section, as the suite knows it."""
        lines = [f"## {HEADINGS[-1]}", "", *_table(("level", "with", "cases"), self.rows)]
        if self.left:
            lines += ["", *_table(("what was not", "why"), self.left)]
        return "\n".join([*lines, ""])

    def write(self) -> None:
        """Put the section under the others."""
        before = self.text.partition(f"\n## {HEADINGS[-1]}\n")[0].rstrip("\n")
        self.path.write_text(f"{before}\n\n{self.seen}", encoding="utf-8")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def pages() -> list[Page]:
    """Every runtime's page."""
    hosts = [_of_matrix(DOCS / "hosts" / f"{name}.md", name) for name in HOSTS]
    frameworks = [_of_matrix(DOCS / "frameworks" / f"{name.replace('_', '-')}.md", name) for name in RUNTIMES]
    return [*hosts, *frameworks, *_others()]


def _of_matrix(path: Path, name: str) -> Page:
    found = [
        (title, level, column)
        for title, level in reversed(levels().items())
        for column in level.columns
        if column.name == name
    ]
    rows = [_row(title, level, column) for title, level, column in found]
    if not any(title in {"Real programs", "Frameworks"} for title, _, _ in found):
        rows.insert(0, (_linked("Real programs"), "not run: it does not run offline", "–"))
    return Page(
        path=path,
        rows=tuple(rows),
        left=tuple(each for title, level, column in found for each in _left(title, level, column)),
    )


def _row(title: str, level: Level, column: Column) -> tuple[str, str, str]:
    shown = sum(name not in column.cannot and name not in column.lets_run for name in level.has)
    many = f"all {shown}" if shown == len(level.has) else f"{shown} of {len(level.has)}"
    return _linked(title), _versions(column.name) if title == "Frameworks" else column.title, many


def _linked(title: str) -> str:
    return f"[{_LEVELS[title]}](../runtimes.md#{title.lower().replace(' ', '-')})"


def _left(title: str, level: Level, column: Column) -> Iterator[tuple[str, str]]:
    """What was not shown, and why, or what happens in its place: the cases of one reason together."""
    for mark, reasons in (("**runs**: ", column.lets_run), ("", column.cannot)):
        told: dict[str, list[str]] = {}
        for name in (name for name in CASES if name in level.has and name in reasons):
            told.setdefault(reasons[name], []).append(sentence(name))
        for reason, cases in told.items():
            yield f"{_LEVELS[title].capitalize()}: {' · '.join(cases)}", f"{mark}{reason}."


def _versions(adapter: str) -> str:
    """The framework's packages, as the lock pins them under which its suite runs."""
    declared = tomllib.loads((ROOT / "sdk/pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = declared["optional-dependencies"][adapter.replace("_", "-")]
    lock = {".venv-frameworks": "frameworks", ".venv-crewai": "crewai"}[RUNTIMES[adapter].environment]
    return ", ".join(f"{name} {_pinned(name, lock)}" for name in (re.split(r"[^\w-]", each)[0] for each in asked))


def _pinned(package: str, lock: str) -> str:
    text = (ROOT / f"requirements/{lock}.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(package)}==(\S+)", text, re.MULTILINE)
    assert found is not None, f"{package} is not in requirements/{lock}.txt"
    return found[1]


def _others() -> Iterator[Page]:
    """What is in no table of the suite, and what was run of it instead."""
    package, _, version = MCP_CLIENT.rpartition("@")
    yield Page(
        path=DOCS / "mcp.md",
        rows=(
            (
                "client and server of the official Python SDK",
                f"mcp {_pinned('mcp', 'dev')}, in both generations",
                "allow, ask, deny, edit, asked back, parallel, cancelled, no gateway (`tests/sdk/proxy`)",
            ),
            (
                "client of the official TypeScript SDK (`make agents`)",
                f"{package} {version}, in both generations",
                "asked back and approved, and denied, over stdio and HTTP (`test_mcp_clients.py`)",
            ),
        ),
    )
    yield Page(
        path=DOCS / "acp.md",
        rows=(("scripted agents", "schema 1.19 of the protocol", "`test_acp.py`; not yet with real programs"),),
    )
    yield Page(
        path=DOCS / "hosts/openclaw.md",
        rows=(
            (
                "its calls, as the gateway takes them",
                "as the source of OpenClaw 2026.9.6 has them",
                "`test_openclaw.py`; not its program",
            ),
        ),
    )
