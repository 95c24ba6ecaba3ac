"""What the machine and the peers do without us, taken in the same run as our figures."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import psycopg

from benchmarks.databases import sqlite_path
from benchmarks.processes import ROOT, Server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

RESTATE = ROOT / ".cache" / "restate" / "node_modules" / ".bin" / "restate-server"
"""Where `make bench` puts Restate's server."""


def floor_server(url: str) -> Server:
    """Describe the bare server of `floor.py`."""
    return Server(words=["-m", "benchmarks.floor", "--url", url, "--port", "{port}"])


async def commits(url: str, *, seconds: float) -> float:
    """Return how many single-row commits one connection does in a second."""
    return await asyncio.to_thread(_commits, url, seconds)


def _commits(url: str, seconds: float) -> float:
    connection: Any = _connect(url)
    mark = "?" if url.startswith("sqlite") else "%s"
    connection.execute("CREATE TABLE IF NOT EXISTS bare (id BIGINT PRIMARY KEY, body TEXT NOT NULL)")
    started, count = time.perf_counter(), 0
    first = time.perf_counter_ns()
    while time.perf_counter() - started < seconds:
        connection.execute(f"INSERT INTO bare VALUES ({mark}, {mark})", (first + count, "x" * 200))
        count += 1
    spent = time.perf_counter() - started
    connection.close()
    return count / spent


def _connect(url: str) -> Any:
    if not url.startswith("sqlite"):
        return psycopg.connect(url, autocommit=True)
    connection = sqlite3.connect(sqlite_path(url), isolation_level=None, timeout=30, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


async def dbos(url: str, *, concurrent: int = 64, seconds: float = 0.0, samples: int = 0) -> dict[str, Any] | None:
    """Run `dbos_cycles` as a process of its own; None where DBOS is not installed."""
    if find_spec("dbos") is None:
        return None
    return await _ran("dbos_cycles", url, f"--concurrent={concurrent}", f"--seconds={seconds}", f"--samples={samples}")


async def langgraph(url: str, *, concurrent: int, seconds: float) -> float | None:
    """Return the cycles a second of `langgraph_cycles`; None where LangGraph is not installed."""
    if find_spec("langgraph") is None:
        return None
    return (await _ran("langgraph_cycles", url, f"--concurrent={concurrent}", f"--seconds={seconds}"))["rate"]


async def restate(*, concurrent: int, seconds: float) -> float | None:
    """Return the cycles a second of `restate_cycles`; None where its SDK or its server is not installed."""
    if find_spec("restate") is None or not RESTATE.exists():
        return None
    return (await _ran("restate_cycles", str(RESTATE), f"--concurrent={concurrent}", f"--seconds={seconds}"))["rate"]


async def _ran(module: str, *words: str) -> dict[str, Any]:
    """Run a reference as a process of its own; once more, should it fail: a whole run hangs on it."""
    found, fault = await _run_once(module, *words)
    if found is None:
        print(f"{fault}\nit is run once more", file=sys.stderr, flush=True)
        found, fault = await _run_once(module, *words)
    if found is None:
        raise RuntimeError(fault)
    return found


async def _run_once(module: str, *words: str) -> tuple[dict[str, Any] | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"benchmarks.{module}",
        *words,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    lines = [line for line in out.decode().splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        return None, f"{module} ended with {process.returncode}: {err.decode()[-1500:]}"
    return json.loads(lines[-1]), ""


async def event_wakes(samples: int) -> list[float]:
    """Return the seconds from setting an asyncio.Event until its waiter runs."""
    spans: list[float] = []
    for _ in range(samples):
        event, at = asyncio.Event(), 0.0

        async def waiter(event: asyncio.Event = event) -> float:
            await event.wait()
            return time.perf_counter()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(waiter())
            await asyncio.sleep(0)
            at = time.perf_counter()
            event.set()
        spans.append(task.result() - at)
    return spans


async def notify_wakes(url: str, samples: int) -> list[float]:
    """Return the seconds from sending a committed update with NOTIFY until a listener on another connection resumes."""
    spans: list[float] = []
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True) as listener,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as sender,
    ):
        await sender.execute("CREATE TABLE IF NOT EXISTS told (n BIGINT NOT NULL)")
        await sender.execute("TRUNCATE told")  # of an earlier round: each row of it would be told of, too
        await sender.execute("INSERT INTO told VALUES (0)")
        await listener.execute("LISTEN floor")
        heard: AsyncGenerator[Any] = listener.notifies()

        async def hear(number: int) -> None:
            while int((await anext(heard)).payload) != number:
                pass

        for number in range(1, samples + 1):
            waiting = asyncio.ensure_future(hear(number))
            await asyncio.sleep(0.01)
            sent = time.perf_counter()
            telling = asyncio.ensure_future(
                sender.execute(
                    "WITH u AS (UPDATE told SET n = n + 1 RETURNING n) SELECT pg_notify('floor', n::text) FROM u"
                )
            )
            await waiting
            spans.append(time.perf_counter() - sent)
            await telling
        with suppress(RuntimeError):
            await heard.aclose()
    return spans


async def contended_writers(url: str, *, writers: int, seconds: float) -> list[float]:
    """Return the seconds of each write of several SQLite connections that fight for the lock."""
    return await asyncio.to_thread(_contend, url, writers, seconds)


def _contend(url: str, writers: int, seconds: float) -> list[float]:
    setup = _connect(url)
    setup.execute("CREATE TABLE IF NOT EXISTS fought (body TEXT NOT NULL)")
    setup.close()
    spans: list[float] = []
    until = time.perf_counter() + seconds

    def write() -> None:
        connection = _connect(url)
        while (began := time.perf_counter()) < until:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO fought VALUES ('x')")
            connection.execute("COMMIT")
            spans.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spans


def command_times(words: list[str], *, stdin: bytes = b"", expect: bytes = b"") -> float:
    """Return the seconds that a command takes from start to end. Raises RuntimeError for another answer."""
    began = time.perf_counter()
    ended = subprocess.run(words, input=stdin, capture_output=True, check=True, env={"PATH": "/usr/bin:/bin"})
    span = time.perf_counter() - began
    if expect not in ended.stdout:
        raise RuntimeError(f"{words[-3:]} said {ended.stdout[:300]!r} {ended.stderr[:300]!r}")
    return span
