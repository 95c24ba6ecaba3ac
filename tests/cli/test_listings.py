"""What lists print for people: a text of others stays on its line, whoever put a line break or an escape into it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from app.cli.commands import app
from app.cli.rules.policy import _on_its_line  # pyright: ignore[reportPrivateUsage] - what all of its lines pass through
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

pytestmark = pytest.mark.may_block  # a command's own loop serves nobody else

FORGED = "zed\nfakekey000000000  admin  live\x1b[2K"
PLAIN = "org: acme\ndefault: deny\npeople:\n  alice@acme.example: {}\n"


@pytest.fixture
def run(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    (tmp_path / "assent.yaml").write_text(PLAIN)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    config = str(tmp_path / "assent.yaml")
    return lambda *words: CliRunner().invoke(app, [*words, "-c", config])


def rows(url: str, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute(statement, values)


def alone(done: Result) -> str:
    """Return the one line that a list prints: nothing of the forged text begins another or reaches the terminal."""
    assert done.exit_code == 0, done.output
    [line] = done.stdout.splitlines()
    assert line.isprintable()
    assert "fakekey" in line
    return line


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("--scope", "agent", "--agent", FORGED, "--label", "x"), "agent"),
        (("--scope", "agent", "--agent", "zed", "--label", FORGED), "label"),
        (("--scope", "agent", "--agent", "zed\tlive", "--label", "x"), "agent"),
        (("--scope", "agent", "--agent", "z\u202eed", "--label", "x"), "agent"),
        (("--scope", "executor", "--tool", "pay\n", "--label", "x"), "tools"),
    ],
)
def test_no_key_has_a_name_with_what_nobody_sees(run: Callable[..., Result], words: tuple[str, ...], path: str) -> None:
    done = run("keys", "create", *words)
    assert (done.exit_code, done.stdout) == (1, ""), (path, done.output)
    assert f"{path}: no line breaks, and no characters that nobody sees" in done.stderr
    assert run("keys", "list").stdout == ""
    assert run("keys", "create", "--scope", "agent", "--agent", "付款 bot", "--label", "试\u3000用").exit_code == 0


def test_keys_of_before_are_listed_one_a_line(run: Callable[..., Result], sqlite_url: str) -> None:
    assert run("keys", "create", "--scope", "agent", "--agent", "zed", "--label", "x").exit_code == 0
    rows(sqlite_url, "UPDATE api_keys SET agent = ?, label = ?", FORGED, FORGED)
    assert alone(run("keys", "list")).count("fakekey") == 2


def test_payees_are_listed_one_a_line(run: Callable[..., Result]) -> None:
    assert alone(run("payees", "add", FORGED))
    assert alone(run("payees", "list"))


def test_pauses_and_switches_are_listed_one_a_line(run: Callable[..., Result]) -> None:
    assert run("pause", "--agent", FORGED, "--reason", FORGED).exit_code == 0
    assert alone(run("pause", "list")).count("fakekey") == 2
    assert run("read-only", "on", "--agent", FORGED, "--reason", FORGED).exit_code == 0
    assert alone(run("read-only", "show")).count("fakekey") == 2


def test_what_was_given_up_is_listed_one_a_line(run: Callable[..., Result], sqlite_url: str) -> None:
    into = "INSERT INTO outbox (id, org, kind, delivery_id, channel, status, created_at, due_at, error)"
    rows(sqlite_url, f"{into} VALUES ('out_1', 'acme', 'post', 'dlv_1', 'chat', 'dead', 0, 0, ?)", FORGED)
    assert alone(run("outbox", "list"))


def test_rules_that_are_explained_keep_a_calls_values_on_their_line(run: Callable[..., Result]) -> None:
    assert _on_its_line("pay: amount = 1\\2") == "pay: amount = 1\\2"
    assert _on_its_line(FORGED).isprintable()


@pytest.mark.parametrize("status", ["bogus", "Dead", "queued,dead"])
def test_a_word_that_is_none_of_those_an_option_takes_is_refused(run: Callable[..., Result], status: str) -> None:
    done = run("outbox", "list", "--status", status)
    assert (done.exit_code, done.stdout) == (2, "")
    assert all(word in done.stderr for word in ("queued", "dead", "done"))
