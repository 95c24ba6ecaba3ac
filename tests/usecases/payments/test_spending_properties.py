"""Any story of payments, told to the gateway on each database and to a page of plain Python: they count the same."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.call.tool import Tool
from app.domain.identity.seals import Seals
from app.domain.lifecycle.execution import claim, lapse, report
from app.domain.lifecycle.lifecycle import DeadlinePassed, Vote, Withdrawn, advance
from app.domain.money.payment import PaymentFields, payments_of
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import ExecutionStatus
from app.domain.rules.policy import Allow, Policy
from app.domain.rules.rule import Asking, Then
from app.domain.rules.spending import Budget, PaymentTerms, Per
from app.policies.file.policy_book import PolicyBook
from app.usecases.asking.opening import Answered, Opening
from app.usecases.asking.quota import Quota
from app.usecases.judging.denied_before import denials_sought
from app.usecases.judging.judge_call import NOTHING_SAID, Judged
from app.usecases.payments.payees import Payees
from assent.hooks.engine.outcome import Outcome
from tests.domain.samples import FINANCE, a_call, a_decision, voters
from tests.durability.replicas import write_policy
from tests.fixtures.examples import examples
from tests.requirements import requirement
from tests.storage.rig import ManualClock, open_store, stepping

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

OWNERS = {"a0": "olga@acme.example", "a1": "olga@acme.example", "a2": None}
PAYEES, ACCOUNTS = ("Acme", "Globex", "Initech"), ("DE01", "DE02")
FIELDS = PaymentFields(amount="items.amount", currency="items.currency", payee="items.payee", account="items.account")
TOOL = Tool(name="payroll", payment=FIELDS)
ASKING = Asking(stages=(Stage(of=("finance",), need=1),), channels=("api",), timeout=timedelta(minutes=30))
NOT_RUN = {"denied", "expired", "cancelled", "lapsed"}
ORGS = itertools.count()


@dataclass(slots=True)
class Row:
    """One payment, as the model remembers it."""

    at: datetime
    whose: dict[str, str]
    currency: str
    amount: Decimal
    request: Asked | None


@dataclass(slots=True)
class Asked:
    """A request, as the model remembers it."""

    id: str
    until: datetime
    state: str = "pending"


@dataclass(slots=True)
class Model:
    """What counts: written from the promise, without looking at the code."""

    budgets: list[Budget]
    rows: list[Row] = field(default_factory=list[Row])
    asked: list[Asked] = field(default_factory=list[Asked])

    def fits(self, new: list[Row], now: datetime) -> bool:
        return all(self._fits(budget, new, now) for budget in self.budgets)

    def _fits(self, budget: Budget, new: list[Row], now: datetime) -> bool:
        columns = ("payee", "account") if budget.per is Per.PAYEE else (budget.per.value,)
        counted = [
            row
            for row in self.rows
            if now - row.at < budget.within and (row.request is None or row.request.state not in NOT_RUN)
        ]
        for column, whose in {(column, row.whose[column]) for column in columns for row in new}:
            ours = [row for row in new if row.whose[column] == whose]
            theirs = [row for row in counted if row.whose[column] == whose]
            if budget.count is not None and len(ours) + len(theirs) > budget.count:
                return False
            for currency in {row.currency for row in ours} if budget.limit is not None else ():
                total = sum(row.amount for row in (*ours, *theirs) if row.currency == currency)
                if total > (budget.limit or {}).get(currency, Decimal(-1)):
                    return False
        return True


ITEMS = st.fixed_dictionaries(
    {
        "payee": st.sampled_from(PAYEES),
        "account": st.sampled_from(ACCOUNTS),
        "amount": st.sampled_from(["0.0001", "1", "2.5", "9.99", "10"]),
        "currency": st.sampled_from(["EUR", "EUR", "EUR", "CNY"]),
    }
)
PAY = st.tuples(st.just("pay"), st.sampled_from([*OWNERS]), st.lists(ITEMS, min_size=1, max_size=3))
MOVE = st.tuples(
    st.sampled_from(["approve", "deny", "cancel", "claim", "failed", "succeeded"]), st.integers(0, 30), st.none()
)
SPANS = [
    timedelta(seconds=1),
    timedelta(minutes=29, seconds=59),
    timedelta(minutes=9),
    timedelta(minutes=11),
    timedelta(minutes=31),
    timedelta(hours=1),
]
PASS = st.tuples(st.just("pass"), st.sampled_from(SPANS), st.none())
LIMITS = st.sampled_from(
    [None, {"EUR": Decimal(10)}, {"EUR": Decimal("12.5"), "CNY": Decimal(10)}, {"CNY": Decimal(3)}]
)
BUDGETS = st.builds(
    Budget,
    id=st.just("b"),
    per=st.sampled_from([*Per]),
    within=st.sampled_from([timedelta(minutes=30), timedelta(hours=1), timedelta(hours=2)]),
    limit=LIMITS,
    count=st.sampled_from([None, 1, 3, 5]),
)
STORIES = st.tuples(
    st.lists(BUDGETS, min_size=1, max_size=3), st.lists(st.one_of(PAY, PAY, MOVE, MOVE, PASS), min_size=2, max_size=30)
)


class Story:
    """One org, whose payments the gateway and the model are told of."""

    def __init__(self, store: Store, policy: Policy, clock: ManualClock, budgets: list[Budget]) -> None:
        self.store = store
        self.clock = clock
        self.org = policy.org
        terms = PaymentTerms(budgets=tuple(budgets), duplicates=timedelta(0))
        attention = dataclasses.replace(policy.attention, cool_down=timedelta(0), remember_denials=timedelta(0))
        self.policy = dataclasses.replace(policy, payments=terms, attention=attention, default=Then.ALLOW, ask=ASKING)
        self.model = Model(budgets)
        self.calls = 0

    async def know_everybody(self) -> None:
        for payee, account in itertools.product(PAYEES, ACCOUNTS):
            await Payees(store=self.store).add(self.org, payee, account=account, by="cli")

    async def tell(self, kind: str, what: Any, items: Any) -> None:
        match kind:
            case "pay":
                await self.pay(what, items)
            case "pass":
                self.clock.advance(what)
                await self.sweep()
            case _:
                of = [each for each in self.model.asked if each.state not in NOT_RUN]
                if of:
                    await self.move(kind, of[what % len(of)])

    async def pay(self, agent: str, items: list[dict[str, str]]) -> None:
        self.calls += 1
        call = a_call(
            org=self.org,
            agent=agent,
            owner=OWNERS[agent],
            session=None,
            tool="payroll",
            arguments={"run": self.calls, "items": items},
        )
        ruling = Allow(rule_id="all", reason="All.", policy_version="p", trace=(), record=True, otherwise=ASKING)
        judged = Judged(
            call=call,
            submitted=call,
            tool=TOOL,
            policy=self.policy,
            ruling=ruling,
            outcome=Outcome(),
            said=NOTHING_SAID,
            scrub=str,
            payments=payments_of(FIELDS, call.arguments),
        )

        place = Quota(most_pending=1_000_000, most_cards=1_000_000).place(agent)

        def unit(tx: Tx) -> Any:
            return Opening(tx, judged, Seals(["a-secret-" * 5]), place, sought=denials_sought(judged)).settle(
                ruling, {}
            )

        now = self.clock.now()
        owner = OWNERS[agent] or f"agent {agent}"
        new = [
            Row(
                at=now,
                whose={
                    "agent": agent,
                    "owner": owner,
                    "org": self.org,
                    "payee": item["payee"],
                    "account": item["account"],
                },
                currency=item["currency"],
                amount=Decimal(item["amount"]),
                request=None,
            )
            for item in items
        ]
        fits = self.model.fits(new, now)
        found = await self.store.write(unit, org=self.org)
        assert isinstance(found, Answered) == fits, (fits, found)
        if not fits:
            asked = Asked(id=found.request.id, until=found.request.expires_at)
            self.model.asked.append(asked)
            for row in new:
                row.request = asked
        self.model.rows += new

    async def move(self, kind: str, asked: Asked) -> None:
        def step(request: ConfirmationRequest, now: datetime) -> Any:
            match kind:
                case "approve" | "deny":
                    person = min(FINANCE)
                    decision = replace(a_decision(person, Verdict(kind), at=now), id=f"dec_{request.id}")
                    evidence = replace(decision.evidence, assurance=request.assurance.of_each)
                    vote = replace(decision, evidence=evidence)
                    return advance(request, Vote(decision=vote, voters=voters(request.stages)), now=now)
                case "cancel":
                    return advance(request, Withdrawn(by="agent:a0", reason=None), now=now)
                case "claim":
                    return claim(request, execution_id=f"exe_{request.id}", claim_id="c", by="agent:a0", now=now)
                case _:
                    status = ExecutionStatus(kind)
                    return report(request, claim_id="c", status=status, result=None, error=None, by="agent:a0", now=now)

        await self.store.write(stepping(asked.id, step), org=self.org)
        after = {"approve": "approved", "deny": "denied", "cancel": "cancelled", "claim": "executing"}.get(kind, kind)
        before = {"claim": "approved", "failed": "executing", "succeeded": "executing"}.get(kind, "pending")
        if asked.state == before:
            asked.state = after
            if after == "approved":
                asked.until = self.clock.now() + ASKING.claim_within

    async def sweep(self) -> None:
        for asked in self.model.asked:
            if asked.state in {"pending", "approved"} and self.clock.now() >= asked.until:

                def step(request: ConfirmationRequest, now: datetime) -> Any:
                    final = request.status.final
                    return lapse(request, now=now) if final else advance(request, DeadlinePassed(), now=now)

                await self.store.write(stepping(asked.id, step), org=self.org)
                asked.state = "expired" if asked.state == "pending" else "lapsed"


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    """Load a file with the people who decide."""
    book = PolicyBook(write_policy(tmp_path / "acme.yaml"), environ={}, channel_types={})
    return book.current("acme").policy


@requirement("S-31")
@pytest.mark.timeout(600)
def test_what_passes_by_itself_is_what_the_model_says(database_url: str, policy: Policy, *, bounded: bool) -> None:
    async def run(budgets: list[Budget], steps: list[tuple[str, Any, Any]]) -> None:
        clock = ManualClock()
        async with open_store(database_url, clock) as store:
            story = Story(store, dataclasses.replace(policy, org=f"org-{next(ORGS)}"), clock, budgets)
            await story.know_everybody()
            half = len(steps) // 2
            for step in steps[:half]:
                await story.tell(*step)
        async with open_store(database_url, clock) as store:  # a restart in between
            story.store = store
            for step in steps[half:]:
                await story.tell(*step)

    @settings(
        max_examples=examples(25 if bounded or not database_url.startswith("sqlite") else 100),
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(STORIES)
    def every(story: tuple[list[Budget], list[tuple[str, Any, Any]]]) -> None:
        asyncio.run(run(*story))

    every()
