"""What people ask and answer around a decision, whom they remind, and from which card; told as stories."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures.consulting import ALICE, RITA, control, facts, kinds, own, press
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.fixture(autouse=True)
def direct_chats(platform: MemoryPlatform) -> None:
    """Let messages to people live in chats with ids of their own, as on the real platforms."""
    platform.names_direct_chats = True


# --- ask and answer ---------------------------------------------------------------------------------------------------


async def test_a_question_reaches_the_requester_who_answers_on_a_card_of_their_own(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask(requester=RITA)
    asked = await press(g, g.card(request), "U_ALICE", "ask", text="Which invoice? \u202e<b>")
    assert asked == ("recorded", "Sent. The answer will stand on this card.")
    copy = own(g, request, "U_RITA")
    assert (copy.card.buttons, [each.action.value for each in copy.card.controls]) == (
        None,
        ["answer", "remind", "extend"],
    )
    form = control(copy, "answer")
    assert form is not None
    assert form.form is not None
    assert form.form.note == "Which invoice? \\u{202E}<b>"
    said = await press(g, copy, "U_RITA", "answer", **{form.form.fields[0].name: "4711"})
    assert said[0] == "recorded"
    assert [(fact.label, fact.value) for fact in g.card(request).card.dialogue] == [
        ("Alice asks", "Which invoice? \\u{202E}<b>"),
        ("Rita answers (not verified)", "4711"),
    ]
    assert [notice.text for _, notice in g.platform.notices] == ["Answered: 4711"]
    asked_back = (await g.read(request))["questions"][0]
    assert (asked_back["by"], asked_back["answer"], asked_back["answered_by"]) == (ALICE, "4711", RITA)
    assert (await press(g, copy, "U_RITA", "remind"))[0] in {"recorded", "already"}


@requirement("S-09")
async def test_the_requesters_card_decides_nothing_and_only_the_requester_answers(gateway: Gateway) -> None:
    request = await gateway.ask(requester=RITA)
    await press(gateway, gateway.card(request), "U_ALICE", "ask", text="Why?")
    copy = own(gateway, request, "U_RITA")
    said = await press(gateway, copy, "U_BOB", "answer", text="because")
    assert said[0] == "refused"
    assert (await gateway.read(request))["questions"][0]["answer"] is None
    refused = await gateway.decide(request, who=RITA)
    assert refused.status_code == 403


async def test_an_answer_goes_to_the_question_that_its_form_showed(gateway: Gateway) -> None:
    request = await gateway.ask(requester=RITA)
    await press(gateway, gateway.card(request), "U_ALICE", "ask", text="First?")
    copy = own(gateway, request, "U_RITA")
    click = gateway.platform.use(copy, "U_RITA", "answer")
    shown = control(copy, "answer")
    assert shown is not None
    assert shown.form is not None
    name = shown.form.fields[0].name
    await press(gateway, gateway.card(request), "U_BOB", "ask", text="Second?")
    first = (await gateway.read(request))["questions"][0]
    path = f"/v1/requests/{request['id']}/questions/{first['id']}/answer"
    assert (await gateway.call("POST", path, {"text": "by the agent"})).status_code == 200
    late = await gateway.send(type(click)(**{**_fields(click), "fields": {name: "by Rita"}}))
    assert (late.body or {})["sentence"] == "There is no open question."
    assert [each["answer"] for each in (await gateway.read(request))["questions"]] == ["by the agent", None]


def _fields(click: Any) -> dict[str, Any]:
    return {name: getattr(click, name) for name in click.__slots__}


@requirement("S-37")
async def test_a_sensitive_value_in_an_answer_reaches_neither_card_nor_trail(gateway: Gateway) -> None:
    request = await gateway.ask(requester=RITA)
    await press(gateway, gateway.card(request), "U_ALICE", "ask", text="To which account?")
    said = "To DE02-SECRET, with password=hunter2hunter2"
    await press(gateway, own(gateway, request, "U_RITA"), "U_RITA", "answer", text=said)
    shown = str([message.card for message in gateway.platform.of(request["id"])]) + str(gateway.platform.notices)
    assert "Rita answers" in shown
    assert "hunter2" not in shown
    for everything in (shown, str(facts(gateway, "request.answered")), str(await gateway.read(request, who=ALICE))):
        assert "DE02-SECRET" not in everything


@requirement("S-13")
async def test_long_answers_are_cut_and_say_so_before_approve_goes(gateway: Gateway) -> None:
    gateway.platform.text_budget = 3_000
    request = await gateway.ask(requester=RITA)
    for number in range(5):
        await press(gateway, gateway.card(request), "U_ALICE", "ask", text=f"{number}?")
        copy = own(gateway, request, "U_RITA")
        await press(gateway, copy, "U_RITA", "answer", text=f"{number}" * 500)
    card = gateway.card(request).card
    assert card.size() <= 3_000
    assert card.buttons is not None
    assert card.buttons.approve is not None
    assert "more characters not shown" in card.dialogue[-1].value
    assert [fact.value for fact in card.arguments] == ["•••"]


@requirement("S-20")
async def test_a_question_that_the_platform_delivers_twice_is_asked_once(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask()
    click = g.platform.use(g.card(request), "U_ALICE", "ask", text="Why?")
    heard = [((await g.send(click)).body or {})["result"] for _ in range(2)]
    assert (heard, len((await g.read(request))["questions"])) == (["recorded", "already"], 1)


async def test_ten_questions_are_enough_and_a_long_one_is_refused_whole(gateway: Gateway) -> None:
    request = await gateway.ask()
    card = gateway.card(request)
    said = await press(gateway, card, "U_ALICE", "ask", text="x" * 501)
    assert said == ("retry", "This is too long: 500 characters at most. Nothing was sent.")
    assert (await press(gateway, card, "U_ALICE", "ask", text="  "))[1] == "Please write something."
    for number in range(10):
        await press(gateway, card, "U_ALICE", "ask", text=f"{number}?")
    assert (await press(gateway, card, "U_ALICE", "ask", text="11?"))[1].startswith("Enough")
    assert len((await gateway.read(request))["questions"]) == 10


# --- remind, more -----------------------------------------------------------------------------------------------------


async def test_a_reminder_mentions_who_has_not_decided_and_comes_at_most_every_five_minutes(gateway: Gateway) -> None:
    request = await gateway.ask("pay_two")
    card = gateway.card(request)
    assert (await press(gateway, card, "U_ALICE", "remind"))[0] == "already"
    await gateway.advance(timedelta(minutes=6))
    await gateway.press(request)
    assert (await press(gateway, card, "U_ALICE", "remind"))[0] == "recorded"
    mentioned = {mention for _, notice in gateway.platform.notices for mention in notice.mentions}
    assert mentioned == {"U_BOB", "U_CAROL", "U_RITA"}
    assert (await press(gateway, card, "U_ALICE", "remind"))[1].startswith("They were asked, or reminded,")
    assert kinds(gateway, request).count("request.reminded") == 1


async def test_where_no_forms_open_the_chats_card_leads_to_a_private_one_with_all_controls(gateway: Gateway) -> None:
    gateway.platform.opens_forms = False
    request = await gateway.ask()
    card = gateway.card(request)
    assert [each.action.value for each in card.card.controls] == ["more"]
    assert (await press(gateway, card, "U_ALICE", "more"))[0] == "recorded"
    copy = own(gateway, request, "U_ALICE")
    assert {"ask", "hand_over", "add", "remind"} <= {each.action.value for each in copy.card.controls}
    assert (await press(gateway, card, "U_ALICE", "more"))[0] == "recorded"
    assert len([m for m in gateway.platform.of(request["id"]) if m.card.own]) == 1  # one copy a person
    assert (await press(gateway, copy, "U_ALICE", "ask", text="Why?"))[0] == "recorded"
    assert (await press(gateway, card, "U_DAVE", "more"))[0] == "refused"
    assert kinds(gateway, request) == ["request.created", "request.asked_back", "click.refused"]


async def test_a_requester_who_may_decide_answers_on_the_copy_that_they_have(gateway: Gateway) -> None:
    rule = "- {id: pay, tools: [pay], then: ask, stages: [{of: [finance]"
    gateway.rewrite(rule, f"{rule}, allow_requester: true")
    await gateway.reload()
    gateway.platform.opens_forms = False
    request = await gateway.ask(requester=RITA)
    for account in ("U_RITA", "U_ALICE"):
        await press(gateway, gateway.card(request), account, "more")
    await press(gateway, own(gateway, request, "U_ALICE"), "U_ALICE", "ask", text="Why?")
    copy = own(gateway, request, "U_RITA")
    assert control(own(gateway, request, "U_ALICE"), "answer") is None
    assert (await press(gateway, copy, "U_RITA", "answer", text="because"))[0] == "recorded"
    assert [m.ref.chat_id for m in gateway.platform.of(request["id"])] == ["C1", "D_U_RITA", "D_U_ALICE"]
    assert (await gateway.send(gateway.platform.press(copy, "U_RITA", "approve"))).body is not None
    assert (await gateway.read(request))["state"] == "approved"


async def test_where_forms_open_the_form_comes_first_and_only_for_who_may(gateway: Gateway) -> None:
    request = await gateway.ask()
    card = gateway.card(request)
    for account, action in (("U_ALICE", "hand_over"), ("U_DAVE", "hand_over"), ("U_ALICE", "remind")):
        click = gateway.platform.use(card, account, action)
        await gateway.send(type(click)(**{**_fields(click), "wants_form": True}))
    assert [(click.account_id, form.title) for click, form in gateway.platform.forms] == [("U_ALICE", "Hand over")]
    assert (await gateway.read(request))["version"] == 1


async def test_after_the_end_every_control_only_tells_how_it_ended(gateway: Gateway) -> None:
    request = await gateway.ask()
    card = gateway.card(request)
    clicks = [
        gateway.platform.use(card, "U_ALICE", action, person="U_BOB", text="?") for action in ("hand_over", "ask")
    ]
    await gateway.advance(timedelta(minutes=20))
    late = gateway.platform.use(gateway.card(request), "U_ALICE", "add", person="U_BOB")
    await gateway.press(request, verdict="deny")
    for click in clicks:
        assert "Denied by Alice" in str(((await gateway.send(click)).body or {})["sentence"])
    assert ((await gateway.send(late)).body or {})["result"] == "already"
    assert set(kinds(gateway, request)) == {"request.created", "request.reminded", "request.denied"}


async def test_a_click_after_the_deadline_only_expires(gateway: Gateway) -> None:
    request = await gateway.ask()
    click = gateway.platform.use(gateway.card(request), "U_ALICE", "ask", text="Why?")
    gateway.clock.advance(timedelta(minutes=31))  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    assert "nobody decided in time" in str(((await gateway.send(click)).body or {})["sentence"])
    assert kinds(gateway, request) == ["request.created", "request.expired"]
