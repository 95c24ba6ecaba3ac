"""Writes of one kind, of however many rows and units: on PostgreSQL one statement, on SQLite one run once a row.

The rows go over as one JSON text: one parameter, one prepared statement for any number of rows, and nothing of it is
turned into a driver's value one by one.

What the units of a commit have written and nobody had to see yet is sent before any statement that could see it, and
before the commit at the latest. Nothing is written twice in one go, and what is changed goes before what is put in, so
that a name which a row gives up is free for another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, cast

from msgspec import json as fast_json
from sqlalchemy import ARRAY, JSON, Insert, Text, Update, bindparam, column, func, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import BindParameter

from app.storage.statements.payloads import CHANNEL, payloads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine.interfaces import Dialect as SaDialect
    from sqlalchemy.sql.compiler import Compiled
    from sqlalchemy.sql.elements import ClauseElement
    from sqlalchemy.sql.selectable import TableValuedAlias
    from sqlalchemy.sql.type_api import TypeEngine

Row = dict[str, Any]
ROWS = "rows"
"""The parameter that holds all rows."""
NAMES = "names"
"""The parameter that holds the names of the rows that a guarded write changes."""
MANY = "many"
"""The parameter that holds how many rows a guarded write must touch."""
TOLD = "told"
"""The parameter that holds what other replicas are told."""


class LostGuardError(Exception):
    """A guarded write met another version than the one it was decided on: the unit is run again and decides anew."""


def compiled(construct: ClauseElement, dialect: SaDialect) -> tuple[str, Row]:
    """Return a construct's text, and the parameters of its own."""
    made = construct.compile(dialect=dialect)
    return str(made), own_parameters(made)


def own_parameters(made: Compiled) -> Row:
    """Return the parameters that a construct brings with it."""
    own = {name for name, bind in getattr(made, "binds", {}).items() if not bind.required}  # None counts
    return {name: value for name, value in dict(made.params or {}).items() if name in own}


def rows_given(types: Mapping[str, TypeEngine[Any]]) -> TableValuedAlias:
    """PostgreSQL's table of the rows that the parameter `ROWS` holds, as `as_rows` writes them."""
    given = func.json_to_recordset(bindparam(ROWS, type_=JSON)).table_valued(
        *(column(name, kind) for name, kind in types.items()), name="given"
    )
    return given.render_derived(with_types=True)


def as_rows(rows: Sequence[Mapping[str, object]]) -> str:
    """Write rows for a parameter."""
    return fast_json.encode(rows).decode()


class Rank(IntEnum):
    """What goes first of what is written together: the lock that all stand in line for, what gives names up, the rest.

    Of the rest, what others refer to goes before them.
    """

    LINE = 0
    SAVE = 1
    OPEN = 2
    BELONG = 3
    BELONG_TO_THAT = 4
    SAY = 5


class RowWrite:
    """An insert, or an update that names one row: what several units of a commit write is written together.

    `key` is the parameter that names the row within its table; `rank` orders what is written together: a lower one
    first. An update is a guard: it must touch every row that it was given.
    """

    __slots__ = ("_by", "_construct", "_many", "_single", "_types", "guards", "key", "rank", "table")

    def __init__(
        self,
        construct: Insert | Update,
        types: Mapping[str, TypeEngine[Any]],
        *,
        key: str,
        rank: Rank,
        by: ColumnElement[Any] | None = None,
    ) -> None:
        """Take what `inserting` or `saving` made; `by` is the column of the name, where a row is changed."""
        self._by = by
        self._construct = construct
        self._types = dict(types)
        self._many: tuple[str, Mapping[str, object]] | None = None
        self._single: tuple[str, Callable[[Row], object]] | None = None
        self.table = construct.entity_description["table"].name
        self.guards = isinstance(construct, Update)
        self.key = key
        self.rank = rank

    def single(self) -> tuple[str, Callable[[Row], object]]:
        """Return SQLite's text for one row, and what makes its parameters of one.

        They go by position: to look each of them up by its name is a third of what the driver does for a wide row.
        """
        if self._single is None:
            made = self._construct.compile(dialect=sqlite.dialect(paramstyle="qmark"))
            own = own_parameters(made)
            pick = itemgetter(*(made.positiontup or ()))
            self._single = str(made), (lambda row: pick({**own, **row})) if own else pick
        return self._single

    def many(self, dialect: Any, rows: str, names: Sequence[str] = ()) -> tuple[str, Mapping[str, object]]:
        """Return the text for any number of rows, and its parameters; `rows` is their JSON, and `names` are theirs."""
        if self._many is None:
            self._many = compiled(self._together(), dialect.sa)
        text, constants = self._many
        return text, {**constants, ROWS: rows, **({NAMES: list(names)} if self.guards else {})}

    def _together(self) -> ClauseElement:
        each = rows_given(self._types)
        if isinstance(self._construct, Insert):
            names = list(self._types)
            return insert(self._construct.table).from_select(names, select(*(each.c[name] for name in names)))

        def from_row(element: Any, **_: Any) -> Any:
            return each.c[element.key] if isinstance(element, BindParameter) and element.key in self._types else None

        # The names once more, by themselves: a server that believes the table to be as small as it was would
        # else read all of it, and compare each row with each that is given.
        these = func.any(bindparam(NAMES, type_=ARRAY(Text)))
        made = cast("Any", visitors).replacement_traverse(self._construct, {}, from_row)
        return made.where(self._by == these)


