"""No promise without a test, and no test for a promise that nobody wrote down."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache

import pytest

from tests.project.source_tree import python_files, shown, syntax
from tests.requirements import LEDGER

OWN_FILES = frozenset({"tests/requirements.py", "tests/project/test_requirements_ledger.py"})


def marked_ids(tree: ast.AST) -> set[str]:
    """Collect the ids that a test file marks its tests with: ``@requirement("S-04", "F-02")``."""
    return {
        argument.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (getattr(node.func, "id", None) == "requirement" or getattr(node.func, "attr", None) == "requirement")
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


@cache
def files_by_id() -> dict[str, list[str]]:
    """Say which files show which promise."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in python_files("tests"):
        if shown(path) not in OWN_FILES and "requirement" in path.read_text(encoding="utf-8"):
            for promised in marked_ids(syntax(path)):
                files[promised].append(shown(path))
    return files


@pytest.mark.heavy
def test_every_promise_is_shown_by_a_test() -> None:
    files = files_by_id()
    todo = [f"  {promised}  {promise.sentence}" for promised, promise in LEDGER.items() if promised not in files]

    assert not todo, f"{len(todo)} of {len(LEDGER)} promises have no test yet:\n" + "\n".join(todo)


@pytest.mark.heavy
def test_every_id_that_a_test_names_is_in_the_ledger() -> None:
    unknown = {promised: files for promised, files in files_by_id().items() if promised not in LEDGER}

    assert not unknown, "write the promise into tests/requirements.py, or mend the id"


def test_the_scan_reads_both_spellings() -> None:
    assert marked_ids(ast.parse('@requirement("S-01", "F-02")\ndef test_a(): ...')) == {"S-01", "F-02"}
    assert marked_ids(ast.parse('@pytest.mark.requirement("S-01")\ndef test_a(): ...')) == {"S-01"}
    assert marked_ids(ast.parse('note("S-01")')) == set()


def test_every_promise_is_one_sentence() -> None:
    assert [
        promised for promised, promise in LEDGER.items() if not promise.sentence.endswith(".") or not promise.source
    ] == []
