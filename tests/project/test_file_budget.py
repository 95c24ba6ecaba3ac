"""Files stay short enough to be read whole, and folders small enough to be known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.project.file_budget import (
    ADAPTER,
    HARD,
    LONGER_ADAPTERS,
    MOST_MODULES,
    MOST_TEST_FILES,
    adapters,
    line_counts,
    module_counts,
    says_what_lives_there,
    talkative_inits,
    too_full,
)
from tests.project.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_no_file_is_longer_than_its_budget() -> None:
    counts = line_counts()

    assert counts, "no files were counted"
    too_long = {name: lines for name, lines in counts.items() if lines > HARD}
    assert not too_long, f"split by noun what is over {HARD} lines: {too_long}"


def test_an_adapter_is_no_longer_than_its_budget_and_one_that_may_be_needs_it() -> None:
    lines = adapters()

    assert {name: n for name, n in lines.items() if n > LONGER_ADAPTERS.get(name, ADAPTER)} == {}
    assert {name for name, n in lines.items() if n > ADAPTER} == set(LONGER_ADAPTERS)


def test_no_folder_has_more_files_than_its_budget() -> None:
    full = too_full(ROOT)

    assert module_counts(ROOT, "channels")["channels/feishu/simulator"], "a channel's stand-in counts as well"
    assert full == {}


def test_a_folder_that_is_too_full_is_seen(tmp_path: Path) -> None:
    for folder, most in (
        ("app/domain/card", MOST_MODULES),
        ("sdk/assent", MOST_MODULES),
        ("tests/api", MOST_TEST_FILES),
    ):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("__init__", *(f"file_{number}" for number in range(most))):
            (tmp_path / folder / f"{name}.py").touch()

    assert too_full(tmp_path) == {}
    for folder in ("app/domain/card", "tests/api"):
        (tmp_path / folder / "one_more.py").touch()
    assert too_full(tmp_path) == {"app/domain/card": MOST_MODULES + 1, "tests/api": MOST_TEST_FILES + 1}


def test_an_init_is_one_line_that_says_what_lives_there() -> None:
    assert talkative_inits() == []


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ('"""Cards: what a person sees."""\n', True),
        ("", False),
        ("from app.domain import card\n", False),
        ('"""Cards."""\n\nfrom app.domain.card import card\n', False),
        ('"""Cards,\nwhich persons see."""\n', False),
    ],
)
def test_an_init_that_says_more_or_nothing_is_seen(text: str, *, fine: bool) -> None:
    assert says_what_lives_there(ast.parse(text), text) is fine
