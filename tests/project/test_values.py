"""What cannot change is a Struct: made in a tenth of the time of a frozen dataclass, and its class in a fiftieth."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.project.source_tree import python_files, shown, syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_A_FIELD = {"init", "repr", "hash", "compare"}
_BY_HAND = {"__post_init__", "__init__"}


def frozen_dataclasses(tree: ast.Module) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(map(_makes_frozen, node.decorator_list)):
            yield node


def _makes_frozen(decorator: ast.expr) -> bool:
    return (
        isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func).endswith("dataclass")
        and any(each.arg == "frozen" for each in decorator.keywords)
    )


def needs_one(of: ast.ClassDef) -> bool:
    """Whether a class says something that only a dataclass hears: of a field, or of how it is made."""
    return any(
        (isinstance(node, ast.keyword) and node.arg in _OF_A_FIELD)
        or (isinstance(node, ast.FunctionDef) and node.name in _BY_HAND)
        or (isinstance(node, ast.Name) and node.id in {"KW_ONLY", "Exception"})
        for node in ast.walk(of)
    )


def without_need(text: str) -> list[str]:
    return [each.name for each in frozen_dataclasses(ast.parse(text)) if not needs_one(each)]


def test_a_frozen_dataclass_is_there_for_what_only_a_dataclass_can() -> None:
    """For a secret that no text of it shows, say, or a field that its hash leaves out, or one that it works out."""
    found = {
        f"{shown(path)}: {each.name}"
        for path in python_files("app", "channels")
        if "simulator" not in path.parts
        for each in frozen_dataclasses(syntax(path))
        if not needs_one(each)
    }
    assert found == set(), "class … (Struct, frozen=True, kw_only=True)"


def test_the_rule_bites() -> None:
    plain = "@dataclass(frozen=True, slots=True)\nclass A:\n    a: int\n"
    hiding = "@dataclasses.dataclass(frozen=True)\nclass B:\n    b: str = field(repr=False)\n"
    changing = "@dataclass(slots=True)\nclass C:\n    c: int\n"
    assert without_need(plain + hiding + changing) == ["A"]
