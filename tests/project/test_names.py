"""Names say what a thing is; words that could mean anything are refused."""

from __future__ import annotations

import ast
import re

import pytest

from tests.places import ROOT
from tests.project.source_tree import PRODUCT, python_files, shown, syntax

EMPTY_WORDS = frozenset(
    {"manager", "helper", "helpers", "util", "utils", "common", "base", "misc", "handler", "handlers", "data", "info"}
)


def empty_words(name: str) -> set[str] | frozenset[str]:
    """Find the words in a snake_case or CamelCase name that say nothing; `service` does so as the last word."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    return (EMPTY_WORDS & set(words)) | ({"service"} if words[-1:] == ["service"] else set())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("request_utils", {"utils"}),
        ("BaseChannel", {"base"}),
        ("TokenManager", {"manager"}),
        ("decision_service", {"service"}),
        ("HTTPHandler", {"handler"}),
        ("database", set()),
        ("ServiceAccount", set()),
        ("Informed", set()),
    ],
)
def test_the_check_knows_an_empty_word(name: str, words: set[str]) -> None:
    assert empty_words(name) == words


def test_no_file_or_folder_has_an_empty_name() -> None:
    named_badly = {
        shown(path)
        for path in python_files(*PRODUCT, "tests")
        for part in path.relative_to(ROOT).with_suffix("").parts
        if empty_words(part)
    }

    assert not named_badly


@pytest.mark.heavy
def test_no_class_has_an_empty_name() -> None:
    named_badly = {
        f"{shown(path)}:{node.lineno} {node.name}"
        for path in python_files(*PRODUCT)
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ClassDef) and empty_words(node.name)
    }

    assert not named_badly
