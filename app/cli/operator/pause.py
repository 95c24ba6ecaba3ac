"""The kill switch on the command line: it needs the database and the secret, and neither a running gateway nor a chat.

A configuration with faults does not keep it from working: the orgs are those that the gateway has ever served as well.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.cli.options import HERE, Config, Org

# Everything else is imported where it runs: see `app.cli.commands`.
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from app.domain.call.switch import Switch
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store
    from app.usecases.pauses.under_pause import Ended, UnderPause

_STILL = "still paused:"


def pause(  # noqa: PLR0917 - options of a command
    what: Annotated[Literal["list"] | None, typer.Argument(help="say what is paused, and change nothing")] = None,
    agent: Annotated[str | None, typer.Option(help="only this agent and those below it; * stands for anything")] = None,
    tool: Annotated[str | None, typer.Option(help="only this tool, under all of its names; * as above")] = None,
    reason: Annotated[str | None, typer.Option(help="agents are told it")] = None,
    config: Config = HERE,
    org: Org = None,
    *,
    every_org: Annotated[bool, typer.Option("--all", help="in every org of this gateway")] = False,
    lift: Annotated[bool, typer.Option("--lift", help="lift exactly this pause again")] = False,
    deny_waiting: Annotated[
        bool, typer.Option("--deny-waiting", help="end what waits under it as well, and revoke unused approvals")
    ] = False,
) -> None:
    """Stop an org, an agent or a tool: no call passes, no approval is handed out; everywhere within a second.

    With neither --agent nor --tool it is everything of the org.

    What runs already goes on; what waits for people goes on waiting; approvals stand until they lapse. With
    --deny-waiting both are ended; cut off, the same command goes on with what is left.
    """
    from app.cli.beside_database import run_command

    if every_org and org is not None:
        typer.echo("say either --org or --all", err=True)
        raise typer.Exit(code=2)
    on = None if what == "list" else not lift
    if deny_waiting and not on:
        typer.echo("--deny-waiting belongs to a pause, not to lifting or listing one", err=True)
        raise typer.Exit(code=2)
    run_command(
        _flip(
            config,
            org,
            every_org=every_org,
            on=on,
            agent=agent,
            tool=tool,
            reason=reason,
            deny_waiting=deny_waiting,
        )
    )


async def _flip(
    config: Path,
    org: str | None,
    *,
    every_org: bool,
    on: bool | None,
    agent: str | None,
    tool: str | None,
    reason: str | None,
    deny_waiting: bool,
) -> None:
    from app.usecases.pauses.pauses import pauses_of
    from app.usecases.pauses.switch import Switches
    from app.usecases.pauses.under_pause import UnderPause

    async with _store() as store:
        switches = Switches(store=store)
        set_now: list[tuple[str, Switch]] = []
        files = _written(config)
        orgs = await _orgs(store, sorted(files), org, every_org=every_org or (on is None and org is None))
        for each in orgs:
            if on is not None:
                switch = await switches.set_pause(each, on=on, agent=agent, tool=tool, reason=reason, by="cli")
                typer.echo(f"{each}: {_told(switch)}")
                set_now.append((each, switch))
        for each, switch in set_now:  # once every org is paused
            await _warn(store, files.get(each), each, switch)
            if deny_waiting:
                await _refuse_foreign(store, each)
            await _follow(UnderPause(store=store), each, switch, deny_waiting=deny_waiting)
        left = [(each, switch) for each in orgs for switch in pauses_of(await switches.list(each))]
    if on is None:
        typer.echo("\n".join(f"{each}: {_told(switch)}" for each, switch in left) or "nothing is paused")
    elif not on:
        for each, switch in left:
            typer.echo(f"{_STILL} {each}: {_told(switch)}")


async def _refuse_foreign(store: Store, org: str) -> None:
    """End with 1 where what waits was sealed with another secret: nothing of it can be changed. The pause stands."""
    from app.cli.beside_database import secret_fault

    why = await secret_fault(store, org)
    if why is not None:
        typer.echo(f"{why}; the pause is in force, and nothing that waits under it was ended", err=True)
        raise typer.Exit(code=1)


async def _follow(under: UnderPause, org: str, switch: Switch, *, deny_waiting: bool) -> None:
    """End what waits, saying how far it is; or let the cards say that it is paused. The pause stands already."""
    if not deny_waiting:
        from app.domain.errors import AssentError

        try:
            await under.show(org, switch)
        except AssentError as error:
            typer.echo(f"{org}: cards could not be told of it ({error}); it is in force all the same", err=True)
        return
    ended = await under.end(
        org, switch, by=switch.set_by, told=lambda so_far: typer.echo(f"{org}: {_ended(so_far)} so far", err=True)
    )
    typer.echo(f"{org}: {_ended(ended)}")


def _ended(ended: Ended) -> str:
    from app.cli.beside_database import counted

    return f"{counted(ended.cancelled, 'request')} cancelled, {counted(ended.revoked, 'unused approval')} revoked"


@asynccontextmanager
async def _store() -> AsyncGenerator[Store]:
    """Open the database alone."""
    from app.cli.beside_database import check_schema, database_or_exit, read_settings, seals_of
    from app.clock import SystemClock
    from app.identifiers import RandomIds
    from app.storage.make_store import dialect_for, make_store

    settings = read_settings()
    url = settings.database_url
    check_schema(url, migrate_first=False)
    with database_or_exit(url):
        store = make_store(dialect_for(url, SystemClock()), RandomIds(), seals=seals_of(settings))
        store.start()
        try:
            yield store
        finally:
            await store.stop()


async def _warn(store: Store, file: LoadedPolicy | None, org: str, switch: Switch) -> None:
    """Say what a pause that is in force may not have been meant to be: of nothing that is known, or of everything."""
    from app.storage.identity.api_keys import list_keys
    from app.usecases.pauses.strangers import agents_named, strange_agent, strange_tool

    keys = await store.read(list_keys, org=org)
    agents = {*(key.agent for key in keys if key.agent), *(agents_named(file) if file else ())}
    tool = strange_tool(switch.tool, file.policy) if file else None
    for strange in filter(None, (strange_agent(switch.agent, agents), tool)):
        typer.echo(f"warning: {strange}", err=True)
    if switch.is_on and not switch.agent and not switch.tool:
        typer.echo(f"{org}: every tool of every agent stands still, until `assent pause --lift --org {org}`", err=True)


async def _orgs(store: Store, written: list[str], org: str | None, *, every_org: bool) -> list[str]:
    """Return whom it is about: those of the file, if it can be read, and those that the database knows."""
    from app.storage.engine.transaction import EVERY_ORG
    from app.storage.sessions.switches import list_orgs

    known = sorted({*written, *await store.read(list_orgs, org=EVERY_ORG)})
    if org is not None:
        if org not in known:
            typer.echo(f"warning: no file and no trail names the org {org!r}; known: {', '.join(known)}", err=True)
        return [org]
    if every_org:
        return known
    own = written or known
    if len(own) != 1:
        typer.echo(f"say which org with --org, or --all: {', '.join(own)}", err=True)
        raise typer.Exit(code=2)
    return own


def _written(config: Path) -> dict[str, LoadedPolicy]:
    """Return what the file says of each of its orgs; nothing where it cannot be read."""
    import os

    from app.policies.file.policy_book import PolicyBook
    from app.policies.marks.faults import PolicyFaultsError
    from channels import registry

    try:
        book = PolicyBook(config, environ=os.environ, channel_types=registry.platforms())
        return {org: book.current(org) for org in book.orgs()}
    except (PolicyFaultsError, OSError):
        typer.echo("warning: the configuration cannot be read; the orgs are those that the database knows", err=True)
        return {}


def _told(switch: Switch) -> str:
    from app.domain.text.visible import on_one_line
    from app.usecases.pauses.pauses import scope_of

    scope = on_one_line(scope_of(switch))
    state = f"{scope} is paused" if switch.is_on else f"the pause of {scope} is lifted"
    why = f": {on_one_line(switch.reason)}" if switch.reason else ""
    return f"{state} since {switch.set_at:%Y-%m-%d %H:%M:%S} UTC, by {switch.set_by}{why}"
