"""The Slack channel against a strict workspace, over real HTTP and through the official SDK."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.domain.card.card import Fact
from app.ports import (
    ChannelRefusedError,
    ChannelUnavailableError,
    EditClosedError,
    MessageRef,
    Notice,
    Post,
)
from channels.slack.channel import SlackChannel, build
from channels.slack.settings import SlackSettings
from channels.slack.simulator.simulator import Fault
from tests.channels.slack.conformance_slack import ALICE, CARD, SETTLED, SlackStage, slack_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as ready:
        yield ready


def post_of(stage: SlackStage, key: str = "key-1") -> Post:
    return Post(card=CARD, chat_id=stage.channel.chat_id, key=key)


# --- sending ----------------------------------------------------------------------------------------------------------


async def test_a_posted_card_stands_in_the_channel_and_is_told_apart_exactly(stage: SlackStage) -> None:
    ref = await stage.channel.post(post_of(stage))
    assert ref == MessageRef(
        app_id="A0APPR0VAL", tenant="T9TK3CUKW", chat_id="CBR2V3XEX", message_id="1772359200.000001"
    )
    assert "Pay 80000 CNY to Acme Ltd" in stage.visible_text(ref)
    assert stage.has_buttons(ref)


async def test_a_post_lets_slack_fetch_and_parse_nothing(stage: SlackStage) -> None:
    await stage.channel.post(post_of(stage))
    [sent] = stage.simulator.calls("chat.postMessage")
    switched = {name: sent[name] for name in ("mrkdwn", "parse", "link_names", "unfurl_links", "unfurl_media")}
    assert switched == {
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    assert sent["metadata"] == {"event_type": "assent_request", "event_payload": {"key": "key-1"}}


async def test_a_refreshed_card_shows_the_outcome_and_no_buttons(stage: SlackStage) -> None:
    ref = await stage.channel.post(post_of(stage))
    await stage.channel.refresh(ref, SETTLED)
    assert "Approved by alice" in stage.visible_text(ref)
    assert not stage.has_buttons(ref)
    assert stage.messages() == 1


async def test_a_card_that_is_too_long_is_refused_without_a_call(stage: SlackStage) -> None:
    card = replace(CARD, arguments=(Fact(label="body", value="x" * 9_001),))
    with pytest.raises(ChannelRefusedError, match="9000 whole"):
        await stage.channel.post(replace(post_of(stage), card=card))
    assert stage.simulator.world.calls == []


@requirement("F-29")
@pytest.mark.parametrize(
    ("fault", "ambiguous", "left"),
    [
        (Fault.RATE_LIMITED, False, 0),
        (Fault.SERVER_ERROR, True, 0),
        (Fault.UNAVAILABLE, True, 0),
        (Fault.FATAL_AFTER_STORE, True, 1),
        (Fault.RESET_BEFORE, True, 0),
        (Fault.RESET_AFTER_RECEIVE, True, 1),
        (Fault.BROKEN_JSON, True, 1),
        (Fault.PLAIN_TEXT, True, 0),
    ],
)
async def test_a_failing_post_says_whether_the_card_may_stand_and_is_sent_once(
    stage: SlackStage, fault: Fault, ambiguous: bool, left: int
) -> None:
    stage.simulator.fail_next("chat.postMessage", fault)
    with pytest.raises(ChannelUnavailableError) as failure:
        await stage.channel.post(post_of(stage))
    assert failure.value.ambiguous is ambiguous
    assert len(stage.simulator.calls("chat.postMessage")) == 1
    assert stage.messages() == left


@requirement("F-29")
async def test_a_hanging_post_is_given_up_as_ambiguous() -> None:
    async with slack_stage(call_seconds=0.3) as stage:
        stage.simulator.fail_next("chat.postMessage", Fault.HANG)
        with pytest.raises(ChannelUnavailableError) as failure:
            await stage.channel.post(post_of(stage))
        assert failure.value.ambiguous


async def test_an_unreachable_slack_is_not_ambiguous(stage: SlackStage) -> None:
    elsewhere = {**stage.simulator.configuration(), "api_url": "http://127.0.0.1:9/api/"}
    channel = SlackChannel("pay-slack", SlackSettings.model_validate(elsewhere))
    with pytest.raises(ChannelUnavailableError) as failure:
        await channel.post(post_of(stage))
    await channel.close()
    assert not failure.value.ambiguous


async def test_a_rate_limit_says_how_long_to_wait(stage: SlackStage) -> None:
    stage.simulator.fail_next("chat.postMessage", Fault.RATE_LIMITED)
    with pytest.raises(ChannelUnavailableError) as failure:
        await stage.channel.post(post_of(stage))
    assert failure.value.retry_after == timedelta(seconds=7)


async def test_the_token_follows_no_redirect(stage: SlackStage) -> None:
    stage.simulator.fail_next("chat.postMessage", Fault.REDIRECT)
    with pytest.raises(ChannelRefusedError, match="redirect"):
        await stage.channel.post(post_of(stage))
    assert stage.simulator.calls("elsewhere") == []


async def test_a_proxy_in_the_environment_is_not_used(stage: SlackStage, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    await stage.channel.post(post_of(stage))
    assert stage.messages() == 1


REFUSALS = {
    "not_in_channel": "invite the app",
    "is_archived": "archived",
    "token_revoked": "reinstall",
    "missing_scope": "add the scope chat:write",
}


@pytest.mark.parametrize(("code", "mend"), REFUSALS.items(), ids=REFUSALS)
async def test_a_refusal_names_slacks_code_and_the_mend_but_no_secret(stage: SlackStage, code: str, mend: str) -> None:
    token = str(stage.simulator.configuration()["bot_token"])
    match code:
        case "not_in_channel":
            stage.simulator.room.has_app = False
        case "is_archived":
            stage.simulator.room.archived = True
        case "token_revoked":
            stage.simulator.world.tokens[token].revoked = True
        case _:
            stage.simulator.world.tokens[token].scopes = frozenset({"users:read"})
    with pytest.raises(ChannelRefusedError, match=f"{code}.*{mend}") as refusal:
        await stage.channel.post(post_of(stage))
    shown = f"{refusal.value!r} {refusal.value.__cause__!r}"
    assert token not in shown
    assert "Acme" not in shown


@pytest.mark.parametrize("code", ["message_not_found", "cant_update_message"])
async def test_a_message_that_cannot_be_edited_any_more_is_told_apart(stage: SlackStage, code: str) -> None:
    ref = await stage.channel.post(post_of(stage))
    if code == "message_not_found":
        del stage.simulator.room.messages[ref.message_id]
    else:
        stage.simulator.room.messages[ref.message_id].ours = False
    with pytest.raises(EditClosedError, match=code):
        await stage.channel.refresh(ref, SETTLED)


async def test_a_failing_edit_is_never_ambiguous(stage: SlackStage) -> None:
    ref = await stage.channel.post(post_of(stage))
    stage.simulator.fail_next("chat.update", Fault.RESET_AFTER_RECEIVE)
    with pytest.raises(ChannelUnavailableError) as failure:
        await stage.channel.refresh(ref, SETTLED)
    assert not failure.value.ambiguous


def test_the_channel_says_what_it_is() -> None:
    settings = {"type": "slack", "bot_token": "xoxb-1234", "signing_secret": "s" * 16, "channel": "C0PAY"}
    channel = build("pay-slack", SlackSettings.model_validate({**settings, "language": "zh"}))
    assert (channel.name, channel.kind, channel.language, channel.chat_id) == ("pay-slack", "slack", "zh", "C0PAY")
    assert (channel.app_id, channel.deduplicates_for, channel.edits_for) == ("", timedelta(0), timedelta(days=14))
    assert (channel.text_budget, channel.opens_forms) == (9_000, True)


# --- finding ----------------------------------------------------------------------------------------------------------


async def test_a_card_left_by_a_lost_connection_is_found_by_its_key(stage: SlackStage) -> None:
    began = stage.clock.now()
    await stage.channel.post(post_of(stage, "another"))
    stage.fail_next_post("reset_after_receive")
    with pytest.raises(ChannelUnavailableError):
        await stage.channel.post(post_of(stage, "lost"))
    found = await stage.channel.find(stage.channel.chat_id, "lost", since=began)
    assert found is not None
    assert stage.simulator.room.messages[found.message_id].metadata == {
        "event_type": "assent_request",
        "event_payload": {"key": "lost"},
    }
    assert found.app_id == "A0APPR0VAL"
    assert await stage.channel.find(stage.channel.chat_id, "never sent", since=began) is None


async def test_a_card_is_found_behind_hundreds_of_later_ones(stage: SlackStage) -> None:
    began = stage.clock.now()
    ref = await stage.channel.post(post_of(stage, "first"))
    message = stage.simulator.room.messages[ref.message_id]
    for _ in range(450):
        ts = stage.simulator.world.stamp()
        stage.simulator.room.messages[ts] = dataclasses.replace(message, ts=ts, metadata=None)
    assert await stage.channel.find(stage.channel.chat_id, "first", since=began) == ref


async def test_another_apps_message_with_our_key_is_not_ours(stage: SlackStage) -> None:
    ref = await stage.channel.post(post_of(stage))
    stage.simulator.room.messages[ref.message_id].ours = False
    assert await stage.channel.find(stage.channel.chat_id, "key-1", since=stage.clock.now()) is None


async def test_without_the_history_scope_nothing_can_be_looked_for(stage: SlackStage) -> None:
    await stage.channel.post(post_of(stage))
    token = stage.simulator.world.tokens[str(stage.simulator.configuration()["bot_token"])]
    token.scopes = frozenset({"chat:write"})
    assert await stage.channel.find(stage.channel.chat_id, "key-1", since=stage.clock.now()) is None


# --- notices ----------------------------------------------------------------------------------------------------------

REMINDER = Notice(text="Still waiting: Pay <!channel> & co", mentions=(ALICE,), key="note-1")


async def test_a_notice_stands_in_the_cards_thread_and_rings_its_people_up(stage: SlackStage) -> None:
    ref = await stage.channel.post(post_of(stage))
    await stage.channel.notify(ref, REMINDER)
    [reply] = stage.replies(ref)
    assert reply["text"] == f"<@{ALICE}> Still waiting: Pay &lt;!channel&gt; &amp; co"
    assert reply["mentions"] == [ALICE]
    assert stage.messages() == 1
    assert stage.has_buttons(ref)
    sent = stage.simulator.calls("chat.postMessage")[-1]
    assert (sent["thread_ts"], sent["parse"], sent["link_names"]) == (ref.message_id, "none", False)
    assert (sent["mrkdwn"], sent["unfurl_links"], sent["unfurl_media"]) == (False, False, False)


async def test_a_notice_rings_nobody_up_whom_it_does_not_name(stage: SlackStage) -> None:
    ref = await stage.channel.post(post_of(stage))
    hostile = f"<@{ALICE}> <!everyone> @here"
    await stage.channel.notify(ref, Notice(text=hostile, mentions=("!here", "channel"), key="note-1"))
    [reply] = stage.replies(ref)
    assert reply["mentions"] == []
    assert reply["text"] == f"&lt;@{ALICE}&gt; &lt;!everyone&gt; @here"


@pytest.mark.parametrize(
    ("fault", "ambiguous", "left"),
    [
        (Fault.RATE_LIMITED, False, 0),
        (Fault.SERVER_ERROR, True, 0),
        (Fault.RESET_AFTER_RECEIVE, True, 1),
        (Fault.FATAL_AFTER_STORE, True, 1),
    ],
)
async def test_a_notice_that_fails_says_whether_it_may_have_been_said(
    stage: SlackStage, fault: Fault, ambiguous: bool, left: int
) -> None:
    ref = await stage.channel.post(post_of(stage))
    stage.simulator.fail_next("chat.postMessage", fault)
    with pytest.raises(ChannelUnavailableError) as failure:
        await stage.channel.notify(ref, REMINDER)
    assert failure.value.ambiguous is ambiguous
    assert len(stage.replies(ref)) == left


async def test_a_notice_under_a_card_that_is_gone_is_refused(stage: SlackStage) -> None:
    ref = await stage.channel.post(post_of(stage))
    with pytest.raises(ChannelRefusedError, match="thread_not_found"):
        await stage.channel.notify(replace(ref, message_id="1.000001"), REMINDER)


# --- direct messages --------------------------------------------------------------------------------------------------


async def test_a_card_for_one_person_stands_in_their_own_conversation(stage: SlackStage) -> None:
    ref = await stage.channel.post(replace(post_of(stage), chat_id=ALICE))
    assert ref.chat_id.startswith("D")
    assert ref.chat_id == stage.simulator.direct(ALICE)
    assert stage.messages() == 0
    assert "Pay 80000 CNY" in stage.visible_text(ref)
    await stage.channel.refresh(ref, SETTLED)
    await stage.channel.notify(ref, REMINDER)
    assert "Approved by alice" in stage.visible_text(ref)
    assert len(stage.replies(ref)) == 1


async def test_a_lost_card_for_one_person_is_found_in_their_own_conversation(stage: SlackStage) -> None:
    began = stage.clock.now()
    stage.fail_next_post("reset_after_receive")
    with pytest.raises(ChannelUnavailableError):
        await stage.channel.post(replace(post_of(stage, "lost"), chat_id=ALICE))
    found = await stage.channel.find(ALICE, "lost", since=began)
    assert found is not None
    assert found.chat_id == stage.simulator.direct(ALICE)
    assert await stage.channel.find(ALICE, "never sent", since=began) is None
    assert await stage.channel.find(stage.channel.chat_id, "lost", since=began) is None


@pytest.mark.parametrize("scope", ["im:write", "im:history"])
async def test_without_the_scopes_for_direct_messages_nothing_can_be_looked_for(stage: SlackStage, scope: str) -> None:
    await stage.channel.post(replace(post_of(stage), chat_id=ALICE))
    token = stage.simulator.world.tokens[str(stage.simulator.configuration()["bot_token"])]
    token.scopes = token.scopes - {scope}
    assert await stage.channel.find(ALICE, "key-1", since=stage.clock.now()) is None


async def test_a_slack_that_does_not_answer_is_no_proof_that_nothing_is_there(stage: SlackStage) -> None:
    stage.simulator.fail_next("conversations.open", Fault.SERVER_ERROR)
    with pytest.raises(ChannelUnavailableError):
        await stage.channel.find(ALICE, "key-1", since=stage.clock.now())


@pytest.mark.parametrize("nobody", ["U0NOBODY", "U0G0NE0001", "U0B0T00001"])
async def test_a_card_for_nobody_is_refused(stage: SlackStage, nobody: str) -> None:
    with pytest.raises(ChannelRefusedError, match="channel_not_found"):
        await stage.channel.post(replace(post_of(stage), chat_id=nobody))
    assert await stage.channel.find(nobody, "key-1", since=stage.clock.now()) is None
