"""The checklist of `assent doctor` where money is paid: every line is seen to fail, with its mend, and to hold."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert

from app.cli.doctor.doctor import examine_all
from app.cli.doctor.payments import look_at_file
from app.cli.doctor.records import file_system_of, look_at_database, look_at_records
from app.clock import SystemClock
from app.domain.identity.api_key import Scope
from app.domain.identity.factor import Factor, FactorStatus
from app.domain.identity.seals import Seals
from app.policies.file.policy_book import PolicyBook
from app.ports import Severity
from app.settings import Settings
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement
from app.storage.identity.factors import put_factor
from app.storage.tables.payment_tables import standing_approvals
from app.storage.trail.head_file import head_file_of
from app.usecases.reading.keys import Keys
from channels import registry
from tests.durability.replicas import replicas
from tests.fixtures.gateway import SECRET, open_gateway, query
from tests.places import ROOT
from tests.requirements import requirement
from tests.storage.rig import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from app.ports import Finding
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = pytest.mark.may_block  # the doctor reads files, and its loop serves nobody else

EXAMPLE = (ROOT / "examples/payments.yaml").read_text(encoding="utf-8")
ENVIRON = {"SLACK_BOT_TOKEN": "xoxb-1-2-3", "SLACK_APP_TOKEN": "xapp-1-2-3"}
BUDGETS = EXAMPLE[EXAMPLE.index("  budgets:") : EXAMPLE.index("break_glass:")]
TIERS = EXAMPLE[EXAMPLE.index("    tiers:") : EXAMPLE.index("    timeout: 4h")]
GLASS = "break_glass: {of: [emergency]"
KEPT = "kept: {channel: pay-slack, group: S0ABCDEFG}"


def book_of(folder: Path, text: str = EXAMPLE) -> PolicyBook:
    (folder / "assent.yaml").write_text(text)
    return PolicyBook(folder / "assent.yaml", environ=ENVIRON, channel_types=registry.platforms())


def told(findings: list[Finding], severity: Severity) -> list[str]:
    return [finding.what for finding in findings if finding.severity is severity]


def test_the_example_has_nothing_to_mend(tmp_path: Path) -> None:
    found = look_at_file(book_of(tmp_path).current("acme").policy)
    assert {finding.severity for finding in found} == {Severity.OK}
    assert len(found) == 12


def test_where_nothing_is_paid_nothing_is_said(tmp_path: Path) -> None:
    plain = "org: acme\ndefault: deny\ntools: {ping: {}}\n"
    assert look_at_file(book_of(tmp_path, plain).current("acme").policy) == []


@pytest.mark.parametrize(
    ("changes", "severity", "what"),
    [
        ({"enforced: true  ": "enforced: false "}, Severity.WARNING, "bank__pay pays and is advisory"),
        ({BUDGETS: ""}, Severity.ERROR, "bank__pay is allowed without people (by pay) and no budget counts it"),
        (
            {"default: deny": "default: allow", BUDGETS: ""},
            Severity.ERROR,
            "bank__pay is allowed without people (by pay, default)",
        ),
        (
            {BUDGETS: "", TIERS: "    then: ask\n", ", over_budget]": "]"},
            Severity.WARNING,
            "bank__pay has neither tiers nor a budget",
        ),
        (
            {"L2\n    stages: [{of: [finance]}": "L3\n    stages: [{of: [finance], allow_alone: true}"},
            Severity.WARNING,
            "the rule ads lets whoever asks for ads__top_up approve it alone where nobody else may",
        ),
        (
            {"assurance: L2\n": "assurance: L1\n"},
            Severity.WARNING,
            "or one call with a personal key, approves any ads__top_up, but for first_payee",
        ),
        (
            {EXAMPLE[EXAMPLE.index("calendar:") : EXAMPLE.index("channels:")]: "", "  step_up": "  # step_up"},
            Severity.WARNING,
            "a payment at night takes no more than one by day: there is no calendar",
        ),
        ({"url: https": "# url: https"}, Severity.WARNING, "no url: people cannot open the page"),
        (
            {
                GLASS: "break_glass: {of: [kept]",
                "groups:\n": "groups:\n  kept: {channel: pay-slack, group: S0ABCDEFG}\n",
            },
            Severity.WARNING,
            "whether two people may break the glass, only the platform's kept can say",
        ),
    ],
    ids=[
        "advisory",
        "uncounted",
        "uncounted-default",
        "no-tiers",
        "alone",
        "one-click",
        "no-calendar",
        "no-url",
        "glass",
    ],
)
def test_what_the_file_leaves_open_is_said_with_its_mend(
    tmp_path: Path, changes: dict[str, str], severity: Severity, what: str
) -> None:
    text = EXAMPLE
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    found = look_at_file(book_of(tmp_path, text).current("acme").policy)
    [said] = [finding for finding in found if what in finding.what]
    assert said.severity is severity
    assert said.mend


# --- what the rows say ------------------------------------------------------------------------------------------------


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    async with open_store(sqlite_url) as opened:
        yield opened


async def look(store: Store, folder: Path) -> list[Finding]:
    return await look_at_records(store, book_of(folder), "acme", head_file=None)


async def test_a_live_executors_key_is_looked_for(store: Store, tmp_path: Path) -> None:
    keys = Keys(store=store, seals=Seals([SECRET]), clock=SystemClock())
    [missing] = [each for each in told(await look(store, tmp_path), Severity.ERROR) if "executor" in each]
    assert missing == "acme: no executor's key is live for it: nobody can run bank__pay, bank__pay_batch, ads__top_up"
    await keys.create(org="acme", scope=Scope.EXECUTOR, label="ads", tools=["ads__*"])
    [left] = [each for each in told(await look(store, tmp_path), Severity.ERROR) if "executor" in each]
    assert left == "acme: no executor's key is live for it: nobody can run bank__pay, bank__pay_batch"
    made = await keys.create(org="acme", scope=Scope.EXECUTOR, label="bank", tools=["bank__pay", "bank__pay_batch"])
    assert "acme: an executor's key is live for each enforced tool" in told(await look(store, tmp_path), Severity.OK)
    await keys.revoke("acme", made.key.id)
    assert left in told(await look(store, tmp_path), Severity.ERROR)


async def test_people_who_may_need_a_second_factor_and_have_none_are_named(store: Store, tmp_path: Path) -> None:
    people = [f"{name}@acme.example" for name in ("chen", "li", "ops", "wang", "zhao")]  # ops may break the glass
    [missing] = [each for each in told(await look(store, tmp_path), Severity.WARNING) if "factor" in each]
    assert missing == f"acme: no second factor, and payments may need one of them: {', '.join(people)}"

    def enrol(tx: Tx) -> None:
        for person in people:
            factor = Factor(
                person=person, status=FactorStatus.ACTIVE, secret="sealed", set_by=person, set_at=tx.now(), last_step=1
            )
            put_factor(tx, factor, is_new=True)

    await store.write(enrol, org="acme")
    assert "acme: all 5 who may have to approve at L3 have a second factor" in told(
        await look(store, tmp_path), Severity.OK
    )


async def test_an_outcome_that_nobody_knows_for_five_minutes_is_an_error(sqlite_url: str, tmp_path: Path) -> None:
    async with replicas(sqlite_url, tmp_path) as (one, *_):
        request = await one.open("req_1")
        await one.vote(request, "ann@acme.example")
        await one.take(request)
        now = to_us(SystemClock().now())
        settled = "UPDATE executions SET status = 'unknown', ended_at ="
        query(sqlite_url, f"{settled} {now - 299_000_000}")
        found = await look(one.store, tmp_path)
        assert not [each for each in told(found, Severity.ERROR) if "nobody knows" in each]
        fresh = "acme: 1 outcome became unknown within five minutes, first that of req_1"
        assert fresh in told(found, Severity.WARNING)
        assert not [each for each in told(found, Severity.OK) if "nothing is unknown" in each]
        query(sqlite_url, f"{settled} {now - 301_000_000}")
        assert "acme: nobody knows whether 1 of the calls ran, the oldest of them req_1" in told(
            await look(one.store, tmp_path), Severity.ERROR
        )


@requirement("S-72")
async def test_what_waits_at_its_service_for_over_a_day_is_said(sqlite_url: str, tmp_path: Path) -> None:
    async with replicas(sqlite_url, tmp_path) as (one, *_):
        request = await one.open("req_1")
        await one.vote(request, "ann@acme.example")
        await one.take(request)
        now = to_us(SystemClock().now())
        waits = "UPDATE executions SET status = 'pending_elsewhere', elsewhere_id = 'apr_1', ended_at ="
        query(sqlite_url, f"{waits} {now - 86_390_000_000}")
        assert not [each for each in told(await look(one.store, tmp_path), Severity.WARNING) if "req_1" in each]
        query(sqlite_url, f"{waits} {now - 86_401_000_000}")
        assert "acme: 1 of the calls have waited at their service for over a day, first req_1" in told(
            await look(one.store, tmp_path), Severity.WARNING
        )


async def test_broken_glass_that_nobody_has_reviewed_is_said(store: Store, tmp_path: Path) -> None:
    people = {"proposed_by": "zhao@acme.example", "confirmed_by": "ops@acme.example", "reason": "the bank's night run"}
    row: dict[str, Any] = {
        **people, "id": "bgl_1", "org": "acme", "kind": "break_glass", "status": "revoked", "digest": "d", "used": 2,
        "scope": json.dumps({"tools": ["bank__pay"]}), "proposed_at": 1, "confirmed_at": 2, "expires_at": 3,
    }  # fmt: skip
    await store.write(lambda tx: tx.write(Statement(insert(standing_approvals).values(**row))), org="acme")
    said = "acme: the glass was broken and nobody has reviewed it: bgl_1"
    assert said in told(await look(store, tmp_path), Severity.WARNING)


async def test_cards_that_were_given_up_are_counted(
    sqlite_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path
) -> None:
    async with open_gateway(sqlite_url, config, platform) as g:
        await g.ask()
        query(sqlite_url, "UPDATE outbox SET status = 'dead'")
        found = await look(g.container.store, tmp_path)
        assert "acme: 1 cards or changes of cards were given up" in told(found, Severity.WARNING)


async def test_a_trail_that_does_not_verify_is_an_error(
    sqlite_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path
) -> None:
    async with open_gateway(sqlite_url, config, platform) as g:
        await g.ask("by_api", {})
        assert any(
            "the trail is unbroken" in each for each in told(await look(g.container.store, tmp_path), Severity.OK)
        )
        query(sqlite_url, "DROP TRIGGER audit_events_unchanged")
        query(sqlite_url, "UPDATE audit_events SET actor = 'nobody' WHERE seq = 1 AND org = 'acme'")
        [broken] = [each for each in told(await look(g.container.store, tmp_path), Severity.ERROR) if "trail" in each]
        assert "event 1 was changed" in broken


@requirement("F-40")
async def test_the_file_of_the_trails_head_is_looked_for_and_believed(store: Store, sqlite_url: str) -> None:
    settings = Settings(secret=(SECRET,), database_url=sqlite_url)  # pyright: ignore[reportArgumentType]
    path = head_file_of(sqlite_url, None)
    assert path is not None
    assert f"{path} is not there: a restored database would not be noticed" in told(
        await look_at_database(store, settings), Severity.WARNING
    )
    path.write_text('{"epoch": 0, "orgs": {}}')
    assert told(await look_at_database(store, settings), Severity.OK) == [
        f"{path}: the trail has lost nothing that it had"
    ]
    path.write_text(json.dumps({"epoch": 0, "orgs": {"acme": [7, "0" * 64]}}))
    [lost] = told(await look_at_database(store, settings), Severity.ERROR)
    assert "the trail of acme ends at event -1, and had come to 7" in lost
    elsewhere = Settings(secret=(SECRET,), database_url="postgresql://u@h/db")  # pyright: ignore[reportArgumentType]
    [unset] = await look_at_database(store, elsewhere)
    assert "ASSENT_STATE_DIR is not set" in unset.what


def test_a_network_file_system_is_recognised_by_the_longest_mount() -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nnas:/x /srv/data nfs4 rw 0 0\ntmpfs /srv/data/fast tmpfs rw 0 0\nbad\n"
    kinds = {"/srv/data/assent": "nfs4", "/srv/data": "nfs4", "/srv/database": "ext4", "/srv/data/fast": "tmpfs"}
    assert {folder: file_system_of(folder, mounts) for folder in kinds} == kinds


async def test_a_database_on_a_network_share_is_an_error(
    store: Store, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("nas:/x / nfs rw 0 0\n")
    monkeypatch.setattr("app.cli.doctor.records._MOUNTS", mounts)
    settings = Settings(secret=(SECRET,), database_url=sqlite_url)  # pyright: ignore[reportArgumentType]
    assert told(await look_at_database(store, settings), Severity.ERROR) == [
        "the database file is on a network file system (nfs): SQLite's locks do not hold there"
    ]


async def test_the_doctor_goes_through_the_whole_list(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    text = re.sub(r"channels:\n  pay-slack:.*?\nask:", "ask:", EXAMPLE, flags=re.DOTALL).replace(
        "pay-slack, api", "api"
    )
    (tmp_path / "assent.yaml").write_text(text.replace(", channels: [pay-slack],", ", channels: [api],"))
    said: list[str] = []
    assert await examine_all(tmp_path / "assent.yaml", {}, said.append) == 1
    whole = "\n".join(said)
    assert "ok       acme: bank__pay is enforced" in whole
    assert "ERROR    acme: no executor's key is live" in whole
    assert "mend: assent keys create --scope executor" in whole
    assert "WARNING  acme: no second factor" in whole
    assert "would not be noticed" in whole
