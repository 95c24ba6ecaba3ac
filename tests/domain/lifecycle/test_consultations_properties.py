"""What no order of votes and asides can do: approve without a distinct, entitled, unbarred person for every place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations
from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.lifecycle.lifecycle import Vote, VoteWithdrawn, advance
from app.domain.people.people import Away, Directory, Person, email_key
from app.domain.request.action import Action
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.quorum import Stage, count
from app.domain.request.request import Status
from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.usecases.voters.electorate import acts_for, may_take, voters_of
from tests.domain.lifecycle.people_then import wished
from tests.domain.samples import START, a_call, a_decision, a_request
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.lifecycle.step import Step
    from app.domain.request.quorum import Electorate
    from app.domain.request.request import ConfirmationRequest

NAMES = ("ann", "bob", "cho", "dan", "eve", "olga", "rex")
PEOPLE = [f"{name}@acme.example" for name in NAMES]
ANN, BOB, CHO, DAN, EVE, OWNER, REQUESTER = PEOPLE
TODAY = date(2026, 3, 1)
GROUPS = [
    {"finance": {ANN, BOB, CHO, OWNER, REQUESTER}, "legal": {CHO, DAN}, "board": {EVE}},
    {"finance": {ANN, BOB}, "legal": {CHO, DAN, REQUESTER}, "board": {OWNER}},
    {"finance": {BOB, CHO, DAN}, "legal": {ANN}, "board": {EVE, ANN}},
]
STAGES = [
    (Stage(of=("finance",), need=1, open_to=("board",)),),
    (Stage(of=("finance",), need=2, open_to=("board",)),),
    (Stage(of=("finance",), need=1, open_to=(EVE,)), Stage(of=("legal",), need=1, joined=True)),
    (Stage(of=("finance",), need=1, denials=2), Stage(of=("legal",), need=1, open_to=("finance",))),
]
who = st.sampled_from([*PEOPLE, "stranger@acme.example"])
MOVES = st.one_of(
    st.tuples(st.just("vote"), who, st.sampled_from([Verdict.APPROVE, Verdict.APPROVE, Verdict.DENY])),
    st.tuples(st.just("take back"), who),
    st.tuples(st.just("hand over"), who, who),
    st.tuples(st.just("hand over"), who, who),
    st.tuples(st.just("add"), who, who),
    st.tuples(st.just("ask"), who),
    st.tuples(st.just("answer"), who),
    st.tuples(st.just("remind"), who),
    st.tuples(st.just("file"), st.integers(0, len(GROUPS) - 1)),
)


def a_policy(groups: dict[str, set[str]], *, away: bool) -> Policy:
    """Return a file in which Cho is away, Dan acts for her, and Bob may approve nothing."""
    out = (Away(first=TODAY, last=TODAY, to=DAN),) if away else ()
    people = {
        email: Person(
            email=email,
            name=email,
            away=out if email == CHO else (),
            limits={"CNY": Decimal(1)} if email == BOB else None,
        )
        for email in PEOPLE
    }
    named = {name: frozenset(members) for name, members in groups.items()}
    return Policy(org="acme", version="p1", default=Then.DENY, directory=Directory(people=people, groups=named))


@dataclass(frozen=True)
class ByFile:
    """Who may what by the file alone: nobody's account is looked at."""

    request: ConfirmationRequest
    policy: Policy
    now: datetime

    def voters(self) -> Electorate:
        return self.after(self.request)

    def after(self, changed: ConfirmationRequest, /) -> Electorate:
        return voters_of(changed, self.policy, now=self.now)

    def may_take(self, stage: Stage, /) -> frozenset[str]:
        return may_take(stage, self.policy)


def move(request: ConfirmationRequest, what: tuple[object, ...], policy: Policy, now: datetime) -> Step | None:
    voters = voters_of(request, policy, now=now)
    match what:
        case ("vote", str(person), Verdict() as verdict):
            mine = replace(a_decision(person, verdict, at=now), on_behalf_of=acts_for(person, request, voters))
            return advance(request, Vote(decision=mine, voters=voters), now=now)
        case ("take back", str(person)):
            return advance(request, VoteWithdrawn(person=person, evidence=Evidence(channel="api")), now=now)
        case ("hand over", str(by), str(to)):
            wish = wished(Action.HAND_OVER, by, ByFile(request, policy, now), whom=to)
        case ("add", str(by), str(person)):
            wish = wished(Action.ADD, by, ByFile(request, policy, now), whom=person)
        case ("ask", str(by)):
            wish = wished(Action.ASK, by, ByFile(request, policy, now), text="?")
        case ("answer", str(by)):
            wish = wished(Action.ANSWER, by, ByFile(request, policy, now), text="!")
        case ("remind", str(by)):
            wish = wished(Action.REMIND, by, ByFile(request, policy, now))
        case _:
            return None
    return advance(request, wish, now=now)


