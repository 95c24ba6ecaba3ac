"""A client in another language before both proxies: the official TypeScript SDK of MCP, in both of its eras."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.frameworks.programs.table import INSTALL_WITHIN, MCP_CLIENT
from tests.places import ROOT
from tests.requirements import requirement
from tests.sdk.conftest import gateway  # noqa: F401 - a fixture
from tests.sdk.proxy.line import ProxyLine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

pytestmark = [pytest.mark.process, pytest.mark.agents, pytest.mark.timeout(420)]

FOLDER = ROOT / ".cache" / "mcp-client"
BANK = ROOT / "tests" / "sdk" / "proxy" / "bank_server.py"
CLIENT = ROOT / "tests" / "frameworks" / "programs" / "mcp_client.mjs"
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@pytest.fixture(scope="module")
def node() -> str:
    """Where the program is; the client is installed on first use, and skipped with the reason where that cannot be."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found is None or npm is None:
        pytest.skip("node or npm is not installed, so the client cannot be")
    if not (FOLDER / "node_modules" / "@modelcontextprotocol" / "client").exists():
        words = [npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel", "error"]
        words += ["--prefix", str(FOLDER), MCP_CLIENT]
        done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_WITHIN, check=False)
        if done.returncode:
            pytest.skip(f"{MCP_CLIENT} cannot be installed: {done.stderr[-300:]}")
    return found


@contextmanager
def over_http(line: ProxyLine, ledger: Path) -> Iterator[dict[str, Any]]:
    """A bank that listens, and the proxy that listens before it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    bank = subprocess.Popen([sys.executable, str(BANK), str(ledger), str(port)])
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)
    words = line.words("--upstream", f"http://127.0.0.1:{port}/mcp", "--listen", "127.0.0.1:0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as proxy:
        assert proxy.stderr is not None
        found = re.search(r"http://\S+", proxy.stderr.readline())
        assert found
        try:
            yield {"url": found[0], "words": []}
        finally:
            proxy.terminate()
            bank.kill()
            bank.wait()


@contextmanager
def over_stdio(line: ProxyLine, ledger: Path) -> Iterator[dict[str, Any]]:
    """The words with which a client starts the proxy and the bank behind it."""
    yield {"url": None, "words": line.words("--", sys.executable, str(BANK), str(ledger))}


@requirement("S-01", "S-08")
@pytest.mark.parametrize(
    ("way", "era"),
    [(way, era) for way in (over_http, over_stdio) for era in ERAS],
    ids=lambda each: getattr(each, "__name__", each),
)
@pytest.mark.parametrize("verdict", ["approved", "denied"])
def test_what_the_server_asks_back_reaches_its_client_and_people_are_asked_once(
    *,
    way: Any,
    era: str,
    verdict: str,
    node: str,
    gateway: StubGateway,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    gateway.one_call = True
    ledger = tmp_path / "ledger"
    ledger.touch()
    with way(ProxyLine(url=gateway.url, folder=tmp_path), ledger) as line:
        told = {"modules": str(FOLDER / "node_modules"), "mode": era, "tool": "pay_for", "arguments": {"payee": "ACME"}}
        words = [node, str(CLIENT), json.dumps({**told, **line})]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            gateway.arrived("check", within=120)
            assert ledger.read_text() == ""
            gateway.decide(gateway.only.id, verdict, reason="not this week")
            out, log = client.communicate(timeout=120)
        assert client.returncode == 0, log
        said = json.loads(out)
        assert said["version"] == ERAS[era]
        assert len(said["tools"]) == 6
        text = said["result"]["content"][0]["text"]
        if verdict == "denied":
            assert (said["asked"], said["result"]["isError"]) == (0, True)
            assert 'Reason given: "not this week"' in text
            assert ledger.read_text() == ""
            return
        assert (said["asked"], text) == (1, "paid for rent")
        assert ledger.read_text().splitlines() == ["pay_for ACME rent"]
        gateway.arrived("outcome")
    assert gateway.only.state == "succeeded"  # and `only`: it was asked about once, in however many rounds
