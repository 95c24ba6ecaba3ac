"""The kill switch on the command line: with the database alone, for one org or for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from app.cli import app
from tests.fixtures.gateway import SECRET, query
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else


@pytest.fixture
def orgs(tmp_path: Path) -> Path:
    folder = tmp_path / "orgs"
    folder.mkdir()
    for name in ("acme", "globex"):
        (folder / f"{name}.yaml").write_text(f"org: {name}\ndefault: deny\n")
    return folder


@pytest.fixture
def desk(sqlite_url: str, orgs: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "-c", str(orgs)], env={"COLUMNS": "200"})

    return run


def scopes(done: Result) -> list[str]:
    assert done.exit_code == 0, done.output
    return [line.partition(" since")[0] for line in done.stdout.splitlines()]


@requirement("S-49")
def test_a_tool_an_agent_or_an_org_is_paused_listed_and_lifted(desk: Callable[..., Result]) -> None:
    assert desk("pause", "list").stdout == "nothing is paused\n"
    done = desk("pause", "--org", "acme", "--tool", "pay", "--reason", "wrong payees")
    assert scopes(done) == ["acme: the tool pay is paused"]
    assert done.stdout.endswith("UTC, by cli: wrong payees\n")
    desk("pause", "--org", "acme", "--agent", "shop")
    desk("pause", "--org", "acme", "--agent", "shop", "--tool", "pay")
    listed = ["acme: the tool pay", "acme: the agent shop", "acme: the tool pay of the agent shop"]
    assert scopes(desk("pause", "list")) == [f"{each} is paused" for each in listed]
    told = desk("audit", "show", "--plain", "--org", "acme").stdout
    assert "cli set pause to on for every agent, the tool pay: wrong payees" in told
    assert scopes(desk("pause", "--lift", "--org", "acme", "--agent", "shop")) == [
        "acme: the agent shop is not paused",
        "still paused: acme: the tool pay is paused",
        "still paused: acme: the tool pay of the agent shop is paused",
    ]
    assert desk("read-only", "show", "--org", "acme").stdout == "off: nobody has touched it\n"


@requirement("S-49")
def test_all_is_every_org_of_this_gateway_each_in_its_own_trail(desk: Callable[..., Result], sqlite_url: str) -> None:
    assert scopes(desk("pause", "--all")) == ["acme: everything is paused", "globex: everything is paused"]
    events = query(sqlite_url, "SELECT org, kind, actor FROM audit_events ORDER BY org")
    assert [tuple(row.values()) for row in events] == [
        ("acme", "switch.set", "cli"),
        ("globex", "switch.set", "cli"),
    ]
    assert scopes(desk("pause", "--all", "--lift")) == [
        "acme: everything is not paused",
        "globex: everything is not paused",
    ]
    assert desk("pause", "list").stdout == "nothing is paused\n"


def test_it_guesses_no_org_and_takes_no_contradiction(desk: Callable[..., Result]) -> None:
    done = desk("pause")
    assert (done.exit_code, done.stderr) == (2, "say which org with --org, or --all: acme, globex\n")
    assert desk("pause", "--all", "--org", "acme").exit_code == 2
    assert desk("pause", "list").stdout == "nothing is paused\n"


@requirement("S-49")
def test_a_broken_configuration_does_not_keep_it_from_working(desk: Callable[..., Result], orgs: Path) -> None:
    desk("pause", "--all")
    desk("pause", "--all", "--lift")
    (orgs / "acme.yaml").write_text("org: acme\ndefault: maybe\n")
    done = desk("pause", "--all", "--reason", "now")
    assert "the configuration cannot be read" in done.stderr
    assert scopes(done) == ["acme: everything is paused", "globex: everything is paused"]


def test_an_org_that_nothing_knows_is_paused_with_a_warning(desk: Callable[..., Result]) -> None:
    done = desk("pause", "--org", "acmee")
    assert "no file and no trail names the org 'acmee'; known: acme, globex" in done.stderr
    assert scopes(done) == ["acmee: everything is paused"]
