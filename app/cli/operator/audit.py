"""`assent audit verify`: is the trail whole, do the rows say what it says, and is it the one that was there before?

`assent audit export` writes it into a file that says of itself whether it is whole; `assent audit cut` does so with its
old part, and lets go of it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from app.cli.options import HERE, Config, Org
from app.cli.progress import Progress

if TYPE_CHECKING:
    from app.cli.beside_database import Beside
    from app.usecases.proving.verify_trail import Verified

_MOST = 20
_HEAD = re.compile(r"([0-9]{1,18})[: ]([0-9a-f]{64})")


def verify(
    config: Config = HERE,
    org: Org = None,
    *,
    expect: Annotated[
        str | None, typer.Option(metavar="SEQ:HASH", help="an event that you noted down: the head of an earlier run")
    ] = None,
    segments: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="where the files are that were cut off: walk from the first event"),
    ] = None,
) -> None:
    """Walk the chain and hold the rows against it; exit 1 with the first place that does not fit, 2 if nothing was."""
    from app.cli.beside_database import beside_gateway, counted, read_settings, run_command
    from app.domain.text.visible import on_one_line
    from app.storage.engine.transaction import EVERY_ORG
    from app.storage.trail.head_file import head_file_of
    from app.storage.trail.restores import list_restores
    from app.usecases.proving.verify_trail import VerifyTrail

    wanted = _head(expect)
    if segments is not None and not segments.is_dir():
        _refuse(f"--segments: {segments} is no folder: name the one that `assent audit cut --to` wrote into")

    async def walk() -> None:
        settings = read_settings()
        path = head_file_of(settings.database_url, settings.state_dir)
        async with beside_gateway(config, org) as at:
            await _refuse_foreign(at)
            verify_trail, progress = VerifyTrail(store=at.store, head_file=path), Progress()
            found = await verify_trail(
                at.org, expect=wanted, segments=segments, tell=lambda seen: progress(seen, "events verified")
            )
            forks = await at.store.read(list_restores, org=EVERY_ORG)
        for fault in found.faults[:_MOST]:
            typer.echo(f"BROKEN after {found.seen} events: {on_one_line(fault.text)}", err=True)
        if len(found.faults) > _MOST:
            typer.echo(f"and {len(found.faults) - _MOST} more", err=True)
        if found.faults:
            raise typer.Exit(code=1)
        if not found.seen:
            typer.echo("the trail is empty: nothing was verified", err=True)
            raise typer.Exit(code=2)
        typer.echo(f"{counted(found.seen, 'event')}, unbroken")
        _tell_cut(found, segments)
        typer.echo(f"head: {found.head[0]} {found.head[1]}")
        if found.witness is not None:
            typer.echo(f"held against {found.witness}")
        for fork in forks:
            by, why = on_one_line(fork.by), on_one_line(fork.reason)
            typer.echo(f"declared restore {fork.epoch}: {fork.at:%Y-%m-%d %H:%M:%S} UTC by {by}: {why}")
        if found.witness is None:
            typer.echo(
                "held against nothing outside of the database: a cut tail would not show; see --expect", err=True
            )

    run_command(walk())


async def _refuse_foreign(at: Beside) -> None:
    """End with 2 where ASSENT_SECRET is another one: rows that nobody can read are unlike every event."""
    from app.cli.beside_database import foreign_secret

    why = await foreign_secret(at.store, at.org)
    if why is not None:
        _refuse(f"nothing was verified: {why}")


def _tell_cut(found: Verified, folder: Path | None) -> None:
    """Say from where it was verified, where the trail was cut; and that no file was, though a folder was named."""
    from app.cli.beside_database import counted

    if found.cut is None:
        if folder is not None:
            typer.echo(f"nothing was ever cut off: no file of {folder} was walked")
        return
    cut = found.cut
    if found.segments:
        typer.echo(f"of them {cut.last + 1} from {counted(found.segments, 'segment')}, the others from the database")
    else:
        since = f"from the cut at {cut.last} on, of {cut.at:%Y-%m-%d} by {cut.by}: the events until there"
        typer.echo(f"{since} are in {cut.file} and those before it; --segments verifies them, too")
    if found.left:
        typer.echo(f"{counted(found.left, 'event')} that were cut off are still there: run `assent audit cut` again")


def export(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="the folder that the file is written into")],
    since: Annotated[str | None, typer.Option(metavar="DAY", help="events of this day (UTC) and later")] = None,
    before: Annotated[str | None, typer.Option(metavar="DAY", help="events before this day (UTC)")] = None,
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Write the trail, or a span of it, as a sealed file for whoever audits it; nothing is deleted.

    A JSON object a line, each event as its hash is made of it. The chain is verified on the way, and the file is read
    back. On PostgreSQL a role that reads is enough.
    """
    from app.cli.beside_database import beside_gateway, counted, read_settings, run_command, seals_of
    from app.usecases.reading.export_trail import ExportTrail

    first, end = (_day(day, name) if day else None for day, name in ((since, "--since"), (before, "--before")))
    if not to.is_dir():
        _refuse(f"{to} is no folder: make it first")

    async def work() -> None:
        async with beside_gateway(config, org) as at:
            progress = Progress()
            export_trail = ExportTrail(
                store=at.store,
                seals=seals_of(read_settings()),
                folder=to,
                tell=lambda what, seen: progress(seen, f"events {what}"),
            )
            done = await export_trail(at.org, since=first, before=end)
        if done.cut is not None:
            typer.echo(
                f"the events until {done.cut.last} were cut off: they are in {done.cut.file} and those before it"
            )
        if done.segment is None:
            typer.echo("no event is in this span: nothing was written", err=True)
            raise typer.Exit(code=2)
        made = done.segment
        events = counted(made.last - made.first + 1, "event")
        typer.echo(f"{at.org}: {events}, {made.first} to {made.last}, are in {done.path}")
        typer.echo(f"sha256 {made.digest}\nhead: {made.last} {made.hash}")

    run_command(work())


