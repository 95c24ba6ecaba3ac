"""Real gateways that are always started again, as an init system does it, each at an address that stays.

A call can only be held against a gateway that was up all the while: `undisturbed` tells whether it was.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import httpx2

from tests.durability.gateway_process import free_port
from tests.fixtures import forked
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.fixtures.forked import Forked

_STARTS_WITHIN = 60


class Replica:
    """One gateway, in one process after the other."""

    def __init__(self, name: str, environ: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.up = asyncio.Event()
        self.starts = 0
        self.fell: list[str] = []
        """What it said when it ended although nobody had ended it."""
        self._environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
            "ASSENT_TICK": "PT0.2S",
            "ASSENT_POLL": "PT0.5S",
            **environ,
        }
        self._folder = folder
        self._process: Forked | None = None
        self._changes = 0
        self._ended_by_us = False

    def knows(self, environ: Mapping[str, str]) -> None:
        """Give it the secrets of the channels."""
        self._environ |= environ

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep it running; it is up first."""
        serving = asyncio.ensure_future(self._serve())
        try:
            await asyncio.wait_for(self.up.wait(), _STARTS_WITHIN)
            yield
        except TimeoutError:
            raise AssertionError(self._log().read_text()) from None
        finally:
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving

    def _log(self) -> Path:
        return self._folder / f"{self.name}-{self.starts}.log"

    async def _serve(self) -> None:
        try:
            while True:
                await self._once()
                await asyncio.sleep(0.1)
        finally:
            if self._process is not None:
                self._process.kill()

    async def _once(self) -> None:
        self.starts += 1
        log = self._log()
        words = ("app.cli.main", "serve", "-c", str(self._folder / "assent.yaml"), "--port", str(self.port))
        with log.open("wb") as out:
            self._process = forked.start(*words, env=self._environ, stdout=out, stderr=out, cwd=self._folder)
        self._ended_by_us = False
        answers = asyncio.ensure_future(self._answers())
        try:
            await self._process.ended()
        finally:
            was_up = self.up.is_set()
            answers.cancel()
            self._changed(up=False)
        if was_up and not self._ended_by_us:  # one that could not start is another matter: it says so and tries again
            self.fell.append(f"{log.name}: {log.read_text()[-2000:]}")

    async def _answers(self) -> None:
        """Ask until it answers at all: whether it is ready is another question."""
        async with httpx2.AsyncClient(base_url=self.address, timeout=2, trust_env=False) as client:
            while True:
                if await self._is_there(client):
                    self._changed(up=True)
                    return
                await asyncio.sleep(0.05)

    async def _is_there(self, client: httpx2.AsyncClient) -> bool:
        with suppress(httpx2.HTTPError):
            return (await client.get("/healthz")).status_code == 200
        return False

    def _changed(self, *, up: bool) -> None:
        self._changes += 1
        if up:
            self.up.set()
        else:
            self.up.clear()

    def moment(self) -> int | None:
        """Return a mark of now, for `undisturbed`; None while it is down or frozen."""
        return self._changes if self.up.is_set() else None

    def undisturbed(self, since: int | None) -> bool:
        """Whether it was up then, and has been all the while."""
        return since is not None and since == self._changes

    async def restarted(self) -> None:
        """Ask it to stop, and wait until the next one answers."""
        starts = self.starts
        self.terminate()
        while self.starts == starts or not self.up.is_set():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to stop."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        self._ended_by_us = True
        self._changed(up=False)
        if self._process is not None:
            self._process.send_signal(number)

    async def freeze(self, seconds: float) -> None:
        """Stop it where it stands for a while."""
        process = self._process
        if process is None or not self.up.is_set():
            return
        self._changed(up=False)
        process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            process.send_signal(signal.SIGCONT)
        if process is self._process and process.returncode is None and not self._ended_by_us:
            await self._answers()
