"""The switch that keeps everything read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.cli.options import HERE, Config, Org

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.call.switch import Switch


def read_only(
    state: Annotated[Literal["on", "off", "show"], typer.Argument(help="switch it, or say how it stands")],
    agent: Annotated[str | None, typer.Option(help="only this agent; all of the org's if left out")] = None,
    reason: Annotated[str | None, typer.Option(help="agents are told it")] = None,
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Let only those tools run that are declared to write nothing; on every replica within a second."""
    from app.cli.beside_database import run_command

    run_command(_tell_read_only(config, org, on={"on": True, "off": False}.get(state), agent=agent, reason=reason))


async def _tell_read_only(
    config: Path, org: str | None, *, on: bool | None, agent: str | None, reason: str | None
) -> None:
    """Flip the read-only switch (None: leave it as it is) and print how it stands, or all of them."""
    from app.cli.beside_database import beside_gateway
    from app.domain.call.switch import READ_ONLY
    from app.usecases.pauses.strangers import agents_named, strange_agent
    from app.usecases.pauses.switch import Switches

    async with beside_gateway(config, org) as at:
        switches, strange = Switches(store=at.store), None
        if on is not None:
            standing = [await switches.set_read_only(at.org, on=on, agent=agent, reason=reason, by="cli")]
            named = {*agents_named(at.loaded), *(key.agent for key in await at.keys.list(at.org) if key.agent)}
            strange = strange_agent(agent or "", named)
        else:
            listed = [each for each in await switches.list(at.org) if each.name == READ_ONLY]
            standing = [each for each in listed if agent in {None, each.agent}]
    if strange is not None:
        typer.echo(f"warning: {strange}", err=True)
    for switch in standing:
        typer.echo(_told(switch))
    if not standing:
        typer.echo("off: nobody has touched it")


def _told(switch: Switch) -> str:
    from app.domain.text.visible import on_one_line

    whose = f"the agent {on_one_line(switch.agent)}" if switch.agent else "every agent"
    why = f": {on_one_line(switch.reason)}" if switch.reason else ""
    state = "on" if switch.is_on else "off"
    return f"{state} for {whose} since {switch.set_at:%Y-%m-%d %H:%M:%S} UTC, by {switch.set_by}{why}"
