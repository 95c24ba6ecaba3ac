"""Importing a module does nothing, and the pure and the light packages import next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from migrations import run
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.project.source_tree import imported_packages, module_name, python_files, shown, syntax

if TYPE_CHECKING:
    from pathlib import Path

# The files that hold a platform's SDK; everything else must be importable without loading one, or what pages take.
SDK_HOMES = ("client.py", "listener.py")
SDKS = ("lark_oapi", "slack_sdk", "jinja2", "webauthn", "joserfc", "segno")

# Runs in a process of its own. Reads of the environment count only when our own code makes them.
PROBE = r"""
import importlib, json, os, sys, threading

root, sdks, names = json.loads(sys.argv[1])
ours = tuple(os.path.join(root, folder) + os.sep for folder in ("app", "channels", "sdk"))
effects, current = [], ""
ENVIRONMENT = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")

def our_frame():
    frame = sys._getframe(2)
    while frame and os.path.basename(frame.f_code.co_filename) in ENVIRONMENT:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(ours)

real_read = os._Environ.__getitem__
def watched_read(self, key):
    if our_frame():
        effects.append([current, "reads the environment", str(key)])
    return real_read(self, key)
os._Environ.__getitem__ = watched_read

DOINGS = (
    "socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen",
    "os.system", "os.mkdir", "sqlite3.connect",
)
def watch(event, args):
    if event in DOINGS:
        effects.append([current, event, ""])
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        effects.append([current, "writes a file", str(args[0])])
sys.addaudithook(watch)

for current in names:
    importlib.import_module(current)
effects += [[current, "starts a thread", t.name] for t in threading.enumerate() if t is not threading.main_thread()]
effects += [["", "loads", sdk] for sdk in sdks if sdk in sys.modules]
print(json.dumps(effects))
"""


def effects_of_importing(names: list[str], root: str) -> list[Any]:
    """Import modules in a fresh process and return what that did besides: (module, effect, detail)."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", PROBE, json.dumps([root, SDKS, names])],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, f"{root}/sdk"])},
        cwd=root,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.process
@pytest.mark.parametrize("folder", ["app", "channels", "sdk/assent"])
def test_importing_has_no_effect(folder: str) -> None:
    names = [module_name(path) for path in python_files(folder) if path.name not in SDK_HOMES]
    names = [name for name in names if not name.startswith("assent.integrations.")]  # their frameworks are not in .venv

    assert names
    assert effects_of_importing(names, str(ROOT)) == []


@pytest.mark.process
def test_the_probe_sees_effects(tmp_path: Any) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text(
        "import os, slack_sdk, sqlite3\nos.environ.get('HOME')\n"
        "sqlite3.connect(':memory:').close()\nopen('left', 'w').close()\n"
    )

    effects = effects_of_importing(["app"], str(tmp_path))

    assert [effect for _, effect, _ in effects] == [
        "reads the environment",
        "sqlite3.connect",
        "writes a file",
        "loads",
    ]


_OF_THE_SDK = {
    "assent",
    "h11",
    "httpx2",
    "anyio",
    "tree_sitter",
    "tree_sitter_bash",
    "limits",
    "e2b",
    "daytona",
    "yaml",
}
_ADAPTERS = {
    "agent_framework": {"agent_framework"},
    "claude_agent_sdk": {"claude_agent_sdk"},
    "crewai": {"crewai", "pydantic"},
    "google_adk": {"google"},
    "langgraph": {"langchain", "langchain_core", "langgraph"},
    "openai_agents": {"agents"},
    "pydantic_ai": {"pydantic_ai", "pydantic_core"},
}
"""What the adapters import, each its own framework alone."""
_OF_OTHER_PYTHONS = {"_sha256", "_sha2"}  # what hashlib stands on, before and from 3.12 on


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("app/domain", {"app", "cel", "cryptography", "jsonschema", "msgspec", "pyotp", "referencing", "rfc8785"}),
        ("sdk/assent", _OF_THE_SDK),
    ],
)
def test_the_pure_and_the_light_import_only_what_they_may(folder: str, allowed: set[str]) -> None:
    strays = {
        f"{shown(path)}:{line} {package}"
        for path in python_files(folder)
        for line, package in imported_packages(syntax(path))
        if package not in allowed | _OF_OTHER_PYTHONS | set(sys.stdlib_module_names)
        if path.parent.name != "integrations" or package not in _ADAPTERS.get(path.stem, set())
    }

    assert not strays


