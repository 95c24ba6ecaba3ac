"""Whoever waits for an answer is killed and asks again: the same request, one card, and the decision that stands."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.requirements import requirement
from tests.sdk.hook_process import HookLine, event, finish
from tests.storage.rig import look

if TYPE_CHECKING:
    from pathlib import Path

    from tests.durability.gateway_process import Gateway

pytestmark = pytest.mark.process

PAY = {"payee": "Acme", "amount": 80000}
MOMENTS = ("asked", "waiting", "told")
"""When the caller dies: its request is there (it may not know yet), it is held, the decision fell and it has not moved.

Up to `waiting`, the decision falls while it is dead, or when it has asked again.
"""
QUICK, BOUNDED, WHOLE = 3, 10, 200


class Hook:
    """`assent-hook`, as a coding agent starts it for a call; when that agent comes back, the call has another id."""

    frozen = "approve"
    """What it hears if it stood still, alive, when it was approved, and was killed then: nothing was taken for it."""
    # A call that was denied is a new question when it comes under another id: only what still stands is joined.
    cases = (
        ("asked", "approve", True),
        ("waiting", "deny", False),
        ("told", "approve", True),
        ("waiting", "approve", True),
        ("asked", "deny", False),
    )

    def __init__(self, url: str, key: str, folder: Path) -> None:
        self._line = HookLine(url=url, key=key, folder=folder)
        self._calls = 0

    def start(self, session: str) -> subprocess.Popen[bytes]:
        self._calls += 1
        return self._line.begin(event(session=session, tool="pay", call_id=f"toolu_{self._calls}", arguments=PAY))

    @staticmethod
    def heard(process: subprocess.Popen[bytes]) -> str:
        return {"allow": "approve", "deny": "deny"}[finish(process).decision]


AGENT = """
import sys
from assent import Gateway, NotApprovedError, guarded

url, key, session = sys.argv[1:]
with Gateway(url, key, session=session) as gateway:
    @guarded(gateway, tool="pay", call_id=f"call-{session}")
    def pay(payee, amount):
        return "approve"
    try:
        print(pay(payee="Acme", amount=80000))
    except NotApprovedError as refused:
        print("deny" if refused.code == "denied" else refused.code)
"""


class Agent:
    """A process with a guarded function, whose model repeats its call under the id that it had."""

    frozen = "outcome_unknown"
    """It is held with its claim, and whoever stands still has not gone: nobody knows what it did, or does it again."""
    cases = (
        ("asked", "deny", True),
        ("waiting", "approve", True),
        ("told", "deny", True),
        ("told", "approve", True),
        ("waiting", "deny", False),
    )

    def __init__(self, url: str, key: str, folder: Path) -> None:
        self._words = [sys.executable, "-c", AGENT, url, key]
        self._folder = folder

    def start(self, session: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._words, session],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{ROOT / 'sdk'}"},
        )

    @staticmethod
    def heard(process: subprocess.Popen[bytes]) -> str:
        try:
            said, trouble = process.communicate(timeout=HANGS)
        finally:
            process.kill()
        return said.decode().strip() or trouble.decode()


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A gateway, and what can be seen of it from outside."""

    gateway: Gateway
    url: str

    def requests(self, session: str) -> list[dict[str, Any]]:
        rows = look(self.url, f"SELECT id, digest, state FROM requests WHERE session = '{session}'")
        return [{"id": row[0], "digest": row[1], "state": row[2]} for row in rows]

    def posted(self, request: dict[str, Any]) -> bool:
        where = f"kind = 'card.posted' AND request_id = '{request['id']}'"
        return bool(look(self.url, f"SELECT 1 FROM audit_events WHERE {where}"))

    async def figure(self, name: str) -> float:
        text = (await self.gateway.call("payer", "GET", "/metrics")).text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    async def reaches(self, name: str, least: float, *, most: float = float("inf")) -> None:
        """Look until a figure is so: what it counts happens in another process."""
        async with asyncio.timeout(20):
            while not least <= await self.figure(name) <= most:  # noqa: ASYNC110 - no event comes from another process
                await asyncio.sleep(0.02)


@requirement("F-07")
@pytest.mark.parametrize("caller", [Hook, Agent], ids=["hook", "agent"])
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(QUICK, marks=pytest.mark.timeout(120)),
        pytest.param(WHOLE, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_a_killed_caller_that_asks_again_finds_its_request_and_its_answer(
    sqlite_url: str, tmp_path: Path, caller: type[Hook | Agent], rounds: int, *, bounded: bool
) -> None:
    async with scene(sqlite_url, tmp_path, "slack") as made, made.gateway() as gateway:
        assert made.slack is not None
        watched = Watched(gateway=gateway, url=sqlite_url)
        waits = caller(gateway.address, made.keys["payer"], tmp_path)
        many = min(rounds, BOUNDED) if bounded else rounds
        for index in range(many):
            moment, verdict, while_dead = caller.cases[index % len(caller.cases)]
            await _killed_and_back(waits, watched, f"s-{index}", moment, verdict, while_dead=while_dead)
        assert len(made.slack.calls("chat.postMessage")) == many
    assert faults(sqlite_url) == []


async def _killed_and_back(
    waits: Hook | Agent, watched: Watched, session: str, moment: str, verdict: str, *, while_dead: bool
) -> None:
    held = "assent_waiting_calls"
    await watched.reaches(held, 0, most=0)
    process = waits.start(session)
    await until("it has asked", lambda: watched.requests(session))
    if moment != "asked":
        await watched.reaches(held, 1)
    [request] = watched.requests(session)
    if moment == "told":
        process.send_signal(signal.SIGSTOP)
        await until("its card is out", lambda: watched.posted(request))
        await _decide(watched, request, verdict)
    process.kill()
    assert process.communicate(timeout=HANGS)[0] == b""
    await until("its card is out", lambda: watched.posted(request))
    if while_dead and moment != "told":
        await _decide(watched, request, verdict)
    before = await watched.figure(held)
    again = waits.start(session)
    if not while_dead:
        await watched.reaches(held, before + 1)
        await _decide(watched, request, verdict)
    heard = await asyncio.to_thread(waits.heard, again)
    # Killed right behind the decision, it is either gone by the time of the claim or was claimed for: nobody can say.
    claimed = {waits.frozen} if (moment, verdict) == ("told", "approve") else set[str]()
    assert heard in {verdict} | claimed, (session, moment)
    assert [each["id"] for each in watched.requests(session)] == [request["id"]], (session, moment)


async def _decide(watched: Watched, request: dict[str, Any], verdict: str) -> None:
    assert (await watched.gateway.decide("ann", request, verdict)).status_code == 200
