"""Look at a set-up as its operator would: secrets, database, configuration, every channel.

Says how to mend each fault.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psycopg
from pydantic import ValidationError

from app.cli.beside_database import NEW_DATABASE, counted, seals_of, settings_faults, wrong_schema
from app.cli.doctor.channels import look_at_channels
from app.cli.doctor.issuers import look_at_issuers
from app.cli.doctor.limits import look_at_limits
from app.cli.doctor.payments import look_at_file
from app.cli.doctor.records import DECLARE, look_at_database, look_at_records
from app.cli.doctor.secret_files import look_at_secret_files, look_at_variables
from app.cli.doctor.webhooks import look_at_webhooks
from app.clock import SystemClock
from app.domain.errors import UnavailableError
from app.domain.identity.seals import seal_ids
from app.domain.rules.rule import Then
from app.domain.text.visible import on_one_line
from app.identifiers import RandomIds
from app.policies.file.policy_book import PolicyBook, config_check
from app.policies.marks.faults import told_lines
from app.policies.sections.hook_section import GUARDS
from app.ports import Finding, Severity
from app.settings import Settings
from app.storage.database.mends import lacking_rights, mend_of
from app.storage.database.pooler import SHARED, shares_sessions
from app.storage.engine.line import bounds_of
from app.storage.engine.transaction import EVERY_ORG
from app.storage.engine.trouble import Trouble, database_fault, said_of
from app.storage.identity.api_keys import list_keys
from app.storage.make_store import dialect_for, make_store
from app.storage.place.address import is_postgres, libpq_url
from app.storage.tables.writable import prove_writable
from app.storage.trail.head_file import head_file_of
from app.usecases.reading.at_start import port_warnings, warnings_at_start
from app.usecases.upkeep.watch_pace import WatchPace
from channels import registry
from migrations.state import NEWEST, find_present

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from app.domain.identity.api_key import ApiKey
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store

_MENDS = {
    said_of(Trouble.READ_ONLY): "ASSENT_DATABASE_URL names a server (or a file) that takes writes: no standby, and "
    "`default_transaction_read_only` is off for the server, the database and the role",
    said_of(Trouble.FULL): "make room on the disk of the database; the gateways go on by themselves",
    said_of(Trouble.LOCKED): "find who holds it, and end that session (PostgreSQL: pg_locks and pg_stat_activity)",
}
_MARK = {Severity.OK: "ok     ", Severity.WARNING: "WARNING", Severity.ERROR: "ERROR  "}


async def examine_all(config: Path, environ: Mapping[str, str], say: Callable[[str], object]) -> int:
    """Print every finding; return 0 if none is an error, else 1."""
    findings = [
        *_settings(),
        *look_at_variables(config, environ),
        *_configuration(config, environ),
        *look_at_secret_files(config, environ),
    ]
    keys: dict[str, list[ApiKey]] = {}
    if not any(finding.severity is Severity.ERROR for finding in findings):
        findings += await asyncio.to_thread(_database)
        if not any(finding.severity is Severity.ERROR for finding in findings):
            findings += await _inside(config, environ, keys)
        book = PolicyBook(config, environ=environ, channel_types=registry.platforms())
        active: dict[str, set[str] | None] = {}
        findings += await look_at_channels(book, Settings(), active)  # pyright: ignore[reportCallIssue] - it loaded above
        for org in book.orgs():
            findings += _port(book.current(org).policy)
            findings += await look_at_issuers(book.current(org), SystemClock())
        for org, live in keys.items():
            findings += warnings_at_start(book.current(org).policy, live, active=active[org])
    for finding in findings:
        say(f"{_MARK[finding.severity]}  {_on_its_line(finding.what)}")
        if finding.mend:
            say(f"         mend: {_on_its_line(finding.mend)}")
    return int(any(finding.severity is Severity.ERROR for finding in findings))


def _on_its_line(text: str) -> str:
    """Keep what a platform or a database answered from looking like a finding of ours."""
    return text if text.isprintable() else on_one_line(text)


def _settings() -> list[Finding]:
    try:
        settings = Settings()  # pyright: ignore[reportCallIssue] - its fields come from the environment
    except ValidationError as error:
        return [Finding(severity=Severity.ERROR, what=what, mend=mend) for what, mend in settings_faults(error)]
    ids = seal_ids(secret.get_secret_value() for secret in settings.secret)
    sealed = f"{counted(len(ids), 'master secret')}, key ids {', '.join(ids)}"
    found = [Finding(severity=Severity.OK, what=f"settings: {sealed}")]
    if len(settings.secret) > 1:
        mend = "drop the old one from ASSENT_SECRET once no card of its time is pending"
        found.append(Finding(severity=Severity.WARNING, what="a master secret is being rotated out", mend=mend))
    return found


def _port(policy: Policy) -> list[Finding]:
    """Say where `url` leads beside the port that ASSENT_PORT names; what `serve --port` was told is not known here."""
    settings = Settings()  # pyright: ignore[reportCallIssue] - it loaded above
    return port_warnings(policy, settings.port) if "port" in settings.model_fields_set else []


def _configuration(config: Path, environ: Mapping[str, str]) -> list[Finding]:
    faults = config_check(config, environ=environ, channel_types=registry.platforms())
    if faults:
        return [Finding(severity=Severity.ERROR, what=line) for line in told_lines(faults)]
    return [Finding(severity=Severity.OK, what=f"{config}: no faults")]


def _database() -> list[Finding]:
    url = Settings().database_url  # pyright: ignore[reportCallIssue] - it loaded above
    try:
        shared, present = shares_sessions(url), find_present(url)
    except Exception as error:  # noqa: BLE001 - whatever the driver says is the finding
        why = database_fault(error, url) or type(error).__name__
        what = f"ASSENT_DATABASE_URL: the database cannot be used: {why}"
        return [Finding(severity=Severity.ERROR, what=what, mend=mend_of(error, url))]
    if shared:
        return [Finding(severity=Severity.ERROR, what=f"ASSENT_DATABASE_URL: {SHARED}")]
    if present is None:
        return [Finding(severity=Severity.WARNING, what=NEW_DATABASE)]
    if present != NEWEST:
        mend = "assent migrate" if present < NEWEST else "start a gateway of the newer release"
        return [Finding(severity=Severity.ERROR, what=wrong_schema(present), mend=mend)]
    found = [Finding(severity=Severity.OK, what=f"database: schema {present}")]
    if (lacking := lacking_rights(url)) is not None:
        return [Finding(severity=Severity.ERROR, what=lacking[0], mend=lacking[1])]
    if is_postgres(url):
        address = libpq_url(url)
        with psycopg.connect(address, **bounds_of(address)) as connection:
            row = connection.execute(
                "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        if row and row[0]:
            what = "the database role is a superuser or bypasses row security: the orgs' rows are not kept apart"
            found.append(Finding(severity=Severity.WARNING, what=what, mend="connect as an ordinary role"))
    return found


async def _inside(config: Path, environ: Mapping[str, str], keys: dict[str, list[ApiKey]]) -> list[Finding]:
    """Look at what the file asks for and what the rows say, org by org. `keys` gets the live ones of each."""
    book = PolicyBook(config, environ=environ, channel_types=registry.platforms())
    found = [finding for org in book.orgs() for finding in look_at_file(book.current(org).policy)]
    found += [finding for org in book.orgs() for finding in look_at_limits(book.current(org).policy)]
    found += [finding for org in book.orgs() for finding in _guards(book.current(org))]
    settings = Settings()  # pyright: ignore[reportCallIssue] - it loaded above
    if await asyncio.to_thread(find_present, settings.database_url) is None:
        return found
    seals = seals_of(settings)
    store = make_store(dialect_for(settings.database_url, SystemClock()), RandomIds(), seals=seals)
    heads = head_file_of(settings.database_url, settings.state_dir)
    store.start()
    try:
        await store.write(prove_writable, org=EVERY_ORG)  # as the gateways do: one that only reads is of no use to them
        found += await look_at_database(store, settings)
        if any(finding.mend == DECLARE for finding in found):
            heads = None  # that file is behind no trail by a fault of the trail's own
        for org in book.orgs():
            found += [*await look_at_records(store, book, org, head_file=heads), *await _pace(store, org)]
            found += await look_at_webhooks(store, book, org)
            now, all_keys = await store.read(lambda tx: (tx.now(), list_keys(tx)), org=org, long=True)
            keys[org] = [key for key in all_keys if key.live(now)]
    except UnavailableError as refusal:
        what = f"no gateway can use the database: {refusal.detail}"
        mend = await asyncio.to_thread(_mend_of, refusal, settings.database_url)
        found.append(Finding(severity=Severity.ERROR, what=what, mend=mend))
    finally:
        await store.stop()
    return found


def _mend_of(refusal: UnavailableError, url: str) -> str:
    """Say what to do about it, by what the driver said; of what the store kept for itself, it is asked once more."""
    if isinstance(refusal.__cause__, Exception):
        return mend_of(refusal.__cause__, url)
    try:
        find_present(url)
    except Exception as error:  # noqa: BLE001 - whatever the driver says tells what to do
        return mend_of(error, url)
    return _MENDS.get(refusal.detail, "it answers by now: say `assent doctor` again, and see what else uses it")


def _guards(loaded: LoadedPolicy) -> list[Finding]:
    """Where everything is allowed, say what stands between an agent and the machine."""
    policy = loaded.policy
    if policy.default is not Then.ALLOW:
        return []
    standing = [each.use for each in loaded.hooks if each.use in GUARDS]
    if standing:
        return [Finding(severity=Severity.OK, what=f"{policy.org}: guards: {', '.join(map(str, standing))}")]
    what = f"{policy.org}: what no rule matches is allowed, and no guard reads commands and paths"
    return [Finding(severity=Severity.WARNING, what=what, mend="guards: on")]


async def _pace(store: Store, org: str) -> list[Finding]:
    """Whoever approves faster than a card can be read approves nothing."""
    hurried = await WatchPace(store=store).find(org)
    if not hurried:
        return [Finding(severity=Severity.OK, what=f"{org}: nobody approves faster than they can read")]
    return [
        Finding(
            severity=Severity.WARNING,
            what=f"{org}: {one.person} approved {one.at_once} of {one.decisions} decisions of the last 7 days "
            "within 3 seconds of the card's arrival",
            mend="ask whether the rules ask too often: see docs/attention.md",
        )
        for one in hurried
    ]
