"""Questions without consequences, for the API and the command line. Looking at a thing never changes it."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from app.domain.errors import InvalidError, NotFoundError, UnavailableError, UnsealedError
from app.domain.request.quorum import count
from app.storage.cards.outbox import count_by_status, oldest_queued
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import EVERY_ORG
from app.storage.engine.trouble import Trouble, said_of
from app.storage.requests.request_lists import END_OF_TIME, count_open, list_requests, oldest_pending
from app.storage.requests.requests import find_request
from app.storage.requests.seen_before import find_key
from app.storage.trail.audit_chain import get_head, list_events, list_of_request
from app.storage.trail.policy_versions import find_policy
from app.usecases.pauses.stop_paused import pause_shown
from app.usecases.reading.evidence import find_piece
from app.usecases.reading.warned import WarnedBefore
from app.usecases.voters.electorate import voters_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from app.domain.request.quorum import Tally
    from app.domain.request.request import ConfirmationRequest
    from app.domain.trail.audit import AuditEvent
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.sessions.switches import Switch
    from app.usecases.reading.evidence import Piece
    from app.usecases.reading.warned import Warned

    Runs = Callable[[str], bool]
    """Which tools an executor's key may run."""

T = TypeVar("T")

_COUNTED_FOR = 30.0
_KEY = "query.idempotency_key"
_ANSWERS_WITHIN = 3.0
"""Seconds in which the database must answer for the gateway to be ready."""


def place_of(request: ConfirmationRequest) -> tuple[int, str]:
    """Return where a request stands in the list, for `Read.page` to go on behind it."""
    return to_us(request.created_at), request.id


class Standing(Struct, frozen=True, kw_only=True):
    """What is owed: errands by status, requests by state, and for how many seconds the oldest of each waits."""

    outbox: Mapping[str, int] | None
    requests: Mapping[str, int] | None
    oldest: Mapping[str, float]


def _waits(since_of: Callable[[Tx], datetime | None]) -> Callable[[Tx], float]:
    """Return a unit that says for how many seconds something has waited."""

    def unit(tx: Tx) -> float:
        since = since_of(tx)
        return max(0.0, (tx.now() - since).total_seconds()) if since else 0.0

    return unit


