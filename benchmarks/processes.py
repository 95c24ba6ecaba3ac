"""The measured processes: a real `assent serve`, and other servers beside it, started, watched and killed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from app.clock import SystemClock
from app.domain.identity.api_key import Scope
from app.domain.identity.seals import Seals
from app.identifiers import RandomIds
from app.storage.make_store import dialect_for, make_store
from app.usecases.reading.keys import Keys
from benchmarks.lean_http import Connection, encode

ROOT = Path(__file__).parent.parent
SECRET = "the-master-secret-of-the-benchmarks-0123456789"
ORG, AGENT, APPROVER = "acme", "bench", "chen@acme.example"
CONFIG = f"""\
org: {ORG}
default: deny
people:
  wang@acme.example: {{name: Wang}}
  {APPROVER}: {{name: Chen}}
groups:
  finance: [{APPROVER}]
tools:
  pay: {{title: "Pay {{payee}} {{amount}} {{currency}}", pin: [payee, amount, currency], sensitive: [bank_account]}}
  read_ledger: {{writes: false}}
rules:
  - {{id: reading, tools: [read_ledger], then: allow, record: false}}
  - {{id: small, tools: [pay], when: 'args.currency == "CNY" && args.amount <= 50000', then: allow}}
  - {{id: large, tools: [pay], then: ask, stages: [{{of: [finance], need: 1}}], channels: [api], timeout: 24h}}
"""
PAY = {"payee": "Acme Ltd", "amount": 80000, "currency": "CNY", "bank_account": "DE02 1203 0000 0000 2020 51"}
_START_WITHIN = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """The texts of an agent's and an approver's key."""

    agent: str
    approver: str


async def make_keys(url: str) -> KeyPair:
    """Make both keys in a migrated database."""
    clock = SystemClock()
    seals = Seals([SECRET])
    store = make_store(dialect_for(url, clock), RandomIds(), seals=seals)
    store.start()
    try:
        keys = Keys(store=store, seals=seals, clock=clock)
        agent = await keys.create(org=ORG, scope=Scope.AGENT, label="bench", agent=AGENT, person="wang@acme.example")
        approver = await keys.create(org=ORG, scope=Scope.APPROVER, label="bench", person=APPROVER)
        return KeyPair(agent=agent.text, approver=approver.text)
    finally:
        await store.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True, kw_only=True)
class Server:
    """A server process on a loopback port. An async context manager; `kill` and `start` also by hand."""

    words: list[str]
    environ: dict[str, str] = field(default_factory=dict[str, str])
    port: int = field(default_factory=_free_port)
    ready: bytes = field(default_factory=lambda: encode("GET", "/readyz"))
    log: Path | None = None
    process: subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self.stop)

    async def start(self) -> None:
        """Start, and return as soon as the readiness route says 200. Raises RuntimeError if it never does."""
        out = self.log.open("ab") if self.log else subprocess.DEVNULL
        words = [word.format(port=self.port) for word in self.words]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ASSENT_")}
        self.process = subprocess.Popen(  # noqa: ASYNC220 - nothing else goes on in this loop meanwhile
            [sys.executable, *words], cwd=ROOT, env={**environ, **self.environ}, stdout=out, stderr=out
        )
        if not isinstance(out, int):
            out.close()
        end = time.monotonic() + _START_WITHIN
        while not await self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                said = self.log.read_text()[-2000:] if self.log and self.log.exists() else ""
                raise RuntimeError(f"{words[:4]} did not start (exit {self.process.poll()}): {said}")
            await asyncio.sleep(0.005)

    async def _answers(self) -> bool:
        try:
            connection = await Connection.open(self.port)
        except OSError:
            return False
        try:
            return (await connection.send(self.ready)).status == 200
        except ConnectionResetError:
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """End it with kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """Ask it to stop; after ten seconds, make it."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.kill()

    def busy(self) -> float:
        """Return the processor time of all its threads until now, in seconds (proc(5), Linux)."""
        assert self.process is not None
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Return the bytes of memory that belong to this process (its proportional share)."""
        assert self.process is not None
        for line in Path(f"/proc/{self.process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("no Pss in smaps_rollup")


@dataclass(slots=True, kw_only=True)
class Gateway(Server):
    """`assent serve` on a migrated database, with keys."""

    url: str
    keys: KeyPair


async def gateway(
    folder: Path, url: str, *, keys: KeyPair | None = None, profile: Path | None = None, rules: str = CONFIG
) -> Gateway:
    """Describe a gateway; it starts when it is entered. `profile`: run under cProfile and leave the figures there."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "assent.yaml"
    config.write_text(rules, encoding="utf-8")
    run = ["-m", "benchmarks.profiled", str(profile)] if profile else ["-m", "app.cli.main"]
    return Gateway(
        words=[*run, "serve", "--config", str(config), "--port", "{port}"],
        environ={
            "ASSENT_SECRET": SECRET,
            "ASSENT_DATABASE_URL": url,
            "ASSENT_CALLS_PER_SECOND": "1000000",
            "ASSENT_MAX_PENDING_PER_AGENT": "10000000",
            "ASSENT_MAX_CARDS_PER_AGENT": "10000000",
        },
        log=folder / "gateway.log",
        url=url,
        keys=keys or await make_keys(url),
    )
