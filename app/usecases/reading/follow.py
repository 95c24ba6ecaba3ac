"""Follow an org's trail as it grows: one query an org and change, whoever many listen."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.domain.errors import UnavailableError
from app.domain.trail.audit import AuditEvent
from app.storage.trail.audit_chain import get_head, list_events
from app.usecases.reading.shares import Shares

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator

    from app.storage.engine.store import Store

_PAGE = 500
_SLOWEST = 1_000
"""Events that may wait for a slow listener; beyond, it is sent away and comes back with Last-Event-ID."""


@dataclass(slots=True, eq=False)
class _Listener:
    waiting: deque[AuditEvent] = field(default_factory=deque[AuditEvent])
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    lost: bool = False

    def behind(self, last: int) -> Iterator[AuditEvent]:
        """Hand out what waits, each event once and in order: what comes meanwhile as well."""
        while self.waiting:
            event = self.waiting.popleft()
            if event.seq > last:
                last = event.seq
                yield event


class Feed:
    """Who listens to which org, in this process."""

    def __init__(self, *, store: Store, most: int) -> None:
        """`most` listeners at once."""
        self._store = store
        self._places = Shares(most)
        self._listeners: dict[str, set[_Listener]] = {}
        self._sent: dict[str, int] = {}
        self._touched: set[str] = set()
        self._wake = asyncio.Event()
        self._stopping = False

    def __len__(self) -> int:
        """Return how many listen now."""
        return sum(map(len, self._listeners.values()))

    def crowded(self, who: str) -> bool:
        """Whether no more listeners are taken, or none with this key, which has its share."""
        return self._places.crowded(who, more=1)

    def touch(self, orgs: Iterable[str]) -> None:
        """Say that these orgs' trails have grown. Call it on the loop."""
        touched = self._listeners.keys() & set(orgs)
        if touched:
            self._touched |= touched
            self._wake.set()

    def touch_all(self) -> None:
        """Look at every org that somebody listens to: the slow poll."""
        self.touch(list(self._listeners))

    def stop(self) -> None:
        """Send every listener away; they come back with Last-Event-ID."""
        self._stopping = True
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.woken.set()

    async def run(self) -> None:
        """Read what is new, once an org, and hand it to its listeners; until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            touched, self._touched = self._touched, set()
            for org in touched:
                try:
                    await self._pump(org)
                except UnavailableError:
                    self._touched.add(org)  # the slow poll sets the wake again

    async def head(self, org: str) -> int:
        """Return the number of the last event of an org's trail; -1 for an empty one. Raises UnavailableError."""
        return (await self._store.read(get_head, org=org))[0]

    async def follow(self, org: str, *, after: int | None, who: str = "") -> AsyncGenerator[AuditEvent]:
        """Yield the org's events behind `after` (None: from now on), for as long as the caller listens.

        `who` is the key whose share of places this takes; beyond it nothing is told, and the caller comes back.
        """
        if self.crowded(who):
            return
        self._places.take(who)
        try:
            async for event in self._follow(org, after):
                yield event
        finally:
            self._places.give(who)

    async def _follow(self, org: str, after: int | None) -> AsyncIterator[AuditEvent]:
        listener = _Listener()
        head = await self._store.read(get_head, org=org)
        self._sent.setdefault(org, head[0])
        self._listeners.setdefault(org, set()).add(listener)
        try:
            last = head[0] if after is None else after
            while events := await self._store.read(
                lambda tx, seen=last: list_events(tx, after=seen, most=_PAGE), org=org, long=True
            ):
                for event in events:
                    yield event
                last = events[-1].seq
            while not (self._stopping or listener.lost):
                await listener.woken.wait()
                listener.woken.clear()
                for event in listener.behind(last):
                    last = event.seq
                    yield event
        finally:
            self._listeners[org].discard(listener)
            if not self._listeners[org]:
                del self._listeners[org]
                self._sent.pop(org, None)

    async def _pump(self, org: str) -> None:
        while org in self._listeners:
            sent = self._sent.get(org, -1)
            events = await self._store.read(
                lambda tx, sent=sent: list_events(tx, after=sent, most=_PAGE), org=org, long=True
            )
            if not events:
                return
            self._sent[org] = events[-1].seq
            for listener in self._listeners.get(org, ()):
                listener.waiting.extend(events)
                listener.lost = listener.lost or len(listener.waiting) > _SLOWEST
                listener.woken.set()
