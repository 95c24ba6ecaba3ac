"""`assent policy`: a call explained, cases held against a file, and the past under another one."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.commands import app
from app.domain.trail.audit import Kind, Record
from app.policies.file.policy_file import load_policy
from app.usecases.judging.replay import Replay
from channels import registry
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import ACME, PAY, SECRET, START
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

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
  pay: {sensitive: [iban], schema: {type: object, required: [n], properties: {n: {type: integer}, c: {default: CNY}}}}
  wipe: {requires_confirmation: true}
rules:
  - {id: bots, tools: [pay], agents: ["bot-*"], then: deny}
  - {id: small, tools: [pay], when: 'args.n < 100 && args.c == "CNY" && args.iban != "x"', then: allow}
  - {id: night, tools: [pay], when: 'now.getHours() < 6', then: deny}
  - {id: large, tools: [pay], then: ask}
  - {id: wiping, tools: [wipe], then: allow}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "assent.yaml"
    path.write_text(RULES)
    return path


def run(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["policy", *words], input=given)


# --- explain ----------------------------------------------------------------------------------------------------------


def test_a_file_with_secrets_that_nobody_has_here_is_explained_all_the_same(rules: Path) -> None:
    siem = '{url: "https://siem.acme.example/${SIEM_KEY}", secret: "${SIEM_SECRET}", kinds: ["request.*"]}'
    rules.write_text(f"{RULES}webhooks: {{siem: {siem}}}\n")
    done = run(
        "explain", "--json", "-c", str(rules), given=json.dumps({"tool": "pay", "args": {"n": 7}, "agent": "bot-1"})
    )
    assert json.loads(done.stdout)["rule"] == "bots", done.output


@requirement("S-07")
def test_a_call_is_explained_rule_by_rule_with_its_values(rules: Path) -> None:
    call = {"tool": "pay", "args": {"n": 700, "iban": "DE02-SECRET"}, "user": "Ann@acme.example", "agent": "buyer"}
    call["at"] = "2026-01-05T12:00:00Z"
    told = json.loads(run("explain", "--json", "-c", str(rules), given=json.dumps(call)).stdout)
    assert (told["decision"], told["rule"]) == ("ask", "large")
    steps = {step["rule"]: step for step in told["trace"]}
    assert list(steps) == ["bots", "small", "night", "large"]
    assert steps["bots"]["why"] == "is about other agents"
    assert steps["small"]["values"] == {"n": "700", "c": "CNY", "iban": "•••"}
    assert steps["night"]["values"] == {"now": "2026-01-05T12:00:00+00:00"}
    assert [step["matched"] for step in told["trace"]] == [False, False, False, True]
    [stage] = told["asks"]["stages"]
    assert stage["people"] == ["bob@acme.example"], "the requester is barred"


def test_the_same_call_by_options_is_told_in_sentences(rules: Path) -> None:
    done = run("explain", "--tool", "pay", "--args", '{"n": 7}', "--agent", "bot-1", "-c", str(rules))
    assert done.stdout.splitlines()[0] == "DENY by bots: Rule bots forbids it."
    assert done.stdout.splitlines()[-1] == "  bots  has no condition  <- decided"


def test_what_happens_when_nobody_answers_is_told_as_well(rules: Path) -> None:
    ladder = "risk: high, remind: [0.5], escalate: [{after: 0.5, to: [deputies]}]"
    later = RULES.replace("channels: [api]}", f"channels: [api], timeout: 1h, {ladder}}}")
    rules.write_text(later.replace("groups:\n", "  eve@acme.example: {}\ngroups:\n  deputies: [eve@acme.example]\n"))
    call = ("explain", "--tool", "pay", "--args", '{"n": 700}', "--at", "2026-01-05T12:00", "-c", str(rules))
    assert run(*call).stdout.splitlines()[-3:] == [
        "  on api, for 1:00:00",
        "  risk: high",
        "  after 0:30:00: also deputies",
    ]
    asks = json.loads(run(*call, "--json").stdout)["asks"]
    assert (asks["risk"], asks["remind"], asks["fallback"]) == ("high", [0.5], [])
    assert asks["escalate"] == [{"after_seconds": 1800, "to": ["deputies"], "channels": []}]


LIMITED = """\
org: acme
default: deny
people:
  ann@acme.example: {limit: {CNY: 500}}
  bob@acme.example: {limit: {CNY: 900}}
  eve@acme.example: {}
