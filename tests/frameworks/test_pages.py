"""Each runtime has its page, in one form; what it gives people to copy is run here, or is a line of what is."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from assent.command.hosts.table import HOSTS
from assent.command.identity import PLACE
from tests.fixtures.patience import HANGS
from tests.frameworks.pages import DOCS, HEADINGS, Page, pages
from tests.frameworks.runtimes import RUNTIMES
from tests.places import ROOT
from tests.requirements import requirement
from tests.sdk.command.payloads import SAMPLES
from tests.sdk.conftest import gateway  # noqa: F401 - a fixture
from tests.sdk.gateway_stub import KEY
from tests.sdk.hook_process import HOOK
from tests.sdk.proxy.test_acp import permission

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

PAGES = {page.path.relative_to(DOCS).as_posix().removesuffix(".md"): page for page in pages()}
MOST_LINES = 5
SHOWN_URL, SHOWN_KEY = "https://assent.acme.example", "ak_…"
BANK = ROOT / "tests/sdk/proxy/bank_server.py"


def to_copy(page: Page, kind: str) -> str:
    """The first block under the first heading."""
    _, _, rest = page.text.partition(f"\n## {HEADINGS[0]}\n")
    found = re.search(r"```(\w+)\n(.*?)```", rest.partition("\n## ")[0], re.DOTALL)
    assert found is not None, "nothing to copy"
    assert found[1] == kind
    return found[2]


# --- the form ---------------------------------------------------------------------------------------------------------


def test_there_is_a_page_for_every_runtime_and_none_besides() -> None:
    written = {path for folder in ("hosts", "frameworks") for path in (DOCS / folder).iterdir()}
    assert written == {page.path for page in PAGES.values()} - {DOCS / "mcp.md", DOCS / "acp.md"}


@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_the_same_headings(name: str) -> None:
    assert tuple(re.findall(r"^## (.+)$", PAGES[name].text, re.MULTILINE)) == HEADINGS
    assert re.search(r"^## [^\n]+\n+(## |\Z)", PAGES[name].text, re.MULTILINE) is None, "a heading without words"


@pytest.mark.parametrize("name", PAGES)
def test_what_it_was_seen_with_is_what_the_suite_knows(name: str) -> None:
    assert PAGES[name].text.endswith(f"\n{PAGES[name].seen}"), "run `python -m tests.frameworks.matrix`"


@pytest.mark.parametrize("name", PAGES)
def test_what_is_to_be_copied_is_short(name: str) -> None:
    _, _, rest = PAGES[name].text.partition(f"\n## {HEADINGS[0]}\n")
    block = rest.split("```")[1].splitlines()[1:]
    assert 0 < len([line for line in block if line]) <= MOST_LINES


@pytest.mark.parametrize(("index", "folder"), [("hosts.md", "hosts"), ("agents.md", "frameworks")])
def test_what_is_said_of_all_leads_to_the_page_of_each(index: str, folder: str) -> None:
    links = set(re.findall(rf"\(({folder}/[\w-]+\.md)\)", (DOCS / index).read_text(encoding="utf-8")))
    assert links == {f"{name}.md" for name in PAGES if name.startswith(f"{folder}/")}


# --- the frameworks: lines of the examples, which the suite runs ------------------------------------------------------


def names_imported(tree: ast.Module) -> set[tuple[str | None, str]]:
    return {
        (node.module, name.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }


def values_of(tree: ast.Module) -> set[str]:
    """What is assigned or returned, as code in one form."""
    return {
        ast.unparse(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.Return) and node.value
    }


def strays(block: str, example: str) -> set[object]:
    """What a block says that its example does not."""
    shown, run = ast.parse(block), ast.parse(example)
    assert all(isinstance(node, ast.ImportFrom | ast.Assign) for node in shown.body), "imports and assignments alone"
    return {*(names_imported(shown) - names_imported(run)), *(values_of(shown) - values_of(run))}


@pytest.mark.parametrize("name", RUNTIMES)
def test_the_lines_of_a_framework_stand_in_the_example_that_its_suite_runs(name: str) -> None:
    block = to_copy(PAGES[f"frameworks/{name.replace('_', '-')}"], "python")
    example = (ROOT / f"examples/frameworks/{name}_clerk.py").read_text(encoding="utf-8")
    assert strays(block, example) == set()
    assert strays(block.replace("gateway", "gatevvay"), example), "another line is seen"


# --- the programs: the lines are run, and then the program's own command is -------------------------------------------


class Home:
    """A user's home, with the commands on the path that the pages name."""

    def __init__(self, gateway: StubGateway, folder: Path, *programs: str) -> None:  # noqa: F811 - not the fixture
        self._gateway = gateway
        self.folder, self._bin = folder / "home", folder / "bin"
        self.folder.mkdir()
        self._bin.mkdir()
        # the hook asks the system for the home, and not the environment: so it is told where the file is
        hook = f"{shlex.quote(sys.executable)} {shlex.quote(str(HOOK))}"
        self._stand_in("assent-hook", f'kind=$1; shift; exec {hook} "$kind" --config "$HOME/{PLACE}" "$@"')
        for program in ("pip", *programs):
            self._stand_in(program, "echo 2.1.327")
        self.environ = {"PATH": f"{self._bin}:/usr/bin:/bin", "HOME": str(self.folder)}

    def _stand_in(self, name: str, does: str) -> None:
        (self._bin / name).write_text(f"#!/bin/sh\n{does}\n")
        (self._bin / name).chmod(0o755)

    def types(self, block: str) -> subprocess.CompletedProcess[str]:
        """Type the lines of a block, and say yes to whatever asks."""
        lines = [line.removeprefix("$ ") for line in block.splitlines()]
        text = "\n".join(lines).replace(SHOWN_URL, self._gateway.url).replace(SHOWN_KEY, KEY)
        ours, terminal = os.openpty()
        os.write(ours, b"y\n")
        try:
            return subprocess.run(
                ["bash", "-c", text],
                env=self.environ,
                stdin=terminal,
                capture_output=True,
                text=True,
                timeout=HANGS,
                check=False,
            )
        finally:
            os.close(ours)
            os.close(terminal)

    def identity(self) -> None:
        """What the pages have people write down."""
        place = self.folder / PLACE
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps({"url": self._gateway.url, "key": KEY}))
        place.chmod(0o600)


