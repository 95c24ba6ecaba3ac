"""What every channel must do, in the same sentences for all: real HTTP to a strict stand-in of each platform."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.card import Buttons, Card, Fact, Language, Tone
from app.domain.form import Field, Form
from app.ports import (
    AccountStatus,
    CallbackRejectedError,
    Challenge,
    ChannelRefusedError,
    ChannelUnavailableError,
    Click,
    ClickOutcome,
    ClickResult,
    HttpAnswer,
    Ignored,
    InboundCall,
    MessageRef,
    Notice,
    Post,
)
from channels.feishu.simulator.simulator import CannotPressError as CannotPressOnFeishuError
from channels.slack.simulator.simulator import CannotPressError as CannotPressOnSlackError
from tests.channels.conformance_feishu import feishu_stage
from tests.channels.conformance_slack import slack_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CANNOT_PRESS = (CannotPressOnFeishuError, CannotPressOnSlackError)
STAGES = {"feishu": feishu_stage, "slack": slack_stage}
APPROVE, DENY = "a1.k1.handle.y.mac", "a1.k1.handle.n.mac"
HOSTILE = "<!channel> <at id=all></at> *bold* [Approve](https://evil.example) `code` <@U061F7AUR> &lt; :tada: {{x}}"
REASON = Form(
    title="Deny",
    submit="Deny",
    cancel="Cancel",
    note="Pay 80000 CNY to Acme Ltd",
    fields=(Field(name="reason", label="Reason", hint="Why not?"),),
)


def waiting_card(*, approve: str | None = APPROVE, withheld: str | None = None, value: str = "Acme Ltd") -> Card:
    return Card(
        request_id="req_01",
        revision=1,
        language=Language.EN,
        tone=Tone.WAITING,
        headline="Approval needed",
        title="Pay 80000 CNY to Acme Ltd",
        tool="oa__purchase_pay",
        facts=(Fact(label="Payee", value=value), Fact(label="Amount", value="80000")),
        arguments=(Fact(label="memo", value=value),),
        agent_says=Fact(label="The agent says", value=value),
        footer="7K3M-9QXA · req_01",
        outcome=None,
        progress="0 of 1 approvals",
        withheld=withheld,
        deadline=datetime(2026, 3, 1, 10, 30, tzinfo=UTC),
        buttons=Buttons(
            approve=approve,
            deny=DENY,
            approve_label="Approve",
            deny_label="Deny",
            reason_label="Reason",
            reason_hint="Why not?",
            confirm_title="Approve?",
            confirm_text="Pay 80000 CNY to Acme Ltd",
            cancel_label="Cancel",
        ),
    )


SETTLED = replace(
    waiting_card(),
    tone=Tone.GOOD,
    headline="Approved",
    buttons=None,
    deadline=None,
    outcome="Approved by Alice",
    revision=2,
)


class Gateway:
    """What stands behind the callback: it records clicks and gives the answer it was told to give."""

    def __init__(self, stage: Any) -> None:
        self.stage = stage
        self.clicks: list[Click] = []
        self.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="Your vote counts.", card=SETTLED)
        stage.receive = self.receive

    async def receive(self, call: InboundCall) -> HttpAnswer:
        try:
            inbound = self.stage.channel.read(call, now=self.stage.clock.now())
        except CallbackRejectedError:
            return HttpAnswer(status=401)
        match inbound:
            case Challenge():
                return inbound.answer
            case Ignored():
                return HttpAnswer()
            case Click() if inbound.wants_form:
                await self.stage.channel.open_form(inbound, REASON)
                return HttpAnswer()
            case Click():
                self.clicks.append(inbound)
                answer = self.stage.channel.answer(inbound, self.outcome)
                await self.stage.channel.tell(inbound, self.outcome)
                return answer
        raise AssertionError(inbound)


@pytest.fixture(params=sorted(STAGES))
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(STAGES[request.param](call_seconds=1.0))


@pytest.fixture
def gateway(stage: Any) -> Gateway:
    return Gateway(stage)


async def post(stage: Any, card: Card | None = None, key: str = "dlv_1.1") -> MessageRef:
    return await stage.channel.post(Post(card=card or waiting_card(), chat_id=stage.channel.chat_id, key=key))


async def test_a_posted_card_is_referred_to_in_full(stage: Any) -> None:
    ref = await post(stage)
    assert ref.chat_id == stage.channel.chat_id
    assert ref.message_id
    assert ref.app_id in {"", stage.channel.app_id}
    assert stage.has_buttons(ref)
    assert "Pay 80000 CNY to Acme Ltd" in stage.visible_text(ref)


async def test_every_text_of_the_card_is_shown(stage: Any) -> None:
    card = replace(waiting_card(), arguments=tuple(Fact(label=f"arg{n}", value=f"value {n}") for n in range(12)))
    text = stage.visible_text(await post(stage, card))
    shown = [card.headline, card.title, card.tool, card.footer, card.progress or ""]
    shown += [part for fact in (*card.facts, *card.arguments) for part in (fact.label, fact.value)]
    assert [part for part in shown if part not in text] == []


async def test_what_people_added_and_what_shares_the_message_is_shown(stage: Any) -> None:
    changes = (Fact(label="Changed by Ann: amount", value="90000 → 80000"),)
    dialogue = (Fact(label="Ann asks", value="Whose invoice is it?"), Fact(label="Rex answers", value="Acme's, of May"))
    other = replace(
        waiting_card(value="Beta Ltd"), title="Pay 7 CNY to Beta Ltd", changes=changes, footer="Q2W3-8RTY · req_02"
    )
    card = replace(waiting_card(), changes=changes, dialogue=dialogue, also=(other,))
    text = stage.visible_text(await post(stage, card))
    shown = [card.footer, other.title, other.footer, "Beta Ltd"]
    shown += [part for fact in (*changes, *dialogue) for part in (fact.label, fact.value)]
    assert [part for part in shown if part not in text] == []
    assert text.count("90000 → 80000") == 2


async def test_a_notice_leaves_the_card_as_it_is(stage: Any) -> None:
    ref = await post(stage)
    before = stage.visible_text(ref)
    await stage.channel.notify(ref, Notice(text=HOSTILE, mentions=(stage.account_id,), key="note-1"))
    assert stage.visible_text(ref) == before
    assert stage.has_buttons(ref)


async def test_an_announcement_stands_in_the_chat_by_itself_and_parses_nothing(stage: Any) -> None:
    ref = await post(stage)
    before = stage.visible_text(ref)
    await stage.channel.announce(stage.channel.chat_id, Notice(text=f"Broken:\n{HOSTILE}", mentions=(), key="ann-1"))
    assert stage.announcements() == [f"Broken:\n{HOSTILE}"]
    assert stage.visible_text(ref) == before


async def test_a_refreshed_card_loses_its_buttons(stage: Any) -> None:
    ref = await post(stage)
    await stage.channel.refresh(ref, SETTLED)
    assert not stage.has_buttons(ref)
    assert "Approved by Alice" in stage.visible_text(ref)


async def test_an_approving_click_comes_back_with_everything_it_must_match(stage: Any, gateway: Gateway) -> None:
    ref = await post(stage)
    await stage.click_approve(ref)
    [click] = gateway.clicks
    assert click.token == APPROVE
    assert (click.account_id, click.chat_id, click.message_id) == (stage.account_id, ref.chat_id, ref.message_id)
    assert click.app_id == stage.channel.app_id or not stage.channel.app_id
    assert click.tenant
    assert ref.tenant in {"", click.tenant}
    assert click.event_key
    assert click.reason is None


async def test_a_denying_click_carries_its_reason(stage: Any, gateway: Gateway) -> None:
    ref = await post(stage)
    await stage.click_deny(ref, "The amount is wrong, 金额不对.")
    [click] = gateway.clicks
    assert (click.token, click.reason) == (DENY, "The amount is wrong, 金额不对.")
    assert click.account_id == stage.account_id


async def test_the_person_who_clicked_is_told_the_outcome(stage: Any, gateway: Gateway) -> None:
    gateway.outcome = ClickOutcome(result=ClickResult.REFUSED, sentence="You are not an approver of this payment.")
    ref = await post(stage)
    await stage.click_approve(ref)
    assert stage.private_notes() == ["You are not an approver of this payment."]
    assert stage.has_buttons(ref)


async def test_a_call_that_was_changed_on_its_way_is_rejected(stage: Any, gateway: Gateway) -> None:
    await stage.click_approve(await post(stage))
    genuine = stage.calls[-1]
    assert stage.channel.read(genuine, now=stage.clock.now())
    for at in range(0, len(genuine.body), max(1, len(genuine.body) // 40)):
        changed = genuine.body[:at] + bytes([genuine.body[at] ^ 1]) + genuine.body[at + 1 :]
        with pytest.raises(CallbackRejectedError):
            stage.channel.read(replace(genuine, body=changed), now=stage.clock.now())


async def test_an_old_call_is_rejected(stage: Any, gateway: Gateway) -> None:
    await stage.click_approve(await post(stage))
    for late in (timedelta(seconds=301), timedelta(seconds=-301)):
        with pytest.raises(CallbackRejectedError):
            stage.channel.read(stage.calls[-1], now=stage.clock.now() + late)


async def test_a_call_sent_again_has_the_same_key_and_another_click_another(stage: Any, gateway: Gateway) -> None:
    ref = await post(stage)
    gateway.outcome = replace(gateway.outcome, card=None)
    await stage.click_approve(ref)
    again = stage.channel.read(stage.calls[-1], now=stage.clock.now())
    stage.clock.advance(timedelta(seconds=1))
    await stage.click_approve(ref)
    first, second = gateway.clicks
    assert again.event_key == first.event_key
    assert second.event_key != first.event_key


async def test_a_settled_card_cannot_be_clicked(stage: Any, gateway: Gateway) -> None:
    ref = await post(stage)
    await stage.channel.refresh(ref, SETTLED)
    with pytest.raises(CANNOT_PRESS):
        await stage.click_approve(ref)
    assert gateway.clicks == []


async def test_a_rate_limit_is_passed_on_with_its_wait(stage: Any) -> None:
    stage.fail_next_post("rate_limited")
    with pytest.raises(ChannelUnavailableError) as caught:
        await post(stage)
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > timedelta(0)
    assert not caught.value.ambiguous
    assert stage.messages() == 0


@pytest.mark.parametrize("kind", ["server_error", "reset_after_receive"])
async def test_a_post_that_may_have_been_taken_says_so(stage: Any, kind: str) -> None:
    stage.fail_next_post(kind)
    with pytest.raises(ChannelUnavailableError) as caught:
        await post(stage)
    assert caught.value.ambiguous


async def test_a_post_whose_answer_was_lost_leaves_one_card_when_it_is_done_again(stage: Any) -> None:
    before = stage.clock.now()
    stage.fail_next_post("reset_after_receive")
    with pytest.raises(ChannelUnavailableError):
        await post(stage)
    ref = None
    if not stage.channel.deduplicates_for:
        ref = await stage.channel.find(stage.channel.chat_id, "dlv_1.1", since=before)
    ref = ref or await post(stage)
    assert stage.messages() == 1
    assert stage.has_buttons(ref)


async def test_a_refusal_is_final(stage: Any) -> None:
    stage.fail_next_post("refused")
    with pytest.raises(ChannelRefusedError) as caught:
        await post(stage)
    assert caught.value.why
    assert stage.messages() == 0


async def test_hostile_arguments_appear_as_they_are_and_do_nothing(stage: Any) -> None:
    ref = await post(stage, waiting_card(value=HOSTILE))
    text = stage.visible_text(ref)
    unescaped = (
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    )  # where the platform's wire escapes
    assert HOSTILE in text or HOSTILE in unescaped


async def test_a_card_that_may_not_be_approved_has_no_approve_control(stage: Any, gateway: Gateway) -> None:
    ref = await post(stage, waiting_card(approve=None, withheld="Part of the arguments cannot be shown here."))
    assert "Part of the arguments cannot be shown here." in stage.visible_text(ref)
    with pytest.raises(CANNOT_PRESS):
        await stage.click_approve(ref)
    await stage.click_deny(ref, "Show me all of it.")
    assert [click.token for click in gateway.clicks] == [DENY]


async def test_people_are_found_by_e_mail_with_their_standing(stage: Any) -> None:
    for status, email in stage.people.items():
        account = await stage.channel.look_up(email=email, account_id="")
        assert account is not None
        assert account.status is status
    assert await stage.channel.look_up(email=stage.unknown_email, account_id="") is None
    known = await stage.channel.look_up(email="", account_id=stage.account_id)
    assert (known.account_id, known.status) == (stage.account_id, AccountStatus.ACTIVE)
