"""Run a program to its end: input, output and errors at the same time, bounded, and nothing left behind when stopped.

The program gets a process group of its own, so that stopping it stops whatever it has started. What it started may
outlive it and hold its pipes open: once it has ended, nobody waits for them. Needs asyncio, and POSIX.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MOST_OUTPUT = 4 * 1024 * 1024
"""Bytes that a program may write to its output, and as many to its errors."""

_DRAINING = 0.2  # seconds for what the program wrote last; the pipe's buffer is read in one go
_STANDARD = 2  # input, output and errors are 0 to 2
_DYING = 1.0  # seconds in which a killed program is gone
_OURS = ("ASSENT_",)
_KEYS = frozenset({"E2B_API_KEY", "DAYTONA_API_KEY"})

HARMLESS = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
"""What a program needs to find others, its files, its language and whom to trust: no secret is kept in these."""


class TooMuchOutputError(Exception):
    """The program wrote more than `MOST_OUTPUT`; it was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a program ended: its exit code (or, below zero, the signal), and what it wrote."""

    code: int
    out: bytes
    err: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms programs are run for somebody who runs them for strangers, as a gateway does."""

    at_once: asyncio.Semaphore
    """So many run at once. Whoever waits for his turn spends his own time limit."""
    passes: frozenset[str] = frozenset()
    """Names of the environment that a program sees besides `HARMLESS`. All others it does not."""
    user: str | None = None
    """The account that programs run as, by `setpriv`; None: our own."""

    def __post_init__(self) -> None:
        """Refuse what could not be kept when it matters. Raises ValueError."""
        if self.user is not None:
            check_account(self.user)

    def command(self, argv: Sequence[str]) -> Sequence[str]:
        """Return what is really run."""
        if self.user is None:
            return argv
        return ("setpriv", f"--reuid={self.user}", "--init-groups", f"--regid={_group_of(self.user)}", "--", *argv)


def check_account(user: str) -> None:
    """Raise ValueError where commands cannot be run as an account: it is none, or `setpriv` is missing."""
    import shutil

    if shutil.which("setpriv") is None:
        raise ValueError("to run commands as another account, setpriv (util-linux) must be installed")
    try:
        _group_of(user)
    except KeyError:
        raise ValueError(f"{user!r} is no account of this machine") from None


def _group_of(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


def environment(
    environ: Mapping[str, str], *, without: Collection[str] = (), passes: Collection[str] | None = None
) -> dict[str, str]:
    """Return what a program may see of our environment: neither our own settings and secrets nor `without`.

    With `passes`, only what is named there or is harmless.
    """
    return {
        name: value
        for name, value in environ.items()
        if not name.upper().startswith(_OURS) and name not in _KEYS and name not in without
        if passes is None or name in HARMLESS or name in passes
    }


async def run(
    argv: Sequence[str], *, stdin: bytes, env: Mapping[str, str], cwd: str | None = None, terms: Terms | None = None
) -> Finished:
    """Run a program with this on its standard input, which it need not read; of our descriptors it gets no other.

    Raises OSError if it cannot be started and TooMuchOutputError. Cancelled, it kills the program's whole group.
    """
    if terms is None:
        return await _run(argv, stdin=stdin, env=env, cwd=cwd)
    async with terms.at_once:
        return await _run(terms.command(argv), stdin=stdin, env=env, cwd=cwd)


async def _run(argv: Sequence[str], *, stdin: bytes, env: Mapping[str, str], cwd: str | None) -> Finished:
    loop = asyncio.get_running_loop()
    await asyncio.to_thread(_keep_descriptors)
    watch = _Watch(loop)
    pipe = asyncio.subprocess.PIPE
    start = loop.subprocess_exec(
        lambda: watch,
        *argv,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )
    # A task of its own, awaited below in any case: a start that is cut off half-way would leave the program running.
    starting = loop.create_task(start)
    try:
        await asyncio.wait({starting})
        transport, _ = starting.result()
        entrance = cast("asyncio.WriteTransport | None", transport.get_pipe_transport(0))
        if entrance is not None and not entrance.is_closing():  # it may have closed its input already
            entrance.write(stdin)
            entrance.close()  # after what was written
        await watch.ended
        if watch.too_much:
            raise TooMuchOutputError
        await asyncio.wait({watch.drained}, timeout=_DRAINING)
        code = cast("int", transport.get_returncode())
        return Finished(code=code, out=bytes(watch.written[1]), err=bytes(watch.written[2]))
    finally:
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await _stop(starting.result()[0], watch)


def _keep_descriptors() -> None:
    """Let no program that is started have a descriptor of ours: uvloop closes none, whatever it is asked."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names of numbers, not paths
        with suppress(OSError):  # it was closed meanwhile
            if int(name) > _STANDARD and os.get_inheritable(int(name)):
                os.set_inheritable(int(name), False)


async def _stop(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Let go of a program; one that still runs is killed with its whole group."""
    try:
        if transport.get_returncode() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            await asyncio.wait({watch.exited}, timeout=_DYING)
    finally:
        transport.close()


class _Watch(asyncio.SubprocessProtocol):
    """Collects what a program writes, and notes how far its end has come."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.written: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
        self.too_much = False
        self.ended: asyncio.Future[Any] = loop.create_future()
        """The program has exited, or must be made to."""
        self.exited: asyncio.Future[Any] = loop.create_future()
        self.drained: asyncio.Future[Any] = loop.create_future()
        """Both of its pipes are closed: by it, and by whatever it started."""
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what was written, as long as it is not too much."""
        if self.too_much or len(self.written[fd]) + len(data) > MOST_OUTPUT:
            self.too_much = True
            _settle(self.ended)
        else:
            self.written[fd] += data

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Note the end of a pipe. That nobody reads our input (a broken pipe) is the program's own affair."""
        self._open.discard(fd)
        if not self._open:
            _settle(self.drained)

    def process_exited(self) -> None:
        """Note the end of the program."""
        _settle(self.exited)
        _settle(self.ended)


def _settle(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_result(None)
