"""What people read on a card: all of it, and nothing that an argument could make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.domain.card.card import Fact, Tone, units
from channels.conformance.cards import HOSTILE, SETTLED, texts_of, waiting_card, whole_card
from channels.conformance.stage import Staged, missing, post

if TYPE_CHECKING:
    from channels.conformance.harness import Harness


class TextCases(Staged):
    """Cards as they stand in a chat."""

    async def test_every_text_of_a_card_is_shown(self, harness: Harness) -> None:
        card = whole_card("Al")
        assert missing(harness, await post(harness, card), texts_of(card)) == []

    async def test_every_argument_is_shown_also_where_there_are_many(self, harness: Harness) -> None:
        many = tuple(Fact(label=f"arg{n}", value=f"value {n};") for n in range(30))
        card = replace(waiting_card(), arguments=many)
        assert missing(harness, await post(harness, card), texts_of(card)) == []

    async def test_every_text_of_all_that_share_a_message_is_shown(self, harness: Harness) -> None:
        card = replace(whole_card("Al"), also=(whole_card("Bo"), whole_card("Cy")))
        assert missing(harness, await post(harness, card), texts_of(card)) == []

    async def test_every_text_of_somebodys_own_card_is_shown(self, harness: Harness) -> None:
        card = replace(whole_card("Al"), own=True)
        assert missing(harness, await post(harness, card, chat_id=harness.account_id), texts_of(card)) == []

    async def test_every_text_of_a_settled_card_is_shown(self, harness: Harness) -> None:
        asked = replace(whole_card("Al"), buttons=None, deadline=None, until=None, then=None)
        card = replace(asked, tone=Tone.BAD, headline="Denied", outcome="Denied by Alice: too much")
        ref = await post(harness, whole_card("Al"))
        await harness.channel.refresh(ref, card)
        assert missing(harness, ref, texts_of(card)) == []

    @pytest.mark.parametrize("filling", ["m", "额", '"', "🎉"])
    @pytest.mark.parametrize("pieces", [1, 40])
    async def test_a_card_just_within_the_budget_is_shown_whole(
        self, harness: Harness, filling: str, pieces: int
    ) -> None:
        labels = [f"arg{n:02}" for n in range(pieces)]
        card = replace(waiting_card(), arguments=tuple(Fact(label=label, value="") for label in labels))
        room = (harness.channel.text_budget - card.size()) // units(filling)
        lengths = [room // pieces] * (pieces - 1)
        texts = [filling * length for length in (*lengths, room - sum(lengths))]
        facts = tuple(Fact(label=label, value=text) for label, text in zip(labels, texts, strict=True))
        card = replace(card, arguments=facts)
        ref = await post(harness, card)
        assert missing(harness, ref, texts_of(card)) == []
        assert harness.visible_text(ref).count(filling) >= room
        assert harness.has_buttons(ref)

    async def test_hostile_arguments_appear_as_they_are_and_do_nothing(self, harness: Harness) -> None:
        ref = await post(harness, waiting_card(value=HOSTILE))
        assert missing(harness, ref, [HOSTILE]) == []

    async def test_a_refreshed_card_loses_its_buttons(self, harness: Harness) -> None:
        ref = await post(harness)
        await harness.channel.refresh(ref, SETTLED)
        assert not harness.has_buttons(ref)
        assert missing(harness, ref, texts_of(SETTLED)) == []
