"""Spoil the gateway in one place after the other, and see whether the tests that should notice it do.

    make sabotage                      all of it; JOBS= at once
    make sabotage ONLY='*claim*'       those whose name, table or file fits
    make sabotage BOUNDED=1            twelve, drawn by the commit

Every row's tests run once as things are (what is red anyway proves nothing), and then with the sabotage. It is caught
by a test that fails in its body, and not because the spoiled program could not be imported.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from queue import SimpleQueue
from typing import TYPE_CHECKING

from tests.places import ROOT
from tests.sabotage.copies import Copy, copies
from tests.sabotage.rows import Row, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.sabotage.copies import Told

SAMPLE = 12
_SECONDS = 120.0
_ALL_SECONDS = 1_200.0


class Fate(StrEnum):
    """What became of a sabotage."""

    CAUGHT = "caught"
    EQUIVALENT = "equivalent"  # as the row says, with the reason
    SURVIVED = "SURVIVED"
    STALE = "STALE"  # its old text is not in the file exactly once
    RED_ANYWAY = "RED ANYWAY"  # its tests fail, or do not run, without any sabotage
    BROKEN = "BROKEN"  # the spoiled program does not run, or hangs
    NOT_EQUIVALENT = "NOT EQUIVALENT"  # the row says that nobody can notice it, and a test did

    @property
    def good(self) -> bool:
        """Whether the suite may end well with it."""
        return self in {Fate.CAUGHT, Fate.EQUIVALENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A row, and what became of it."""

    row: Row
    fate: Fate
    said: str
    seconds: float = 0.0


def chosen(rows: Sequence[Row], *, only: str | None, bounded: bool, commit: str) -> list[Row]:
    """Return the rows to do."""
    wanted = [row for row in rows if only is None or _fits(row, only)]
    if not bounded:
        return wanted
    return sorted(wanted, key=lambda row: hashlib.sha256(f"{commit} {row.name}".encode()).digest())[:SAMPLE]


def _fits(row: Row, only: str) -> bool:
    return any(fnmatchcase(text, one.strip()) for text in (row.name, row.table, row.file) for one in only.split(","))


def sabotage(root: Path, rows: Sequence[Row], *, jobs: int) -> Iterator[Result]:
    """Do these rows on copies of a checkout, and tell of each what became of it, in the order in which they end."""
    with copies(root, jobs) as made:
        red_anyway = _red_anyway(made[0], rows, jobs)
        free: SimpleQueue[Copy] = SimpleQueue()
        for copy in made:
            free.put(copy)

        def one(row: Row) -> Result:
            if row.name in red_anyway:
                return Result(row=row, fate=Fate.RED_ANYWAY, said=red_anyway[row.name])
            copy = free.get()
            try:
                return _done(copy, row)
            finally:
                free.put(copy)

        pool = ThreadPoolExecutor(jobs)
        try:
            yield from (ended.result() for ended in as_completed([pool.submit(one, row) for row in rows]))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _red_anyway(copy: Copy, rows: Sequence[Row], jobs: int) -> dict[str, str]:
    """Run all tests of the rows as things are; return why a row could not show anything, by its name."""
    found: dict[str, str] = {}
    for these in ([row for row in rows if row.postgres is postgres] for postgres in (False, True)):
        if these:
            found |= _red_of(copy, these, jobs)
    return found


def _red_of(copy: Copy, rows: Sequence[Row], jobs: int) -> dict[str, str]:
    tests = sorted({test for row in rows for test in row.tests})
    told = copy.run(tests, f"-n{jobs}", "--dist=worksteal", postgres=rows[0].postgres, seconds=_ALL_SECONDS)
    if (
        told.code not in {0, 1} and len(rows) > 1
    ):  # one name that pytest does not know keeps all the others from running
        return {name: why for row in rows for name, why in _red_of(copy, [row], 1).items()}
    found: dict[str, str] = {}
    for row in rows:
        missing = [test for test in row.tests if not told.has_run(test)]
        failed = [test for test in row.tests if told.has_failed(test)]
        if missing or failed:
            found[row.name] = f"failed: {failed}, did not run: {missing}\n{told.output[-600:]}"
    return found


def _done(copy: Copy, row: Row) -> Result:
    began = time.monotonic()

    def result(fate: Fate, said: str) -> Result:
        return Result(row=row, fate=fate, said=said, seconds=time.monotonic() - began)

    spoiled = row.spoil((copy.place / row.file).read_text(encoding="utf-8"))
    if spoiled is None:
        return result(Fate.STALE, f"its old text is not in {row.file} exactly once")
    with copy.spoiled(row.file, spoiled):
        told = copy.run(row.tests, "-x", postgres=row.postgres, seconds=_SECONDS)
    return result(*_judged(row, told))


def _judged(row: Row, told: Told) -> tuple[Fate, str]:
    if told.red:
        return (Fate.NOT_EQUIVALENT if row.equivalent else Fate.CAUGHT), told.red
    if told.code == 0:
        return (Fate.EQUIVALENT, row.equivalent) if row.equivalent else (Fate.SURVIVED, f"no test of {[*row.tests]}")
    return Fate.BROKEN, f"pytest ended with {told.code}{'' if told.in_time else ' (hung)'}\n{told.output[-800:]}"


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Do what the command line says; 0 where every sabotage is caught, or explained."""
    asked = argparse.ArgumentParser(description="Spoil the gateway, and see whether the tests notice.")
    asked.add_argument("--only", help="names, tables or files of rows, with commas between; * and ? stand for anything")
    asked.add_argument("--bounded", action="store_true", help=f"{SAMPLE} rows, drawn by the commit")
    asked.add_argument("--jobs", type=int, default=2)
    options = asked.parse_args()
    rows = chosen(read_rows(), only=options.only, bounded=options.bounded, commit=_commit())
    if not rows:
        _tell("no row fits")
        return 1
    began = time.monotonic()
    results: list[Result] = []
    for result in sabotage(ROOT, rows, jobs=min(options.jobs, len(rows))):
        results.append(result)
        said = result.said if not result.fate.good or result.row.equivalent else result.said.splitlines()[0][:160]
        _tell(f"{result.fate:<11} {result.seconds:5.1f}s  {result.row.table}: {result.row.name}  ({said})")
    fates = Counter(result.fate for result in results)
    told = ", ".join(f"{fates[fate]} {fate.lower()}" for fate in Fate if fates[fate])
    _tell(f"{len(results)} sabotages in {time.monotonic() - began:.0f} s: {told}")
    for result in results:
        if not result.fate.good:
            _tell(f"{result.fate}: {result.row.table}: {result.row.name}: {result.row.why}")
    return 0 if all(result.fate.good for result in results) else 1
