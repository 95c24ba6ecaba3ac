"""What agents import from `assent` is chosen, complete and documented."""

from __future__ import annotations

import ast
import inspect

import assent
from tests.places import ROOT
from tests.project.source_tree import syntax


def test_the_public_names_are_exactly_those_listed() -> None:
    tree = syntax(ROOT / "sdk" / "assent" / "__init__.py")
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "assent"
        for alias in node.names
    }

    assert imported
    assert imported == set(assent.__all__)
    assert len(assent.__all__) == len(set(assent.__all__))


def test_every_public_name_is_there_and_documented() -> None:
    public = {name: getattr(assent, name) for name in assent.__all__}

    assert [name for name, value in public.items() if callable(value) and not inspect.getdoc(value)] == []
