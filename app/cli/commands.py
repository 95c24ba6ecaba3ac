"""The command line: check, migrate, keys, the outbox, the trail, and all others. Every command says what to do next."""

from __future__ import annotations

import json
import os
import secrets
from datetime import timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from app.cli.approver.break_glass import break_glass_app
from app.cli.approver.decide import approve, deny
from app.cli.approver.evidence import evidence
from app.cli.approver.reconcile import reconcile
from app.cli.approver.requests import requests_app
from app.cli.approver.standing_approvals import standing_app
from app.cli.firstrun.init import init
from app.cli.hooks import check_calls, hooks_app
from app.cli.operator.audit import cut, export, verify
from app.cli.operator.backup import backup
from app.cli.operator.channels import channels_app
from app.cli.operator.destroy_values import destroy_values
from app.cli.operator.factors import factors_app
from app.cli.operator.link import link
from app.cli.operator.pause import pause
from app.cli.operator.payees import payees_app
from app.cli.operator.read_only import read_only
from app.cli.operator.reseal import reseal
from app.cli.operator.restore import restored
from app.cli.operator.webhooks import webhooks_app
from app.cli.options import HERE, Config, Org
from app.cli.platforms import WithPlatforms
from app.cli.rules.policy import policy_app
from app.cli.serving import serve
from app.cli.unwritten import end_unwritten, tell
from app.clock import SystemClock
from app.domain.errors import AssentError, NotFoundError

# Everything else is imported where it runs: `assent check` stands in people's hooks and CI, and must start at once.
if TYPE_CHECKING:
    from app.cli.beside_database import Beside
    from app.domain.identity.api_key import ApiKey
    from app.domain.identity.seals import Seals

keys_app = typer.Typer(no_args_is_help=True, help="API keys.")
config_app = typer.Typer(no_args_is_help=True, help="The configuration.")
audit_app = typer.Typer(no_args_is_help=True, help="The audit trail.")
outbox_app = typer.Typer(no_args_is_help=True, help="Cards on their way.")


class _Commands(WithPlatforms):
    groups: ClassVar = {
        "keys": keys_app,
        "config": config_app,
        "audit": audit_app,
        "outbox": outbox_app,
        "hooks": hooks_app,
        "standing": standing_app,
        "break-glass": break_glass_app,
        "payees": payees_app,
        "policy": policy_app,
        "requests": requests_app,
        "factors": factors_app,
        "webhooks": webhooks_app,
        "channels": channels_app,
    }


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and secrets are among them
    rich_markup_mode=None,  # frames and colours took longer to import than all of our own commands
    help="Assent: approvals that survive everything.",
)
app.command("init")(init)
app.command("check")(check_calls)
app.command("serve")(serve)
requests_app.command("approve")(approve)
requests_app.command("deny")(deny)
requests_app.command("evidence")(evidence)
requests_app.command("reconcile")(reconcile)
app.command("read-only")(read_only)
app.command("pause")(pause)
app.command("backup")(backup)
app.command("restored")(restored)
app.command("link")(link)
app.command("reseal")(reseal)
app.command("destroy-values")(destroy_values)
audit_app.command("verify")(verify)
audit_app.command("cut")(cut)
audit_app.command("export")(export)

Scopes = Literal["agent", "evaluation", "approver", "executor", "auditor", "admin"]
"""The values of `app.domain.identity.api_key.Scope`, which would bring the database library along."""


