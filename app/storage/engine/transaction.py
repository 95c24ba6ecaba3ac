"""A transaction as a unit of work sees it: statements, the clock, and what is said after the commit."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Table
from sqlalchemy.sql import visitors

from app.storage.statements.one_of import as_list, lists_in
from app.storage.statements.together import Gathered, Row, compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.sql.elements import ClauseElement

    from app.domain.errors import AssentError
    from app.domain.identity.seals import Seals
    from app.domain.trail.audit import Record
    from app.ports import IdFactory
    from app.storage.engine.dialect import Dialect, Seen
    from app.storage.engine.value_keys import ValueKeys
    from app.storage.statements.together import RowWrite
    from app.telemetry.tracing import Traced

_MOST_READ = 16
"""So many of the last answers of a batch are kept, to name a cell that made it fail (`unreadable.py`)."""
Hold = tuple["Statement", tuple[tuple[str, object], ...]]
"""A select and its parameters."""

EVERY_ORG = "*"
"""The scope of the gateway's own sweeps and of looking up a key: the rows of all orgs."""


class Statement:
    """A SQLAlchemy Core statement, compiled once a dialect and then run on the driver itself.

    Core keeps the statements typed and the same for both databases; running them bare keeps its per-call cost
    (measured: 60 to 100 µs) off the hot path. Parameters are those of `bindparam`; values must be what the driver
    takes: str, int, None, and lists of those where a statement says `one_of` or `each_of`.
    """

    def __init__(self, construct: ClauseElement, *, overlooked: Collection[RowWrite] = ()) -> None:
        """Take a statement. It does not wait for `overlooked`: writes of whose rows it has none, whoever asks."""
        self._construct = construct
        self.overlooked = frozenset(overlooked)
        self._compiled: dict[tuple[str, bool], tuple[str, Row]] = {}

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables that it names, wherever in it; none, if it is not a construct that tells."""
        return frozenset(part.name for part in visitors.iterate(self._construct) if isinstance(part, Table))

    @property
    def selected(self) -> Collection[Any]:
        """The columns of its rows."""
        return getattr(self._construct, "selected_columns", ())

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The parameters that hold many values."""
        return lists_in(self._construct)

    @cached_property  # worked out when it is run: most statements of a process never are
    def _columns(self) -> tuple[str, ...]:
        return tuple(column.key for column in self.selected)

    def bound(
        self, dialect: Dialect, parameters: Mapping[str, object], *, clocked: bool = False
    ) -> tuple[str, Mapping[str, object]]:
        """Return the SQL text for a dialect, and the parameters together with the statement's own constants.

        `clocked`: what the dialect has beside the rows of a select stands behind their columns.
        """
        known = self._compiled.get((dialect.name, clocked))
        if known is None:
            made: Any = self._construct
            made = made.add_columns(*dialect.beside) if clocked else made
            known = self._compiled[dialect.name, clocked] = compiled(made, dialect.sa)
        text, constants = known
        if self.lists:
            parameters = {**parameters, **{name: as_list(dialect.name, parameters[name]) for name in self.lists}}
        return text, {**constants, **parameters} if constants else parameters

    def rows(self, found: Iterable[Sequence[Any]]) -> list[Row]:
        """Name the columns of fetched tuples."""
        return [dict(zip(self._columns, row, strict=True)) for row in found]


class Pending(Struct, frozen=True, kw_only=True):
    """A record that waits to be linked into its org's chain, just before the commit."""

    id: str
    at: datetime
    record: Record
    request_id: str | None
    request_version: int | None
    asked_at: datetime | None = None  # since when people were asked, where this ends it: not written, for the figures


class Link(NamedTuple):
    """One event of a trail: enough to find it again, or to say that it is gone."""

    org: str
    seq: int
    hash: str
    request_id: str | None


