"""How the client waits and retries, and where it takes time, sleep and chance from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsFloat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def _new_id(prefix: str) -> str:
    import secrets

    return f"{prefix}_{secrets.token_hex(16)}"


async def _sleep(seconds: float) -> None:
    import anyio

    await anyio.sleep(seconds)


def _jitter() -> float:
    import secrets

    return secrets.randbelow(1000) / 1000


def seconds(value: object, name: str) -> float | None:
    """A span that a caller gave as `name`: a number of seconds, 0 or more, or None where it set no limit.

    0 asks once and waits for nobody. Raises TypeError and ValueError: a span that is none is the programmer's mistake,
    and must not read as a gateway that does not answer.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError(f"{name}: give seconds as a number, not {value!r}")
    given = float(value)
    if not 0 <= given < float("inf"):
        raise ValueError(f"{name}: give 0 seconds (ask once, and wait for nobody) or more; {value!r} is no such time")
    return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How the client waits and retries; spans in seconds."""

    hold: float = 30.0
    """One long-poll."""
    patience: float = 30.0
    """How long a call other than `wait` is tried again while the gateway is away."""
    margin: float = 30.0
    """How long after a request's deadline `wait` still hopes for the gateway's answer."""
    lookup: float = 20.0
    """How long an outcome that became unknown is still waited for: an executor may ask its tool what came of it."""
    connect: float = 5.0
    read: float = 10.0
    first_backoff: float = 0.2
    last_backoff: float = 10.0
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = _sleep
    jitter: Callable[[], float] = _jitter
    new_id: Callable[[str], str] = _new_id
