"""Whatever a cell of the database holds, verifying goes on to its end and names it, and doctor does not fall over."""

from __future__ import annotations

import sqlite3
from asyncio import to_thread
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import insert

from app.cli.doctor.records import look_at_records
from app.domain.identity.factor import Factor, FactorStatus
from app.domain.identity.passkey import Passkey, seal_passkey
from app.domain.rules.permits import Permit, PermitKind, PermitStatus, permit_digest
from app.domain.trail.audit import Kind, Record
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement
from app.storage.identity.factors import put_factor
from app.storage.identity.passkeys import insert_passkey
from app.storage.identity.sealed_rows import seal_of
from app.storage.permits.permits import insert_permit
from app.storage.tables.payment_tables import payee_history
from app.storage.tables.tables import metadata
from app.usecases.proving.verify_trail import VerifyTrail
from tests.domain.exhibit_files import ALL
from tests.fixtures.spending import approve, paying, payment, submit
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.lifecycle.replayed import Fault
    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

TEXTS = ("[1]", "{}", "null", "[[]]", '[{"x":1}]', "1e999", "", "e1.1.AAAA", "[" * 20_000, '{"a":' * 5_000)
MORE = "? + 0.25"  # than what is there: in SQLite a whole number may have a fraction
BAD = (*(f"'{text}'" for text in TEXTS), "9223372036854775807", "-1", "1e300", "X'ff00'", "NULL", MORE)
TABLES = (
    "requests", "decisions", "grants", "executions", "exhibits", "audit_events", "audit_heads", "api_keys", "policies",
    "switches", "standing_approvals", "payees", "payee_history", "spends", "factors", "value_keys", "passkeys",
    "restores", "secret_ids",
)  # fmt: skip
PASSED_OVER = {
    # Nothing reads it: it is there for row security, which then hides the row, and that is named.
    **dict.fromkeys(("decisions.org", "grants.org", "executions.org"), "row security's alone"),
    "executions.grant_id": "a reference that nothing reads",
    # Taken out of the org, it counts nowhere: whom it vouched for is asked about, and what a key hid is not read.
    **dict.fromkeys(("payee_history.org", "value_keys.org", "value_keys.number"), "it counts nowhere"),
    "spends.id": "without one it counts all the same",
    "spends.seal": "without one it counts, and vouches for nobody",
    "requests.traceparent": "no decision hangs on it, and no seal covers it",
    "requests.seal": "none may be there of what is over",
    "requests.bound_digest": "none may be there of what is over",
    # Told to people beside what counts, and held against nothing; of the wrong type they are named.
    **dict.fromkeys(
        (
            "api_keys.created_at", "api_keys.last_used_at", "api_keys.revoked_at", "api_keys.secret_hash",
            "policies.loaded_at", "switches.set_by", "switches.set_at", "restores.restored_by", "restores.restored_at",
            "restores.epoch", "restores.seal", "factors.set_by", "factors.set_at", "passkeys.signs", "passkeys.used_at",
            "passkeys.added_at", "value_keys.made_at", "value_keys.caught_up_at",
        ),
        "told, and not counted",
    ),
    # Whoever may set these has a person invite or confirm again; a code or a token that nobody has opens nothing.
    **dict.fromkeys(
        ("factors.secret", "factors.new_secret", "factors.invite_hash", "factors.invite_until", "factors.last_step"),
        "a secret that is not there",
    ),
    **dict.fromkeys(("secret_ids.org", "secret_ids.key_id", "secret_ids.known_since"), "starting looks there"),
}  # fmt: skip


async def _story(g: Gateway) -> None:
    """Have a row of each kind."""
    at = g.container.clock.now()
    seals = g.container.seals
    await g.container.services.payees.add("acme", "Globex", account="DE02 1203 0000 0000 4711", by="cli")
    for evidence in (ALL, None):
        more: dict[str, Any] = {"evidence": evidence} if evidence else {}
        asked = (await submit(g, payment("5000", "Globex", account="DE02 1203 0000 0000 4711"), **more))["request"]
        await g.quiet()
        await approve(g, asked)
        assert (await g.claim(asked)).status_code == 200
        assert (await g.report(asked)).status_code == 200
    await submit(g, payment("6000", "Globex", account="DE02 1203 0000 0000 0815"))
    await g.container.switches.set_read_only("acme", on=True, reason="audit", by="olga@acme.example")
    person, scope = "alice@acme.example", {"tool": "pay"}
    digest = permit_digest("sta_1", "acme", PermitKind.STANDING, scope, "often")
    permit = Permit(
        id="sta_1",
        kind=PermitKind.STANDING,
        status=PermitStatus.PROPOSED,
        scope=scope,
        digest=digest,
        reason="often",
        proposed_by=person,
        proposed_at=at,
        expires_at=at + timedelta(days=1),
    )
    factor = Factor(
        person=person,
        status=FactorStatus.ACTIVE,
        secret=seals.hide("secret", bound=("factor", "acme", person)),
        set_by=person,
        set_at=at,
    )
    passkey = Passkey(id="pky_1", org="acme", person=person, credential="c", public_key="k", signs=1, added_at=at)

    def unit(tx: Tx) -> None:
        insert_permit(tx, permit)
        said: dict[str, Any] = {"standing": "sta_1", "digest": digest, "until": permit.expires_at.isoformat()}
        tx.append(
            Record(
                kind=Kind.STANDING_PROPOSED,
                actor=person,
                facts={**said, "proposed_by": person, "confirmed_by": None, "used": 0},
            )
        )
        put_factor(tx, factor, is_new=True)
        tx.append(Record(kind=Kind.FACTOR_ADDED, actor=person, facts={"person": person, "replaced": False}))
        insert_passkey(tx, Passkey(**{**_fields(passkey), "seal": seal_passkey(seals, passkey)}))
        tx.append(Record(kind=Kind.PASSKEY_ADDED, actor=person, facts={"person": person, "passkey": "pky_1"}))
        paid: dict[str, Any] = {
            "org": "acme",
            "payee_key": "initech",
            "account_key": "",
            "payee": "Initech",
            "account_tail": "",
            "paid_at": to_us(at),
        }
        tx.write(Statement(insert(payee_history)), **paid, seal=seal_of(tx, payee_history, paid))

    await g.container.store.write(unit, org="acme")


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