groups:
  finance: [ann@acme.example, bob@acme.example]
ask: {stages: [{of: [finance]}], channels: [api]}
tools:
  wire: {money: [amount]}
  hire: {}
rules:
  - {id: all, tools: [wire], then: ask}
  - {id: owned, tools: [hire], then: ask, stages: [{of: [owner], allow_owner: true}]}
"""
NOBODY = (
    "DENY by all: Nobody who may approve this is left once the requester, the agent's owner and those above their limit"
)


@requirement("S-07")
@pytest.mark.parametrize(
    ("amount", "more", "told"),
    [
        ("500", {}, "ASK by all"),
        ("900", {}, "ASK by all"),
        ("901", {}, NOBODY),
        ("900", {"user": "bob@acme.example"}, NOBODY),
        ("900", {"owner": "Bob@acme.example"}, NOBODY),
        ("500", {"user": "bob@acme.example"}, "ASK by all"),
        ("0.5", {"user": "bob@acme.example", "owner": "ann@acme.example"}, NOBODY),
    ],
)
def test_a_call_that_too_few_may_approve_is_explained_as_it_is_answered(
    rules: Path, tmp_path: Path, amount: str, more: dict[str, str], told: str
) -> None:
    rules.write_text(LIMITED)
    call = {"tool": "wire", "args": {"amount": amount, "currency": "CNY"}, **more}
    done = run("explain", "-c", str(rules), given=json.dumps(call))
    assert done.stdout.startswith(told), done.output
    decision = told.split(maxsplit=1)[0].lower()
    cases = tmp_path / "cases.yaml"
    cases.write_text(f"cases:\n  - {json.dumps({'it': 'is answered so', **call, 'expect': decision})}\n")
    assert run("test", "-c", str(rules), str(cases)).exit_code == 0


def test_whom_only_a_gateway_knows_of_a_call_is_not_said_to_be_missing(rules: Path) -> None:
    """The agent's owner stands with its key: where a call to be explained names none, there may be one all the same."""
    rules.write_text(LIMITED)
    done = run("explain", "-c", str(rules), given=json.dumps({"tool": "hire", "args": {}}))
    assert done.stdout.startswith("ASK by owned")


@requirement("S-16")
def test_a_condition_in_doubt_and_arguments_against_the_schema_are_told(rules: Path) -> None:
    at = ("--at", "2026-01-05T12:00", "-c", str(rules))
    doubt = run("explain", "--tool", "pay", "--args", '{"n": 7}', *at)
    assert doubt.stdout.startswith("ASK by small: The condition of rule small could not be evaluated")
    assert "there is no args.iban (n = 7, c = CNY)  <- decided" in doubt.stdout
    bad = run("explain", "--tool", "pay", "--args", "{}", *at)
    assert bad.stdout.startswith("DENY by arguments: the arguments: lacks n")
    flagged = run("explain", "--tool", "wipe", *at)
    assert flagged.stdout.startswith("ASK by requires-confirmation: The tool wipe always requires confirmation.")


