"""Whatever people change, approve and deny in whatever order: what runs is what those who count have seen.

A run of acts on one request, with the real rules, electorate and state machine; only the store is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import BaseModel

from app.domain.call.tool import check_arguments
from app.domain.call.tool_call import ToolCall, binding_digest, call_digest
from app.domain.card.editing import builds_on
from app.domain.identity.seals import Seals
from app.domain.lifecycle.consultations import Edited
from app.domain.lifecycle.execution import issue
from app.domain.lifecycle.lifecycle import Vote, advance
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.request import ConfirmationRequest, State
from app.domain.rules.policy import Ask, Deny, Policy, judge
from app.domain.text.canonical import canonical
from app.policies.file.policy_file import load_policy
from app.usecases.deciding.edited_request import as_edited
from app.usecases.judging.judge_call import NOTHING_SAID, Judged
from app.usecases.voters.electorate import acts_for, voters_of
from assent.hooks.engine.outcome import Outcome
from tests.domain.samples import START
from tests.fixtures.examples import examples
from tests.fixtures.specs import a_spec
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.lifecycle.step import Step

FILE = """
org: acme
default: deny
people:
  ann@x.example: {}
  ben@x.example: {limit: {CNY: 500}}
  cho@x.example: {}
  dan@x.example: {}
  rex@x.example: {}
groups:
  finance: [ann@x.example, ben@x.example, cho@x.example, rex@x.example]
  legal: [dan@x.example, ann@x.example]
channels: {desk: {type: paper}, till: {type: paper}}
tools:
  pay: {title: "Pay {payee}", pin: [payee, amount], money: [amount], sensitive: [account]}
rules:
  - {id: never, tools: [pay], when: 'args.payee == "Evil"', then: deny}
  - {id: tiny, tools: [pay], when: args.amount < 10, then: allow}
  - {id: large, tools: [pay], when: args.amount > 400, then: ask, stages: [{of: [finance], need: 2}, {of: [legal]}],
     channels: [till]}
  - {id: usual, tools: [pay], then: ask, stages: [{of: [finance]}], channels: [desk]}
