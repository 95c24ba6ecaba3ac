"""A reference: LangGraph's `interrupt`, kept in the same kind of database: `python -m benchmarks.langgraph_cycles URL`.

A cycle is a graph that runs until its node interrupts, and is resumed with the decision; `durability="sync"`: each
checkpoint is written before the graph goes on. Inside one process, without any HTTP and without a waiter: flattered.
Prints one JSON object: cycles per second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypedDict

import aiosqlite  # pyright: ignore[reportMissingImports]
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # pyright: ignore[reportMissingImports] - in .venv-bench alone
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # pyright: ignore[reportMissingImports]
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingImports]
from langgraph.types import Command, interrupt  # pyright: ignore[reportMissingImports]
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool  # pyright: ignore[reportMissingImports]

from benchmarks.databases import sqlite_path
from benchmarks.processes import PAY

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_CONNECTIONS = 20


class Call(TypedDict):
    """What the graph carries."""

    arguments: dict[str, Any]
    said: str


def _ask(state: Call) -> dict[str, str]:
    return {"said": interrupt(state["arguments"])}


@asynccontextmanager
async def _saver(url: str) -> AsyncGenerator[Any]:
    if url.startswith("sqlite"):
        async with aiosqlite.connect(sqlite_path(url)) as connection:
            await connection.execute("PRAGMA synchronous=FULL")
            yield AsyncSqliteSaver(connection)
        return
    how: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(url, max_size=_CONNECTIONS, kwargs=how) as pool:
        yield AsyncPostgresSaver(pool)


async def cycles(graph: Any, concurrent: int, seconds: float) -> float:
    """Return cycles per second."""
    warm_until = time.perf_counter() + min(1.0, seconds / 3)
    until = warm_until + seconds
    done = 0

    async def worker(number: int) -> None:
        nonlocal done
        turn = 0
        while time.perf_counter() < until:
            turn += 1
            thread: Any = {"configurable": {"thread_id": f"{number}-{turn}"}}
            await graph.ainvoke({"arguments": PAY, "said": ""}, thread, durability="sync")
            ended = await graph.ainvoke(Command(resume="approve"), thread, durability="sync")
            assert ended["said"] == "approve"
            done += warm_until <= time.perf_counter() <= until

    await asyncio.gather(*(worker(number) for number in range(concurrent)))
    return done / seconds


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--concurrent", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    async with _saver(given.url) as saver:
        await saver.setup()
        builder: Any = StateGraph(Call)
        builder.add_node("ask", _ask)
        builder.add_edge(START, "ask")
        builder.add_edge("ask", END)
        graph = builder.compile(checkpointer=saver)
        print(json.dumps({"rate": await cycles(graph, given.concurrent, given.seconds)}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