@dataclass(slots=True)
class Batch:
    """What the units of one commit leave to be done together: audit events before it, wake-ups after it."""

    own: dict[str, object] = field(default_factory=dict[str, object])
    leaves: dict[str, object] = field(default_factory=dict[str, object])
    records: dict[str, list[Pending]] = field(default_factory=dict[str, list[Pending]])
    changed: dict[tuple[str, str], object] = field(default_factory=dict[tuple[str, str], object])
    outbox_filled: bool = False
    locked: dict[str, list[Row]] = field(default_factory=dict[str, "list[Row]"])
    """Requests that were locked and read for the whole batch, by id; a unit takes what is its own."""
    found: Mapping[Any, object] = field(default_factory=dict[Any, object])
    """What the units seek, by what they seek: found before any of them wrote."""
    at: datetime | None = None
    """The database's clock as it was read last: behind those locks, or behind whatever a unit locked since."""
    writes: bool = True
    ticket: str | None = None
    """The transaction's id, by which the fate of an unanswered COMMIT can be asked."""
    gathered: Gathered = field(default_factory=Gathered)
    """What was written and is not sent yet."""
    holds: dict[str, dict[Hold, None]] = field(default_factory=dict[str, "dict[Hold, None]"])
    """What must be so in an org when its units commit, each once."""
    foreseen: dict[str, Callable[[], list[Row]]] = field(default_factory=dict[str, "Callable[[], list[Row]]"])
    """What was asked for an org before its units ran, without waiting for the answer."""
    relies: bool = False
    """Whether it is built on what was foreseen, unlocked: if it fails for a lost race, that may be why."""
    again: bool = False
    """Whether it failed so before."""
    seals: Seals | None = None
    vault: ValueKeys | None = None
    unread: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    fresh_keys: set[str] = field(default_factory=set[str])
    bound: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    refused: dict[str, AssentError] = field(default_factory=dict[str, "AssentError"])
    looked: set[object] = field(default_factory=set[object])
    """What some unit has read already that is the same for all of them: see `Tx.looks_first`."""
    linked: list[Link] = field(default_factory=list["Link"])
    """What was put into the trails, in its order."""
    seconds: float = 0.0
    """From its beginning to the answered COMMIT."""
    read: deque[tuple[Statement, list[Row]]] = field(default_factory=partial(deque[Any], maxlen=_MOST_READ))
    """What was read last: where a unit fails, the cell that made it is looked for there."""
    has_forked: bool = False
    """Whether the database was found to have lost what was committed: from here on its trails are others."""


class Together(Struct, frozen=True, kw_only=True):
    """What the units of a commit have in common. The engine knows no table: whoever does hands it in.

    `lock` locks and reads what several units are about, before any of them runs: rows by the name that a unit was
    handed in with, and the instant behind the locks. `seek` finds what several units seek, after that. `append` writes
    what they said in an org's trail, after all of them have run; `foresee` asks for what it will need, before.
    """

    lock: Callable[[Tx, Sequence[str]], tuple[dict[str, list[Row]], datetime]]
    seek: Callable[[Tx, Sequence[Any]], Mapping[Any, object]]
    foresee: Callable[[Tx], None]
    append: Callable[[Tx, Sequence[Pending]], None]
    seals: Seals | None = None
    vault: ValueKeys | None = None


