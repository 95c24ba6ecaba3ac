"""How a message comes into a chat, changes there, and how it fails."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, get_args

import pytest
from msgspec.structs import replace

from app.ports import ChannelRefusedError, ChannelUnavailableError, EditClosedError, Notice
from channels.conformance.cards import APPROVE, HOSTILE, SETTLED, sealed, texts_of, waiting_card
from channels.conformance.harness import FaultKind
from channels.conformance.package import secrets_of
from channels.conformance.stage import Staged, approve, missing, post

if TYPE_CHECKING:
    from channels.conformance.gateway import StandInGateway
    from channels.conformance.harness import Harness


class MessageCases(Staged):
    """Messages, and what is said beside them."""

    async def test_a_posted_card_is_referred_to_in_full(self, harness: Harness) -> None:
        ref = await post(harness)
        assert ref.chat_id == harness.channel.chat_id
        assert ref.message_id
        assert ref.app_id in {"", harness.channel.app_id}
        assert [type(part) for part in (ref.app_id, ref.tenant, ref.chat_id, ref.message_id)] == [str] * 4
        assert harness.has_buttons(ref)
        assert missing(harness, ref, ["Pay 80000 CNY to Acme Ltd"]) == []

    async def test_a_card_for_one_person_goes_into_that_persons_own_chat(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        own = replace(waiting_card(), own=True, title="For you alone")
        ref = await post(harness, own, chat_id=harness.account_id)
        other = await post(harness, own, key="dlv_2.1", chat_id=harness.other_account_id)
        assert harness.messages() == 0
        assert len({ref.chat_id, other.chat_id, harness.channel.chat_id}) == 3
        assert missing(harness, ref, ["For you alone"]) == []
        await approve(harness, ref)
        [click] = gateway.clicks
        assert (click.account_id, click.chat_id, click.message_id) == (harness.account_id, ref.chat_id, ref.message_id)

    async def test_a_refreshed_card_that_still_waits_can_be_pressed_with_its_new_token(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref, other = await post(harness), await post(harness, key="dlv_2.1")
        before = harness.visible_text(other)
        again = replace(waiting_card(approve=sealed("y", "2")), progress="1 of 2 approvals", revision=2)
        await harness.channel.refresh(ref, again)
        assert missing(harness, ref, texts_of(again)) == []
        assert missing(harness, ref, ["0 of 1 approvals"])
        await approve(harness, ref)
        [click] = gateway.clicks
        assert click.token == again.buttons.approve if again.buttons else APPROVE
        assert harness.visible_text(other) == before
        assert harness.messages() == 2

    async def test_a_notice_is_said_under_the_card_and_rings_whom_it_names_alone(self, harness: Harness) -> None:
        ref, other = await post(harness), await post(harness, key="dlv_2.1")
        before = harness.visible_text(ref)
        rung = (harness.account_id, harness.other_account_id)
        await harness.channel.notify(ref, Notice(text=HOSTILE, mentions=rung, key="note-1"))
        await harness.channel.notify(ref, Notice(text="Nobody rings.", mentions=(), key="note-2"))
        first, second = harness.notes(ref)
        assert list(harness.notes(other)) == []
        assert HOSTILE in first.text
        assert sorted(first.mentions) == sorted(rung)
        assert "Nobody rings." in second.text
        assert second.mentions == ()
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
        assert list(harness.notes(ref)) == []

    async def test_a_card_that_can_no_longer_be_edited_says_so(self, harness: Harness) -> None:
        ref = await post(harness)
        harness.end_edits(ref)
        with pytest.raises(EditClosedError):
            await harness.channel.refresh(ref, SETTLED)

    async def test_what_was_never_posted_is_not_found(self, harness: Harness) -> None:
        before = harness.clock.now()
        posted = {"dlv_1.10": await post(harness, key="dlv_1.10")}
        assert await harness.channel.find(harness.channel.chat_id, "dlv_1.1", since=before) is None
        posted["dlv_1.1"] = await post(harness, key="dlv_1.1")
        for key in ("dlv_9.9", "dlv_1.100", "dlv_1."):
            assert await harness.channel.find(harness.channel.chat_id, key, since=before) is None
        assert await harness.channel.find(harness.account_id, "dlv_1.1", since=before) is None
        for key, ref in posted.items():
            found = await harness.channel.find(harness.channel.chat_id, key, since=before)
            assert found is None or (found.chat_id, found.message_id) == (ref.chat_id, ref.message_id)

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

    async def test_no_failure_tells_a_secret(self, harness: Harness) -> None:
        secrets = secrets_of(harness)
        for number, kind in enumerate(get_args(FaultKind)):
            harness.fail_next_post(kind)
            with pytest.raises((ChannelRefusedError, ChannelUnavailableError)) as caught:
                await post(harness, key=f"dlv_{number}.1")
            told = f"{caught.value!r} {caught.value} {caught.value.why}"
            assert not [secret for secret in secrets if secret in told]
