"""What one approver may allow for a session: what is offered, what it is of, and what would be wider than the file."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.call.tool import Tool
from app.domain.call.tool_call import ToolCall
from app.domain.card.permit_sentence import permit_sentence
from app.domain.money.payment import PaymentFields, payments_of
from app.domain.rules.session_approval import SessionScope, SessionTerms, may_differ, scope_for
from app.domain.text.language import Language
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.text.canonical import JsonValue

NOW = datetime(2026, 11, 25, 14, 0, tzinfo=UTC)
FIELDS = PaymentFields(amount="pay.amount", currency="currency", payee="pay.to", account="iban", reference="ref")
PAY = Tool(name="pay", payment=FIELDS, sensitive=("iban",))
NOTE = Tool(name="note")
TERMS = SessionTerms(lasts=timedelta(minutes=30), uses=5, each={"CNY": Decimal(2000)})
ARGUMENTS: dict[str, Any] = {
    "pay": {"amount": "1200", "to": "Haoyun"},
    "currency": "CNY",
    "iban": "DE02120300000000202051",
    "ref": "INV-1",
}
CALL = ToolCall(
    org="acme",
    agent="billing",
    session="s-1",
    call_id="c-1",
    tool="pay",
    arguments=ARGUMENTS,
    requester="dave@acme.example",
    owner="olga@acme.example",
    claim=None,
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "free"]), inner, max_size=3),
    max_leaves=8,
)


def scope(call: ToolCall = CALL, tool: Tool = PAY, terms: SessionTerms = TERMS) -> SessionScope | None:
    payments = payments_of(tool.payment, call.arguments) if tool.payment else ()
    return scope_for("req_1", call, payments, tool, terms, rule_id="pay", until=NOW + terms.lasts)


def offered(call: ToolCall = CALL, tool: Tool = PAY, terms: SessionTerms = TERMS) -> SessionScope:
    found = scope(call, tool, terms)
    assert found is not None
    return found


def called(**changed: JsonValue) -> ToolCall:
    return replace(CALL, arguments={**ARGUMENTS, **changed})


@requirement("S-26")
def test_what_is_offered_is_said_in_one_sentence_with_all_its_limits() -> None:
    found = offered()
    assert permit_sentence(found, Language.EN, UTC) == (
        "Up to 5 more payments to “Haoyun” with “pay”, each at most CNY 1,200, by “billing” in this session (“s-1”), "
        "until 2026-11-25 14:30 UTC; only pay.amount, ref may differ."
    )
    once = offered(terms=dataclasses.replace(TERMS, uses=1))
    assert permit_sentence(once, Language.ZH, UTC) == (
        "本会话（“s-1”）中，“billing” 可用 “pay” 再向 “Haoyun” 付款 1 次，最多 CNY 1,200，"
        "2026-11-25 14:30 UTC 之前有效；仅 pay.amount、ref 可以不同。"
    )
    called_so = {"pay.amount": "金额", "payee": "收款方"}
    assert permit_sentence(once, Language.ZH, UTC, labels=called_so).endswith("；仅 金额、ref 可以不同。")
    note = replace(CALL, tool="note", arguments={"to": "desk", "text": "hi"})
    free = offered(note, NOTE, SessionTerms(lasts=TERMS.lasts, uses=1, each={}, differ=("text",)))
    assert permit_sentence(free, Language.EN, UTC) == (
        '1 more call of “note” with “{"to":"desk","text":"…"}”, by “billing” in this session (“s-1”), until '
        "2026-11-25 14:30 UTC; only text may differ."
    )
    fixed = offered(note, NOTE, SessionTerms(lasts=TERMS.lasts, uses=2, each={}))
    assert permit_sentence(fixed, Language.EN, UTC).endswith("until 2026-11-25 14:30 UTC; nothing may differ.")
    assert "DE02" not in str(found.written()["same"])


@requirement("S-26")
@pytest.mark.parametrize(
    "call",
    [
        replace(CALL, session=None),
        replace(CALL, sub_agent="helper"),
        called(pay={"amount": "2000.01", "to": "Haoyun"}),
        called(currency="USD"),
        called(pay=[{"amount": "1", "to": "A"}, {"amount": "2", "to": "B"}]),
    ],
)
def test_without_a_session_for_a_sub_agent_above_the_limit_and_of_a_batch_nothing_is_offered(call: ToolCall) -> None:
    assert scope(call) is None


@requirement("S-26")
def test_of_a_tool_that_pays_what_pays_nothing_is_not_offered() -> None:
    assert scope_for("req_1", CALL, (), PAY, TERMS, rule_id="pay", until=NOW) is None


@requirement("S-26")
@pytest.mark.parametrize(
    ("call", "same"),
    [
        (called(pay={"amount": "7", "to": "Haoyun"}, ref="INV-2"), True),
        (replace(CALL, call_id="c-2", claim="another word", owner=None), True),
        (called(pay={"amount": "7", "to": "haoyun"}), False),
        (called(pay={"amount": "7", "to": "Haoyun", "fee": "1"}), False),
        (called(pay=[{"amount": "7", "to": "Haoyun"}]), False),
        (called(iban="DE03120300000000202051"), False),  # its last four are the same
        (called(currency="cny"), False),
        (called(memo=None), False),
        (replace(CALL, arguments={name: each for name, each in ARGUMENTS.items() if name != "ref"}), False),
        (replace(CALL, session="s-10"), False),
        (replace(CALL, session=None), False),
        (replace(CALL, agent="billing-2"), False),
        (replace(CALL, tool="pay2"), False),
        (replace(CALL, requester=None), False),
        (replace(CALL, sub_agent="helper"), False),
    ],
)
def test_it_is_of_the_same_call_but_for_what_may_differ(call: ToolCall, *, same: bool) -> None:
    assert offered().matches(call) is same
    assert SessionScope.read(offered().written()).matches(call) is same


@requirement("S-26")
def test_where_the_requester_was_proved_a_claim_is_not_enough() -> None:
    proved = replace(offered(), proved=True)
    assert not proved.matches(CALL)
    assert not SessionScope.read(proved.written()).matches(CALL)


@requirement("S-26")
@given(before=_VALUES, after=_VALUES)
def test_of_two_calls_that_differ_anywhere_else_one_never_covers_the_other(before: JsonValue, after: JsonValue) -> None:
    terms = SessionTerms(lasts=TERMS.lasts, uses=1, each={}, differ=("free",))
    one, other = (replace(CALL, tool="note", arguments={"kept": each, "free": 1}) for each in (before, after))
    found = offered(one, NOTE, terms)
    assert found.matches(replace(one, arguments={"kept": before, "free": after}))
    said = [json.dumps(each, sort_keys=True) for each in (before, after)]
    assert found.matches(other) is (said[0] == said[1])


@requirement("S-26")
@pytest.mark.parametrize(
    ("terms", "why"),
    [
        (TERMS, None),
        (dataclasses.replace(TERMS, uses=4), "uses must be 1 to 4"),
        (dataclasses.replace(TERMS, lasts=timedelta(minutes=29)), "it must end within 29 min"),
        (dataclasses.replace(TERMS, each={"CNY": Decimal(1199)}), "1200 CNY is more than may be repeated in a session"),
        (dataclasses.replace(TERMS, each={"USD": Decimal(9999)}), "1200 CNY is more than may be repeated in a session"),
    ],
)
def test_what_is_wider_than_the_file_lets_is_named(terms: SessionTerms, why: str | None) -> None:
    assert offered().beyond(terms, PAY, made_at=NOW) == why


@requirement("S-26")
def test_arguments_that_may_no_longer_differ_or_pay_otherwise_are_wider_too() -> None:
    loose = offered(terms=dataclasses.replace(TERMS, differ=("memo",)))
    assert may_differ(dataclasses.replace(TERMS, differ=("memo",)), PAY) == ("pay.amount", "ref", "memo")
    assert loose.beyond(TERMS, PAY, made_at=NOW) == "memo must stay the same"
    assert offered().beyond(TERMS, NOTE, made_at=NOW) == "pay.amount, ref must stay the same"
    free = SessionTerms(lasts=TERMS.lasts, uses=5, each=TERMS.each, differ=("pay.amount", "ref"))
    assert offered().beyond(free, NOTE, made_at=NOW) == "what it pays is not what the tool pays"
    more = offered()
    more = replace(more, stands=dataclasses.replace(more.stands, total={"CNY": Decimal(6001)}))
    assert more.beyond(TERMS, PAY, made_at=NOW) == "what it allows in all is not what its uses add up to"
