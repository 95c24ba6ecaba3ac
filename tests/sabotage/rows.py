"""The tables: what is spoiled where, and which tests must notice it. `tables/*.toml` holds a table for each floor.

    [[row]]
    name = "a claim does not look at the digest"
    file = "app/usecases/executing/claim.py"
    old = "if digest != locked.request.digest:"
    new = "if not digest:"
    tests = ["tests/usecases/…/test_….py::test_…"]
    why = "what runs is what was approved"

`old` stands exactly once in the file. `postgres = true`: the tests need PostgreSQL; without it only their SQLite twins
run. `equivalent = "…"`: no test can notice it, and this says why.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One sabotage."""

    table: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str
    postgres: bool = False
    equivalent: str = ""

    def spoil(self, text: str) -> str | None:
        """Return the text of the file with the sabotage in it; None where its old text is not there exactly once."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


def read_rows(folder: Path = TABLES) -> list[Row]:
    """Read all tables, in order."""
    return [
        Row(table=path.stem, **{**entry, "tests": tuple(entry["tests"])})
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["row"]
    ]