"""
SEALS = Seals(["a-master-secret-of-the-tests-0123456789"])
PEOPLE = (
    *("ann@x.example", "cho@x.example") * 3,
    *("ben@x.example", "dan@x.example") * 2,
    "rex@x.example",
    "eve@x.example",
)
AMOUNTS = st.sampled_from([50, 300, 401, 900])
_CHANGES = st.sampled_from(
    [
        *({"amount": amount} for amount in (5, 50, 300, 900)),
        *({"payee": payee} for payee in ("Acme", "Beta", "Evil")),
        *({"memo": memo} for memo in ("", "x")),
        {"payee": "Beta", "amount": 50},
    ]
)


class _Paper(BaseModel):
    pass


POLICY: Policy = load_policy(FILE, environ={}, channel_types={"paper": a_spec("paper", _Paper)}).policy


def opened(arguments: dict[str, Any]) -> ConfirmationRequest | None:
    """Return the request for a call, or None where the rules ask nobody."""
    call = ToolCall(
        org="acme",
        agent="shop",
        session="s",
        call_id=None,
        tool="pay",
        arguments=arguments,
        requester="rex@x.example",
        owner=None,
        claim=None,
    )
    ruling = judge(POLICY, call, now=START)
    if not isinstance(ruling, Ask):
        return None
    expires_at = START + timedelta(hours=1)
    digest = binding_digest(call, request_id="req_1", nonce="n_1", policy_version=POLICY.version, expires_at=expires_at)
    return ConfirmationRequest(
        id="req_1",
        call=call,
        call_digest=call_digest(call),
        digest=digest,
        nonce="n_1",
        code="AAAA-AAAA",
        title="",
        pinned=("payee", "amount"),
        sensitive=("account",),
        rule_id=ruling.rule_id,
        policy_version=POLICY.version,
        why="",
        stages=ruling.asking.stages,
        channels=ruling.asking.channels,
        claim_within=timedelta(minutes=10),
        lease=timedelta(minutes=5),
        created_at=START,
        expires_at=expires_at,
    )


@dataclass(slots=True)
class World:
    """One request, and what everybody has seen of it."""

    request: ConfirmationRequest
    seen: dict[str, bytes] = field(default_factory=dict[str, bytes])  # digest → the arguments that a card showed
    given: dict[str, str] = field(default_factory=dict[str, str])  # who approved → the digest that they approved
    authors: dict[str, str] = field(default_factory=dict[str, str])  # argument → who made it what it is

    def show(self) -> None:
        assert self.request.digest not in self.seen or self.seen[self.request.digest] == self.arguments
        self.seen[self.request.digest] = self.arguments

    @property
    def arguments(self) -> bytes:
        return canonical(dict(self.request.call.arguments))

    def edit(self, by: str, changes: dict[str, Any]) -> None:
        request = self.request
        wanted = {**request.call.arguments, **changes}
        tool = POLICY.tools["pay"]
        call = replace(request.call, arguments=check_arguments(tool, wanted))
        ruling = judge(POLICY, call, now=START)
        same = canonical(wanted) == self.arguments
        if same or isinstance(ruling, Deny) or (request.edited_by != by and builds_on(request, call.arguments)):
            return
        judged = Judged(
            call=call,
            submitted=call,
            tool=tool,
            policy=POLICY,
            ruling=ruling,
            outcome=Outcome(),
            said=NOTHING_SAID,
            scrub=str,
        )
        edited = as_edited(request, judged, by=by, seals=SEALS, now=START)
        step = advance(
            request,
            Edited(
                by=by,
                changed=edited.request,
                voters=voters_of(replace(request, edited_by=None), POLICY, now=START),
                after=voters_of(edited.request, POLICY, now=START),
                facts=edited.facts,
            ),
            now=START,
        )
        if step.refusal is not None:
            return
        assert step.request.digest not in self.seen
        before, after = request.call.arguments, step.request.call.arguments
        for name in after:
            if before.get(name) != after[name]:
                self.authors[name] = by
        self.given = {}
        self.take(step)
        self.vote(by, Verdict.APPROVE, self.request.digest)

    def vote(self, by: str, verdict: Verdict, digest: str) -> None:
        if digest != self.request.digest:
            return  # an old card's token, an old digest at the API
        voters = voters_of(self.request, POLICY, now=START)
        decision = Decision(
            id="d",
            person=by,
            verdict=verdict,
            reason=None,
            at=START,
            evidence=Evidence(channel="api"),
            on_behalf_of=acts_for(by, self.request, voters),
        )
        step = advance(self.request, Vote(decision=decision, voters=voters), now=START)
        if step.refusal is None and verdict is Verdict.APPROVE:
            self.given[by] = digest
        self.take(step)

    def take(self, step: Step) -> None:
        self.request = step.request
        self.show()


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["edit"] * 4 + ["approve"] * 5 + ["deny"]),
        st.sampled_from(PEOPLE),
        _CHANGES,
        st.sampled_from([0, 0, 0, 0, 1, 2]),  # how many cards ago the one is that is pressed
    ),
    min_size=2,
    max_size=10,
)


@requirement("S-02", "S-23", "S-24")
@settings(max_examples=examples(600))
@given(amount=AMOUNTS, acts=ACTS)
def test_what_runs_was_seen_by_all_who_count_and_they_are_all_whom_the_rules_ask(amount: int, acts: list[Any]) -> None:
    asked = opened({"payee": "Acme", "amount": amount, "currency": "CNY", "account": "x", "memo": ""})
    if asked is None:
        return
    world = World(asked)
    world.show()
    denied = False
    for act, who, changes, back in acts:
        if world.request.status.final:
            break
        if act == "edit":
            world.edit(who, changes)
        else:
            digests = list(world.seen)
            world.vote(who, Verdict(act), digests[max(0, len(digests) - 1 - back)])
        denied = denied or world.request.state is State.DENIED
    request = world.request
    if request.state is not State.APPROVED:
        return
    assert not denied
    runs = issue(request, grant_id="g", not_after=START).call.arguments
    approving = {each.person for each in request.decisions if each.verdict is Verdict.APPROVE}
    assert {world.given[person] for person in approving} == {request.digest}
    assert world.seen[request.digest] == canonical(dict(runs))
    _assert_enough(request, approving, world)


def _assert_enough(request: ConfirmationRequest, approving: set[str], world: World) -> None:
    """Count by hand: whom do the rules ask about what runs, and is each of them there, and nobody for themselves?"""
    arguments = request.call.arguments
    amount = arguments["amount"]
    assert isinstance(amount, int)
    assert arguments["payee"] != "Evil"
    finance = approving & {"ann@x.example", "ben@x.example", "cho@x.example"}
    if amount > 500:
        assert "ben@x.example" not in approving
    if amount > 400:
        assert len(approving) >= 3
        assert len(finance) >= 2
        assert approving & {"dan@x.example", "ann@x.example"}
    else:
        assert finance
    proposed = request.proposed or arguments
    for name, author in world.authors.items():
        if arguments[name] == proposed[name]:
            continue
        if name == "amount" and request.only_lowered:
            continue
        if name == "amount" and amount <= int(str(proposed["amount"])):
            continue  # part of a larger change by somebody else, and a lowered amount for itself
        assert author not in approving
