"""`assent reseal`: take what stands in the database for what was asked, under another secret, on an operator's word."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import HERE, Config, Org


def reseal(
    by: Annotated[str, typer.Option(help="who says so: your e-mail, for the trail")],
    reason: Annotated[str, typer.Option(help="why, for the trail")],
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Seal every open request as it stands, when the secret is lost or the seals are: look at what waits before."""
    from app.cli.beside_database import beside_gateway, counted, run_command

    async def seal() -> None:
        async with beside_gateway(config, org) as at:
            sealed, lost = await at.seal_standing.again(at.org, by=by, reason=reason.strip())
        if lost:
            typer.echo(f"{at.org}: {counted(lost, 'open request')} ended: what they carried is lost with the secret")
        typer.echo(
            f"{at.org}: {counted(sealed, 'open request')} sealed as they stand; API keys of another secret stay dead"
        )

    run_command(seal())