def seated(request: ConfirmationRequest, policy: Policy) -> bool:
    """Say, by trying every order, whether distinct people who may and who agreed fill every place.

    Written without the code under test: who is in a group, who was handed whose place, who acts for whom.
    """
    agreed = [each for each in request.decisions if each.verdict is Verdict.APPROVE]
    places = [index for index, stage in enumerate(request.stages) for _ in range(stage.need)]
    return len(agreed) >= len(places) and any(
        all(
            _may(person.person, person.on_behalf_of, request, request.stages[place], policy) for person, place in zipped
        )
        for zipped in (list(zip(order, places, strict=True)) for order in permutations(agreed, len(places)))
    )


def _may(person: str, absent: str | None, request: ConfirmationRequest, stage: Stage, policy: Policy) -> bool:
    if {email_key(person), email_key(absent or person)} & {OWNER, REQUESTER} or BOB in {person, absent}:
        return False  # the requester, the owner, and whoever has a limit that this call is above
    members = _members(stage.of, policy)
    holder = absent or person
    if absent is not None and (person, absent) != (DAN, CHO):
        return False
    if holder in members and all(over.by != holder for over in request.handovers):
        return True
    # A place that was handed on, from somebody of the stage, along the chain, to one who may take it.
    takers = members | _members(stage.open_to, policy)
    return holder in takers and any(over.to == holder for over in request.handovers)


def _members(names: Sequence[str], policy: Policy) -> set[str]:
    found = set[str]()
    for name in names:
        found |= {name} if "@" in name else set(policy.directory.groups.get(name, frozenset()))
    return found & set(PEOPLE)


@requirement("S-09", "S-23", "S-24", "S-27")
@given(
    stages=st.sampled_from(STAGES),
    start=st.integers(0, len(GROUPS) - 1),
    away=st.booleans(),
    story=st.lists(st.tuples(MOVES, st.integers(0, 400)), max_size=18),
)
@example(
    stages=STAGES[1],
    start=0,
    away=False,
    story=[(("hand over", ANN, EVE), 1), (("vote", EVE, Verdict.APPROVE), 1), (("vote", CHO, Verdict.APPROVE), 1)],
)
@example(  # the file no longer lets Eve take the place, which Ann still has
    stages=STAGES[0],
    start=0,
    away=False,
    story=[(("hand over", ANN, EVE), 1), (("file", 1), 1), (("vote", EVE, Verdict.APPROVE), 1)],
)
def test_no_story_approves_without_a_distinct_entitled_person_for_every_place(
    stages: tuple[Stage, ...], start: int, *, away: bool, story: list[tuple[tuple[object, ...], int]]
) -> None:
    policy = a_policy(GROUPS[start], away=away)
    now = START
    request = a_request(
        stages=stages, call=a_call(owner=OWNER, requester=REQUESTER), expires_at=START + timedelta(hours=1)
    )
    for what, seconds in story:
        now += timedelta(seconds=seconds)
        if what[0] == "file":
            policy = a_policy(GROUPS[int(str(what[1]))], away=away)
            continue
        step = move(request, what, policy, now)
        assert step is not None
        after = step.request
        assert after.version == request.version + (after != request)  # each change is one version ...
        assert (step.record is not None) == (after.version != request.version)  # ... with one event
        if request.status.final:
            assert after == request
        if after.status is Status.APPROVED and request.status is Status.PENDING:
            assert what[0] == "vote"
            assert seated(after, policy)
        if after.status is Status.APPROVED:
            voters = voters_of(after, policy, now=now)
            standing = count(after.stages, after.decisions, voters).met
            assert not standing or seated(after, policy)  # what the claim would count, by the file of now
        request = after
