"""The benchmarks run from end to end: every goal has its line, its reference and its verdict."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.cost_by_floor import FLOORS, seconds_by_floor
from benchmarks.results import Check, Row, at_least, at_most
from tests.fixtures.patience import HANGS
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GOALS = {
    *("P1", "P2", "P2d", "P3", "P4", "P4b", "P5", "P5b", "P6", "P7", "P7b", "P8", "P9", "P10", "P11"),
    *("L1", "L2", "L3", "N1"),
}


@pytest.mark.parametrize(
    ("must", "stretch", "verdict"),
    [
        ((True,), (True,), "stretch"),
        ((True,), (False,), "must"),
        ((False,), (True,), "missed"),
        ((True, None), (False,), "no reference"),
        ((None,), (None,), "no reference"),
        ((), (), "—"),
    ],
)
def test_a_verdict_never_claims_more_than_was_measured(
    must: tuple[bool | None, ...], stretch: tuple[bool | None, ...], verdict: str
) -> None:
    row = Row(
        id="X",
        title="x",
        measured="1",
        must=tuple(Check("a", met) for met in must),
        stretch=tuple(Check("b", met) for met in stretch),
    )
    assert row.verdict == verdict


def test_a_bound_is_a_multiple_of_its_reference() -> None:
    assert at_least(50, 5, 10, "it").met is True
    assert at_least(49, 5, 10, "it").met is False
    assert at_most(30, 3, 10, "it").met is True
    assert at_most(31, 3, 10, "it").met is False
    assert at_most(31, 3, None, "it").met is None
    assert at_least(31, 3, 0.0, "it").met is None


def test_what_a_builtin_costs_is_its_callers() -> None:
    asked, wrote = ("/x/app/api/front.py", 1, "serve"), ("/x/app/storage/engine/lane.py", 2, "_commit")
    loads = ("~", 0, "<built-in method loads>")
    spent = seconds_by_floor(
        {
            asked: (1, 1, 0.25, 1.5, {}),
            wrote: (1, 1, 0.5, 0.75, {asked: (1, 1, 0.5, 0.75)}),
            loads: (3, 3, 1.0, 1.0, {asked: (2, 2, 0.5, 0.5), wrote: (1, 1, 0.25, 0.25)}),
        }
    )
    told = {floor: seconds for floor, seconds in spent.items() if seconds}
    assert told == {"HTTP: bodies, answers, keys": 0.75, "commit": 0.75, "loop, threads, rest": 0.25}


@pytest.mark.process
@pytest.mark.long
@pytest.mark.timeout(180)
def test_a_profile_says_what_each_floor_costs(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "benchmarks",
        "P1",
        "--quick",
        "--seconds",
        "2",
        "--profile",
        str(tmp_path / "found"),
    ]
    ended = subprocess.run(
        [*words, "--no-postgres"], cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    said = dict(re.findall(r"^(\S.*?)  +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+) +\d+%$", ended.stdout, re.MULTILINE))
    assert set(said) == set(FLOORS)
    assert all(float(said[floor]) > 0 for floor in FLOORS), said
    assert re.search(r"a unit waited for the writer's lane p50 .*; then its batch took p50 ", ended.stdout)
    assert re.search(r"store-write by cumtime.*_run_units", ended.stdout, re.DOTALL), "the lane has a profile"


@pytest.mark.process
@pytest.mark.long
@pytest.mark.timeout(180)
def test_the_benchmarks_run_and_write_their_page(tmp_path: Path) -> None:
    figures, page = tmp_path / "figures.json", tmp_path / "docs" / "performance.md"
    words = [sys.executable, "-m", "benchmarks", "--quick", "--json", str(figures), "--write", str(page)]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    rows = json.loads(figures.read_text())["rows"]
    assert {row["id"] for row in rows} >= GOALS
    for row in rows:
        assert row["measured"], row["id"]
        assert row["verdict"] in {"stretch", "must", "missed", "no reference", "—"}, row["id"]
        if row["id"] in GOALS:
            assert row["must"], row["id"]
            assert row["stretch"], row["id"]
    (killed,) = [row for row in rows if row["id"] == "P6"]
    assert killed["figures"]["lost"] == killed["figures"]["doubled"] == 0
    assert re.search(r"round 1 of 1 .*Assent", ended.stderr), "the run must say what it is doing"
    written = page.read_text()
    assert all(f"| {goal} |" in written for goal in GOALS)
