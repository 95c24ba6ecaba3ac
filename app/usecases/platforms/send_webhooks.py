"""Tell receivers outside what the trail says, each event at least once, in order, and signed.

The trail is the outbox: an event stands in it if and only if what it tells of was committed, and in the order of the
commits. A receiver has a row that says how far it was told; whoever holds that row's lease sends the next event, and
moves it on only behind an answer of 2xx. So a gateway that is killed in between sends the same event again, under the
same id, and nothing is ever passed over: a receiver that is away, or refuses, is tried ever more rarely, said aloud
after a quarter of an hour, and has all of it when it is back. Only one that the file did not name for a while may find
that the trail was cut behind its back: what it missed is said, in the trail too, of which it is told like of the rest.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

import structlog
from msgspec import Struct
from msgspec.structs import replace

from app.domain.errors import AssentError
from app.domain.trail.audit import Kind, Record
from app.domain.trail.webhooks import body_of, headers_of
from app.failpoints import failpoint
from app.storage.requests.request_rows import find_trace
from app.storage.trail.audit_chain import list_events
from app.storage.trail.cuts import find_cut
from app.storage.trail.webhook_cursors import lock_cursor, put_cursor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.trail.audit import AuditEvent
    from app.domain.trail.webhooks import Webhook
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.trail.webhook_cursors import Cursor
    from app.telemetry.spans import Spans

log = structlog.get_logger(__name__)

ALARM_AFTER: Final = timedelta(minutes=15)
"""How long a receiver may take nothing before that is said aloud."""

_PAGE: Final = 100
_LEASE: Final = timedelta(seconds=30)  # longer than any attempt takes
_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_AT_ONCE: Final = 50  # events of one receiver in one round, so that the others have theirs
_ERROR_MOST: Final = 200


class NotTakenError(Exception):
    """A receiver did not take a message; `retry_after` is its own wish, where it has one."""

    def __init__(self, why: str, *, retry_after: timedelta | None = None) -> None:
        """Keep a short reason that holds nothing of what was answered."""
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


class Sender(Protocol):
    """Posts one message, to where the file says and nowhere else."""

    async def __call__(self, webhook: Webhook, body: bytes, headers: Mapping[str, str], /) -> None:
        """Return behind an answer of 2xx. Raises NotTakenError."""
        ...


class Failing(Struct, frozen=True, kw_only=True):
    """A receiver that takes nothing."""

    org: str
    webhook: str
    since: datetime
    why: str


class _Message(Struct, frozen=True, kw_only=True):
    """The next event that a receiver wants, under its lease; and the trace in which its request was submitted."""

    cursor: Cursor
    event: AuditEvent
    trace: str | None


class _Skipped(Struct, frozen=True, kw_only=True):
    """Events that a receiver was not told of, and that are not in the database any more."""

    first: int
    last: int


class SendWebhooks:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        clock: Clock,
        send: Sender,
        every: timedelta,
        spans: Spans | None = None,
    ) -> None:
        """Take what it works on. It looks when it is nudged, and at least once in `every`."""
        self._spans = spans
        self._store = store
        self._book = book
        self._clock = clock
        self._send = send
        self._every = every.total_seconds()
        self._nudged = asyncio.Event()
        self._has_receivers = True  # until it has looked
        self._failing: dict[tuple[str, str], Failing] = {}
        self._alarmed: set[tuple[str, str]] = set()

    @property
    def failing(self) -> tuple[Failing, ...]:
        """The receivers that took nothing when this gateway last looked."""
        return tuple(self._failing.values())

    def nudge(self) -> None:
        """Say that the trail has grown. Call it on the loop. With nobody to tell, nothing is woken at each commit."""
        if self._has_receivers:
            self._nudged.set()

    async def run(self) -> None:
        """Tell every receiver what it has not been told yet; until cancelled."""
        while True:
            self._nudged.clear()
            await self()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._nudged.wait()

    async def __call__(self) -> None:
        """Do so once. One that lets us wait holds up nobody else for longer than one message takes."""
        hooks = [(org, hook) for org in self._book.orgs() for hook in self._book.current(org).webhooks]
        self._has_receivers = bool(hooks)
        known = {(org, hook.name) for org, hook in hooks}
        self._failing = {key: failing for key, failing in self._failing.items() if key in known}
        async with asyncio.TaskGroup() as group:
            for org, hook in hooks:
                group.create_task(self._drain(org, hook))

    async def _drain(self, org: str, hook: Webhook) -> None:
        try:
            for _ in range(_AT_ONCE):
                if not await self._next(org, hook):
                    return
            self._nudged.set()
        except AssentError as error:  # the store is away: the lease runs out, and the event comes again
            log.warning("webhook.waits", webhook=hook.name, why=error.detail)

    async def _next(self, org: str, hook: Webhook) -> bool:
        """Send the next event that it wants; False: there is none, or it is not its turn."""
        taken = await self._store.write(lambda tx: self._take(tx, hook), org=org)
        if isinstance(taken, bool):
            return taken
        if isinstance(taken, _Skipped):
            log.critical("webhook.skipped", webhook=hook.name, first=taken.first, last=taken.last)
            return True
        cursor, event = taken.cursor, taken.event
        body = body_of(event)
        headers = headers_of(event.id, body, secrets=hook.secrets, now=self._clock.now())
        try:
            with self._spans.telling(hook.name, event, taken.trace) if self._spans else nullcontext() as carried:
                await self._send(hook, body, headers | (carried or {}))
        except NotTakenError as error:
            refusal = error
            missed = await self._store.write(lambda tx: self._missed(tx, cursor, refusal), org=org)
            self._note(org, hook, missed)
            return False
        failpoint("webhook.taken")
        await self._store.write(lambda tx: self._told(tx, cursor, event), org=org)
        self._note(org, hook, None)
        return True

    def _take(self, tx: Tx, hook: Webhook) -> _Message | _Skipped | bool:
        """Take the lease on the next event that a receiver wants, and pass over what it does not.

        False: there is nothing to do now; True: there is more of the trail to look at.
        """
        cursor = lock_cursor(tx, hook.name)
        now = tx.lock_now()
        if cursor.due_at > now:
            return False
        events = list_events(tx, after=cursor.seq, most=_PAGE)
        if not events:
            return False
        if events[0].seq > cursor.seq + 1:
            return _skip(tx, cursor, events[0].seq - 1)
        wanted = next((event for event in events if hook.wants(event.record.kind)), None)
        if wanted is None:
            put_cursor(tx, replace(cursor, seq=events[-1].seq))
            return True
        leased = replace(cursor, seq=wanted.seq - 1, due_at=now + _LEASE, attempts=cursor.attempts + 1)
        put_cursor(tx, leased)
        traced = self._spans is not None and wanted.request_id is not None
        return _Message(cursor=leased, event=wanted, trace=find_trace(tx, wanted.request_id) if traced else None)

    def _told(self, tx: Tx, mine: Cursor, event: AuditEvent) -> None:
        """Move on behind an event, unless somebody else has the lease by now and sends it again."""
        cursor = lock_cursor(tx, mine.name)
        if (cursor.seq, cursor.attempts) == (mine.seq, mine.attempts):
            put_cursor(
                tx, replace(cursor, seq=event.seq, attempts=0, due_at=tx.lock_now(), failing_since=None, error="")
            )

    def _missed(self, tx: Tx, mine: Cursor, refusal: NotTakenError) -> Cursor:
        """Come back later, ever more rarely."""
        cursor = lock_cursor(tx, mine.name)
        if (cursor.seq, cursor.attempts) != (mine.seq, mine.attempts):
            return cursor
        now = tx.lock_now()
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(cursor.attempts - 1, 10))
        again = now + max(pause, min(refusal.retry_after or pause, _LONGEST_PAUSE))
        since = cursor.failing_since or now
        missed = replace(cursor, due_at=again, failing_since=since, error=refusal.why[:_ERROR_MOST])
        put_cursor(tx, missed)
        return missed

    def _note(self, org: str, hook: Webhook, missed: Cursor | None) -> None:
        """Remember how it stands, and say it aloud once it has gone on for too long."""
        key = (org, hook.name)
        if missed is None or missed.failing_since is None:
            if self._failing.pop(key, None) and key in self._alarmed:
                log.info("webhook.taken_again", webhook=hook.name)
            self._alarmed.discard(key)
            return
        failing = Failing(org=org, webhook=hook.name, since=missed.failing_since, why=missed.error)
        self._failing[key] = failing
        if self._clock.now() - failing.since < ALARM_AFTER:
            log.warning("webhook.not_taken", webhook=hook.name, why=failing.why, attempts=missed.attempts)
        elif key not in self._alarmed:
            self._alarmed.add(key)
            log.critical("webhook.failing", webhook=hook.name, why=failing.why, since=failing.since.isoformat())


def _skip(tx: Tx, cursor: Cursor, last: int) -> _Skipped:
    """Go on behind what was cut off, and say what it was; while a cut is at its work, also what it will delete yet."""
    cut = find_cut(tx)
    skipped = _Skipped(first=cursor.seq + 1, last=max(last, cut.last) if cut else last)
    put_cursor(tx, replace(cursor, seq=skipped.last))
    facts: dict[str, object] = {"webhook": cursor.name, "first": skipped.first, "last": skipped.last}
    tx.append(Record(kind=Kind.WEBHOOK_SKIPPED, actor="system", facts=facts))
    return skipped
