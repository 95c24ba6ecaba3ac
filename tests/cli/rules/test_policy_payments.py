"""`assent policy` about payments: which tier answers at which level, cases that name them, and the past under tiers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.commands import app
from app.domain.trail.audit import Kind, Record
from tests.cli.rules.test_policy import run
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import ACME, PAY, SECRET
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

pytestmark = pytest.mark.may_block  # a command's own loop serves nobody else

RULES = """\
org: acme
default: deny
people:
  ann@acme.example: {}
  bob@acme.example: {}
groups:
  finance: [ann@acme.example, bob@acme.example]
ask: {stages: [{of: [finance]}], channels: [api]}
tools:
  pay: {sensitive: [iban], payment: {amount: amount, currency: currency, payee: payee, account: iban}}
  plain: {}
rules:
  - id: paying
    tools: [pay]
    tiers:
      - {up_to: {CNY: 100}, then: allow}
      - {up_to: {CNY: 1000}, assurance: L3,
         standing: {lasts: 12h, uses: 3, each: {CNY: 300}, total: {CNY: 500}, same: [payee]}}
      - {assurance: L4}
  - {id: plain, tools: [plain], then: ask, assurance: L2}
payments:
  step_up: [first_payee]
  budgets:
    - {id: day, per: agent, within: 1d, limit: {CNY: 500}}
    - {id: rate, per: org, within: 90m, count: 5, tools: ["pa*"]}
    - {id: other, per: org, within: 1d, count: 5, tools: [pay_two]}
""".replace("  plain: {}\n", "  plain: {}\n  pay_two: {payment: {amount: a, currency: c, payee: p}}\n")


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "assent.yaml"
    path.write_text(RULES)
    return path


def paid(amount: Any, **more: Any) -> str:
    return json.dumps({"payee": "Acme", "currency": "CNY", "iban": "DE02-SECRET", "amount": amount, **more})


def explained(rules: Path, arguments: str, tool: str = "pay") -> dict[str, Any]:
    return json.loads(run("explain", "--json", "--tool", tool, "--args", arguments, "-c", str(rules)).stdout)


def test_an_explanation_has_the_tier_the_level_and_what_counts_the_payment(rules: Path) -> None:
    rules.write_text(RULES.replace("assurance: L3,", "assurance: L2,"))
    told = explained(rules, paid("100.01"))
    assert (told["decision"], told["rule"], told["tier"]) == ("ask", "paying", 2)
    assert told["payments"] == [{"amount": "100.01", "currency": "CNY", "payee": "Acme"}]
    assert (told["totals"], told["budgets"], told["step_up"]) == ({"CNY": "100.01"}, ["day", "rate"], ["first_payee"])
    assert told["asks"]["assurance"] == "L2"
    assert told["asks"]["standing"] == {
        "lasts_seconds": 43_200,
        "uses": 3,
        "each": {"CNY": "300"},
        "total": {"CNY": "500"},
        "same": ["payee"],
    }
    assert "DE02-SECRET" not in json.dumps(told)


def told_by_check(rules: Path) -> str:
    return CliRunner().invoke(app, ["config", "check", "-c", str(rules)]).stdout


def test_no_standing_approval_is_told_of_where_a_second_factor_is_taken_whatever_the_file_says(rules: Path) -> None:
    asks = explained(rules, paid("100.01"))["asks"]
    assert (asks["assurance"], asks["standing"], asks["session"]) == ("L3", None, None)
    lines = run("explain", "--tool", "pay", "--args", paid("100.01"), "-c", str(rules)).stdout
    assert lines.endswith("  assurance: L3\n")
    checked = told_by_check(rules)
    assert "up to CNY 1000: ask 1 of finance at L3\n" in checked
    assert "standing" not in checked
    rules.write_text(RULES.replace("assurance: L3,", "assurance: L2,"))
    assert "ask 1 of finance at L2; standing approvals for 12h at most" in told_by_check(rules)


def test_an_allowed_payment_is_told_with_its_tier_as_well(rules: Path) -> None:
    told = explained(rules, paid(100))
    assert (told["decision"], told["tier"], told["asks"]) == ("allow", 1, None)
    assert told["budgets"] == ["day", "rate"]


def test_at_the_highest_level_the_people_are_as_many_as_it_takes(rules: Path) -> None:
    told = explained(rules, paid("1000.01"))
    assert (told["tier"], told["asks"]["assurance"]) == (3, "L4")
    assert [stage["need"] for stage in told["asks"]["stages"]] == [2]


def test_a_call_that_pays_nothing_has_no_word_about_payments(rules: Path) -> None:
    told = explained(rules, "{}", tool="plain")
    assert (told["tier"], told["payments"], told["budgets"], told["step_up"]) == (None, [], [], [])
    assert told["asks"]["assurance"] == "L2"
    lines = run("explain", "--tool", "plain", "-c", str(rules)).stdout
    assert "what it pays" not in lines
    assert lines.endswith("  assurance: L2\n")


def test_the_same_in_sentences_says_that_the_database_is_not_looked_at(rules: Path) -> None:
    rules.write_text(RULES.replace("assurance: L3,", "assurance: L2,"))
    lines = run("explain", "--tool", "pay", "--args", paid("100.01"), "-c", str(rules)).stdout.splitlines()
    at = lines.index("what it pays: CNY 100.01 to Acme")
    assert lines[at + 1 : at + 6] == [
        "  tier 2 of rule paying answers",
        "  counted by these budgets; what is spent of them is in the database, and not looked at here:",
        "    day: CNY 500 per agent within 1d",
        "    rate: 5 payments per org within 90m, of pa*",
        "  one level of assurance more, if it is: first_payee",
    ]
    standing = "for 12h at most, 3 uses, up to CNY 300 each, CNY 500 in all, with the same payee"
    assert lines[-2:] == [
        "  assurance: L2",
        f"  a standing approval may be made: {standing}",
    ]


@requirement("S-19")
def test_a_payee_that_would_move_the_cursor_is_written_out(rules: Path) -> None:
    arguments = paid(1, payee="Acme\u202e\x1b[2K")
    done = run("explain", "--tool", "pay", "--args", arguments, "-c", str(rules))
    assert "what it pays: CNY 1 to Acme\\u202e\\x1b[2K" in done.stdout


@requirement("S-41")
def test_payments_that_cannot_be_read_are_refused_as_the_gateway_does(rules: Path) -> None:
    for arguments, why in (
        (paid(1.5), "amount: money must be a whole number"),
        (paid("-1"), "amount: an amount must be a whole number above zero"),
        (paid("1", currency="cny"), "currency: a currency must be its code"),
        ("{}", "currency: a currency must be its code"),
    ):
        told = explained(rules, arguments)
        assert (told["decision"], told["rule"]) == ("deny", "arguments")
        assert told["reason"].startswith(why)


# --- test -------------------------------------------------------------------------------------------------------------

CASES = """\
cases:
  - {it: small, tool: pay, args: {payee: A, currency: CNY, amount: 100}, expect: allow, rule: paying, tier: 1}
  - {it: middle, tool: pay, args: {payee: A, currency: CNY, amount: "100.01"}, expect: ask, tier: 2, assurance: L3}
  - {it: large, tool: pay, args: {payee: A, currency: EUR, amount: 1}, expect: ask, tier: 3, assurance: L4}
