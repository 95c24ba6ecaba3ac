"""docs/rules.md: its file loads, its cases hold, and the answer it shows is the answer."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app

PAGE = (Path(__file__).parents[2] / "docs/rules.md").read_text(encoding="utf-8")
CONFIG, CASES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.may_block


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "assent.yaml"
    path.write_text(CONFIG)
    (tmp_path / "cases.yaml").write_text(CASES)
    return path


def test_the_cases_of_the_page_hold(config: Path) -> None:
    done = CliRunner().invoke(app, ["policy", "test", "-c", str(config)])
    assert (done.exit_code, done.stdout) == (0, "4 cases: 4 as expected, 0 not\n")


@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_the_page_shows_what_the_command_says(config: Path, command: str, shown: str) -> None:
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "-c", str(config)])
    assert done.stdout == shown


@pytest.mark.parametrize(
    ("amount", "why"),
    [("", "there is no args.amount"), (', "amount": "1,000"', None), (', "amount": "0.0000001"', "an amount must be")],
)
def test_an_amount_in_doubt_is_asked_about(config: Path, amount: str, why: str | None) -> None:
    words = ["--args", f'{{"payee": "Acme", "currency": "CNY"{amount}}}', "--at", "2026-01-05T10:00", "-c", str(config)]
    done = CliRunner().invoke(app, ["policy", "explain", "--tool", "pay", *words])
    if why is None:
        assert done.stdout.startswith("DENY by arguments: amount: money must be")
    else:
        assert done.stdout.startswith("ASK by small: The condition of rule small could not be evaluated")
        assert why in done.stdout


def test_what_the_page_says_of_the_other_side_is_so(config: Path) -> None:
    words = ["--args", '{"payee": "Acme", "currency": "CNY"}', "--at", "2026-01-04T10:00", "-c", str(config)]
    done = CliRunner().invoke(app, ["policy", "explain", "--tool", "pay", *words])
    assert done.stdout.startswith("ASK by large:")
