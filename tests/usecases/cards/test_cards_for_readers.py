"""What the readers of one card are told and offered: names, a headline of their own, no approval of what is unseen."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from app.domain.call.tool import Tool
from app.domain.card.form import Form
from app.domain.identity.seals import Seals
from app.domain.people.people import Directory, Person
from app.domain.request.action import Action
from app.domain.request.consultation import HandOver, Question
from app.domain.request.quorum import Stage
from app.domain.request.request import Audience
from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.domain.text.language import Language
from app.usecases.cards.compose import compose
from tests.domain.samples import START, a_call, a_request
from tests.requirements import requirement
from tests.usecases.cards.test_compose import DELIVERY

if TYPE_CHECKING:
    from app.domain.card.card import Card
    from app.domain.request.request import ConfirmationRequest
    from app.ports import Channel
    from tests.fixtures.gateway import Gateway

SEALS = Seals(["x" * 40])
SUN = "sun@acme.example"
POLICY = Policy(
    org="acme",
    version="p1",
    default=Then.DENY,
    directory=Directory(people={SUN: Person(email=SUN, name="孙悦 Sun Yue")}, groups={}),
    tools={"oa__purchase_pay": Tool(name="oa__purchase_pay", labels={"payee": {"zh": "收款方"}})},
)


def shown(request: ConfirmationRequest, language: Language = Language.EN, **delivery: Any) -> Card:
    channel = cast("Channel", SimpleNamespace(language=language, text_budget=9_000, opens_forms=True))
    return compose(request, replace(DELIVERY, **delivery), channel, POLICY, SEALS)


def actions(card: Card) -> set[Action]:
    return {control.action for control in card.controls}


@requirement("S-13")
def test_what_cannot_be_seen_whole_cannot_be_approved_with_changes_either() -> None:
    pinned = a_request(pinned=("payee",))
    unseen = replace(pinned, call=a_call(arguments={"payee": "Acme", "memo": "m" * 20_000}))
    secret = replace(
        pinned, pinned=("payee", "memo"), call=a_call(arguments={"payee": "A", "memo": "ghp_" + "a1B2" * 9})
    )

    assert Action.EDIT in actions(shown(pinned))
    for request in (unseen, secret):
        assert shown(request).withheld is not None
        assert Action.EDIT not in actions(shown(request))
        assert Action.ASK in actions(shown(request))


@requirement("S-13")
async def test_a_card_that_no_longer_shows_all_of_it_takes_no_changes_from_an_older_look_at_it(
    gateway: Gateway,
) -> None:
    """The control of before is still on somebody's screen, and its form is filled in as it was."""
    request = await gateway.ask()
    control = next(each for each in gateway.card(request).card.controls if each.action is Action.EDIT)
    assert control.form is not None
    as_it_was = {field.name: field.value for field in control.form.fields}
    old = gateway.platform.use(gateway.card(request), "U_ALICE", "edit", **as_it_was)
    gateway.platform.text_budget = 40
    assert ((await gateway.send(old)).body or {})["result"] == "refused"
    assert (await gateway.read(request))["state"] == "pending"


@pytest.mark.parametrize(("audience", "asks"), [(Audience.REQUESTER, True), (Audience.APPROVERS, False)])
def test_the_requester_reads_that_there_is_a_question_to_them_until_it_is_answered(
    audience: Audience, *, asks: bool
) -> None:
    question = Question(id="q_1", by=SUN, text="Why?", at=START)
    asked = a_request(questions=(question,))
    answered = a_request(questions=(replace(question, answer="So.", answered_by="agent:payer", answered_at=START),))

    assert (shown(asked, audience=audience).headline == "A question to you") == asks
    assert shown(answered, audience=audience).headline == "Approval needed"


def test_an_added_approver_is_called_by_their_name() -> None:
    request = a_request()
    request = replace(
        request, stages=(*request.stages, Stage(of=(SUN,), need=1, joined=True, added_by="x@acme.example"))
    )

    assert "孙悦 Sun Yue" in (shown(request).progress or "")


@requirement("S-37")
def test_a_card_says_who_decides_in_whose_place_in_the_order_of_what_was_said() -> None:
    note = "away today, key ghp_" + "a1B2" * 9
    given = HandOver(by="wang@acme.example", to=SUN, at=START, note=note)
    asked = Question(id="q_1", by=SUN, text="Why?", at=START + timedelta(minutes=1))

    card = shown(a_request(questions=(asked,), handovers=(given,)))

    assert [(fact.label, fact.value) for fact in card.dialogue] == [
        (
            "wang@acme.example hands over",
            "孙悦 Sun Yue decides in their place · “away today, key [redacted: GitHub token]”",
        ),
        ("孙悦 Sun Yue asks", "Why? (no answer yet)"),
    ]


def test_a_form_calls_the_arguments_what_the_card_calls_them() -> None:
    card = shown(a_request(pinned=("payee", "amount")), Language.ZH)
    form = next(control.form for control in card.controls if control.action is Action.EDIT)

    assert isinstance(form, Form)
    assert [field.label for field in form.fields] == ["收款方", "amount"]
