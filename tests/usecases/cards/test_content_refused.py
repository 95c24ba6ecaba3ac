"""A platform refuses what a card says: it is sent again at once without the call, and stays so."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.ports import ChannelRefusedError, ContentRefusedError
from tests.fixtures.patience import eventually
from tests.fixtures.shared_messages import QUIET, ask, click_on, given, ids, noon, shown
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

STOPPED = "Feishu answered 230028: the tenant's data-loss prevention refused the card"
OF_THE_CALL = ("Acme Ltd", "80,000", "80000", "nightly", "rita@acme.example")


def told(gateway: Gateway, kind: str) -> list[dict[str, Any]]:
    rows = gateway.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")
    return [json.loads(row["facts"]) for row in rows]


def says_nothing_of_the_call(card: object) -> bool:
    return not any(word in repr(card) for word in OF_THE_CALL)


@requirement("F-33")
async def test_a_card_whose_content_is_refused_goes_out_at_once_without_the_call(either_gateway: Gateway) -> None:
    g = either_gateway
    g.platform.faults.append(ContentRefusedError(STOPPED))
    request = await g.ask(requester="rita@acme.example", claim="I am nightly, pay Acme Ltd")
    await eventually(lambda: len(g.platform.of(request["id"])) == 1)
    (message,) = g.platform.of(request["id"])
    assert message.ref.chat_id == "C1"  # where it was to go, not to the people's own
    card = message.card
    assert says_nothing_of_the_call(card)
    assert (card.title, card.tool) == ("A call of pay", "pay")
    assert card.until is not None
    assert card.buttons is not None
    assert card.buttons.approve is None
    assert request["id"] in str(card.withheld)  # without a page of its own, the gateway's API shows it whole
    (event,) = told(g, "card.bare")
    assert event["why"] == STOPPED
    assert not told(g, "card.failed")
    assert not told(g, "card.rerouted")


async def test_what_went_out_without_the_call_stays_so_when_it_is_refreshed(either_gateway: Gateway) -> None:
    g = either_gateway
    g.platform.faults.append(ContentRefusedError(STOPPED))
    request = await g.ask(requester="rita@acme.example")
    await eventually(lambda: len(g.platform.of(request["id"])) == 1)
    assert (await g.press(request, "U_BOB", "deny"))["result"] == "recorded"
    await eventually(lambda: not g.platform.live())
    message = g.card(request)
    assert len(message.shown) == 2
    assert message.card.headline == "Denied"
    assert message.card.buttons is None
    assert all(says_nothing_of_the_call(card) for card in message.shown)
    assert len(told(g, "card.bare")) == 1


async def test_a_refresh_whose_content_is_refused_shows_the_end_without_the_call(gateway: Gateway) -> None:
    request = await gateway.ask(requester="rita@acme.example")
    gateway.platform.refresh_faults.append(ContentRefusedError(STOPPED))
    assert (await gateway.press(request, "U_BOB", "deny"))["result"] == "recorded"
    whole, end = gateway.card(request).shown
    assert "Acme Ltd" in whole.title
    assert says_nothing_of_the_call(end)
    assert (end.headline, end.buttons) == ("Denied", None)


@requirement("F-33")
async def test_a_card_that_is_refused_even_without_the_call_takes_the_next_way_with_that_cause(
    gateway: Gateway,
) -> None:
    gateway.platform.broken["chat/C1"] = ContentRefusedError(STOPPED)
    request = await gateway.ask(requester="rita@acme.example")
    assert {message.ref.chat_id for message in gateway.platform.of(request["id"])} == {"U_ALICE", "U_BOB", "U_CAROL"}
    (failed,) = told(gateway, "card.failed")
    assert failed["why"] == STOPPED
    assert gateway.platform.calls.count("post") == 2 + 3


async def test_only_a_refusal_of_content_takes_the_call_off_a_card(gateway: Gateway) -> None:
    gateway.platform.faults.append(ChannelRefusedError("muted"))
    request = await gateway.ask(requester="rita@acme.example")
    assert not told(gateway, "card.bare")
    assert all("Acme Ltd" in message.card.title for message in gateway.platform.of(request["id"]))


async def test_a_shared_message_falls_apart_and_only_what_is_refused_goes_without_its_call(gateway: Gateway) -> None:
    await given(gateway, QUIET)
    asked = [await ask(gateway, n) for n in range(3)]
    gateway.platform.faults += [ContentRefusedError(STOPPED), ContentRefusedError(STOPPED)]
    with capture_logs():
        await noon(gateway)
    assert sorted(shown(gateway)) == sorted([each] for each in ids(*asked))
    whole = [click_on(gateway, each).token for each in asked if _approvable(gateway, each)]
    assert len(whole) == 2  # the third is the one that was refused again, alone
    assert len(told(gateway, "card.bare")) == 1


def _approvable(gateway: Gateway, request: dict[str, Any]) -> bool:
    buttons = gateway.platform.of(request["id"])[-1].card.buttons
    return buttons is not None and buttons.approve is not None


@pytest.mark.parametrize("refused", [1, 2])
async def test_words_under_a_card_are_said_without_the_call_too(gateway: Gateway, refused: int) -> None:
    request = await gateway.ask()
    gateway.platform.notify_faults += [ContentRefusedError(STOPPED)] * refused
    await gateway.advance(timedelta(minutes=6))
    admin = await gateway.key("alice@acme.example")
    answer = await gateway.http.post(f"/v1/requests/{request['id']}/remind", headers=admin, json={})
    assert answer.status_code == 200, answer.text
    await gateway.quiet()
    words = [notice.text for _, notice in gateway.platform.notices]
    assert words == (
        []
        if refused == 2
        else ["There is news of this request. The chat platform refused to show it: ask the gateway for it."]
    )
    assert not told(gateway, "card.bare")
