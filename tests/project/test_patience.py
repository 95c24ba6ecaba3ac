"""A test that waits for something to come is red only where it does not come: its bound is `HANGS`, never a guess.

A number of seconds that is plenty on one machine is too few on a busy one, and the test is red for that alone.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A_BOUND_ITSELF = {
    "tests/api/agents/test_one_call.py": "less than the seconds that the call would be held for",
    "tests/durability/campaign/": "a part of what is found: an answer that is later counts as late",
    "tests/durability/fault_proxy.py": "a server that finishes may hang up, or not",
    "tests/durability/weather/test_flood.py": "served within a minute, whoever floods",
    "tests/readers/test_worst.py": "the loop may not stand still",
    "tests/sdk/hooks/test_command_terms.py": "less than the hook before it would keep the only place",
    "tests/sdk/hooks/test_time_limits.py": "how long a hook would block that nobody stopped",
}
WAITS_FOR = {"asyncio.wait_for": 1, "asyncio.timeout": 0, "anyio.fail_after": 0}
WAITS = ("wait", "join", "result")
PATIENT = 2  # seconds: less is a span in which something must not come


def _bounds(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        at = WAITS_FOR.get(ast.unparse(node.func))
        if at is not None:
            yield from node.args[at : at + 1]
        elif node.func.attr in WAITS and len(node.args) == 1:
            yield node.args[0]
        else:
            continue
        yield from (word.value for word in node.keywords if word.arg == "timeout")


def guesses(source: str) -> list[int]:
    """Return the lines of a test that wait for so many seconds."""
    return [
        bound.lineno
        for bound in _bounds(ast.parse(source))
        if isinstance(bound, ast.Constant) and isinstance(bound.value, int | float) and bound.value >= PATIENT
    ]


def _told(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_nothing_that_must_come_is_given_a_number_of_seconds() -> None:
    found = {_told(file): lines for file in (ROOT / "tests").rglob("*.py") if (lines := guesses(file.read_text()))}
    assert {file: lines for file, lines in found.items() if not file.startswith(tuple(A_BOUND_ITSELF))} == {}
    for told in A_BOUND_ITSELF:
        assert any(file.startswith(told) for file in found), f"{told} has no such line any more"


def test_a_guess_is_seen() -> None:
    assert guesses("await asyncio.wait_for(gone(), 5)\nassert process.wait(20) == 0\nevent.wait(HANGS)") == [1, 2]
    assert guesses("async with asyncio.timeout(30):\n    ...\nasyncio.wait_for(never(), 0.5)\n', '.join(names)") == [1]