def test_the_domain_does_no_io_and_has_no_clock() -> None:
    impure = {"asyncio", "logging", "os", "pathlib", "random", "socket", "sqlite3", "subprocess", "threading", "time"}
    strays = {
        f"{shown(path)}:{line} {package}"
        for path in python_files("app/domain")
        for line, package in imported_packages(syntax(path))
        if package in impure
    }

    assert not strays


# What nothing loads until somebody needs it: a start would wait for it, and every gateway would keep it in memory.
LATER = (
    *SDKS,
    "alembic",
    "click",  # of uvicorn's own command line; typer brings its own
    "fastapi",
    "httpx2",
    "opentelemetry",
    "psycopg",
    "pygments",
    "rich",
    "sse_starlette",
    "tree_sitter",
)
LATER_OF_OURS = (
    "app.console",
    "app.storage.retention.removals",
    "app.usecases.console",
    "app.usecases.signing_in.passkeys",
)
MODULES_OF_A_START = 1_196
"""Modules in memory when a gateway on a SQLite file is ready: counted, for each costs a start some 0.5 ms.

(Once up by one: how long what was read is believed is a module that three share. Once by three: how a list of values
goes over to a database is said once, in a word of our own to SQLAlchemy, which has a module for such words.)
"""

START = r"""
import asyncio, importlib.metadata, json, os, sys
from pathlib import Path

looks, distributions = [], importlib.metadata.distributions
def looked(**sought):
    if "name" not in sought:
        looks.append(sys._getframe(2).f_globals.get("__name__"))
    return distributions(**sought)
importlib.metadata.distributions = looked

import app.cli.main
from app.lean_imports import begin_lean
begin_lean()
from app.cli.beside_database import check_schema, read_settings, refuse_faults
from app.cli.greeting import Greeting
from app.container import Container
from app.main import create_app
from app.serve import hold_database, refuse_restored, run_server

settings, config = read_settings(), Path(sys.argv[1])
refuse_faults(config)
check_schema(settings.database_url, migrate_first=False, writes=True)
asyncio.run(refuse_restored(settings))

async def start():
    container = Container(settings, config, dict(os.environ))
    create_app(container)
    async with container:
        print(json.dumps([sorted(sys.modules), looks]))

asyncio.run(start())
"""


@pytest.mark.process
def test_a_start_loads_what_it_needs_and_nothing_else(tmp_path: Path) -> None:
    """Modules are counted: seconds would tell of the machine."""
    url = f"sqlite:///{tmp_path / 'assent.db'}"
    run.upgrade(url)
    (tmp_path / "assent.yaml").write_text(
        "org: acme\ndefault: ask\npeople: {ann@acme.example: {}}\ngroups: {all: [ann@acme.example]}\n"
        "ask: {stages: [{of: [all]}], channels: [api]}\ntools: {pay: {}}\n"
        "rules: [{id: r, tools: [pay], when: 'args.amount < 5', then: allow}]\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", START, str(tmp_path / "assent.yaml")],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
            "ASSENT_DATABASE_URL": url,
            "ASSENT_SECRET": "of-a-test-and-of-nothing-else-0123456789",
            "ASSENT_PUBLIC_URL": "http://127.0.0.1",
        },
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    loaded, looks = json.loads(done.stdout.splitlines()[-1])
    assert sorted({name.partition(".")[0] for name in loaded} & set(LATER)) == []
    assert set(LATER_OF_OURS).isdisjoint(loaded)
    assert looks == []  # through all that is installed: each takes longer than most of our packages
    assert len(loaded) <= MODULES_OF_A_START, len(loaded)
