"""What a page shows of Python can be copied: it imports what it uses, from where that is; the executor's page runs."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import assent
from assent.client.gateway import AsyncGateway
from assent.executor.executor import Executor, ToolFailed, ToolSucceeded
from assent.executor.http_tool import HttpTool
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.project.source_tree import syntax
from tests.sdk.real_gateway import RealGateway

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OURS = ("assent", "app", "channels")
OF_READERS = frozenset(
    {
        "agent",
        "bank",
        "call",
        "client",
        "gate",
        "gateway",
        "key",
        "model",
        "more",
        "pay",
        "save",
        "text",
        "tools",
        "url",
    }
)
"""What a reader has: an agent, a model, a tool, an address, a key."""
OF_PROGRAMS = OF_READERS | {"os", "Agent", "App", "ClaudeAgentOptions", "InMemorySaver", "create_agent"}
"""What a program on a framework has besides: its page's five lines go into one, and lead to a whole one that runs."""


def blocks() -> Iterator[Any]:
    for page in PAGES:
        known = OF_PROGRAMS if page.name.startswith("README.") or page.parent.name == "frameworks" else OF_READERS
        for number, found in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")), 1):
            yield pytest.param(found[1], known, id=f"{page.relative_to(ROOT)}-{number}")


def unbound(block: str) -> set[str]:
    """The names that a block uses, and neither makes nor imports."""
    bound, used = set(dir(builtins)), set[str]()
    for node in ast.walk(ast.parse(block)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name.partition(".")[0])
            case ast.MatchAs(name=str(name)) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case _:
                pass
    return used - bound


@cache
def made_in(module: str) -> frozenset[str] | None:
    """The names of one of our modules, which need not be importable here; None: there is no such module."""
    if module == "assent":
        return frozenset(assent.__all__)
    parts = (ROOT / "sdk" if module.startswith("assent.") else ROOT).joinpath(*module.split("."))
    places = (parts.with_suffix(".py"), parts / "__init__.py")
    found = next((place for place in places if place.exists()), None)
    if found is None:
        return None
    names: set[str] = set()
    for node in ast.walk(syntax(found)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case _:
                pass
    return frozenset(names)


def not_there(block: str) -> list[str]:
    """What a block imports of ours, or of the standard library, that is not there."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
        if not is_there(node.module, alias.name)
    ]


def is_there(module: str, name: str) -> bool:
    first = module.partition(".")[0]
    if first in OURS:
        return name in (made_in(module) or ())
    return first not in sys.stdlib_module_names or find_spec(module) is not None


@pytest.mark.parametrize(("block", "known"), list(blocks()))
def test_a_block_of_a_page_imports_what_it_uses_from_where_that_is(block: str, known: frozenset[str]) -> None:
    assert sorted(unbound(block) - known) == []
    assert not_there(block) == []


def test_what_is_not_imported_or_not_there_is_seen() -> None:
    block = "from assent import Executor, Gate\nfrom assent.nowhere import x\nawait_ = Gate(os.environ['A'], HttpTool)"
    assert unbound(block) == {"os", "HttpTool"}
    assert not_there(block) == ["assent.Executor", "assent.nowhere.x"]
    assert not_there("from assent.integrations.langgraph import Approvals, Refusals") == [
        "assent.integrations.langgraph.Refusals"
    ]


# --- docs/executor.md -------------------------------------------------------------------------------------------------

EXECUTOR = BLOCK.findall((ROOT / "docs/executor.md").read_text(encoding="utf-8"))
POLICY = """
org: acme
default: deny
attention: {cool_down: 0s}
people:
  wang@acme.example: {name: Wang}
groups:
  finance: [wang@acme.example]
tools:
  oa__purchase_pay: {enforced: true, result: [receipt]}
rules:
  - {id: paying, tools: [oa__purchase_pay], then: ask, stages: [{of: [finance], need: 1}], channels: [api]}
"""


@pytest.mark.process
def test_the_executor_of_the_page_pays_what_people_approve(tmp_path: Path) -> None:
    with RealGateway(tmp_path, policy=POLICY) as gateway:
        environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "sdk"), "ASSENT_URL": gateway.url}
        environ["ASSENT_KEY"] = gateway.executor_key("oa__purchase_pay")
        executor = subprocess.Popen([sys.executable, "-c", EXECUTOR[0]], cwd=tmp_path, env=environ)
        try:
            call = {"tool": "oa__purchase_pay", "arguments": {"payee": "Acme", "amount": 80}}
            agent = {"Authorization": f"Bearer {gateway.key}"}
            httpx2.post(f"{gateway.url}/v1/requests", json=call, headers=agent, trust_env=False, timeout=HANGS)
            asked = gateway.pending()
            gateway.decide(asked, "approve")
            told = asked
            while told["state"] in {"pending", "approved", "executing"} and executor.poll() is None:
                path = f"/v1/requests/{asked['id']}?wait=10&since={told['version']}"
                told = httpx2.get(gateway.url + path, headers=agent, trust_env=False, timeout=HANGS).json()
        finally:
            executor.terminate()
            executor.wait(HANGS)
    assert told["state"] == "succeeded"
    assert told["execution"]["result"] == {"receipt": "R-0001", "payee": "Acme", "amount": 80}


@pytest.mark.parametrize("block", EXECUTOR[1:], ids=range(len(EXECUTOR) - 1))
async def test_the_banks_of_the_page_are_tools_of_an_executor(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_TOKEN", "t")
    made: dict[str, Any] = {}
    exec(block, made)
    assert isinstance(made["bank"], HttpTool)
    read = made["read_payment"]
    assert read({"status": "paid", "receipt": "R-7"}) == ToolSucceeded(result={"receipt": "R-7"})
    assert isinstance(read({"status": "declined", "reason": "no"}), ToolFailed)
    assert read({"status": "processing"}) is None
    async with AsyncGateway("http://127.0.0.1:1", "ak_x") as gateway:
        made["register"](Executor(gateway, name="payments"))
