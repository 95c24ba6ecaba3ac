"""Files stay short enough to be read whole."""

from __future__ import annotations

from tests.project.file_budget import HARD, line_counts


def test_no_file_is_longer_than_its_budget() -> None:
    counts = line_counts()

    assert counts, "no files were counted"
    too_long = {name: lines for name, lines in counts.items() if lines > HARD}
    assert not too_long, f"split by noun what is over {HARD} lines: {too_long}"
