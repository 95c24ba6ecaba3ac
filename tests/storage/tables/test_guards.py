"""The last fence: what the database itself refuses, whoever asks, with plain SQL past all our code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import psycopg
import pytest

from app.domain.lifecycle.execution import claim
from app.domain.lifecycle.lifecycle import advance
from app.domain.request.decision import Verdict
from app.domain.trail.audit import Kind, Record
from tests.domain.samples import START, vote
from tests.requirements import requirement
from tests.storage.rig import ORG, REFUSED, behind, given_request, look, open_store, stepping

if TYPE_CHECKING:
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

NEW_EVENT = (
    "INSERT INTO audit_events (org, seq, id, at, kind, actor, request_id, request_version, facts, prev_hash, hash) "
    "VALUES ('acme', 900, 'evt_x', 1, 'request.approved', 'mallory', '{id}', {version}, '{{}}', 'p', 'h')"
)
SETTLED_AT = "settled_at = 1, settled_by = 'mallory'"


async def approve(store: Store, request_id: str, verdict: Verdict = Verdict.APPROVE) -> None:
    await store.write(
        stepping(request_id, lambda r, now: advance(r, vote(r, "ann@acme.example", verdict), now=now)),
        org=ORG,
        about=request_id,
    )


@pytest.fixture
async def rows(database_url: str) -> str:
    """Fill a database: one pending, one denied, one approved and claimed request; return its URL."""
    async with open_store(database_url) as store:
        now = datetime.now(UTC)
        for request_id in ("pending", "denied", "claimed"):
            await given_request(store, request_id, now=now)
        await approve(store, "denied", Verdict.DENY)
        await approve(store, "claimed")
        await store.write(
            stepping("claimed", lambda r, at: claim(r, execution_id="exe_1", claim_id="c", by="agent:payer", now=at)),
            org=ORG,
            about="claimed",
        )
    return database_url


def states(url: str) -> list[tuple[object, ...]]:
    return look(url, "SELECT id, version, status, settled_at, settled_by, digest FROM requests ORDER BY id")


REFUSALS = {
    "a settled request is set back": "UPDATE requests SET version = 3, status = 'pending', settled_at = NULL, "
    "settled_by = NULL WHERE id = 'denied'",
    "a denial is turned": "UPDATE requests SET version = 3, status = 'approved' WHERE id = 'denied'",
    "a settled request is settled by someone else": "UPDATE requests SET version = 3, settled_by = 'x' "
    "WHERE id = 'denied'",
    "a settled request gets another digest": "UPDATE requests SET version = 3, digest = 'x' WHERE id = 'denied'",
    "a status changes without a version": f"UPDATE requests SET status = 'approved', {SETTLED_AT} WHERE id = 'pending'",
    "a version is skipped": f"UPDATE requests SET version = 3, status = 'denied', {SETTLED_AT} WHERE id = 'pending'",
    "a version goes back": "UPDATE requests SET version = 1 WHERE id = 'denied'",
    "a change has no audit event": f"UPDATE requests SET version = 2, status = 'denied', {SETTLED_AT} "
    "WHERE id = 'pending'",
    "a request is deleted": "DELETE FROM requests WHERE id = 'pending'",
    "what runs is deleted": "DELETE FROM requests WHERE id = 'claimed'",
    "an outcome that nobody knows is deleted": "DELETE FROM executions WHERE status = 'started'",
    "an approval comes at the deadline": "UPDATE requests SET version = 2, status = 'approved', "
    "settled_at = expires_at, settled_by = 'x' WHERE id = 'pending'",
    "a settled request has no instant": "UPDATE requests SET version = 2, status = 'denied' WHERE id = 'pending'",
    "a status is unknown": f"UPDATE requests SET version = 2, status = 'maybe', {SETTLED_AT} WHERE id = 'pending'",
    "an audit event is edited": "UPDATE audit_events SET actor = 'mallory' WHERE seq = 0",
    "an audit event is deleted": "DELETE FROM audit_events WHERE seq = 2",
    "the trail is emptied": "DELETE FROM audit_events",
    "a second grant is issued": "INSERT INTO grants SELECT 'gra_x', org, request_id, 'issued', not_after FROM grants",
    "a grant has an unknown status": "UPDATE grants SET status = 'eternal'",
    "a grant is spent twice": "INSERT INTO executions SELECT 'exe_2', org, request_id, grant_id, 'c-2', 'started', "
    "started_at, lease_until, NULL, NULL, NULL, NULL, NULL, NULL FROM executions",
    "an execution has no grant": "INSERT INTO executions SELECT 'exe_2', org, 'pending', 'gra_none', 'c-2', 'started', "
    "started_at, lease_until, NULL, NULL, NULL, NULL, NULL, NULL FROM executions",
    "a call waits at its service, and nobody knows as what": "UPDATE executions SET status = 'pending_elsewhere'",
    "a person votes twice": "INSERT INTO decisions SELECT 'dec_x', org, request_id, person, 'approve', reason, "
    "decided_at, channel, account_id, tenant, app_id, chat_id, message_id, card_revision, assurance, NULL "
    "FROM decisions",
    "a vote says neither": "UPDATE decisions SET verdict = 'perhaps'",
}


@requirement("S-03", "S-17", "S-23", "S-24", "S-11")
async def test_the_database_refuses(rows: str) -> None:
    before = states(rows)
    trail = look(rows, "SELECT * FROM audit_events ORDER BY seq")
    assert [what for what, statement in REFUSALS.items() if takes(rows, statement)] == []
    assert states(rows) == before
    assert look(rows, "SELECT * FROM audit_events ORDER BY seq") == trail


def takes(url: str, statement: str) -> bool:
    with behind(url) as connection:
        connection.execute("BEGIN")
        try:
            connection.execute(statement)
            connection.execute("COMMIT")  # what is deferred is checked here
        except REFUSED:
            return False
    return True


async def test_the_same_change_with_its_version_and_its_event_is_taken(rows: str) -> None:
    """The fence stops what is wrong, not what is right: the refused statements fail for their own reason."""
    with behind(rows) as connection:
        connection.execute("BEGIN")
        connection.execute(NEW_EVENT.format(id="pending", version=2))
        connection.execute(f"UPDATE requests SET version = 2, status = 'denied', {SETTLED_AT} WHERE id = 'pending'")
        connection.execute("COMMIT")
    assert ("pending", 2, "denied") in [row[:3] for row in states(rows)]


@requirement("S-17")
async def test_a_request_cannot_be_opened_without_its_event(rows: str) -> None:
    columns = [name for (name,) in look(rows, _COLUMNS[rows.partition(":")[0]]) if name not in {"id", "attach_key"}]
    listed = ", ".join(columns)
    with behind(rows) as connection:
        connection.execute("BEGIN")
        connection.execute(
            f"INSERT INTO requests (id, {listed}) SELECT 'smuggled', {listed} FROM requests WHERE id = 'pending'"
        )
        with pytest.raises(REFUSED):
            connection.execute("COMMIT")
    assert "smuggled" not in [row[0] for row in states(rows)]


_COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info('requests')",
    "postgresql": "SELECT column_name FROM information_schema.columns WHERE table_name = 'requests'",
}


@requirement("S-17")
async def test_without_its_audit_event_a_change_does_not_happen(store: Store, database_url: str) -> None:
    """The event of version 2 is there already, so the real one cannot be written: nothing of the vote stays."""
    await given_request(store)
    with behind(database_url) as connection:
        connection.execute(NEW_EVENT.format(id="req_1", version=2))
    before = states(database_url)
    with pytest.raises(Exception, match=r"database|event"):
        await approve(store, "req_1")
    assert states(database_url) == before
    assert look(database_url, "SELECT count(*) FROM grants") == [(0,)]
    assert look(database_url, "SELECT count(*) FROM decisions") == [(0,)]


# --- row level security (PostgreSQL) ----------------------------------------------------------------------------------


@requirement("S-14")
@pytest.mark.postgres
async def test_postgresql_shows_an_org_only_its_own_rows(postgres_url: str) -> None:
    async with open_store(postgres_url) as store:
        await store.write(_note, org="acme")
        await store.write(_note, org="beta")
    count = "SELECT org, count(*) FROM audit_events GROUP BY org ORDER BY org"
    seen = {}
    for scope in ("acme", "beta", "*", "nobody", None):
        with behind(postgres_url, scope=scope) as connection:
            seen[scope] = connection.execute(count).fetchall()
    assert seen == {
        "acme": [("acme", 1)],
        "beta": [("beta", 1)],
        "*": [("acme", 1), ("beta", 1)],
        "nobody": [],
        None: [],
    }


@requirement("S-14")
@pytest.mark.postgres
async def test_postgresql_refuses_to_write_into_another_org(postgres_url: str) -> None:
    event = NEW_EVENT.format(id="r", version=1)
    with behind(postgres_url, scope="beta") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(event)
    with behind(postgres_url, scope="acme") as connection:
        connection.execute(event)


@pytest.mark.postgres
async def test_postgresql_refuses_to_truncate_the_trail(postgres_url: str) -> None:
    async with open_store(postgres_url) as store:
        await store.write(_note, org="acme")
    with behind(postgres_url) as connection, pytest.raises(psycopg.Error):
        connection.execute("TRUNCATE audit_events CASCADE")
    assert look(postgres_url, "SELECT count(*) FROM audit_events") == [(1,)]


def _note(tx: Tx) -> None:
    tx.append(Record(kind=Kind.POLICY_LOADED, actor="system", facts={"at": START.isoformat()}))