def _tell_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands an option's value over by position
    if wanted:
        typer.echo(f"assent {version('assent-gateway')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Approvals that survive everything."""


@app.command()
def secret() -> None:
    """Make a master secret for ASSENT_SECRET."""
    typer.echo(secrets.token_urlsafe(48))


@app.command()
def migrate(
    revision: Annotated[str, typer.Argument(help="which schema; the newest if left out")] = "head",
    *,
    lose_rows: Annotated[bool, typer.Option("--lose-rows", help="go back, too, with the rows of what goes")] = False,
) -> None:
    """Bring the database to the newest schema, or to the one that you name. A second one waits for the first."""
    from app.cli.beside_database import database_or_exit, read_settings, refuse_shared_sessions
    from migrations import run
    from migrations.state import NEWEST, find_present

    url = read_settings().database_url
    with database_or_exit(url):
        refuse_shared_sessions(url)
        try:
            run.bring(url, revision, may_lose=lose_rows, told=typer.echo)
        except run.RefusedError as refusal:
            typer.echo(str(refusal), err=True)
            raise typer.Exit(code=2) from None
        typer.echo(f"the database is at {find_present(url) or 'no schema'} (newest: {NEWEST})")


@app.command()
def doctor(config: Config = HERE) -> None:
    """Look at everything that can be checked from here, and say what is missing."""
    import asyncio

    from app.cli.doctor.doctor import examine_all

    worst = asyncio.run(examine_all(config, dict(os.environ), typer.echo))
    raise typer.Exit(code=worst)


@config_app.command("check")
def check(config: Config = HERE) -> None:
    """Say every fault of the configuration, with its file and line."""
    from app.cli.beside_database import counted, refuse_faults
    from app.cli.doctor.limits import limit_lines
    from app.cli.rules.payment_views import policy_lines
    from app.policies.file.policy_book import PolicyBook
    from channels import registry

    refuse_faults(config, ending="")
    book = PolicyBook(config, environ=os.environ, channel_types=registry.platforms())
    for org in book.orgs():
        policy = book.current(org).policy
        for warning in book.current(org).warnings:
            typer.echo(f"warning: {warning}", err=True)
        typer.echo(
            f"no faults: {org}: version {policy.version}, {counted(len(policy.rules), 'rule')}, "
            f"{counted(len(policy.tools), 'tool')}, {counted(len(policy.directory.people), 'person', 'people')}, "
            f"{counted(len(policy.channels), 'channel')}; everything else: {policy.default}"
        )
        for line in policy_lines(policy):
            typer.echo(f"  {line}")
        for line in limit_lines(policy):
            typer.echo(f"  warning: {line}")


@keys_app.command("create")
def keys_create(  # noqa: PLR0917 - options of a command
    scope: Annotated[Scopes, typer.Option(help="what the key is for")],
    label: Annotated[str, typer.Option(help="what the key is for, for the list")],
    agent: Annotated[str | None, typer.Option(help="the agent's name (scope agent, evaluation)")] = None,
    person: Annotated[str | None, typer.Option(help="e-mail: whose key, or who answers for the agent")] = None,
    tool: Annotated[list[str] | None, typer.Option(help="what an executor may run, * for any; several times")] = None,
    days: Annotated[int | None, typer.Option(help="for how many days; for ever if left out", min=1, max=3650)] = None,
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Make an API key; its text is printed this once."""
    from app.cli.beside_database import beside_gateway, refuse_stranger, run_command, warn_of_key
    from app.domain.identity.api_key import Scope

    async def make() -> None:
        async with beside_gateway(config, org) as at:
            refuse_stranger(Scope(scope), person, at.directory)
            warn_of_key(Scope(scope), person, tool or (), at.loaded.policy)
            await at.warn_of_secret()
            made = await at.keys.create(
                org=at.org,
                scope=Scope(scope),
                label=label,
                agent=agent,
                person=person,
                tools=tool or (),
                lives_for=timedelta(days=days) if days is not None else None,
                by="cli",
            )
            try:
                tell(made.text)
            except OSError as error:
                end_unwritten(error, await _end_unseen(at, made.key.id))
            typer.echo("keep it now: it cannot be shown again. Rotate by making a second one first.", err=True)

    run_command(make())


async def _end_unseen(at: Beside, key_id: str) -> str:
    """Revoke a key that nobody has seen; return what became of it."""
    try:
        await at.keys.revoke(at.org, key_id, by="cli")
    except AssentError:
        return f"the key is live, and nobody has seen it: `assent keys revoke {key_id}`"
    return f"nobody has seen the key, and {key_id} is revoked: make another one"


@keys_app.command("list")
def keys_list(config: Config = HERE, org: Org = None) -> None:
    """List the keys, without their secrets; a last use is noted every five minutes."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.domain.text.visible import on_one_line

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            await at.warn_of_secret()
            keys = await at.keys.list(at.org)
            for key in keys:
                whose = key.agent or key.person or " ".join(pattern.text for pattern in key.tools) or "-"
                said = f"{on_one_line(whose):24}  {on_one_line(key.label)}"
                typer.echo(f"{key.id}  {key.scope.value:10}  {_standing(key, at.seals):21}  {_used(key):21}  {said}")
            if dead := sum(_is_dead(key, at.seals) for key in keys):
                lack = f"warning: {dead} of these keys are dead with a secret that ASSENT_SECRET does not have"
                mend = "put it back behind the new one until each was used once; if it is lost: make them anew"
                typer.echo(f"{lack}: {mend}", err=True)

    run_command(show())


def _used(key: ApiKey) -> str:
    return f"used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "no use noted"


def _is_dead(key: ApiKey, seals: Seals) -> bool:
    from app.domain.identity.api_key import sealed_under

    return key.live(SystemClock().now()) and sealed_under(key) not in seals.key_ids


def _standing(key: ApiKey, seals: Seals) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if _is_dead(key, seals):
        return "dead with its secret"
    if key.expires_at is None:
        return "live"
    return f"{'live until' if key.live(SystemClock().now()) else 'expired'} {key.expires_at:%Y-%m-%d}"


@keys_app.command("revoke")
def keys_revoke(key_id: str, config: Config = HERE, org: Org = None) -> None:
    """End a key for good, by its id (or its whole text); every replica refuses it within a second."""
    from app.cli.beside_database import beside_gateway, run_command

    parts = key_id.split("_")
    wanted = parts[1] if parts[0] == "ak" and len(parts) > 1 else key_id

    async def end() -> None:
        async with beside_gateway(config, org) as at:
            found = next((key for key in await at.keys.list(at.org) if key.id == wanted), None)
            if found is None:
                raise NotFoundError(f"no such key in {at.org}: `assent keys list` shows the ids")
            if found.revoked_at:
                typer.echo(f"{wanted} was revoked on {found.revoked_at:%Y-%m-%d} already: nothing to do")
                return
            await at.keys.revoke(at.org, wanted, by="cli")
            typer.echo(f"{wanted} is revoked")

    run_command(end())


@audit_app.command("show")
def audit_show(
    request_id: Annotated[str | None, typer.Argument(help="one request's story; the whole trail if left out")] = None,
    config: Config = HERE,
    org: Org = None,
    *,
    plain: Annotated[bool, typer.Option("--plain", help="a sentence for each event instead of JSON")] = False,
) -> None:
    """Print the trail, one JSON object (or, with --plain, one sentence) a line."""
    from app.api.operator.event_view import view_event
    from app.cli.beside_database import beside_gateway, render_event, run_command

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            after = -1
            while True:
                events = (
                    await at.read.story(at.org, request_id)
                    if request_id
                    else (await at.read.trail(at.org, after=after, most=500))[0]
                )
                if request_id and not events:
                    raise NotFoundError(f"no such request: {request_id}")
                for event in events:
                    typer.echo(render_event(event) if plain else json.dumps(view_event(event), ensure_ascii=True))
                if request_id or not events:
                    return
                after = events[-1].seq

    run_command(show())


@outbox_app.command("list")
def outbox_list(
    status: Annotated[Literal["queued", "dead", "done"], typer.Option(help="which of them")] = "dead",
    config: Config = HERE,
    org: Org = None,
) -> None:
    """List cards that wait or that were given up, with the reason."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.domain.text.visible import on_one_line
    from app.storage.cards.outbox import list_rows

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            for row, error in await at.store.read(lambda tx: list_rows(tx, status, most=500), org=at.org):
                why = on_one_line(error or "")
                typer.echo(f"{row.id}  {row.errand.value:8} {row.channel:16} attempts {row.attempts:3}  {why}")

    run_command(show())


@outbox_app.command("retry")
def outbox_retry(config: Config = HERE, org: Org = None) -> None:
    """Queue the given-up rows again."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.storage.cards.outbox import revive_dead

    async def retry() -> None:
        async with beside_gateway(config, org) as at:
            typer.echo(f"{await at.store.write(revive_dead, org=at.org)} rows queued again")

    run_command(retry())
