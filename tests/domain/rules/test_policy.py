"""What `judge` says besides the verdict, and the people that a policy can ask."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from app.domain.call.name_pattern import NamePattern
from app.domain.call.tool import Tool
from app.domain.call.tool_call import ToolCall
from app.domain.errors import UnknownToolError
from app.domain.people.people import Directory, Person
from app.domain.request.quorum import Stage
from app.domain.rules import policy as policy_module
from app.domain.rules.condition import Condition, compile_condition
from app.domain.rules.permits import StandingTerms
from app.domain.rules.policy import Allow, Ask, Deny, Policy, UnknownTools, judge
from app.domain.rules.rule import Asking, Rule, Then
from tests.requirements import requirement

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
PAY = (NamePattern("pay"),)
OFFICE = Asking(stages=(Stage(of=("office",), need=1),), channels=("desk",))


def call(**arguments: Any) -> ToolCall:
    return ToolCall(
        org="acme",
        agent="buyer",
        session=None,
        call_id=None,
        tool="pay",
        arguments=arguments,
        requester=None,
        owner=None,
        claim=None,
    )


def policy(*rules: Rule, default: Then = Then.DENY, ask: Asking | None = None, **more: Any) -> Policy:
    tools = {"pay": Tool(name="pay", sensitive=("account", "owner.phone"))}
    return Policy(org="acme", version="v1", default=default, ask=ask, tools=tools, rules=rules, **more)


def test_the_trace_tells_each_rule_that_was_looked_at_with_the_values_it_looked_at() -> None:
    rules = (
        Rule(id="other-tool", tools=(NamePattern("refund"),), then=Then.DENY),
        Rule(id="other-agent", tools=PAY, agents=(NamePattern("ops"),), then=Then.DENY),
        Rule(id="big", tools=PAY, when=compile_condition("args.amount > 100"), then=Then.DENY),
        Rule(id="rest", tools=PAY, then=Then.ALLOW, reason="It is small.", record=False),
    )
    ruling = judge(policy(*rules), call(amount=7), now=NOON, explaining=True)
    assert isinstance(ruling, Allow)
    assert (ruling.rule_id, ruling.reason, ruling.policy_version, ruling.record) == (
        "rest",
        "It is small.",
        "v1",
        False,
    )
    assert [(step.rule_id, step.matched, step.why, step.values) for step in ruling.trace] == [
        ("other-agent", False, "is about other agents", ()),
        ("big", False, "its condition is false", (("amount", "7"),)),
        ("rest", True, "has no condition", ()),
    ]


@pytest.mark.parametrize("reads", ["args.account", "args.account.number", "args.owner", "args.owner.phone"])
def test_a_sensitive_value_never_stands_in_the_trace(reads: str) -> None:
    rule = Rule(id="odd", tools=PAY, when=compile_condition(f'{reads} == "x"'), then=Then.ALLOW)
    secret = {"account": {"number": "6222"}, "owner": {"phone": "6222"}}
    ruling = judge(policy(rule), call(**secret), now=NOON, explaining=True)
    assert "6222" not in repr(ruling)
    assert "•••" in repr(ruling)


@requirement("S-07")
@pytest.mark.parametrize(
    "asking", [None, Asking(stages=(), channels=("desk",)), Asking(stages=OFFICE.stages, channels=())]
)
def test_with_nobody_to_ask_the_answer_is_no(asking: Asking | None) -> None:
    asks = Rule(id="asks", tools=PAY, then=Then.ASK, asking=asking)
    fails = Rule(id="fails", tools=PAY, when=compile_condition("args.absent"), then=Then.ALLOW)
    for judged in (policy(asks), policy(fails, ask=asking), policy(default=Then.ASK, ask=asking)):
        ruling = judge(judged, call(), now=NOON)
        assert isinstance(ruling, Deny)
        assert "nobody to ask" in ruling.reason


@pytest.mark.parametrize("then", list(Then))
def test_a_condition_that_fails_asks_whatever_its_rule_would_have_said(then: Then) -> None:
    own = dataclasses.replace(OFFICE, channels=("till",)) if then is Then.ASK else None
    rule = Rule(id="odd", tools=PAY, when=compile_condition("args.absent > 1"), then=then, asking=own)
    later = Rule(id="later", tools=PAY, then=Then.ALLOW)
    ruling = judge(policy(rule, later, ask=OFFICE, default=Then.ALLOW), call(), now=NOON)
    assert isinstance(ruling, Ask)
    assert (ruling.rule_id, ruling.asking) == ("odd", own or OFFICE)
    assert "there is no args.absent" in ruling.trace[-1].why


@pytest.mark.parametrize(("default", "kind"), [(Then.ALLOW, Allow), (Then.DENY, Deny), (Then.ASK, Ask)])
def test_the_default_answers_what_no_rule_names(default: Then, kind: type) -> None:
    ruling = judge(policy(default=default, ask=OFFICE), call(), now=NOON)
    assert isinstance(ruling, kind)
    assert ruling.rule_id == "default"


def test_people_read_in_plain_words_why_no_rule_spared_them() -> None:
    assert judge(policy(default=Then.ASK, ask=OFFICE), call(), now=NOON).reason == (
        "No rule covers this call, so people decide."
    )


@pytest.mark.parametrize("unknown", [UnknownTools.DENY, UnknownTools.REFUSE])
def test_an_unknown_tool_never_reaches_the_rules_where_the_file_says_so(unknown: UnknownTools) -> None:
    judged = policy(Rule(id="all", tools=(NamePattern("*"),), then=Then.ALLOW), unknown_tools=unknown)
    ruling = judge(judged, replace(call(), tool="pai"), now=NOON)
    assert isinstance(ruling, Deny)
    assert ruling.rule_id == "unknown-tool"
    assert isinstance(judge(judged, call(), now=NOON), Allow)


def test_a_refused_tool_is_an_error_that_names_what_is_near() -> None:
    with pytest.raises(UnknownToolError, match="near it: pay") as refused:
        policy(unknown_tools=UnknownTools.REFUSE).get_tool("pya")
    assert refused.value.more["path"] == "tool"
    assert policy().get_tool("pya") == Tool(name="pya")
    assert policy().get_tool("pay").sensitive == ("account", "owner.phone")


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("pay", "pay", True),
        ("pay", "Pay", False),
        ("pay", "pay2", False),
        ("*", "", True),
        ("mcp__*", "mcp__git__push", True),
        ("mcp__*", "xmcp__git", False),
        ("*__pay", "oa__pay", True),
        ("a.c*", "abcd", False),
        ("a*c*e", "abcde", True),
        ("*pay", "x\npay", True),
        ("[p]ay*", "pay", False),
    ],
)
def test_a_star_stands_for_any_characters_and_nothing_else_is_special(pattern: str, name: str, matches: bool) -> None:
    assert NamePattern(pattern).matches(name) is matches


def test_an_allow_looks_at_nothing_but_the_rules_of_its_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    conditions = ['args.payee == "Evil"', "args.amount > 900000", 'args.currency == "CNY" && args.amount <= 50000.0']
    rules = [
        Rule(id=f"r{n}", tools=PAY, when=compile_condition(source), then=Then.ALLOW)
        for n, source in enumerate(conditions)
    ]
    others = [Rule(id=f"o{n}", tools=(NamePattern(f"tool{n}"),), then=Then.DENY) for n in range(200)]
    judged, asked = policy(*others, *rules), call(payee="Acme", amount=1200, currency="CNY")
    assert judge(judged, asked, now=NOON).rule_id == "r2"  # from here on it is known which rules are this tool's
    matches, holds, looks = (
        counted(monkeypatch, owner, name)
        for owner, name in ((NamePattern, "matches"), (Condition, "holds"), (policy_module, "look"))
    )
    ruling = judge(judged, asked, now=NOON)
    assert [step.rule_id for step in ruling.trace] == ["r0", "r1", "r2"]
    assert (len(matches), len(holds), len(looks)) == (0, 1, 1)  # of another payee, and too little: false without a look


@pytest.mark.parametrize("rest", ["", " && args.n > 5", " && args.absent > 5", " && (args.n > 5 || args.absent)"])
@pytest.mark.parametrize(
    "given", ["CNY", "EUR", "", "cny", "CNY ", "CN\u0059\u0301", 5, 5.5, True, None, [], {}, ["CNY"], "left out"]
)
def test_a_rule_passed_over_without_a_look_would_not_have_answered(given: Any, rest: str) -> None:
    condition = compile_condition(f'args.currency == "CNY"{rest}')
    assert condition.demands[0].wanted == "CNY"
    arguments = {"n": 1} if given == "left out" else {"n": 1, "currency": given}
    quick, slow = (
        judge(policy(Rule(id="r", tools=PAY, when=when, then=Then.ALLOW), ask=OFFICE), call(**arguments), now=NOON)
        for when in (condition, dataclasses.replace(condition, demands=()))
    )
    assert quick == slow


@pytest.mark.parametrize("sign", ["==", "<", "<=", ">", ">="])
@pytest.mark.parametrize("rest", ["", ' && args.currency == "CNY"', " && args.absent > 5 && args.n < 0"])
@pytest.mark.parametrize("given", [4, 5, 6, -5, 0, 2**53 - 1, 5.0, 5.5, True, None, "five", [], {}, "left out"])
def test_a_rule_about_a_number_is_passed_over_only_where_it_is_false(given: Any, sign: str, rest: str) -> None:
    condition = compile_condition(f"args.n {sign} 5{rest}")
    arguments: dict[str, Any] = {"currency": "EUR"} if given == "left out" else {"currency": "EUR", "n": given}
    quick, slow = (
        judge(policy(Rule(id="r", tools=PAY, when=when, then=Then.ALLOW), ask=OFFICE), call(**arguments), now=NOON)
        for when in (condition, dataclasses.replace(condition, demands=()))
    )
    assert quick == slow


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[str]:
    """Write down each call of a function from now on."""
    calls, plain = list[str](), getattr(owner, name)

    def count(*args: Any, **named: Any) -> Any:
        calls.append(name)
        return plain(*args, **named)

    monkeypatch.setattr(owner, name, count)
    return calls


WANG = Person(email="wang@acme.example", name="王芳", accounts={"slack": "U0WANG"})
CHEN = Person(email="chen@acme.example", name="Chen", accounts={"slack": "U0CHEN"})
PEOPLE = Directory(
    people={WANG.email: WANG, CHEN.email: CHEN},
    groups={"finance": frozenset({WANG.email, "gone@acme.example"}), "empty": frozenset()},
)


@requirement("S-07")
@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("finance", {WANG.email}),
        ("empty", set()),
        ("finanse", set()),
        ("", set()),
        ("*", set()),
        ("Wang@ACME.example", {WANG.email}),
        ("ang@acme.example", set()),
        ("wang@acme.example.evil", set()),
        ("wаng@acme.example", set()),  # a Cyrillic letter
    ],
)
def test_a_name_that_leads_to_nobody_is_nobody(name: str, members: set[str]) -> None:
    assert PEOPLE.members(name) == members


@pytest.mark.parametrize(
    ("account", "person"), [("U0WANG", WANG), ("u0wang", None), ("U0WAN", None), ("U0WANGX", None), ("", None)]
)
def test_an_account_leads_to_its_person_only_by_its_whole_exact_id(account: str, person: Person | None) -> None:
    assert PEOPLE.find_by_account("slack", account) == person
    assert PEOPLE.find_by_account("feishu", account) is None


def test_an_account_of_two_people_leads_to_nobody() -> None:
    twin = replace(CHEN, accounts=WANG.accounts)
    shared = Directory(people={WANG.email: WANG, CHEN.email: twin})
    assert shared.find_by_account("slack", "U0WANG") is None


def test_what_was_permitted_beforehand_is_no_answer_where_a_condition_is_in_doubt() -> None:
    terms = StandingTerms(lasts=timedelta(days=7), uses=3, each={"CNY": Decimal(5)}, total={"CNY": Decimal(9)})
    own = dataclasses.replace(OFFICE, standing=terms)
    rule = Rule(id="odd", tools=PAY, when=compile_condition("args.absent > 1"), then=Then.ASK, asking=own)
    doubtful = judge(policy(rule), call(), now=NOON)
    assert isinstance(doubtful, Ask)
    assert doubtful.asking == OFFICE
    certain = judge(policy(dataclasses.replace(rule, when=None)), call(), now=NOON)
    assert isinstance(certain, Ask)
    assert certain.asking.standing is terms
