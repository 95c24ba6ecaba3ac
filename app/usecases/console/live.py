"""Tell open pages that something has moved, as it happens: of one request, or of any.

A page is a listener of its org's one feed: no thread of its own, and no query until something happens. What another
gateway does comes the same way as to whoever waits. Nothing is told but that it is time to look again, and looking asks
anew who may see what.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing
from typing import TYPE_CHECKING

from app.domain.errors import NotFoundError, TooManyError
from app.domain.people.people import email_key
from app.domain.trail.audit import Kind
from app.storage.requests.requests import find_request
from app.storage.trail.audit_chain import get_head
from app.usecases.reading.review import may_look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from app.domain.errors import AssentError
    from app.domain.trail.audit import AuditEvent
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Right
    from app.usecases.reading.follow import Feed

MOST_STREAMS = 4
"""Pages of one session that are told at once. The others say how old they are, and are loaded anew."""

QUIET_FOR = 0.8
"""Seconds after a page was told in which it is not told again: it looks a little later than that."""

LASTS = 600.0
"""Seconds after which a page comes back by itself, and is asked anew whose it is."""

_MOST_BEHIND = 200
_SEEING = frozenset({Kind.REVIEWED, Kind.TRAIL_READ})  # looking moves nothing


class Live:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, feed: Feed) -> None:
        """Take what it reads and whom it follows."""
        self._store = store
        self._book = book
        self._feed = feed
        self._of: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return how many pages are told now."""
        return self._of.total()

    async def follow(
        self, right: Right, request_id: str | None, *, since: int | None, still: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[int]:
        """Yield where the trail is, each time that something has moved behind `since`, as long as it is `still` theirs.

        `request_id` names the one request that the page shows; None: a page of any. Raises TooManyError,
        and NotFoundError for a request that it is not theirs to see.
        """

        def unit(tx: Tx) -> int | AssentError:
            request = find_request(tx, request_id) if request_id is not None else None
            theirs = right.request_id in {None, request_id}
            policy = self._book.current(right.org).policy
            seen = request is not None and may_look(request, policy, right.person, now=tx.now())
            return get_head(tx)[0] if theirs and (seen or request_id is None) else NotFoundError()

        if self._of[right.name] >= MOST_STREAMS or self._feed.crowded(right.name):
            raise TooManyError("too many open pages are told what moves, of all or of this session", retry_after=30)
        head = await self._store.read(unit, org=right.org)
        far = since is None or not head - _MOST_BEHIND <= since <= head
        return self._followed(right, request_id, head if far else since, far=far, still=still)

    async def _followed(
        self,
        right: Right,
        request_id: str | None,
        after: int | None,
        *,
        far: bool,
        still: Callable[[], Awaitable[bool]],
    ) -> AsyncIterator[int]:
        if self._of[right.name] >= MOST_STREAMS:  # several asked at once
            return
        self._of[right.name] += 1
        try:
            async with aclosing(self._feed.follow(right.org, after=after, who=right.name)) as events:
                if far and after is not None:
                    yield after  # it knows less than can be told: it looks again
                async for event in self._told(events, right, request_id, still):
                    yield event.seq
        finally:
            self._of -= Counter({right.name: 1})  # and nothing is kept of who has none

    async def _told(
        self,
        events: AsyncIterator[AuditEvent],
        right: Right,
        request_id: str | None,
        still: Callable[[], Awaitable[bool]],
    ) -> AsyncIterator[AuditEvent]:
        loop = asyncio.get_running_loop()
        until, again = loop.time() + LASTS, 0.0
        while (event := await _next(events, until)) is not None:
            ends, moves = _ends(event, right), _moves(event, request_id) and loop.time() >= again
            if (ends or moves) and not await still():
                return
            if moves:
                yield event
                again = loop.time() + QUIET_FOR


async def _next(events: AsyncIterator[AuditEvent], until: float) -> AuditEvent | None:
    try:
        async with asyncio.timeout_at(until):
            return await anext(events, None)
    except TimeoutError:
        return None


def _ends(event: AuditEvent, right: Right) -> bool:
    record = event.record
    if record.kind is Kind.SIGNED_OUT_BY:
        return record.facts["person"] == email_key(right.person)
    return record.kind is Kind.SIGNED_OUT and record.actor == right.person


def _moves(event: AuditEvent, request_id: str | None) -> bool:
    of = event.request_id
    return of is not None and request_id in {None, of} and event.record.kind not in _SEEING
