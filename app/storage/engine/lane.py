"""One thread with one connection: takes the units that wait, runs them in one transaction, answers after the commit.

Group commit: an fsync, or a round trip to the server, is paid once for up to `MOST` units. Nobody is answered before
the commit, and no unit waits for a batch to fill: an idle lane takes what is there, which is usually one.

When something raises, the batch is rolled back and its units run one by one, each in its own transaction, so that one
bad unit never fails its neighbours. Units may therefore run more than once and must have no effect outside their
transaction. A unit refuses by *returning* an error (its caller gets it raised): refusals are ordinary and cost no
rollback.
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from app.domain.errors import AssentError, UnavailableError
from app.failpoints import failpoint
from app.storage.engine.dialect import CommitFate, Failure
from app.storage.engine.transaction import EVERY_ORG, Batch, LostGuardError, Tx

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from app.ports import IdFactory
    from app.storage.engine.dialect import Dialect
    from app.storage.engine.transaction import Together

MOST = 128
"""Units in one commit at most: keeps the longest wait short."""

LONGEST = 8.0
"""Seconds from BEGIN to COMMIT at most.

A process that was frozen in between must not write when it thaws: its locks may be gone, and the instant that its units
decided at is long past. They decide anew.
"""

_TRIES = 5
"""How often a unit that lost a race decides anew before its caller is told to try later."""

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class Job:
    """One unit on its way: what to run, in whose scope, and who waits for the answer."""

    work: Callable[[Tx], Any]
    org: str
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    about: str = ""
    result: Any = None


class Lane:
    """A queue, a thread, a connection."""

    def __init__(
        self,
        dialect: Dialect,
        ids: IdFactory,
        *,
        together: Together,
        write: bool,
        name: str,
        committed: Callable[[Batch], None],
    ) -> None:
        """Prepare; `start` begins.

        `committed` is called on the lane's thread after each commit that changed something.
        """
        self._dialect = dialect
        self._ids = ids
        self._together = together
        self._write = write
        self._committed = committed
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._connection: Any = None
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        """Begin to serve. The first connection is made on the lane's own thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, then end the thread and close the connection. Blocks; call it off the loop."""
        self._jobs.put(None)
        self._thread.join()

    @property
    def backlog(self) -> int:
        """Return about how many units wait."""
        return self._jobs.qsize()

    def submit(self, job: Job) -> None:
        """Queue a unit."""
        self._jobs.put(job)

    def _serve(self) -> None:
        stopping = False
        while not stopping:
            first = self._jobs.get()
            jobs = [] if first is None else [first]
            stopping = first is None
            while len(jobs) < MOST and not self._jobs.empty():
                job = self._jobs.get()
                if job is None:
                    stopping = True
                    break
                jobs.append(job)
            if jobs:
                self._serve_batch(jobs)
        self._disconnect()

    def _serve_batch(self, jobs: Sequence[Job]) -> None:
        try:
            self._transact(jobs)
        except Exception as error:  # noqa: BLE001 - whatever one unit did, its neighbours must still be answered
            if len(jobs) > 1 and not isinstance(error, UnavailableError):
                for job in jobs:
                    self._serve_alone(job)
                return
            for job in jobs:
                self._serve_alone(job, failed_with=error)
            return
        _answer(jobs)

    def _serve_alone(self, job: Job, *, failed_with: Exception | None = None) -> None:
        """Run one unit in its own transaction, again while it loses races."""
        error = failed_with
        for attempt in range(_TRIES):
            if error is not None:
                if isinstance(error, UnavailableError) or self._hopeless(error):
                    break
                time.sleep(0.005 * attempt)  # this is the lane's own thread; the other side of the race needs a moment
            try:
                self._transact([job])
            except Exception as raised:  # noqa: BLE001 - it is classified above and handed to the caller
                error = raised
            else:
                _answer([job])
                return
        _refuse(job, _explained(error))

    def _hopeless(self, error: Exception) -> bool:
        return not isinstance(error, LostGuardError) and self._dialect.failure(error) is Failure.FATAL

    def _transact(self, jobs: Sequence[Job]) -> None:
        batch = Batch(seals=self._together.seals)
        connection = self._connected()
        began = time.monotonic()
        ticket: str | None = None
        committing = False
        try:
            with self._dialect.pipeline(connection):
                learn_ticket = self._dialect.begin(connection, write=self._write)
                self._run_units(connection, jobs, batch)
                if self._write:
                    self._dialect.notify(connection, batch.changed)
            batch.check_guards()
            ticket = learn_ticket()
            if batch.changed:
                failpoint("commit.before")
            _refuse_if_frozen(began)
            committing = self._write  # a read whose COMMIT was not answered is simply read again
            connection.execute("COMMIT")
        except Exception as error:
            if self._dialect.failure(error) is Failure.LOST:
                self._disconnect()
                if not committing:
                    raise
                self._learn_fate(ticket, _witness(batch), error)  # returns only if the transaction committed
            else:
                self._roll_back()
                raise
        if batch.changed:
            failpoint("commit.after")
        if self._write:
            self._committed(batch)

    def _run_units(self, connection: Any, jobs: Sequence[Job], batch: Batch) -> None:
        scope = self._lock_together(connection, jobs, batch)
        for job in jobs:
            if job.org != scope:
                scope = job.org
                self._dialect.scope(connection, scope)
            job.result = job.work(Tx(connection, self._dialect, self._ids, job.org, batch))
        for org, pending in sorted(batch.records.items()):
            if org != scope:
                scope = org
                self._dialect.scope(connection, scope)
            tx = Tx(connection, self._dialect, self._ids, org, batch)
            self._together.append(tx, pending)
            tx.check_holds()

    def _lock_together(self, connection: Any, jobs: Sequence[Job], batch: Batch) -> str | None:
        """Lock and read what the units were handed in for, all at once; return the scope this left."""
        named = sorted({job.about for job in jobs if job.about})
        if not self._write or len(named) < 2:
            return None
        self._dialect.scope(connection, EVERY_ORG)
        tx = Tx(connection, self._dialect, self._ids, EVERY_ORG, batch)
        batch.locked, batch.locked_at = self._together.lock(tx, named)
        return EVERY_ORG

    def _learn_fate(self, ticket: str | None, witness: str | None, error: Exception) -> None:
        """Find out whether an unanswered COMMIT took place, instead of guessing or repeating it."""
        for attempt in range(6):
            try:
                fate = self._dialect.fate(ticket, witness)
            except Exception:  # noqa: BLE001 - the server may be restarting: ask again, then give up loudly
                fate = CommitFate.UNKNOWN
            match fate:
                case CommitFate.COMMITTED:
                    log.warning("commit.confirmed", transaction=ticket)
                    return
                case CommitFate.ABORTED:
                    raise error
                case CommitFate.UNKNOWN:
                    time.sleep(0.1 * 2**attempt)
        log.error("commit.unanswered", transaction=ticket)
        raise UnavailableError(
            "the database did not say whether it committed; read the state before you repeat the call"
        )

    def _connected(self) -> Any:
        if self._connection is None:
            try:
                self._connection = self._dialect.connect()
            except Exception as error:
                # Said to the whole batch at once: trying again for each of its callers would keep them all waiting.
                log.error("store.unreachable", error=type(error).__name__)  # noqa: TRY400 - an outage, not a defect
                raise UnavailableError("the database cannot be reached", retry_after=2) from error
        return self._connection

    def _roll_back(self) -> None:
        try:
            # Not execute("ROLLBACK"): only this also lets psycopg forget statements that a broken pipeline never
            # prepared.
            self._connection.rollback()
        except Exception:  # noqa: BLE001 - a connection that cannot roll back is thrown away, which rolls back too
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # noqa: BLE001 - it is broken already
                log.info("connection.dropped")


