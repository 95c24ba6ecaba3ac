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

    before = structlog.get_config()["logger_factory"]
    assert CliRunner().invoke(app, []).output == "done\n"
    assert structlog.get_config()["logger_factory"] is before
