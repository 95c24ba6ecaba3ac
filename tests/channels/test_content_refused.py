"""Words that a platform does not let through: the card comes without the call, and is denied or read from there."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from app.ports import ChannelRefusedError, ContentRefusedError, Post
from channels.feishu.details.failures import classify
from channels.slack.simulator.simulator import Fault as SlackFault
from tests.channels.slack.conformance_slack import CARD as SLACK_CARD
from tests.channels.slack.conformance_slack import slack_stage
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.platforms import Stage


@requirement("F-33")
async def test_each_platform_that_refuses_a_word_shows_the_card_without_it(stage: Stage) -> None:
    stage.slack.world.refused_words = stage.feishu.platform.refused_words = {"Acme Ltd"}
    request = await stage.ask()
    shown = [
        json.dumps(next(each["blocks"] for each in stage.slack.view(stage.slack.room.id)), ensure_ascii=False),
        json.dumps(next(each["card"] for each in stage.feishu.view(stage.feishu_chat)), ensure_ascii=False),
    ]
    for card in shown:
        assert "A call of pay" in card
        assert "80000" not in card
        assert request["id"] in card
        assert '"text": "Deny"' in card or '"content": "Deny"' in card
        assert "Approve?" not in card
    rows = stage.gateway.rows("SELECT facts FROM audit_events WHERE kind = 'card.bare'")
    assert {json.loads(row["facts"])["channel"] for row in rows} == {"pay-slack", "pay-feishu"}
    await stage.click("feishu", request, "alice", "deny")
    await eventually(lambda: _ends(stage) == 2)
    assert await stage.state(request) == "denied"


def _ends(stage: Stage) -> int:
    """Count the cards that say how it ended; none of them holds the word."""
    cards = [json.dumps(each["blocks"]) for each in stage.slack.view(stage.slack.room.id)]
    cards += [json.dumps(each["card"]) for each in stage.feishu.view(stage.feishu_chat)]
    assert not any("Acme Ltd" in card for card in cards)
    return sum("Denied" in card for card in cards)


@pytest.mark.parametrize("words", [{"Acme Ltd"}, set[str]()])
async def test_slack_tells_a_refusal_of_content_from_any_other(words: set[str]) -> None:
    async with slack_stage() as stage:
        stage.simulator.world.refused_words = words
        if not words:
            stage.simulator.fail_next("chat.postMessage", SlackFault.REFUSED)
        with pytest.raises(ChannelRefusedError) as refused:
            await stage.channel.post(Post(card=SLACK_CARD, chat_id=stage.channel.chat_id, key="dlv_1.1"))
        assert isinstance(refused.value, ContentRefusedError) is bool(words)


@pytest.mark.parametrize(
    ("code", "of_content"), [(230022, True), (230025, True), (230028, True), (230099, True), (230002, False)]
)
def test_feishu_tells_a_refusal_of_content_from_any_other(code: int, of_content: bool) -> None:
    answer = SimpleNamespace(code=code, msg="", raw=SimpleNamespace(status_code=400, headers={}))
    with pytest.raises(ChannelRefusedError) as refused:
        classify(answer, writes=True)
    assert isinstance(refused.value, ContentRefusedError) is of_content
