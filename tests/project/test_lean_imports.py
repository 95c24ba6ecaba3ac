"""What libraries load for others is left out while they are imported, and is there again for whoever wants it."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from typing import TYPE_CHECKING

import pytest

from app.lean_imports import nothing_installed, without

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have a library with an optional one, as many do it."""
    for name, text in (
        ("colourful", "from shades.blue import BLUE\n"),
        ("plain_or_colourful", "try:\n    from shades.blue import BLUE\nexcept ImportError:\n    BLUE = None\n"),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "shades").mkdir()
    (tmp_path / "shades" / "__init__.py").write_text("")
    (tmp_path / "shades" / "blue.py").write_text("BLUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("colourful", "plain_or_colourful", "shades", "shades.blue"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "shades"


def test_a_library_does_without_an_optional_one_and_others_have_it_afterwards(library: str) -> None:
    with without(library):
        import plain_or_colourful  # pyright: ignore[reportMissingImports] - made above
    import colourful  # pyright: ignore[reportMissingImports]

    assert plain_or_colourful.BLUE is None
    assert colourful.BLUE == 1


def test_what_is_taken_of_a_library_that_is_left_out_is_none(library: str) -> None:
    with without(f"{library}.blue", "BLUE"):
        import colourful  # pyright: ignore[reportMissingImports]

    assert colourful.BLUE is None
    assert importlib.import_module("shades.blue").BLUE == 1


def test_one_that_is_loaded_already_stays(library: str) -> None:
    import shades  # pyright: ignore[reportMissingImports]

    with without(library):
        import plain_or_colourful  # pyright: ignore[reportMissingImports]

    assert plain_or_colourful.BLUE == 1
    assert sys.modules["shades"] is shades


def test_it_is_there_again_after_an_import_that_failed(library: str) -> None:
    with pytest.raises(ZeroDivisionError), without(library):
        _ = 1 / 0
    import colourful  # pyright: ignore[reportMissingImports]

    assert colourful.BLUE == 1


def test_nothing_is_found_installed_only_for_as_long_as_it_lasts() -> None:
    looked = importlib.metadata.entry_points
    with nothing_installed():
        found = list(importlib.metadata.entry_points(group="console_scripts"))
    with pytest.raises(ZeroDivisionError), nothing_installed():
        _ = 1 / 0

    assert found == []
    assert importlib.metadata.entry_points is looked
    assert list(looked(group="console_scripts"))