@pytest.mark.parametrize(
    ("words", "given", "why"),
    [
        ([], "nonsense", "standard input: not JSON"),
        ([], '["pay"]', "standard input: must be a JSON object"),
        ([], '{"args": {}}', 'this is no call: "tool": is missing'),
        ([], '{"tool": "pay", "usr": "x"}', 'this is no call: "usr"'),
        (["--tool", "pay", "--at", "noon"], None, 'this is no call: "at": must be an instant'),
        (["--tool", "pay", "--args", "{"], None, "--args: not JSON"),
        (["--tool", "pay", "--org", "globex"], None, "the file is not about globex, but about acme"),
    ],
)
def test_what_is_no_call_is_said_and_ends_with_2(rules: Path, words: list[str], given: str | None, why: str) -> None:
    done = run("explain", *words, "-c", str(rules), given=given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(why)


# --- test -------------------------------------------------------------------------------------------------------------

GOOD_CASES = """\
cases:
  - {it: small, tool: pay, args: {n: 7, iban: a}, expect: allow, rule: small}
  - {it: bots, tool: pay, agent: bot-1, args: {n: 7}, expect: deny}
  - {it: by night, tool: pay, args: {n: 700, iban: a}, at: "2026-01-05T05:59:59", expect: deny, rule: night}
  - {it: by day, tool: pay, args: {n: 700, iban: a}, at: "2026-01-05T05:59:59-01:00", expect: ask, rule: large}
"""


def test_cases_that_hold_end_with_0(rules: Path) -> None:
    (rules.parent / "cases.yaml").write_text(GOOD_CASES)
    done = run("test", "-c", str(rules))
    assert (done.exit_code, done.stdout) == (0, "4 cases: 4 as expected, 0 not\n")


def test_a_case_that_fails_shows_what_was_expected_and_what_came_and_ends_with_1(rules: Path, tmp_path: Path) -> None:
    cases = tmp_path / "more.yaml"
    cases.write_text(
        GOOD_CASES
        + "  - {it: wrong verdict, tool: pay, args: {n: 7, iban: a}, expect: deny, rule: small}\n"
        + "  - {it: wrong rule, tool: pay, args: {n: 7, iban: a}, expect: allow, rule: large}\n"
        + "  - {it: no time, tool: pay, args: {n: 700, iban: a}, expect: ask, rule: large}\n"
    )
    done = run("test", str(cases), "-c", str(rules))
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        f"{cases}:6: wrong verdict: another answer",
        "  - deny by small",
        "  + allow by small: Rule small allows it.",
        "      bots   is about other agents",
        "      small  its condition is true (n = 7, c = CNY, iban = •••)  <- decided",
        f"{cases}:7: wrong rule: another answer",
        "  - allow by large",
        "  + allow by small: Rule small allows it.",
        "      bots   is about other agents",
        "      small  its condition is true (n = 7, c = CNY, iban = •••)  <- decided",
        f'{cases}:8: no time: its answer hangs on the time: give it an "at"',
        "  - ask by large",
        "  + ask by large: Rule large asks for approval.",
        "      bots   is about other agents",
        "      small  its condition is false (n = 700, c = CNY, iban = •••)",
        "      night  its condition is false (now = 2026-01-05T12:00:00+00:00)",
        "      large  has no condition  <- decided",
        "7 cases: 4 as expected, 3 not",
    ]
    told = json.loads(run("test", str(cases), "-c", str(rules), "--json").stdout)
    assert (told["failed"], [case["ok"] for case in told["cases"]]) == (3, [True] * 4 + [False] * 3)


@requirement("S-57")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cases: []\n", ":1: has no case: nothing would be tested"),
        ("case: []\n", ':1: case: unknown key "case"'),
        ("cases:\n  - {it: a, tool: pay, expect: maybe}\n", ":2: cases[0].expect: must be allow, deny or ask"),
        ("cases:\n  - {it: a, tool: pay, expect: true}\n", ":2: cases[0].expect: must be allow, deny or ask"),
        (
            "cases:\n  - {it: a, tool: pay, expect: ask, rule: larg}\n",
            ':2: cases[0].rule: unknown rule "larg"; did you',
        ),
        ("cases:\n  - {it: a, tool: pay, expect: ask, argz: {}}\n", ':2: cases[0].argz: unknown key "argz"'),
        ("cases:\n  - {tool: pay, expect: ask}\n", ':2: cases[0]: "it" is missing'),
        ("cases:\n  - {it: a, tool: pay, expect: ask, at: soon}\n", ":2: cases[0].at: must be an instant"),
    ],
)
def test_cases_that_cannot_be_meant_are_refused_with_their_line(rules: Path, text: str, why: str) -> None:
    cases = rules.parent / "cases.yaml"
    cases.write_text(text)
    done = run("test", "-c", str(rules))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{cases}{why}")