class Tx:
    """One unit's view of a transaction, in the scope of one org."""

    __slots__ = (
        "_batch", "_connection", "_dialect", "_now", "bound", "fresh_keys", "ids", "leaves", "org", "own", "refused",
        "seals", "traced", "unread", "vault",
    )  # fmt: skip

    def __init__(self, connection: Any, dialect: Dialect, ids: IdFactory, org: str, batch: Batch) -> None:
        """Built by the store alone."""
        self._connection = connection
        self._dialect = dialect
        self._batch = batch
        self._now: datetime | None = None
        self.ids = ids
        self.org = org
        self.traced: Traced | None = None
        """What this unit is told of the trace that it is part of, and tells; None where nobody traces it."""
        self.own, self.leaves = batch.own, batch.leaves
        """Rows as this lane's commits left them, by name, while nobody else writes; and as this one leaves them."""
        self.seals = batch.seals
        """What rows are sealed with; None in a tool that has no key."""
        self.bound = batch.bound
        """The digests of what the locked requests of this commit ask, by id."""
        self.refused = batch.refused
        """The requests of this commit whose rows were not taken for what a gateway wrote."""
        self.vault = batch.vault
        """What values are encrypted with; None in a tool that has no key."""
        self.unread = batch.unread
        """What could not be decrypted in this commit, as it is kept, by row and column."""
        self.fresh_keys = batch.fresh_keys
        """The orgs for which this commit makes a key."""

    def of(self, org: str) -> Tx:
        """Return the same transaction for another org; only where the scope is that of all."""
        return Tx(self._connection, self._dialect, self.ids, org, self._batch)

    @property
    def locks_rows(self) -> bool:
        """Whether rows must be locked before they are read (SQLite's write lock covers all)."""
        return self._dialect.name == "postgresql"

    def all(self, statement: Statement, **parameters: object) -> list[Row]:
        """Run a select and return its rows."""
        self._send_before(statement)
        return self._read(statement, self._connection.execute(*statement.bound(self._dialect, parameters)).fetchall())

    def all_now(self, statement: Statement, **parameters: object) -> tuple[list[Row], datetime]:
        """Run a writer's select, and read the clock anew in the same breath: behind any lock that was taken before."""
        self._send_before(statement)
        text, bound = statement.bound(self._dialect, parameters, clocked=True)
        found, seen = self._dialect.select_now(self._connection, text, bound)
        return self._read(statement, found), self._saw(seen)

    def _read(self, statement: Statement, found: Iterable[Sequence[Any]]) -> list[Row]:
        rows = statement.rows(found)
        self._batch.read.append((statement, rows))
        return rows

    def take_locked(self, request_id: str) -> tuple[list[Row], datetime] | None:
        """Take the rows of a request that was locked for the batch; None if it was not, is another org's, or is taken.

        Whoever comes second may find them changed, and reads them anew.
        """
        rows = self._batch.locked.pop(request_id, None)
        if not rows or rows[0]["org"] != self.org or self._batch.at is None:
            return None
        self._now = self._batch.at
        return rows, self._now

    def found(self, sought: Hashable) -> object | None:
        """Return what was found for all of the batch that sought this; None: it was not sought together."""
        return self._batch.found.get(sought)

    def one(self, statement: Statement, **parameters: object) -> Row | None:
        """Run a select and return its only row, or None."""
        return next(iter(self.all(statement, **parameters)), None)

    def write(self, statement: Statement, **parameters: object) -> None:
        """Run a write whose effect nobody looks at."""
        self.send()
        self._connection.execute(*statement.bound(self._dialect, parameters))

    def guard(self, statement: Statement, **parameters: object) -> None:
        """Run a write that must touch exactly one row, or the unit was decided on something that is no longer so.

        LostGuardError comes at the latest with the commit: it is rolled back, and the unit is run again.
        """
        self.send()
        self._dialect.guard(self._connection, *statement.bound(self._dialect, parameters))

    def gather(self, write: RowWrite, /, **row: object) -> None:
        """Write a row together with those of other units: before the next statement that could see it, or the commit.

        If it is a guard, it is one like those of `guard`.
        """
        gathered, name = self._batch.gathered, (write.table, row[write.key])
        if name in gathered.names:
            self.send()  # what is written together changes no row twice
        gathered.rows.setdefault(write, []).append(row)
        gathered.names.add(name)
        gathered.tables.add(write.table)

    def send(self) -> None:
        """Send what was gathered."""
        if self._batch.gathered.tables:
            self._batch.gathered.send(self._connection, self._dialect)

    def _send_before(self, statement: Statement) -> None:
        gathered = self._batch.gathered
        if not gathered.tables or (statement.tables and gathered.tables.isdisjoint(statement.tables)):
            return
        if not statement.overlooked or gathered.has_more_in(statement.tables, than=statement.overlooked):
            self.send()

    def looks_first(self, at: object) -> bool:
        """Say whether no unit of this commit has looked at something before: a name of the caller's own."""
        key = (self.org, at)
        if key in self._batch.looked:
            return False
        self._batch.looked.add(key)
        return True

    def hold(self, statement: Statement, **parameters: object) -> None:
        """Let the commit stand only if this select finds a row behind the lock of the org's trail, or LostGuardError.

        There the commits of an org stand in line, on every replica: what a select finds there is still so when the
        commit has happened. Only for a unit that appends to the trail.
        """
        self._batch.holds.setdefault(self.org, {})[statement, tuple(parameters.items())] = None

    def check_holds(self) -> None:
        """Ask for everything that must hold in this org. Called by the store alone, once the trail's head is locked."""
        for statement, parameters in self._batch.holds.get(self.org, ()):
            self.send()
            self._dialect.hold(self._connection, *statement.bound(self._dialect, dict(parameters)))

    def run(self, statement: Statement, **parameters: object) -> int:
        """Run a write and return how many rows it touched."""
        self.send()
        cursor = self._connection.execute(*statement.bound(self._dialect, parameters))
        if cursor.rowcount < 0:  # it waits in a pipeline; leaving a nested one brings its result
            with self._dialect.pipeline(self._connection):
                pass
        return int(cursor.rowcount)

    def run_many(self, statement: Statement, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a write once a row."""
        self.send()
        self._connection.cursor().executemany(statement.bound(self._dialect, {})[0], rows)

    def lock_now(self) -> datetime:
        """Read the clock anew: call it after a lock was taken. Later `now()` calls of this unit agree with it."""
        return self._saw(self._dialect.clock(self._connection, write=self._batch.writes))

    def _saw(self, seen: Seen) -> datetime:
        self._now = seen.now
        if self.locks_rows:
            self._batch.at = seen.now
            self._batch.ticket = self._batch.ticket or seen.ticket
        return seen.now

    def now(self) -> datetime:
        """Return this unit's instant: the database's clock, read once, where it is far away once for all units.

        Whoever locks reads it anew.
        """
        self._now = self._now or self._batch.at or self.lock_now()
        return self._now

    def append(
        self,
        record: Record,
        *,
        request_id: str | None = None,
        request_version: int | None = None,
        asked_at: datetime | None = None,
        at: datetime | None = None,  # None: this unit's instant
    ) -> None:
        """Say in the org's trail what this unit did. Linked into the chain just before the commit."""
        pending = Pending(
            id=self.ids.new("evt"),
            at=at or self.now(),
            record=record,
            request_id=request_id,
            request_version=request_version,
            asked_at=asked_at,
        )
        self._batch.records.setdefault(self.org, []).append(pending)

    @property
    def is_again(self) -> bool:
        """Whether this commit was lost once for what it had foreseen."""
        return self._batch.again

    def foresee(self, statement: Statement, **parameters: object) -> None:
        """Ask for something now, unlocked, without waiting: it comes with the answer to whatever is read next."""
        cursor = self._connection.execute(*statement.bound(self._dialect, parameters))
        self._batch.foreseen[self.org] = lambda: self._read(statement, cursor.fetchall())

    def rely(self) -> list[Row] | None:
        """Return what was foreseen for this org; None: nothing. It may have changed since: a guard must hold it."""
        foreseen = self._batch.foreseen.pop(self.org, None)
        if foreseen is None:
            return None
        self._batch.relies = True
        return foreseen()

    def linked(self, link: Link) -> None:
        """Note an event that this commit puts into a trail."""
        self._batch.linked.append(link)

    def forked(self) -> None:
        """Say that what was committed before is not what this database has."""
        self._batch.has_forked = True

    def changed(self, request_id: str, after: object) -> None:
        """Wake whoever waits for this request, after the commit, and hand it on `after` what was written."""
        self._batch.changed[self.org, request_id] = after

    def outbox_filled(self) -> None:
        """Nudge the outbox worker, after the commit."""
        self._batch.outbox_filled = True
