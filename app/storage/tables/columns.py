"""A value as a table of columns: each is said once, and all that is done with it is derived.

    Column("reminded_at", INSTANT, nullable=True)

is the column of the table, its place in INSERT, SELECT and SAVE, how it is written and read back, and that a value
whose `reminded_at` changed is a changed one. Everything is worked out once, when the table of columns is made: writing
and reading walk over prepared getters.
"""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from functools import lru_cache
from operator import attrgetter, is_, itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import sqlalchemy as sa
from msgspec import Struct
from msgspec import json as fast_json
from msgspec.structs import asdict

from app.domain.errors import AssentError
from app.storage.engine.dialect import MICROSECOND, from_us, to_us
from app.storage.engine.unreadable import RAISED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from enum import StrEnum

    from app.storage.engine.transaction import Row

T = TypeVar("T")

MISREAD = (*RAISED, AssentError)
"""What reading a row may raise that no gateway wrote: a cell may hold any text, and in SQLite anything at all."""
_HOLDS: dict[type, type] = {sa.Text: str, sa.Integer: int, sa.BigInteger: int}


def why_unlike(columns: Iterable[sa.Column[Any]], row: Row, *, prefix: str = "") -> str | None:
    """Say which cell of a row is of another type than its column, as SQLite allows; None: each is of its own."""
    for column in columns:
        value = row[prefix + column.name]
        if value is None:
            if not column.nullable:
                return f"its {column.name} is empty"
        elif type(value) is not _HOLDS[type(column.type)]:
            return f"its {column.name} is no {'text' if isinstance(column.type, sa.Text) else 'whole number'}"
    return None


def _json_text(value: object) -> str:
    return fast_json.encode(value).decode()


def json_object(text: str) -> dict[str, Any]:
    """Read an object of JSON. Raises ValueError for what is no JSON, TypeError for another value."""
    found = json.loads(text)
    if type(found) is not dict:
        raise TypeError("no object")
    return found  # pyright: ignore[reportUnknownVariableType] - of whatever JSON may hold


class Kept(Struct, frozen=True):
    """How a kind of value is kept: the database's type, and the way there and back. None: it is kept as it is."""

    type: type[sa.types.TypeEngine[Any]]
    encode: Callable[[Any], object] | None = None
    decode: Callable[[Any], Any] | None = None


