"""`assent factors`: the operator invites, lists and removes beside the gateway; a person enrols with their own key.

Neither of the two can set a second factor up alone: the operator's command makes an invitation, and only the person's
own approver's key redeems it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.approver.decide import ask_totp
from app.cli.approver.requests import clean, open_desk
from app.cli.options import HERE, Config, Org
from app.cli.unwritten import show_once

# Everything else is imported where it runs: see `app.cli.commands`.
if TYPE_CHECKING:
    from app.domain.identity.factor import Factor
    from app.domain.identity.passkey import Passkey

factors_app = typer.Typer(no_args_is_help=True, help="Second factors: what approvals at L3 and L4 take.")
_FACTORS = "/v1/factors"

Person = Annotated[str, typer.Argument(help="e-mail, as in the configuration")]


@factors_app.command("invite")
def invite(person: Person, config: Config = HERE, org: Org = None) -> None:
    """Let a person set a second factor up, or replace theirs; prints a code that works once, for a day."""
    from app.cli.beside_database import beside_gateway, run_command

    async def make() -> None:
        async with beside_gateway(config, org) as at:
            made = await at.factors.invite(at.org, person, by="cli")
            show_once(made.code, otherwise="nobody has seen the code: invite again, which ends this invitation")
            typer.echo(
                f"hand it to {made.person} yourself; with their own key they run `assent factors enrol` by "
                f"{made.expires_at:%Y-%m-%d %H:%M} UTC. It cannot be shown again.",
                err=True,
            )

    run_command(make())


@factors_app.command("enrol")
def enrol() -> None:
    """Set your own second factor up: asks for the invitation, shows the secret for your app, asks for its first code.

    Needs ASSENT_URL and your own key in ASSENT_KEY.
    """
    desk = open_desk()
    code = typer.prompt("the invitation's code", default="", show_default=False).strip()
    begun = desk.call("POST", "/enrol", {"code": code or "-"}, under=_FACTORS)
    show_once(
        f"secret  {clean(begun['secret'])}\nuri     {clean(begun['uri'])}",
        otherwise="the invitation is used up, and nothing was set up: ask for another one",
    )
    typer.echo("put one of the two into your authenticator app now: neither is shown again", err=True)
    totp = ask_totp("the six digits that the app shows")
    done = desk.call("POST", "/confirm", {"totp": totp}, under=_FACTORS)
    typer.echo(f"{clean(done['person'])}: {clean(done['status'])}")


@factors_app.command("list")
def list_all(config: Config = HERE, org: Org = None) -> None:
    """List who has a second factor or an invitation."""
    from app.cli.beside_database import beside_gateway, run_command

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            found, passkeys = await at.factors.list(at.org), await at.factors.list_passkeys(at.org)
            for line in (*map(_line, found), *map(_passkey_line, passkeys)):
                typer.echo(line)
            if not found and not passkeys:
                typer.echo("nobody has one: `assent factors invite PERSON`")

    run_command(show())


@factors_app.command("remove")
def remove(
    person: Person,
    passkey: Annotated[str | None, typer.Option(help="this one alone, as `list` names it")] = None,
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Take a person's second factors away, all of them with any invitation, or one passkey."""
    from app.cli.beside_database import beside_gateway, run_command

    async def end() -> None:
        async with beside_gateway(config, org) as at:
            await at.factors.remove(at.org, person, by="cli", passkey=passkey)
            gone = f"{passkey} is gone" if passkey else f"{person} has no second factor any more"
            typer.echo(f"{gone}; {person} is signed out of the console everywhere")

    run_command(end())


def _passkey_line(passkey: Passkey) -> str:
    from app.domain.text.visible import on_one_line

    used = f"{passkey.used_at:%Y-%m-%d}" if passkey.used_at else "never"
    return f"{on_one_line(passkey.person):32}  passkey   {passkey.added_at:%Y-%m-%d}  last used {used}  {passkey.id}"


def _line(factor: Factor) -> str:
    from app.domain.text.visible import on_one_line

    invited = f"  until {factor.invite_until:%Y-%m-%d %H:%M} UTC" if factor.invite_until else ""
    by = on_one_line(factor.set_by)
    return f"{on_one_line(factor.person):32}  {factor.status.value:8}  {factor.set_at:%Y-%m-%d}  by {by}{invited}"
