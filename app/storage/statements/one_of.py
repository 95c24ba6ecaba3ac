"""Rows that are named by a list of values: one parameter and one statement, however many they are.

PostgreSQL gets the list as an array, SQLite as JSON text that it reads itself. Neither knows beforehand how long it
is, and each of them has a way to find it cheaper to walk through all rows of an org, and of each new list once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import json as fast_json
from sqlalchemy import ARRAY, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import visitors
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement
    from sqlalchemy.sql.compiler import SQLCompiler
    from sqlalchemy.sql.elements import ClauseElement


class _OneOf(FunctionElement[bool]):
    inherit_cache = True  # (no type is said: of a Boolean SQLAlchemy asks SQLite whether it is 1, which finds no index)


class _EachOf(_OneOf):
    inherit_cache = True


class _OfOrg(FunctionElement[bool]):
    inherit_cache = True


def one_of(column: ColumnElement[Any], values: str) -> ColumnElement[bool]:
    """Say that a column has one of the values that are given as the parameter `values`: a list of str or int.

    Where an index has that column alone, say with `of_org` whose rows they are.
    """
    return _OneOf(column, bindparam(values, type_=ARRAY(column.type)))


def each_of(column: ColumnElement[Any], values: str) -> ColumnElement[bool]:
    """The same of a column that names its rows: each is looked up by itself.

    Of a condition PostgreSQL believes that a walk through a whole index which has the names somewhere is cheaper than
    so many look-ups, and goes on with that as the table grows. Here the rows are joined to the list instead. Ask for
    nothing else by which all of them could be walked through, such as their org.
    """
    return _EachOf(column, bindparam(values, type_=ARRAY(column.type)))


def of_org(column: ColumnElement[str]) -> ColumnElement[bool]:
    """Say that rows are those of the org `for_org`, where they are named by a list as well.

    SQLite takes no index for it: it has no figures of its tables, and believes that an org has ten rows in each.
    """
    return _OfOrg(column, bindparam("for_org", type_=column.type))


@compiles(_OfOrg, "sqlite")
def _of_org_by_no_index(element: _OfOrg, compiler: SQLCompiler, **how: Any) -> str:
    column, org = (compiler.process(each, **how) for each in element.clauses)
    return f"+{column} = {org}"


@compiles(_OfOrg, "postgresql")
def _of_org(element: _OfOrg, compiler: SQLCompiler, **how: Any) -> str:
    column, org = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} = {org}"


@compiles(_OneOf, "sqlite")
@compiles(_EachOf, "sqlite")
def _in_json(element: _OneOf, compiler: SQLCompiler, **how: Any) -> str:
    column, values = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 - of our own words


@compiles(_OneOf, "postgresql")
def _any_of_array(element: _OneOf, compiler: SQLCompiler, **how: Any) -> str:
    column, values = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(_EachOf, "postgresql")
def _in_array(element: _OneOf, compiler: SQLCompiler, **how: Any) -> str:
    column, values = (compiler.process(each, **how) for each in element.clauses)
    return f"{column} IN (SELECT unnest({values}))"


def as_list(dialect: str, values: Iterable[str | int]) -> object:
    """Return values as a database takes them."""
    return list(values) if dialect == "postgresql" else fast_json.encode(list(values)).decode()


def lists_in(construct: ClauseElement) -> tuple[str, ...]:
    """Return the parameters of a construct that hold lists."""
    parts: Any = visitors.iterate(construct)
    return tuple({part.key: None for part in parts if part.__visit_name__ == "bindparam" and _is_list(part)})


def _is_list(bind: Any) -> bool:
    return isinstance(bind.type, ARRAY)
