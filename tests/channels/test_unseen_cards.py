"""Slack and Feishu take a card and show it nowhere, or twice; and what they say when they are asked for it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import ChannelRefusedError, ChannelUnavailableError, MessageRef, Post
from channels.feishu.simulator.simulator import Fault as FeishuFault
from channels.slack.simulator.simulator import Fault as SlackFault
from tests.channels.feishu.conformance_feishu import feishu_stage
from tests.channels.feishu.feishu_cards import a_card
from tests.channels.slack.conformance_slack import CARD, slack_stage
from tests.fixtures.gateway import ManualClock
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import open_stage, slack_id
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.fixtures.platforms import Stage

GONE = MessageRef(app_id="", tenant="", chat_id="CBR2V3XEX", message_id="1772359200.000999")
RECALLED = "om_00000000000000000000000000000000"


def slack_messages(stage: Stage) -> list[str]:
    return [str(each["ts"]) for each in stage.slack.view(stage.slack.room.id) if each["kind"] == "message"]


def feishu_messages(stage: Stage) -> list[str]:
    return [str(each["message_id"]) for each in stage.feishu.view(stage.feishu_chat)]


async def look(stage: Stage) -> None:
    """Let ten seconds pass, ask for the cards, and let the platforms have what follows."""
    clock = stage.gateway.clock
    assert isinstance(clock, ManualClock)
    clock.advance(timedelta(seconds=10))
    await stage.gateway.container.watch_cards()
    await stage.gateway.quiet()


def missing(stage: Stage) -> list[str]:
    rows = stage.gateway.rows("SELECT facts FROM audit_events WHERE kind = 'card.missing' ORDER BY seq")
    return sorted(json.loads(row["facts"])["channel"] for row in rows)


@requirement("F-30")
async def test_both_platforms_are_found_out_and_the_cards_are_there_in_the_end(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with open_stage(sqlite_url, tmp_path, platform) as stage:
        stage.slack.fail_next("chat.postMessage", SlackFault.UNSHOWN)
        stage.feishu.fail_next("send", FeishuFault.UNSHOWN)
        request = await stage.ask()
        assert slack_messages(stage) + feishu_messages(stage) == []
        await look(stage)
        await eventually(lambda: slack_messages(stage) and feishu_messages(stage))
        assert missing(stage) == ["pay-feishu", "pay-slack"]
        await stage.gateway.quiet()
        await look(stage)  # they are asked for the new ones too, and show them
        assert len(slack_messages(stage)) == len(feishu_messages(stage)) == 1
        await stage.click("slack", request, "alice")
        assert await stage.state(request) == "approved"


@requirement("F-30")
async def test_without_the_scope_nothing_is_guessed_and_the_doctor_names_it(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with open_stage(sqlite_url, tmp_path, platform) as stage:
        bot = next(token for token in stage.slack.world.tokens.values() if token.kind == "bot")
        bot.scopes = bot.scopes - {"channels:history", "groups:history"}
        stage.feishu.platform.scopes -= {"im:message:readonly"}
        stage.slack.fail_next("chat.postMessage", SlackFault.UNSHOWN)
        stage.feishu.fail_next("send", FeishuFault.UNSHOWN)
        await stage.ask()
        await look(stage)
        assert missing(stage) == []
        told = {
            name: " ".join(f"{each.what}; {each.mend}" for each in await channel.examine())
            for (_, name), channel in stage.gateway.container.channels.all().items()
        }
        assert "shows nobody" in told["pay-slack"] or "does not show" in told["pay-slack"]
        assert "channels:history" in told["pay-slack"]
        assert "does not show; grant im:message:readonly and im:message.group_msg" in told["pay-feishu"]


@requirement("F-30")
async def test_a_card_that_is_shown_twice_counts_once_and_the_copy_says_how_it_stands(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with open_stage(sqlite_url, tmp_path, platform) as stage:
        stage.slack.fail_next("chat.postMessage", SlackFault.SHOWN_TWICE)
        stage.feishu.fail_next("send", FeishuFault.SHOWN_TWICE)
        request = await stage.ask()
        (_, slack_copy), (feishu_card, feishu_copy) = slack_messages(stage), feishu_messages(stage)
        press = await stage.feishu.approve(stage.feishu_ids["alice"], feishu_copy)
        assert press.toast is not None
        assert "second copy" in str(press.toast["content"])
        await stage.slack.click(slack_id("bob"), stage.slack.room.id, slack_copy, "assent_approve")
        assert await stage.state(request) == "pending"  # nobody's press on a copy counts
        await eventually(lambda: any("second copy" in str(note) for note in notes(stage)))
        await stage.feishu.approve(stage.feishu_ids["alice"], feishu_card)
        assert await stage.state(request) == "approved"
        press = await stage.feishu.approve(stage.feishu_ids["bob"], feishu_copy)
        assert press.toast is not None
        assert "Approved by Alice" in str(press.toast["content"])
        assert stage.feishu.labels(feishu_copy) == []  # it shows the end now, like the other one
        assert [kind for kind, _ in stage.gateway.trail(request)].count("request.approved") == 1


def notes(stage: Stage) -> list[str]:
    shown = stage.slack.view(stage.slack.room.id)
    return [str(each["text"]) for each in shown if each["kind"] == "note"]


@requirement("F-30")
async def test_slack_says_which_messages_are_not_there() -> None:
    async with slack_stage() as stage:
        refs = [
            await stage.channel.post(Post(card=CARD, chat_id=stage.channel.chat_id, key=f"dlv_{n}.1")) for n in range(4)
        ]
        room, tampers = stage.simulator.room, stage.simulator.world.tampers
        del room.messages[refs[1].message_id]
        asked = (*refs, GONE)
        assert await stage.channel.list_missing(asked) == {refs[1].message_id, GONE.message_id}
        assert await stage.channel.list_missing((refs[0],)) == frozenset()
        (call, _) = stage.simulator.calls("conversations.history")
        assert call["latest"] == max(ref.message_id for ref in asked)

        def grave(answer: dict[str, Any]) -> dict[str, Any]:
            return {**answer, "messages": [{**each, "subtype": "tombstone"} for each in answer["messages"]]}

        tampers["conversations.history"] = grave  # deleted, with answers under it
        assert await stage.channel.list_missing((refs[0],)) == {refs[0].message_id}


HALVES: dict[str, dict[str, Any]] = {
    "more that it does not give": {"messages": [], "has_more": True, "response_metadata": {"next_cursor": ""}},
    "a message without its time": {"messages": [{"type": "message"}]},
    "nothing of messages": {},
    "null": {"messages": None},
    "words": {"messages": "none"},
}


@requirement("F-30", "F-46")
@pytest.mark.parametrize("half", HALVES)
async def test_half_a_history_of_slack_lets_nothing_count_as_missing(half: str) -> None:
    async with slack_stage() as stage:
        stage.simulator.world.tampers["conversations.history"] = lambda _: {"ok": True, **HALVES[half]}
        try:
            assert await stage.channel.list_missing((GONE,)) == frozenset()
        except ChannelUnavailableError:
            assert not isinstance(HALVES[half].get("messages"), list)


@requirement("F-30", "F-46")
async def test_feishu_says_which_messages_are_not_there_and_half_an_answer_says_nothing() -> None:
    async with feishu_stage() as stage:
        channel, feishu = stage.channel, stage.simulator
        ref = await channel.post(Post(card=a_card(), chat_id=channel.chat_id, key="dlv_1.1"))
        gone = MessageRef(app_id="", tenant="", chat_id=ref.chat_id, message_id=RECALLED)
        assert await channel.list_missing((ref, gone)) == {RECALLED}
        feishu.message(ref.message_id).recalled = True
        assert await channel.list_missing((ref,)) == {ref.message_id}
        for items in (None, [], "", [{}], [{"message_id": "om_another"}], 7):
            feishu.app.tampers["get_message"] = lambda whole, items=items: {**whole, "data": {"items": items}}
            with pytest.raises(ChannelUnavailableError):
                await channel.list_missing((ref,))
        del feishu.app.tampers["get_message"]
        feishu.platform.scopes.discard("im:message.group_msg")
        with pytest.raises(ChannelRefusedError, match="scope"):
            await channel.list_missing((ref,))
