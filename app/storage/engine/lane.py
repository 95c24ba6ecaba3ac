"""One thread with one connection: takes the units that wait, runs them in one transaction, answers after the commit.

Group commit: an fsync, or a round trip to the server, is paid once for up to `MOST` units. Nobody is answered before
the commit, and no unit waits for a batch to fill: an idle lane takes what is there, which is usually one.

When something raises, the batch is rolled back and its units run one by one, each in its own transaction, so that one
bad unit never fails its neighbours. Units may therefore run more than once and must have no effect outside their
transaction. A unit refuses by *returning* an error (its caller gets it raised): that is ordinary, and no rollback.

A database may go silent, and then the thread hangs. Whoever watches (`watch.py`) abandons the batch: its callers are
answered at once, its connection is cut, and what of it has not been committed by then never will be.
"""

from __future__ import annotations

import queue
import threading
import time
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

import structlog

from app.domain.errors import AssentError, UnavailableError
from app.failpoints import failpoint
from app.storage.engine import answers
from app.storage.engine.dialect import Failure
from app.storage.engine.transaction import EVERY_ORG, Batch, Tx
from app.storage.engine.trouble import Trouble, said_of, trouble_of
from app.storage.engine.unreadable import refuse_unreadable
from app.storage.statements.together import LostGuardError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.ports import IdFactory
    from app.storage.engine.answers import Job
    from app.storage.engine.dialect import Dialect
    from app.storage.engine.succession import Succession
    from app.storage.engine.transaction import Together

MOST = 128
"""Units in one commit at most: keeps the longest wait short."""
ENOUGH = 1.0
"""Seconds after which a batch begins no other unit: the rest is a commit of its own, right behind it.

A unit that reads waits after each answer for its turn among this process's threads, milliseconds where others are busy.
A hundred such units are slow, not silent: they must not come near `LONGEST`, which throws their work away.
"""
LONGEST = 8.0
"""Seconds from BEGIN to COMMIT at most.

A process that was frozen in between must not write when it thaws: its locks may be gone, and the instant that its units
decided at is long past. They decide anew.
"""
_MANY = 8
"""Units of a batch behind which their loop has its turns before the next one: it is about to hear of many answers."""
_MOST_OWN = 512
_IN_VAIN = 3
"""Failures of one batch to get a lock, after which the rest of it does not try."""
_TRIES = 5
"""How often a unit that lost a race decides anew before its caller is told to try later."""

log = structlog.get_logger(__name__)


