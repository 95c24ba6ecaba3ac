"""The tables of sabotages are in step with the code: a row that could show nothing any more is noticed at once."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

import pytest

from tests.places import ROOT
from tests.sabotage.rows import Row, read_rows

ROWS = read_rows()
FEWEST = 20
FEWEST_OF_A_FLOOR = {"once_unnoticed": 17}


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse(text_of(file), filename=file)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_a_row_spoils_is_there_once_and_is_a_program_afterwards(row: Row) -> None:
    text = text_of(row.file)
    assert text.count(row.old) == 1, f"{row.file}: its old text must stand there exactly once: mend {row.table}.toml"
    spoiled = row.spoil(text)
    assert spoiled is not None
    if row.file.endswith(".py"):
        assert ast.dump(ast.parse(spoiled)) != ast.dump(ast.parse(text)), "it changes nothing"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_tests_that_a_row_names_are_there(row: Row) -> None:
    assert row.tests
    for test in row.tests:
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file(), test
        assert not name or name.partition("[")[0] in functions_of(file), test


def test_every_row_has_a_name_of_its_own_and_says_what_would_come_of_it() -> None:
    assert [name for name, many in Counter(row.name for row in ROWS).items() if many > 1] == []
    assert [row.name for row in ROWS if not row.why] == []


def test_no_floor_is_left_out() -> None:
    assert len(ROWS) >= FEWEST
    counts = Counter(row.table for row in ROWS)
    assert {name: counts[name] for name, least in FEWEST_OF_A_FLOOR.items() if counts[name] < least} == {}
