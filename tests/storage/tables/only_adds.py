"""What one step of the migrations takes from code of the release before it, which goes on beside it for a rollout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from migrations.state import engine_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Column:
    """What older code has to know of a column."""

    kind: str
    may_be_empty: bool
    may_be_left_out: bool


@dataclass(frozen=True, slots=True)
class Bind:
    """Something that refuses rows: a unique key, a check, a reference. `text` tells one from another."""

    table: str
    columns: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class Stands:
    """What a database is made of, as far as statements of older code meet it."""

    columns: dict[tuple[str, str], Column]
    binds: frozenset[Bind]

    @property
    def tables(self) -> set[str]:
        """The tables that are there."""
        return {table for table, _ in self.columns}


def look_at(url: str) -> Stands:
    """Let the database itself say it."""
    engine = engine_of(url)
    try:
        # All tables at once: table by table, PostgreSQL is asked two hundred times.
        looked = sa.inspect(engine)
        columns = {
            (table, each["name"]): Column(
                kind=str(each["type"]),
                may_be_empty=each["nullable"],
                may_be_left_out=each["nullable"] or each["default"] is not None or bool(each.get("autoincrement")),
            )
            for table, found in _of_ours(looked.get_multi_columns())
            for each in found
        }
        return Stands(columns, frozenset(_binds(looked, frozenset(columns))))
    finally:
        engine.dispose()


def _of_ours(found: Mapping[tuple[str | None, str], list[T]]) -> Iterator[tuple[str, list[T]]]:
    return ((table, each) for (_, table), each in found.items() if table != "alembic_version")


def _binds(looked: sa.Inspector, columns: frozenset[tuple[str, str]]) -> Iterator[Bind]:
    for table, uniques in _of_ours(looked.get_multi_unique_constraints()):
        yield from (_unique(table, each["column_names"]) for each in uniques)
    for table, indexes in _of_ours(looked.get_multi_indexes()):
        for index in indexes:
            if index["unique"]:
                yield _unique(table, [name for name in index["column_names"] if name is not None])
    for table, references in _of_ours(looked.get_multi_foreign_keys()):
        for reference in references:
            names = reference["constrained_columns"]
            yield Bind(table, frozenset(names), f"references {reference['referred_table']} by {', '.join(names)}")
    for table, checks in _of_ours(looked.get_multi_check_constraints()):
        for check in checks:
            text = " ".join(str(check["sqltext"]).split())
            named = {word for word in re.findall(r"\w+", text) if (table, word) in columns}
            yield Bind(table, frozenset(named), f"check {text}")


def _unique(table: str, names: list[str]) -> Bind:
    return Bind(table, frozenset(names), f"unique {', '.join(names)}")


def taken_away(before: Stands, after: Stands) -> list[str]:
    """Return what the release before meets otherwise than it knows it, as sentences; [] for a step that only adds."""
    found = [f"{table}.{name} is gone" for table, name in before.columns.keys() - after.columns.keys()]
    for (table, name), now in after.columns.items():
        if table not in before.tables:
            continue
        was = before.columns.get((table, name))
        if was is None and not now.may_be_left_out:
            found.append(f"{table}.{name} is new, and rows without it are refused")
        elif was is not None and was.kind != now.kind:
            found.append(f"{table}.{name} was {was.kind}, and is {now.kind}")
        elif was is not None and (was.may_be_empty, was.may_be_left_out) > (now.may_be_empty, now.may_be_left_out):
            found.append(f"{table}.{name} was allowed to be left out or empty")
    new = {
        bind
        for bind in after.binds - before.binds
        if any((bind.table, name) in before.columns for name in bind.columns)
    }
    return sorted([*found, *(f"{bind.table}: rows are refused that were not: {bind.text}" for bind in new)])
