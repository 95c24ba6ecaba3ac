"""What people may approve, held against what tiers are for: what the gateway would deny at once is told before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from app.cli.commands import app
from app.cli.doctor.doctor import examine_all
from app.cli.doctor.limits import limit_lines, look_at_limits
from app.domain.people.people import GroupSource
from app.policies.file.policy_book import PolicyBook
from app.ports import Severity
from channels import registry
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.rules.policy import Policy
    from tests.fixtures.gateway import Gateway

pytestmark = pytest.mark.may_block  # a command's own loop serves nobody else

FILE = """\
org: acme
default: deny
people:
  wang@acme.example: {}
  chen@acme.example: {limit: {CNY: 3000}}
groups:
  finance: [wang@acme.example, chen@acme.example]
ask: {stages: [{of: [finance]}], channels: [api]}
tools:
  pay: {payment: {amount: amount, currency: currency, payee: payee}}
rules:
  - id: paying
    tools: [pay]
    tiers:
      - {up_to: {CNY: 3000}, stages: [{of: [finance], need: 2}]}
      - {up_to: {CNY: 50000}, stages: [{of: [finance], need: 2}]}
      - {then: deny}
"""
TWO = "stages: [{of: [finance], need: 2}]}"
TOLD = (
    "paying: the tier up to CNY 50000 needs 2 of finance, and 1 may approve as much (wang@acme.example): "
    "such a call is denied"
)


def policy_of(folder: Path, text: str = FILE) -> Policy:
    (folder / "assent.yaml").write_text(text)
    path = folder / "assent.yaml"
    return PolicyBook(path, environ={}, channel_types=registry.platforms_unread()).current("acme").policy


async def test_a_tier_that_too_few_may_approve_is_told(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_of(tmp_path)
    [found] = look_at_limits(policy)
    assert (found.severity, found.what) == (Severity.WARNING, f"acme: {TOLD}")
    checked = CliRunner().invoke(app, ["config", "check", "-c", str(tmp_path / "assent.yaml")])
    assert checked.exit_code == 0
    assert f"  warning: {TOLD}\n" in checked.stdout
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    lines: list[str] = []
    await examine_all(tmp_path / "assent.yaml", {}, lines.append)
    assert any(TOLD in line for line in lines)


async def test_the_gateway_denies_what_is_told(gateway: Gateway) -> None:
    """Here and nowhere else it is decided; what is told before must be what happens."""
    (gateway.config / "acme.yaml").write_text(FILE)
    await gateway.reload()
    for amount, decision in (("3000", "ask"), ("50000", "deny")):
        paid = {"amount": amount, "currency": "CNY", "payee": "ACME"}
        said = (await gateway.call("POST", "/v1/requests", {"tool": "pay", "arguments": paid})).json()
        assert said["decision"] == decision, amount


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{CNY: 3000}}\ngroups", "{CNY: 50000}}\ngroups"),
        (
            f"3000}}, {TWO}\n      - {{up_to: {{CNY: 50000}}, {TWO}\n",
            "3000}}\n      - {up_to: {CNY: 50000}}\n",
        ),
        ("{limit: {CNY: 3000}}", "{}"),
    ],
)
def test_what_enough_may_approve_is_not_told_of(tmp_path: Path, old: str, new: str) -> None:
    assert FILE.count(old) == 1
    assert limit_lines(policy_of(tmp_path, FILE.replace(old, new))) == []


def test_what_is_above_the_last_amount_needs_people_for_more_than_it(tmp_path: Path) -> None:
    text = FILE.replace("      - {then: deny}\n", "      - {stages: [{of: [finance], need: 2}]}\n")
    text = text.replace("{limit: {CNY: 3000}}", "{limit: {CNY: 50000}}")
    [line] = limit_lines(policy_of(tmp_path, text))
    assert line.startswith("paying: the highest tier, above CNY 50000, needs 2 of finance, and 1 may approve as much")
    assert limit_lines(policy_of(tmp_path, text.replace("{limit: {CNY: 50000}}", "{limit: {CNY: 50001}}"))) == []


def test_everybodys_limit_and_each_currency_is_looked_at(tmp_path: Path) -> None:
    text = FILE.replace("  wang@acme.example: {}", "  wang@acme.example: {limit: {CNY: 1}}")
    text = text.replace("CNY: 3000}, stages", "CNY: 3000, USD: 9}, stages").replace(
        "CNY: 50000}", "CNY: 50000, USD: 99}"
    )
    lines = limit_lines(policy_of(tmp_path, text))
    assert [line.partition(" needs")[0] for line in lines] == [
        f"paying: the tier up to {amount}" for amount in ("CNY 3000", "USD 9", "CNY 50000", "USD 99")
    ]
    assert "nobody may approve as much" in lines[2]


def test_one_person_does_not_stand_in_two_stages(tmp_path: Path) -> None:
    text = FILE.replace(
        "{CNY: 50000}, stages: [{of: [finance], need: 2}]", "{CNY: 50000}, stages: [{of: [finance]}, {of: [finance]}]"
    )
    assert limit_lines(policy_of(tmp_path, text)) == [
        "paying: the tier up to CNY 50000 needs more people than may approve as much: such a call is denied"
    ]


def test_whom_the_file_cannot_tell_may_be_enough(tmp_path: Path) -> None:
    text = FILE.replace("stages: [{of: [finance], need: 2", "stages: [{of: [manager, finance], need: 2")
    assert limit_lines(policy_of(tmp_path, text)) == []
    policy = policy_of(tmp_path)
    kept = {"finance": GroupSource(channel="chat", source="S0ABCDEFG")}
    assert limit_lines(replace(policy, directory=structs.replace(policy.directory, sources=kept))) == []
