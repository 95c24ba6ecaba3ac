"""Who gets to read all of a request, on which way, for how long, and what the trail says of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.domain.people.people import Directory, Person
from app.domain.request.consultation import HandOver
from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.usecases.reading.review import may_look
from tests.domain.samples import START, a_request
from tests.fixtures.review_visits import ReadPage, Visitor, token_of, with_url
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

ALICE = "alice@acme.example"


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


@pytest.fixture
def visitor(gateway: Gateway) -> Visitor:
    return Visitor(gateway=gateway)


async def test_a_press_on_the_card_tells_that_person_alone_a_link_that_opens_the_page(either_gateway: Gateway) -> None:
    visitor = Visitor(gateway=either_gateway)
    request = await either_gateway.ask()
    link = await visitor.press(request)
    told, outcome = either_gateway.platform.told[-1]
    assert told == "U_ALICE"
    assert link
    assert outcome.sentence.endswith(link)
    assert (await visitor.enter(link)).status_code == 303
    page = await visitor.look(request)
    assert page.status_code == 200
    assert request["code"] in page.text
    assert either_gateway.trail(request)[-1] == ("request.reviewed", ALICE)


@requirement("S-37", "S-47")
async def test_a_link_stands_on_no_card_in_no_row_and_in_no_log(
    gateway: Gateway, visitor: Visitor, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    request = await gateway.ask()
    link = await visitor.press(request)
    await visitor.enter(link)
    await visitor.look(request)
    kept = str(gateway.content()) + caplog.text + "".join(capsys.readouterr())
    kept += repr([message.shown for message in gateway.platform.messages]) + repr(gateway.platform.notices)
    kept += repr(gateway.platform.told)  # not even where the outcome itself is written down
    assert link not in kept
    assert token_of(link) not in kept
    assert visitor.session not in kept


@requirement("S-20")
async def test_a_replayed_press_makes_no_second_link(gateway: Gateway) -> None:
    request = await gateway.ask()
    click = gateway.platform.use(gateway.card(request), "U_ALICE", "review")
    await gateway.send(click)
    await gateway.send(click)
    assert [bool(outcome.link) for _, outcome in gateway.platform.told] == [True, False]


@requirement("S-06")
@pytest.mark.parametrize("account", ["U_DAVE", "U_NOBODY"])
async def test_who_is_not_asked_gets_no_link_and_the_trail_says_that_they_tried(
    gateway: Gateway, visitor: Visitor, account: str
) -> None:
    request = await gateway.ask()
    assert await visitor.press(request, account) == ""
    assert gateway.trail(request)[-1][0] == "click.refused"


@requirement("S-47")
async def test_a_copied_card_makes_no_link(gateway: Gateway) -> None:
    request = await gateway.ask()
    click = gateway.platform.use(gateway.card(request), "U_ALICE", "review")
    await gateway.send(replace(click, message_id="m-copy"))
    assert gateway.platform.told[-1][1].link == ""


async def test_the_requester_and_the_owner_may_read_though_they_may_not_decide(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask(requester="dave@acme.example")
    assert await visitor.visit(request, who="dave@acme.example")
    assert await visitor.visit(request, who="olga@acme.example")  # the agent is hers


async def test_who_acts_for_somebody_away_may_read_and_only_on_those_days(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    assert (await visitor.link(request, who="dave@acme.example")).status_code == 403
    away = "{name: Bob, memory: U_BOB, away: [{from: 2026-03-01, until: 2026-03-01, to: dave@acme.example}]}"
    gateway.rewrite("{name: Bob, memory: U_BOB}", away)
    await gateway.reload()
    assert await visitor.visit(request, who="dave@acme.example")


@requirement("S-27")
async def test_whoever_is_taken_out_of_the_group_sees_no_more_with_link_and_session_alike(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask()
    spare = (await visitor.link(request)).json()["url"]
    await visitor.visit(request)
    gateway.rewrite("finance: [alice@acme.example, ", "finance: [")
    await gateway.reload()
    assert (await visitor.look(request)).status_code == 403
    assert (await visitor.enter(spare)).status_code == 403
    assert (await visitor.link(request)).status_code == 403


def test_whoever_of_its_groups_took_part_may_still_read_and_nobody_else_does() -> None:
    people = {email: Person(email=email, name=email) for email in ("ann@a.example", "bob@a.example", "eve@a.example")}
    directory = Directory(people=people, groups={"finance": frozenset({"ann@a.example", "bob@a.example"})})
    policy = Policy(org="acme", version="p1", default=Then.DENY, directory=directory)
    over = HandOver(by="ann@a.example", to="bob@a.example", at=START)
    request = a_request(handovers=(over, HandOver(by="eve@a.example", to="bob@a.example", at=START)))
    assert [who for who in people if may_look(request, policy, who, now=START)] == ["ann@a.example", "bob@a.example"]
    edited = a_request(edited_by="ann@a.example")
    assert may_look(edited, policy, "ann@a.example", now=START)
    assert not may_look(edited, policy, "nobody@a.example", now=START)


async def test_whoever_decided_may_still_read_once_it_is_settled(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    await gateway.press(request, "U_ALICE", "deny")
    page = await visitor.visit(request)
    assert "Denied by Alice" in page
    assert "too expensive" in page
    assert "assent requests approve" not in page


async def test_a_link_lives_for_five_minutes(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    links = [(await visitor.link(request)).json()["url"] for _ in range(2)]
    await gateway.advance(timedelta(minutes=5) - timedelta(microseconds=1))
    assert (await visitor.enter(links[0])).status_code == 303
    await gateway.advance(timedelta(microseconds=1))
    assert (await visitor.door(links[1])).status_code == 401
    assert (await visitor.enter(links[1])).status_code == 401


async def test_a_session_lives_for_half_an_hour(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask("long")
    await visitor.visit(request)
    await gateway.advance(timedelta(minutes=30) - timedelta(microseconds=1))
    assert (await visitor.look(request)).status_code == 200
    await gateway.advance(timedelta(microseconds=1))
    assert (await visitor.look(request)).status_code == 401


@requirement("S-20")
async def test_a_link_opens_one_session_and_is_then_worth_nothing(either_gateway: Gateway) -> None:
    visitor = Visitor(gateway=either_gateway)
    request = await either_gateway.ask()
    link = (await visitor.link(request)).json()["url"]
    answers = [(await visitor.enter(link)).status_code for _ in range(3)]
    assert answers == [303, 401, 401]
    assert [kind for kind, _ in either_gateway.trail(request)].count("request.reviewed") == 1


@requirement("S-15", "S-53")
async def test_looking_changes_nothing_neither_the_link_nor_the_page(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    link = (await visitor.link(request)).json()["url"]
    before = gateway.content()
    for _ in range(3):
        assert (await visitor.door(link)).status_code == 200
    assert gateway.content() == before
    await visitor.enter(link)
    after = gateway.content()
    assert (await visitor.look(request)).status_code == 200
    assert gateway.content() == after
    assert (await gateway.read(request))["version"] == 1


async def test_without_an_address_there_is_no_button_and_no_link(gateway: Gateway, visitor: Visitor) -> None:
    asked_before = await gateway.ask()
    gateway.rewrite("url: http://127.0.0.1:8080\n", "")
    await gateway.reload()
    assert await visitor.press(asked_before) == ""
    answer = await visitor.link(asked_before)
    assert (answer.status_code, answer.json()["path"]) == (422, "url")
    request = await gateway.ask(arguments={"payee": "B", "amount": 1})
    assert "review" not in [control.action for control in gateway.card(request).card.controls]


@requirement("S-13")
async def test_a_card_that_cannot_show_all_of_the_call_leads_to_the_page_that_does(
    gateway: Gateway, visitor: Visitor
) -> None:
    memo = "lot 7, " * 3_000 + "and one more"
    request = await gateway.ask(arguments={"payee": "Acme Ltd", "amount": 5, "memo": memo})
    card = gateway.card(request).card
    assert card.buttons is not None
    assert card.buttons.approve is None
    assert str(card.withheld).endswith("to read it whole and approve it there; you can still deny here.")
    await visitor.enter(await visitor.press(request))
    page = ReadPage((await visitor.look(request)).text)
    assert memo in page.texts
