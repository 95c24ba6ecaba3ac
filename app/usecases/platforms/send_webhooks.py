"""Tell receivers outside what the trail says, each event at least once, in order, and signed.

The trail is the outbox: an event stands in it if and only if what it tells of was committed, and in the order of the
commits. A receiver has a row that says how far it was told; whoever holds that row's lease sends the next event, and
moves it on only behind an answer of 2xx. So a gateway that is killed in between sends the same event again, under the
same id, and nothing is ever passed over: a receiver that is away, or refuses, is tried ever more rarely, said aloud
after a quarter of an hour, and has all of it when it is back. Only one that the file did not name for a while may find
that the trail was cut behind its back: what it missed is said, in the trail too, of which it is told like of the rest.

Each receiver has a task of its own, that is woken when the trail has grown and at each tick, and looks at its own row:
one that lets us wait holds up nobody else. Only how many are sent to at once is bounded, over all of them.
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
from app.storage.trail.webhook_cursors import Cursor, lock_cursor, put_cursor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.trail.audit import AuditEvent
    from app.domain.trail.webhooks import Webhook
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.telemetry.spans import Spans

log = structlog.get_logger(__name__)

ALARM_AFTER: Final = timedelta(minutes=15)
"""How long a receiver may take nothing before that is said aloud."""

_PAGE: Final = 100
_LEASE: Final = timedelta(seconds=30)  # longer than any attempt takes
_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_AT_ONCE: Final = 64  # receivers, of all orgs, that are sent to at one time
_LONG: Final = timedelta(seconds=5)  # without an answer: it takes nothing, whatever it answers in the end
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
        self._woken: dict[tuple[str, str], asyncio.Event] = {}  # of each receiver that has a task
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._sent_at: dict[tuple[str, str], datetime] = {}  # what has no answer yet
        self._failing: dict[tuple[str, str], Failing] = {}
        self._alarmed: set[tuple[str, str]] = set()

    @property
    def failing(self) -> tuple[Failing, ...]:
        """The receivers that took nothing when this gateway last looked, and those that let it wait for long now."""
        now = self._clock.now()
        waited_for = {
            (org, name): Failing(org=org, webhook=name, since=since, why="no answer yet")
            for (org, name), since in self._sent_at.items()
            if now - since >= _LONG
        }
        return tuple((waited_for | self._failing).values())

    def nudge(self) -> None:
        """Say that the trail has grown. Call it on the loop. With nobody to tell, nothing is woken at each commit."""
        if self._has_receivers:
            self._nudged.set()

    async def run(self) -> None:
        """Tell every receiver what it has not been told yet, each at its own pace; until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._nudged.clear()
                for key in self._named() - self._woken.keys():
                    self._woken[key] = asyncio.Event()
                    group.create_task(self._keep(*key))
                for woken in self._woken.values():  # also of one that is not named any more: it ends
                    woken.set()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._nudged.wait(), self._every)

    async def __call__(self) -> None:
        """Tell every receiver what waits for it now, once, and return when all of them have had their turn."""
        async with asyncio.TaskGroup() as group:
            for key in self._named():
                group.create_task(self._drain(*key))

    def _named(self) -> set[tuple[str, str]]:
        """Return every receiver of today's files, and forget how others stood."""
        named = {(org, hook.name) for org in self._book.orgs() for hook in self._book.current(org).webhooks}
        self._has_receivers = bool(named)
        self._failing = {key: failing for key, failing in self._failing.items() if key in named}
        return named

    def _find(self, org: str, name: str) -> Webhook | None:
        """Return a receiver as the file has it now."""
        hooks = self._book.current(org).webhooks if org in self._book.orgs() else ()
        return next((hook for hook in hooks if hook.name == name), None)

    async def _keep(self, org: str, name: str) -> None:
        """Tell one receiver whenever it is woken, for as long as the file names it."""
        woken = self._woken[org, name]
        try:
            while self._find(org, name) is not None:
                await woken.wait()
                woken.clear()
                try:
                    await self._drain(org, name)
                except Exception:  # a defect of one receiver's is no other's
                    log.exception("webhook.failed", webhook=name)
        finally:
            del self._woken[org, name]

    async def _drain(self, org: str, name: str) -> None:
        """Send one receiver what it wants, an event at a time, until there is nothing to do for now."""
        try:
            more = True
            while more and (hook := self._find(org, name)):
                async with self._places:  # before the lease, which runs
                    more = await self._next(org, hook)
        except AssentError as error:  # the store is away: the lease runs out, and the event comes again
            log.warning("webhook.waits", webhook=name, why=error.detail)

    async def _next(self, org: str, hook: Webhook) -> bool:
        """Send the next event that it wants; False: there is none, or it is not its turn."""
        taken = await self._store.write(lambda tx: self._take(tx, hook), org=org)
        if isinstance(taken, Cursor):
            self._stands(org, hook, taken)
            return False
        if taken is None:
            return True
        if isinstance(taken, _Skipped):
            log.critical("webhook.skipped", webhook=hook.name, first=taken.first, last=taken.last)
            return True
        cursor, event = taken.cursor, taken.event
        body = body_of(event)
        headers = headers_of(event.id, body, secrets=hook.secrets, now=self._clock.now())
        self._sent_at[org, hook.name] = self._clock.now()
        try:
            with self._spans.telling(hook.name, event, taken.trace) if self._spans else nullcontext() as carried:
                await self._send(hook, body, headers | (carried or {}))
        except NotTakenError as error:
            refusal = error
            missed = await self._store.write(lambda tx: self._missed(tx, cursor, refusal), org=org)
            self._note(org, hook, missed)
            return False
        finally:
            self._sent_at.pop((org, hook.name), None)
        failpoint("webhook.taken")
        await self._store.write(lambda tx: self._told(tx, cursor, event), org=org)
        self._well(org, hook)
        return True

    def _take(self, tx: Tx, hook: Webhook) -> _Message | _Skipped | Cursor | None:
        """Take the lease on the next event that a receiver wants, and pass over what it does not.

        A cursor: there is nothing to do now, and it stands so; None: there is more of the trail to look at.
        """
        cursor = lock_cursor(tx, hook.name)
        now = tx.lock_now()
        if cursor.due_at > now:
            return cursor
        events = list_events(tx, after=cursor.seq, most=_PAGE)
        if not events:
            return cursor
        if events[0].seq > cursor.seq + 1:
            return _skip(tx, cursor, events[0].seq - 1)
        wanted = next((event for event in events if hook.wants(event.record.kind)), None)
        if wanted is None:
            put_cursor(tx, replace(cursor, seq=events[-1].seq))
            return None
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
        since = cursor.failing_since or cursor.due_at - _LEASE  # when the first of these attempts began
        missed = replace(cursor, due_at=again, failing_since=since, error=refusal.why[:_ERROR_MOST])
        put_cursor(tx, missed)
        return missed

    def _note(self, org: str, hook: Webhook, missed: Cursor) -> None:
        """Remember how it stands after a miss, and say it aloud once it has gone on for too long."""
        self._stands(org, hook, missed)
        failing = self._failing.get(key := (org, hook.name))
        if failing is None:
            return
        if self._clock.now() - failing.since < ALARM_AFTER:
            log.warning("webhook.not_taken", webhook=hook.name, why=failing.why, attempts=missed.attempts)
        elif key not in self._alarmed:
            self._alarmed.add(key)
            log.critical("webhook.failing", webhook=hook.name, why=failing.why, since=failing.since.isoformat())

    def _stands(self, org: str, hook: Webhook, cursor: Cursor) -> None:
        """Remember how a receiver stands, whichever gateway has sent to it last."""
        if cursor.failing_since is None:
            self._well(org, hook)
            return
        failing = Failing(org=org, webhook=hook.name, since=cursor.failing_since, why=cursor.error)
        self._failing[org, hook.name] = failing

    def _well(self, org: str, hook: Webhook) -> None:
        """Remember that a receiver takes what it is told."""
        if self._failing.pop(key := (org, hook.name), None) and key in self._alarmed:
            log.info("webhook.taken_again", webhook=hook.name)
        self._alarmed.discard(key)


def _skip(tx: Tx, cursor: Cursor, last: int) -> _Skipped:
    """Go on behind what was cut off, and say what it was; while a cut is at its work, also what it will delete yet."""
    cut = find_cut(tx)
    skipped = _Skipped(first=cursor.seq + 1, last=max(last, cut.last) if cut else last)
    put_cursor(tx, replace(cursor, seq=skipped.last))
    facts: dict[str, object] = {"webhook": cursor.name, "first": skipped.first, "last": skipped.last}
    tx.append(Record(kind=Kind.WEBHOOK_SKIPPED, actor="system", facts=facts))
    return skipped
