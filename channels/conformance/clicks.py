"""What comes back when people press, and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.ports import ClickOutcome, ClickResult
from channels.conformance.cards import (
    APPROVE,
    CONTROLS,
    DENY,
    HAND_OVER,
    LONGEST_TOKEN,
    SETTLED,
    TYPED,
    TYPING,
    sealed,
    waiting_card,
    whole_card,
)
from channels.conformance.stage import Staged, approve, deny, missing, post

if TYPE_CHECKING:
    from channels.conformance.gateway import StandInGateway
    from channels.conformance.harness import Harness


class ClickCases(Staged):
    """Presses that count, and what is seen of them."""

    async def test_an_approving_click_comes_back_with_everything_it_must_match(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref = await post(harness)
        await approve(harness, ref)
        [click] = gateway.clicks
        assert click.token == APPROVE
        assert (click.account_id, click.chat_id, click.message_id) == (harness.account_id, ref.chat_id, ref.message_id)
        assert click.app_id == harness.channel.app_id or not harness.channel.app_id
        assert click.tenant
        assert ref.tenant in {"", click.tenant}
        assert click.event_key
        assert click.reason is None
        named = (click.token, click.app_id, click.tenant, click.account_id, click.chat_id, click.message_id)
        assert all(type(name) is str for name in (*named, click.event_key))

    async def test_a_denying_click_carries_its_reason(self, harness: Harness, gateway: StandInGateway) -> None:
        ref = await post(harness)
        await deny(harness, ref, "The amount is wrong, 金额不对.")
        [click] = gateway.clicks
        assert (click.token, click.reason) == (DENY, "The amount is wrong, 金额不对.")
        assert click.account_id == harness.account_id

    async def test_it_is_told_who_clicked(self, harness: Harness, gateway: StandInGateway) -> None:
        ref = await post(harness)
        gateway.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="One more is needed.")
        await approve(harness, ref, by=harness.other_account_id)
        await approve(harness, ref)
        assert [click.account_id for click in gateway.clicks] == [harness.other_account_id, harness.account_id]
        for click in gateway.clicks:
            account = await harness.channel.look_up(email="", account_id=click.account_id)
            assert account is not None
            assert account.tenant in {"", click.tenant}

    async def test_it_is_told_which_card_was_clicked(self, harness: Harness, gateway: StandInGateway) -> None:
        gateway.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="One more is needed.")
        refs = [await post(harness, waiting_card(value=f"No. {n}"), key=f"dlv_{n}.1") for n in (1, 2, 3)]
        assert harness.messages() == len({ref.message_id for ref in refs}) == 3
        for ref in refs:
            await approve(harness, ref)
        assert [click.message_id for click in gateway.clicks] == [ref.message_id for ref in refs]
        assert len({click.event_key for click in gateway.clicks}) == 3

    async def test_the_longest_tokens_come_back_whole(self, harness: Harness, gateway: StandInGateway) -> None:
        gateway.outcome = ClickOutcome(result=ClickResult.ALREADY, sentence="Nothing changed.")
        tokens = {letter: sealed(letter, length=LONGEST_TOKEN) for letter in "ynvrx"}
        used = zip(CONTROLS, "vrx", strict=True)
        controls = tuple(replace(control, token=tokens[letter]) for control, letter in used)
        card = replace(waiting_card(approve=tokens["y"], deny=tokens["n"]), controls=controls)
        ref = await post(harness, card)
        await approve(harness, ref)
        await deny(harness, ref, "Too long.")
        for control in controls:
            await harness.press(ref, control.label, by=harness.account_id, filled={})
        assert [click.token for click in gateway.clicks] == list(tokens.values())

    async def test_each_control_of_a_card_comes_back_with_its_own_token(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        gateway.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="Done.")
        ref = await post(harness, replace(waiting_card(), controls=CONTROLS))
        for control in CONTROLS:
            await harness.press(ref, control.label, by=harness.account_id, filled={})
        assert [click.token for click in gateway.clicks] == [control.token for control in CONTROLS]
        await harness.channel.refresh(ref, replace(SETTLED, controls=CONTROLS[:1]))
        await harness.press(ref, CONTROLS[0].label, by=harness.account_id, filled={})
        assert gateway.clicks[-1].token == CONTROLS[0].token

    async def test_each_request_of_a_shared_message_has_buttons_of_its_own(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        gateway.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="Done.")
        ref = await post(harness, replace(waiting_card(), also=(whole_card("Bo"), whole_card("Cy"))))
        await approve(harness, ref)
        for mark in ("Bo", "Cy"):
            await harness.press(ref, f"Approve {mark}", by=harness.account_id, filled={})
            await harness.press(ref, f"Deny {mark}", by=harness.account_id, filled={"reason": f"Not {mark}."})
        told = [(click.token, click.reason) for click in gateway.clicks]
        bo, cy = ((sealed("y", mark), sealed("n", mark)) for mark in ("Bo", "Cy"))
        assert told == [
            *((APPROVE, None), (bo[0], None), (bo[1], "Not Bo.")),
            *((cy[0], None), (cy[1], "Not Cy.")),
        ]

    async def test_what_must_be_typed_to_approve_comes_back(self, harness: Harness, gateway: StandInGateway) -> None:
        card = waiting_card()
        assert card.buttons is not None
        ref = await post(harness, replace(card, buttons=replace(card.buttons, typed=TYPED)))
        gateway.forms[APPROVE] = TYPING
        await harness.press(ref, "Approve", by=harness.account_id, filled={TYPED.name: "7k3m 9QXA"})
        [click] = gateway.clicks
        assert click.token == APPROVE
        assert click.fields.get(TYPED.name) == "7k3m 9QXA"

    async def test_a_form_on_somebodys_own_card_comes_back_filled_in(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        assert HAND_OVER.form is not None
        gateway.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="Handed over.")
        gateway.forms[HAND_OVER.token] = HAND_OVER.form
        own = replace(waiting_card(), own=True, controls=(HAND_OVER,))
        ref = await post(harness, own, chat_id=harness.account_id)
        filled = {"person": harness.other_account_id, "note": "<@U061F7AUR> 金额 & *co*", "more": "one\ntwo"}
        await harness.press(ref, HAND_OVER.label, by=harness.account_id, filled=filled)
        [click] = gateway.clicks
        assert click.token == HAND_OVER.token
        assert click.fields == filled
        assert (click.chat_id, click.message_id) == (ref.chat_id, ref.message_id)

    async def test_the_person_who_clicked_is_told_the_outcome(self, harness: Harness, gateway: StandInGateway) -> None:
        gateway.outcome = ClickOutcome(result=ClickResult.REFUSED, sentence="You are not an approver of this payment.")
        ref = await post(harness)
        await approve(harness, ref)
        assert harness.private_notes() == ["You are not an approver of this payment."]
        assert harness.has_buttons(ref)

    async def test_a_link_goes_to_the_person_who_clicked_alone(self, harness: Harness, gateway: StandInGateway) -> None:
        link = "https://assent.example/once/4f7d1c"
        sentence = f"Decide on the page: {link}"
        gateway.outcome = ClickOutcome(result=ClickResult.REFUSED, sentence=sentence, link=link)
        ref = await post(harness)
        await approve(harness, ref)
        public = [harness.visible_text(ref), *harness.announcements(), *(said.text for said in harness.notes(ref))]
        assert not [text for text in public if link in text]
        assert [note for note in harness.private_notes() if link in note]

    async def test_a_click_leaves_the_card_that_it_is_answered_with(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref = await post(harness)
        before = harness.visible_text(ref)
        await approve(harness, ref)
        if not harness.shows_outcome:
            assert harness.visible_text(ref) == before
            await harness.channel.refresh(ref, SETTLED)
        assert missing(harness, ref, ["Approved by Alice"]) == []
        assert not harness.has_buttons(ref)

    async def test_a_settled_card_cannot_be_clicked(self, harness: Harness, gateway: StandInGateway) -> None:
        ref = await post(harness)
        await harness.channel.refresh(ref, SETTLED)
        with pytest.raises(harness.cannot_press):
            await approve(harness, ref)
        assert gateway.clicks == []

    async def test_a_card_that_may_not_be_approved_has_no_approve_control(
        self, harness: Harness, gateway: StandInGateway
    ) -> None:
        ref = await post(harness, waiting_card(approve=None, withheld="Part of the arguments cannot be shown here."))
        assert missing(harness, ref, ["Part of the arguments cannot be shown here."]) == []
        with pytest.raises(harness.cannot_press):
            await approve(harness, ref)
        await deny(harness, ref, "Show me all of it.")
        assert [click.token for click in gateway.clicks] == [DENY]
