"""Changes of a message that land late, or in another order than they began: it shows the present state in the end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.ports import ChannelUnavailableError, ContentRefusedError
from tests.fixtures.memory_platform import MemoryChannel
from tests.fixtures.patience import eventually
from tests.fixtures.shared_messages import GROUP, MINUTE, ask, click_on, given, items_of, places_of
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.card.card import Card
    from app.ports import MessageRef, Post
    from tests.fixtures.gateway import Gateway


class Held:
    """Holds the next change of a message before it lands, and lets all others through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.under_way, self.go, self.landed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.then: BaseException | None = None
        self._first = True
        land = MemoryChannel.refresh

        async def refresh(channel: MemoryChannel, ref: MessageRef, card: Card) -> None:
            if not self._first:
                await land(channel, ref, card)
                return
            self._first = False
            self.under_way.set()
            await self.go.wait()
            await land(channel, ref, card)
            self.landed.set()
            if self.then is not None:
                raise self.then

        monkeypatch.setattr(MemoryChannel, "refresh", refresh)


async def submit(gateway: Gateway, n: int) -> dict[str, Any]:
    """Ask without waiting for the cards: one of them is held."""
    said = await gateway.call("POST", "/v1/requests", {"tool": "long", "arguments": {"n": n}, "session": "s"})
    assert said.status_code == 202, said.text
    return said.json()["request"]


async def other_worker(gateway: Gateway) -> None:
    """Carry out what is due, beside the worker that is held."""
    worker, _ = gateway.container.work._running["acme", "chat"]
    while await worker.round():
        pass


async def settled(gateway: Gateway) -> None:
    """Let everything land that is still to be, leases of the dead included."""
    with capture_logs():
        for _ in range(4):
            await gateway.advance(MINUTE)
            await gateway.container.confirm_accounts()


FATES: dict[str, BaseException | None] = {
    "its answer is lost": ChannelUnavailableError("reset", retry_after=timedelta(seconds=1), ambiguous=True),
    "its worker dies": asyncio.CancelledError(),
    "it succeeds": None,
}


@requirement("F-50")
@pytest.mark.parametrize("fate", FATES)
async def test_an_older_change_that_lands_after_a_newer_one_leaves_no_live_button_of_what_is_settled(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    await given(gateway, GROUP)
    first, second = await ask(gateway, 0), await ask(gateway, 1)
    held = Held(monkeypatch)
    held.then = FATES[fate]
    third = await submit(gateway, 2)  # it joins; the change that shows it still shows the first one waiting
    await held.under_way.wait()
    click = click_on(gateway, first)
    said = await gateway.container.clicks("acme", gateway.container.channels.get("acme", "chat"), click)
    assert (said.body or {})["result"] == "recorded"
    await other_worker(gateway)
    assert places_of(gateway, first) == []
    held.go.set()
    await held.landed.wait()  # what it shows now may be mended before anybody has looked
    await settled(gateway)
    assert places_of(gateway, first) == []
    assert [len(places_of(gateway, each)) for each in (second, third)] == [1, 1]


@requirement("F-50")
async def test_an_older_change_that_lands_after_somebody_joined_does_not_take_them_off_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's version changes here: only who is shown."""
    await given(gateway, GROUP)
    first, second = await ask(gateway, 0), await ask(gateway, 1)
    held = Held(monkeypatch)
    third = await submit(gateway, 2)
    await held.under_way.wait()
    fourth = await submit(gateway, 3)
    await other_worker(gateway)
    held.go.set()
    await settled(gateway)
    assert [len(places_of(gateway, each)) for each in (first, second, third, fourth)] == [1, 1, 1, 1]


@requirement("F-50")
async def test_whoever_left_the_message_before_a_change_landed_is_not_shown_on_it_for_good(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await given(gateway, GROUP)
    first = await ask(gateway, 0)
    held = Held(monkeypatch)
    second = await submit(gateway, 1)
    await held.under_way.wait()
    budget = gateway.platform.text_budget
    gateway.platform.text_budget = 1  # nothing fits beside it any more
    third = click_on(gateway, first, "deny")
    await gateway.container.clicks("acme", gateway.container.channels.get("acme", "chat"), third)
    await other_worker(gateway)
    gateway.platform.text_budget = budget
    held.go.set()
    await settled(gateway)
    assert places_of(gateway, first) == []
    [(message, _)] = places_of(gateway, second)
    others = [each for each in gateway.platform.messages if each is not message]
    assert not [card for each in others for card in items_of(each) if card.buttons]
    assert not gateway.rows("SELECT id FROM deliveries WHERE shown_version < 0")


@requirement("F-03", "F-50")
@pytest.mark.parametrize("late", [ChannelUnavailableError("full", retry_after=MINUTE), ContentRefusedError("words")])
@pytest.mark.parametrize("then", ["it is cancelled", "it waits"])
async def test_a_first_attempt_that_fails_late_does_not_forget_the_card_that_a_second_one_left(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, then: str, late: Exception
) -> None:
    """The first is held beyond its lease; the second one's card arrives, and its worker dies before it can say so."""
    under_way, go, attempts = asyncio.Event(), asyncio.Event(), count(1)
    land = MemoryChannel.post

    async def post(channel: MemoryChannel, sent: Post) -> MessageRef:
        match next(attempts):
            case 1:
                under_way.set()
                await go.wait()
                raise late
            case 2:
                await land(channel, sent)
                raise asyncio.CancelledError
            case _:
                return await land(channel, sent)

    monkeypatch.setattr(MemoryChannel, "post", post)
    request = await submit(gateway, 0)
    await under_way.wait()
    gateway.rows("UPDATE outbox SET due_at = 1")
    await other_worker(gateway)
    (left,) = gateway.platform.messages
    with capture_logs() as said:
        go.set()
        await eventually(lambda: {"delivery.postponed", "delivery.bare"} & {each["event"] for each in said})
    if then == "it is cancelled":
        await gateway.call("POST", f"/v1/requests/{request['id']}/cancel", {})
    await settled(gateway)
    assert gateway.platform.messages == [left]
    assert bool(left.card.buttons) is (then == "it waits")