async def _found(g: Gateway) -> tuple[Fault, ...]:
    return (await VerifyTrail(store=g.container.store, head_file=None)("acme")).faults


@requirement("S-64")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("step", [len(BAD) // 2, pytest.param(1, marks=pytest.mark.whole)])
@pytest.mark.heavy
async def test_a_cell_that_no_gateway_wrote_is_named_and_breaks_nothing_off(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, table: str, step: int
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        await _story(g)
        await g.quiet()
        stranger = await to_thread(Stranger, g)
        if table == "restores":
            now = stranger.ask("SELECT max(created_at) AS at FROM requests")[0]["at"]
            stranger.add("restores", epoch=1, restored_by="mallory", restored_at=now + 1, reason="x")
        assert table == "restores" or await _found(g) == (), "no false alarm"
        columns = enumerate(metadata.tables[table].columns)
        tried = [(column.name, bad) for place, column in columns for bad in BAD[place % step :: step]]
        assert [(name, bad[:40]) for name, bad in tried if await _goes_unnamed(g, stranger, table, name, bad)] == []


def _rows(stranger: Stranger, table: str) -> list[str]:
    return sorted(map(repr, stranger.ask(f"SELECT * FROM {table}")))


async def _goes_unnamed(g: Gateway, stranger: Stranger, table: str, column: str, bad: str) -> bool:
    """Put a value into one row; say whether nobody names it who should. The row is put back."""
    lite = g.url.startswith("sqlite")
    one, unchecked = ("rowid", "PRAGMA ignore_check_constraints = ON") if lite else ("ctid", "SELECT 1")
    of = "" if table == "restores" else "WHERE org = 'acme'"
    anew = bad.replace("?", column) if bad == MORE else bad
    change = f"UPDATE {table} SET {column} = {anew} WHERE {one} = (SELECT min({one}) FROM {table} {of})"
    before = await to_thread(_rows, stranger, table)
    try:
        await to_thread(stranger, unchecked, change)
    except (sqlite3.Error, psycopg.Error):  # no column of such a type, or a second row of its kind
        return False
    if await to_thread(_rows, stranger, table) == before:
        return False
    found = await _found(g)
    await look_at_records(g.container.store, g.container.book, "acme", head_file=None)
    await to_thread(stranger.put_back)
    return not found and f"{table}.{column}" not in PASSED_OVER


@requirement("S-64")
@pytest.mark.parametrize(
    ("change", "listed", "says"),
    [
        ("requests SET arguments = '[1]'", 2, "the rows of {} cannot be read"),
        ("requests SET status = 'odd'", 2, "the rows of {} cannot be read"),
        ("decisions SET decided_at = 'now'", 2, "the rows of {} cannot be read"),
        ("decisions SET person = CAST(X'ff00' AS TEXT)", None, "its column 'decision_person' is no UTF-8"),
    ],
)
async def test_a_row_that_no_gateway_wrote_is_named_to_whoever_reads_it_and_the_others_are_listed(
    gateway: Gateway, change: str, listed: int | None, says: str
) -> None:
    g = gateway
    bad, *_ = [(await submit(g, payment(str(9000 + each))))["request"] for each in range(3)]
    await g.quiet()
    assert (await g.decide(bad, "deny")).status_code == 200
    stranger = await to_thread(Stranger, g)
    of = "request_id" if change.startswith("decisions") else "id"
    await to_thread(stranger, "PRAGMA ignore_check_constraints = ON", f"UPDATE {change} WHERE {of} = '{bad['id']}'")
    one = await g.call("GET", f"/v1/requests/{bad['id']}")
    assert (one.status_code, one.json()["code"]) == (409, "unsealed")
    assert says.format(bad["id"]) in one.json()["detail"]
    page = await g.call("GET", "/v1/requests")
    if listed is None:
        assert (page.status_code, page.json()["detail"]) == (409, one.json()["detail"])
    else:
        assert [bad["id"] == each["id"] for each in page.json()["items"]] == [False] * listed


@requirement("S-64")
async def test_an_event_that_no_gateway_wrote_is_named_to_whoever_reads_the_trail(gateway: Gateway) -> None:
    asked = (await submit(gateway, payment("9000")))["request"]
    stranger = await to_thread(Stranger, gateway)
    await to_thread(stranger, f"UPDATE audit_events SET at = 'now' WHERE request_id = '{asked['id']}'")
    for path in ("/v1/audit", f"/v1/requests/{asked['id']}/events"):
        read = await gateway.call("GET", path, who="auditor")
        assert (read.status_code, read.json()["code"]) == (409, "unsealed"), path
        assert "of the trail cannot be read" in read.json()["detail"]
