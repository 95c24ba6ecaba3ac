"""A request comes back from the database exactly as it was written, at every step of its life."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.call.tool_call import ToolCall
from app.domain.errors import UnavailableError
from app.domain.lifecycle.execution import claim, lapse, report, revoke
from app.domain.lifecycle.lifecycle import Refusal, Vote, VoteWithdrawn, advance
from app.domain.lifecycle.step import Step
from app.domain.people.assurance import Assurance
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.quorum import Electorate, Stage, electorate
from app.domain.request.request import ExecutionStatus, Risk, State
from app.domain.request.timetable import Act, Timer
from app.domain.trail.audit import Kind, Record
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.requests.request_lists import list_requests
from app.storage.requests.requests import find_request
from app.usecases.writing.carry_out import carry_out
from tests.domain.samples import FINANCE, START, a_decision, a_request, vote
from tests.drawn import drawn
from tests.fixtures.examples import examples
from tests.requirements import requirement
from tests.storage.rig import ORG, given_request, opening, stepping

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.store import Store
    from tests.storage.rig import ManualClock

# What the API lets through, which is all but NUL and halves of surrogate pairs.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
MAYBE = st.none() | TEXT
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
SPANS = st.integers(1, 10**15).map(lambda microseconds: timedelta(microseconds=microseconds))
CALLS = drawn(
    ToolCall,
    org=st.just(ORG),
    agent=TEXT,
    session=MAYBE,
    call_id=MAYBE,
    tool=TEXT,
    arguments=st.dictionaries(TEXT, JSON, max_size=4),
    requester=MAYBE,
    owner=MAYBE,
    claim=MAYBE,
)
NUMBER = count()


STAGES = drawn(
    Stage,
    of=st.lists(TEXT, max_size=3).map(tuple),
    need=st.integers(1, 2),
    joined=st.booleans(),
    denials=st.integers(1, 2),
    allow_requester=st.booleans(),
    allow_owner=st.booleans(),
    allow_editor=st.booleans(),
    open_to=st.lists(TEXT, max_size=2).map(tuple),
    added_by=MAYBE,
)
INSTANTS = SPANS.map(lambda span: START + span)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
TIMERS = drawn(Timer, at=INSTANTS, act=st.sampled_from(Act), to=NAMES, channels=NAMES)
HANDOVERS = drawn(HandOver, by=TEXT, to=TEXT, at=INSTANTS, note=MAYBE)
QUESTIONS = drawn(
    Question,
    id=TEXT,
    by=TEXT,
    text=TEXT,
    at=INSTANTS,
    answer=MAYBE,
    answered_by=MAYBE,
    answered_at=st.none() | INSTANTS,
)


def _some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


ASIDES = st.fixed_dictionaries(
    {
        "timers": _some(TIMERS),
        "reminded_at": st.none() | INSTANTS,
        "extensions": st.integers(0, 3),
        "handovers": _some(HANDOVERS),
        "questions": _some(QUESTIONS),
        "proposed": st.none() | st.dictionaries(TEXT, JSON, max_size=3),
        "edited_by": MAYBE,
        "only_lowered": st.booleans(),
        "risk": st.sampled_from(Risk),
        "fallback": NAMES,
    }
)


@st.composite
def requests(draw: st.DrawFn) -> ConfirmationRequest:
    number, call = next(NUMBER), draw(CALLS)
    if call.session is not None:  # the same call of the same session would stand on the earlier request
        call = replace(call, session=f"{number}{call.session}")
    request = a_request(f"req_{number}", call=call)
    return replace(
        request,
        title=draw(TEXT),
        why=draw(TEXT),
        rule_id=draw(MAYBE),
        pinned=tuple(draw(st.lists(TEXT, max_size=3))),
        sensitive=tuple(draw(st.lists(TEXT, max_size=3))),
        stages=(draw(STAGES),),
        channels=tuple(draw(st.lists(TEXT, min_size=1, max_size=3, unique=True))),
        claim_within=draw(SPANS),
        lease=draw(SPANS),
        expires_at=START + draw(SPANS),
        **draw(ASIDES),
    )


EVIDENCE = drawn(
    Evidence,
    channel=TEXT,
    account_id=TEXT,
    tenant=TEXT,
    app_id=TEXT,
    chat_id=TEXT,
    message_id=TEXT,
    card_revision=st.integers(0, 9),
    assurance=st.sampled_from([Assurance.L1, Assurance.L2, Assurance.L3]),
)


async def stands(store: Store, request: ConfirmationRequest) -> ConfirmationRequest | None:
    return await store.read(lambda tx: find_request(tx, request.id), org=ORG)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request=requests(), evidence=EVIDENCE, reason=TEXT, result=JSON)
async def test_every_stage_of_a_life_is_read_back_as_it_was(
    store: Store, request: ConfirmationRequest, evidence: Evidence, reason: str, result: Any
) -> None:
    """Open, vote (up to the quorum), claim, report: what is read is what the machine made, to the microsecond."""
    await store.write(opening(request), org=ORG, about=request.id)
    assert await stands(store, request) == request
    for index in range(request.stages[0].need):
        decision = Decision(
            id=f"dec_{request.id}_{index}",
            person=f"p{index}",
            verdict=Verdict.APPROVE,
            reason=reason,
            at=START + timedelta(microseconds=index),
            evidence=evidence,
        )
        event = Vote(decision=decision, voters=Electorate(stages=(frozenset({"p0", "p1"}),), barred=frozenset()))
        await store.write(
            stepping(request.id, lambda r, now, event=event: advance(r, event, now=now)), org=ORG, about=request.id
        )
    approved = await stands(store, request)
    assert approved is not None
    assert approved.grant is not None
    assert approved.decisions[-1].evidence == evidence
    assert replace(approved, grant=None, decisions=(), settlement=None, status=request.status, version=1) == request
    for step in (
        lambda r, now: claim(r, execution_id=f"exe_{r.id}", claim_id=reason, by="agent:a", now=now),
        lambda r, now: report(
            r, claim_id=reason, status=ExecutionStatus.FAILED, result=repr(result), error=reason, by="a", now=now
        ),
    ):
        made = await store.write(stepping(request.id, step), org=ORG, about=request.id)
        assert made.refusal is None
        assert await stands(store, request) == made.request


CHANGES: dict[str, Any] = {
    "arguments": {"payee": "Globex", "amount": 70000},
    "digest": "f" * 64,
    "expires_at": START + timedelta(hours=2),
    "stages": (Stage(of=("finance", "legal"), need=2, added_by="ann@acme.example"),),
    "timers": (Timer(at=START, act=Act.ESCALATE, to=("legal",), channels=("pay",)),),
    "reminded_at": START,
    "handovers": (HandOver(by="ann@acme.example", to="bob@acme.example", at=START),),
    "questions": (Question(id="q_1", by="ann@acme.example", text="Why?", at=START),),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_whatever_people_change_while_it_waits_is_read_back(store: Store, name: str) -> None:
    """Each alone: a change that is not recognised as one would be lost in silence."""
    request = await given_request(store)

    def changed(before: ConfirmationRequest, _: Any) -> Step:
        after = replace(before, version=before.version + 1)
        if name == "arguments":  # never without a digest of their own; what else an edit takes over goes with it
            after = replace(
                after,
                call=replace(after.call, arguments=CHANGES[name]),
                digest="e" * 64,
                claim_within=timedelta(minutes=3),
                lease=timedelta(minutes=4),
                fallback=("pay-slack",),
                pinned=("payee",),
                sensitive=("payee.account",),
                risk=Risk.HIGH,
            )
        else:
            after = replace(after, **{name: CHANGES[name]})
        return Step(request=after, record=Record(kind=Kind.EDITED, actor="ann@acme.example", facts={}))

    made = await store.write(stepping(request.id, changed), org=ORG, about=request.id)
    assert made.request != request
    assert await stands(store, request) == made.request


async def test_a_lapsed_grant_is_read_back(store: Store, clock: ManualClock) -> None:
    request = await given_request(store)
    approving = vote(request, "ann@acme.example")
    await store.write(stepping("req_1", lambda r, now: advance(r, approving, now=now)), org=ORG, about="req_1")
    clock.advance(timedelta(minutes=10))
    step = await store.write(stepping("req_1", lambda r, now: lapse(r, now=now)), org=ORG, about="req_1")
    assert step.request.state is State.LAPSED
    assert await stands(store, request) == step.request


async def test_a_denial_replaces_that_persons_approval(store: Store) -> None:
    request = await given_request(store, stages=(Stage(of=("finance",), need=2),))
    for verdict in Verdict:
        event = vote(request, "ann@acme.example", verdict)
        await store.write(
            stepping("req_1", lambda r, now, event=event: advance(r, event, now=now)), org=ORG, about="req_1"
        )
    after = await stands(store, request)
    assert after is not None
    assert [(d.person, d.verdict) for d in after.decisions] == [("ann@acme.example", Verdict.DENY)]


async def test_a_withdrawn_vote_is_gone_and_a_vote_for_somebody_away_keeps_both_names(store: Store) -> None:
    request = await given_request(store, stages=(Stage(of=("finance",), need=2),))
    acting = {("dan@acme.example", "bob@acme.example"): frozenset({0})}
    voters = electorate(request.stages, [FINANCE], (), acting=acting)
    for_bob = replace(a_decision("dan@acme.example"), on_behalf_of="bob@acme.example")
    events = [
        vote(request, "ann@acme.example"),
        VoteWithdrawn(person="ann@acme.example", evidence=Evidence(channel="api")),
        Vote(decision=for_bob, voters=voters),
    ]
    for event in events:
        made = await store.write(
            stepping("req_1", lambda r, now, event=event: advance(r, event, now=now)), org=ORG, about="req_1"
        )
        assert made.refusal is None
        assert await stands(store, request) == made.request
    after = await stands(store, request)
    assert after is not None
    assert [(d.person, d.on_behalf_of) for d in after.decisions] == [("dan@acme.example", "bob@acme.example")]


async def test_a_grant_that_was_taken_back_is_read_back_with_the_reason(store: Store) -> None:
    request = await given_request(store)
    approving = vote(request, "ann@acme.example")
    await store.write(stepping("req_1", lambda r, now: advance(r, approving, now=now)), org=ORG, about="req_1")
    taken = await store.write(
        stepping("req_1", lambda r, now: revoke(r, why="Ann left", lost={"ann@acme.example"}, now=now)),
        org=ORG,
        about="req_1",
    )
    assert (taken.request.state, taken.request.revoked_why) == (State.LAPSED, "Ann left")
    assert await stands(store, request) == taken.request


async def test_a_save_that_was_decided_on_an_older_version_never_lands(store: Store) -> None:
    """The unit insists on what it once read: it is run again until its caller is told to try later."""
    stale = await given_request(store)
    first = advance(stale, vote(stale, "ann@acme.example"), now=START)
    second = advance(stale, vote(stale, "bob@acme.example", Verdict.DENY), now=START)
    approved = await store.write(lambda tx: carry_out(tx, stale, first), org=ORG, about="req_1")
    with pytest.raises(UnavailableError):
        await store.write(lambda tx: carry_out(tx, stale, second), org=ORG, about="req_1")
    assert await stands(store, stale) == approved


async def test_a_unit_that_lost_decides_anew_on_what_is_now_so(store: Store) -> None:
    stale = await given_request(store)
    denying = vote(stale, "bob@acme.example", Verdict.DENY)
    first = advance(stale, vote(stale, "ann@acme.example"), now=START)
    await store.write(lambda tx: carry_out(tx, stale, first) and None, org=ORG, about="req_1")
    read: list[ConfirmationRequest] = []

    def unit(tx: Tx) -> Refusal | None:
        found = find_request(tx, "req_1") if read else stale
        assert found is not None
        read.append(found)
        step = advance(found, denying, now=START)
        carry_out(tx, found, step)
        return step.refusal

    assert await store.write(unit, org=ORG, about="req_1") is Refusal.SETTLED
    assert [request.version for request in read] == [1, 2]


@requirement("S-03")
async def test_a_grant_moves_once(store: Store) -> None:
    request = await given_request(store)
    approving = advance(request, vote(request, "ann@acme.example"), now=START)
    current = await store.write(lambda tx: carry_out(tx, request, approving), org=ORG, about="req_1")
    one = claim(current, execution_id="exe_1", claim_id="c-1", by="agent:payer", now=START)
    two = claim(current, execution_id="exe_2", claim_id="c-2", by="agent:payer", now=START)
    after = await store.write(lambda tx: carry_out(tx, current, one), org=ORG, about="req_1")
    with pytest.raises(UnavailableError):
        await store.write(lambda tx: carry_out(tx, current, two), org=ORG, about="req_1")
    assert await stands(store, request) == after


@requirement("S-14")
async def test_another_orgs_request_is_not_there(store: Store) -> None:
    request = await given_request(store)
    assert await store.read(lambda tx: find_request(tx, request.id), org="beta") is None
    assert await store.read(lambda tx: list_requests(tx, filters={}, before=(2**62, ""), most=9), org="beta") == []


async def test_a_page_goes_on_where_the_last_one_ended(store: Store) -> None:
    for index in range(5):
        await given_request(store, f"req_{index}", now=START + timedelta(seconds=index // 2))
    seen: list[str] = []
    before = (2**62, "")
    while page := await store.read(
        lambda tx, at=before: list_requests(tx, filters={"agent": "payer"}, flags={"open"}, before=at, most=2), org=ORG
    ):
        seen += [request.id for request in page]
        before = (int(page[-1].created_at.timestamp() * 1_000_000), page[-1].id)
    assert sorted(seen) == [f"req_{index}" for index in range(5)]
    assert seen[0] == "req_4"


async def test_a_page_is_read_in_two_statements_however_long_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And goes on behind any place in it: many are asked in one instant."""
    made = sorted([(await given_request(store, f"req_{number}")).id for number in range(33)])
    asked: list[Statement] = []
    plain = Tx.all

    def counted(tx: Tx, statement: Statement, **named: object) -> list[Row]:
        asked.append(statement)
        return plain(tx, statement, **named)

    async def page(before: tuple[int, str]) -> list[str]:
        found = await store.read(lambda tx: list_requests(tx, filters={}, before=before, most=40), org=ORG)
        return [each.id for each in found]

    monkeypatch.setattr(Tx, "all", counted)
    read = await page((2**62, ""))
    assert len(asked) == 2
    assert read == made[::-1]
    assert await page((to_us(START), read[20])) == read[21:]
