"""The page of what every runtime is held to says what the suite knows."""

from __future__ import annotations

from tests.frameworks.matrix import PAGE, page
from tests.frameworks.runtimes import RUNTIMES
from tests.frameworks.suite import CASES
from tests.places import ROOT


def test_the_page_is_the_one_that_the_suite_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.frameworks.matrix`"


def test_what_a_runtime_cannot_do_is_a_case_and_has_a_reason() -> None:
    for runtime in RUNTIMES.values():
        assert set(runtime.cannot) <= set(CASES)
        assert all(runtime.cannot.values())


def test_every_adapter_is_driven() -> None:
    adapters = {path.stem for path in (ROOT / "sdk/assent/integrations").glob("[!_]*.py")} - {"ground"}
    assert adapters == set(RUNTIMES)
