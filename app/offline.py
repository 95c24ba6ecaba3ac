"""What the small commands share: a clear refusal of bad settings, and the store beside a running gateway."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer
from pydantic import ValidationError

from app.clock import SystemClock
from app.domain.errors import AssentError
from app.domain.seals import Seals
from app.identifiers import RandomIds
from app.policies.faults import PolicyFaultsError
from app.policies.policy_book import PolicyBook, config_check
from app.settings import Settings
from app.storage.dialect import dialect_for
from app.storage.store import Store
from app.usecases.keys import Keys
from app.usecases.read import Read
from channels.registry import SETTINGS
from migrations.state import NEWEST, find_present

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from pathlib import Path


def read_settings() -> Settings:
    """Read the environment, or say which variable is at fault and end with 2."""
    try:
        return Settings()  # pyright: ignore[reportCallIssue] - its fields come from the environment
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            name = f"ASSENT_{'_'.join(str(step) for step in fault['loc'][:1])}".upper()
            typer.echo(f"{name}: {fault['msg'].removeprefix('Value error, ')}", err=True)
        if any(fault["loc"][:1] == ("secret",) for fault in error.errors()):
            typer.echo('mend: export ASSENT_SECRET="$(assent secret)", and keep it', err=True)
        raise typer.Exit(code=2) from None


def refuse_faults(config: Path) -> None:
    """Say every fault of the configuration and end with 2, if there is one."""
    faults = config_check(config, environ=os.environ, channel_types=SETTINGS)
    for fault in faults:
        typer.echo(str(fault), err=True)
    if faults:
        typer.echo(f"{len(faults)} fault(s); nothing was started", err=True)
        raise typer.Exit(code=2)


def check_schema(url: str, *, migrate_first: bool) -> None:
    """End with 2 unless the database is at the newest schema."""
    if migrate_first:
        from migrations import run  # Alembic is loaded only when it has something to do

        run.upgrade(url)
    present = find_present(url)
    if present != NEWEST:
        typer.echo(f"the database is at {present}, this gateway needs {NEWEST}: run `assent migrate`", err=True)
        raise typer.Exit(code=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a command works with, in the scope of one org."""

    org: str
    keys: Keys
    read: Read
    store: Store


@asynccontextmanager
async def beside_gateway(config: Path, org: str | None) -> AsyncGenerator[Beside]:
    """Open the store beside a running gateway, for one command."""
    settings = read_settings()
    check_schema(settings.database_url, migrate_first=False)
    refuse_faults(config)
    book = PolicyBook(config, environ=os.environ, channel_types=SETTINGS)
    orgs = list(book.orgs())
    if org is None and len(orgs) != 1:
        typer.echo(f"say which org with --org: {', '.join(orgs)}", err=True)
        raise typer.Exit(code=2)
    clock = SystemClock()
    store = Store(dialect_for(settings.database_url, clock), RandomIds())
    seals = Seals([secret.get_secret_value() for secret in settings.secret])
    store.start()
    try:
        keys, read = Keys(store=store, seals=seals, clock=clock), Read(store=store, book=book)
        yield Beside(org=org or orgs[0], keys=keys, read=read, store=store)
    finally:
        await store.stop()


def run_command(work: Coroutine[object, object, None]) -> None:
    """Run a command's work; what it may not do is said in a sentence, with exit code 1."""
    try:
        asyncio.run(work)
    except AssentError as error:
        typer.echo(error.detail, err=True)
        raise typer.Exit(code=1) from None
    except PolicyFaultsError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(code=2) from None
