"""People press buttons in Slack: over real HTTP to the channel, and what they are told comes back the same way."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.domain.request.action import Action
from app.ports import (
    ChannelRefusedError,
    ChannelUnavailableError,
    Click,
    ClickOutcome,
    ClickResult,
    HttpAnswer,
    Ignored,
    InboundCall,
    Post,
)
from channels.slack.channel import SlackChannel
from channels.slack.settings import SlackSettings
from channels.slack.simulator.simulator import CannotPressError, Fault
from tests.channels.slack.conformance_slack import (
    ALICE,
    CARD,
    HAND_OVER,
    REASON,
    SETTLED,
    SlackStage,
    controls,
    slack_stage,
    token,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


MANY = (Action.HAND_OVER, Action.ADD, Action.REMIND, Action.EXTEND)


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as ready:
        yield ready


def post_of(stage: SlackStage, key: str = "key-1") -> Post:
    return Post(card=CARD, chat_id=stage.channel.chat_id, key=key)


def outcome(result: ClickResult, sentence: str = "You have voted already.") -> ClickOutcome:
    return ClickOutcome(result=result, sentence=sentence, card=SETTLED)


class Gateway:
    """Takes clicks as the gateway would: opens a form where one is wanted, else answers with one outcome."""

    def __init__(
        self, stage: SlackStage, result: ClickResult = ClickResult.RECORDED, sentence: str = "You have voted already."
    ) -> None:
        self.stage = stage
        self.result = result
        self.sentence = sentence
        self.clicks: list[Click] = []
        self.form = REASON
        stage.receive = self.receive

    async def receive(self, call: InboundCall) -> HttpAnswer:
        inbound = self.stage.channel.read(call, now=self.stage.clock.now())
        assert isinstance(inbound, Click)
        self.clicks.append(inbound)
        if inbound.wants_form:
            await self.stage.channel.open_form(inbound, self.form)
            return HttpAnswer()
        return self.stage.channel.answer(inbound, outcome(self.result, self.sentence))


# --- clicks -----------------------------------------------------------------------------------------------------------


async def test_a_press_of_approve_reaches_the_gateway_and_shows_no_error(stage: SlackStage) -> None:
    gateway = Gateway(stage)
    ref = await stage.channel.post(post_of(stage))
    shown = await stage.click_approve(ref)
    assert (shown.status, shown.answer, shown.trouble) == (200, None, "")
    [click] = gateway.clicks
    assert (click.token, click.account_id, click.tenant) == ("sealed-approve", ALICE, "T9TK3CUKW")
    assert (click.chat_id, click.message_id, click.app_id) == (ref.chat_id, ref.message_id, ref.app_id)


async def test_a_denial_brings_its_reason_and_closes_the_modal(stage: SlackStage) -> None:
    gateway = Gateway(stage)
    ref = await stage.channel.post(post_of(stage))
    shown = await stage.click_deny(ref, "Wrong payee <@U061F7AUR>")
    assert (shown.status, shown.trouble) == (200, "")
    pressed, denied = gateway.clicks
    assert pressed.wants_form
    assert (denied.token, denied.reason, denied.via_modal) == ("sealed-deny", "Wrong payee <@U061F7AUR>", True)
    assert (denied.chat_id, denied.message_id) == (ref.chat_id, ref.message_id)
    assert stage.simulator.modal_of(ALICE) is None


async def test_a_refused_denial_says_why_in_the_modal(stage: SlackStage) -> None:
    Gateway(stage, ClickResult.REFUSED)
    ref = await stage.channel.post(post_of(stage))
    shown = await stage.click_deny(ref, "no")
    modal = stage.simulator.modal_of(ALICE)
    assert shown.trouble == ""
    assert modal is not None
    assert "You have voted already." in str(modal.view)


async def test_a_denial_that_must_be_repeated_keeps_what_was_written(stage: SlackStage) -> None:
    gateway = Gateway(stage, ClickResult.RETRY)
    ref = await stage.channel.post(post_of(stage))
    await stage.click_deny(ref, "no")
    modal = stage.simulator.modal_of(ALICE)
    assert modal is not None
    assert modal.errors == {"assent_field_reason": "You have voted already."}
    gateway.result = ClickResult.RECORDED
    assert (await stage.simulator.submit_modal(ALICE, modal.id, "no")).trouble == ""
    assert stage.simulator.modal_of(ALICE) is None


async def test_a_choice_from_the_menu_opens_its_form_and_brings_what_was_filled_in(stage: SlackStage) -> None:
    gateway = Gateway(stage, sentence="bob decides in your place now.")
    gateway.form = HAND_OVER
    stage.simulator.add_person("U0B0B00001", name="bob", email="bob@example.com")
    card = replace(CARD, controls=controls(Action.ASK, Action.HAND_OVER, Action.REMIND))
    ref = await stage.channel.post(replace(post_of(stage), card=card))
    await stage.simulator.use(ALICE, ref.chat_id, ref.message_id, "Hand over")
    modal = stage.simulator.modal_of(ALICE)
    assert modal is not None
    with pytest.raises(CannotPressError):
        await stage.simulator.submit_modal(ALICE, modal.id, {"note": "no person"})
    shown = await stage.simulator.submit_modal(ALICE, modal.id, {"Who?": "U0B0B00001", "note": "on leave"})
    pressed, handed = gateway.clicks
    assert shown.trouble == ""
    assert (pressed.token, pressed.wants_form) == (token(Action.HAND_OVER), True)
    assert (handed.token, handed.via_modal, handed.wants_form) == (token(Action.HAND_OVER), True, False)
    assert dict(handed.fields) == {"person": "U0B0B00001", "note": "on leave"}
    assert (handed.chat_id, handed.message_id, handed.account_id) == (ref.chat_id, ref.message_id, ALICE)
    assert "bob decides in your place now." in str(modal.view)


async def test_a_choice_that_needs_no_form_comes_at_once(stage: SlackStage) -> None:
    gateway = Gateway(stage)
    card = replace(CARD, controls=controls(Action.REVIEW, Action.EDIT, Action.ASK, *MANY))
    ref = await stage.channel.post(replace(post_of(stage), card=card))
    await stage.simulator.use(ALICE, ref.chat_id, ref.message_id, "More time")
    await stage.simulator.use(ALICE, ref.chat_id, ref.message_id, "See all of it")
    assert [(click.token, click.wants_form) for click in gateway.clicks] == [
        (token(Action.EXTEND), False),
        (token(Action.REVIEW), False),
    ]
    assert stage.simulator.modal_of(ALICE) is None


async def test_a_form_that_must_be_mended_keeps_what_was_written_and_says_why_at_its_first_field(
    stage: SlackStage,
) -> None:
    gateway = Gateway(stage, ClickResult.RETRY)
    gateway.form = HAND_OVER
    card = replace(CARD, controls=controls(Action.HAND_OVER))
    ref = await stage.channel.post(replace(post_of(stage), card=card))
    await stage.simulator.use(ALICE, ref.chat_id, ref.message_id, "Hand over")
    modal = stage.simulator.modal_of(ALICE)
    assert modal is not None
    await stage.simulator.submit_modal(ALICE, modal.id, {"person": ALICE})
    assert modal.errors == {"assent_field_person": "You have voted already."}
    await stage.simulator.submit_modal(ALICE, modal.id, {"person": ALICE})
    _, first, second = gateway.clicks
    assert first.event_key != second.event_key


async def test_each_request_of_a_shared_message_has_controls_of_its_own(stage: SlackStage) -> None:
    gateway = Gateway(stage)
    other = replace(
        CARD,
        buttons=replace(CARD.buttons, approve="other-approve", deny="other-deny") if CARD.buttons else None,
        controls=controls(Action.REMIND, Action.EXTEND, head="a1.0123abcd.other"),
    )
    card = replace(CARD, controls=controls(Action.REMIND, Action.EXTEND), also=(other,))
    ref = await stage.channel.post(replace(post_of(stage), card=card))
    for nth in (0, 1):
        await stage.simulator.use(ALICE, ref.chat_id, ref.message_id, "Approve", nth=nth)
        await stage.simulator.use(ALICE, ref.chat_id, ref.message_id, "More time", nth=nth)
    assert [click.token for click in gateway.clicks] == [
        "sealed-approve",
        token(Action.EXTEND),
        "other-approve",
        token(Action.EXTEND, "a1.0123abcd.other"),
    ]
    assert {click.message_id for click in gateway.clicks} == {ref.message_id}


async def test_a_card_of_ones_own_is_pressed_in_ones_own_conversation(stage: SlackStage) -> None:
    gateway = Gateway(stage)
    gateway.form = HAND_OVER
    stage.simulator.add_person("U0B0B00001", name="bob", email="bob@example.com")
    card = replace(CARD, buttons=None, own=True, controls=controls(Action.ANSWER, Action.REMIND))
    ref = await stage.channel.post(replace(post_of(stage), card=card, chat_id=ALICE))
    await stage.simulator.use(ALICE, ref.chat_id, ref.message_id, "Answer")
    assert stage.simulator.modal_of(ALICE) is not None
    with pytest.raises(CannotPressError):
        await stage.simulator.use("U0B0B00001", ref.chat_id, ref.message_id, "Answer")
    assert [(click.chat_id, click.wants_form) for click in gateway.clicks] == [(ref.chat_id, True)]


async def test_a_modal_that_comes_too_late_is_refused(stage: SlackStage) -> None:
    gateway = Gateway(stage)
    ref = await stage.channel.post(post_of(stage))
    await stage.click_approve(ref)
    stage.clock.advance(timedelta(seconds=4))
    with pytest.raises(ChannelRefusedError, match="expired_trigger_id"):
        await stage.channel.open_form(gateway.clicks[0], REASON)


async def test_a_modal_that_slack_does_not_open_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.slack.channel._MODAL_SECONDS", 0.2)
    async with slack_stage(call_seconds=30) as stage, asyncio.timeout(30):
        click = await pressed(stage)
        stage.simulator.fail_next("views.open", Fault.HANG)
        with pytest.raises(ChannelUnavailableError):
            await stage.channel.open_form(click, REASON)


async def test_a_replayed_delivery_is_the_same_click_and_a_stale_one_is_none(stage: SlackStage) -> None:
    gateway = Gateway(stage)
    await stage.click_approve(await stage.channel.post(post_of(stage)))
    delivery = stage.simulator.last_delivery
    await stage.simulator.send_raw(delivery.body, delivery.headers)
    assert gateway.clicks[0] == gateway.clicks[1]
    stage.clock.advance(timedelta(minutes=6))
    assert (await stage.simulator.send_raw(delivery.body, delivery.headers)).status == 401
    assert len(gateway.clicks) == 2


async def test_a_call_that_asks_nothing_is_ignored(stage: SlackStage) -> None:
    body, headers = stage.simulator.signed({"type": "view_closed"})
    lowered = tuple((name.lower(), value) for name, value in headers)
    assert isinstance(stage.channel.read(InboundCall(headers=lowered, body=body), now=stage.clock.now()), Ignored)


# --- private answers --------------------------------------------------------------------------------------------------


async def pressed(stage: SlackStage) -> Click:
    gateway = Gateway(stage)
    await stage.click_approve(await stage.channel.post(post_of(stage)))
    return gateway.clicks[-1]


async def test_the_person_who_clicked_is_told_privately(stage: SlackStage) -> None:
    click = await pressed(stage)
    await stage.channel.tell(click, outcome(ClickResult.REFUSED, "You may not <!channel> approve & this."))
    assert stage.private_notes() == ["You may not &lt;!channel&gt; approve &amp; this."]
    assert stage.private_notes("U0OTHER") == []
    assert stage.simulator.world.calls[-1].method != "elsewhere"


FOREIGN = [
    "https://evil.example/actions/T/1/x",
    "https://hooks.slack.com/actions/T/1/x",  # this channel's own host is the stand-in's
    "http://{own}@evil.example/x",
    "http://{own}.evil.example/x",
    "http://{own}:80/x",
    "http://user@{own}/x",
    "http://{own}\\@evil.example/x",
    "http://{own}/x?next=1",
    "http://{own}/x#y",
    "http://{own}/x\r\nHost: evil.example",
    "https://{own}/x",
    "HTTP://{own}/x",
    "http://{port}.127.0.0.1/x",
    "http://169.254.169.254/latest/meta-data/",
    "http://2130706433:{port}/x",
    "http://0x7f000001:{port}/x",
    "http://[::ffff:127.0.0.1]:{port}/x",
    "http://localhost:{port}/x",
    "file:///etc/passwd",
    "gopher://{own}/x",
    "//{own}/x",
]


@requirement("S-35")
@pytest.mark.parametrize("address", FOREIGN)
async def test_a_private_answer_goes_to_the_channels_own_host_alone(stage: SlackStage, address: str) -> None:
    own = stage.simulator.public_url.removeprefix("http://")
    told = address.format(own=own, port=own.rsplit(":", 1)[1])
    click = replace(await pressed(stage), reply_to=told)
    before = len(stage.simulator.world.calls)
    await stage.channel.tell(click, outcome(ClickResult.REFUSED))
    assert len(stage.simulator.world.calls) == before
    assert stage.private_notes() == []


@requirement("S-35")
async def test_slacks_own_host_must_be_met_by_https() -> None:
    plain = SlackSettings.model_validate(
        {"type": "slack", "bot_token": "xoxb-1234", "signing_secret": "s" * 16, "channel": "C0PAY"}
    )
    channel = SlackChannel("pay-slack", plain)
    assert channel._is_own("https://hooks.slack.com/actions/T9TK3CUKW/6209934123456/AbCdEfGhIj")
    assert not channel._is_own("http://hooks.slack.com/actions/T9TK3CUKW/6209934123456/AbCdEfGhIj")
    assert not channel._is_own("https://hooks.slack.com.evil.example/actions/T/1/A")
    assert not channel._is_own("https://hooksXslack.com/actions/T/1/A")


@requirement("S-35")
async def test_a_private_answer_carries_no_token(stage: SlackStage) -> None:
    click = await pressed(stage)
    redirecting = replace(click, reply_to=f"{stage.simulator.public_url}/elsewhere")
    await stage.channel.tell(redirecting, outcome(ClickResult.REFUSED))
    assert stage.simulator.world.calls[-1].method == "elsewhere"
    assert not stage.simulator.world.calls[-1].authorized


async def test_a_used_up_private_address_is_an_error_of_its_own(stage: SlackStage) -> None:
    click = await pressed(stage)
    stage.clock.advance(timedelta(minutes=31))
    with pytest.raises(ChannelRefusedError, match="404") as refusal:
        await stage.channel.tell(click, outcome(ClickResult.REFUSED))
    assert click.reply_to not in str(refusal.value)


async def test_what_a_modal_has_said_is_not_said_again(stage: SlackStage) -> None:
    click = replace(await pressed(stage), via_modal=True)
    await stage.channel.tell(click, outcome(ClickResult.REFUSED))
    assert stage.private_notes() == []