def inserting(table: Table, *, rank: Rank, key: str = "id") -> RowWrite:
    """Insert whole rows."""
    return RowWrite(insert(table), {each.name: each.type for each in table.columns}, key=key, rank=rank)


def saving(
    table: Table,
    *,
    rank: Rank,
    named: Mapping[str, str],
    values: Iterable[str],
    only: Sequence[ColumnElement[bool]] = (),
) -> RowWrite:
    """Change `values` of the row that the parameters of `named` (each with its column) name, if `only` holds of it.

    The first of `named` is the row's own name.
    """
    chosen = list(values)
    types = {name: table.c[of].type for name, of in named.items()} | {name: table.c[name].type for name in chosen}
    these = (table.c[of] == bindparam(name, type_=types[name]) for name, of in named.items())
    construct = update(table).where(*these, *only)
    construct = construct.values({name: bindparam(name, type_=types[name]) for name in chosen})
    key, of = next(iter(named.items()))
    return RowWrite(construct, types, key=key, rank=rank, by=table.c[of])


_order = attrgetter("rank")
_combined: dict[tuple[tuple[RowWrite, ...], bool], tuple[str, Row]] = {}
"""Several writes as one statement of PostgreSQL: there are as many as there are ways to end a batch."""


@dataclass(slots=True)
class Gathered:
    """The rows of a commit that wait to be sent."""

    tables: set[str] = field(default_factory=set)
    """Where they are to be written."""
    rows: dict[RowWrite, list[Row]] = field(default_factory=dict)
    names: set[tuple[str, object]] = field(default_factory=set)
    """Each row's table and name."""

    def has_more_in(self, tables: Collection[str], *, than: Collection[RowWrite]) -> bool:
        """Say whether something else is to be written to these tables than by such writes."""
        return any(write.table in tables for write in self.rows if write not in than)

    def send(self, connection: Any, dialect: Any, changed: Iterable[tuple[str, str]] = ()) -> None:
        """Send all of it. `changed` is what other replicas are told with it, where there are any."""
        rows = self.rows
        self.rows, self.names, self.tables = {}, set(), set()
        if dialect.name == "postgresql":
            *parts, last = _apart(sorted(rows, key=_order))
            for part in parts:
                self._send_together(connection, dialect, {write: rows[write] for write in part}, [])
            self._send_together(
                connection, dialect, {write: rows[write] for write in last}, payloads(changed, sender=dialect.sender)
            )
            return
        for write in sorted(rows, key=_order):
            text, parameters = write.single()
            cursor = connection.executemany(text, map(parameters, rows[write]))
            touched = cursor.rowcount
            cursor.close()  # here: a cursor that another thread throws away resets a statement that this one runs
            if write.guards and touched != len(rows[write]):
                raise LostGuardError

    def _send_together(
        self, connection: Any, dialect: Any, rows: Mapping[RowWrite, list[Row]], told: Sequence[str]
    ) -> None:
        shape = (tuple(rows), bool(told))
        text, constants = _combined.get(shape) or _combine(shape, dialect)
        bound: Row = {f"{ROWS}_{index}": as_rows(each) for index, each in enumerate(rows.values())}
        if told:
            bound[TOLD] = fast_json.encode(told).decode()
        for index, (write, each) in enumerate(rows.items()):
            if write.guards:
                bound |= {f"{MANY}_{index}": len(each), f"{NAMES}_{index}": [row[write.key] for row in each]}
        connection.execute(text, {**constants, **bound})


def _apart(writes: Sequence[RowWrite]) -> Iterator[list[RowWrite]]:
    """Split so that no statement writes twice to one table: nothing would say in which order it did."""
    part: list[RowWrite] = []
    for write in writes:
        if any(write.table == each.table for each in part):
            yield part
            part = []
        part.append(write)
    yield part


def _combine(shape: tuple[tuple[RowWrite, ...], bool], dialect: Any) -> tuple[str, Row]:
    """Make one statement of several writes, which fails unless each guarded one touched all of its rows.

    So nobody has to look before the COMMIT, which goes over right behind it. It fails by a division by zero: no
    other error can be raised without a function in the database, and nothing else of ours divides.

    The second of `shape` says whether it tells the other replicas, too: once the transaction commits.
    """
    writes, tells = shape
    parts: list[str] = []
    constants: Row = {}
    for index, write in enumerate(writes):
        text, own = write.many(dialect, "")
        for name in own:
            text = text.replace(f"%({name})s", f"%({name}_{index})s")
        constants |= {f"{name}_{index}": value for name, value in own.items()}
        parts.append(f"w{index} AS ({text} RETURNING 1)")
    found = [
        f"1 / ((SELECT count(*) FROM w{index}) = %({MANY}_{index})s)::int"  # noqa: S608 - of our own words
        for index, write in enumerate(writes)
        if write.guards
    ]
    if tells:
        found.append(f"(SELECT count(pg_notify('{CHANNEL}', t)) FROM json_array_elements_text(%({TOLD})s::json) AS t)")  # noqa: S608 - of our own words
    made = _combined[shape] = (f"WITH {', '.join(parts)} SELECT {', '.join(found) or '1'}", constants)
    return made
