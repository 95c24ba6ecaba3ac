"""Secrets are compared in constant time, wherever they are compared."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.project.source_tree import python_files, shown, syntax
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = ("app", "channels", "sdk")
SECRET = re.compile(
    r"signature|secret|token|mac$|^mac|password|passcode|api_?key|key_hash|checksum|candidate|t?otp$", re.IGNORECASE
)
CONSTANT = re.compile(r"[A-Z][A-Z_]+")

NO_CALLERS = {
    "app/domain/card/editing.py": "the paths of arguments that are kept secret",
    "channels/conformance/clicks.py": "a test's own click",
    "channels/conformance/messages.py": "a test's own click, and whether a stand-in's secret stands in a text",
    "channels/conformance/package.py": "whether a stand-in's secret stands in a text",
    "app/usecases/platforms/renew_access.py": "our own token, against the one that the platform has refused",
    "channels/feishu/settings.py": "two settings of one file, one against the other",
    "channels/feishu/client.py": "our own token, against the one that the platform has refused",
    "channels/feishu/simulator/clicks.py": "a stand-in finds a button by what stands on it",
    "channels/feishu/simulator/platform.py": "a stand-in's own secrets are no secrets",
    "channels/slack/client.py": "our own token, against the one that the client was built with",
    "channels/slack/controls.py": "a token of our own, before it is sent: whether it survives its form",
    "channels/slack/settings.py": "two settings of one file, one against the other",
    "channels/slack/simulator/rotation.py": "a stand-in's own secrets are no secrets",
    "sdk/assent/shell/programs/finding.py": "a token is a word of find's there",
}
"""Where something is called so and authenticates nobody, with what it is."""


def name_of(node: ast.expr) -> str:
    """Say by which name a value goes: a variable's, an attribute's, a key's, a function's; "" for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Name() | ast.Attribute() as called):
            return name_of(called)
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
        names = [name for name in map(name_of, sides) if not CONSTANT.fullmatch(name)]
        if compares and not literal and any(SECRET.search(name) for name in names):
            yield node.lineno


def calls_compare_digest(tree: ast.AST) -> bool:
    """Tell whether a module calls ``hmac.compare_digest``."""
    return any(isinstance(node, ast.Call) and name_of(node.func) == "compare_digest" for node in ast.walk(tree))


@pytest.mark.heavy
@requirement("S-33")
def test_secrets_are_never_compared_plainly() -> None:
    plain = {shown(path): list(plain_compares(syntax(path))) for path in python_files(*FOLDERS)}
    found = {name: lines for name, lines in plain.items() if lines}

    assert len(plain) > 500
    assert {name: lines for name, lines in found.items() if name not in NO_CALLERS} == {}, "use hmac.compare_digest"
    assert set(NO_CALLERS) <= set(found), "take what compares nothing any more off the list"


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
        "row.secret_hash == candidate",
        "[stored == candidate for candidate in hashes]",
        "parts[3] != _checksum(parts[1], parts[2])",
    ],
)
def test_the_check_sees_a_plain_compare(source: str) -> None:
    assert list(plain_compares(ast.parse(source))) == [1]


@pytest.mark.parametrize(
    "source",
    [
        "token == ''",
        "len(secret) < shortest",
        "compare_digest(signature, expected)",
        "token is None",
        "code in DEAD_TOKEN",
    ],
)
def test_the_check_leaves_other_compares_alone(source: str) -> None:
    assert list(plain_compares(ast.parse(source))) == []
