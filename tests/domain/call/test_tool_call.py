"""What an approval is bound to: each part of it, alone, makes another digest."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.call.tool_call import attach_key, binding_digest, call_digest
from app.domain.money.payment import PaymentFields, payments_of
from tests.domain.samples import START, a_call
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.call.tool_call import ToolCall

PAID = payments_of(
    PaymentFields(amount="amount", currency="currency", payee="payee"),
    {"payee": "Acme Ltd", "amount": 80000, "currency": "CNY"},
)
BOUND: dict[str, Any] = {
    "request_id": "req_1",
    "nonce": "n_1",
    "policy_version": "p1",
    "expires_at": START + timedelta(minutes=30),
    "payments": PAID,
}


@requirement("S-02")
@pytest.mark.parametrize(
    "changes",
    [
        {"org": "globex"},
        {"agent": "other"},
        {"tool": "oa__purchase_refund"},
        {"session": "s-2"},
        {"session": None},
        {"requester": "bob@acme.example"},
        {"requester": None},
        {"arguments": {**a_call().arguments, "amount": 80001}},
    ],
)
def test_an_approval_is_of_one_call(changes: dict[str, Any]) -> None:
    assert binding_digest(a_call(**changes), **BOUND) != binding_digest(a_call(), **BOUND)


@requirement("S-02")
@pytest.mark.parametrize(
    "changes",
    [
        {"request_id": "req_2"},
        {"nonce": "n_2"},
        {"policy_version": "p2"},
        {"expires_at": BOUND["expires_at"] + timedelta(microseconds=1)},
        {"payments": ()},
    ],
)
def test_an_approval_is_of_one_request_under_one_policy_until_one_instant(changes: dict[str, Any]) -> None:
    assert binding_digest(a_call(), **{**BOUND, **changes}) != binding_digest(a_call(), **BOUND)


@pytest.mark.parametrize("other", [a_call(agent="other"), a_call(session="s-2"), a_call(requester="bob@acme.example")])
def test_a_repetition_is_of_the_same_agent_session_and_person(other: ToolCall) -> None:
    assert attach_key(other, call_digest(other)) != attach_key(a_call(), call_digest(a_call()))
    assert attach_key(other, "d") != attach_key(a_call(), "d")
    assert attach_key(a_call(session=None), "d") is None
