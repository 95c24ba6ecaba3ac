"""`assent link`: a sign-in link for one person. It needs the database, and no running gateway."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import HERE, Config, Org
from app.cli.unwritten import show_once

# Everything else is imported where it runs: see `app.cli.commands`.


def link(
    person: Annotated[str, typer.Argument(help="e-mail, as in the configuration")],
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Make a link with which a person signs in to the console, once, within ten minutes."""
    from app.cli.beside_database import beside_gateway, run_command

    async def make() -> None:
        async with beside_gateway(config, org) as at:
            await at.warn_of_secret()
            at.warn_of_port()
            way = await at.sessions.invite(at.org, person, by="cli")
            show_once(
                way.url,
                otherwise=f"nobody has seen the link, and it ends by itself at {way.not_after:%H:%M} UTC: make another",
            )
            typer.echo(
                f"hand it to {person} alone: whoever opens it first is signed in as them. It works once, until "
                f"{way.not_after:%H:%M} UTC, and cannot be shown again.",
                err=True,
            )

    run_command(make())
