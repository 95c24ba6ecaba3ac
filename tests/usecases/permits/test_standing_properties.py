"""Whatever is called, in whatever order and at whatever time: a standing approval lets through what it says, no more.

Runs of calls, clocks and revocations against an oracle that is written in whole cents and nothing else; and every
change of one leaf of what must stay the same.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.domain.call.tool import Tool
from app.domain.call.tool_call import ToolCall
from app.domain.money.payment import Payment, PaymentFields
from app.domain.rules.permits import Permit, PermitKind, PermitStatus, StandingScope, StandingTerms, kept, same_paths
from tests.domain.samples import START
from tests.fixtures.examples import examples
from tests.fixtures.standing import ALICE, PAY, approved, standing, submit, write_standing
from tests.requirements import requirement

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

TOOL = Tool(
    name="pay",
    payment=PaymentFields(amount="amount", currency="currency", payee="payee", account="account"),
    sensitive=("account",),
)
TERMS = StandingTerms(
    lasts=timedelta(hours=2),
    uses=6,
    each={"CNY": Decimal("5.00"), "USD": Decimal("1.50")},
    total={"CNY": Decimal("12.00"), "USD": Decimal("2.00")},
    same=("payee", "memo"),
)
BASE = {"payee": "Acme", "account": "DE-1", "currency": "CNY", "amount": "3", "memo": {"lines": [1, "two", None]}}


def call_of(
    arguments: dict[str, Any], *, agent: str = "shop", tool: str = "pay", session: str | None = "s"
) -> ToolCall:
    return ToolCall(
        org="acme",
        agent=agent,
        session=session,
        call_id=None,
        tool=tool,
        arguments=arguments,
        requester=None,
        owner=None,
        claim=None,
    )


def scope_with(*, uses: int, each: int, total: int, session: str | None = None) -> StandingScope:
    """Return a scope in CNY; amounts in cents."""
    call = call_of(BASE)
    return StandingScope(
        request="req_1",
        rule="pay",
        agent="shop",
        tool="pay",
        session=session,
        same=kept(call, same_paths(TERMS, TOOL), TOOL.sensitive),
        each={"CNY": cents(each)},
        total={"CNY": cents(total)},
        uses=uses,
        until=START + timedelta(hours=1),
    )


def cents(number: int) -> Decimal:
    return Decimal(number).scaleb(-2)


def paying(*amounts: int, currency: str = "CNY") -> list[Payment]:
    return [Payment(amount=cents(amount), currency=currency, payee="Acme") for amount in amounts]


# --- one leaf at a time -----------------------------------------------------------------------------------------------


_LEAVES = st.sampled_from([("payee",), ("account",), ("memo", "lines", 0), ("memo", "lines", 1), ("memo", "lines", 2)])
_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.text(max_size=8),
    st.sampled_from(["Acme ", "acme", "ACME", "A\u0441me", "1", "two ", "null", "DE-1\u200b", "DE1"]),
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(0, 2), max_size=2),
)


@requirement("S-26", "S-02")
@given(_LEAVES, _VALUES)
@settings(max_examples=examples(500), deadline=None)
def test_a_call_with_any_other_value_where_it_must_stay_the_same_is_not_covered(
    leaf: tuple[Any, ...], value: Any
) -> None:
    arguments: Any = copy.deepcopy(BASE)
    at = arguments
    for step in leaf[:-1]:
        at = at[step]
    before, at[leaf[-1]] = at[leaf[-1]], value
    same = type(before) is type(value) and before == value
    assert scope_with(uses=1, each=1, total=1).matches(call_of(arguments)) == same


@requirement("S-26")
@given(st.sampled_from(["payee", "account", "memo"]), st.sampled_from(["drop", "wrap", "list", "text"]))
def test_a_missing_a_wrapped_and_a_listed_argument_are_not_covered(name: str, how: str) -> None:
    arguments: dict[str, Any] = copy.deepcopy(BASE)
    value = arguments.pop(name)
    if how != "drop":
        arguments[name] = {"wrap": {name: value}, "list": [value], "text": repr(value) + " "}[how]
    scope = scope_with(uses=1, each=1, total=1)
    assert not scope.matches(call_of(arguments))
    assert scope.matches(call_of({**BASE, "amount": "9", "another": "argument"}))
    for other in ({"agent": "shop2"}, {"tool": "pay2"}, {"tool": "Pay"}, {"agent": ""}):
        assert not scope.matches(call_of(BASE, **other))


@requirement("S-26")
@given(st.dictionaries(st.text(max_size=4), st.integers(0, 3), max_size=3), st.text(max_size=4), st.integers(0, 3))
def test_where_the_rule_names_nothing_everything_must_stay(arguments: dict[str, int], name: str, value: int) -> None:
    bare, call = Tool(name="pay"), call_of(dict(arguments))
    scope = replace(
        scope_with(uses=1, each=1, total=1), same=kept(call, same_paths(replace(TERMS, same=()), bare), bare.sensitive)
    )
    changed = {**arguments, name: value}
    assert scope.matches(call)
    assert scope.matches(call_of(changed)) == (changed == arguments)


@requirement("S-26")
@given(
    st.integers(-1, 8),
    st.integers(-1, 600),
    st.integers(-1, 1_300),
    st.integers(-60, 10_000),
    st.sampled_from(["CNY", "USD", "EUR"]),
)
@example(6, 500, 1_200, 7_200, "CNY")
@example(6, 501, 1_200, 7_200, "CNY")
@example(6, 500, 1_201, 7_200, "CNY")
@example(7, 500, 1_200, 7_200, "CNY")
@example(6, 500, 1_200, 7_201, "CNY")
@settings(max_examples=examples(300), deadline=None)
def test_only_what_is_within_the_rules_terms_can_be_made(
    uses: int, each: int, total: int, seconds: int, currency: str
) -> None:
    until = START + timedelta(seconds=seconds)
    scope = replace(
        scope_with(uses=uses, each=1, total=1),
        each={currency: cents(each)},
        total={currency: cents(total)},
        until=until,
    )
    most = {"CNY": (500, 1_200), "USD": (150, 200)}.get(currency, (0, 0))
    within = 0 < uses <= 6 and 0 < seconds <= 7_200 and 0 < each <= most[0] and each <= total <= most[1]
    assert (scope.beyond(TERMS, TOOL, made_at=START) is None) == within
    assert StandingScope.read(scope.written()).written() == scope.written()


# --- a run of calls ---------------------------------------------------------------------------------------------------


@dataclass
class _Oracle:
    """What may be, in whole cents and seconds."""

    uses: int
    each: int
    total: int
    revoked: bool = False
    used: int = 0
    spent: int = 0

    def allows(self, amounts: list[int], second: int) -> bool:
        if self.revoked or second >= 3_600 or self.used >= self.uses or max(amounts) > self.each:
            return False
        if self.spent + sum(amounts) > self.total:
            return False
        self.used += 1
        self.spent += sum(amounts)
        return True


class StandingRun(RuleBasedStateMachine):
    """One standing approval, its counters kept as `permit_before` keeps them, against the oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.second = 0
        self.spent: dict[str, Decimal] = {}
        self.let_through: list[int] = []

    @initialize(uses=st.integers(1, 4), each=st.integers(1, 400), total=st.integers(1, 1_000))
    def make(self, uses: int, each: int, total: int) -> None:
        total = max(each, total)
        self.oracle = _Oracle(uses=uses, each=each, total=total)
        self.scope = scope_with(uses=uses, each=each, total=total)
        self.permit = Permit(
            id="sta_1",
            kind=PermitKind.STANDING,
            status=PermitStatus.ACTIVE,
            scope=self.scope.written(),
            digest="",
            reason="",
            proposed_by="ann",
            proposed_at=START,
            confirmed_by="ben",
            confirmed_at=START,
            expires_at=self.scope.until,
        )

    def allowed(self, payments: list[Payment]) -> bool:
        """Decide as the gateway does, and count."""
        now = START + timedelta(seconds=self.second)
        scope = StandingScope.read(self.permit.scope)
        if not self.permit.in_force(now) or not scope.leaves_room(payments, used=self.permit.used, spent=self.spent):
            return False
        self.permit = replace(self.permit, used=self.permit.used + 1, last_used_at=now)
        for payment in payments:
            self.spent[payment.currency] = self.spent.get(payment.currency, Decimal(0)) + payment.amount
        return True

    @rule(amounts=st.lists(st.integers(1, 450), min_size=1, max_size=3))
    def call(self, amounts: list[int]) -> None:
        said = self.allowed(paying(*amounts))
        assert said == self.oracle.allows(amounts, self.second)
        if said:
            self.let_through.extend(amounts)

    @rule(over=st.integers(0, 1))
    def call_at_the_very_bound(self, over: int) -> None:
        amount = min(self.oracle.each, self.oracle.total - self.oracle.spent) + over
        if amount > 0:
            self.call([amount])

    @rule(amount=st.integers(1, 10))
    def call_in_another_currency(self, amount: int) -> None:
        assert not self.allowed(paying(amount, currency="USD"))
        assert not self.allowed([*paying(amount), *paying(amount, currency="USD")])

    @rule(seconds=st.sampled_from([1, 600, 1_799, 1_800]))
    def wait(self, seconds: int) -> None:
        self.second += seconds

    @precondition(lambda self: self.let_through)
    @rule()
    def revoke(self) -> None:
        self.oracle.revoked = True
        self.permit = replace(self.permit, status=PermitStatus.REVOKED, revoked_by="ann", revoked_at=START)

    @invariant()
    def nothing_is_ever_beyond_what_was_spelled_out(self) -> None:
        if hasattr(self, "oracle"):
            assert sum(self.let_through) <= self.oracle.total
            assert max(self.let_through, default=0) <= self.oracle.each
            assert self.permit.used <= self.oracle.uses


