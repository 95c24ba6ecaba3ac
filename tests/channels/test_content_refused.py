"""Words that a platform does not let through: the card comes without the call, and is denied or read from there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

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