class Lane:
    """A queue, a thread, a connection."""

    def __init__(
        self,
        dialect: Dialect,
        ids: IdFactory,
        *,
        together: Together,
        succession: Succession,
        write: bool,
        name: str,
        committed: Callable[[Batch], None],
        failed: Callable[[str], None],
        longest: float = LONGEST + 2,
    ) -> None:
        """Prepare; `start` begins. A batch that takes `longest` seconds is given up by whoever watches.

        `committed` is called on the lane's thread after each commit that changed something, `failed` with the kind of
        each error of the database.
        """
        self._dialect = dialect
        self._ids = ids
        self._together = together
        self._succession = succession
        self._is_new = False  # the connection has written nothing yet
        self._write = write
        self._committed = committed
        self._failed = failed
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._left: Sequence[Job] = ()  # what the batch before has not come to
        self._connection: Any = None
        self.longest = longest
        self.turn = 0
        """Counts batches begun and ended: odd while one runs."""
        self.trouble: Trouble | None = None
        """What keeps the database from being used; None once it has been seen to work again."""
        self._little = False  # patience with locks
        self._own: dict[str, object] = {}  # rows as its commits left them
        self._stamp: int | None = None  # another one: somebody else has written since
        self._scope: str | None = None  # the org whose rows the connection shows; None: nobody knows
        self._gate = threading.Lock()  # between this thread and whoever abandons its batch
        self._current: Sequence[Job] = ()
        self._ran: list[Job] = []
        self._abandoned = self._committing = False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        """Begin to serve. The first connection is made on the lane's own thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, then end the thread and close the connection. Blocks; call it off the loop."""
        self.jobs.put(None)
        self._thread.join()

    @property
    def backlog(self) -> int:
        """Return about how many units wait."""
        return self.jobs.qsize() + len(self._left)

    def submit(self, job: Job) -> None:
        """Queue a unit."""
        self.jobs.put(job)

    def abandon(self, turn: int) -> None:
        """Give up on the batch of this turn, if it still runs: answer its callers, and cut its connection.

        Whoever may have been committed is told that nobody knows. Safe to call from any thread.
        """
        with self._gate:
            if self.turn != turn or self._abandoned:
                return
            self._abandoned = True
            jobs, committing, connection = self._current, self._committing, self._connection
            if connection is not None:
                self._dialect.cut(connection)  # behind the gate: nobody closes it meanwhile
        self._failed(Trouble.SILENT.value)
        log.error("store.silent", units=len(jobs), committing=committing)
        answers.refuse_abandoned(jobs, committing=committing)

    def _serve(self) -> None:
        stopping = False
        while self._left or not stopping:
            # What was left comes alone, or whoever came later, of another org, could pass it time and again.
            jobs, self._left = list(self._left), ()
            if not jobs:
                jobs, stopping = self._next_jobs()
            if self._little or self.trouble is not None:
                jobs = answers.still_patient(jobs, self.trouble or Trouble.LOCKED)
            if not jobs:
                continue
            with self._gate:
                self.turn += 1
                self._current, self._abandoned, self._committing = jobs, False, False
            left = self._serve_batch(jobs)
            with self._gate:
                self.turn, self._current = self.turn + 1, ()
                if not self._abandoned:  # or they have been answered, too
                    self._left = left
        self._disconnect()

    def _next_jobs(self) -> tuple[list[Job], bool]:
        """Wait for a unit, and return it with those behind it; and whether it was the end."""
        jobs: list[Job] = []
        while not jobs or (len(jobs) < MOST and not self.jobs.empty()):
            if (job := self.jobs.get()) is None:
                return jobs, True
            if not jobs and self._write and len(self._ran) >= _MANY:
                answers.let_turn(job.loop)
            jobs.append(job)
        return jobs, False

    def _serve_batch(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Answer these units but for those, which are returned, that the batch has not come to."""
        try:
            self._transact(jobs)
        except Exception as error:  # noqa: BLE001 - whatever one unit did, its neighbours must still be answered
            self._serve_each(jobs, error)
            return ()
        _answer(self._ran)
        return sorted(jobs, key=_turn)[len(self._ran) :] if len(self._ran) < len(jobs) else ()

    def _serve_each(self, jobs: Sequence[Job], error: Exception) -> None:
        """Find out whose fault it was, unless it was nobody's: then all are told the same."""
        trouble = self._noted(error)
        common = isinstance(error, UnavailableError) or (trouble is not None and trouble is not Trouble.LOCKED)
        in_vain = int(trouble is Trouble.LOCKED)
        for job in jobs:
            if common or in_vain >= _IN_VAIN or len(jobs) == 1:
                self._serve_alone(job, failed_with=error)
            else:
                in_vain += self._serve_alone(job) is Trouble.LOCKED

    def _noted(self, error: Exception | None) -> Trouble | None:
        trouble = trouble_of(error) if error is not None else None
        if trouble is Trouble.LOCKED:  # a row or a table: that alone is no trouble of the whole database
            self._be_patient(little=True)
        elif trouble is not None:
            self.trouble = trouble
            self._disconnect()  # what has failed so is not asked again on the same connection
        return trouble

    def _be_patient(self, *, little: bool) -> None:
        if little is not self._little and self._connection is not None:
            try:
                self._dialect.patience(self._connection, little=little)
            except Exception:  # noqa: BLE001 - the next transaction will find out what is wrong with it
                self._disconnect()
                return
            self._little = little

    def _serve_alone(self, job: Job, *, failed_with: Exception | None = None) -> Trouble | None:
        """Run one unit in its own transaction, again while it loses races; return what kept it from the database."""
        error = failed_with
        for attempt in range(_TRIES):
            if self._abandoned:
                return None  # its caller has been answered
            if error is not None:
                hopeless = self._dialect.failure(error) is Failure.FATAL and not isinstance(error, LostGuardError)
                if hopeless or isinstance(error, UnavailableError):
                    break
                time.sleep(0.005 * attempt)  # this is the lane's own thread; the other side of the race needs a moment
            try:
                self._transact([job])
            except Exception as raised:  # noqa: BLE001 - it is classified above and handed to the caller
                error = raised
            else:
                _answer([job])
                return None
        trouble = self._noted(error)
        answers.refuse(job, answers.explained(error))
        return trouble

    def _transact(self, jobs: Sequence[Job], *, again: bool = False) -> None:
        together = self._together
        batch = Batch(own=self._own, seals=together.seals, vault=together.vault, writes=self._write, again=again)
        self._next_turn()
        connection = self._connected()
        began = time.monotonic()
        try:
            self._commit(connection, jobs, batch, began)
        except Exception as error:
            self._own.clear()
            failure = self._dialect.failure(error)
            if kind := answers.kind_of(error, failure):
                self._failed(kind)
            if failure is Failure.LOST:
                self._disconnect()
                if not self._committing:
                    raise
                # Returns only if the transaction committed. Once its callers have been answered, nobody asks any more.
                answers.learn_fate(self._dialect, batch.ticket, batch, error, given_up=lambda: self._abandoned)
            else:
                clear_frames(error.__traceback__)  # or a cursor that failed midway would hold on to what it saw
                self._roll_back()
                refuse_unreadable(error, batch.read)
                if not batch.relies or not answers.is_race(error, failure):
                    raise
                self._transact(jobs, again=True)  # all of it: what it relied on is locked now
                return
        if batch.changed:
            failpoint("commit.after")
        if self._write:
            self._is_new = False
            self._own.update(batch.leaves)
            while len(self._own) > _MOST_OWN:
                del self._own[next(iter(self._own))]
            batch.seconds = time.monotonic() - began
            self._committed(batch)
            if self._little:
                self._be_patient(little=False)

    def _next_turn(self) -> None:
        """Begin a turn for each transaction: many that go on, one after the other, are no hanging one."""
        with self._gate:
            if not self._abandoned:
                self.turn += 2
                self._committing = False

    def _commit(self, connection: Any, jobs: Sequence[Job], batch: Batch, began: float) -> None:
        with self._dialect.pipeline(connection):
            stamp = self._dialect.begin(connection, write=self._write)
            if stamp is None or stamp != self._stamp:
                self._own.clear()
            self._stamp = stamp
            self._run_units(connection, jobs, batch, began)
            if self._write and batch.ticket is None and self._dialect.beside:  # no unit has looked at the clock
                batch.ticket = self._dialect.clock(connection, write=True).ticket
            if batch.changed:
                failpoint("commit.before")
            if time.monotonic() - began > LONGEST:
                raise LostGuardError
            self._may_commit()
            if self._write or self._dialect.snapshots:  # it goes over with what was written last
                connection.execute("COMMIT")

    def _may_commit(self) -> None:
        """Pass the point of no return: a read whose COMMIT is not answered is read again. Raises UnavailableError."""
        with self._gate:
            if self._abandoned:
                raise UnavailableError(said_of(Trouble.SILENT))
            self._committing = self._write

    def _run_units(self, connection: Any, jobs: Sequence[Job], batch: Batch, began: float) -> None:
        if self._is_new and self._write and self._succession.resume is not None:
            # Before the rows are read: what it finds out decides what they may still do.
            self._succession.resume(self._tx(connection, EVERY_ORG, batch))
        if self._write and self._dialect.beside:  # else a writer's lock is one of the whole file, from its BEGIN
            self._together.foresee(self._tx(connection, jobs[0].org, batch))
        if self._write and len(jobs) > 1:
            answers.look_together(self._together, jobs, batch, lambda org: self._tx(connection, org, batch))
        self._ran = []
        for job in sorted(jobs, key=_turn):  # they came at the same time: any order is one that could have been
            if self._ran and time.monotonic() - began > ENOUGH:
                break
            self._ran.append(job)
            tx = self._tx(connection, job.org, batch)
            tx.traced = job.traced
            job.result = job.work(tx)
        for org, pending in sorted(batch.records.items()):
            tx = self._tx(connection, org, batch)
            self._together.append(tx, pending)
            tx.check_holds()
        if batch.gathered.tables:
            batch.gathered.send(connection, self._dialect, batch.changed)
        elif batch.changed:
            self._dialect.notify(connection, batch.changed)

    def _tx(self, connection: Any, org: str, batch: Batch) -> Tx:
        """Show the rows of an org; what was written for another one goes before that."""
        if org != self._scope:
            if batch.gathered.tables:
                batch.gathered.send(connection, self._dialect)
            self._dialect.scope(connection, org)
            self._scope = org
        return Tx(connection, self._dialect, self._ids, org, batch)

    def _connected(self) -> Any:
        if self._connection is None:
            try:
                self._connection = self._dialect.connect()
                self._dialect.prepare(self._connection)
                self._succession.meet(self._dialect.server(self._connection))
            except Exception as error:
                # Said to the whole batch at once: trying again for each of its callers would keep them all waiting.
                self._disconnect()
                self.trouble = trouble_of(error) or Trouble.UNREACHABLE
                self._failed(self.trouble.value)
                raise answers.unreachable(error, self.trouble) from error
            self._little, self._is_new = False, True
            if self.trouble in {Trouble.UNREACHABLE, Trouble.SUPERSEDED}:
                self.trouble = None
        return self._connection

    def _roll_back(self) -> None:
        self._scope = None
        try:
            # Not execute("ROLLBACK"): only this lets psycopg forget statements that a broken pipeline never prepared.
            self._connection.rollback()
        except Exception:  # noqa: BLE001 - a connection that cannot roll back is thrown away, which rolls back too
            self._disconnect()

    def _disconnect(self) -> None:
        self._scope = None
        self._own.clear()
        with self._gate:
            connection, self._connection = self._connection, None
        answers.close(connection)


def _turn(job: Job) -> tuple[str, bool]:
    """Order a batch by orgs; whoever seeks something stands first, for it was found before any of them wrote."""
    return job.org, job.seeks is None


def _answer(jobs: Sequence[Job]) -> None:
    """Resolve the callers' futures, with one wake-up of their loop for the whole batch."""
    for loop in {job.loop for job in jobs}:
        try:
            loop.call_soon_threadsafe(_resolve, [job for job in jobs if job.loop is loop])
        except RuntimeError:
            log.info("answer.dropped")  # the loop is closed: nobody waits any more


def _resolve(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():  # its caller was cancelled; the commit stands
            continue
        if isinstance(job.result, AssentError):
            job.future.set_exception(job.result)
        else:
            job.future.set_result(job.result)
