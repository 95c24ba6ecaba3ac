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
    from sqlalchemy import ColumnElement
    from sqlalchemy.sql.compiler import SQLCompiler
    from sqlalchemy.sql.elements import ClauseElement


class _Condition(FunctionElement[bool]):
    """A condition on a column and a parameter, in the words of each database.

    (No type is said: of a Boolean SQLAlchemy asks SQLite whether it is 1, and for that no index is taken.)
    """

    inherit_cache = True
    sqlite = "{column} IN (SELECT value FROM json_each({given}))"
    postgresql: str


class _OneOf(_Condition):
    inherit_cache = True
    postgresql = "{column} = ANY ({given})"


class _EachOf(_Condition):
    inherit_cache = True
    postgresql = "{column} IN (SELECT unnest({given}))"


class _OfOrg(_Condition):
    inherit_cache = True
    sqlite = "+{column} = {given}"
    postgresql = "{column} = {given}"


@compiles(_Condition)
def _said(element: _Condition, compiler: SQLCompiler, **how: Any) -> str:
    column, given = (compiler.process(each, **how) for each in element.clauses)
    words: str = getattr(element, compiler.dialect.name)
    return words.format(column=column, given=given)


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


def as_list(dialect: str, values: Any) -> object:
    """Return an iterable of str or int as a database takes it."""
    return list(values) if dialect == "postgresql" else fast_json.encode(list(values)).decode()


def lists_in(construct: ClauseElement) -> tuple[str, ...]:
    """Return the parameters of a construct that hold lists."""
    parts: Any = visitors.iterate(construct)
    return tuple({part.key: None for part in parts if part.__visit_name__ == "bindparam" and _is_list(part)})


def _is_list(bind: Any) -> bool:
    return isinstance(bind.type, ARRAY)
