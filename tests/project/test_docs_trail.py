"""docs/trail.md lists the kinds of events as the code has them: `python -m tests.project.test_docs_trail` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from app.domain.trail.audit import Kind

PAGE = Path(__file__).parents[2] / "docs/trail.md"
_TABLE = re.compile(r"(?<=\| kind \| says \|\n\|---\|---\|\n)(?:\| `.*\n)*")


def _rows() -> str:
    return "".join(f"| `{kind.value}` | {kind.en} |\n" for kind in Kind)


def test_the_page_of_the_trail_has_every_kind_with_its_sentence_and_no_other() -> None:
    found = _TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0].splitlines() == _rows().splitlines()


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: _rows(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
