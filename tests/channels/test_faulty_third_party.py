"""An installed package that fails or hangs: the commands name its channel and end, and the gateway serves and stops."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.channels.test_third_party import Office
from tests.durability.gateway_process import free_port
from tests.fixtures import forked
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fixtures.forked import Forked

pytestmark = pytest.mark.process

SECRET = "tok-0123456789"
FAILS = f'raise KeyError("{SECRET}")'
HOLDS = """\
import asyncio
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass
"""
STOPS_WITHIN = 15.0
METHODS = {
    "examine": "    async def examine(self) -> list[Finding]:\n",
    "look_up": "    async def look_up(self, *, email: str, account_id: str) -> Account | None:\n",
    "warm_up": "    async def warm_up(self) -> None:\n",
    "close": "    async def close(self) -> None:\n",
    "build": "def build(name: str, settings: PaperSettings) -> PaperChannel:\n",
}


@pytest.fixture
def office(tmp_path: Path) -> Office:
    made = Office(tmp_path)
    (tmp_path / "people.json").write_text('[{"id": "p1", "email": "alice@example.com", "status": "active"}]')
    return made


def spoil(office: Office, method: str, does: str) -> None:
    """Let a method of the package do this, first of all; what hangs is given up after half a second."""
    text, head = office.channel.read_text(), METHODS[method]
    assert head in text
    inside = "    " if method == "build" else "        "
    text = text.replace(head, f"{head}{inside}{does}\n")
    office.channel.write_text(f"{text}\n\nfrom app.bulkhead.bulkhead import BOUNDS\n\nBOUNDS[{method!r}] = 0.5\n")


@pytest.mark.parametrize(
    ("method", "does", "said"),
    [
        ("examine", FAILS, "desk: its package failed in examine: KeyError (assent_paper/channel.py:"),
        ("examine", HOLDS, "desk: its package did not come back from examine"),
        (
            "look_up",
            FAILS,
            "desk: alice@example.com cannot be looked up, and so cannot decide here: its package",
        ),
        ("look_up", HOLDS, "desk: its package did not come back from look_up"),
        ("build", FAILS, "desk: it cannot be built: the package assent_paper failed in build: KeyError"),
    ],
)
def test_the_doctor_names_a_channel_whose_package_fails_and_ends(
    office: Office, method: str, does: str, said: str
) -> None:
    spoil(office, method, does)
    ran = office.assent("doctor")
    assert ran.returncode == 1
    assert f"ERROR    {said}" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr
    assert SECRET not in ran.stdout + ran.stderr


class Serving:
    """A gateway with the package, and its log."""

    def __init__(self, office: Office) -> None:
        self._port = free_port()
        self._log = office.folder / "gateway.log"
        assert office.assent("migrate").returncode == 0
        with self._log.open("wb") as out:
            words = ("serve", "--port", str(self._port))
            environ = office._environ()
            self.process: Forked = forked.start(
                "app.cli.main", *words, env=environ, stdout=out, stderr=out, cwd=office.folder
            )

    @property
    def log(self) -> str:
        """What it has said."""
        return self._log.read_text()

    def wait(self, what: str) -> None:
        """Wait until it answers, and has said something."""
        end = time.monotonic() + HANGS
        while time.monotonic() < end and self.process.returncode is None:
            try:
                ready = httpx2.get(f"http://127.0.0.1:{self._port}/readyz", trust_env=False).status_code == 200
            except httpx2.HTTPError:
                ready = False
            if ready and what in self.log:
                return
            time.sleep(0.05)
        raise AssertionError(self.log)


@pytest.fixture
def serve(office: Office) -> Iterator[list[Serving]]:
    started: list[Serving] = []
    yield started
    for each in started:
        each.process.kill()


@pytest.mark.parametrize(
    ("method", "event", "why"),
    [
        ("build", "channel.unbuilt", "the package assent_paper failed in build: KeyError"),
        ("warm_up", "channel.cold", "its package failed in warm_up: KeyError"),
        ("look_up", "account.unconfirmed", "its package failed in look_up: KeyError"),
    ],
)
def test_a_gateway_serves_beside_a_package_that_fails_and_names_it(
    office: Office, serve: list[Serving], method: str, event: str, why: str
) -> None:
    spoil(office, method, FAILS)
    serve.append(running := Serving(office))
    running.wait(event)
    [line] = [each for each in running.log.splitlines() if event in each]
    assert "desk" in line
    assert why in line
    assert SECRET not in running.log
    assert "worker.failed" not in running.log
    running.process.terminate()
    assert running.process.wait(STOPS_WITHIN) == -signal.SIGTERM


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("method", ["warm_up", "look_up", "close"])
def test_a_gateway_stops_although_a_package_does_not(
    office: Office, serve: list[Serving], method: str, how: signal.Signals
) -> None:
    spoil(office, method, HOLDS)
    serve.append(running := Serving(office))
    running.wait("gateway.ready")
    if method == "look_up":
        running.wait("did not come back from look_up")
    running.process.send_signal(how)
    running.process.wait(STOPS_WITHIN)
    assert running.process.returncode in {-signal.SIGTERM, -signal.SIGINT, 1, 130}
    assert "Traceback" not in running.log
