"""`make test` runs the tests shelf by shelf; every file of them stands on exactly one shelf."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.places import ROOT


@pytest.mark.process
def test_every_test_stands_on_one_shelf() -> None:
    """A folder that none of them names would be run by nobody, and nothing would be red."""
    # Of the plain run, whatever make started this one with: COVERAGE=1 runs the PostgreSQL twins on lines of their own.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "COVERAGE"}
    dry = subprocess.run(["make", "-n", "test"], cwd=ROOT, env=plain, capture_output=True, text=True, check=True)
    runs = [line for line in dry.stdout.splitlines() if re.search(r"pytest .*tests/", line)]
    assert len(runs) > 5
    named = [word for line in runs for word in line.split() if word.startswith("tests/")]
    for path in (ROOT / "tests").rglob("test_*.py"):
        above = {str(each.relative_to(ROOT)) for each in (path, *path.parents) if each.is_relative_to(ROOT / "tests")}
        assert len([word for word in named if word in above]) == 1, path
