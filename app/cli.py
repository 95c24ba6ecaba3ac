"""The command line: serve, check, migrate, keys, the outbox and the trail. Every command says what to do next."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.offline import beside_gateway, check_schema, read_settings, refuse_faults, run_command
from app.policies.policy_book import PolicyBook
from app.storage.api_keys import Scope
from app.storage.outbox import list_rows, revive_dead
from channels.registry import SETTINGS
from migrations.state import NEWEST, find_present

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Assent: approvals that survive everything.")
keys_app = typer.Typer(no_args_is_help=True, help="API keys.")
config_app = typer.Typer(no_args_is_help=True, help="The configuration.")
audit_app = typer.Typer(no_args_is_help=True, help="The audit trail.")
outbox_app = typer.Typer(no_args_is_help=True, help="Cards on their way.")
slack_app = typer.Typer(no_args_is_help=True, help="Setting Slack up.")
feishu_app = typer.Typer(no_args_is_help=True, help="Setting Feishu up.")
for group, name in (
    (keys_app, "keys"),
    (config_app, "config"),
    (audit_app, "audit"),
    (outbox_app, "outbox"),
    (slack_app, "slack"),
    (feishu_app, "feishu"),
):
    app.add_typer(group, name=name)

Config = Annotated[Path, typer.Option("--config", "-c", help="assent.yaml, or a directory of them")]
Org = Annotated[str | None, typer.Option("--org", help="which org, where there are several")]
_HERE = Path("assent.yaml")


@app.command()
def serve(
    config: Config = _HERE,
    host: Annotated[str | None, typer.Option(help="where to listen; ASSENT_HOST")] = None,
    port: Annotated[int | None, typer.Option(help="which port; ASSENT_PORT")] = None,
    *,
    migrate_first: Annotated[bool, typer.Option("--migrate", help="bring the database up to date first")] = False,
) -> None:
    """Run the gateway."""
    from app.serve import run_server

    settings = read_settings()
    refuse_faults(config)
    check_schema(settings.database_url, migrate_first=migrate_first)
    run_server(settings, config, dict(os.environ), host=host or settings.host, port=port or settings.port)


@app.command()
def secret() -> None:
    """Make a master secret for ASSENT_SECRET."""
    typer.echo(secrets.token_urlsafe(48))


@app.command()
def migrate(revision: str = "head") -> None:
    """Bring the database to the newest schema."""
    from migrations import run

    url = read_settings().database_url
    run.upgrade(url, revision)
    typer.echo(f"the database is at {find_present(url)} (newest: {NEWEST})")


@app.command()
def doctor(config: Config = _HERE) -> None:
    """Look at everything that can be checked from here, and say what is missing."""
    from app.doctor import examine_all

    worst = asyncio.run(examine_all(config, dict(os.environ), typer.echo))
    raise typer.Exit(code=worst)


@config_app.command("check")
def check(config: Config = _HERE) -> None:
    """Say every fault of the configuration, with its file and line."""
    refuse_faults(config)
    book = PolicyBook(config, environ=os.environ, channel_types=SETTINGS)
    for org in book.orgs():
        policy = book.current(org).policy
        typer.echo(
            f"{org}: version {policy.version}, {len(policy.rules)} rules, {len(policy.tools)} tools, "
            f"{len(policy.directory.people)} people, {len(policy.channels)} channels; everything else: {policy.default}"
        )


@keys_app.command("create")
def keys_create(  # noqa: PLR0917 - options of a command
    scope: Annotated[Scope, typer.Option(help="agent, approver, auditor or admin")],
    label: Annotated[str, typer.Option(help="what the key is for, for the list")],
    agent: Annotated[str | None, typer.Option(help="the agent's name (scope agent)")] = None,
    person: Annotated[str | None, typer.Option(help="e-mail: whose key, or who answers for the agent")] = None,
    days: Annotated[int | None, typer.Option(help="for how many days; for ever if left out")] = None,
    config: Config = _HERE,
    org: Org = None,
) -> None:
    """Make an API key; its text is printed this once."""

    async def make() -> None:
        async with beside_gateway(config, org) as at:
            made = await at.keys.create(
                org=at.org,
                scope=scope,
                label=label,
                agent=agent,
                person=person,
                lives_for=timedelta(days=days) if days else None,
                by="cli",
            )
            typer.echo(made.text)
            typer.echo("keep it now: it cannot be shown again. Rotate by making a second one first.", err=True)

    run_command(make())


@keys_app.command("list")
def keys_list(config: Config = _HERE, org: Org = None) -> None:
    """List the keys, without their secrets."""

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            for key in await at.keys.list(at.org):
                ended = (
                    "revoked" if key.revoked_at else f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "live"
                )
                typer.echo(
                    f"{key.id}  {key.scope.value:8}  {ended:16}  {key.agent or key.person or '-':24}  {key.label}"
                )

    run_command(show())


@keys_app.command("revoke")
def keys_revoke(key_id: str, config: Config = _HERE, org: Org = None) -> None:
    """End a key for good; every replica refuses it within a second."""

    async def end() -> None:
        async with beside_gateway(config, org) as at:
            await at.keys.revoke(at.org, key_id, by="cli")
            typer.echo(f"{key_id} is revoked")

    run_command(end())


@audit_app.command("verify")
def audit_verify(config: Config = _HERE, org: Org = None) -> None:
    """Walk the whole chain; exit 1 with the first fault, 2 if there is nothing to verify."""

    async def walk() -> None:
        async with beside_gateway(config, org) as at:
            seen, fault = await at.read.verify(at.org)
        if fault:
            typer.echo(f"BROKEN after {seen} events: {fault}", err=True)
            raise typer.Exit(code=1)
        if not seen:
            typer.echo("the trail is empty: nothing was verified", err=True)
            raise typer.Exit(code=2)
        typer.echo(f"{seen} events, unbroken")

    run_command(walk())


@audit_app.command("show")
def audit_show(
    request_id: Annotated[str | None, typer.Argument(help="one request's story; the whole trail if left out")] = None,
    config: Config = _HERE,
    org: Org = None,
) -> None:
    """Print the trail, one JSON object a line."""
    from app.api.views import view_event

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            after = -1
            while True:
                events = (
                    await at.read.story(at.org, request_id)
                    if request_id
                    else (await at.read.trail(at.org, after=after, most=500))[0]
                )
                for event in events:
                    typer.echo(json.dumps(view_event(event), ensure_ascii=True))
                if request_id or not events:
                    return
                after = events[-1].seq

    run_command(show())


@outbox_app.command("list")
def outbox_list(
    status: Annotated[str, typer.Option(help="queued, dead or done")] = "dead", config: Config = _HERE, org: Org = None
) -> None:
    """List cards that wait or that were given up, with the reason."""

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            for row, error in await at.store.read(lambda tx: list_rows(tx, status, most=500), org=at.org):
                typer.echo(f"{row.id}  {row.errand.value:8} {row.channel:16} attempts {row.attempts:3}  {error or ''}")

    run_command(show())


@outbox_app.command("retry")
def outbox_retry(config: Config = _HERE, org: Org = None) -> None:
    """Queue the given-up rows again."""

    async def retry() -> None:
        async with beside_gateway(config, org) as at:
            typer.echo(f"{await at.store.write(revive_dead, org=at.org)} rows queued again")

    run_command(retry())


@slack_app.command("manifest")
def slack_manifest(
    name: Annotated[str, typer.Option(help="the channel's name in assent.yaml")] = "pay-slack",
    public_url: Annotated[
        str, typer.Option(help="the gateway's https address (not needed with --receive socket)")
    ] = "",
    receive: Annotated[Literal["webhook", "socket"], typer.Option(help="how clicks come in")] = "webhook",
) -> None:
    """Print the app manifest to paste into Slack."""
    from channels.slack.channel import manifest

    typer.echo(json.dumps(manifest(name=name, public_url=public_url, receive=receive), indent=2))


@feishu_app.command("setup")
def feishu_setup(
    name: Annotated[str, typer.Option(help="the channel's name in assent.yaml")] = "pay-feishu",
    public_url: Annotated[
        str, typer.Option(help="the gateway's https address (not needed with --receive websocket)")
    ] = "",
    receive: Annotated[Literal["webhook", "websocket"], typer.Option(help="how clicks come in")] = "webhook",
) -> None:
    """Print the scopes and switches to set in Feishu's console, one by one."""
    from channels.feishu.examine import setup_steps

    for number, step in enumerate(setup_steps(name=name, public_url=public_url, receive=receive), 1):
        typer.echo(f"{number}. {step}")


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    sys.exit(main())
