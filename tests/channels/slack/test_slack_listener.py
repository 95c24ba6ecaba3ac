"""Socket Mode end to end: the SDK's own client, a real WebSocket, the same checks, and a clean stop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from app.ports import (
    CallbackRejectedError,
    Click,
    ClickOutcome,
    ClickResult,
    HttpAnswer,
    InboundCall,
    Post,
)
from channels.conformance.harness import StillClock
from channels.slack.channel import ListeningSlackChannel
from channels.slack.client import SlackClient
from channels.slack.listener import SocketListener
from channels.slack.settings import SlackSettings
from channels.slack.simulator.simulator import Fault, SlackSimulator
from tests.channels.slack.conformance_slack import ALICE, CARD, REASON, SETTLED
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.ports import Inbound, MessageRef


class Line:
    """A listening channel, its workspace, and what it received."""

    def __init__(self, slack: SlackSimulator, channel: ListeningSlackChannel) -> None:
        self.slack = slack
        self.channel = channel
        self.received: list[Inbound] = []
        self.result = ClickResult.RECORDED
        self.fails = False
        self.held: asyncio.Event | None = None
        self.entered = asyncio.Event()

    async def receive(self, inbound: Inbound) -> HttpAnswer:
        self.received.append(inbound)
        self.entered.set()
        if self.held is not None:
            await self.held.wait()
        if self.fails:
            raise RuntimeError("the database is away")
        if not isinstance(inbound, Click):
            return HttpAnswer()
        if inbound.wants_form:
            await self.channel.open_form(inbound, REASON)
            return HttpAnswer()
        return self.channel.answer(inbound, ClickOutcome(result=self.result, sentence="Too late.", card=SETTLED))

    async def post(self) -> MessageRef:
        return await self.channel.post(Post(card=CARD, chat_id=self.channel.chat_id, key="k"))

    async def press(self, ref: MessageRef, action: str = "assent_approve") -> str:
        return (await self.slack.click(ALICE, ref.chat_id, ref.message_id, action)).trouble


@asynccontextmanager
async def line() -> AsyncIterator[Line]:
    async with SlackSimulator(clock=StillClock()) as slack, asyncio.TaskGroup() as tasks:
        slack.add_person(ALICE, name="alice", email="alice@example.com")
        channel = ListeningSlackChannel(
            "pay-slack", SlackSettings.model_validate(slack.configuration(receive="socket")), call_seconds=HANGS
        )
        ready = Line(slack, channel)
        listening = tasks.create_task(channel.listen(ready.receive))
        async with asyncio.timeout(30):
            await slack.links.wait_open()
        try:
            yield ready
        finally:
            listening.cancel()
            async with asyncio.timeout(30):
                await asyncio.wait([listening])
                await slack.links.wait_none()
            await channel.close()


async def test_a_press_comes_on_the_connection_and_is_answered() -> None:
    async with line() as on:
        ref = await on.post()
        assert await on.press(ref) == ""
        [click] = on.received
        assert isinstance(click, Click)
        assert (click.token, click.account_id, click.message_id) == ("sealed-approve", ALICE, ref.message_id)
        assert on.slack.last_delivery.headers == ()  # it did not come by HTTP


async def test_a_denial_goes_through_its_modal_and_says_what_became_of_it() -> None:
    async with line() as on:
        on.result = ClickResult.ALREADY
        await on.press(await on.post(), "assent_deny")
        modal = on.slack.modal_of(ALICE)
        assert modal is not None
        shown = await on.slack.submit_modal(ALICE, modal.id, "not now")
        assert shown.trouble == ""
        assert "Too late." in str(modal.view)
        denied = on.received[-1]
        assert isinstance(denied, Click)
        assert (denied.reason, denied.via_modal) == ("not now", True)


async def test_a_gateway_that_fails_stays_silent_and_the_connection_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.slack.simulator.clicks._DEADLINE_SECONDS", 0.3)
    async with line() as on:
        ref = await on.post()
        on.fails = True
        with capture_logs() as logs:
            assert await on.press(ref) == "We had some trouble connecting. Try again?"
        assert [entry["event"] for entry in logs] == ["callback.failed"]
        assert "sealed-approve" not in str(logs)
        on.fails = False
        assert await on.press(ref) == ""


async def test_frames_pass_the_same_checks_as_webhooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.slack.simulator.clicks._DEADLINE_SECONDS", 0.3)
    async with line() as on:
        ref = await on.post()
        on.slack.world.app_id = "A0THER0001"
        assert await on.press(ref) != ""
        assert on.received == []


async def test_a_connection_that_slack_takes_away_is_replaced() -> None:
    async with line() as on, asyncio.timeout(30):
        ref = await on.post()
        await on.slack.links.ask_to_reconnect()
        await on.slack.links.wait_open(2)
        assert await on.press(ref) == ""


async def test_a_connection_that_breaks_is_replaced() -> None:
    async with line() as on, asyncio.timeout(30):
        ref = await on.post()
        await on.slack.links.drop()
        await on.slack.links.wait_open(2)
        assert await on.press(ref) == ""


@pytest.mark.parametrize("what", ["address", "handshake", "silence"])
async def test_a_start_that_fails_is_tried_again_with_a_fresh_ticket(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr("channels.slack.listener._FIRST_PAUSE", 0.0)
    monkeypatch.setattr("channels.slack.listener._CONNECT_SECONDS", 0.3)
    async with SlackSimulator(clock=StillClock()) as slack, asyncio.TaskGroup() as tasks:
        if what == "handshake":
            slack.world.refuse_sockets = 1
        else:
            slack.fail_next("apps.connections.open", Fault.UNAVAILABLE if what == "address" else Fault.PLAIN_TEXT)
        channel = ListeningSlackChannel("p", SlackSettings.model_validate(slack.configuration(receive="socket")))
        listening = tasks.create_task(channel.listen(Line(slack, channel).receive))
        async with asyncio.timeout(30):
            await slack.links.wait_open()
        assert len(slack.calls("apps.connections.open")) == 2
        listening.cancel()
        async with asyncio.timeout(30):
            await asyncio.wait([listening])
        await channel.close()


async def test_a_connection_that_stays_down_is_given_up_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.slack.listener._WATCH_SECONDS", 0.05)
    async with line() as on, asyncio.timeout(30):
        on.slack.world.refuse_sockets = 1  # the SDK would now try a used-up ticket for ever
        await on.slack.links.drop()
        await on.slack.links.wait_open(2)
        assert await on.press(await on.post()) == ""


async def test_other_envelopes_are_acknowledged_and_left_alone() -> None:
    async with line() as on:
        ack = await on.slack.links.deliver({"type": "event_callback"}, "E1", kind="events_api")
        assert (ack.trouble, ack.answer, on.received) == ("", None, [])


async def test_a_stop_lets_a_click_finish_first() -> None:
    async with SlackSimulator(clock=StillClock()) as slack, asyncio.TaskGroup() as tasks:
        slack.add_person(ALICE, name="alice", email="alice@example.com")
        channel = ListeningSlackChannel("p", SlackSettings.model_validate(slack.configuration(receive="socket")))
        on = Line(slack, channel)
        on.held = asyncio.Event()
        listening = tasks.create_task(channel.listen(on.receive))
        async with asyncio.timeout(30):
            await slack.links.wait_open()
            pressing = tasks.create_task(on.press(await on.post()))
            await on.entered.wait()
            listening.cancel()
            for _ in range(50):  # every chance to stop too early
                await asyncio.sleep(0)
            on.held.set()
            assert await pressing == ""
            await asyncio.wait([listening])
            await slack.links.wait_none()
        assert listening.cancelled()
        await channel.close()


async def test_nothing_of_the_connection_is_left_after_a_stop() -> None:
    before = asyncio.all_tasks()
    async with line() as on:
        await on.press(await on.post())
    await asyncio.sleep(0)
    assert {task for task in asyncio.all_tasks() - before if "slack_sdk" in repr(task)} == set()


async def test_a_token_that_is_refused_is_one_line_and_a_long_pause() -> None:
    pauses: list[float] = []
    enough = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 6:
            enough.set()
            await asyncio.Event().wait()

    async with SlackSimulator(clock=StillClock()) as slack, asyncio.TaskGroup() as tasks:
        client = SlackClient(SlackSettings.model_validate(slack.configuration(receive="socket")), timeout=2)
        nobody = Line(slack, ListeningSlackChannel("unused", client._settings)).receive
        listener = SocketListener(client, nobody, name="pay", app_token="xapp-1-other", app_id="", sleep=pause)
        with capture_logs() as told:
            listening = tasks.create_task(listener.run())
            async with asyncio.timeout(30):
                await enough.wait()
        listening.cancel()
        await client.close()
    refused = [entry for entry in told if entry["event"] == "connection.refused"]
    assert len(refused) == len(told) == 6
    assert {entry["mend"] for entry in refused} == {"assent doctor"}
    assert all("invalid_auth" in entry["why"] for entry in refused)
    assert "xapp" not in str(told)
    assert pauses == [15, 30, 60, 120, 240, 300]


async def test_a_listening_channel_takes_no_webhooks() -> None:
    async with SlackSimulator(clock=StillClock()) as slack:
        channel = ListeningSlackChannel("p", SlackSettings.model_validate(slack.configuration(receive="socket")))
        body, headers = slack.signed({"type": "view_closed"})
        call = InboundCall(headers=tuple((name.lower(), value) for name, value in headers), body=body)
        with pytest.raises(CallbackRejectedError):
            channel.read(call, now=slack.world.clock.now())
