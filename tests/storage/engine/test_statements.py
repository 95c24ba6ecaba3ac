"""A statement keeps its own constants, whatever they are, and asks only for what is its caller's."""

from __future__ import annotations

import asyncio
import importlib
import re
import sqlite3
from contextlib import closing
from hashlib import sha256
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import bindparam, update

import app.storage
from app.clock import SystemClock
from app.storage.engine.dialect import Sqlite
from app.storage.engine.postgres import Postgres
from app.storage.engine.transaction import Statement
from app.storage.place.address import libpq_url
from app.storage.requests import concerning, executions, request_lists, requests
from app.storage.tables.tables import deliveries
from tests.requirements import requirement
from tests.storage.rig import behind, given_request, open_store

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
        dialect.prepare(connection)
        text, bound = write.many(dialect, "[]", ["req_1", "req_2"])
        explained = connection.execute(f"EXPLAIN {text}", bound)  # pyright: ignore[reportArgumentType, reportCallIssue] - our own SQL
        plan = "\n".join(row[0] for row in explained.fetchall())
    at = next(node for node in plan.split("->") if index in node)
    assert re.search(r"Index Cond: \(.*\bid = ", at), plan  # or all of the index is read, and each row of it
    assert "ix_" not in plan, plan


@pytest.mark.postgres
async def test_requests_that_are_named_together_are_looked_up_one_by_one(postgres_url: str) -> None:
    """And all that there are are not walked through: by its figures that costs less, and goes on when they are many."""
    names = [f"req_{sha256(bytes([number % 256, number // 256])).hexdigest()}" for number in range(600)]  # in no order
    async with open_store(postgres_url) as store:
        await asyncio.gather(*(given_request(store, name) for name in names))
    with behind(postgres_url) as connection:
        connection.execute("ANALYZE requests")
    dialect = Postgres(libpq_url(postgres_url))
    with closing(dialect.connect()) as connection:
        dialect.prepare(connection)
        for size in (2, 16, 128):
            given = {"ids": names[:size]}
            for statement in (requests._LOCK_MANY, requests._GET_MANY, requests._DERIVED, request_lists._VERSIONS):
                text, bound = statement.bound(dialect, given, clocked=statement is requests._GET_MANY)
                explained = connection.execute(f"EXPLAIN {text}", bound)  # pyright: ignore[reportArgumentType, reportCallIssue] - our own SQL
                plan = "\n".join(row[0] for row in explained.fetchall())
                assert "pk_requests" in plan, plan
                assert "ix_requests" not in plan, plan
                assert "Seq Scan on requests" not in plan, plan


@pytest.mark.postgres
@requirement("F-38")
@pytest.mark.parametrize("known", [False, True], ids=["nothing is known of the tables", "they are known"])
async def test_what_somebody_voted_on_is_looked_up_one_by_one_however_much_waits(
    postgres_url: str, *, known: bool
) -> None:
    """Where its figures say that one row waits, walking all that does costs the server the same as one key."""
    async with open_store(postgres_url) as store:
        await asyncio.gather(*(given_request(store, f"req_{number}") for number in range(60)))
    with behind(postgres_url) as connection:
        connection.execute("ANALYZE" if known else "SELECT 1")
    dialect = Postgres(libpq_url(postgres_url))
    with closing(dialect.connect()) as connection:
        dialect.prepare(connection)
        text, bound = concerning._VOTED.bound(dialect, {"for_org": "acme", "of_person": "alice@acme.example"})
        explained = connection.execute(f"EXPLAIN {text}", bound)  # pyright: ignore[reportArgumentType, reportCallIssue] - our own SQL
        plan = "\n".join(row[0] for row in explained.fetchall())
    assert "pk_requests" in plan, plan
    assert "ix_requests" not in plan, plan


def _with_lists() -> list[tuple[str, Statement]]:
    """Every statement of the storage that names its rows by a list."""
    modules = (importlib.import_module(each.name) for each in walk_packages(app.storage.__path__, "app.storage."))
    found = {
        id(each): (f"{module.__name__}.{name}", each)
        for module in modules
        for name, kept in vars(module).items()
        for each in (kept if isinstance(kept, tuple) else (kept,))
        if isinstance(each, Statement) and each.lists
    }
    return list(found.values())


_SMALL = {"json_each", "switches", "restores", "database_servers"}
"""What may be walked through: the list itself, and tables that have a few rows."""


async def test_sqlite_looks_up_what_is_named_by_a_list(sqlite_url: str) -> None:
    """Without figures of its tables it believes that an org has ten rows: of more names it would walk through them."""
    dialect, statements = Sqlite("unused", SystemClock()), _with_lists()
    async with open_store(sqlite_url):
        pass
    assert len(statements) > 15, statements
    with behind(sqlite_url) as connection:
        for name, statement in statements:
            text, bound = statement.bound(dialect, {each: [] for each in statement.lists})
            given = {**dict.fromkeys(re.findall(r":(\w+)", text)), **bound}
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", given).fetchall()]
            walked = [step for step in plan if re.match(r"SCAN \w+|SEARCH \w+ .*\(org=", step)]
            assert {step.split()[1] for step in walked} <= _SMALL, (name, plan)
