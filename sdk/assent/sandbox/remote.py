"""What the sandboxes at providers' have in common: their options, their report, and an SDK's errors as faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.sandbox import Report, SandboxFault
from assent.sandbox.head import Head
from assent.sandbox.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 30.0  # seconds for one call of a provider's API
_SPARE = 120  # seconds that a sandbox may outlive its time limit if nobody comes to delete it


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a routing asks of a sandbox at a provider's."""

    timeout: float
    """Seconds for the command."""
    output: int
    """Bytes kept of each stream."""
    network: bool
    cwd: str | None
    """A directory of the sandbox; None is its own default."""
    image: str
    """The template or snapshot that it starts from; empty is the provider's default."""

    @property
    def lifetime(self) -> int:
        """Seconds after which the provider itself ends the sandbox, should this process die."""
        return int(self.timeout) + _SPARE


def terms_of(given: Mapping[str, Any], *, provider: str, image: str, default: str) -> Terms:
    """Read the options; `image` is what the provider calls it. Raises SandboxFault."""
    options = Options(given, provider=provider, known=("timeout", "output", "network", "cwd", image))
    return Terms(
        timeout=options.number("timeout", 60.0, most=3600),
        output=options.whole("output", 65536, most=64 * 1024 * 1024),
        network=options.flag("network", default=False),
        cwd=options.text("cwd", "") or None,
        image=options.text(image, default),
    )


@dataclass(slots=True, kw_only=True)
class Transcript:
    """What a command has said so far, and how it ended."""

    out: Head
    err: Head
    exit_code: int | None = None

    @classmethod
    def of(cls, terms: Terms) -> Transcript:
        """An empty one."""
        return cls(out=Head(terms.output), err=Head(terms.output))

    def report(self, *, in_time: bool, timeout: float, duration: float) -> Report:
        """Close it. Raises SandboxFault if the command ended in time without an exit code."""
        if in_time and self.exit_code is None:
            raise SandboxFault("the sandbox did not tell how the command ended", started=True)
        return Report(
            exit_code=self.exit_code if in_time else None,
            stdout=self.out.text(),
            stderr=self.err.text(),
            stdout_cut=self.out.cut,
            stderr_cut=self.err.cut,
            timed_out=not in_time,
            ended="" if in_time else f"it ran longer than {timeout:g} s (the option 'timeout')",
            duration=duration,
        )


def missing(package: str, error: Exception) -> SandboxFault:
    """The fault of an SDK that is not installed."""
    return SandboxFault(
        f"this sandbox needs the package {package!r}, which cannot be imported ({error}): "
        f"pip install 'assent[{package}]'",
        started=False,
    )


def fault_of(error: Exception, *, provider: str, key: str, started: bool | None) -> SandboxFault:
    """An SDK's error as a fault, without the key in it. `started`: what is known of the command by then."""
    if isinstance(error, SandboxFault):
        return error
    said = str(error).replace(key, "…")[:500]
    return SandboxFault(f"the sandbox {provider!r} failed: {type(error).__name__}: {said}", started=started)
