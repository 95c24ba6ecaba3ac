"""Which of our files one call passes, from its arrival to its answer: `python -m tests.project.traced [claim …]`.

A gateway runs in this process on a SQLite file; a profile function writes down every function of `app/`, `channels/`
and `sdk/` that is entered for the call, in its own task and on the store's threads. What goes on beside the call (a
worker that posts its card, a loop) is not counted: it runs in other tasks, and is not nudged meanwhile. Everything is
warm, and the clock has moved on by a second, so that whatever is believed for half a second is looked up again.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from msgspec.structs import asdict

from app.storage.engine.lane import Lane
from channels import registry
from migrations import run
from tests.fixtures.gateway import ACME, GLOBEX, PAY, ManualClock, open_gateway
from tests.fixtures.memory_platform import MemoryPlatform, memory_spec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence
    from types import FrameType

    from app.storage.engine.answers import Job
    from tests.fixtures.gateway import Gateway

ROOT = Path(__file__).parents[2]
OURS = tuple(f"{ROOT / folder}{os.sep}" for folder in ("app", "channels", "sdk"))

_BATCH = Lane._serve_batch.__code__
_SUBMIT = Lane.submit
_followed: ContextVar[bool] = ContextVar("followed", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What one call passed. `entered`: a file each time that the call came into it from another one, in order."""

    entered: tuple[str, ...]

    @property
    def files(self) -> frozenset[str]:
        """Every file, once."""
        return frozenset(self.entered)

    @property
    def moves(self) -> int:
        """How often the call went from one file to another."""
        return len(self.entered) - 1

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages in the order in which they were entered, each as often as it was entered from another."""
        names = [str(PurePosixPath(name).parent) for name in self.entered]
        return tuple(names[:1] + [after for before, after in pairwise(names) if before != after])


class _Recorder:
    """The profile function of every thread; it writes down while it `is_on`."""

    def __init__(self) -> None:
        self.is_on = False
        self._loop_thread = threading.get_ident()
        self._entered: list[str] = []
        self._begun: set[FrameType] = set()
        self._handed_in: set[int] = set()
        self._held: list[tuple[Lane, Job]] = []
        self._lanes = threading.local()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Write down a call of ours; that a coroutine goes on is none."""
        if event == "return" and frame.f_code is _BATCH:
            self._lanes.has_it = False  # what its thread does next is done beside the call, which goes on meanwhile
        if not self.is_on or event != "call" or not frame.f_code.co_filename.startswith(OURS):
            return
        if not self._is_of_the_call(frame):
            return
        if frame in self._begun:
            return
        self._begun.add(frame)  # kept, so that no other frame can be taken for it
        name = frame.f_code.co_filename.removeprefix(f"{ROOT}{os.sep}")
        if not self._entered or self._entered[-1] != name:
            self._entered.append(name)

    def _is_of_the_call(self, frame: FrameType) -> bool:
        """Say whether a function runs in the call's own task, or in a batch of the store with a unit of it."""
        if threading.get_ident() == self._loop_thread:
            return _followed.get()
        if frame.f_code is _BATCH:
            self._lanes.has_it = any(id(job) in self._handed_in for job in frame.f_locals["jobs"])
        return getattr(self._lanes, "has_it", False)

    def hand_in(self, lane: Lane, job: Job) -> None:
        """Do as `Lane.submit` does, and remember which units are the call's own.

        What else wants the store waits until the call is answered: in one batch, nothing would tell them apart.
        """
        if _followed.get():
            self._handed_in.add(id(job))
        elif self.is_on:
            self._held.append((lane, job))
            return
        _SUBMIT(lane, job)

    async def follow(self, call: Awaitable[Any]) -> tuple[Trace, Any]:
        """Await a call and return what it passed, and its answer."""
        token = _followed.set(True)
        self.is_on = True
        try:
            answer = await call
        finally:
            self.is_on = False
            _followed.reset(token)
            for lane, job in self._held:
                _SUBMIT(lane, job)
            self._held.clear()
        trace = Trace(entered=tuple(self._entered))
        self._entered.clear()
        self._begun.clear()
        self._handed_in.clear()
        return trace, answer


