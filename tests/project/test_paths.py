"""How far a call travels through the house: no file more than was reached, and the page that tells of it is right."""

from __future__ import annotations

import asyncio
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from tests.project.traced import ROOT, traces

if TYPE_CHECKING:
    from blockbuster import BlockBuster

    from tests.project.traced import Trace

CEILINGS = {"POST": (45, 205), "click": (49, 162), "claim": (37, 105)}
"""Files that each path passes, and moves from one to another. They go down with every hop that is saved, never up.

(Up they went six times, a file or two each, before twelve were taken out at once: which request a call stands on,
frozen values, heads that no gateway wrote, the bulkhead, and what is believed for half a second are modules of their
own. What took others out was to ask, on a hot path, a mapping that was made when something was loaded, and not the
module that made it; and to look first whether there is anything to do. A move up went clicks and claims: a row that
this process wrote last is not read.)
"""
_ROW = re.compile(r"^\| [^|]*\| (?P<call>[^|]*)\| (?P<rest>.*)\|$")
_FILE = re.compile(r"`([\w/]+\.py)`")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory, blocking_calls: BlockBuster) -> dict[str, Trace]:
    blocking_calls.deactivate()  # made before any test says that it may block
    try:
        return asyncio.run(traces(tmp_path_factory.mktemp("traced")))
    finally:
        blocking_calls.activate()


@pytest.mark.may_block
@pytest.mark.parametrize("path", CEILINGS)
def test_a_path_passes_no_more_files_than_it_did(traced: dict[str, Trace], path: str) -> None:
    files, moves = CEILINGS[path]
    trace = traced[path]
    assert len(trace.files) <= files, sorted(trace.files)
    assert trace.moves <= moves, trace.entered


@pytest.mark.may_block
def test_each_path_is_followed_from_its_route_through_the_store_and_back(traced: dict[str, Trace]) -> None:
    for path, trace in traced.items():
        assert trace.packages[0] == "app/api/intake", path
        assert trace.packages[-1] in {"app/api/intake", "app/telemetry"}, path
        assert {"app/storage/engine/lane.py", "app/api/intake/front.py"} <= trace.files, path


@pytest.mark.may_block
def test_the_page_names_files_that_the_call_really_passes(traced: dict[str, Trace]) -> None:
    rows = _rows((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))
    assert {call for call, _ in rows} == {*traced, "beside"}
    for call, named in rows:
        assert named, "a row without a file"
        for name in named:
            if call == "beside":  # done by a worker, for no call
                assert "/" not in name or (ROOT / name).is_file(), name
                continue
            passed = traced[call].files
            assert name in passed or ("/" not in name and name in {PurePosixPath(each).name for each in passed}), (
                f"{call} does not pass {name}"
            )


def _rows(page: str) -> list[tuple[str, list[str]]]:
    """Return, of each row of the table of a call's life, which call it is about and the files that it names."""
    table = page.partition("| step |")[2].partition("\n\n")[0].splitlines()[2:]
    found: list[tuple[str, list[str]]] = []
    for line in table:
        row = _ROW.match(line)
        assert row is not None, line
        call = row["call"].strip() or found[-1][0]
        found.append((call, _FILE.findall(row["rest"])))
    assert len(found) > 10
    return found