def command_in(settings: Path, event: str) -> list[str]:
    """How a program starts our hook, by its own settings."""
    text = settings.read_text()
    if settings.suffix == ".js":
        found = re.search(r"^const ask = (\[.*\]);$", text, re.MULTILINE)
        assert found is not None
        return json.loads(found[1])
    entry = json.loads(text)["hooks"][event][0]
    entry = entry["hooks"][0] if "hooks" in entry else entry
    return shlex.split(entry.get("command") or entry["bash"])


@requirement("S-08")
@pytest.mark.process
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.sampled(3)
def test_the_lines_of_a_program_gate_it(name: str, gateway: StubGateway, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    host = HOSTS[name]
    home = Home(gateway, tmp_path, host.program)
    typed = home.types(to_copy(PAGES[f"hosts/{name}"], "console"))
    faults = re.findall(r"^fault: (.*)$", typed.stdout, re.MULTILINE)
    assert [fault for fault in faults if not (host.trust and host.trust in fault)] == [], typed.stderr
    assert len(faults) == bool(host.trust), "what its page has people do at its own terminal"
    sample = next(each for each in SAMPLES if each.host == name and not each.kind)
    gateway.rules[sample.tool] = "deny"
    said = subprocess.run(
        command_in(home.folder / host.place.file, host.gate),
        env=home.environ,
        input=json.dumps(sample.raw).encode(),
        capture_output=True,
        timeout=HANGS,
        check=False,
    )
    assert b"told to deny" in said.stdout
    assert gateway.count("check") == 1


# --- the protocols ----------------------------------------------------------------------------------------------------


def words_of(page: Page, member: str) -> list[str]:
    """The command of the page's configuration, as far as what it starts behind it."""
    (entry,) = json.loads(to_copy(page, "json"))[member].values()
    words = [entry["command"], *entry["args"]]
    return words[: words.index("--") + 1]


@requirement("S-08")
@pytest.mark.process
@pytest.mark.may_block
async def test_the_lines_of_an_mcp_server_gate_it(gateway: StubGateway, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    gateway.one_call = True
    gateway.rules["mcp__github__pay"] = "deny"
    ledger = tmp_path / "ledger"
    ledger.touch()
    home = Home(gateway, tmp_path)
    home.identity()
    command, *args = [*words_of(PAGES["mcp"], "mcpServers"), sys.executable, str(BANK), str(ledger)]
    async with Client(
        StdioServerParameters(command=f"{tmp_path}/bin/{command}", args=args, env=home.environ)
    ) as client:
        result: Any = await client.call_tool("pay", {"payee": "ACME", "amount": 5})
    assert result.is_error
    assert "told to deny" in result.content[0].text
    assert ledger.read_text() == ""


@requirement("S-08")
@pytest.mark.process
@pytest.mark.may_block
async def test_the_lines_of_an_acp_agent_gate_it(gateway: StubGateway, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    gateway.one_call = True
    gateway.rules["acp__gemini__execute"] = "deny"
    home = Home(gateway, tmp_path)
    home.identity()
    agent = f"import sys; print({json.dumps(permission())!r}, flush=True); sys.stderr.write(sys.stdin.readline())"
    command, *args = [*words_of(PAGES["acp"], "agent_servers"), sys.executable, "-c", agent]
    process = await asyncio.create_subprocess_exec(
        f"{tmp_path}/bin/{command}",
        *args,
        env=home.environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    told = json.loads(await asyncio.wait_for(process.stderr.readline(), 30))
    await asyncio.wait_for(process.communicate(), 30)
    assert told["result"]["outcome"] == {"outcome": "selected", "optionId": "3"}
