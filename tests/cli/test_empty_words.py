"""An empty text is what a script hands over whose variable is not set: no command takes it for "none given"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import typer

from app.cli.commands import app
from channels import registry
from tests.fixtures.commands import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def leaves(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with the words that lead to it."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from leaves(command, *path, name)
        else:
            yield (*path, name), command


def asked() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the words of a command that gives an empty text, and what it is to be told about."""
    for path, command in leaves(typer.main.get_command(app)):
        for each in command.params:
            if getattr(each, "is_flag", False):
                continue
            if not each.opts[0].startswith("-"):
                yield (*path, ""), each.name.upper()
                break  # the next arguments would need the first
            name = max(each.opts, key=len)
            yield (*path, name, ""), name
            yield (*path, f"{name}="), name


WORDS = list(asked())


def test_every_command_is_tried() -> None:
    commands = {" ".join(word for word in words if word and not word.startswith("-")) for words, _ in WORDS}
    assert {
        "pause",
        "audit show",
        "audit export",
        "keys create",
        "requests approve",
        "init",
        "slack manifest",
    } <= commands
    assert len(WORDS) > 100


@pytest.mark.parametrize(("words", "name"), WORDS, ids=str)
def test_an_empty_text_is_refused_and_named(
    words: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, list(words), env={"ASSENT_SECRET": "", "ASSENT_DATABASE_URL": ""})
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert f"{name} is empty: say what it is, or leave it out" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_empty_text_beside_whole_ones_is_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (
        ["pause", "--org", "acme", "--agent", ""],
        ["audit", "show", "--org", "acme", "--", ""],
        ["init", "somewhere", "--yes", "--approver", "wang@acme.example", "--approver", ""],
        ["requests", "deny", "req_1", "--reason", ""],
        ["slack", "manifest", "--public-url", ""],
    ):
        done = CliRunner().invoke(app, words)
        assert (done.exit_code, "is empty" in done.stderr) == (2, True), words


def test_a_platform_of_somebody_elses_refuses_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ours", lambda: ())
    done = CliRunner().invoke(app, ["slack", "manifest", "--public-url", ""])
    assert (done.exit_code, "--public-url is empty" in done.stderr) == (2, True), done.output


def test_what_cannot_be_read_at_all_is_said_as_ever() -> None:
    done = CliRunner().invoke(app, ["pause", "--agnet", ""])
    assert done.exit_code == 2
    assert "No such option" in done.stderr
