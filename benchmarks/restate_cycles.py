"""A reference: a Restate workflow that waits for a durable promise: `python -m benchmarks.restate_cycles SERVER`.

SERVER is Restate's own server, a program that comes as a package of npm. A cycle is a workflow that is started, waits,
is decided on and goes on; start and decision are HTTP calls to the server. The service, on hypercorn, and who drives
it are this one process; the server keeps its journal in its own store, synced. Prints one JSON object: cycles per
second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import restate  # pyright: ignore[reportMissingImports] - installed in .venv-bench alone
from hypercorn.asyncio import serve  # pyright: ignore[reportMissingImports]
from hypercorn.config import Config  # pyright: ignore[reportMissingImports]

from benchmarks.lean_http import Connection, encode, require
from benchmarks.processes import PAY

if TYPE_CHECKING:
    from collections.abc import Generator

_STARTS_WITHIN = 60.0
_WARM = 2.0
"""Seconds that it runs before it is counted: its first answers take a second."""
_went_on: dict[str, asyncio.Event] = {}

payment: Any = restate.Workflow("payment")


@payment.main()
async def run(ctx: Any, arguments: dict[str, Any]) -> str:
    """Wait for a decision."""
    said = await ctx.promise("decision").value()
    _went_on[ctx.key()].set()
    return f"{said} {arguments['payee']}"


@payment.handler()
async def decide(ctx: Any, said: str) -> None:
    """Decide."""
    await ctx.promise("decision").resolve(said)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _server(program: str, ingress: int, admin: int) -> Generator[None]:
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            **os.environ,
            "RESTATE_BASE_DIR": folder,
            "RESTATE_NODE_NAME": "bench",
            "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_BIND_ADDRESS": f"127.0.0.1:{_free_port()}",
            "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
            "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
            "RESTATE_DISABLE_TELEMETRY": "true",
            "RESTATE_LOG_FILTER": "error",
        }
        nothing = subprocess.DEVNULL
        with subprocess.Popen(
            [program, "--no-logo"], env=environ, cwd=folder, stdout=nothing, stderr=nothing, start_new_session=True
        ) as process:
            try:
                yield
            finally:
                os.killpg(process.pid, signal.SIGKILL)  # the program of npm's is a wrapper: its server goes with it


async def _reached(port: int, request: bytes, wanted: set[int]) -> None:
    """Ask until the server answers as wanted. Raises TimeoutError."""
    async with asyncio.timeout(_STARTS_WITHIN):
        while await _status(port, request) not in wanted:  # noqa: ASYNC110 - another program gives no sign
            await asyncio.sleep(0.1)


async def _status(port: int, request: bytes) -> int | None:
    try:
        connection = await Connection.open(port)
    except OSError:
        return None
    try:
        return (await connection.send(request)).status
    except OSError:
        return None
    finally:
        connection.close()


async def cycles(ingress: int, concurrent: int, seconds: float) -> float:
    """Return cycles per second."""
    warm_until = time.perf_counter() + _WARM
    until = warm_until + seconds
    done = 0

    async def worker(number: int) -> None:
        nonlocal done
        connection, turn = await Connection.open(ingress), 0
        while time.perf_counter() < until:
            turn += 1
            key = f"{number}-{turn}"
            woken = _went_on[key] = asyncio.Event()
            require(await connection.send(encode("POST", f"/payment/{key}/run/send", body=PAY)), 202, "run")
            require(await connection.send(encode("POST", f"/payment/{key}/decide", body="approve")), 200, "decide")
            await woken.wait()
            del _went_on[key]
            done += warm_until <= time.perf_counter() <= until
        connection.close()

    await asyncio.gather(*(worker(number) for number in range(concurrent)))
    return done / seconds


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--concurrent", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    ingress, admin, service = _free_port(), _free_port(), _free_port()
    config = Config()
    config.bind, config.graceful_timeout = [f"127.0.0.1:{service}"], 0.1
    over = asyncio.Event()
    with _server(str(Path(given.server).absolute()), ingress, admin):
        served = asyncio.ensure_future(serve(restate.app([payment]), config, shutdown_trigger=over.wait))
        known = encode("POST", "/deployments", body={"uri": f"http://127.0.0.1:{service}"})
        await _reached(admin, known, {200, 201})
        await _reached(ingress, encode("GET", "/restate/health"), {200})
        print(json.dumps({"rate": await cycles(ingress, given.concurrent, given.seconds)}), flush=True)
    over.set()
    await served


if __name__ == "__main__":
    asyncio.run(main())
