"""What the small commands share: a clear refusal of bad settings, and the store beside a running gateway."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import typer
from msgspec import Struct
from pydantic import ValidationError

from app.clock import SystemClock
from app.domain.errors import AssentError, InvalidError, UnavailableError
from app.domain.identity.api_key import AGENTS, Scope
from app.domain.identity.seals import Seals
from app.domain.text.language import Language
from app.domain.trail.told import told
from app.identifiers import RandomIds
from app.policies.file.policy_book import PolicyBook, config_check
from app.policies.marks.faults import PolicyFaultsError, near, told_lines
from app.policies.marks.value_words import refusal_in_words
from app.settings import Settings, is_of_its_file
from app.storage.database.mends import lacking_rights, mend_of
from app.storage.engine.trouble import database_fault
from app.storage.identity.lacking_secrets import count_open
from app.storage.identity.secret_ids import list_seal_ids
from app.storage.make_store import dialect_for, make_store
from app.storage.place.address import is_postgres
from app.usecases.pauses.strangers import strange_tool
from app.usecases.proving.factors import Factors
from app.usecases.proving.seal_standing import SealStanding, why_foreign, why_lacking
from app.usecases.reading.at_start import port_warnings
from app.usecases.reading.keys import Keys
from app.usecases.reading.read import Read
from app.usecases.reading.review import Review
from channels import registry
from migrations.state import NEWEST, find_present

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
    from pathlib import Path

    from app.domain.people.people import Directory
    from app.domain.rules.policy import Policy
    from app.domain.trail.audit import AuditEvent
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store
    from app.usecases.console.sessions import Sessions

NEW_DATABASE = "the database is new: `assent migrate` (or `assent serve --migrate`) makes its tables"


def render_event(event: AuditEvent) -> str:
    """Tell an event in one line for people; what came from outside cannot begin another one."""
    said = told(event.record, Language.EN)
    line = said if said.isprintable() else said.encode("unicode_escape").decode()
    return f"{event.at:%Y-%m-%d %H:%M:%S} UTC  {line}" + (f"  [{event.request_id}]" if event.request_id else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Say how many there are, with the word in its number."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def read_settings() -> Settings:
    """Read the environment, or say which variable is at fault and end with 2."""
    try:
        return Settings()  # pyright: ignore[reportCallIssue] - its fields come from the environment
    except ValidationError as error:
        for what, mend in settings_faults(error):
            typer.echo(what, err=True)
            if mend:
                typer.echo(f"mend: {mend}", err=True)
        raise typer.Exit(code=2) from None


_SAID = {
    "missing": "is not set",
    "int_parsing": "is no whole number",
    "float_parsing": "is no number",
    "bool_parsing": "is neither true nor false",
    "time_delta_parsing": "is no span of time: write 15m for fifteen minutes, 2s for two seconds",
}


def settings_faults(error: ValidationError) -> list[tuple[str, str]]:
    """Say which variable is at fault and how, never with its value; and the mend where there is more to say of it."""
    found: list[tuple[str, str]] = []
    for fault in error.errors(include_url=False):
        name = f"ASSENT_{str(fault['loc'][0]).upper()}"
        mend = "docs/operations.md#settings has what it may be"
        if is_of_its_file(fault):
            mend = ""  # what is said of a file says what to do about it
        elif name == "ASSENT_SECRET":
            missing = fault["type"] == "missing"
            mend = 'export ASSENT_SECRET="$(assent secret)", and keep it' + (
                "; or load the file that has it: set -a && . ./.env && set +a" if missing else ""
            )
        elif name == "ASSENT_DATABASE_URL":
            mend = "write sqlite:////folder/assent.db or postgresql://ROLE:PASSWORD@HOST/DATABASE"
        said, hint = refusal_in_words(fault)
        found.append((f"{name}: {_SAID.get(fault['type']) or said}", hint if hint and "mean" in hint else mend))
    return found


def seals_of(settings: Settings) -> Seals:
    """Return the keys of ASSENT_SECRET: whoever writes rows beside a gateway seals them as it does."""
    return Seals([secret.get_secret_value() for secret in settings.secret])


async def foreign_secret(store: Store, org: str) -> str | None:
    """Say that ASSENT_SECRET is not what an org's rows are sealed with; None: it is."""
    known = await store.read(list_seal_ids, org=org)
    given = store.seals.key_ids if store.seals else ()
    return why_foreign(org, known, given)


