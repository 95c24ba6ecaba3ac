"""A shared message that the platform does not take: it is found, superseded or split, and nobody is lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from app.ports import ChannelRefusedError, ChannelUnavailableError, EditClosedError
from tests.fixtures.shared_messages import (
    GROUP,
    MINUTE,
    QUIET,
    ask,
    click_on,
    given,
    ids,
    items_of,
    noon,
    places_of,
    send_on,
    shown,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

FAULTS = [ChannelRefusedError("too long"), RuntimeError("a defect")]


@pytest.mark.parametrize("fault", FAULTS, ids=["refused", "crash"])
async def test_a_shared_message_that_cannot_be_posted_falls_apart_and_nobody_is_lost(
    gateway: Gateway, fault: Exception
) -> None:
    await given(gateway, QUIET)
    asked = [await ask(gateway, n) for n in range(3)]
    gateway.platform.faults.append(fault)
    with capture_logs():  # a trace that is rendered is read from files
        await noon(gateway)
    assert sorted(shown(gateway)) == sorted([each] for each in ids(*asked))
    for request in asked:
        assert (await send_on(gateway, request))["result"] == "recorded"
    assert "card.failed" not in [kind for kind, _ in gateway.trail()]


@pytest.mark.parametrize("fault", FAULTS, ids=["refused", "crash"])
async def test_a_message_that_cannot_show_one_more_falls_apart_and_nobody_is_lost(
    either_gateway: Gateway, fault: Exception
) -> None:
    g = either_gateway
    await given(g, GROUP)
    first = await ask(g, 0)
    g.platform.refresh_faults.append(fault)
    with capture_logs():  # a trace that is rendered is read from files
        second = await ask(g, 1)
    assert shown(g) == [ids(first), ids(second)]
    for request in (first, second):
        assert (await send_on(g, request))["result"] == "recorded"


async def test_what_grows_too_long_later_is_posted_alone_and_its_old_buttons_are_refused(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    first, second, third = [await ask(gateway, n) for n in range(3)]
    old = click_on(gateway, third)
    whole = gateway.platform.messages[0].card.size()
    gateway.platform.text_budget = whole - gateway.platform.messages[0].card.also[0].size() // 2
    await send_on(gateway, first)
    assert shown(gateway) == [ids(first, second), ids(third)]
    assert ((await gateway.send(old)).body or {})["result"] == "refused"
    assert (await send_on(gateway, third))["result"] == "recorded"


@requirement("F-02", "F-03")
@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("findable", [False, True])
@pytest.mark.sampled(2)
async def test_a_shared_message_that_may_be_out_there_is_found_or_superseded_whole(
    gateway: Gateway, taken: bool, findable: bool
) -> None:
    await given(gateway, QUIET)
    asked = [await ask(gateway, n) for n in range(3)]
    gateway.platform.findable = findable
    (gateway.platform.lost if taken else gateway.platform.faults).append(
        ChannelUnavailableError("reset", ambiguous=True)
    )
    await noon(gateway)
    old = list(items_of(gateway.platform.messages[0])) if taken else []
    await gateway.advance(MINUTE)
    assert len(gateway.platform.messages) == (2 if taken and not findable else 1)
    if taken and not findable:
        for card in old:
            assert card.buttons is not None
            token = {"token": card.buttons.approve, "message_id": "m1"}
            said = await gateway.send(click_on(gateway, {"id": card.request_id}, **token))
            assert (said.body or {})["result"] == "refused"
    for request in asked:
        assert len(places_of(gateway, request)) == 1
        assert (await send_on(gateway, request))["result"] == "recorded"


@requirement("F-50")
@pytest.mark.parametrize("settled", [0, 1], ids=["the carrier", "a member"])
async def test_what_was_settled_in_a_message_of_which_nobody_knows_keeps_no_buttons_there(
    gateway: Gateway, settled: int
) -> None:
    """A worker died behind the post; then one of its requests is settled, and the platform refuses the next attempt."""
    gateway.platform.deduplicates_for = timedelta(hours=1)
    await given(gateway, QUIET)
    asked = [await ask(gateway, n) for n in range(2)]
    gateway.platform.lost.append(ChannelUnavailableError("reset", ambiguous=True))
    await noon(gateway)
    [orphan] = gateway.platform.messages
    old = {card.request_id: card.buttons for card in items_of(orphan)}
    await gateway.call("POST", f"/v1/requests/{asked[settled]['id']}/cancel", {})
    gateway.platform.faults.append(ChannelRefusedError("too long together"))
    await gateway.advance(MINUTE)
    for request in asked:
        buttons = old[request["id"]]
        assert buttons is not None
        assert orphan.ref not in [message.ref for message, _ in places_of(gateway, request)]
        click = click_on(gateway, request, token=buttons.approve, message_id=orphan.ref.message_id)
        assert ((await gateway.send(click)).body or {})["result"] == "refused"
    assert (await send_on(gateway, asked[1 - settled]))["result"] == "recorded"


async def test_a_settlement_before_a_found_message_is_shown_on_it(gateway: Gateway) -> None:
    await given(gateway, QUIET)
    asked = [await ask(gateway, n) for n in range(2)]
    gateway.platform.lost.append(ChannelUnavailableError("reset", ambiguous=True))
    await noon(gateway)
    await gateway.call("POST", f"/v1/requests/{asked[0]['id']}/cancel", {})
    await gateway.advance(MINUTE)
    [message] = gateway.platform.messages
    assert {card.request_id: card.buttons is None for card in items_of(message)} == {
        asked[0]["id"]: True,
        asked[1]["id"]: False,
    }


async def test_a_single_card_that_was_settled_before_it_was_found_shows_it(gateway: Gateway) -> None:
    gateway.platform.lost.append(ChannelUnavailableError("reset", ambiguous=True))
    request = await ask(gateway, 0)
    await gateway.call("POST", f"/v1/requests/{request['id']}/cancel", {})
    await gateway.advance(MINUTE)
    [message] = gateway.platform.messages
    assert message.card.buttons is None


async def test_a_shared_message_that_can_no_longer_be_edited_is_posted_anew_as_one(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    first, second, third, fourth = [await ask(gateway, n) for n in range(4)]
    await send_on(gateway, first)
    old = click_on(gateway, third)
    gateway.platform.refresh_faults.append(EditClosedError("deleted"))
    await send_on(gateway, second)
    assert sorted(shown(gateway)[1]) == sorted(ids(second, third, fourth))  # the first stands settled in the old one
    assert ((await gateway.send(old)).body or {})["result"] == "refused"
    for request in (third, fourth):
        assert (await send_on(gateway, request))["result"] == "recorded"
    assert not any(card.buttons for card in items_of(gateway.platform.messages[1]))


async def test_an_ageing_shared_message_is_posted_anew_as_one(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    gateway.platform.edits_for = timedelta(days=14)
    first, second, third = [await ask(gateway, n) for n in range(3)]
    await send_on(gateway, first, "deny")
    await gateway.advance(timedelta(days=13, minutes=1))
    await gateway.container.confirm_accounts()
    assert len(gateway.platform.messages) == 2
    assert sorted(shown(gateway)[1]) == sorted(ids(second, third))
    for request in (second, third):
        assert (await send_on(gateway, request))["result"] == "recorded"


@pytest.mark.heavy
async def test_an_unreachable_platform_frees_all_and_gives_each_up_in_the_end(gateway: Gateway) -> None:
    await given(gateway, QUIET)
    asked = [await ask(gateway, n) for n in range(3)]
    gateway.platform.faults.extend(ChannelUnavailableError("away") for _ in range(500))
    await noon(gateway)
    for _ in range(60):
        await gateway.advance(2 * MINUTE)
    assert {(await gateway.read(each))["state"] for each in asked} == {"undeliverable"}
    assert not gateway.rows("SELECT id FROM deliveries WHERE status = 'queued'")


async def test_one_that_joins_a_message_under_way_is_shown_as_well(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    gateway.platform.gate = asyncio.Event()
    first = await ask(gateway, 0)
    second = await ask(gateway, 1)
    gateway.platform.gate.set()
    gateway.platform.gate = None
    await gateway.quiet()
    await gateway.advance(MINUTE)
    assert shown(gateway) == [ids(first, second)]
    for request in (first, second):
        assert (await send_on(gateway, request))["result"] == "recorded"
