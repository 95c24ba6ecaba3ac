"""A statement keeps its own constants, whatever they are, and asks only for what is its caller's."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import bindparam, update

from app.clock import SystemClock
from app.storage.engine.dialect import Sqlite
from app.storage.engine.postgres import Postgres
from app.storage.engine.transaction import Statement
from app.storage.place.address import libpq_url
from app.storage.requests import executions, requests
from app.storage.tables.tables import deliveries

if TYPE_CHECKING:
    from app.storage.statements.together import RowWrite


def test_a_constant_of_none_is_bound_as_null_and_not_asked_of_the_caller() -> None:
    statement = Statement(
        update(deliveries).where(deliveries.c.id == bindparam("delivery_id")).values(error=None, message_id="")
    )
    text, bound = statement.bound(Sqlite("unused", SystemClock()), {"delivery_id": "dlv_1"})
    assert bound == {"delivery_id": "dlv_1", "error": None, "message_id": ""}
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE deliveries (id TEXT, error TEXT, message_id TEXT)")
    connection.execute("INSERT INTO deliveries VALUES ('dlv_1', 'old', 'om_1')")
    connection.execute(text, bound)
    assert connection.execute("SELECT * FROM deliveries").fetchall() == [("dlv_1", None, "")]
    connection.close()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("write", "index"),
    [(executions._MOVE, "pk_grants"), (executions._END, "pk_executions"), (requests._SAVE, "pk_requests")],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_written_by_its_name_is_found_by_its_name(postgres_url: str, write: RowWrite, index: str) -> None:
    """Whatever the server believes of how many rows stand as they should: it may have looked when there were none."""
    dialect = Postgres(libpq_url(postgres_url))
    with closing(dialect.connect()) as connection:
        dialect.prepare(connection, write=True)
        text, bound = write.many(dialect, "[]", ["req_1", "req_2"])
        explained = connection.execute(f"EXPLAIN {text}", bound)  # pyright: ignore[reportArgumentType, reportCallIssue] - our own SQL
        plan = "\n".join(row[0] for row in explained.fetchall())
    at = next(node for node in plan.split("->") if index in node)
    assert re.search(r"Index Cond: \(.*\bid = ", at), plan  # or all of the index is read, and each row of it
    assert "ix_" not in plan, plan
