"""Secrets are compared in constant time, wherever callers are authenticated."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.project.source_tree import python_files, shown, syntax
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

AUTHENTICATING = frozenset({"auth.py", "callback.py", "seals.py", "signatures.py"})
SECRET = re.compile(r"signature|secret|token|mac$|^mac|password|api_?key", re.IGNORECASE)


def name_of(node: ast.expr) -> str:
    """Say by which name a value goes: a variable's, an attribute's, a key's; "" for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case _:
            return ""


def plain_compares(tree: ast.AST) -> Iterator[int]:
    """Yield the line of every ``==``, ``!=`` or ``in`` between a secret by name and something that is not a literal."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        compares = any(isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for operator in node.ops)
        literal = any(isinstance(side, ast.Constant) for side in sides)
        if compares and not literal and any(SECRET.search(name_of(side)) for side in sides):
            yield node.lineno


def calls_compare_digest(tree: ast.AST) -> bool:
    """Tell whether a module calls ``hmac.compare_digest``."""
    return any(isinstance(node, ast.Call) and name_of(node.func) == "compare_digest" for node in ast.walk(tree))


@requirement("S-33")
def test_secrets_are_never_compared_plainly() -> None:
    authenticating = [path for path in python_files("app", "channels") if path.name in AUTHENTICATING]
    plain = [f"{shown(path)}:{line}" for path in authenticating for line in plain_compares(syntax(path))]

    assert authenticating
    assert plain == [], "use hmac.compare_digest"


@requirement("S-33")
def test_every_callback_compares_in_constant_time() -> None:
    without = [
        shown(path)
        for path in python_files("channels")
        if path.name == "callback.py" and not calls_compare_digest(syntax(path))
    ]

    assert without == []


@pytest.mark.parametrize(
    "source",
    [
        "signature == expected",
        "expected != self.token",
        "headers['x-signature'] == mac",
        "body.token in tokens",
    ],
)
def test_the_check_sees_a_plain_compare(source: str) -> None:
    assert list(plain_compares(ast.parse(source))) == [1]


@pytest.mark.parametrize(
    "source", ["token == ''", "len(secret) < shortest", "compare_digest(signature, expected)", "token is None"]
)
def test_the_check_leaves_other_compares_alone(source: str) -> None:
    assert list(plain_compares(ast.parse(source))) == []
