"""`deploy/assent.service`: what systemd says of it, and what it starts, run as it would be. No systemd ran it here."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from app.serve import STOPS_WITHIN
from tests.deploy.programs import needs, place_of
from tests.fixtures.gateway import SECRET
from tests.fixtures.patience import HANGS
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

UNIT = ROOT / "deploy/assent.service"
INSTALLED = "/opt/assent/bin/assent"
OURS = Path(sys.executable).with_name("assent")
OPERATIONS_TOKEN = "of-the-operators-0123456789abcdef0"
MOST_EXPOSED = 1.5  # newer ones of systemd count more things than the 252 of the page

# What MemoryDenyWriteExecute=yes does (prctl PR_SET_MDWE; kernels before 6.3 have none), and then the command.
DENIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"


def directives(unit: str) -> Iterator[tuple[str, str]]:
    yield from re.findall(r"^([A-Za-z]+)=(.*)$", unit, re.MULTILINE)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Write the unit with a program that is there."""
    place = tmp_path / "assent.service"
    place.write_text(UNIT.read_text(encoding="utf-8").replace(INSTALLED, str(OURS)))
    return place


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [place_of("systemd-analyze"), "--no-pager", *words], capture_output=True, text=True, check=False, timeout=HANGS
    )


@pytest.mark.process
@needs("systemd-analyze")
def test_systemd_understands_every_line_of_it(unit: Path) -> None:
    sound = analyze("verify", str(unit))
    assert (sound.returncode, sound.stderr) == (0, "")
    unit.write_text(unit.read_text().replace("ProtectHome=", "ProtectHouse="))
    assert "ProtectHouse" in analyze("verify", str(unit)).stderr


@pytest.mark.process
@needs("systemd-analyze")
def test_it_is_exposed_no_more_than_the_page_says(unit: Path) -> None:
    done = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED * 10:.0f}", str(unit))
    assert done.returncode == 0, done.stdout[-200:]
    said = re.search(r"Overall exposure level for assent\.service: (\S+)", done.stdout)
    assert said
    assert float(said[1]) <= MOST_EXPOSED
    assert f"the tests allow {MOST_EXPOSED}" in (ROOT / "docs/installing.md").read_text(encoding="utf-8")


@pytest.mark.process
async def test_what_it_starts_serves_with_the_secret_that_it_is_lent_and_ends_in_its_time(tmp_path: Path) -> None:
    said = list(directives(UNIT.read_text(encoding="utf-8")))
    lent = [value.partition(":") for key, value in said if key == "LoadCredential"]
    secrets = {"ASSENT_SECRET": SECRET, "ASSENT_OPERATIONS_TOKEN": OPERATIONS_TOKEN}
    assert {name: path for name, _, path in lent} == {name: f"/etc/assent/secrets/{name}" for name in secrets}
    (tmp_path / "credentials").mkdir()
    for name, secret in secrets.items():
        (tmp_path / "credentials" / name).write_text(f"{secret}\n")
    (tmp_path / "assent").mkdir()
    (tmp_path / "assent.yaml").write_text("org: acme\ndefault: deny\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    specifiers = {"%d": f"{tmp_path}/credentials", "%S": str(tmp_path), "8080": str(port)}
    told = dict[str, str]()
    for value in (value for key, value in said if key == "Environment"):
        for short, meant in specifiers.items():
            value = value.replace(short, meant)  # noqa: PLW2901 - one after the other
        told |= dict(each.split("=", 1) for each in shlex.split(value))
    [command] = [value for key, value in said if key == "ExecStart"]
    words = shlex.split(command.replace(INSTALLED, str(OURS)).replace("/etc/assent", str(tmp_path)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSENT_")}
    confined = [sys.executable, "-c", DENIED, *words]
    process = start(confined, environ=kept | told, folder=tmp_path)
    try:
        async with (
            httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=HANGS) as client,
            asyncio.timeout(HANGS),
        ):
            while not await _is_ready(client):
                assert process.poll() is None, (tmp_path / "log").read_text()
                await asyncio.sleep(0.05)
            assert (await client.get("/metrics")).status_code == 401
            operator = {"authorization": f"Bearer {OPERATIONS_TOKEN}"}
            assert (await client.get("/metrics", headers=operator)).status_code == 200
        process.terminate()
        assert (
            await asyncio.to_thread(process.wait, 120) == -signal.SIGTERM
        )  # it stops, and says then by what it was ended
    finally:
        process.kill()
    assert (tmp_path / "assent/assent.db").exists()
    [bound] = [int(value) for key, value in said if key == "TimeoutStopSec"]
    assert bound > STOPS_WITHIN


def start(words: list[str], *, environ: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "log").open("w") as log:
        return subprocess.Popen(words, env=environ, cwd=folder / "assent", stdout=log, stderr=log)


async def _is_ready(client: httpx2.AsyncClient) -> bool:
    try:
        return (await client.get("/readyz")).status_code == 200
    except httpx2.TransportError:
        return False
