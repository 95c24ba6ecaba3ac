"""Declarations become hooks, and every fault of one is told when it is built."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

from assent.hooks.commands.command_hook import CommandHook
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.hook import Hook, PreToolUseHook
from assent.hooks.contract.moments import Moment
from assent.hooks.contract.verdicts import HookResult, deny
from assent.hooks.declared.build import READY, DeclarationError, build
from assent.hooks.declared.declaration import Declaration
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.function_hook import FunctionHook
from assent.hooks.engine.outcome import Decision
from assent.hooks.engine.registry import HookRegistry
from assent.hooks.ready.rate_limit import RateLimit
from assent.hooks.ready.redact import Redact, RedactFailure
from assent.hooks.ready.result_truncate import ResultTruncate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRE, POST = Moment.PRE_TOOL_USE, Moment.POST_TOOL_USE

MODULE = """
from assent.hooks.contract.hook import PreToolUseHook
from assent.hooks.contract.verdicts import deny, modify

COLOURS = ["red"]

def no_fridays(ctx):
    return deny("payments rest on Fridays") if ctx.timestamp.weekday() == 4 else None

async def dry_run(ctx):
    return modify({**ctx.args, "dry_run": True})

def two(ctx, other):
    return None

class Cap(PreToolUseHook):
    name = "cap"

    def __init__(self, *, most: int = 10, currency: str, groups: list = (), note: str | None = None):
        if most < 1:
            raise ValueError("most: give 1 or more")
        self.most = most

    async def execute(self, ctx):
        return deny(f"more than {self.most}") if ctx.args["amount"] > self.most else None

class Unfinished(PreToolUseHook):
    pass

class Outer:
    class Inner(PreToolUseHook):
        async def execute(self, ctx):
            return deny("inner")

