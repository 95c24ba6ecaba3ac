"""The suite of sabotages tells apart what was noticed, what was not, and what shows nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.requirements import requirement
from tests.sabotage.copies import copies
from tests.sabotage.rows import Row
from tests.sabotage.run import SAMPLE, Fate, chosen, sabotage

if TYPE_CHECKING:
    from pathlib import Path

PRODUCT = "def double(number):\n    return number * 2\n"
TESTS = """\
from product import double

def test_of_two():
    assert double(2) == 4

def test_of_nothing():
    assert double(0) == 0

def test_that_is_red_anyway():
    assert double(1) == 3
"""

SETTINGS = """\
[pytest]
addopts = -p no:schemathesis -p no:inline_snapshot
markers =
  long
  claude
  postgres
"""


def a_row(name: str, new: str, test: str, **more: object) -> Row:
    changes: dict[str, object] = {"old": "return number * 2", "equivalent": "", **more}
    node = f"test_product.py::{test}" if test else "test_product.py"
    return Row(table="t", name=name, file="product.py", new=new, tests=(node,), why="-", **changes)  # type: ignore[arg-type]


ROWS = {
    Fate.CAUGHT: a_row("another sum", "return number * 3", "test_of_two"),
    Fate.SURVIVED: a_row("not looked at", "return number * 3", "test_of_nothing"),
    Fate.EQUIVALENT: a_row("the same", "return number + number", "test_of_two", equivalent="it is the same sum"),
    Fate.NOT_EQUIVALENT: a_row("not the same", "return number", "test_of_two", equivalent="so it is said"),
    Fate.STALE: a_row("gone", "return 1", "test_of_two", old="return number ** 2"),
    Fate.RED_ANYWAY: a_row("nothing shown", "return 1", "test_that_is_red_anyway"),
    Fate.BROKEN: a_row("no program", "return numbre * 2", "test_of_two"),
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "checkout"
    place.mkdir()
    (place / "product.py").write_text(PRODUCT)
    (place / "test_product.py").write_text(TESTS)
    (place / "conftest.py").write_text("import hypothesis\nhypothesis.settings.register_profile('sabotage')\n")
    (place / "pytest.ini").write_text(SETTINGS)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return place


@requirement("D-31")
@pytest.mark.heavy
@pytest.mark.process
def test_each_fate_is_told_as_what_it_is_and_nothing_is_left_behind(checkout: Path, tmp_path: Path) -> None:
    results = {result.row.name: result.fate for result in sabotage(checkout, [*ROWS.values()], jobs=2)}
    assert results == {row.name: fate for fate, row in ROWS.items()}
    assert [fate for fate in Fate if fate.good] == [Fate.CAUGHT, Fate.EQUIVALENT]
    assert (checkout / "product.py").read_text() == PRODUCT
    assert [*(tmp_path / "temporary").iterdir()] == []


def test_the_sample_is_the_commits_and_the_same_for_everybody() -> None:
    rows = [a_row(f"row {number}", "-", "") for number in range(100)]
    drawn = chosen(rows, only=None, bounded=True, commit="a")
    assert len(drawn) == SAMPLE
    assert (
        drawn
        == chosen(rows[::-1], only=None, bounded=True, commit="a")
        != chosen(rows, only=None, bounded=True, commit="b")
    )
    assert [row.name for row in chosen(rows, only="row 7, row 9?", bounded=False, commit="a")][:2] == [
        "row 7",
        "row 90",
    ]


_HOLDS = """
import sys, tempfile
from pathlib import Path
from tests.requirements import requirement
from tests.sabotage.copies import copies
tempfile.tempdir = sys.argv[1]
with copies(Path(sys.argv[2]), 2):
    print("made", flush=True)
    sys.stdin.read()
"""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_copies_go_when_the_run_is_ended(checkout: Path, tmp_path: Path, number: signal.Signals) -> None:
    place = tmp_path / "temporary"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(place), str(checkout)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"made\n"
        assert len([*place.iterdir()]) == 1
        os.kill(run.pid, number)
        run.wait(HANGS)
    if number is signal.SIGKILL:  # nobody can clean up behind that but the next one
        with copies(checkout, 1) as [copy]:
            assert [*place.iterdir()] == [copy.place.parent]
    assert [*place.iterdir()] == []
