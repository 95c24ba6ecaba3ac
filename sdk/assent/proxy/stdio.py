"""A proxy as a program between two pipes: a client on our stdin and stdout, and a server (or agent) that we start."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread

from assent.client.log import warn
from assent.command.faults import HookError
from assent.proxy.lines import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import Process, TaskGroup

    from assent.proxy.calls import Send

_PART = 65536
_LEAVE_WITHIN = 1.5
"""Seconds for a server whose stdin is closed, and again for one that was told to end: clients give us two."""
_REPORT_WITHIN = 5.0
_OURS = "ASSENT_"


class Stdio:
    """Our own stdin and stdout: one thread reads and one writes, however many calls wait."""

    def __init__(self) -> None:
        self._reading, self._writing = anyio.CapacityLimiter(1), anyio.CapacityLimiter(1)
        self._turn = anyio.Lock()
        self.gone = anyio.Event()

    async def receive(self) -> bytes:
        """What the client wrote; nothing at its end."""
        try:
            return await anyio.to_thread.run_sync(os.read, 0, _PART, abandon_on_cancel=True, limiter=self._reading)
        except OSError:
            return b""

    async def send(self, line: bytes) -> None:
        """Write a line whole; a client that is gone is remembered, and told nothing."""
        async with self._turn:
            if self.gone.is_set():
                return
            try:
                await anyio.to_thread.run_sync(_write, line, limiter=self._writing)
            except OSError:
                self.gone.set()


def _write(line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(1, rest) :]


class Server:
    """The program that has the tools."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._turn = anyio.Lock()

    async def receive(self) -> bytes:
        """What it wrote; nothing at its end."""
        assert self.process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            return await self.process.stdout.receive(_PART)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""

    async def send(self, line: bytes) -> None:
        """Write a line whole. Raises `BrokenResourceError` when it is gone."""
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        async with self._turn:
            await self.process.stdin.send(line if line.endswith(b"\n") else line + b"\n")

    async def leave(self) -> None:
        """Close its stdin, and end it when it does not end by that."""
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.process.stdin.aclose()
        for ends in (None, self.process.terminate, self.process.kill):
            if ends is not None:
                with suppress(ProcessLookupError):
                    ends()
            with anyio.move_on_after(_LEAVE_WITHIN):
                await self.process.wait()
                return


def environment_of(environ: Mapping[str, str]) -> dict[str, str]:
    """What the server may know of our environment: all but what is the agent's with its gateway."""
    return {name: value for name, value in environ.items() if not name.startswith(_OURS)}


class Between(Protocol):
    """What stands in the middle: see `assent.proxy.calls.Calls`."""

    async def from_client(self, raw: bytes | None) -> None:
        """A line of the client's; None is one that is too long."""
        ...

    async def from_server(self, raw: bytes) -> None:
        """A line of the server's."""
        ...

    async def tick(self) -> None:
        """What is done over and over while both are there."""
        ...

    async def client_over(self) -> None:
        """The client is gone."""
        ...

    async def server_over(self) -> None:
        """The server is gone."""
        ...

    async def settled(self, *, within: float) -> None:
        """Wait until all is reported, so long at most."""
        ...


async def _started(command: Sequence[str]) -> Process:
    try:
        return await anyio.open_process(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, env=environment_of(os.environ)
        )
    except OSError as fault:
        raise HookError(
            f"{command[0]!r} cannot be started ({fault.strerror}): write the program's whole path behind --, and "
            "each of its arguments as a word of its own"
        ) from fault


async def serve(command: Sequence[str], make: Callable[[TaskGroup, Send, Send], Between]) -> int:
    """Stand between our client and this server until one of them is gone. Raises `HookError` if it cannot be started.

    `make` makes what stands in the middle, of a group for its tasks, and of the ways to the client and to the server.
    """
    client, server = Stdio(), Server(process := await _started(command))
    over, ended = anyio.Event(), anyio.Event()
    by_itself = False
    async with anyio.create_task_group() as group:
        calls = make(group, client.send, server.send)

        async def from_client() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                async for line in lines(client.receive):
                    await calls.from_client(line)
            over.set()

        async def from_server() -> None:
            async for line in lines(server.receive):
                if line is None:
                    warn("the server wrote a line that is too long: it is ended")
                    break
                await calls.from_server(line)
            await calls.server_over()
            ended.set()
            over.set()

        async def until_told() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
                async for _ in signals:
                    over.set()

        async def until_deaf() -> None:
            await client.gone.wait()
            over.set()

        for task in (from_client, from_server, until_told, until_deaf, calls.tick):
            group.start_soon(task)
        await over.wait()
        by_itself = ended.is_set()
        await calls.client_over()
        await server.leave()
        await calls.server_over()
        await calls.settled(within=_REPORT_WITHIN)
        group.cancel_scope.cancel()
    return (process.returncode or 0) % 256 if by_itself else 0
