"""What a sandbox is asked (`Job`), what it answers (`Report`), and how it says that it could not (`SandboxFault`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class SandboxFault(Exception):  # noqa: N818 - the engine's word: a fault means that the call is denied
    """The sandbox could not run the command to its end. `str(fault)` is the reason, fit for the model and for people.

    `started` is what is known of the command itself: False, surely nothing of it ran; True, it began; None, nobody
    knows. Only False may be told as "not run".
    """

    def __init__(self, reason: str, *, started: bool | None = None) -> None:
        super().__init__(reason)
        self.started = started


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One shell command to run in a sandbox."""

    command: str
    cwd: str = ""
    """The agent's working directory, an absolute path of this machine; a sandbox elsewhere has no use for it."""
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Every environment variable that the command gets besides the sandbox's own PATH, HOME and the like."""
    options: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """The provider's limits and switches; one that it does not know is a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a command ended."""

    exit_code: int | None
    """None: the sandbox ended it (`ended` says why)."""
    stdout: str = ""
    stderr: str = ""
    stdout_cut: int = 0
    """Bytes that were left out at the end of `stdout`."""
    stderr_cut: int = 0
    timed_out: bool = False
    ended: str = ""
    """Why the sandbox ended the command; empty if it ended by itself."""
    duration: float = 0.0
    """Seconds."""

    @property
    def stdout_truncated(self) -> bool:
        """Whether `stdout` is only the head of what was written."""
        return self.stdout_cut > 0

    @property
    def stderr_truncated(self) -> bool:
        """Whether `stderr` is only the head of what was written."""
        return self.stderr_cut > 0


class SandboxProvider(Protocol):
    """A place that runs commands apart from this machine's files, network and processes."""

    @property
    def name(self) -> str:
        """What `route(name, …)` calls it."""
        ...

    async def run(self, job: Job) -> Report:
        """Run the job to its end or its limits, leaving nothing behind, even when cancelled.

        Raises SandboxFault, with `started=False` only where the command surely never began.
        """
        ...
