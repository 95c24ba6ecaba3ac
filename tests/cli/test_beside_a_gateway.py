"""The tests' own runner of commands: what somebody else logs meanwhile is no output of the command."""

from __future__ import annotations

import threading

import structlog
import typer

from tests.fixtures.commands import CliRunner


def test_what_another_thread_logs_is_none_of_a_commands_output() -> None:
    app = typer.Typer()

    @app.command()
    def told() -> None:
        beside = threading.Thread(target=lambda: structlog.get_logger("gateway").info("click.answered"))
        beside.start()
        beside.join()
        typer.echo("done")

    known = structlog.get_config()  # another test may have left its own
    structlog.reset_defaults()
    before = structlog.get_config()["logger_factory"]
    try:
        assert CliRunner().invoke(app, []).output == "done\n"
        assert structlog.get_config()["logger_factory"] is before
    finally:
        structlog.configure(**known)
