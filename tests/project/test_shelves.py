"""The tests stand on shelves and in rings. What runs where is held here, for a test that nobody runs is never red.

`make quick` is within `make test`, and that within `make test ALL=1`, which CI calls. What only the last one runs has
targets of its own. Each line of theirs names folders and says by markers what of them it runs. That is worked out here
for every file and for every choice of the markers that a test of it may have: no test needs to be collected for it.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pytest
from _pytest.mark.expression import Expression

from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CHOSEN_BY = ("postgres", "process", "heavy", "whole", "sampled")
"""The markers by which a ring leaves tests out. (Another three are of suites that no ring has.)"""
OF_OTHER_SUITES = ("long", "claude", "agents")
KINDS = tuple(
    frozenset(chosen) for many in range(len(CHOSEN_BY) + 1) for chosen in itertools.combinations(CHOSEN_BY, many)
)
FILES = tuple(sorted((ROOT / "tests").rglob("test_*.py")))
BOTH_DATABASES = ROOT / "tests/storage"
UNTRACED = ("frameworks", "readers")
"""What CI runs untraced: what it reaches, the other folders reach as well."""
TYPED = frozenset[str](tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["basedpyright"]["include"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One run of pytest: of which folders, and which tests of them."""

    paths: frozenset[str]
    marks: str
    profile: str | None
    """Of Hypothesis: how many examples its properties draw; without one all."""
    is_traced: bool
    """Whether what it reaches counts for the floor of coverage."""


@cache
def _at_and_above(path: Path) -> frozenset[str]:
    tests = ROOT / "tests"
    return frozenset(str(each.relative_to(ROOT)) for each in (path, *path.parents) if each.is_relative_to(tests))


@cache
def _chooses(expression: str, marks: frozenset[str]) -> bool:
    """Whether `-m` with this expression chooses a test that has these markers: pytest's own word."""
    return Expression.compile(expression).evaluate(lambda name, /, **_: name in marks)


@cache
def lines_of(*words: str) -> tuple[Line, ...]:
    """Return the runs of pytest that `make` with these words would begin."""
    runs = [line for line in dry_run(*words).splitlines() if re.search(r"pytest .*tests/", line)]
    assert runs, words
    return tuple(map(_line, runs))


def types_of(*words: str) -> frozenset[str]:
    """Return the folders whose types `make` with these words would check."""
    [named] = re.findall(r"; \S+/basedpyright\b(.*)$", dry_run(*words), re.MULTILINE)
    return frozenset(named.split()) or TYPED


@cache
def dry_run(*words: str) -> str:
    """Return what `make` with these words would do."""
    # Of the plain run, whatever make started this one with.
    given = {"ALL", "COVERAGE", "RING", "TYPED"}
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name not in given}
    dry = subprocess.run(["make", "-n", *words], cwd=ROOT, env=plain, capture_output=True, text=True, check=True)
    return dry.stdout


def _line(run: str) -> Line:
    words = shlex.split(run.rpartition(";")[2])
    paths = [word for word in words if word.startswith("tests/")]
    given = words[next(place for place, word in enumerate(words) if word.endswith("pytest")) + 1 :]
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["addopts"] + given
    marks = [value for option, value in itertools.pairwise(options) if option == "-m"]  # the last one wins
    profiles = [value for option, value in itertools.pairwise(options) if option == "--hypothesis-profile"]
    profile = profiles[-1] if profiles else None
    return Line(paths=frozenset(paths), marks=marks[-1], profile=profile, is_traced="coverage run" in run)


def times(lines: tuple[Line, ...], path: Path, kind: frozenset[str]) -> int:
    """How often these lines run the tests of a file that have such markers."""
    return sum(_chooses(marks, kind) for marks in _marks_of(lines, path))


@cache
def _marks_of(lines: tuple[Line, ...], path: Path) -> list[str]:
    """Return what each of these lines that names a file, or a folder above it, says of the markers."""
    return [line.marks for line in lines if not line.paths.isdisjoint(_at_and_above(path))]


