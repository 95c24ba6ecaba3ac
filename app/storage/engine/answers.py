"""Units on their way: what they begin with together, and what is told when the database fails to answer."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from app.domain.errors import AssentError, UnavailableError, UnsealedError
from app.storage.engine.dialect import CommitFate, Failure
from app.storage.engine.transaction import EVERY_ORG
from app.storage.engine.trouble import Trouble, said_of, trouble_of
from app.storage.statements.together import LostGuardError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Hashable, Sequence

    from app.storage.engine.dialect import Dialect
    from app.storage.engine.transaction import Batch, Together, Tx
    from app.telemetry.tracing import Traced

UNTOLD = "the database did not say whether it committed; read the state before you repeat the call"

KINDS = (*(trouble.value for trouble in Trouble), "race", "lost", "statement")
"""Of errors: trouble of the whole database, a lost race, a lost connection, or one that only a statement met."""
_NO_TEXT = "Could not decode to UTF-8 "
"""How SQLite's driver says that a text is none: another program has written it. There is no code for it."""
_TRIES = 6
_LONGEST_QUEUED = 5.0
"""Seconds that a unit may have waited for its turn when something keeps the database from being used."""
_TURNS = 2
"""In the first of them the loop hears of the commit, in the next its callers go on. (Eight were measured no better.)"""
_MOMENT = 0.02
"""Seconds that a lane waits for a loop's turns at most: one that does not turn has nobody who could ask for more."""

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class Job:
    """One unit on its way: what to run, in whose scope, and who waits for the answer."""

    work: Callable[[Tx], Any]
    org: str
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    about: str = ""
    seeks: Hashable = None
    """What it looks for, which is found for all units of its batch at once; None: nothing."""
    result: Any = None
    traced: Traced | None = None
    since: float = 0.0
    """When it was handed in, by its loop's clock, which is the monotonic one."""


def look_together(together: Together, jobs: Sequence[Job], batch: Batch, tx_for: Callable[[str], Tx]) -> None:
    """Lock and read what units were handed in for, all at once; then find what they seek, all at once."""
    named = sorted({job.about for job in jobs if job.about})
    sought = list(dict.fromkeys(job.seeks for job in jobs if job.seeks is not None))
    orgs = {job.org for job in jobs if job.about or job.seeks is not None}
    if not orgs:
        return
    tx = tx_for(orgs.pop() if len(orgs) == 1 else EVERY_ORG)
    if named:
        batch.locked, batch.at = together.lock(tx, named)
    if sought:
        batch.found = together.seek(tx, sought)


def learn_fate(
    dialect: Dialect, ticket: str | None, batch: Batch, error: Exception, *, given_up: Callable[[], bool]
) -> None:
    """Find out whether an unanswered COMMIT took place, instead of guessing or repeating it; return if it did.

    Raises `error` if it did not, UnavailableError if nobody can say, or if it is `given_up`.
    """
    for attempt in range(_TRIES):
        if given_up():
            break
        try:
            fate = dialect.fate(ticket, _witness(batch))
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
    raise UnavailableError(UNTOLD)


def _witness(batch: Batch) -> str | None:
    """Return the id of an event that this batch alone writes: if its row is there, the batch has committed."""
    return next((pending.id for records in batch.records.values() for pending in records), None)


def explained(error: Exception | None) -> Exception:
    """Turn a database's error into ours; a mistake in a unit stays what it is."""
    if error is None or isinstance(error, AssentError):
        return error or UnavailableError()
    if type(error).__module__.partition(".")[0] in {"sqlite3", "psycopg"}:
        if str(error).startswith(_NO_TEXT):
            column = str(error).removeprefix(_NO_TEXT).partition(" with text ")[0].strip()
            return UnsealedError(
                f"a row of the database cannot be read: its {column} is no UTF-8, which no gateway writes"
            )
        log.error("store.failed", error=type(error).__name__, detail=str(error).splitlines()[0] if str(error) else "")
        return UnavailableError(said_of(trouble_of(error) or Trouble.FAILED), retry_after=2)
    if isinstance(error, LostGuardError):
        return UnavailableError("too many changes of the same request at once")
    return error


def is_race(error: Exception, failure: Failure) -> bool:
    """Say whether a transaction failed for what others wrote meanwhile."""
    return isinstance(error, LostGuardError) or failure is Failure.AGAIN


def kind_of(error: Exception, failure: Failure) -> str | None:
    """Name, for a figure, what made a transaction fail; None: it was no error of the database."""
    trouble = trouble_of(error)
    if trouble is not None:
        return trouble.value
    if is_race(error, failure):
        return "race"
    if type(error).__module__.partition(".")[0] not in {"sqlite3", "psycopg"}:
        return None
    return "lost" if failure is Failure.LOST else "statement"


def let_turn(loop: asyncio.AbstractEventLoop) -> None:
    """Let a loop have its turns, for a moment at most: what its callers say next comes into one batch, not into two.

    They have just been answered. Each of their calls that is read while a batch runs takes the interpreter's lock from
    it in its midst, and the batch waits for it to come back: with this a cycle at 64 concurrent takes a tenth less.
    """
    over = threading.Event()

    def turn(left: int) -> None:
        if left:
            loop.call_soon(turn, left - 1)
        else:
            over.set()

    with suppress(RuntimeError):  # the loop is closed: nobody hands in more
        loop.call_soon_threadsafe(turn, _TURNS)
        over.wait(_MOMENT)


def still_patient(jobs: Sequence[Job], trouble: Trouble) -> list[Job]:
    """Answer those who have waited for too long already; return the others."""
    waited_too_long = [job for job in jobs if job.loop.time() - job.since > _LONGEST_QUEUED]
    for job in waited_too_long:
        refuse(job, UnavailableError(said_of(trouble), retry_after=2))
    return [job for job in jobs if job not in waited_too_long]


def refuse(job: Job, error: Exception) -> None:
    """Tell whoever waits for it why it is not done."""

    def fail() -> None:
        if not job.future.done():
            job.future.set_exception(error)

    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        job.loop.call_soon_threadsafe(fail)


def refuse_abandoned(jobs: Sequence[Job], *, committing: bool) -> None:
    """Answer those whose batch was given up: whoever may have been committed is told that nobody knows."""
    refusal = UnavailableError(UNTOLD) if committing else UnavailableError(said_of(Trouble.SILENT), retry_after=2)
    for job in jobs:
        refuse(job, refusal)


def refuse_queued(jobs: queue.SimpleQueue[Job | None], trouble: Trouble) -> None:
    """Answer those whose turn has not come: it will not come soon. Safe to call from any thread."""
    for _ in range(jobs.qsize()):
        try:
            job = jobs.get_nowait()
        except queue.Empty:
            return
        if job is None:
            jobs.put(None)  # the lane is to stop; nothing is queued behind
            return
        refuse(job, UnavailableError(said_of(trouble), retry_after=2))


def close(connection: Any) -> None:
    """Close a connection, if there is one; it may be broken already."""
    try:
        if connection is not None:
            connection.close()
    except Exception:  # noqa: BLE001 - it is broken already
        log.info("connection.dropped")


def unreachable(error: Exception, trouble: Trouble) -> UnavailableError:
    """Note that no connection could be made, and return what its callers are told."""
    log.error("store.unreachable", error=type(error).__name__)
    return UnavailableError(said_of(trouble), retry_after=2)
