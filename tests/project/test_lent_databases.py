"""A PostgreSQL database that one test leaves to the next is as new; one that cannot be is not lent again."""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.fixtures.patience import HANGS
from tests.fixtures.watcher import watched
from tests.places import ROOT
from tests.storage.rig import ManualClock, given_request, look, open_store

if TYPE_CHECKING:
    from tests.fixtures.databases import PostgresTemplate

_JOINS = """\
import sys
from tests.fixtures.databases import running_server
with running_server(sys.argv[1]):
    print("joined", flush=True)
    sys.stdin.readline()
print("left", flush=True)
"""
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


def test_what_another_test_sets_of_its_database_does_not_keep_this_one_from_being_lent_again(
    postgres_template: PostgresTemplate,
) -> None:
    lent: list[str] = []
    with postgres_template.clone() as of_another:
        for _ in range(3):
            with postgres_template.lend() as url, psycopg.connect(of_another, autocommit=True) as owner:
                owner.execute(f"ALTER DATABASE {owner.info.dbname} SET search_path = public".encode())
            with postgres_template.lend() as again:
                lent += [again] if again == url else []
    assert lent != []


def test_a_server_that_others_leave_is_not_removed_under_whoever_is_about_to_join() -> None:
    name = f"assent-pg-own-{secrets.token_hex(6)}"
    folder = Path(tempfile.gettempdir()) / name
    leaving = subprocess.Popen(
        [sys.executable, "-c", _JOINS, name], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with leaving:
        assert leaving.stdout is not None
        assert leaving.stdout.readline() == "joined\n"
        with watched(folder):
            assert leaving.communicate("leave\n", timeout=HANGS) == ("left\n", None)
            assert (folder / "PG_VERSION").exists()
    assert not folder.exists()
