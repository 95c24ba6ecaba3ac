"""The commands that set a platform up, one group for each platform that has such a command: made of what it says."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import typer

from app.cli.options import Spoken, nothing_first
from app.domain.text.addresses import why_no_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.spec import Setup, Spec

_TAKES_ALL = {"ignore_unknown_options": True, "allow_extra_args": True}


class WithPlatforms(Spoken):
    """The command line's own commands, and after them the platforms', which nobody looks for until one is named."""

    groups: ClassVar[Mapping[str, typer.Typer]] = {}
    """Our own groups of commands, by name."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one of our own commands, else the group of the platform of that name, else None."""
        from channels import registry

        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        group = self.groups.get(cmd_name)
        if group is not None:
            return _Group(cmd_name, str(group.info.help), lambda: group)
        if cmd_name in registry.ours():
            return _Group(cmd_name, f"Setting {cmd_name.capitalize()} up.", lambda: _commands_of(cmd_name))
        made = _commands_of(cmd_name)
        if made is None:
            return None
        command = typer.main.get_command(made)
        command.name = cmd_name
        return command

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of both, ours first."""
        from channels import registry

        own = [*super().list_commands(ctx), *self.groups, *registry.ours()]
        return [*own, *(kind for kind in registry.installed() if kind not in own and _commands_of(kind) is not None)]


class _Group(Spoken):
    """Some of our commands: they are named in every help, and made (a platform's: imported) when somebody looks."""

    def __init__(self, name: str, says: str, commands: Callable[[], typer.Typer | None]) -> None:
        super().__init__(name=name, help=says, no_args_is_help=True, rich_markup_mode=None)

        def made() -> Any:
            group = commands() or typer.Typer()
            group.rich_markup_mode = None  # as in every help of ours
            return typer.main.get_group(group)

        self._made = cache(made)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one of the commands, or None."""
        return self._made().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return self._made().list_commands(ctx)


def _commands_of(kind: str) -> typer.Typer | None:
    from app.spec import SpecRefusedError
    from channels import registry

    try:
        spec = registry.platforms()[kind]
    except KeyError:
        return None
    except SpecRefusedError as refusal:
        return _refusing(str(refusal))
    return None if spec.setup is None else _group(spec, spec.setup)


def _refusing(why: str) -> typer.Typer:
    """Return a command that says what is wrong with a package: the help of all others must not fail for it."""

    def refuse() -> None:
        typer.echo(why, err=True)
        raise typer.Exit(code=2)

    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(help=f"(refused) {why}", context_settings=_TAKES_ALL)(refuse)
    return single


def _group(spec: Spec, setup: Setup) -> typer.Typer:
    group = typer.Typer(
        cls=Spoken,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        help=f"Setting {spec.title} up.",
    )
    group.callback()(nothing_first)
    group.command(setup.name, help=setup.help)(_command(spec, setup))
    return group


def _command(spec: Spec, setup: Setup) -> Callable[..., None]:
    def tell(*, name: str, public_url: str, receive: str, **given: bool) -> None:
        why = why_no_url(public_url) if public_url else None
        if why is not None:
            typer.echo(f"write --public-url https://assent.acme.example{unless}, for this one {why}", err=True)
            raise typer.Exit(code=2)
        chosen = [frozenset(switch for switch in setup.switches if given[_named(switch)])] if setup.switches else []
        try:
            told = cast("Any", setup.tell)(name, public_url, receive, *chosen)
        except ValueError as refusal:
            typer.echo(str(refusal), err=True)
            raise typer.Exit(code=2) from None
        typer.echo(told)

    unless = f" (not needed with --receive {setup.without_address})" if setup.without_address else ""
    choice = cast("Any", Literal)[setup.receives]
    options: dict[str, tuple[Any, object]] = {  # typer reads them; they depend on what the platform says
        "name": (Annotated[str, typer.Option(help="the channel's name in assent.yaml")], f"pay-{spec.kind}"),
        "public_url": (Annotated[str, typer.Option(help=f"the gateway's https address{unless}")], ""),
        "receive": (Annotated[choice, typer.Option(help="how clicks come in")], setup.receives[0]),
        **{
            _named(switch): (Annotated[bool, typer.Option(f"--{switch}", help=help_)], False)
            for switch, help_ in setup.switches.items()
        },
    }
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
    tell.__annotations__ = {name: annotation for name, (annotation, _) in options.items()} | {"return": None}
    vars(tell)["__signature__"] = inspect.Signature(parameters)
    return tell


def _named(switch: str) -> str:
    return switch.replace("-", "_")