def cut(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="the folder of the segments; never taken away again")],
    by: Annotated[str, typer.Option(help="your e-mail, for the trail")],
    before: Annotated[
        str | None, typer.Option(metavar="DAY", help="what is older than this day (UTC); else as old as the file says")
    ] = None,
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Export the old part of the trail as a sealed file, read it back, and only then cut it off.

    It verifies first, cuts no event of a request whose rows stand, and none that a webhook was not told of. Cut off
    itself, the same command goes on. On PostgreSQL it needs the role that migrates.
    """
    from app.cli.beside_database import beside_gateway, counted, read_settings, run_command, seals_of
    from app.storage.trail.webhook_cursors import list_cursors
    from app.usecases.proving.cut_trail import CutTrail

    if "@" not in by.strip("@") or not by.isprintable():
        _refuse("say who you are with --by E-MAIL")
    day = _day(before, "--before") if before is not None else None
    if not to.is_dir():
        _refuse(f"{to} is no folder: make it, on a disk that is kept as long as the trail must be")

    async def work() -> None:
        async with beside_gateway(config, org) as at:
            progress = Progress()
            cut_trail = CutTrail(
                store=at.store,
                seals=seals_of(read_settings()),
                folder=to,
                tell=lambda what, seen: progress(seen, f"events {what}"),
            )
            hooks = [hook.name for hook in at.loaded.webhooks]
            done = await cut_trail(at.org, before=day or await _oldest(at), by=by, webhooks=hooks)
            known = await at.store.read(list_cursors, org=at.org)
            gone = [(each.name, each.seq) for each in known if done.cut is not None and each.seq < done.cut.last]
        if done.cut is not None:
            made = done.cut
            events = counted(made.last - made.first + 1, "event")
            typer.echo(f"{at.org}: {events}, {made.first} to {made.last}, are in {to / made.file}")
            typer.echo(f"sha256 {made.digest}\nkeep a copy of it elsewhere: nothing else has these events now")
            for name, seq in gone:
                missed = f"{name}, which the file does not name, was told until event {seq} only"
                typer.echo(f"the webhook {missed}: should it come back, it is not told of the others")
        if done.deleted:
            typer.echo(f"{counted(done.deleted, 'event')} deleted from the database")
        if done.cut is None and not done.deleted:
            typer.echo(f"nothing to cut: {done.why}")
        elif done.why is not None:
            typer.echo(f"no further: {done.why}")

    run_command(work())


async def _oldest(at: Beside) -> datetime:
    """Return before when events are too old by the org's file."""
    kept = at.loaded.policy.retention.trail
    if kept is None:
        _refuse("say --before DAY, or how long the trail is kept in the file: retention.trail")
    return await at.store.read(lambda tx: tx.now() - kept, org=at.org)


def _day(text: str, option: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        _refuse(f"{option}: is a day such as 2025-12-31")


def _refuse(why: str) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(code=2)


def _head(text: str | None) -> tuple[int, str] | None:
    """Read what is expected, or say what it should look like and end with 2."""
    if text is None:
        return None
    read = _HEAD.fullmatch(text.strip())
    if read is None:
        typer.echo("--expect: is SEQ:HASH, as `head:` of an earlier run says them", err=True)
        raise typer.Exit(code=2)
    return int(read[1]), read[2]