TEXT = Kept(sa.Text)
WHOLE = Kept(sa.Integer)
FLAG = Kept(sa.Integer, int, bool)  # 0 | 1
INSTANT = Kept(sa.BigInteger, to_us, from_us)
SPAN = Kept(sa.BigInteger, lambda span: span // MICROSECOND, lambda span: timedelta(microseconds=span))
OBJECT = Kept(sa.Text, lambda value: _json_text(dict(value)), json_object)
LIST = Kept(sa.Text, list, tuple)
"""A tuple within a document."""


def word(values: type[StrEnum]) -> Kept:
    """Keep one word out of several."""
    return Kept(sa.Text, attrgetter("_value_"), {each.value: each for each in values}.__getitem__)


def listed(encode: Callable[[Any], object], decode: Callable[[Any], Any], *, few: bool = False) -> Kept:
    """Keep a tuple as a JSON list. `few`: there are few different ones, and both ways are remembered."""

    def write(values: Sequence[Any]) -> str:
        return _json_text([encode(value) for value in values]) if values else "[]"

    def read(text: str) -> tuple[Any, ...]:
        return tuple([decode(value) for value in json.loads(text)]) if text != "[]" else ()

    if few:
        return Kept(sa.Text, lru_cache(maxsize=1024)(write), lru_cache(maxsize=1024)(read))
    return Kept(sa.Text, write, read)


def documents(kind: type[Struct], /, **how: Kept) -> Kept:
    """Keep a tuple of values with all their fields; `how` says it of those that JSON does not know."""
    there = [(name, kept.encode) for name, kept in how.items() if kept.encode]
    back = [(name, kept.decode) for name, kept in how.items() if kept.decode]

    def encode(value: Any) -> Row:
        found = asdict(value)
        _convert(found, there)
        return found

    def decode(found: Row) -> Any:
        _convert(found, back)
        return kind(**found)

    return listed(encode, decode)


def _convert(found: Row, ways: Iterable[tuple[str, Callable[[Any], Any]]]) -> None:
    for name, convert in ways:
        if (raw := found.get(name)) is not None:  # a field that is younger than the row is not in it
            found[name] = convert(raw)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the field of the value that it keeps, and how."""

    name: str
    kept: Kept
    _: KW_ONLY
    of: str | None = None  # the field, or "part.field"; where it is not said, it is named like the column
    derived: bool = False  # kept for queries: worked out by the value when it is written, and not read back
    given: bool = False  # not of the value: whoever writes it says it, as the org
    key: bool = False  # names the row: written once
    often: bool = False  # written with every change: what changes alone, nearly always
    nullable: bool = False
    default: str | None = None  # of the database, for rows that are older than the column
    refers: str | None = None  # "table.column"
    unique: bool = False
    hidden: str | None = None  # it is encrypted where it is kept, and this stands for it where it cannot be read

    @property
    def steps(self) -> tuple[str, ...]:
        """The way to the field that it keeps."""
        return tuple((self.of or self.name).split("."))

    def made(self) -> sa.Column[Any]:
        """Return the column of the database's table."""
        refers = [sa.ForeignKey(self.refers)] if self.refers else []
        return sa.Column(
            self.name,
            self.kept.type,
            *refers,
            primary_key=self.name == "id",
            nullable=self.nullable,
            server_default=self.default,
            unique=self.unique or None,
        )


class Columns(Generic[T]):
    """The columns of a kind of value. `parts` are values within it whose fields have columns of their own.

    A part whose first column may be empty is absent where it is. `elsewhere` names what is kept in other places, and
    is handed in when a value is read. `prefix` begins the names of the columns in rows that hold other things too.
    """

    def __init__(
        self,
        kind: type[T],
        columns: Iterable[Column],
        *,
        parts: Mapping[str, type] | None = None,
        elsewhere: Collection[str] = (),
        prefix: str = "",
    ) -> None:
        self.kind = kind
        self.all = tuple(columns)
        self.parts = dict(parts or {})
        self.elsewhere = frozenset(elsewhere)
        self.kept = tuple(column for column in self.all if not column.given)
        self.hidden = {column.name: column.hidden for column in self.kept if column.hidden is not None}
        self._prefix = prefix
        self.inserted = Written(self.kept)
        self.saved = Written([column for column in self.kept if not column.key])
        self.often = Written([column for column in self.kept if column.often])
        told = [column for column in self.kept if not column.derived]
        self.derived = Written([column for column in self.kept if column.derived])
        self.lasting = tuple(prefix + column.name for column in told if not column.often)
        self._lasting = _Reader(kind, [column for column in told if not column.often], self.parts, prefix)
        self._moving = _Reader(kind, [column for column in told if column.often], self.parts, prefix)
        rest = [each.steps[0] for each in self.kept if not (each.often or each.derived)]
        self._rest = _several(attrgetter, list(dict.fromkeys(rest)))

    def made(self) -> list[sa.Column[Any]]:
        """Return the columns of the database's table."""
        return [column.made() for column in self.all]

    def why_unlike(self, row: Row) -> str | None:
        """Say which cell of a row that was `selected` is of another type than its column."""
        return why_unlike((each.made() for each in self.kept if not each.derived), row, prefix=self._prefix)

    def selected(self, table: sa.Table) -> list[sa.ColumnElement[Any]]:
        """Return what a SELECT names to read values back."""
        return [table.c[each.name].label(self._prefix + each.name) for each in self.kept if not each.derived]

    def read(self, row: Row, lasting: Row | None = None, **elsewhere: object) -> T:
        """Make the value of a row. `lasting` is what `read_lasting` said of it, where that is known."""
        found = self.read_lasting(row) if lasting is None else lasting
        return self.kind(**found, **self._moving.fields(row), **elsewhere)

    def read_lasting(self, row: Row) -> Row:
        """Return the fields of a row's value that are not written with every change."""
        return self._lasting.fields(row)

    def apart(self, before: T, after: T) -> bool:
        """Whether more may have changed than is written often: whatever is not the very same object."""
        return not all(map(is_, self._rest(before), self._rest(after)))


class Written:
    """Some columns, ready to be written of any value."""

    def __init__(self, columns: Iterable[Column]) -> None:
        chosen = list(columns)
        self.names = tuple(each.name for each in chosen)
        self.nothing: Mapping[str, object] = dict.fromkeys(self.names)
        self.written = _writer(chosen)
        """Returns what the columns keep of a value that is there, also where it has changed since."""
        self._last: tuple[object, Mapping[str, object]] = (None, self.nothing)

    def __call__(self, value: object) -> Mapping[str, object]:
        """Return what the columns keep of a value; of a part that is absent, nothing.

        A step's decision, grant and execution are sealed first and written then: the last value is known again.
        """
        last, found = self._last
        if value is not last and value is not None:
            found = self.written(value)
            self._last = (value, found)
        return self.nothing if value is None else found


def _writer(columns: Sequence[Column], depth: int = 0) -> Callable[[Any], Mapping[str, object]]:
    """Return what writes columns of a value.

    It is written out as code, as `dataclasses` does: every call writes the 57 columns of a request, and the ten that
    its steps change three times more.
    """
    known: dict[str, Any] = {}
    members: list[str] = []
    parts: dict[str, list[Column]] = {}
    for number, each in enumerate(columns):
        field = each.steps[depth]
        if len(each.steps) > depth + 1:
            parts.setdefault(field, []).append(each)
            continue
        known[f"encode_{number}"] = each.kept.encode
        encoded = f"None if (raw := value.{field}) is None else encode_{number}(raw)"
        members.append(f"{each.name!r}: {encoded}" if each.kept.encode else f"{each.name!r}: value.{field}")
    for field, inside in parts.items():
        known[f"write_{field}"] = _writer(inside, depth + 1)
        known[f"no_{field}"] = dict.fromkeys(each.name for each in inside)
        members.append(f"**(no_{field} if (part := value.{field}) is None else write_{field}(part))")
    text = ",\n        ".join(members)
    exec(f"def written(value):\n    return {{\n        {text}\n    }}", known)  # noqa: S102 - of the names of our own columns
    return known["written"]


class _Reader:
    def __init__(
        self,
        kind: Callable[..., Any],
        columns: Iterable[Column],
        parts: Mapping[str, type],
        prefix: str,
        *,
        depth: int = 0,
    ) -> None:
        own = [(each.steps[depth:], prefix + each.name, each.kept.decode, each) for each in columns]
        plain = [(steps[0], name) for steps, name, decode, _ in own if len(steps) == 1 and decode is None]
        self._kind = kind
        self._plain = tuple(field for field, _ in plain)
        self._plain_of = _several(itemgetter, [name for _, name in plain])
        self._made = [(steps[0], name, decode) for steps, name, decode, _ in own if len(steps) == 1 and decode]
        self._parts: list[tuple[str, str, _Reader]] = []
        for part, of in parts.items():
            inside = [column for steps, _, _, column in own if steps[0] == part]
            if not inside:  # its columns are another reader's
                continue
            self._parts.append((part, prefix + inside[0].name, _Reader(of, inside, {}, prefix, depth=depth + 1)))

    def fields(self, row: Row) -> Row:
        found: Row = dict(zip(self._plain, self._plain_of(row), strict=True))
        for field, name, decode in self._made:
            raw = row[name]
            found[field] = None if raw is None else decode(raw)
        for field, first, reader in self._parts:
            found[field] = None if row[first] is None else reader.made(row)
        return found

    def made(self, row: Row) -> Any:
        return self._kind(**self.fields(row))


def _several(getter: Callable[..., Callable[[Any], Any]], names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Get several at once, as a tuple however many they are."""
    if len(names) > 1:
        return getter(*names)
    return lambda value: tuple(getter(name)(value) for name in names)
