"""The options that many commands take; and what no command takes: an empty text for any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

Config = Annotated[Path, typer.Option("--config", "-c", help="assent.yaml, or a directory of them")]
Org = Annotated[str | None, typer.Option("--org", help="which org, where there are several")]
HERE = Path("assent.yaml")


class Spoken(TyperGroup):
    """Commands that refuse an empty text for an option or an argument.

    It is what a script hands over whose variable is not set; read as "none given", `--agent "$UNSET"` would pause an
    org instead of an agent, and an empty folder is the one that one stands in. No command means anything by it.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words name, unless one of its words is empty."""
        found = super().resolve_command(ctx, args)
        _, command, words = found
        if isinstance(command, TyperGroup) or command is None:
            return found
        empty = _empty(cast("Any", command), ctx, words) if any(_may_be_empty(word) for word in words) else []
        for parameter in empty:
            typer.echo(f"{_named(parameter)} is empty: say what it is, or leave it out (an unset variable?)", err=True)
        if empty:
            raise typer.Exit(code=2)
        return found


def nothing_first() -> None:
    """Keep a group of one command a group."""


def _may_be_empty(word: str) -> bool:
    return not word or word.endswith("=")


def _empty(command: Any, ctx: Any, words: list[str]) -> list[Any]:
    """Return the parameters that get an empty text. What cannot be read at all, the command itself says best."""
    try:
        given, _, _ = command.make_parser(command.context_class(command, parent=ctx)).parse_args(list(words))
    except TyperException:
        return []
    return [each for each in command.params if "" in _texts(given.get(each.name))]


def _texts(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]


def _named(parameter: Any) -> str:
    return max(parameter.opts, key=len) if parameter.opts[0].startswith("-") else str(parameter.name).upper()