class Read:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._warned = WarnedBefore()
        self._counted: tuple[float, Mapping[str, int] | None] | None = None

    async def get(
        self, org: str, request_id: str, *, agent: str | None, runs: Runs | None = None
    ) -> ConfirmationRequest:
        """Return a request; `agent` (None for people) must be the one that asked. Raises NotFoundError.

        `runs`: unless it is an executor's to run, it is as unknown as any other.
        """
        request = await self._store.read(lambda tx: find_request(tx, request_id), org=org)
        if request is None or (agent is not None and request.call.agent != agent):
            raise NotFoundError
        if runs is not None and not (request.enforced and runs(request.call.tool)):
            raise NotFoundError
        return request

    async def file_of(
        self, org: str, request_id: str, number: str, *, agent: str | None, runs: Runs | None = None
    ) -> Piece:
        """Return one file of a request's evidence to whoever may `get` the request.

        Raises NotFoundError, and UnsealedError for a file that is not what was sent.
        """
        request = await self.get(org, request_id, agent=agent, runs=runs)
        return await self._store.read(lambda tx: find_piece(tx, request, number), org=org, long=True)

    async def is_of_agent(self, org: str, request_id: str, agent: str) -> bool:
        """Say whether a request was asked by this agent."""
        request = await self._store.read(lambda tx: find_request(tx, request_id), org=org)
        return request is not None and request.call.agent == agent

    async def page(
        self,
        org: str,
        *,
        filters: Mapping[str, str],
        only_open: bool,
        before: tuple[int, str] | None,
        most: int,
        runs: Runs | None = None,
    ) -> list[ConfirmationRequest]:
        """Return requests, newest first, behind the place of the last one seen; `runs`: only an executor's to run."""
        flags = tuple(name for name, on in (("open", only_open), ("enforced", runs is not None)) if on)
        found: list[ConfirmationRequest] = []
        start = before or (END_OF_TIME, "")
        while True:
            seen = await self._store.read(
                partial(list_requests, filters=filters, flags=flags, before=start, most=most), org=org, long=True
            )
            found += [each for each in seen if runs is None or runs(each.call.tool)]
            if len(seen) < most or len(found) >= most:
                return found[:most]
            start = place_of(seen[-1])

    async def under_key(self, org: str, *, agent: str | None, idempotency_key: str) -> list[ConfirmationRequest]:
        """Return the request for which an agent's idempotency key stands, if there is one: nothing is opened by asking.

        Raises InvalidError for whoever is no agent: a key is one agent's.
        """
        if agent is None:
            raise InvalidError("an idempotency key is an agent's: it is asked for with that agent's key", path=_KEY)

        def unit(tx: Tx) -> list[ConfirmationRequest]:
            known = find_key(tx, agent, idempotency_key)
            request = find_request(tx, known[1]) if known is not None else None
            return [] if request is None else [request]

        return await self._store.read(unit, org=org)

    async def trail(self, org: str, *, after: int, most: int) -> tuple[list[AuditEvent], tuple[int, str]]:
        """Return a page of the org's trail and its head, as it was no later than the page."""

        def unit(tx: Tx) -> tuple[list[AuditEvent], tuple[int, str]]:
            head = get_head(tx)  # first: on PostgreSQL each statement sees a little more than the one before
            return list_events(tx, after=after, most=most), head

        return await self._store.read(unit, org=org, long=True)

    async def story(self, org: str, request_id: str) -> list[AuditEvent]:
        """Return what the trail says of one request."""
        return await self._store.read(lambda tx: list_of_request(tx, request_id), org=org, long=True)

    async def policy_text(self, org: str, version: str) -> str:
        """Return the configuration of a version, as it was written. Raises NotFoundError."""
        text = await self._store.read(lambda tx: find_policy(tx, version), org=org)
        if text is None:
            raise NotFoundError
        return text

    async def answers(self) -> None:
        """Make sure that the database answers and takes writes. Raises UnavailableError, within a few seconds."""
        if (trouble := self._store.trouble) is not None:
            raise UnavailableError(said_of(trouble), retry_after=2)
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN):
                await self._store.read(lambda tx: tx.now(), org=EVERY_ORG)
        except TimeoutError:
            raise UnavailableError(said_of(Trouble.SILENT), retry_after=2) from None

    @property
    def trouble(self) -> Trouble | None:
        """What keeps the database from being used, as far as is known."""
        return self._store.trouble

    async def standing(self) -> Standing:
        """Return how much of what is owed, over all orgs. Requests are counted twice a minute at most.

        A figure that a row spoils which no gateway wrote is left out.
        """
        counted = self._counted
        if counted is None or time.monotonic() - counted[0] > _COUNTED_FOR:
            counted = time.monotonic(), await self._figure(count_open)
            self._counted = counted
        outbox, pending, queued = await asyncio.gather(
            self._figure(count_by_status), self._figure(_waits(oldest_pending)), self._figure(_waits(oldest_queued))
        )
        oldest = {name: seconds for name, seconds in (("pending", pending), ("outbox", queued)) if seconds is not None}
        return Standing(outbox=outbox, requests=counted[1], oldest=oldest)

    async def _figure(self, of: Callable[[Tx], T]) -> T | None:
        """Read one figure by itself. None: a row that no gateway wrote is in the way, and the log names it."""
        try:
            return await self._store.read(of, org=EVERY_ORG, long=True)
        except UnsealedError:
            return None

    def backlog(self) -> dict[str, int]:
        """Return how many units wait for each lane of the store."""
        return self._store.backlog()

    async def warned(self, org: str, requests: Sequence[ConfirmationRequest]) -> list[tuple[Warned, ...]]:
        """Return what people are warned of, for each request, and what keeps it from running now."""
        policy = self._book.current(org).policy

        def unit(tx: Tx) -> list[Switch | None]:
            return [pause_shown(tx, request) for request in requests]

        waiting = any(not request.status.final for request in requests)
        bound = await self._store.read(unit, org=org, long=len(requests) > 1) if waiting else [None] * len(requests)
        return await self._warned.of(requests, policy, bound)

    def tally(self, request: ConfirmationRequest) -> Tally:
        """Count a request's standing approvals by today's configuration."""
        policy = self._book.current(request.call.org).policy
        return count(request.stages, request.decisions, voters_shown(request, policy))
