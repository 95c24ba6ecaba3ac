"""How the client waits and retries, and where it takes time, sleep and chance from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