@contextmanager
def _profiled() -> Iterator[_Recorder]:
    """Profile this thread, and every thread that begins meanwhile."""
    recorder = _Recorder()
    before = sys.getprofile()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


async def traces(folder: Path) -> dict[str, Trace]:
    """Trace a payment on its way: ``POST``, the ``click`` that approves it, ``wait``, ``claim`` and ``outcome``."""
    url = f"sqlite:///{folder / 'traced.db'}"
    config = folder / "orgs"
    await asyncio.to_thread(_prepare, url, config)
    platform = MemoryPlatform()
    platforms = {**registry.platforms(), "memory": memory_spec(platform)}
    with (
        patch.object(registry, "platforms", lambda: platforms),
        _profiled() as recorder,
        patch.object(Lane, "submit", lambda lane, job: recorder.hand_in(lane, job)),  # noqa: PLW0108 - a bound method is not given the lane
    ):
        async with open_gateway(url, config, platform, clock=ManualClock()) as gateway:
            await _follow_one(gateway, recorder)  # the first of each fills what is kept in memory
            gateway.clock.advance(timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue] - it is a manual one
            return await _follow_one(gateway, recorder)


def _prepare(url: str, config: Path) -> None:
    config.mkdir()
    (config / "acme.yaml").write_text(ACME)
    (config / "globex.yaml").write_text(GLOBEX)
    run.upgrade(url)


async def _follow_one(gateway: Gateway, recorder: _Recorder) -> dict[str, Trace]:
    found: dict[str, Trace] = {}
    for who in ("agent:shop", "alice@acme.example"):
        await gateway.key(who)
    await _at_rest(gateway)
    number = len(gateway.platform.messages)
    arguments = {**PAY, "amount": 80000 + number}
    with patch.object(gateway.container.work, "nudge", lambda: None):
        call = gateway.call("POST", "/v1/requests", {"tool": "pay", "arguments": arguments, "session": "s"})
        found["POST"], said = await recorder.follow(call)
        assert said.status_code == 202, said.text
    request = said.json()["request"]
    await _at_rest(gateway)
    pressed = gateway.platform.press(gateway.card(request), "U_ALICE", "approve")
    with patch.object(gateway.container.work, "nudge", lambda: None):
        body = json.dumps(asdict(pressed))
        call = gateway.http.post("/v1/channels/chat/callback", content=body, headers={"x-memory": "genuine"})
        found["click"], said = await recorder.follow(call)
        assert said.json()["result"] == "recorded", said.text
    await _at_rest(gateway)
    found["wait"], said = await recorder.follow(gateway.call("GET", f"/v1/requests/{request['id']}?wait=1"))
    assert said.json()["status"] == "approved", said.text
    found["claim"], said = await recorder.follow(gateway.claim(request))
    assert said.status_code == 200, said.text
    found["outcome"], said = await recorder.follow(gateway.report(request))
    assert said.status_code == 200, said.text
    return found


async def _at_rest(gateway: Gateway) -> None:
    """Let the workers finish, and look once more whether there is work: no unit of theirs shares a batch with ours."""
    await gateway.quiet()
    for _ in range(3):
        await gateway.container.store.write(lambda tx: tx.now(), org="acme")


def main(paths: Sequence[str]) -> None:
    """Print what each path passes."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(traces(Path(folder)))
    for name in paths or found:
        trace = found[name]
        told = [f"{name}: {len(trace.files)} files, {trace.moves} moves, {len(trace.packages)} entries of packages"]
        told += [f"  {times:3} {file}" for file, times in Counter(trace.entered).most_common()]
        told += ["  " + " > ".join(trace.packages)]
        sys.stdout.write("\n".join(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