TestStandingRun = requirement("S-26")(StandingRun.TestCase)
StandingRun.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=20, deadline=None)


# --- the gateway itself -----------------------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org whose rules permit standing approvals."""
    return write_standing(tmp_path)


@requirement("S-26")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.heavy
async def test_a_run_of_calls_clocks_and_revocations_is_answered_as_the_oracle_says(
    gateway: Gateway, seed: int
) -> None:
    chance = random.Random(seed)
    base = await approved(gateway)
    oracle = _Oracle(uses=0, each=0, total=0)
    made: dict[str, Any] = {}
    began = gateway.clock.now()
    for _ in range(45):
        act = chance.choice(["pay"] * 6 + ["other", "wait", "revoke", "anew"])
        if not made or (act == "anew" and not _holds(oracle, gateway, began)):
            oracle = _Oracle(uses=chance.randint(1, 5), each=(each := chance.randint(1, 500)), total=each)
            oracle.total = chance.randint(each, 2_000)
            limits = {"each": {"CNY": f"{oracle.each}"}, "total": {"CNY": f"{oracle.total}"}}
            made, began = (
                await standing(gateway, base, uses=oracle.uses, lasts_seconds=3_600, **limits),
                gateway.clock.now(),
            )
        elif act == "wait":
            await gateway.advance(timedelta(seconds=chance.choice([60, 1_800, 3_599, 3_600])))
        elif act == "revoke":
            assert (await gateway.call("DELETE", f"/v1/standing-approvals/{made['id']}", who=ALICE)).status_code == 200
            oracle.revoked = True
        elif act == "other":
            changed = chance.choice([{"payee": "Acme"}, {"account": "DE03"}, {"currency": "USD"}, {"account": None}])
            assert (await submit(gateway, arguments={**PAY, "amount": "1", **changed}))["decision"] == "ask"
        else:
            left = oracle.total - oracle.spent
            amount = max(1, chance.choice([chance.randint(1, 600), oracle.each, oracle.each + 1, left, left + 1]))
            second = int((gateway.clock.now() - began).total_seconds())
            expected = "allow" if oracle.allows([amount], second) else "ask"
            assert (await submit(gateway, arguments={**PAY, "amount": f"{amount}"}))["decision"] == expected
    listed = (await gateway.call("GET", "/v1/standing-approvals", who=ALICE)).json()["items"]
    shown = next(each for each in listed if each["id"] == made["id"])
    assert (shown["used"], shown["spent"].get("CNY", "0")) == (oracle.used, f"{oracle.spent}")


def _holds(oracle: _Oracle, gateway: Gateway, began: datetime) -> bool:
    over = (gateway.clock.now() - began).total_seconds() >= 3_600
    return not (oracle.revoked or over or oracle.used >= oracle.uses)


def test_what_nobody_has_summed_up_is_not_taken_for_nothing() -> None:
    known = Permit(
        id="sta_1", kind=PermitKind.STANDING, status=PermitStatus.ACTIVE, scope={}, digest="", reason="",
        proposed_by="ann", proposed_at=START, expires_at=START, spent={"CNY": Decimal(7)},
    )  # fmt: skip
    assert known.paid == {"CNY": Decimal(7)}
    assert known.used_for([], START).paid == known.paid
    unknown = replace(known, spent=None)
    with pytest.raises(ValueError, match="not looked up"):
        unknown.used_for([], START)
