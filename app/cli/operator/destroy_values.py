"""`assent destroy-values`: make what an org's calls carried unreadable for good, on an operator's word."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import HERE, Config, Org


def destroy_values(
    by: Annotated[str, typer.Option(help="who says so: your e-mail, for the trail")],
    reason: Annotated[str, typer.Option(help="why, for the trail")],
    config: Config = HERE,
    org: Org = None,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask: it cannot be taken back")] = False,  # noqa: FBT002
) -> None:
    """Destroy the keys of all that an org's calls carried until now: nobody can read it any more. The trail stays."""
    from app.cli.beside_database import beside_gateway, counted, run_command
    from app.usecases.proving.destroy_values import DestroyValues

    if not yes:
        typer.confirm("Nobody will be able to read these values again, in no backup of from now on. Go on?", abort=True)

    async def destroy() -> None:
        async with beside_gateway(config, org) as at:
            numbers = await DestroyValues(store=at.store)(at.org, by=by, reason=reason.strip())
        typer.echo(f"{at.org}: {counted(len(numbers), 'key')} destroyed; gateways that run forget it within 30 seconds")

    run_command(destroy())
