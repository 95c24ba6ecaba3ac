"""A statement keeps its own constants, whatever they are, and asks only for what is its caller's."""

from __future__ import annotations

import sqlite3

from sqlalchemy import bindparam, update

from app.clock import SystemClock
from app.storage.engine.dialect import Sqlite
from app.storage.engine.transaction import Statement
from app.storage.tables.tables import deliveries


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
