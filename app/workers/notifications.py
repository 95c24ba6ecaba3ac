"""Hear from the other replicas (PostgreSQL's LISTEN): which requests changed there.

Hints only; the rows are the truth.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import psycopg
import structlog

from app.domain.errors import UnavailableError
from app.storage.engine.line import bounds_of, cut
from app.storage.engine.trouble import Trouble, said_of
from app.storage.statements.payloads import CHANNEL, told_by_others

if TYPE_CHECKING:
    from collections.abc import Callable

_QUIET_FOR = 5.0
"""Seconds without a notification after which the connection is asked whether it still is one."""
_ANSWERS_WITHIN = 5.0

log = structlog.get_logger(__name__)


class Notifications:
    """One connection that listens."""

    def __init__(
        self, url: str, *, own: str, heard: Callable[[list[tuple[str, str]]], None], missed: Callable[[], None]
    ) -> None:
        """`heard` gets (org, request id) pairs; `missed` is called after each connection: look at everything once.

        `own` is this process's name as a sender: who waits here is told by itself, with what it wrote.
        """
        self._url = url
        self._own = own
        self._heard = heard
        self._missed = missed
        self._puzzled_until = 0.0

    async def run(self) -> None:
        """Listen until cancelled. Raises UnavailableError if the connection breaks; the supervisor starts it again."""
        try:
            await self._hear()
        except psycopg.OperationalError as error:
            raise UnavailableError(said_of(Trouble.UNREACHABLE)) from error

    async def _hear(self) -> None:
        connection = await psycopg.AsyncConnection.connect(self._url, autocommit=True, **bounds_of(self._url))
        async with connection:
            await self._listen(connection)
            log.info("notifications.connected")
            self._missed()
            while True:
                async for notification in connection.notifies(timeout=_QUIET_FOR):
                    self._take(notification.payload)
                await self._listen(connection)

    def _take(self, payload: str) -> None:
        """Pass on what is said; for what cannot be read, look at everything once, and not more often than it helps."""
        try:
            told = told_by_others(payload, own=self._own)
        except ValueError as error:
            now = time.monotonic()
            if now >= self._puzzled_until:
                self._puzzled_until = now + _QUIET_FOR
                log.warning("notifications.unreadable", why=str(error), size=len(payload))
                self._missed()
            return
        self._heard(told)

    async def _listen(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Say so (again), within a bound: a server that is silent sends no error, and nothing ever ends by itself."""
        bound = asyncio.get_running_loop().call_later(_ANSWERS_WITHIN, cut, connection)
        try:
            await connection.execute(f"LISTEN {CHANNEL}")
        finally:
            bound.cancel()
