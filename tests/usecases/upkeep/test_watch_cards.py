"""A platform that takes a card and shows it nowhere: it is asked, once, and the card goes out again or another way."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import ChannelRefusedError, ChannelUnavailableError
from app.storage.cards.unseen import LATEST, SOONEST
from app.usecases.upkeep.watch_cards import EVERY, WHY
from tests.fixtures.shared_messages import GROUP, ask, click_on, given, items_of
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

_SECOND = 1_000_000  # of the database's microseconds
PEOPLE = {"U_ALICE", "U_BOB", "U_CAROL", "U_RITA"}


def vanish(gateway: Gateway, request: dict[str, Any]) -> None:
    """Let the platform show nothing of a request, which it has taken all the same."""
    gone = gateway.platform.of(request["id"])
    gateway.platform.messages = [message for message in gateway.platform.messages if message not in gone]


async def look(gateway: Gateway, after: timedelta = SOONEST) -> None:
    """Let that much time pass since the cards were posted, ask for them, and let what follows from it happen."""
    span = after // timedelta(microseconds=1)
    gateway.rows(f"UPDATE deliveries SET posted_at = posted_at - {span} WHERE posted_at IS NOT NULL")
    await gateway.container.watch_cards()
    await gateway.quiet()


def kinds(gateway: Gateway, request: dict[str, Any]) -> list[str]:
    return [kind for kind, _ in gateway.trail(request)]


@requirement("F-30")
async def test_a_card_that_was_taken_and_is_not_shown_is_posted_anew(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask()
    unseen = g.platform.press(g.card(request), "U_ALICE", "approve")
    vanish(g, request)
    await look(g, SOONEST - timedelta(seconds=2))
    assert g.platform.of(request["id"]) == []  # a platform may need a moment
    await look(g, timedelta(seconds=3))
    assert kinds(g, request) == ["request.created", "card.posted", "card.missing", "card.posted"]
    heard = await g.send(unseen)  # should it turn up after all
    assert (heard.body or {})["result"] == "refused"
    assert (await g.press(request))["result"] == "recorded"
    assert timedelta(seconds=60) >= SOONEST + 2 * EVERY


@requirement("F-30", "F-33")
async def test_a_second_one_that_is_not_shown_either_opens_the_next_way(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask()
    for _ in range(2):
        vanish(g, request)
        await look(g)
    assert {message.ref.chat_id for message in g.platform.of(request["id"])} == PEOPLE
    assert kinds(g, request)[:6] == [
        "request.created", "card.posted", "card.missing", "card.posted", "card.failed", "card.rerouted",
    ]  # fmt: skip
    for _ in range(2):  # their own copies neither
        vanish(g, request)
        await look(g)
    seen = await g.read(request)
    assert (seen["state"], seen["settled"]["reason"]) == ("undeliverable", f"chat: {WHY}")


@requirement("F-30")
async def test_each_card_is_asked_for_once_and_only_while_somebody_waits_for_it(gateway: Gateway) -> None:
    settled, waiting = await gateway.ask(), await gateway.ask(arguments={"payee": "Beta Ltd", "amount": 1})
    await gateway.press(settled)
    await look(gateway)
    await look(gateway)
    assert gateway.platform.asked == [(gateway.card(waiting).ref,)]
    late = await gateway.ask(arguments={"payee": "Gamma Ltd", "amount": 1})
    await look(gateway, LATEST + timedelta(seconds=1))
    assert len(gateway.platform.asked) == 1
    assert kinds(gateway, late) == ["request.created", "card.posted"]


@requirement("F-30")
@pytest.mark.parametrize("may_be_asked", [True, False])
async def test_a_platform_that_does_not_say_is_not_guessed_about(gateway: Gateway, may_be_asked: bool) -> None:
    request = await gateway.ask()
    vanish(gateway, request)
    gateway.platform.looks.append(ChannelUnavailableError("away") if may_be_asked else ChannelRefusedError("no scope"))
    await look(gateway)
    assert kinds(gateway, request) == ["request.created", "card.posted"]
    await look(gateway)
    assert ("card.missing" in kinds(gateway, request)) is may_be_asked  # what is away is asked again; who may not, not


@requirement("F-30")
async def test_what_shares_a_message_that_is_not_shown_goes_out_anew_together(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    asked = [await ask(gateway, n) for n in range(3)]
    await gateway.quiet()
    (message,) = gateway.platform.messages
    assert len(items_of(message)) == 3
    gateway.platform.messages.clear()
    await look(gateway)
    (message,) = gateway.platform.messages
    assert len(items_of(message)) == 3
    answer = await gateway.send(click_on(gateway, asked[1]))
    assert (answer.body or {})["result"] == "recorded"
    gateway.platform.messages.clear()
    await look(gateway)  # neither: each of those who wait gets another way
    for request in (asked[0], asked[2]):
        assert kinds(gateway, request).count("card.failed") == 1
        assert {m.ref.chat_id for m in gateway.platform.messages if m.card.request_id == request["id"]} == PEOPLE


@requirement("F-30")
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("seed", "many"), [(1, 45), *(pytest.param(seed, 100, marks=pytest.mark.whole) for seed in (1, 2))]
)
async def test_of_a_hundred_cards_each_is_with_people_whatever_was_not_shown(
    gateway: Gateway, seed: int, many: int
) -> None:
    chance = random.Random(seed)
    asked = [await gateway.ask(arguments={"payee": f"P{n}", "amount": n}) for n in range(many)]
    for odds in (0.5, 0.3):  # of the first ones, and of those that were posted in their place
        waiting = {row["request_id"] for row in gateway.rows("SELECT request_id FROM deliveries WHERE looked <> 1")}
        for request in asked:
            if request["id"] in waiting and chance.random() < odds:
                vanish(gateway, request)
        for _ in range(3):  # a round asks for forty cards of a channel
            await look(gateway)
    for request in asked:
        rows = gateway.rows(
            f"SELECT message_id FROM deliveries WHERE status = 'live' AND request_id = '{request['id']}'"
        )
        there = {message.ref.message_id for message in gateway.platform.of(request["id"])}
        assert rows, request["id"]
        assert {row["message_id"] for row in rows} <= there, kinds(gateway, request)
