"""The client starts with next to nothing, and works where the guards' extra is not installed; a guard then says so."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from assent.guards.command_guard import CommandGuard
from assent.guards.path_guard import PathGuard
from assent.hooks.contract.moments import Moment
from assent.hooks.declared.build import DeclarationError, build
from assent.hooks.declared.declaration import Declaration
from assent.shell.reading import grammar
from tests.fixtures.patience import HANGS
from tests.project.source_tree import ROOT
from tests.sdk.gateway_stub import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sdk.gateway_stub import StubGateway


pytestmark = pytest.mark.process

MEND = r"pip install 'assent\[guards\]'"

STARTED = """
import json, sys
before = set(sys.modules)
from assent import AsyncGateway, Gateway, guarded, resume
print(json.dumps(sorted(set(sys.modules) - before)))
"""
MOST_MODULES = 75
"""Modules that the client may bring in beyond the interpreter's own start: 65 when this was written."""

# Everything beyond the client's own two libraries is out of reach, and so are the packages that the extra is for.
BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in AWAY or name.startswith(("assent.shell", "assent.guards", "assent.sandbox")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

AWAY = {"tree_sitter", "tree_sitter_bash", "limits", "e2b", "daytona", "pydantic", "sqlalchemy", "yaml", "app"}
sys.meta_path.insert(0, Missing())
"""
CALLS = """
import asyncio
from assent import Gateway, NotApprovedError, guarded
from assent.executor.executor import Executor
from assent.hooks import Hooks
from assent.hooks.ready.approval_gate import ApprovalGate
from assent.hooks.ready.audit_log import AuditLog
from assent.hooks.ready.read_only import ReadOnlyGuard
from assent.hooks.ready.redact import Redact
from assent.hooks.ready.result_truncate import ResultTruncate

with Gateway(sys.argv[1], sys.argv[2]) as gateway:
    @guarded(gateway, tool="look")
    def look(month):
        return f"saw {month}"

    @guarded(gateway, tool="wipe")
    def wipe(month):
        return f"wiped {month}"

    print(look("2026-03"))
    try:
        wipe("2026-03")
    except NotApprovedError as refused:
        print(refused.code)

hooks = Hooks()
hooks.add(Redact())

async def run():
    async with hooks.session(agent="a") as session:
        return await session.call_tool("look", {"month": "2026-03"}, lambda month: f"looked at {month}")

print(asyncio.run(run()).content)
try:
    import assent.guards.command_guard
except ModuleNotFoundError as missing:
    print("blocked", missing.name)
"""


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={"PYTHONPATH": str(ROOT / "sdk"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
    )


def test_the_client_starts_with_next_to_nothing() -> None:
    done = python(STARTED)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))

    ours = {name for name in loaded if name.split(".")[0] == "assent"}
    assert {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) == {"assent"}
    assert {".".join(name.split(".")[:2]) for name in ours} == {"assent", "assent.client", "assent.gate"}
    assert not loaded & {
        "asyncio",
        "concurrent",
        "email",
        "hashlib",
        "http",
        "json",
        "logging",
        "socket",
        "ssl",
        "urllib",
    }
    assert len(loaded) <= MOST_MODULES, sorted(loaded)


def test_the_client_hooks_and_executor_work_without_the_extra(gateway: StubGateway) -> None:
    gateway.rules |= {"look": "allow", "wipe": "deny"}

    done = python(BLOCKED + CALLS, gateway.url, KEY)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "saw 2026-03",
        "denied_by_rule",
        "looked at 2026-03",
        "blocked assent.guards",
    ]


@pytest.fixture(params=["tree_sitter", "tree_sitter_bash"])
def missing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One of the extra's libraries is not installed."""
    monkeypatch.setitem(sys.modules, request.param, None)
    grammar._parser.cache_clear()
    yield request.param
    monkeypatch.undo()
    grammar._parser.cache_clear()


@pytest.mark.usefixtures("missing")
@pytest.mark.parametrize("guard", [CommandGuard, PathGuard])
def test_a_guard_without_its_extra_cannot_be_made(guard: type[CommandGuard | PathGuard]) -> None:
    with pytest.raises(ImportError, match=MEND) as raised:
        guard()

    assert raised.value.__suppress_context__  # no traceback of a library that the reader never asked for


@pytest.mark.usefixtures("missing")
@pytest.mark.parametrize("name", ["command-guard", "path-guard"])
def test_a_declared_guard_without_its_extra_is_a_fault_at_load(name: str) -> None:
    with pytest.raises(DeclarationError, match=MEND) as raised:
        build(Declaration(on=Moment.PRE_TOOL_USE, use=name))

    assert raised.value.path == "use"


def test_a_guard_that_was_made_reads_with_the_extra() -> None:
    assert isinstance(build(Declaration(on=Moment.PRE_TOOL_USE, use="command-guard")), CommandGuard)
