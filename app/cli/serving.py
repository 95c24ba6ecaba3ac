"""`assent serve`."""

from __future__ import annotations

import gc
import os
from typing import Annotated

import typer

from app.cli.options import HERE, Config
from app.lean_imports import begin_lean


def serve(
    config: Config = HERE,
    host: Annotated[str | None, typer.Option(help="where to listen; ASSENT_HOST")] = None,
    port: Annotated[int | None, typer.Option(help="which port; ASSENT_PORT", min=0, max=65535)] = None,
    *,
    migrate_first: Annotated[bool, typer.Option("--migrate", help="bring the database up to date first")] = False,
) -> None:
    """Run the gateway."""
    import asyncio

    gc.disable()  # until it serves: what is made by then stands for ever, and there is nothing to collect
    begin_lean()
    from app.cli.beside_database import check_schema, read_settings, refuse_faults, urls_of
    from app.cli.greeting import Greeting
    from app.serve import StartRefusedError, hold_database, open_address, refuse_restored, run_server

    settings = read_settings()
    refuse_faults(config)
    try:
        with hold_database(settings.database_url):
            check_schema(settings.database_url, migrate_first=migrate_first, writes=True)
            asyncio.run(refuse_restored(settings))
            chosen = settings.port if port is None else port
            address = open_address(host or settings.host, chosen, urls=lambda: urls_of(config))
            run_server(settings, config, dict(os.environ), address=address, greet=Greeting(settings))
    except StartRefusedError as refusal:
        typer.echo(str(refusal), err=True)
        raise typer.Exit(code=2) from None
