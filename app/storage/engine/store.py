"""The one door to the database: `await store.write(work)` and `await store.read(work)`.

A unit of work is a plain synchronous function `work(tx) -> result`, run on a lane's thread: nothing can be awaited in
it, so no network call, hook or channel can slip into a transaction. See `lane.py` for how units share a commit.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from app.domain.errors import AssentError, UnavailableError
from app.storage.engine.answers import Job
from app.storage.engine.lane import Lane
from app.storage.engine.succession import Succession
from app.storage.engine.trouble import Trouble, said_of
from app.storage.engine.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from app.ports import IdFactory
    from app.storage.engine.dialect import Dialect
    from app.storage.engine.transaction import Batch, Link, Together, Tx
    from app.telemetry.spans import Spans

T = TypeVar("T")

_MOST_WAITING = 20_000
"""Units that may wait for one lane: when the database hangs, callers are told so instead of being piled up."""


_MOST_REMEMBERED = 10_000
"""Events of an org that are remembered as committed: of what was lost before them it is known only that it was."""

_LONGEST_READ = 120.0
"""Seconds that a long read may take: a whole trail is verified in one."""


class Store:
    """Lanes for writing and reading, and those who want to know what a commit changed."""

    def __init__(self, dialect: Dialect, ids: IdFactory, *, together: Together) -> None:
        """Prepare the lanes; `start` opens them. `make_store` says what the units of a commit do together."""
        self.succession = Succession()

        def lane(name: str, *, write: bool = False, **more: float) -> Lane:
            return Lane(
                dialect,
                ids,
                together=together,
                succession=self.succession,
                write=write,
                name=name,
                committed=self._committed,
                failed=self._count,
                **more,
            )

        self.dialect = dialect
        self.seals = together.seals
        self._failed: Callable[[str], object] = str  # nobody counts yet
        self._listeners: list[tuple[asyncio.AbstractEventLoop, Callable[[Batch], None]]] = []
        self.vault = together.vault
        self._tails: dict[str, deque[Link]] = defaultdict(lambda: deque(maxlen=_MOST_REMEMBERED))
        # One writer on PostgreSQL too: the head of an org's trail orders its commits anyway, so a second one only makes
        # the batches smaller, or waits for the interpreter (docs/scale.md has three kinds of it), and could deadlock.
        self._writer = lane("store-write", write=True)
        # One lane for the short reads of single requests, which then share a transaction, and one for everything long.
        self._reader = lane("store-read")
        self._long_reader = lane("store-read-long", longest=_LONGEST_READ)
        self._lanes = (self._writer, self._reader, self._long_reader)
        self._watch = Watch(dialect, self._lanes)
        self._open = False
        self.spans: Spans | None = None
        """What opens a span for each unit; None where nobody traces."""

    def on_commit(self, listener: Callable[[Batch], None]) -> None:
        """Call `listener` on the loop that runs now after each commit that leaves something to be done."""
        self._listeners.append((asyncio.get_running_loop(), listener))

    def on_failure(self, listener: Callable[[str], object]) -> None:
        """Call `listener`, on the thread of a lane, with the kind of each error of the database."""
        self._failed = listener

    def start(self) -> None:
        """Start the lanes' threads."""
        for lane in self._lanes:
            lane.start()
        self._watch.start()
        self._open = True

    @property
    def trouble(self) -> Trouble | None:
        """What keeps the database from being used, as far as is known; None: nothing."""
        return self._watch.trouble or self._writer.trouble or self._reader.trouble

    def backlog(self) -> dict[str, int]:
        """Return how many units wait for each lane, by its name."""
        lanes = {"write": self._writer, "read": self._reader, "read_long": self._long_reader}
        return {name: lane.backlog for name, lane in lanes.items()}

    def note(self, trouble: Trouble | None) -> None:
        """Remember what kept somebody from writing to what matters, if anything is known of it."""
        self._writer.trouble = trouble or self._writer.trouble

    def heal(self) -> None:
        """Forget what the trouble was: a write to all that matters has been seen to work."""
        for lane in self._lanes:
            lane.trouble = None

    def tails(self) -> Mapping[str, Sequence[Link]]:
        """Return the newest events of each org that were answered as committed. For the writing lane alone."""
        return {org: tuple(tail) for org, tail in self._tails.items()}

    async def stop(self) -> None:
        """Finish what is queued and close the connections."""
        self._open = False
        for lane in self._lanes:
            await asyncio.to_thread(lane.stop)
        await asyncio.to_thread(self._watch.stop)  # last: a lane that hangs could not be stopped without it

    async def write(
        self, work: Callable[[Tx], T | AssentError], *, org: str, about: str = "", seeks: Hashable = None
    ) -> T:
        """Run a unit that may change something, in the scope of one org; return after its commit.

        `about` names what the unit will lock (the id of a request), where it is known: what the units of a batch are
        about is locked and read together. What it `seeks` is found together, too, before any of them writes. Raises
        what the unit returned as a refusal, or UnavailableError.
        """
        return await self._through(self._writer, work, org, about, seeks)

    async def read(self, work: Callable[[Tx], T | AssentError], *, org: str, long: bool = False) -> T:
        """Run a unit that only reads; `long` ones (lists, pages, sweeps) do not keep the short ones waiting."""
        return await self._through(self._long_reader if long else self._reader, work, org)

    async def _through(
        self, lane: Lane, work: Callable[[Tx], T | AssentError], org: str, about: str = "", seeks: Hashable = None
    ) -> T:
        if not self._open:
            raise UnavailableError("the gateway is stopping")
        if lane.backlog > _MOST_WAITING:
            raise UnavailableError("too much waits for the database", retry_after=2)
        if self._watch.trouble is not None:
            raise UnavailableError(said_of(self._watch.trouble), retry_after=2)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        job = Job(work, org, loop, future, about, seeks, since=loop.time())
        if self.spans is None:
            lane.submit(job)
            return await future
        with self.spans.transaction("write" if lane is self._writer else "read", self.dialect.name) as job.traced:
            lane.submit(job)
            return await future

    def _count(self, kind: str) -> None:
        self._failed(kind)

    def _committed(self, batch: Batch) -> None:
        if batch.has_forked:
            self._tails.clear()
        for link in batch.linked:
            self._tails[link.org].append(link)
        if not (batch.changed or batch.outbox_filled or batch.records):
            return
        for loop, listener in self._listeners:
            with suppress(RuntimeError):  # the loop is closed: nobody is left to wake
                loop.call_soon_threadsafe(listener, batch)
