"""More voices only ever make an answer stricter."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.people.assurance import Assurance
from app.domain.request.quorum import Stage
from app.domain.request.request import Risk
from app.domain.rules.policy import Allow, Ask, Deny, Policy
from app.domain.rules.rule import Asking, Then
from app.domain.rules.strictest import Wish, at_least_ask, hook_wish, strictest
from tests.drawn import drawn

if TYPE_CHECKING:
    from app.domain.rules.policy import Ruling

MINUTE = timedelta(minutes=1)
ASKINGS = drawn(
    Asking,
    stages=st.lists(
        st.sampled_from([Stage(of=("finance",), need=1), Stage(of=("legal",), need=1), Stage(of=("finance",), need=2)]),
        min_size=1,
        max_size=2,
        unique=True,
    ).map(tuple),
    channels=st.lists(st.sampled_from(["chat", "api"]), min_size=1, max_size=2, unique=True).map(tuple),
    timeout=st.sampled_from([MINUTE, 5 * MINUTE]),
)
SAID = {"reason": st.just("Because."), "policy_version": st.just("v"), "trace": st.just(()), "rule_id": st.just("r")}
RULINGS = st.one_of(
    drawn(Allow, record=st.booleans(), **SAID),
    drawn(Deny, record=st.just(True), **SAID),
    drawn(Ask, asking=ASKINGS, **SAID),
)
RANK = {Allow: 0, Ask: 1, Deny: 2}


def rank(ruling: Ruling) -> int:
    return RANK[type(ruling)]


@given(own=RULINGS, inherited=st.lists(st.tuples(st.sampled_from(["boss", "chief"]), RULINGS), max_size=3))
def test_the_answer_is_as_strict_as_the_strictest_voice_and_drops_nobodys_people(
    own: Ruling, inherited: list[tuple[str, Ruling]]
) -> None:
    voices = [own, *(ruling for _, ruling in inherited)]
    found = strictest(own, inherited)
    assert rank(found) == max(map(rank, voices))
    if isinstance(found, Ask):
        for voice in voices:
            if isinstance(voice, Ask):
                assert set(voice.asking.stages) <= set(found.asking.stages)
                assert set(voice.asking.channels) <= set(found.asking.channels)
                assert found.asking.timeout <= voice.asking.timeout
    if isinstance(found, Allow):
        assert found.record == any(voice.record for voice in voices if isinstance(voice, Allow))


@given(ruling=RULINGS, ask=st.none() | ASKINGS, wishes=st.lists(drawn(Wish, by=st.just("hook:x"), reason=st.text())))
def test_wishes_raise_an_allow_and_soften_nothing(ruling: Ruling, ask: Asking | None, wishes: list[Wish]) -> None:
    policy = Policy(org="acme", version="v", default=Then.DENY, ask=ask)
    found = at_least_ask(ruling, wishes, policy)
    assert rank(found) >= rank(ruling)
    if not wishes:
        assert found == ruling
    elif isinstance(ruling, Allow):
        assert isinstance(found, Deny if ask is None else Ask)
    elif isinstance(ruling, Ask):
        assert isinstance(found, Ask)
        assert found.asking == ruling.asking


def test_a_denial_stays_one_whoever_wants_people_to_be_asked() -> None:
    denied = Deny(rule_id="never", reason="Never.", policy_version="1", trace=(), record=True)
    ask = Asking(stages=(Stage(of=("finance",), need=1),), channels=("api",))
    wishes = [hook_wish("h", "Look"), Wish(by="x", reason="Look.")]
    assert at_least_ask(denied, wishes, Policy(org="acme", version="1", default=Then.ALLOW, ask=ask)) == denied


def test_a_wish_about_an_allowed_call_asks_the_people_of_its_rule() -> None:
    own = Asking(stages=(Stage(of=("treasury",), need=2),), channels=("api",))
    ask = Asking(stages=(Stage(of=("finance",), need=1),), channels=("api",))
    allowed = Allow(rule_id="tiers", reason="Small.", policy_version="1", trace=(), record=True, otherwise=own)
    policy = Policy(org="acme", version="1", default=Then.DENY, ask=ask)
    raised = at_least_ask(allowed, [Wish(by="hook:x", reason="Look.")], policy)
    assert isinstance(raised, Ask)
    assert raised.asking.stages == own.stages
    plain = at_least_ask(
        Allow(rule_id="a", reason="", policy_version="1", trace=(), record=True), [Wish(by="x", reason="Look.")], policy
    )
    assert isinstance(plain, Ask)
    assert plain.asking.stages == ask.stages


def test_each_reason_is_said_once_with_an_end_and_by_whose_name_it_is() -> None:
    own, same, other = asks("finance"), asks("legal"), replace(asks("legal"), reason="Law")
    found = strictest(own, [("helper", same), ("my helper (v2)", other)])
    assert found.reason == "Because. Law (as for “my helper (v2)”, whose rules bind this call as well)."
    wished = at_least_ask(
        replace(own, reason="By amount"), [hook_wish("h", "Look")], Policy(org="a", version="v", default=Then.ASK)
    )
    assert wished.reason == "By amount. Besides: The hook h wants people to be asked: “Look”."


def asks(group: str, **more: Any) -> Ask:
    asking = Asking(stages=(Stage(of=(group,), need=1),), channels=(group,), **more)
    return Ask(rule_id=group, reason="Because.", policy_version="v", trace=(), asking=asking)


def test_two_questions_are_one_to_the_people_of_both_in_the_shorter_time_at_the_higher_level() -> None:
    one = asks("finance", timeout=5 * MINUTE, claim_within=MINUTE, lease=9 * MINUTE, assurance=Assurance.L2)
    other = asks("legal", timeout=3 * MINUTE, claim_within=2 * MINUTE, lease=7 * MINUTE, risk=Risk.HIGH)
    for own, inherited in ((one, other), (other, one)):
        found = strictest(own, [("boss", inherited)])
        assert isinstance(found, Ask)
        asked = found.asking
        assert {stage.of for stage in asked.stages} == {("finance",), ("legal",)}
        assert set(asked.channels) == {"finance", "legal"}
        assert (asked.timeout, asked.claim_within, asked.lease) == (3 * MINUTE, MINUTE, 7 * MINUTE)
        assert (asked.assurance, asked.risk) == (Assurance.L2, Risk.HIGH)
