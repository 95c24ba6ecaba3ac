"""An option that would spend approvals for nothing is refused where it is given, by its name."""

from __future__ import annotations

from typing import Any

import pytest

from assent import AsyncGateway
from assent.executor.executor import Executor
from tests.sdk.executor.executor_gateway import Spy

NAN, INF = float("nan"), float("inf")
OF_AN_EXECUTOR: list[tuple[str, Any, type[Exception]]] = [
    ("at_once", 0, ValueError),
    ("at_once", -1, ValueError),
    ("at_once", 1.5, TypeError),
    ("at_once", "4", TypeError),
    ("at_once", None, TypeError),
    ("at_once", True, TypeError),
    ("look_every", 0, ValueError),
    ("look_every", -1, ValueError),
    ("look_every", NAN, ValueError),
    ("look_every", INF, ValueError),
    ("look_every", "2", TypeError),
    ("name", 5, TypeError),
    ("name", "", ValueError),
    ("name", "a.b", ValueError),
    ("state_file", 5, TypeError),
    ("state_file", b"x", TypeError),
]
OF_A_TOOL: list[tuple[str, Any, type[Exception]]] = [
    ("timeout", 0, ValueError),
    ("timeout", -1, ValueError),
    ("timeout", NAN, ValueError),
    ("timeout", "5", TypeError),
    ("timeout", None, TypeError),
    ("timeout", True, TypeError),
    ("key_lasts", -1, ValueError),
    ("key_lasts", 0, ValueError),
    ("key_lasts", NAN, ValueError),
    ("key_lasts", "1", TypeError),
    ("lookup", 5, TypeError),
    ("lookup", lambda: None, TypeError),
    ("lookup", lambda key, more: None, TypeError),
    ("lookup_elsewhere", "x", TypeError),
    ("lookup_elsewhere", lambda: None, TypeError),
    ("run", 5, TypeError),
    ("run", None, TypeError),
]


def ids(cases: list[tuple[str, Any, type[Exception]]]) -> list[str]:
    return [f"{number}-{name}" for number, (name, _, _) in enumerate(cases)]


@pytest.mark.parametrize(("name", "value", "kind"), OF_AN_EXECUTOR, ids=ids(OF_AN_EXECUTOR))
def test_an_executor_refuses_what_it_cannot_work_with(name: str, value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=rf"{name}\b.*\b(takes|has)\b"):
        Executor(AsyncGateway("http://gateway.test", "ak_1"), **{name: value})


@pytest.mark.parametrize(("name", "value", "kind"), OF_A_TOOL, ids=ids(OF_A_TOOL))
def test_a_tool_is_refused_by_the_option_that_is_wrong(name: str, value: Any, kind: type[Exception]) -> None:
    executor, spy = Executor(AsyncGateway("http://gateway.test", "ak_1")), Spy()
    with pytest.raises(kind, match=rf"^{name} of pay takes \w+"):
        executor.tool("pay", **{"run": spy.run, name: value})
    executor.tool("pay", run=spy.run)  # nothing of it was kept


@pytest.mark.parametrize(("tool", "kind"), [(5, TypeError), (None, TypeError), ("", ValueError)])
def test_a_tool_has_a_name(tool: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="the name of a tool takes a text"):
        Executor(AsyncGateway("http://gateway.test", "ak_1")).tool(tool, run=Spy().run)


def test_what_makes_sense_is_taken() -> None:
    spy, paid = Spy(), dict[str, Any]()
    executor = Executor(AsyncGateway("http://gateway.test", "ak_1"), at_once=1, look_every=1)
    executor.tool("a", run=spy.run, lookup=paid.get, timeout=INF, key_lasts=INF)
    executor.tool("b", run=spy.run_plainly, lookup=spy.lookup, lookup_elsewhere=spy.lookup, timeout=1)
    executor.tool("c", run=spy.run, lookup=getattr(paid, "__getitem__"), key_lasts=1)  # noqa: B009