READY_MADE = Cap(currency="CNY")
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "acme_hooks"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "payments.py").write_text(MODULE)
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "hungry.py").write_text("import no_such_library_at_all\n")
    (folder / "leaving.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "acme_hooks"
    for name in [name for name in sys.modules if name.split(".")[0] == "acme_hooks"]:
        del sys.modules[name]


def refusal(**declared: Any) -> str:
    with pytest.raises(DeclarationError) as refused:
        build(Declaration(**{"on": PRE, **declared}))
    assert str(refused.value).startswith(refused.value.path)
    return str(refused.value)


async def decide(hook: Hook, **args: Any) -> tuple[Decision, str, Any]:
    registry = HookRegistry()
    registry.add(hook)
    friday = datetime(2026, 11, 20, tzinfo=UTC)
    ctx = HookContext(moment=hook.moment, timestamp=friday, tool_name="pay", args=args)
    outcome = await run_chain(registry.get(hook.moment, tool="pay"), ctx)
    return outcome.decision, outcome.reason, outcome.args


@pytest.mark.parametrize("name", sorted(READY))
def test_every_ready_hook_can_be_declared_by_its_name(name: str) -> None:
    moment = POST if name in {"result-truncate", "redact", "audit-log"} else PRE
    options = {"limit": "10/minute"} if name == "rate-limit" else {}
    hook = build(Declaration(on=moment, use=name, options=options))
    assert (hook.name, hook.moment) == (name, moment)


def test_a_ready_hook_gets_its_options() -> None:
    hook = build(Declaration(on=POST, use="result-truncate", options={"limit": 500}))
    assert isinstance(hook, ResultTruncate)
    assert hook._limit == 500


def test_a_ready_hook_is_the_one_of_its_moment() -> None:
    assert type(build(Declaration(on=POST, use="redact"))) is Redact
    assert type(build(Declaration(on=Moment.POST_TOOL_USE_FAILURE, use="redact"))) is RedactFailure


def test_what_no_file_can_give_is_supplied() -> None:
    class Full:
        async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
            return 7.0

    supplies = {"rate-limit": {"counters": Full()}, "read-only": {"is_on": None}}
    hook = build(Declaration(on=PRE, use="rate-limit", options={"limit": "1/minute"}), supplies=supplies)
    assert isinstance(hook, RateLimit)
    assert isinstance(hook._counters, Full)


class Rows:
    """Counters that several hooks share, as the gateway's are."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
        self.taken[key] = self.taken.get(key, 0) + 1
        return None if self.taken[key] <= calls else window_seconds


async def refused(rows: Rows, times: int, **declared: Any) -> int:
    """How many of so many calls a limit of 2 refuses that is declared like this, and built anew for each."""
    options = {"limit": "2/minute", "per": ["agent"], **declared.pop("options", {})}
    denied = 0
    for _ in range(times):
        rate = Declaration(on=PRE, use="rate-limit", options=options, **declared)
        hook = build(rate, supplies={"rate-limit": {"counters": rows}})
        denied += (await decide(hook))[0] is Decision.DENY
    return denied


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"id": "pings"}, {"id": "pays"}),
        ({"tools": ("ping",)}, {"tools": ("pay",)}),
        ({"agents": ("shop",)}, {"agents": ("ledger",)}),
        ({"options": {"over": "deny"}}, {}),
        ({"options": {"budget": "a"}}, {"options": {"budget": "b"}}),
    ],
)
async def test_two_rate_limits_of_the_same_size_have_a_budget_each(one: dict[str, Any], other: dict[str, Any]) -> None:
    rows = Rows()
    assert await refused(rows, 3, **one) == 1
    assert await refused(rows, 3, **other) == 1


async def test_rate_limits_that_name_the_same_budget_share_it() -> None:
    rows = Rows()
    assert await refused(rows, 2, id="pings", options={"budget": "all"}) == 0
    assert await refused(rows, 2, id="pays", options={"budget": "all"}) == 2


async def test_a_function_is_a_hook_and_holds_up_nobody(acme: str) -> None:
    hook = build(Declaration(on=PRE, python=f"{acme}.payments.no_fridays"))
    assert isinstance(hook, FunctionHook)
    assert (await decide(hook))[:2] == (Decision.DENY, "payments rest on Fridays")


async def test_an_asynchronous_function_is_a_hook(acme: str) -> None:
    for dotted in (f"{acme}.payments.dry_run", f"{acme}.payments:dry_run"):
        hook = build(Declaration(on=PRE, python=dotted))
        assert (await decide(hook, amount=1))[2] == {"amount": 1, "dry_run": True}


async def test_a_class_is_a_hook_with_options(acme: str) -> None:
    dotted = f"{acme}.payments.Cap"
    hook = build(Declaration(on=PRE, python=dotted, options={"most": 5, "currency": "CNY", "groups": ["a"]}))
    assert (await decide(hook, amount=6))[1] == "more than 5"
    assert (await decide(build(Declaration(on=PRE, python=f"{acme}.payments.Outer.Inner"))))[1] == "inner"


def test_an_object_is_taken_as_it_is(acme: str) -> None:
    hook = build(Declaration(on=PRE, python=f"{acme}.payments.READY_MADE"))
    assert hook.name == "cap"


def test_names_may_be_found_otherwise() -> None:
    def judge(_: HookContext) -> HookResult | None:
        return deny("no")

    hook = build(Declaration(on=PRE, python="mine"), python={"mine": judge}.__getitem__)
    assert isinstance(hook, FunctionHook)
    assert hook.function is judge


def test_a_command_is_a_hook() -> None:
    line = build(Declaration(on=POST, command="python scan.py"))
    words = build(Declaration(on=PRE, command=("python", "my scan.py"), id="scan"))
    assert isinstance(line, CommandHook)
    assert isinstance(words, CommandHook)
    assert (line.moment, line.line) == (POST, "python scan.py")
    assert (words.name, words.line) == ("scan", "python 'my scan.py'")


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({}, ": has none of them: a hook is exactly one of use, python and command"),
        ({"use": "redact", "command": "x"}, ": has use and command: a hook is exactly one of"),
        ({"use": "comand-guard"}, "use: there is no ready hook 'comand-guard'; did you mean 'command-guard'?"),
        ({"use": "magic"}, "use: there is no ready hook 'magic'; there are: command-guard, path-guard, read-only"),
        ({"use": "result-truncate"}, "on: result-truncate is for PostToolUse or PostToolUseFailure, not PreToolUse"),
        ({"on": POST, "use": "read-only"}, "on: read-only is for PreToolUse, not PostToolUse"),
        ({"on": POST, "use": "result-truncate", "options": {"limt": 5}},
         "options.limt: unknown option 'limt'; did you mean 'limit'?"),
        ({"on": POST, "use": "result-truncate", "options": {"x": 5}},
         "options.x: unknown option 'x'; there are: limit"),
        ({"on": POST, "use": "result-truncate", "options": {"limit": "5k"}},
         "options.limit: must be a whole number, not '5k'"),
        ({"on": POST, "use": "result-truncate", "options": {"limit": True}},
         "options.limit: must be a whole number, not True"),
        ({"on": POST, "use": "result-truncate", "options": {"limit": 5}},
         "options.limit: give a number of characters, 200 or more, not 5"),
        ({"use": "rate-limit", "options": {"counters": 5}}, "options.counters: unknown option 'counters'; "),
        ({"use": "rate-limit", "options": {"limit": "often"}}, "options.limit: write one like '10/minute'"),
        ({"command": " "}, "command: the command is empty"),
        ({"command": "x", "options": {"a": 1}}, "options: a command has no options; write them into the command"),
        ({"python": "payments"}, "python: 'payments' is no dotted name; write it as package.module.function"),
        ({"python": "a b.c"}, "python: 'a b.c' is no dotted name"),
        ({"python": "no_such_package.f"},
         "python: there is no module 'no_such_package'; is it installed, or on PYTHONPATH?"),
        ({"python": "acme_hooks.payments.no_friday"},
         "python: acme_hooks.payments has no 'no_friday'; did you mean 'no_fridays'?"),
        ({"python": "acme_hooks.pay.f"}, "python: acme_hooks has no 'pay'"),
        ({"python": "acme_hooks.payments.Outer.Other"}, "python: acme_hooks.payments.Outer has no 'Other'"),
        ({"python": "acme_hooks.broken.f"}, "python: importing acme_hooks.broken failed: SyntaxError: "),
        ({"python": "acme_hooks.leaving.f"}, "python: importing acme_hooks.leaving failed: SystemExit: 3"),
        ({"python": "acme_hooks.hungry.f"},
         "python: acme_hooks.hungry needs a library that is not installed: no_such_library_at_all"),
        ({"python": "acme_hooks.payments.COLOURS"}, "python: acme_hooks.payments.COLOURS is a list; name a function"),
        ({"python": "acme_hooks.payments.two"}, "python: "),
        ({"python": "acme_hooks.payments.no_fridays", "options": {"a": 1}}, "options: only a hook class has options"),
        ({"python": "acme_hooks.payments.Unfinished"}, "python: acme_hooks.payments.Unfinished is abstract"),
        ({"python": "acme_hooks.payments.Cap"}, 'options: "currency" is missing'),
        ({"on": POST, "python": "acme_hooks.payments.Cap"},
         "on: acme_hooks.payments.Cap is for PreToolUse, not PostToolUse"),
        ({"on": POST, "python": "acme_hooks.payments.READY_MADE"},
         "on: acme_hooks.payments.READY_MADE is for PreToolUse, not PostToolUse"),
        ({"python": "acme_hooks.payments.Cap", "options": {"currency": "CNY", "most": 0}},
         "options.most: give 1 or more"),
        ({"python": "acme_hooks.payments.Cap", "options": {"currency": 1}}, "options.currency: must be a text, not 1"),
        ({"python": "acme_hooks.payments.Cap", "options": {"currency": "C", "groups": "a"}},
         "options.groups: must be a list, not 'a'"),
        ({"python": "acme_hooks.payments.Cap", "options": {"currency": "C", "note": 1}},
         "options.note: must be a text, not 1"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_path_and_its_mend(acme: str, declared: dict[str, Any], told: str) -> None:
    assert refusal(**declared).startswith(told)


def test_a_ready_hook_whose_library_is_missing_is_a_fault_at_load(monkeypatch: pytest.MonkeyPatch) -> None:
    assert version("limits")  # it is here, and made to be away
    for name in [name for name in sys.modules if name.split(".")[0] == "limits"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "limits", None)
    told = refusal(use="rate-limit", options={"limit": "10/minute"})
    assert re.match(r"use: .*limits.*not installed", told)


def test_a_constructor_that_fails_is_a_fault_at_load() -> None:
    class Angry(PreToolUseHook):
        def __init__(self) -> None:
            raise KeyError("home")

        async def execute(self, ctx: HookContext) -> HookResult | None:
            return None

    with pytest.raises(DeclarationError, match="options: 'home'"):
        build(Declaration(on=PRE, python="x.y"), python=lambda _: Angry)
