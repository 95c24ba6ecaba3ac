"""`assent restored`: say that the database was restored from a backup, so that nothing of the past is acted on.

It needs the database and the secret, and neither a running gateway nor a sound configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

# Everything else is imported where it runs: see `app.cli.commands`.
if TYPE_CHECKING:
    from app.storage.engine.store import Store
    from app.usecases.upkeep.restored import Fenced
    from app.usecases.upkeep.watch_heads import WatchHeads

_LOOK = """\
What was changed after the backup is as it was before. Look at it before you start the gateway:
  keys that you have revoked since then work again    assent keys list
  pauses and read-only that you have set are lifted   assent pause list
  second factors, payees and lifted refusals are those of the backup
  what was paid since then counts in no budget and is no duplicate
  unknown executions are settled by the tool's own records: assent requests reconcile"""


def restored(
    by: Annotated[str, typer.Option(help="your e-mail, for the trail")],
    reason: Annotated[str, typer.Option(help="why, and from which backup, for the trail")],
) -> None:
    """Declare a restored database: what was asked before can never run, and is asked again.

    Run it once after every restore, with the gateway stopped; on PostgreSQL beside running ones if it must be. It may
    be stopped and run again.
    """
    from app.cli.beside_database import run_command
    from app.serve import StartRefusedError

    if "@" not in by.strip("@") or not by.isprintable() or not reason.strip():
        typer.echo("say who you are with --by E-MAIL, and why with --reason", err=True)
        raise typer.Exit(code=2)
    try:
        run_command(_declare(by, reason.strip()))
    except StartRefusedError as error:
        typer.echo(f"{error}; nothing was declared: stop it, and say this again", err=True)
        raise typer.Exit(code=2) from None


async def _declare(by: str, reason: str) -> None:
    from app.cli.beside_database import check_schema, database_or_exit, read_settings, seals_of
    from app.clock import SystemClock
    from app.identifiers import RandomIds
    from app.serve import hold_database
    from app.storage.make_store import dialect_for, make_store
    from app.storage.trail.head_file import head_file_of
    from app.usecases.upkeep.restored import DeclareRestored
    from app.usecases.upkeep.watch_heads import WatchHeads

    settings = read_settings()
    url = settings.database_url
    check_schema(url, migrate_first=False)
    path = head_file_of(url, settings.state_dir)
    with hold_database(url), database_or_exit(url):
        store = make_store(dialect_for(url, SystemClock()), RandomIds(), seals=seals_of(settings))
        store.start()
        try:
            await _refuse_foreign(store)
            for each in await DeclareRestored(store=store)(by=by, reason=reason):
                typer.echo(_told(each))
            unwritten = await _renew(WatchHeads(store=store, path=path))
        finally:
            await store.stop()
    if unwritten is None:
        typer.echo(f"{path} is renewed" if path else "no file shows how far the trail had come: set ASSENT_STATE_DIR")
    typer.echo(_LOOK)
    if unwritten is not None:
        typer.echo(f"declared, but {path} could not be written ({unwritten}): mend that, then run this again", err=True)
        raise typer.Exit(code=1)


async def _refuse_foreign(store: Store) -> None:
    """End with 2 where rows were sealed with another secret: none of them could be fenced off."""
    from app.cli.beside_database import secret_fault
    from app.storage.engine.transaction import EVERY_ORG
    from app.storage.sessions.switches import list_orgs

    for org in await store.read(list_orgs, org=EVERY_ORG):
        why = await secret_fault(store, org)
        if why is not None:
            typer.echo(f"{why}; nothing was declared", err=True)
            raise typer.Exit(code=2)


async def _renew(heads: WatchHeads) -> str | None:
    """Write down how far the trail has come; return why it cannot be, or None."""
    try:
        await heads.renew()
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _told(one: Fenced) -> str:
    from app.cli.beside_database import counted

    seq, digest = one.head
    done = (
        f"{counted(one.cancelled, 'question')} cancelled, {counted(one.revoked, 'approval')} taken back, "
        f"{counted(one.unknown, 'execution')} unknown, {counted(one.standing, 'standing approval')} ended"
    )
    return (
        f"{one.org}: epoch {one.epoch}: {done}; {counted(one.live_keys, 'key')} live\n"
        f"{one.org}: the restored trail ended at {seq} {digest}"
    )
