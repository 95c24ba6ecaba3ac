"""What the role that the gateways connect as can do to the trail: read it and add to it, and nothing else."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy as sa

from tests.places import ROOT
from tests.requirements import requirement
from tests.storage.tables.test_guards import NEW_EVENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures.databases import PostgresTemplate

GRANTED = re.compile(r"ALTER DEFAULT PRIVILEGES FOR ROLE assent_owner GRANT ([A-Z, ]+) ON (TABLES|SEQUENCES)")
DENIED = (
    "UPDATE audit_events SET actor = 'somebody else'",
    "DELETE FROM audit_events",
    "TRUNCATE audit_events",
    "TRUNCATE audit_events, audit_heads CASCADE",
    "DROP TABLE audit_events CASCADE",
    "ALTER TABLE audit_events ADD COLUMN more TEXT",
    "ALTER TABLE audit_events RENAME TO elsewhere",
    "ALTER TABLE audit_events DISABLE TRIGGER ALL",
    "ALTER TABLE audit_events NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE audit_events DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE audit_events OWNER TO CURRENT_USER",
    "DROP POLICY org_rows ON audit_events",
    "DROP TRIGGER audit_events_unchanged ON audit_events",
    "DROP FUNCTION assent_guard_audit() CASCADE",
    "INSERT INTO trail_cuts VALUES ('acme', 9999, 'h', 0, 'p', 'f', 'd', '{}', 'mallory', 1, 's')",
    "UPDATE trail_cuts SET seq = 9999",
    "DELETE FROM trail_cuts",
    "DROP FUNCTION assent_guard_cut() CASCADE",
    "DROP TRIGGER audit_events_kept ON audit_events",
    "CREATE OR REPLACE FUNCTION assent_guard_audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "CREATE RULE quiet AS ON INSERT TO audit_events DO INSTEAD NOTHING",
    "CREATE TRIGGER mine BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION assent_guard_audit()",
    "CREATE TABLE public.mine (id INTEGER)",
    "CREATE SCHEMA mine",
    "SET session_replication_role = replica",
    "SET ROLE assent_test_owner",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
    "COPY audit_events TO PROGRAM 'cat'",
)


@pytest.fixture
def as_gateway(postgres_template: PostgresTemplate, postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """Connect as a role that has exactly what `deploy/roles.sh` grants to the gateways'."""
    database = str(sa.make_url(postgres_url).database)
    role = f"app_{secrets.token_hex(6)}"
    script = (ROOT / "deploy" / "roles.sh").read_text(encoding="utf-8")
    granted = GRANTED.findall(script)
    assert {what for _, what in granted} == {"TABLES", "SEQUENCES"}
    with postgres_template._admin(database) as admin:
        statements = [f"CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS"]
        statements += [f"GRANT USAGE ON SCHEMA public TO {role}"]
        statements += [f"GRANT {verbs} ON ALL {what} IN SCHEMA public TO {role}" for verbs, what in granted]
        for statement in statements:
            admin.execute(statement.encode())
    try:
        with psycopg.connect(postgres_template.url(database, role=role), autocommit=True) as connection:
            connection.execute("SELECT set_config('assent.org', 'acme', false)")
            yield connection
    finally:
        with postgres_template._admin(database) as admin:
            admin.execute(f"DROP OWNED BY {role}".encode())
            admin.execute(f"DROP ROLE {role}".encode())


@requirement("S-59")
@pytest.mark.postgres
def test_the_gateways_role_reads_the_trail_and_adds_to_it_and_can_do_nothing_else(
    as_gateway: psycopg.Connection[Any],
) -> None:
    as_gateway.execute(NEW_EVENT.format(id="r", version=1).encode())
    before = as_gateway.execute("SELECT * FROM audit_events").fetchall()
    assert len(before) == 1
    assert [statement for statement in DENIED if _takes(as_gateway, statement)] == []
    assert as_gateway.execute("SELECT * FROM audit_events").fetchall() == before


def _takes(connection: psycopg.Connection[Any], statement: str) -> bool:
    try:
        connection.execute(statement.encode())
    except psycopg.Error:
        return False
    return True
