"""Where the command line begins: `serve` at once, and everything else in `app.cli.commands`."""

from __future__ import annotations

import sys

import typer

from app.cli.options import Spoken, nothing_first
from app.cli.serving import serve
from app.cli.unwritten import answering


def main() -> None:
    """Run the command line. A gateway that starts does not wait for the other commands."""
    with answering():
        if sys.argv[1:2] == ["serve"]:
            alone = typer.Typer(cls=Spoken, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
            alone.callback()(nothing_first)
            alone.command()(serve)
            alone()
        else:
            from app.cli.commands import app

            app()


if __name__ == "__main__":
    sys.exit(main())