def test_a_folder_of_configurations_needs_to_be_told_its_cases(rules: Path) -> None:
    done = run("test", "-c", str(rules.parent))
    assert (done.exit_code, "say which file of cases" in done.stderr) == (2, True)


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def beside(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    monkeypatch.setenv("ASSENT_DATABASE_URL", gateway.url)
    return gateway


async def replay(gateway: Gateway, new: Path, *words: str) -> Result:
    place = ("-c", str(gateway.config), "--org", "acme", "--since", "1000w")
    return await asyncio.to_thread(run, "replay", str(new), *place, *words)


def changed(tmp_path: Path, *swaps: tuple[str, str]) -> Path:
    text = ACME
    for old, new in swaps:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "new.yaml"
    path.write_text(text)
    return path


async def past(gateway: Gateway) -> None:
    """Two payments are asked about, one call passes, one is refused, and one has no record at all."""
    await gateway.ask("pay", PAY)
    await gateway.ask("pay", {**PAY, "amount": 10}, requester="bob@acme.example")
    for tool in ("ping", "destroy", "read_ledger"):
        await gateway.call("POST", "/v1/requests", {"tool": tool, "arguments": {"n": 1}})


@requirement("S-07")
async def test_recorded_calls_are_judged_by_the_changed_file_and_nothing_is_touched(
    beside: Gateway, tmp_path: Path
) -> None:
    await past(beside)
    small = "  - {id: small, tools: [pay], when: 'amount(args.amount) < amount(50)', then: allow}\n"
    new = changed(
        tmp_path,
        ("rules:\n", f"rules:\n{small}"),
        ("{id: harmless, tools: [ping], then: allow}", "{id: harmless, tools: [ping], then: deny}"),
        ("{id: never, tools: [destroy], then: deny, reason: Nobody may.}",
         "{id: never, tools: [destroy], then: ask, stages: [{of: [legal]}], channels: [api]}"),
    )  # fmt: skip
    before = await asyncio.to_thread(beside.content)

    done = await replay(beside, new, "--json")

    assert await asyncio.to_thread(beside.content) == before
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["calls"] == 4
    pairs = {(pair["then"], pair["now"]): pair["calls"] for pair in told["answers"]}
    assert pairs == {("ask", "ask"): 1, ("ask", "allow"): 1, ("allow", "deny"): 1, ("deny", "ask"): 1}
    changes = {change["tool"]: (change["then"]["rule"], change["now"]["rule"]) for change in told["changes"]}
    assert changes == {"pay": ("pay", "small"), "ping": ("harmless", "harmless"), "destroy": ("never", "never")}
    finance = dict.fromkeys(("alice", "bob", "carol", "rita"), 1)
    assert {who.partition("@")[0]: count for who, count in told["paged"].items()} == {**finance, "dave": 1, "alice": 2}
    assert told["cards"] == {"chat": 1, "api": 1}
    assert "DE02-SECRET" not in done.stdout


async def test_a_call_of_which_too_little_is_recorded_is_counted_as_untold(beside: Gateway, tmp_path: Path) -> None:
    await past(beside)
    new = changed(tmp_path, ("tools: [ping], then: allow", "tools: [ping], when: 'args.n < 5', then: allow"))
    told = (await replay(beside, new)).stdout.splitlines()
    untold = [line for line in told if "cannot be told" in line]
    facts = await asyncio.to_thread(beside.rows, "SELECT facts FROM audit_events WHERE kind = 'call.allowed'")
    if '"arguments"' in facts[0]["facts"]:
        assert untold == []
    else:
        assert untold == ["  cannot be told, too little of the arguments is recorded: ping 1"]
    assert told[0].startswith("4 calls of the last 1000w, judged by version ")
    assert "would have asked alice@acme.example: 2" in told


@requirement("S-16")
async def test_recorded_arguments_are_judged_and_what_they_leave_out_is_untold(beside: Gateway, tmp_path: Path) -> None:
    def record(tool: str, **facts: object) -> None:
        told = Record(kind=Kind.ALLOWED, actor="agent:shop", facts={"tool": tool, "rule": "x", **facts})
        records.append(told)

    records: list[Record] = []
    record("staged", arguments='{"n":7}')
    record("staged", arguments='{"n":700}')
    record("long", arguments='{"n":7}', hidden=["secret.key"])  # its condition reads the hidden one
    record("owned", arguments='{"n":7}', hidden=["m"])
    record("by_api", arguments="{}", hidden=["n"])  # its schema requires what is hidden
    record("ping", arguments="no JSON")
    record("destroy", hook="guard")
    await beside.container.store.write(lambda tx: [tx.append(each) for each in records], org="acme")
    new = changed(
        tmp_path,
        ("  staged: {}", "  staged: {}\n  other: {}"),
        ("  by_api: {}", "  by_api: {schema: {type: object, required: [n]}}"),
        ("{id: harmless, tools: [ping], then", "{id: harmless, tools: [ping], when: size(args) > 0, then"),
        ("rules:\n", "rules:\n  - {id: few, tools: [staged, owned], when: args.n < 100, then: allow}\n"),
        ("{id: long, tools: [long], then", "{id: long, tools: [long], when: 'args.secret.key == 1', then"),
    )
    told = json.loads((await replay(beside, new, "--json")).stdout)
    assert (told["calls"], told["refused_by_hooks"]) == (7, 1)
    assert told["untold"] == {"long": 1, "by_api": 1, "ping": 1}
    pairs = {(pair["then"], pair["now"]): pair["calls"] for pair in told["answers"]}
    assert pairs == {("allow", "allow"): 2, ("allow", "ask"): 1}


@pytest.mark.parametrize("minutes", range(8))
@pytest.mark.sampled(3)
async def test_the_trail_is_read_from_the_first_call_of_the_span(beside: Gateway, tmp_path: Path, minutes: int) -> None:
    for _ in range(6):
        await beside.call("POST", "/v1/requests", {"tool": "destroy", "arguments": {}})
        await beside.advance(timedelta(minutes=1))
    loaded = load_policy(changed(tmp_path), environ={}, channel_types=registry.platforms())
    since = START + timedelta(minutes=minutes)
    replayed = await Replay(read=beside.container.read)(loaded, since=since, tell=lambda _: None)
    assert replayed.seen == max(0, 6 - minutes)


@pytest.mark.parametrize(("minutes", "calls"), [(-1, 8), (0, 8), (4, 4), (5, 4), (6, 0)])
@pytest.mark.sampled(3)
async def test_only_what_is_within_the_span_is_judged(
    beside: Gateway, tmp_path: Path, minutes: int, calls: int
) -> None:
    await past(beside)
    await beside.advance(timedelta(minutes=5))
    await past(beside)
    path = changed(tmp_path)
    loaded = load_policy(path, environ={}, channel_types=registry.platforms())
    told: list[int] = []

    since = START + timedelta(minutes=minutes)
    replayed = await Replay(read=beside.container.read)(loaded, since=since, tell=told.append)

    assert replayed.seen == calls
    assert told == list(range(1, calls + 1))
    assert replayed.changes == []


@pytest.mark.parametrize(
    ("words", "why"), [(["--since", "soon"], "--since must be a span"), ([], "the file is not about")]
)
async def test_a_span_or_a_file_that_cannot_be_meant_is_refused(
    beside: Gateway, tmp_path: Path, words: list[str], why: str
) -> None:
    new = changed(tmp_path, ("org: acme", "org: other"))
    done = await asyncio.to_thread(run, "replay", str(new), "-c", str(beside.config), "--org", "acme", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert why in done.stderr


@requirement("S-97")
async def test_rules_that_approvals_suggest_are_written_as_the_file_reads_them_and_nothing_is_touched(
    beside: Gateway, tmp_path: Path
) -> None:
    place = ("propose", "-c", str(beside.config), "--org", "acme")
    none = await asyncio.to_thread(run, *place)
    assert (none.exit_code, none.stdout.startswith("# no rules")) == (0, True)
    for day in range(5):
        request = await beside.ask("by_api", {"to": "ops", "n": day % 2})
        await beside.decide(request)
        await beside.claim(request)
        await beside.report(request)
        await beside.advance(timedelta(days=1))
    before = await asyncio.to_thread(beside.content)
    done = await asyncio.to_thread(run, *place)
    assert (done.exit_code, done.stderr) == (0, "")
    assert await asyncio.to_thread(beside.content) == before
    taken = changed(tmp_path, ("rules:\n", f"rules:\n{done.stdout}"))
    said = run("explain", "-c", str(taken), "--tool", "by_api", "--args", '{"to": "ops", "n": 1}', "--agent", "shop")
    assert said.stdout.startswith("ALLOW by proposed-"), said.output
    told = json.loads((await asyncio.to_thread(run, *place, "--json")).stdout)
    assert [len(each["covers"]) for each in told["rules"]] == [5]


def test_a_requester_may_be_supposed_to_be_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OIDC_SECRET", "s" * 40)
    (tmp_path / "assent.yaml").write_text("""\
org: acme
default: deny
url: https://assent.example
people: {ann@acme.example: {name: Ann}}
sign_in:
  portal: {issuer: "https://id.example", client_id: a, client_secret: "${OIDC_SECRET}",
           requesters: {audiences: [a-portal]}}
tools: {pay: {}}
rules:
  - {id: proved, tools: [pay], then: allow, requester: verified}
""")
    call = ["explain", "--tool", "pay", "--user", "ann@acme.example", "-c", str(tmp_path)]
    assert run(*call).stdout.startswith("DENY by proved")
    assert run(*call, "--verified").stdout.startswith("ALLOW by proved")
    nobody = run("explain", "--tool", "pay", "--verified", "-c", str(tmp_path))
    assert (nobody.exit_code, "means nothing without" in nobody.stderr) == (2, True)