async def lacking_secret(store: Store, org: str) -> str | None:
    """Say that open requests are sealed with a secret that ASSENT_SECRET has not, and a gateway has had; None: none."""
    sealed = await store.read(count_open, org=org, long=True)
    return why_lacking(org, sealed, store.seals.key_ids if store.seals else ())


async def secret_fault(store: Store, org: str) -> str | None:
    """Say what keeps requests from being changed with ASSENT_SECRET as it is given; None: nothing."""
    return await foreign_secret(store, org) or await lacking_secret(store, org)


def refuse_faults(config: Path, *, ending: str = "; nothing was started") -> None:
    """Say every fault of the configuration and end with 2, if there is one."""
    faults = config_check(config, environ=os.environ, channel_types=registry.platforms())
    for line in told_lines(faults):
        typer.echo(line, err=True)
    if faults:
        typer.echo(f"{counted(len(faults), 'fault')}{ending}", err=True)
        raise typer.Exit(code=2)


def urls_of(config: Path) -> list[str | None]:
    """Return the addresses that a configuration without faults gives for pages."""
    book = PolicyBook(config, environ=os.environ, channel_types=registry.platforms())
    return [book.current(org).policy.url for org in book.orgs()]


def _waiting_alone(line: str) -> None:
    """Say nothing of the steps of a new database: `assent migrate` names them, and nothing was there to be changed."""
    if not line.startswith("to "):
        typer.echo(line)


def check_schema(url: str, *, migrate_first: bool, writes: bool = False) -> None:
    """End with 2 unless the database answers and is at the newest schema, and, if it `writes`, may be written."""
    with database_or_exit(url):
        refuse_shared_sessions(url)
        if migrate_first:
            from migrations import run  # Alembic is loaded only when it has something to do

            is_new = find_present(url) is None
            try:
                run.bring(url, told=_waiting_alone if is_new else typer.echo)
            except run.RefusedError as refusal:
                typer.echo(str(refusal), err=True)
                raise typer.Exit(code=2) from None
            if is_new:
                typer.echo(f"the database is set up ({counted(len(run.known()), 'step')})")
        present = find_present(url)
    if present is None:
        typer.echo(NEW_DATABASE, err=True)
        raise typer.Exit(code=2)
    if present != NEWEST:
        typer.echo(wrong_schema(present), err=True)
        raise typer.Exit(code=2)
    if writes and _say_rights(url):
        raise typer.Exit(code=2)


def _say_rights(url: str) -> bool:
    """Say which rights the role lacks, if it does."""
    with database_or_exit(url):
        lacking = lacking_rights(url)
    if lacking is not None:
        typer.echo(f"ASSENT_DATABASE_URL: {lacking[0]}\nmend: {lacking[1]}", err=True)
    return lacking is not None


def refuse_shared_sessions(url: str) -> None:
    """End with 2 if a pooler gives sessions away between transactions. Raises psycopg.Error."""
    if not is_postgres(url):
        return
    from app.storage.database.pooler import SHARED, shares_sessions

    if shares_sessions(url):
        typer.echo(f"ASSENT_DATABASE_URL: {SHARED}", err=True)
        raise typer.Exit(code=2)


def wrong_schema(present: str) -> str:
    """Say what is wrong with a database at another revision than this release's, and what to do."""
    if present > NEWEST:  # they are numbered, with leading zeros
        return (
            f"the database is at {present}, newer than the {NEWEST} of this gateway: start a gateway of the newer "
            "release; those that run may stay for the rollout, see docs/operations.md"
        )
    return f"the database is at {present}, this gateway needs {NEWEST}: run `assent migrate`"


@contextmanager
def database_or_exit(url: str) -> Generator[None]:
    """Say a fault of the database in one line that names its setting, and end with 2."""
    try:
        yield
    except Exception as error:
        why = database_fault(error, url)
        if why is None:
            raise
        typer.echo(f"ASSENT_DATABASE_URL: the database cannot be used: {why}", err=True)
        typer.echo(f"mend: {mend_of(error, url)}", err=True)
        raise typer.Exit(code=2) from None


