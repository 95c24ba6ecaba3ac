"""Which cell made a unit of work fail: a row that no gateway wrote may hold anything in it, and is named for it.

A unit that meets such a cell raises what Python raises. It is told from a mistake of its own by what it has read: a
cell of another type than its column, a number that no gateway writes there, or the very text that was not understood.
"""

from __future__ import annotations

from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from sqlalchemy import BigInteger, Integer, Text

from app.domain.errors import UnsealedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.storage.engine.transaction import Statement
    from app.storage.statements.together import Row

T = TypeVar("T")

RAISED = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError)
"""What Python raises of a row that no gateway wrote: a cell may hold any text, and in SQLite anything at all."""
_FURTHEST = 253_402_300_799_999_999
"""The last microsecond of the year 9999: no instant, and nothing that is counted, comes to more."""

log = structlog.get_logger(__name__)


def refuse_unreadable(error: Exception, read: Iterable[tuple[Statement, Sequence[Row]]]) -> None:
    """Raise UnsealedError, which names the cell, if one in what was `read` accounts for what a unit raised."""
    if not isinstance(error, RAISED):
        return
    why = next((why for statement, rows in read for row in rows if (why := _why(error, statement, row))), None)
    if why is not None:
        log.error("row.unreadable", why=why, error=type(error).__name__)
        raise UnsealedError(f"a row cannot be read, for no gateway wrote it: {why}") from error


def readable(table: str, rows: Iterable[Row], build: Callable[[Row], T]) -> list[T]:
    """Build what the rows say. One that no gateway wrote is left out, and the log names its table."""
    found: list[T] = []
    for row in rows:
        try:
            found.append(build(row))
        except RAISED as error:
            told = {"why": f"a row of {table}", "error": type(error).__name__}
            log.error("row.unreadable", **told)  # noqa: TRY400 - no fault of the code
    return found


def _why(error: Exception, statement: Statement, row: Row) -> str | None:
    for column in statement.selected:
        value = row.get(column.key)
        if _is_foreign(column.type, value) or _is_meant(error, value):
            of = getattr(column, "table", None)
            return f"{column.key} of {of.name if of is not None else ' and '.join(sorted(statement.tables))}"
    return None


def _is_foreign(type_: Any, value: object) -> bool:
    """Say whether a cell is as no gateway writes it. What is neither text nor number any more was read well."""
    if isinstance(type_, Text):
        return isinstance(value, bytes | int | float)
    if isinstance(type_, Integer | BigInteger):
        return isinstance(value, bytes | str | float) or (isinstance(value, int) and not -1 <= value <= _FURTHEST)
    return False


def _is_meant(error: Exception, value: object) -> bool:
    """Say whether it is this text that was not taken for JSON, or for one of the words of an enum."""
    told = isinstance(value, str) and str(error).startswith(f"{value!r} is not a valid ")
    return told or (isinstance(error, JSONDecodeError) and error.doc == value)
