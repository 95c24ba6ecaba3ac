"""The practical floor: FastAPI, one writer thread with group commit, waiters in a dictionary; and nothing else.

No authentication, no rules, no audit trail, no cards: what a gateway with all of these is held against. Also one plain
FastAPI route (`POST /plain`). Run as a process of its own: `python -m benchmarks.floor --url URL --port N`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import queue
import secrets
import sqlite3
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_MOST = 128
_TABLE = "CREATE TABLE IF NOT EXISTS calls (id TEXT PRIMARY KEY, body TEXT NOT NULL, state TEXT NOT NULL)"


class Call(BaseModel):
    """A tool call."""

    tool: str
    arguments: dict[str, Any]


class Said(BaseModel):
    """The plain route's answer."""

    decision: str
    tool: str


class Stands(BaseModel):
    """How a call stands."""

    id: str
    state: str


class Writer:
    """One thread, one connection, group commit. An operation is (kind, id, text) and a future."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._mark = "?" if url.startswith("sqlite") else "%s"
        self._jobs: queue.SimpleQueue[tuple[str, str, str, asyncio.Future[str]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    async def do(self, kind: str, call_id: str, text: str = "") -> str:
        """Run one operation; return the call's state after the commit."""
        future: asyncio.Future[str] = self._loop.create_future()
        self._jobs.put((kind, call_id, text, future))
        return await future

    def stop(self) -> None:
        """Finish and end the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _connect(self) -> Any:
        if self._mark == "%s":
            return psycopg.connect(self._url, autocommit=True)
        connection = sqlite3.connect(self._url.removeprefix("sqlite:///"), isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def _serve(self) -> None:
        connection = self._connect()
        connection.execute(_TABLE)
        while (first := self._jobs.get()) is not None:
            batch = [first]
            while len(batch) < _MOST and not self._jobs.empty():
                job = self._jobs.get()
                if job is None:
                    self._jobs.put(None)
                    break
                batch.append(job)
            states = self._commit(connection, batch)
            self._loop.call_soon_threadsafe(_resolve, batch, states)
        connection.close()

    def _commit(self, connection: Any, batch: list[tuple[str, str, str, asyncio.Future[str]]]) -> dict[str, str]:
        mark = self._mark
        inserts = [(job[1], job[2]) for job in batch if job[0] == "insert"]
        decided = [(job[1],) for job in batch if job[0] == "decide"]
        read = [job[1] for job in batch if job[0] == "read"]
        connection.execute("BEGIN" if mark == "%s" else "BEGIN IMMEDIATE")
        cursor = connection.cursor()
        if inserts:
            cursor.executemany(f"INSERT INTO calls VALUES ({mark}, {mark}, 'pending')", inserts)
        if decided:
            cursor.executemany(f"UPDATE calls SET state = 'approved' WHERE id = {mark} AND state = 'pending'", decided)
        states = {call_id: "pending" for call_id, _ in inserts} | {call_id: "approved" for (call_id,) in decided}
        if read:
            marks = ", ".join([mark] * len(read))
            states |= dict(cursor.execute(f"SELECT id, state FROM calls WHERE id IN ({marks})", read).fetchall())
        connection.execute("COMMIT")
        return states


def _resolve(batch: list[tuple[str, str, str, asyncio.Future[str]]], states: dict[str, str]) -> None:
    for _, call_id, _, future in batch:
        if not future.done():
            future.set_result(states.get(call_id, "unknown"))


def create_floor(url: str) -> FastAPI:
    """Build the application."""
    writers: list[Writer] = []
    waiting: dict[str, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        writers.append(Writer(url))
        yield
        writers[0].stop()

    app = FastAPI(lifespan=lifespan)

    @app.get("/readyz")
    async def ready() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/plain")
    async def plain(call: Call) -> Said:
        return Said(decision="allow", tool=call.tool)

    @app.post("/calls")
    async def create(call: Call) -> Stands:
        call_id = secrets.token_hex(16)
        return Stands(id=call_id, state=await writers[0].do("insert", call_id, json.dumps(call.arguments)))

    @app.post("/calls/{call_id}/decisions")
    async def decide(call_id: str) -> Stands:
        state = await writers[0].do("decide", call_id)
        waiter = waiting.pop(call_id, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        return Stands(id=call_id, state=state)

    @app.get("/calls/{call_id}")
    async def read(call_id: str, wait: float = 0) -> Stands:
        waiter = waiting.setdefault(call_id, asyncio.get_running_loop().create_future())
        state = await writers[0].do("read", call_id)
        if state == "pending" and wait:
            await asyncio.wait((waiter,), timeout=wait)
            state = await writers[0].do("read", call_id)
        return Stands(id=call_id, state=state)

    return app


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    uvicorn.run(
        create_floor(given.url),
        host="127.0.0.1",
        port=given.port,
        log_level="error",
        backlog=8192,
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
