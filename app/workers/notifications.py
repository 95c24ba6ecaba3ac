"""Hear from the other replicas (PostgreSQL's LISTEN): which requests changed there.

Hints only; the rows are the truth.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import psycopg
import structlog

from app.storage.engine.dialect import CHANNEL

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger(__name__)


class Notifications:
    """One connection that listens."""

    def __init__(self, url: str, *, heard: Callable[[list[tuple[str, str]]], None], missed: Callable[[], None]) -> None:
        """`heard` gets (org, request id) pairs; `missed` is called after each connection: look at everything once."""
        self._url = url
        self._heard = heard
        self._missed = missed

    async def run(self) -> None:
        """Listen until cancelled or the connection breaks; the supervisor starts it again."""
        connection = await psycopg.AsyncConnection.connect(self._url, autocommit=True, connect_timeout=5)
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            log.info("notifications.connected")
            self._missed()
            async for notification in connection.notifies():
                self._heard([(org, request_id) for org, request_id in json.loads(notification.payload)])