class Beside(Struct, frozen=True, kw_only=True):
    """What a command works with, in the scope of one org."""

    org: str
    keys: Keys
    factors: Factors
    sessions: Sessions
    seal_standing: SealStanding
    read: Read
    store: Store
    seals: Seals
    loaded: LoadedPolicy

    @property
    def directory(self) -> Directory:
        """Whom the org's file knows."""
        return self.loaded.policy.directory

    async def warn_of_secret(self) -> None:
        """Say that ASSENT_SECRET lacks one that rows are sealed with, if so."""
        why = await secret_fault(self.store, self.org)
        if why is not None:
            typer.echo(f"warning: {why}", err=True)

    def warn_of_port(self) -> None:
        """Say that links lead to another port of this machine than the one that ASSENT_PORT names, if so."""
        settings = read_settings()
        for found in port_warnings(self.loaded.policy, settings.port) if "port" in settings.model_fields_set else []:
            typer.echo(f"warning: {found.what}; {found.mend}", err=True)


@asynccontextmanager
async def beside_gateway(config: Path, org: str | None) -> AsyncGenerator[Beside]:
    """Open the store beside a running gateway, for one command."""
    from app.usecases.console.sessions import Sessions  # `serve` begins with this module, and does not need it

    settings = read_settings()
    check_schema(settings.database_url, migrate_first=False)
    refuse_faults(config)
    book = PolicyBook(config, environ=os.environ, channel_types=registry.platforms())
    orgs = list(book.orgs())
    if org is None and len(orgs) != 1:
        typer.echo(f"say which org with --org: {', '.join(orgs)}", err=True)
        raise typer.Exit(code=2)
    if org is not None and org not in orgs:
        typer.echo(f"--org: {config} says nothing of {org}; {near(org, orgs, what='orgs')}", err=True)
        raise typer.Exit(code=2)
    clock = SystemClock()
    loaded = book.current(org or orgs[0])
    seals = seals_of(settings)
    with database_or_exit(settings.database_url):
        store = make_store(dialect_for(settings.database_url, clock), RandomIds(), seals=seals)
        store.start()
        try:
            keys, read = Keys(store=store, seals=seals, clock=clock), Read(store=store, book=book)
            factors = Factors(store=store, book=book, seals=seals)
            review = Review(store=store, book=book, seals=seals, clock=clock)
            yield Beside(
                org=org or orgs[0],
                keys=keys,
                factors=factors,
                sessions=Sessions(store=store, book=book, seals=seals, clock=clock, review=review),
                seal_standing=SealStanding(store=store, seals=seals),
                read=read,
                store=store,
                seals=seals,
                loaded=loaded,
            )
        finally:
            await store.stop()


def refuse_stranger(scope: Scope, person: str | None, directory: Directory) -> None:
    """Refuse an approver whom the file does not know (such a key could decide nothing); warn of such an owner."""
    if person is None or directory.find(person) is not None:
        return
    hint = near(person, [known.email for known in directory.people.values()], what="people")
    stranger = f"{person} is not under people in the configuration; {hint}"
    if scope is Scope.APPROVER:
        raise InvalidError(stranger, path="person")
    if scope in AGENTS:
        typer.echo(f"warning: {stranger}", err=True)


def warn_of_key(scope: Scope, person: str | None, tools: Sequence[str], policy: Policy) -> None:
    """Say what a key may not have been meant to be: an agent's for which nobody answers, or for tools unheard of."""
    if scope in AGENTS and person is None:
        typer.echo(
            "note: nobody answers for this agent, so nobody is kept from approving its calls as its owner: "
            "--person names whose it is (docs/security.md)",
            err=True,
        )
    for strange in filter(None, (strange_tool(tool, policy) for tool in tools)):
        typer.echo(f"warning: {strange}", err=True)


def run_command(work: Coroutine[object, object, None]) -> None:
    """Run a command's work; what it may not do is said in a sentence, with exit code 1."""
    try:
        asyncio.run(work)
    except AssentError as error:
        typer.echo(error.detail, err=True)
        if isinstance(error, UnavailableError):
            url = read_settings().database_url
            if isinstance(error.__cause__, Exception):
                typer.echo(f"mend: {mend_of(error.__cause__, url)}", err=True)
            _say_rights(url)
        raise typer.Exit(code=1) from None
    except PolicyFaultsError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(code=2) from None
