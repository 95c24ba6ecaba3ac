"""`assent audit verify`: is the trail whole, do the rows say what it says, and is it the one that was there before?"""

from __future__ import annotations

import re
from typing import Annotated

import typer

from app.cli.options import HERE, Config, Org

_MOST = 20
_HEAD = re.compile(r"([0-9]{1,18})[: ]([0-9a-f]{64})")


def verify(
    config: Config = HERE,
    org: Org = None,
    *,
    expect: Annotated[
        str | None, typer.Option(metavar="SEQ:HASH", help="an event that you noted down: the head of an earlier run")
    ] = None,
) -> None:
    """Walk the chain and hold the rows against it; exit 1 with the first place that does not fit, 2 if it is empty."""
    from app.cli.beside_database import beside_gateway, counted, read_settings, run_command
    from app.domain.text.visible import visible
    from app.storage.engine.transaction import EVERY_ORG
    from app.storage.trail.head_file import head_file_of
    from app.storage.trail.restores import list_restores
    from app.usecases.proving.verify_trail import VerifyTrail

    wanted = _head(expect)

    async def walk() -> None:
        settings = read_settings()
        path = head_file_of(settings.database_url, settings.state_dir)
        async with beside_gateway(config, org) as at:
            found = await VerifyTrail(store=at.store, head_file=path)(at.org, expect=wanted)
            forks = await at.store.read(list_restores, org=EVERY_ORG)
        for fault in found.faults[:_MOST]:
            typer.echo(f"BROKEN after {found.seen} events: {visible(fault.text)}", err=True)
        if len(found.faults) > _MOST:
            typer.echo(f"and {len(found.faults) - _MOST} more", err=True)
        if found.faults:
            raise typer.Exit(code=1)
        if not found.seen:
            typer.echo("the trail is empty: nothing was verified", err=True)
            raise typer.Exit(code=2)
        typer.echo(f"{counted(found.seen, 'event')}, unbroken")
        typer.echo(f"head: {found.head[0]} {found.head[1]}")
        if found.witness is not None:
            typer.echo(f"held against {found.witness}")
        for fork in forks:
            typer.echo(
                f"declared restore {fork.epoch}: {fork.at:%Y-%m-%d %H:%M:%S} UTC by {fork.by}: {visible(fork.reason)}"
            )
        if found.witness is None:
            typer.echo(
                "held against nothing outside of the database: a cut tail would not show; see --expect", err=True
            )

    run_command(walk())


def _head(text: str | None) -> tuple[int, str] | None:
    """Read what is expected, or say what it should look like and end with 2."""
    if text is None:
        return None
    read = _HEAD.fullmatch(text.strip())
    if read is None:
        typer.echo("--expect: is SEQ:HASH, as `head:` of an earlier run says them", err=True)
        raise typer.Exit(code=2)
    return int(read[1]), read[2]
