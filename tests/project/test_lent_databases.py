"""A PostgreSQL database that one test leaves to the next is as new; one that cannot be is not lent again."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.storage.rig import ManualClock, given_request, look, open_store

if TYPE_CHECKING:
    from tests.fixtures.databases import PostgresTemplate

pytestmark = pytest.mark.postgres


async def test_what_a_test_wrote_is_gone_from_a_database_that_is_lent_again(
    postgres_template: PostgresTemplate,
) -> None:
    with postgres_template.clone() as new:
        numbered = look(new, "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1")
    for _ in range(
        3
    ):  # the server's own upkeep may have touched a catalog: such a database is dropped, as it should be
        with postgres_template.lend() as url:
            async with open_store(url, ManualClock()) as store:
                await given_request(store)
            left_open = psycopg.connect(url, autocommit=True)
            assert look(url, "SELECT count(*) FROM audit_events") != [(0,)]
        with closing(left_open), postgres_template.lend() as again:
            if again != url:
                continue
            tables = [name for (name,) in look(again, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
            filled = [name for name in tables if look(again, f"SELECT count(*) FROM {name}") != [(0,)]]
            assert filled == ["alembic_version"]
            assert look(again, "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1") == numbered
            with pytest.raises(psycopg.OperationalError):
                left_open.execute("SELECT 1")
            return
    pytest.fail("no database was lent again")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE requests DISABLE TRIGGER USER; ALTER TABLE requests ENABLE TRIGGER USER",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "DROP INDEX ix_grants_due",
        "ALTER TABLE requests ADD CHECK (version > 0)",
        "ALTER TABLE requests ADD COLUMN more text",
        "UPDATE alembic_version SET version_num = '0001'",
        "DROP TABLE alembic_version",
    ],
)
def test_a_database_that_is_not_what_it_was_is_not_lent_again(postgres_template: PostgresTemplate, change: str) -> None:
    with postgres_template.lend() as url, psycopg.connect(url, autocommit=True) as owner:
        owner.execute(change.encode())
    with postgres_template.lend() as another:
        assert another != url
        assert look(another, "SELECT count(*) FROM alembic_version WHERE version_num > '0001'") == [(1,)]
