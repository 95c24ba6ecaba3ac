"""The sandbox on this machine: bubblewrap around a shell. Linux only; needs bubblewrap 0.8 or later and `prlimit`.

No network, an empty read-only root with this machine's programs (`assent.sandbox.bubblewrap`), its own processes, /tmp
and host name, no capabilities, no environment but what the job names. When it ends, by whatever way, so does every
process in it. Of the working directory it shows all but the files and folders that go by a secret's name
(`assent.sandbox.covers.SECRETS`: `.env`, `.ssh`, `*.pem`, `id_rsa`, …), at whatever depth; secrets in other files are
shown, and so is what a repository's history holds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from assent.hooks.contract.sandbox import Report, SandboxFault
from assent.sandbox.bubblewrap import MIB, Limits, limits_of, plan
from assent.sandbox.covers import SECRETS
from assent.sandbox.head import Head
from assent.sandbox.turns import finish
from assent.sandbox.usage import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import ByteReceiveStream, Process

    from assent.hooks.contract.sandbox import Job
    from assent.sandbox.bubblewrap import Plan
    from assent.sandbox.usage import Usage

_LINGER = 2.0  # seconds that output may still come after the end; the sandbox's processes are being killed by then
_LOOK_EVERY = 0.05  # seconds
_BLIND_FOR = 2.0  # seconds that a sandbox may run unseen; while it is being set up, it cannot always be looked at


class LocalSandbox:
    """Runs commands in bubblewrap.

    Options: `timeout`, `memory`, `processes`, `file_size`, `scratch`, `output`, `writable`, `network` (only False) and
    `env`; the units stand at `Limits`.

    `readable` are more directories of this machine to show, read-only; `hidden` are the names to cover wherever they
    lie in shown directories (as `assent.sandbox.covers` compares them), or absolute paths. A directory that holds more
    than 100,000 files and folders is refused: nobody could look through it for each command.
    """

    def __init__(
        self,
        *,
        name: str = "local",
        limits: Limits | None = None,
        readable: Sequence[str] = (),
        hidden: Sequence[str] = SECRETS,
    ) -> None:
        self.name = name
        self._limits = limits or Limits()
        self._readable = tuple(readable)
        self._hidden = tuple(hidden)

    async def run(self, job: Job) -> Report:
        """Run the job; the event loop stays free. Raises SandboxFault if the sandbox cannot be set up."""
        limits = limits_of(job.options, self._limits, provider=self.name)
        laid_out = await anyio.to_thread.run_sync(
            lambda: plan(job, limits, readable=self._readable, hidden=self._hidden)
        )
        return await _Run(limits).go(laid_out)


class _Run:
    """One job's processes and what they have written."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._out, self._err = Head(limits.output), Head(limits.output)
        self._status = b""  # JSON lines: bubblewrap's child as soon as there is one, its exit code in the end
        self._ended = ""

    async def go(self, laid_out: Plan) -> Report:
        """Start, read, and end it all."""
        started = time.monotonic()
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        begun: list[Process] = []

        async def begin() -> None:
            try:
                begun.append(await _start(laid_out, theirs))
            finally:
                os.close(theirs)

        try:
            await finish(begin)  # a cancellation on the way would kill bubblewrap, but not the child that it may have
            with anyio.move_on_after(self._limits.timeout) as clock:
                await self._read(begun[0], ours)
        finally:
            for process in begun:
                await finish(lambda process=process: self._bury(process, ours))
            os.close(ours)
        return self._report(
            timed_out=clock.cancelled_caught, duration=time.monotonic() - started, bubblewrap=begun[0].returncode
        )

    async def _read(self, process: Process, status: int) -> None:
        async with anyio.create_task_group() as reading:
            reading.start_soon(_drain, process.stdout, self._out)
            reading.start_soon(_drain, process.stderr, self._err)
            async with anyio.create_task_group() as running:
                running.start_soon(self._watch)
                await self._follow(status)
                running.cancel_scope.cancel()
            reading.cancel_scope.deadline = anyio.current_time() + _LINGER

    async def _follow(self, status: int) -> None:
        """Read bubblewrap's status until bubblewrap is gone: nobody else holds that pipe."""
        while await self._more(status):
            pass

    async def _more(self, status: int) -> bool:
        await anyio.wait_readable(status)
        chunk = os.read(status, 4096)
        self._status += chunk
        return bool(chunk)

    async def _watch(self) -> None:
        """End the sandbox once it uses too much: the kernel limits each process, and not root's number of them."""
        seen_at = anyio.current_time()
        while not self._ended:
            await anyio.sleep(_LOOK_EVERY)
            first = self._fact("child-pid")
            if first is None:
                continue
            usage = await anyio.to_thread.run_sync(lambda first=first: look(first, enough=self._limits.memory * MIB))
            if usage is not None:
                seen_at = anyio.current_time()
                self._ended = self._too_much(usage)
            elif anyio.current_time() - seen_at > _BLIND_FOR:
                self._ended = "what it uses cannot be watched: this process may not look into its /proc"
            if self._ended:
                self._kill(first)

    def _too_much(self, usage: Usage) -> str:
        if usage.processes > self._limits.processes:
            return f"it had more than {self._limits.processes} processes (the option 'processes')"
        if usage.memory > self._limits.memory * MIB:
            return f"its processes took more than {self._limits.memory} MiB of memory together (the option 'memory')"
        return ""

    def _fact(self, name: str) -> int | None:
        lines = self._status.split(b"\n")[:-1]  # the last one may still be in the making
        facts = [json.loads(line) for line in lines if line]
        return next((fact[name] for fact in facts if name in fact), None)

    def _kill(self, first: int) -> None:
        """End the sandbox's first process, and with it, by the kernel's hand, every other."""
        if self._fact("exit-code") is None:  # else it ends by itself, and its number may be another's soon
            with suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)

    async def _bury(self, process: Process, status: int) -> None:
        """End what still runs, and wait until bubblewrap has reaped the sandbox's first process and is gone itself.

        Bubblewrap alone is never killed as long as it may have a child: while it sets the sandbox up, that child would
        live on, and run the command with nobody to watch it.
        """
        gone = False
        try:
            with anyio.move_on_after(_LINGER):
                while self._fact("child-pid") is None and await self._more(status):
                    pass
                first = self._fact("child-pid")
                if first is not None and process.returncode is None:
                    self._kill(first)
                await self._follow(status)
                gone = True
                async with anyio.create_task_group() as reading:  # a pipe that is not read to its end stays open
                    reading.start_soon(_drain, process.stdout, self._out)
                    reading.start_soon(_drain, process.stderr, self._err)
        finally:
            if not gone and process.returncode is None:
                process.kill()
        await process.wait()

    def _report(self, *, timed_out: bool, duration: float, bubblewrap: int | None) -> Report:
        code = None if timed_out or self._ended else self._fact("exit-code")
        ended = f"it ran longer than {self._limits.timeout:g} s (the option 'timeout')" if timed_out else self._ended
        if code is None and not ended:
            said = self._err.text().strip() or "bubblewrap was killed"
            raise SandboxFault(
                f"the local sandbox could not be set up ({said}); it needs bubblewrap 0.8 or later, and a kernel that "
                "allows user namespaces",
                # Bubblewrap that goes by itself tells the exit code of every command that it has started.
                started=False if bubblewrap is not None and bubblewrap > 0 else None,
            )
        return Report(
            exit_code=code,
            stdout=self._out.text(),
            stderr=self._err.text(),
            stdout_cut=self._out.cut,
            stderr_cut=self._err.cut,
            timed_out=timed_out,
            ended=ended,
            duration=duration,
        )


async def _start(laid_out: Plan, status: int) -> Process:
    """Start bubblewrap, with an empty environment: the sandbox's first process shows it to all in there."""
    settings = os.memfd_create("settings")
    try:
        os.set_blocking(settings, False)  # memory never blocks; this says so to whoever watches the event loop
        os.write(settings, laid_out.settings)
        os.lseek(settings, 0, os.SEEK_SET)
        return await anyio.open_process(
            laid_out.start(settings=settings, status=status),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={},
            pass_fds=(settings, status),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # no such program, an argument list too long, …
        raise SandboxFault(f"the local sandbox could not be started: {error}", started=False) from error
    finally:
        os.close(settings)


async def _drain(stream: ByteReceiveStream | None, head: Head) -> None:
    if stream is not None:
        async for chunk in stream:
            head.feed(chunk)
