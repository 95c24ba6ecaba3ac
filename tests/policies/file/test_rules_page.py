"""docs/rules.md: its files load, its cases hold, and the answers it shows are the answers."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from app.cli.commands import app
from tests.fixtures.commands import CliRunner
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
CONFIG, CASES, PAYMENTS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
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


@pytest.mark.parametrize(
    ("text", "command", "shown"),
    [(text, *console) for text, console in zip((CONFIG, PAYMENTS), CONSOLE, strict=True)],
    ids=["first rule", "payments"],
)
def test_the_page_shows_what_the_command_says(config: Path, text: str, command: str, shown: str) -> None:
    config.write_text(text)
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


def said(config: Path, tool: str, arguments: str) -> str:
    config.write_text(PAYMENTS)
    done = CliRunner().invoke(app, ["policy", "explain", "--tool", tool, "--args", arguments, "-c", str(config)])
    return done.stdout


@pytest.mark.process
@pytest.mark.parametrize(
    ("paid", "starts", "level"),
    [
        ('"5000.00", "currency": "CNY"', "ALLOW by invoices", None),
        ('"7000", "currency": "USD"', "ASK by invoices", "L2"),
        ('"50000.01", "currency": "CNY"', "ASK by invoices", "L3"),
        ('"1", "currency": "EUR"', "ASK by invoices", "L4"),
        ('1.5, "currency": "EUR"', "DENY by arguments", None),
    ],
)
def test_the_tiers_of_the_page_answer_as_it_says(config: Path, paid: str, starts: str, level: str | None) -> None:
    told = said(config, "pay", f'{{"payee": "Acme", "iban": "DE02", "amount": {paid}}}')
    assert told.startswith(starts)
    assert (f"  assurance: {level}\n" in told) == (level is not None)


def test_a_batch_of_the_page_counts_by_its_total(config: Path) -> None:
    batch = '{"currency": "CNY", "payments": [{"payee": "A", "amount": "1.10"}, {"payee": "B", "amount": "2.20"}]}'
    assert "what it pays: CNY 3.3 to A, B\n" in said(config, "payroll", batch)


def test_what_is_in_force_is_printed(config: Path) -> None:
    config.write_text(PAYMENTS)
    done = CliRunner().invoke(app, ["config", "check", "-c", str(config)])
    assert done.exit_code == 0
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert "tier 1, up to CNY 5000, USD 700: allow" in lines
    assert "tier 4, all above: ask 1 of finance, then 1 of board at L4" in lines
    assert "rule salaries: asks 1 of finance at L3" in lines
    assert "budget payee-week: CNY 50000, USD 7000 per payee within 7d" in lines
    assert "behind an executor alone: pay, payroll" in lines
    assert "the glass may be broken by two of finance, board, for 1h, for pay" in lines
    assert "at most 20 uses, CNY 50000 each, CNY 200000 in all; reviewed by finance, board" in lines
