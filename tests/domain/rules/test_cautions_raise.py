"""Levels of assurance, and what cautions make of a ruling: more is taken, never less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.people.assurance import Assurance
from app.domain.request.caution import RAISING, Caution, CautionKind
from app.domain.request.quorum import Stage, stages_at
from app.domain.rules.policy import Allow, Ask, Deny, Policy, raised
from app.domain.rules.rule import Asking, Then
from app.domain.rules.spending import PaymentTerms

ONE = (Stage(of=("finance",), need=1),)
BOTH = (Stage(of=("finance",), need=1), Stage(of=("board",), need=1))
ASKING = Asking(stages=ONE, channels=("api",))
POLICY = Policy(org="acme", version="p1", default=Then.DENY)
KINDS = st.lists(st.sampled_from(CautionKind), max_size=6)


def cautions(*kinds: CautionKind) -> list[Caution]:
    return [Caution(kind=kind) for kind in kinds]


def ask(level: Assurance = Assurance.L1, stages: tuple[Stage, ...] = ONE) -> Ask:
    asking = replace(ASKING, assurance=level, stages=stages)
    return Ask(rule_id="large", reason="Large.", policy_version="p1", trace=(), asking=asking)


def allow(otherwise: Asking | None = ASKING) -> Allow:
    return Allow(rule_id="small", reason="Small.", policy_version="p1", trace=(), record=False, otherwise=otherwise)


# --- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "of_each", "one_up", "on_cards"),
    [("L1", "L1", "L2", True), ("L2", "L2", "L3", True), ("L3", "L3", "L4", False), ("L4", "L3", "L4", False)],
)
def test_the_ladder(level: str, of_each: str, one_up: str, *, on_cards: bool) -> None:
    rung = Assurance(level)
    assert (rung.of_each, rung.raised, rung.on_cards) == (Assurance(of_each), Assurance(one_up), on_cards)


@pytest.mark.parametrize(
    ("worth", "required", "suffices"),
    [("L1", "L1", True), ("L1", "L2", False), ("L2", "L2", True), ("L3", "L2", True), ("L2", "L3", False),
     ("L2", "L4", False), ("L3", "L4", True)],
)  # fmt: skip
def test_a_verdict_counts_where_it_is_worth_as_much_as_each_must_be(
    worth: str, required: str, *, suffices: bool
) -> None:
    assert Assurance(worth).suffices_for(Assurance(required)) is suffices


def test_the_highest_level_takes_two_people_and_leaves_more_as_they_are() -> None:
    assert [stage.need for stage in stages_at(ONE, Assurance.L4)] == [2]
    assert stages_at(BOTH, Assurance.L4) == BOTH
    assert stages_at(ONE, Assurance.L3) == ONE
    assert stages_at((), Assurance.L4) == ()


# --- cautions ---------------------------------------------------------------------------------------------------------


@given(KINDS)
def test_a_denial_stays_a_denial(kinds: list[CautionKind]) -> None:
    denied = Deny(rule_id="no", reason="No.", policy_version="p1", trace=(), record=True)
    assert raised(denied, cautions(*kinds), POLICY) is denied


def test_without_cautions_an_allow_stays_an_allow() -> None:
    assert raised(allow(), [], POLICY) == allow()


@pytest.mark.parametrize("kind", CautionKind)
def test_any_caution_asks_where_a_rule_would_allow(kind: CautionKind) -> None:
    asked = raised(allow(replace(ASKING, assurance=Assurance.L2)), cautions(kind), POLICY)
    assert isinstance(asked, Ask)
    assert asked.asking.assurance is Assurance.L2, "whom the next tier would ask, at its level"
    assert asked.reason == "Small; but people are asked, because of the warnings."


def test_where_there_is_nobody_to_ask_the_answer_is_no() -> None:
    assert isinstance(raised(allow(None), cautions(CautionKind.OVER_BUDGET), POLICY), Deny)


@pytest.mark.parametrize("kind", CautionKind)
@pytest.mark.parametrize("level", Assurance)
def test_what_the_file_steps_up_takes_one_level_more(kind: CautionKind, level: Assurance) -> None:
    asked = raised(ask(level), cautions(kind), POLICY)
    assert isinstance(asked, Ask)
    assert asked.asking.assurance is (level.raised if kind in RAISING else level)


def test_several_cautions_take_one_level_more_once() -> None:
    asked = raised(ask(), cautions(*RAISING, CautionKind.DUPLICATE), POLICY)
    assert isinstance(asked, Ask)
    assert asked.asking.assurance is Assurance.L2


def test_the_file_says_what_takes_a_level_more() -> None:
    policy = replace(POLICY, payments=PaymentTerms(step_up=frozenset({CautionKind.FIRST_PAYEE})))
    for kind, level in ((CautionKind.FIRST_PAYEE, Assurance.L2), (CautionKind.OVER_BUDGET, Assurance.L1)):
        asked = raised(ask(), cautions(kind), policy)
        assert isinstance(asked, Ask)
        assert asked.asking.assurance is level


def test_at_the_highest_level_a_lone_person_becomes_two() -> None:
    asked = raised(ask(Assurance.L3), cautions(CautionKind.NEW_ACCOUNT), POLICY)
    assert isinstance(asked, Ask)
    assert (asked.asking.assurance, [stage.need for stage in asked.asking.stages]) == (Assurance.L4, [2])
    said = raised(ask(Assurance.L4), [], POLICY)
    assert isinstance(said, Ask)
    assert [stage.need for stage in said.asking.stages] == [2]
    from_allow = raised(allow(replace(ASKING, assurance=Assurance.L4)), cautions(CautionKind.DUPLICATE), POLICY)
    assert isinstance(from_allow, Ask)
    assert [stage.need for stage in from_allow.asking.stages] == [2]


@given(KINDS, KINDS, st.sampled_from(Assurance))
def test_more_cautions_never_take_less(some: list[CautionKind], more: list[CautionKind], level: Assurance) -> None:
    fewer, all_of_them = (raised(ask(level), cautions(*kinds), POLICY) for kinds in (some, [*some, *more]))
    assert isinstance(fewer, Ask)
    assert isinstance(all_of_them, Ask)
    assert level <= fewer.asking.assurance <= all_of_them.asking.assurance
    assert sum(stage.need for stage in all_of_them.asking.stages) >= sum(stage.need for stage in fewer.asking.stages)
