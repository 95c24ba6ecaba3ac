"""The page of what every runtime is held to says what the suite knows."""

from __future__ import annotations

from assent.command.hosts.table import HOSTS
from tests.frameworks.matrix import PAGE, levels, page
from tests.frameworks.programs.table import PROGRAMS
from tests.frameworks.runtimes import RUNTIMES
from tests.frameworks.suite import CASES
from tests.places import ROOT


def test_the_page_is_the_one_that_the_suite_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.frameworks.matrix`"


def test_what_a_runtime_cannot_do_is_a_case_of_its_level_and_has_a_reason() -> None:
    for level in levels().values():
        assert set(level.has) <= set(CASES)
        for column in level.columns:
            assert {*column.cannot, *column.lets_run} <= set(level.has)
            assert all([*column.cannot.values(), *column.lets_run.values()])


def test_a_case_that_a_level_does_not_have_carries_its_reason() -> None:
    for level in levels().values():
        assert set(level.left_out) == set(CASES) - set(level.has)
        assert all(level.left_out.values())


def test_every_adapter_is_driven() -> None:
    adapters = {path.stem for path in (ROOT / "sdk/assent/integrations").glob("[!_]*.py")}
    assert adapters == set(RUNTIMES)


def test_every_host_is_a_real_program_but_the_one_that_cannot_run_offline() -> None:
    assert set(HOSTS) - set(PROGRAMS) == {"cursor"}
