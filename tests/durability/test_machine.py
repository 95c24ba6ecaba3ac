"""Any story at all, told to the real store on each database and to a model of forty lines: they agree at every step.

Requests are created, voted on through the API and through cards, cancelled, swept, claimed and reported; the clock
moves, clicks are delivered again, the process is restarted. After each step the rows are held against the invariants.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from app.domain.errors import AssentError
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import ExecutionStatus
from app.policies.file.policy_book import PolicyBook
from app.usecases.executing.claim import Caller
from tests.domain.samples import FINANCE, OWNER, REQUESTER
from tests.durability.invariants import faults_seen
from tests.durability.replicas import Replica, channel, write_policy
from tests.fixtures.examples import examples
from tests.requirements import requirement
from tests.storage.rig import ORG, ManualClock, behind, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from app.domain.request.request import ConfirmationRequest

ROOM = channel("pay-slack")
PEOPLE = st.sampled_from([*sorted(FINANCE), OWNER, REQUESTER, "stranger@acme.example"])
CLICKERS = st.sampled_from([*sorted(FINANCE), OWNER, "stranger@acme.example"])
VERDICTS = st.sampled_from([*Verdict])
CLAIMS = st.sampled_from(["c-1", "c-2"])
SPANS = st.sampled_from([timedelta(seconds=1), timedelta(minutes=4), timedelta(minutes=11), timedelta(minutes=29)])
OUTCOMES = st.sampled_from([ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED, ExecutionStatus.UNKNOWN])


@dataclass(slots=True)
class Model:
    """What a request should be: written from the promises, without looking at the machines."""

    real: ConfirmationRequest
    need: int
    state: str = "pending"
    yes: set[str] = field(default_factory=set[str])
    until: datetime | None = None  # the end of the grant, then of the lease
    claim_id: str | None = None

    def over(self, now: datetime) -> bool:
        """Expire if it is time; tell whether it no longer waits."""
        if self.state == "pending" and now >= self.real.expires_at:
            self.state = "expired"
        return self.state != "pending"

    def vote(self, person: str, verdict: Verdict, now: datetime) -> None:
        if self.over(now) or person not in FINANCE:
            return
        if verdict is Verdict.DENY:
            self.state = "denied"
            return
        self.yes.add(person)
        if len(self.yes) == self.need:
            self.state, self.until = "approved", now + timedelta(minutes=10)

    def cancel(self, now: datetime) -> None:
        if not self.over(now):
            self.state = "cancelled"

    def claim(self, claim_id: str, now: datetime) -> bool:
        """Return whether the caller is given the call to run."""
        if self.state == "approved" and self.until is not None:
            self.state = "executing" if now < self.until else "lapsed"
            if self.state == "executing":
                self.claim_id, self.until = claim_id, now + timedelta(minutes=5)
        return self.state == "executing" and self.claim_id == claim_id

    def report(self, claim_id: str, outcome: str) -> None:
        if self.state in {"executing", "unknown"} and self.claim_id == claim_id:
            self.state = outcome

    def sweep(self, now: datetime) -> None:
        self.over(now)
        if self.until is not None and now >= self.until:
            self.state = {"approved": "lapsed", "executing": "unknown"}.get(self.state, self.state)


class Gateway(RuleBasedStateMachine):
    """The real one, beside its model."""

    fresh: Callable[[], AbstractContextManager[str]]
    folder: Path

    requests = Bundle("requests")
    clicks = Bundle("clicks")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.book = PolicyBook(write_policy(self.folder / "machine.yaml"), environ={}, channel_types={})
        self.models: dict[str, Model] = {}
        self.pressed = 0
        self._database = self.fresh()
        self.url = self._database.__enter__()
        self._onlooker = behind(self.url)
        self._looks = self._onlooker.__enter__()
        self._open()

    def _open(self) -> None:
        self.stack = AsyncExitStack()
        store = self._run(self.stack.enter_async_context(open_store(self.url, self.clock)))
        self.gateway = Replica(store, self.book)

    def _run(self, awaitable: Any) -> Any:
        return self.runner.run(_as_coroutine(awaitable))

    @rule(target=requests)
    def create_approved(self) -> str:
        """Begin where claims and lapses begin, which plain luck seldom reaches."""
        request_id = self._create(1)
        self.vote(request_id, "ann@acme.example", Verdict.APPROVE)
        return request_id

    @rule(target=requests, need=st.integers(1, 2))
    def create(self, need: int) -> str:
        return self._create(need)

    def _create(self, need: int) -> str:
        request_id = f"req_{len(self.models)}"
        stages = (Stage(of=("finance",), need=need),)
        real = self._run(self.gateway.open(request_id, stages=stages, channels=("pay-slack", "api")))
        self._run(self.gateway.go_live(request_id, ROOM))
        self.models[request_id] = Model(real=real, need=need)
        return request_id

    @rule(request_id=requests, person=PEOPLE, verdict=VERDICTS)
    def vote(self, request_id: str, person: str, verdict: Verdict) -> None:
        self._run(self.gateway.vote(self.models[request_id].real, person, verdict))
        self.models[request_id].vote(person, verdict, self.clock.now())

    @rule(target=clicks, request_id=requests, person=CLICKERS, verdict=VERDICTS)
    def click(self, request_id: str, person: str, verdict: Verdict) -> tuple[Any, ...]:
        self.pressed += 1
        made = (request_id, ROOM, f"U-{person}", verdict, f"press-{self.pressed}")
        self._run(self.gateway.confirm(ROOM))
        self._run(self.gateway.click(*made))
        if person in {
            *FINANCE,
            OWNER,
        }:  # nobody knows a stranger's account: that click does not get as far as the clock
            self.models[request_id].vote(person, verdict, self.clock.now())
        return (*made, self.clock.now())

    @rule(made=clicks)
    def replay(self, made: tuple[Any, ...]) -> None:
        """The platform delivers a click again, for as long as its signature is accepted."""
        if self.clock.now() - made[-1] <= timedelta(minutes=5) and made[2] != "U-stranger@acme.example":
            self._run(self.gateway.click(*made[:-1]))

    @rule(request_id=requests)
    def cancel(self, request_id: str) -> None:
        self._run(self.gateway.withdraw(self.models[request_id].real))
        self.models[request_id].cancel(self.clock.now())

    @rule(request_id=requests, claim_id=CLAIMS, late=st.booleans())
    def claim(self, request_id: str, claim_id: str, *, late: bool) -> None:
        if late:  # around the very end of a grant, which plain luck seldom hits
            self.clock.advance(timedelta(minutes=10))
        model = self.models[request_id]
        answer = self._run(self.gateway.take(model.real, claim_id))
        assert model.claim(claim_id, self.clock.now()) == (not isinstance(answer, AssentError))

    @rule(request_id=requests, claim_id=CLAIMS, outcome=OUTCOMES)
    def report(self, request_id: str, claim_id: str, outcome: ExecutionStatus) -> None:
        caller = Caller(org=ORG, agent="payer")
        said = self.gateway.report(
            caller, request_id=request_id, claim_id=claim_id, status=outcome, result=None, error=None
        )
        with suppress(AssentError):
            self._run(said)
        self.models[request_id].report(claim_id, outcome.value)

    @rule(span=SPANS)
    def advance(self, span: timedelta) -> None:
        self.clock.advance(span)

    @rule()
    def sweep(self) -> None:
        self._run(self.gateway.sweep())
        for model in self.models.values():
            model.sweep(self.clock.now())

    @rule()
    def restart(self) -> None:
        self._run(self.stack.aclose())
        self._open()

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        for request_id, model in self.models.items():
            real = self._run(self.gateway.read(request_id))
            assert (request_id, real.state.value) == (request_id, model.state)
            approvals = {d.person for d in real.decisions if d.verdict is Verdict.APPROVE}
            assert approvals <= model.yes
            assert approvals == model.yes or model.state == "denied"

    @invariant()
    def the_invariants_hold(self) -> None:
        assert faults_seen(self._looks) == []

    def teardown(self) -> None:
        self._run(self.stack.aclose())
        self.runner.close()
        self._onlooker.__exit__(None, None, None)
        self._database.__exit__(None, None, None)


async def _as_coroutine(awaitable: Any) -> Any:
    return await awaitable


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> type[Gateway]:
    """Return the machine over fresh databases of one kind."""
    if request.param == "postgresql":
        template = request.getfixturevalue("postgres_template")

        def fresh() -> AbstractContextManager[str]:
            return template.lend()

        return type("Gateway", (Gateway,), {"fresh": staticmethod(fresh), "folder": tmp_path})
    source = request.getfixturevalue("sqlite_template")

    @contextmanager
    def copied() -> Iterator[str]:
        path = tmp_path / "machine.db"
        shutil.copyfile(source, path)
        yield f"sqlite:///{path}"
        for left in tmp_path.glob("machine.db*"):
            left.unlink()

    return type("Gateway", (Gateway,), {"fresh": staticmethod(copied), "folder": tmp_path})


SHARES = 4
PROMISES = requirement("S-01", "S-03", "S-09", "S-10", "S-11", "S-17", "S-20", "S-23", "S-24", "S-53", "S-54")


@PROMISES
def test_any_story_agrees_with_the_model(machine: type[Gateway], request: pytest.FixtureRequest) -> None:
    few = "postgresql" in request.node.name  # a database of its own for each story takes its time there
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples(3 if few else 12), stateful_step_count=30)
    )


@PROMISES
@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("share", range(SHARES), ids=lambda share: f"share{share}")
def test_thousands_of_long_stories_agree_with_the_model(machine: type[Gateway], share: int, *, bounded: bool) -> None:
    del share  # each draws stories of its own: they run side by side
    chosen = settings(max_examples=(28 if bounded else 2_000) // SHARES, stateful_step_count=60, derandomize=False)
    run_state_machine_as_test(machine, settings=chosen)
