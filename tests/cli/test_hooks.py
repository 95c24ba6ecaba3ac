"""The command line's part: the read-only switch, and keys for evaluation runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.cli.commands import app
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET, query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result


pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else


PLAIN = """\
org: acme
default: deny
"""


@pytest.fixture
def desk(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    config = tmp_path / "assent.yaml"
    config.write_text(PLAIN)
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "-c", str(config)], env={"COLUMNS": "200"})

    return run


def test_read_only_is_switched_and_shown(desk: Callable[..., Result], sqlite_url: str) -> None:
    assert desk("read-only", "show").stdout == "off: nobody has touched it\n"
    on = desk("read-only", "on", "--reason", "quarter end")
    assert on.exit_code == 0, on.output
    assert on.stdout.startswith("on for every agent since 20")
    assert on.stdout.endswith("by cli: quarter end\n")
    desk("read-only", "on", "--agent", "shop")
    desk("read-only", "off")
    shown = desk("read-only", "show").stdout.splitlines()
    assert [line.partition(" since")[0] for line in shown] == ["off for every agent", "on for the agent shop"]
    kinds = query(sqlite_url, "SELECT kind, actor FROM audit_events ORDER BY seq")
    assert [(row["kind"], row["actor"]) for row in kinds] == [("switch.set", "cli")] * 3
    assert "cli set read-only to on for every agent: quarter end" in desk("audit", "show", "--plain").stdout


def test_an_evaluation_key_is_made_for_an_agent(desk: Callable[..., Result]) -> None:
    made = desk("keys", "create", "--scope", "evaluation", "--agent", "shop", "--label", "nightly")
    assert made.exit_code == 0, made.output
    assert "evaluation" in desk("keys", "list").stdout
    assert desk("keys", "create", "--scope", "evaluation", "--label", "x").exit_code == 1
