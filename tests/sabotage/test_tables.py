"""The tables of sabotages are in step with the code: a row that could show nothing any more is noticed at once."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from functools import cache

from tests.places import ROOT
from tests.requirements import requirement
from tests.sabotage.rows import Row, read_rows

ROWS = read_rows()
FEWEST = 300
FEWEST_OF_A_FLOOR = {
    "once_unnoticed": 17,
    "domain": 60,
    "usecases": 60,
    "storage": 35,
    "api": 45,
    "channels": 35,
    "sdk": 40,
}


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse(text_of(file), filename=file)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def statements_of(text: str) -> list[tuple[str, ast.stmt]]:
    """Return a file's outermost statements, each with the lines that it stands in."""
    lines = text.splitlines()
    found = list[tuple[str, ast.stmt]]()
    for each in ast.parse(text).body:
        first = min([each.lineno, *(one.lineno for one in getattr(each, "decorator_list", ()))])
        found.append(("\n".join(lines[first - 1 : each.end_lineno]), each))
    return found


@cache
def statements_in(file: str) -> list[tuple[str, ast.stmt]]:
    return statements_of(text_of(file))


def is_same(one: list[tuple[str, ast.stmt]], other: list[tuple[str, ast.stmt]]) -> bool:
    """Whether two files are the same program. What stands in both, word for word, is not looked into."""
    both = {lines for lines, _ in one} & {lines for lines, _ in other}
    first, second = (
        [lines if lines in both else ast.dump(statement) for lines, statement in each] for each in (one, other)
    )
    return first == second


def fault_of(row: Row) -> str | None:
    text = text_of(row.file)
    spoiled = row.spoil(text)
    if spoiled is None:
        return f"its old text stands {text.count(row.old)} times in {row.file}"
    if not row.file.endswith(".py"):
        return None
    try:
        return "it changes nothing" if is_same(statements_of(spoiled), statements_in(row.file)) else None
    except SyntaxError as error:
        return f"what it leaves is no program: {error}"


def unknown_of(row: Row) -> list[str]:
    parts = [test.partition("::") for test in row.tests]
    return [
        file + name
        for file, _, name in parts
        if not (ROOT / file).is_file() or (name and name.partition("[")[0] not in functions_of(file))
    ]


def test_what_a_row_spoils_is_there_once_and_is_a_program_afterwards() -> None:
    faults = {f"{row.table}.toml: {row.name}": fault for row in ROWS if (fault := fault_of(row))}
    assert not faults, "move these rows along with the code that they spoil"


def test_the_tests_that_a_row_names_are_there() -> None:
    assert [row.name for row in ROWS if not row.tests] == []
    assert {row.name: unknown for row in ROWS if (unknown := unknown_of(row))} == {}


def test_the_check_sees_what_is_wrong_with_a_row() -> None:
    row = next(row for row in ROWS if row.file.endswith(".py"))
    assert fault_of(row) is None
    assert "0 times" in str(fault_of(replace(row, old=f"{row.old}, which is not there")))
    assert fault_of(replace(row, new=row.old)) == "it changes nothing"
    assert "no program" in str(fault_of(replace(row, new="def (")))
    assert unknown_of(replace(row, tests=("tests/none.py", f"{row.tests[0].partition('::')[0]}::test_none"))) != []


def test_every_row_has_a_name_of_its_own_and_says_what_would_come_of_it() -> None:
    assert [name for name, many in Counter(row.name for row in ROWS).items() if many > 1] == []
    assert [row.name for row in ROWS if not row.why] == []


@requirement("D-31")
def test_no_floor_is_left_out() -> None:
    assert len(ROWS) >= FEWEST
    counts = Counter(row.table for row in ROWS)
    assert {name: counts[name] for name, least in FEWEST_OF_A_FLOOR.items() if counts[name] < least} == {}
