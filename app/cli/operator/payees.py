"""`assent payees`: whom the org pays, said beforehand. It needs the database, and no running gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import HERE, Config, Org

# Everything else is imported where it runs: see `app.cli.commands`.
if TYPE_CHECKING:
    from app.domain.money.payee import Payee

payees_app = typer.Typer(no_args_is_help=True, help="The payee register.")

Name = Annotated[str, typer.Argument(help="the payee's name, exactly as calls say it")]


@payees_app.command("list")
def payees_list(config: Config = HERE, org: Org = None) -> None:
    """List whom the register knows; whoever was paid with success is known without being in it."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.usecases.payments.payees import Payees

    async def show() -> None:
        async with beside_gateway(config, org) as at:
            found = await Payees(store=at.store).list(at.org)
        typer.echo("\n".join(map(_told, found)) or "the register is empty")

    run_command(show())


@payees_app.command("add")
def payees_add(
    name: Name,
    account: Annotated[str | None, typer.Option(help="their account, such as an IBAN")] = None,
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Put a payee in: the first payment to them is not held up as one. Another account needs another `add`."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.usecases.payments.payees import Payees

    async def put() -> None:
        async with beside_gateway(config, org) as at:
            typer.echo(_told(await Payees(store=at.store).add(at.org, name, account=account, by="cli")))

    run_command(put())


@payees_app.command("remove")
def payees_remove(name: Name, config: Config = HERE, org: Org = None) -> None:
    """Take a payee out, with all accounts: the next payment to them is a first one again."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.usecases.payments.payees import Payees

    async def take_out() -> None:
        async with beside_gateway(config, org) as at:
            await Payees(store=at.store).remove(at.org, name, by="cli")
        typer.echo("taken out: the next payment to them counts as the first")

    run_command(take_out())


def _told(payee: Payee) -> str:
    from app.domain.text.visible import on_one_line

    account = f"account …{on_one_line(payee.account_tail)}" if payee.account_key else "no account"
    return f"{on_one_line(payee.name)}  {account}  since {payee.set_at:%Y-%m-%d %H:%M} UTC, by {payee.set_by}"