def called_by_ci() -> tuple[str, ...]:
    """Return the words with which `.ci/run` calls `make` for the rings."""
    [words] = re.findall(r"^make (test\b.*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    return tuple(words.split())


@pytest.mark.process
def test_what_ci_calls_runs_every_test_once() -> None:
    """A folder or a kind of tests that no line has would be run by nobody, and nothing would be red."""
    for words in (called_by_ci(), ("test", "ALL=1")):
        for path, kind in itertools.product(FILES, KINDS):
            assert times(lines_of(*words), path, kind) == 1, (words, path, sorted(kind))


@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize(("second", "_beside_it"), [(0, 2), (1, 1), (2, 0)])
@pytest.mark.sampled(2)
def test_of_what_is_sampled_all_but_the_sample_is_left_to_the_last_ring(
    request: pytest.FixtureRequest, first: int, second: int, _beside_it: int
) -> None:
    left = request.node.get_closest_marker("whole") is not None
    assert left == bool((first + second) % 2)


@pytest.mark.process
def test_no_ring_runs_what_has_a_suite_of_its_own() -> None:
    for words in (called_by_ci(), ("test",), ("twins",), ("heavy",), ("quick",)):
        for path, kind, mark in itertools.product(FILES, KINDS, OF_OTHER_SUITES):
            assert times(lines_of(*words), path, kind | {mark}) == 0, (words, path, mark)


@pytest.mark.process
def test_the_middle_ring_leaves_out_what_has_a_target_of_its_own_and_nothing_else() -> None:
    for path, kind in itertools.product(FILES, KINDS):
        ring = times(lines_of("test"), path, kind)
        beyond = times(lines_of("twins"), path, kind) + times(lines_of("heavy"), path, kind)
        is_slow = "whole" in kind or kind >= {"heavy", "process"}
        is_within = not is_slow and ("postgres" not in kind or path.is_relative_to(BOTH_DATABASES))
        assert ring == is_within, (path, sorted(kind))
        assert beyond == (is_slow or "postgres" in kind), (path, sorted(kind))


@pytest.mark.process
def test_the_inner_ring_is_within_the_middle_one() -> None:
    for path, kind in itertools.product(FILES, KINDS):
        assert times(lines_of("quick"), path, kind) <= times(lines_of("test"), path, kind), (path, sorted(kind))


@pytest.mark.process
def test_what_ci_calls_draws_every_example_and_the_rings_within_a_few() -> None:
    for words in (called_by_ci(), ("test", "ALL=1"), ("twins",), ("heavy",)):
        assert {line.profile for line in lines_of(*words)} == {None}, words
    for words in (("test",), ("quick",)):
        assert {line.profile for line in lines_of(*words)} == {"quick"}, words


@pytest.mark.process
def test_what_ci_calls_traces_every_folder_but_those_named_and_of_it_all_that_is_no_second_time() -> None:
    """What nobody traces would lower the floor's figure, until the floor was lowered."""
    traced = tuple(line for line in lines_of(*called_by_ci()) if line.is_traced)
    for path, kind in itertools.product(FILES, KINDS):
        if path.relative_to(ROOT / "tests").parts[0] in UNTRACED:
            assert times(traced, path, kind) == 0, path
        elif path.is_relative_to(BOTH_DATABASES) or kind.isdisjoint({"postgres", "whole"}):
            assert times(traced, path, kind) == 1, (path, sorted(kind))
    assert not any(line.is_traced for words in (("test",), ("test", "ALL=1")) for line in lines_of(*words))


@pytest.mark.process
def test_what_ci_calls_checks_all_types_and_the_middle_ring_those_of_what_is_shipped() -> None:
    for words in (called_by_ci(), ("test", "ALL=1"), ("check",)):
        assert types_of(*words) == TYPED, words
    assert types_of("test") == TYPED - {"tests", "examples", "benchmarks"}


def test_whoever_reads_the_readme_is_told_what_ci_calls() -> None:
    for page in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md"):
        assert "make test ALL=1" in (ROOT / page).read_text(encoding="utf-8"), page
    assert called_by_ci()[:2] == ("test", "ALL=1")