def _witness(batch: Batch) -> str | None:
    """Return the id of an event that this batch alone writes: if its row is there, the batch has committed."""
    return next((pending.id for records in batch.records.values() for pending in records), None)


def _refuse_if_frozen(began: float) -> None:
    if time.monotonic() - began > LONGEST:
        raise LostGuardError


def _explained(error: Exception | None) -> Exception:
    """Turn a database's error into ours; a mistake in a unit stays what it is."""
    if error is None or isinstance(error, AssentError):
        return error or UnavailableError()
    if type(error).__module__.partition(".")[0] in {"sqlite3", "psycopg"}:
        log.error("store.failed", error=type(error).__name__, detail=str(error).splitlines()[0] if str(error) else "")
        return UnavailableError("the database cannot be used right now")
    if isinstance(error, LostGuardError):
        return UnavailableError("too many changes of the same request at once")
    return error


def _answer(jobs: Sequence[Job]) -> None:
    """Resolve the callers' futures, with one wake-up of their loop for the whole batch."""
    by_loop: dict[Any, list[Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, answered in by_loop.items():
        _call(loop, _resolve, answered)


def _resolve(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():  # its caller was cancelled; the commit stands
            continue
        if isinstance(job.result, AssentError):
            job.future.set_exception(job.result)
        else:
            job.future.set_result(job.result)


def _refuse(job: Job, error: Exception) -> None:
    def fail() -> None:
        if not job.future.done():
            job.future.set_exception(error)

    _call(job.loop, fail)


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *arguments: object) -> None:
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        log.info("answer.dropped")  # the loop is closed: nobody waits any more