"""


def test_cases_may_name_tier_and_level(rules: Path) -> None:
    (rules.parent / "cases.yaml").write_text(CASES)
    done = run("test", "-c", str(rules))
    assert (done.exit_code, done.stdout) == (0, "3 cases: 3 as expected, 0 not\n")


def test_another_tier_or_level_fails_and_both_are_shown(rules: Path) -> None:
    cases = rules.parent / "cases.yaml"
    cases.write_text(CASES.replace("tier: 1", "tier: 2").replace("tier: 2, assurance: L3", "assurance: L2"))
    done = run("test", "-c", str(rules))
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        f"{cases}:2: small: another tier",
        "  - allow by paying (tier 2)",
        "  + allow by paying (tier 1): Rule paying allows it (the tier up to CNY 100).",
        "      paying  has no condition; the tier up to CNY 100 answers  <- decided",
        f"{cases}:3: middle: another level of assurance",
        "  - ask by any rule (at L2)",
        "  + ask by paying (tier 2, at L3): Rule paying asks for approval.",
        "      paying  has no condition; the tier up to CNY 1000 answers  <- decided",
        "3 cases: 1 as expected, 2 not",
    ]


@requirement("S-57")
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("tier: 1", "tier: 0", ":2: cases[0].tier: must be 1 or more, and here is"),
        ("tier: 1", "assurance: L1", ':2: cases[0].assurance: means nothing on "expect: allow"'),
        ("assurance: L3", "assurance: L9", ":3: cases[1].assurance: must be L1"),
    ],
)
def test_a_level_or_tier_that_cannot_be_meant_is_refused(rules: Path, old: str, new: str, why: str) -> None:
    cases = rules.parent / "cases.yaml"
    cases.write_text(CASES.replace(old, new))
    done = run("test", "-c", str(rules))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{cases}{why}")


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def beside(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    monkeypatch.setenv("ASSENT_DATABASE_URL", gateway.url)
    return gateway


async def test_the_past_is_judged_by_tiers_and_what_would_be_asked_is_told_by_level(
    beside: Gateway, tmp_path: Path
) -> None:
    for amount in (50, 100, 101, 80000):
        await beside.ask("pay", {**PAY, "amount": amount, "currency": "CNY"}, requester="bob@acme.example")

    def record(tool: str, **facts: object) -> Record:
        return Record(kind=Kind.ALLOWED, actor="agent:shop", facts={"tool": tool, "rule": "x", **facts})

    known = '{"payee": "A", "amount": 1, "currency": "CNY"}'
    records = [
        record("pay", arguments=known, hidden=["account"]),  # which tier answers does not hang on it
        record("pay", arguments='{"amount": 1, "currency": "CNY"}', hidden=["payee"]),
        record("pay"),
    ]
    await beside.container.store.write(lambda tx: [tx.append(each) for each in records], org="acme")
    new = tmp_path / "new.yaml"
    tiers = "[{up_to: {CNY: 100}, then: allow}, {up_to: {CNY: 1000}, assurance: L2}, {assurance: L3}]"
    new.write_text(
        ACME.replace("    money: [amount]\n", "    payment: {amount: amount, currency: currency, payee: payee}\n", 1)
        .replace("{id: pay, tools: [pay], then: ask,", f"{{id: pay, tools: [pay], tiers: {tiers},", 1)
    )  # fmt: skip

    place = ("-c", str(beside.config), "--org", "acme", "--since", "1000w")
    done = await asyncio.to_thread(run, "replay", str(new), *place, "--json")

    told = json.loads(done.stdout)
    assert {(pair["then"], pair["now"]): pair["calls"] for pair in told["answers"]} == {
        ("ask", "allow"): 2,
        ("ask", "ask"): 2,
        ("allow", "allow"): 1,
    }
    assert told["levels"] == {"L2": 1, "L3": 1}
    assert told["untold"] == {"pay": 2}
    assert [change["now"]["tier"] for change in told["changes"]] == [1, 1]
    lines = (await asyncio.to_thread(run, "replay", str(new), *place)).stdout.splitlines()
    assert {"would ask at L2: 1", "would ask at L3: 1"} <= set(lines)
    assert sum("ask by pay -> allow by pay (tier 1)" in line for line in lines) == 2


async def test_the_file_in_force_changes_nothing_of_what_a_warning_made_people_be_asked(
    beside: Gateway, tmp_path: Path
) -> None:
    """Each of them is what the rules alone would let pass: a first payee, and what two people let pass for another."""
    tiers = "[{up_to: {CNY: 100}, then: allow}, {assurance: L1}]"
    text = (
        ACME.replace("    money: [amount]\n", "    payment: {amount: amount, currency: currency, payee: payee}\n", 1)
        .replace("{id: pay, tools: [pay], then: ask,", f"{{id: pay, tools: [pay], tiers: {tiers},", 1)
    )  # fmt: skip
    (beside.config / "acme.yaml").write_text(text)
    await beside.reload()
    for amount in (50, 60, 500):
        await beside.ask("pay", {**PAY, "amount": amount, "currency": "CNY"}, requester="bob@acme.example")
    place = ("-c", str(beside.config), "--org", "acme", "--since", "1000w")

    async def replayed(changed: str) -> dict[str, Any]:
        (tmp_path / "new.yaml").write_text(changed)
        done = await asyncio.to_thread(run, "replay", str(tmp_path / "new.yaml"), *place, "--json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    same = await replayed(text)
    assert {(pair["then"], pair["now"]): pair["calls"] for pair in same["answers"]} == {("ask", "ask"): 3}
    assert (same["changes"], same["asked_by_warnings"]) == ([], {"first_payee": 2})
    wider = await replayed(text.replace("up_to: {CNY: 100}", "up_to: {CNY: 1000}"))
    assert wider["asked_by_warnings"] == {"first_payee": 3}
    unpaid = await replayed(
        ACME.replace("rules:\n", "rules:\n  - {id: all, tools: [pay], when: args.amount > 0, then: allow}\n", 1)
    )
    assert {(pair["then"], pair["now"]): pair["calls"] for pair in unpaid["answers"]} == {("ask", "allow"): 3}
    lines = (await asyncio.to_thread(run, "replay", str(beside.config / "acme.yaml"), *place)).stdout.splitlines()
    assert "  asked because of a warning of then, which is not weighed anew: first_payee 2" in lines
    assert not any("<- changed" in line for line in lines)


async def test_what_the_very_same_version_would_answer_otherwise_is_counted_apart(beside: Gateway) -> None:
    """It was no rule of the call's own: an agent above it, somebody who was not there."""
    version = beside.container.book.current("acme").policy.version
    known = '{"payee": "A", "amount": 1}'
    facts = {"tool": "pay", "rule": "x", "arguments": known, "hidden": [], "policy_version": version}
    refused = Record(kind=Kind.REFUSED, actor="agent:shop", facts=facts)
    await beside.container.store.write(lambda tx: tx.append(refused), org="acme")
    place = (str(beside.config / "acme.yaml"), "-c", str(beside.config), "--org", "acme", "--since", "1000w")
    told = json.loads((await asyncio.to_thread(run, "replay", *place, "--json")).stdout)
    assert (told["calls"], told["not_replayed"], told["answers"], told["changes"]) == (1, 1, [], [])
    lines = (await asyncio.to_thread(run, "replay", *place)).stdout.splitlines()
    assert lines[1].startswith("  answered otherwise by this very version, because of what is not replayed")
