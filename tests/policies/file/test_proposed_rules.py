"""Rules that approvals suggest: narrower than what people approved, never what was denied, as the file has them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.people.assurance import Assurance
from app.domain.request.caution import Caution, CautionKind
from app.domain.request.decision import Verdict
from app.domain.request.request import ConfirmationRequest, Risk, Status
from app.domain.rules.policy import Allow, judge
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.usecases.judging.propose import FEWEST, propose
from tests.domain.samples import START, a_call, a_decision, a_request
from tests.fixtures.examples import examples
from tests.requirements import requirement

FILE = """\
org: acme
default: deny
people: {ann@acme.example: {name: Ann}}
groups: {finance: [ann@acme.example]}
tools:
  order: {money: [amount], pin: [amount]}
  secret: {sensitive: [account]}
  gone: {irreversible: true}
rules:
  - {id: large, tools: ["*"], then: ask, stages: [{of: [finance]}], channels: [api]}
"""
NOW = START + timedelta(days=30)


def loaded(extra: str = "") -> LoadedPolicy:
    text = FILE.replace("rules:\n", f"rules:\n{extra}", 1)
    return load_policy(text, environ={}, channel_types={})


POLICY = loaded().policy


def approved_call(number: int, arguments: dict[str, Any], **changes: Any) -> ConfirmationRequest:
    """Return a request that was approved, one a day."""
    about = {"tool": changes.pop("tool", "order"), "agent": changes.pop("agent", "payer")}
    made = {"status": Status.APPROVED, "sensitive": (), "decisions": (a_decision("ann@acme.example"),), **changes}
    call = a_call(arguments=arguments, **about)
    return a_request(f"req_{number}", call=call, now=START + timedelta(days=number), **made)


def orders(count: int = FEWEST, **changes: Any) -> list[ConfirmationRequest]:
    return [approved_call(n, {"payee": "Acme", "amount": f"{100 + n}.50"}, **changes) for n in range(count)]


def test_the_rule_that_repeated_approvals_suggest_is_read_by_the_file_and_covers_them_alone() -> None:
    asked = orders()
    [rule] = propose(asked, POLICY, now=NOW)
    assert (rule.above, len(rule.covers), rule.days, rule.people) == ("large", FEWEST, 5, ("ann@acme.example",))
    assert 'amount(args.amount) >= amount("100.5") && amount(args.amount) <= amount("104.5")' in rule.when
    policy = loaded(rule.yaml).policy
    assert [type(judge(policy, each.call, now=NOW)) for each in asked] == [Allow] * FEWEST
    for other in (
        {"arguments": {"payee": "Acme", "amount": "104.51"}},
        {"arguments": {"payee": "Acme", "amount": "100.49"}},
        {"arguments": {"payee": "Acme Ltd", "amount": "101"}},
        {"arguments": {"payee": "Acme", "amount": "101", "urgent": True}},
        {"arguments": {"amount": "101"}},
        {"agent": "other"},
        {"requester": None},
        {"requester": "eve@acme.example"},
        {"tool": "secret"},
    ):
        call = replace(asked[1].call, **other)
        assert not isinstance(judge(policy, call, now=NOW), Allow), other


@pytest.mark.parametrize(
    "changes",
    [
        {"risk": Risk.HIGH},
        {"cautions": (Caution(kind=CautionKind.FIRST_PAYEE),)},
        {"edited_by": "ann@acme.example"},
        {"proposed": {"payee": "Other"}},
        {"assurance": Assurance.L3},
        {"allowed_by": "glass:1"},
        {"allowed_by": "standing:1"},
        {"rule_id": "hook:budget"},
        {"rule_id": "gone"},
        {"tool": "gone"},
        {"tool": "unknown"},
        {"tool": "secret", "sensitive": ("payee",)},
        {"agent": "pay*"},
        {"status": Status.EXPIRED},
        {"decisions": ()},
    ],
)
def test_nothing_that_spoke_against_a_call_suggests_a_rule(changes: dict[str, Any]) -> None:
    assert propose(orders(**changes), POLICY, now=NOW) == ()


def test_one_call_that_speaks_against_it_is_enough_if_the_rule_would_have_covered_it() -> None:
    good = orders()
    like = {"payee": "Acme", "amount": "102"}
    no = (a_decision("ann@acme.example", verdict=Verdict.DENY),)
    denied = approved_call(9, like, status=Status.DENIED, decisions=no)
    for against in (
        denied,
        approved_call(9, like, risk=Risk.HIGH),
        approved_call(9, like, cautions=(Caution(kind=CautionKind.DUPLICATE),)),
        approved_call(9, like, edited_by="ann@acme.example"),
        approved_call(9, like, assurance=Assurance.L4),
    ):
        assert propose([*good, against], POLICY, now=NOW) == ()
    elsewhere = replace(denied, call=a_call(arguments={"payee": "Acme", "amount": "900"}, tool="order"))
    assert len(propose([*good, elsewhere], POLICY, now=NOW)) == 1


def test_too_few_approvals_or_on_one_day_alone_suggest_nothing() -> None:
    assert propose(orders(FEWEST - 1), POLICY, now=NOW) == ()
    one_day = [replace(each, created_at=START + timedelta(minutes=n)) for n, each in enumerate(orders())]
    assert propose(one_day, POLICY, now=NOW) == ()
    l3 = loaded(
        "  - {id: steps, tools: [order], then: ask, assurance: L3, stages: [{of: [finance]}], channels: [api]}\n"
    )
    assert propose(orders(rule_id="steps"), l3.policy, now=NOW) == ()


_TEXTS = st.sampled_from(["Acme", "Globex", 'a"b', "a\\b", "甲", "x' || true", "${HOME}", "a\n", "\u202e", "😀", ""])
_VALUES = st.one_of(
    _TEXTS, st.sampled_from(["1", "2.50", "1000", "-3"]), st.integers(-3, 3), st.booleans(), st.floats(0, 2), st.none()
)
_ARGUMENTS = st.dictionaries(st.sampled_from(["payee", "amount", "n", "a.b", "in"]), _VALUES, max_size=3)
_MARKS: list[dict[str, Any]] = [
    {},
    {},
    {"status": Status.DENIED, "decisions": (a_decision("ann@acme.example", verdict=Verdict.DENY),)},
    {"risk": Risk.HIGH},
    {"assurance": Assurance.L3},
]


@pytest.mark.heavy
@requirement("S-97")
@settings(deadline=None, max_examples=examples(150))
@given(
    st.lists(_ARGUMENTS, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(_MARKS)), min_size=5, max_size=24),
    st.lists(_ARGUMENTS, max_size=6),
)
def test_whatever_was_asked_each_proposed_rule_allows_what_was_approved_alike_and_nothing_denied(
    shapes: list[dict[str, Any]], asked: list[tuple[int, dict[str, Any]]], others: list[dict[str, Any]]
) -> None:
    requests = [approved_call(n, shapes[shape % len(shapes)], **marks) for n, (shape, marks) in enumerate(asked)]
    found = propose(requests, POLICY, now=NOW)
    assert found == propose(requests, POLICY, now=NOW)
    for rule in found:
        policy = loaded(rule.yaml).policy  # the file's reader takes it
        approved = [each for each in requests if not _marked(each)]
        for each in requests:
            if isinstance(judge(policy, each.call, now=NOW), Allow):
                assert not _marked(each)
        for each in rule.covers:
            assert isinstance(judge(policy, each.call, now=NOW), Allow)
        for arguments in others:
            if isinstance(judge(policy, a_call(arguments=arguments, tool="order"), now=NOW), Allow):
                assert any(arguments.keys() == each.call.arguments.keys() for each in approved)
                assert _within(arguments, [each.call.arguments for each in rule.covers])


def _marked(request: ConfirmationRequest) -> bool:
    return request.status is Status.DENIED or request.risk is Risk.HIGH or request.assurance is Assurance.L3


def _within(arguments: dict[str, Any], covered: list[Any]) -> bool:
    """Say whether each argument is one that was approved, or an amount between two that were."""
    for name, value in arguments.items():
        values = [each[name] for each in covered]
        if value in values:
            continue
        numbers = sorted(float(each) for each in values)
        if name != "amount" or not numbers[0] <= float(value) <= numbers[-1]:
            return False
    return True
