"""What every channel must do, in the same sentences for all: real calls to a strict stand-in of each platform.

class TestPaper(ChannelConformance):
def set_up(self) -> AbstractAsyncContextManager[Harness]:
return paper_harness()
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from msgspec.structs import replace

from app.domain.card.card import Fact
from app.ports import (
    AccountStatus,
    CallbackRejectedError,
    ChannelRefusedError,
    ChannelUnavailableError,
    Click,
    ClickOutcome,
    ClickResult,
    MessageRef,
    Notice,
    Post,
)
from channels.conformance.cards import APPROVE, DENY, HOSTILE, SETTLED, waiting_card
from channels.conformance.gateway import StandInGateway

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from app.domain.card.card import Card
    from channels.conformance.harness import FaultKind, Harness


async def post(harness: Harness, card: Card | None = None, key: str = "dlv_1.1") -> MessageRef:
    """Post a card into the channel's chat."""
    return await harness.channel.post(Post(card=card or waiting_card(), chat_id=harness.channel.chat_id, key=key))


@pytest.mark.asyncio
class ChannelConformance:
    """The suite. Subclass it for one platform, with `set_up`, under a name that pytest collects."""

    def set_up(self) -> AbstractAsyncContextManager[Harness]:
        """Return a context in which a new harness stands; entered once for each test."""
        raise NotImplementedError

    @pytest_asyncio.fixture
    async def harness(self) -> AsyncGenerator[Harness]:
        """Set the stand-in up, with the channel before it."""
        async with self.set_up() as harness:
            yield harness

    @pytest.fixture
    def gateway(self, harness: Harness) -> StandInGateway:
        """Stand behind the callback."""
        return StandInGateway(harness)

    async def test_the_spec_says_what_the_channel_is(self, harness: Harness) -> None:
        spec, channel = harness.spec, harness.channel
        assert channel.kind == spec.kind
        assert channel.text_budget == spec.limits.text_budget
        assert channel.opens_forms == spec.limits.opens_forms
        assert channel.deduplicates_for == spec.limits.deduplicates_for
        assert channel.edits_for == spec.limits.edits_for

    async def test_a_posted_card_is_referred_to_in_full(self, harness: Harness) -> None:
        ref = await post(harness)
        assert ref.chat_id == harness.channel.chat_id
        assert ref.message_id
        assert ref.app_id in {"", harness.channel.app_id}
        assert harness.has_buttons(ref)
        assert "Pay 80000 CNY to Acme Ltd" in harness.visible_text(ref)

    async def test_every_text_of_the_card_is_shown(self, harness: Harness) -> None:
        card = replace(waiting_card(), arguments=tuple(Fact(label=f"arg{n}", value=f"value {n}") for n in range(12)))
        text = harness.visible_text(await post(harness, card))
        shown = [card.headline, card.title, card.tool, card.footer, card.progress or ""]
        shown += [part for fact in (*card.facts, *card.arguments) for part in (fact.label, fact.value)]
        assert [part for part in shown if part not in text] == []

    async def test_what_people_added_and_what_shares_the_message_is_shown(self, harness: Harness) -> None:
        changes = (Fact(label="Changed by Ann: amount", value="90000 → 80000"),)
        dialogue = (
            Fact(label="Ann asks", value="Whose invoice is it?"),
            Fact(label="Rex answers", value="Acme's, of May"),
        )
        other = replace(
            waiting_card(value="Beta Ltd"), title="Pay 7 CNY to Beta Ltd", changes=changes, footer="Q2W3-8RTY · req_02"
        )
        card = replace(waiting_card(), changes=changes, dialogue=dialogue, also=(other,))
        text = harness.visible_text(await post(harness, card))
        shown = [card.footer, other.title, other.footer, "Beta Ltd"]
        shown += [part for fact in (*changes, *dialogue) for part in (fact.label, fact.value)]
        assert [part for part in shown if part not in text] == []
        assert text.count("90000 → 80000") == 2

    async def test_a_notice_leaves_the_card_as_it_is(self, harness: Harness) -> None:
        ref = await post(harness)
        before = harness.visible_text(ref)
        await harness.channel.notify(ref, Notice(text=HOSTILE, mentions=(harness.account_id,), key="note-1"))
        assert harness.visible_text(ref) == before
        assert harness.has_buttons(ref)

    async def test_an_announcement_stands_in_the_chat_by_itself_and_parses_nothing(self, harness: Harness) -> None:
        ref = await post(harness)
        before = harness.visible_text(ref)
        await harness.channel.announce(
            harness.channel.chat_id, Notice(text=f"Broken:\n{HOSTILE}", mentions=(), key="ann-1")
        )
        assert harness.announcements() == [f"Broken:\n{HOSTILE}"]
        assert harness.visible_text(ref) == before

    async def test_a_refreshed_card_loses_its_buttons(self, harness: Harness) -> None:
        ref = await post(harness)
        await harness.channel.refresh(ref, SETTLED)
        assert not harness.has_buttons(ref)
        assert "Approved by Alice" in harness.visible_text(ref)

    async def test_an_approving_click_comes_back_with_everything_it_must_match(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref = await post(harness)
        await harness.click_approve(ref)
        [click] = gateway.clicks
        assert click.token == APPROVE
        assert (click.account_id, click.chat_id, click.message_id) == (harness.account_id, ref.chat_id, ref.message_id)
        assert click.app_id == harness.channel.app_id or not harness.channel.app_id
        assert click.tenant
        assert ref.tenant in {"", click.tenant}
        assert click.event_key
        assert click.reason is None

    async def test_a_denying_click_carries_its_reason(self, harness: Harness, gateway: StandInGateway) -> None:
        ref = await post(harness)
        await harness.click_deny(ref, "The amount is wrong, 金额不对.")
        [click] = gateway.clicks
        assert (click.token, click.reason) == (DENY, "The amount is wrong, 金额不对.")
        assert click.account_id == harness.account_id

    async def test_the_person_who_clicked_is_told_the_outcome(self, harness: Harness, gateway: StandInGateway) -> None:
        gateway.outcome = ClickOutcome(result=ClickResult.REFUSED, sentence="You are not an approver of this payment.")
        ref = await post(harness)
        await harness.click_approve(ref)
        assert harness.private_notes() == ["You are not an approver of this payment."]
        assert harness.has_buttons(ref)

    async def test_a_call_that_was_changed_on_its_way_is_rejected(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        await harness.click_approve(await post(harness))
        genuine = harness.calls[-1]
        assert harness.channel.read(genuine, now=harness.clock.now())
        for at in range(0, len(genuine.body), max(1, len(genuine.body) // 40)):
            changed = genuine.body[:at] + bytes([genuine.body[at] ^ 1]) + genuine.body[at + 1 :]
            with pytest.raises(CallbackRejectedError):
                harness.channel.read(replace(genuine, body=changed), now=harness.clock.now())

    async def test_an_old_call_is_rejected(self, harness: Harness, gateway: StandInGateway) -> None:
        await harness.click_approve(await post(harness))
        for late in (timedelta(seconds=301), timedelta(seconds=-301)):
            with pytest.raises(CallbackRejectedError):
                harness.channel.read(harness.calls[-1], now=harness.clock.now() + late)

    async def test_a_call_sent_again_has_the_same_key_and_another_click_another(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref = await post(harness)
        gateway.outcome = dataclasses.replace(gateway.outcome, card=None)
        await harness.click_approve(ref)
        again = harness.channel.read(harness.calls[-1], now=harness.clock.now())
        harness.clock.advance(timedelta(seconds=1))
        await harness.click_approve(ref)
        first, second = gateway.clicks
        assert isinstance(again, Click)
        assert again.event_key == first.event_key
        assert second.event_key != first.event_key

    async def test_a_settled_card_cannot_be_clicked(self, harness: Harness, gateway: StandInGateway) -> None:
        ref = await post(harness)
        await harness.channel.refresh(ref, SETTLED)
        with pytest.raises(harness.cannot_press):
            await harness.click_approve(ref)
        assert gateway.clicks == []

    async def test_a_rate_limit_is_passed_on_with_its_wait(self, harness: Harness) -> None:
        harness.fail_next_post("rate_limited")
        with pytest.raises(ChannelUnavailableError) as caught:
            await post(harness)
        assert caught.value.retry_after is not None
        assert caught.value.retry_after > timedelta(0)
        assert not caught.value.ambiguous
        assert harness.messages() == 0

    @pytest.mark.parametrize("kind", ["server_error", "reset_after_receive"])
    async def test_a_post_that_may_have_been_taken_says_so(self, harness: Harness, kind: FaultKind) -> None:
        harness.fail_next_post(kind)
        with pytest.raises(ChannelUnavailableError) as caught:
            await post(harness)
        assert caught.value.ambiguous

    async def test_a_post_whose_answer_was_lost_leaves_one_card_when_it_is_done_again(self, harness: Harness) -> None:
        before = harness.clock.now()
        harness.fail_next_post("reset_after_receive")
        with pytest.raises(ChannelUnavailableError):
            await post(harness)
        ref = None
        if not harness.channel.deduplicates_for:
            ref = await harness.channel.find(harness.channel.chat_id, "dlv_1.1", since=before)
        ref = ref or await post(harness)
        assert harness.messages() == 1
        assert harness.has_buttons(ref)

    async def test_a_refusal_is_final(self, harness: Harness) -> None:
        harness.fail_next_post("refused")
        with pytest.raises(ChannelRefusedError) as caught:
            await post(harness)
        assert caught.value.why
        assert harness.messages() == 0

    async def test_hostile_arguments_appear_as_they_are_and_do_nothing(self, harness: Harness) -> None:
        ref = await post(harness, waiting_card(value=HOSTILE))
        text = harness.visible_text(ref)
        unescaped = (
            text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        )  # where the platform's wire escapes
        assert HOSTILE in text or HOSTILE in unescaped

    async def test_a_card_that_may_not_be_approved_has_no_approve_control(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref = await post(harness, waiting_card(approve=None, withheld="Part of the arguments cannot be shown here."))
        assert "Part of the arguments cannot be shown here." in harness.visible_text(ref)
        with pytest.raises(harness.cannot_press):
            await harness.click_approve(ref)
        await harness.click_deny(ref, "Show me all of it.")
        assert [click.token for click in gateway.clicks] == [DENY]

    async def test_people_are_found_by_e_mail_with_their_standing(self, harness: Harness) -> None:
        for status, email in harness.people.items():
            account = await harness.channel.look_up(email=email, account_id="")
            assert account is not None
            assert account.status is status
        assert await harness.channel.look_up(email=harness.unknown_email, account_id="") is None
        known = await harness.channel.look_up(email="", account_id=harness.account_id)
        assert known is not None
        assert (known.account_id, known.status) == (harness.account_id, AccountStatus.ACTIVE)
