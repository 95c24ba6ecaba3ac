"""Escalation, expiry, asking again, and platforms that take no card: through the official SDKs, on both platforms."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from channels.slack.simulator.state import Fault as SlackFault
from tests.fixtures.gateway import PAY
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import slack_id
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.platforms import Stage

MINUTE = timedelta(minutes=1)
CHANNELS = "  channels:\n  - pay-slack\n  - pay-feishu\n  - api\n"
PEOPLE = ("alice", "bob", "rita")  # of finance; Olga owns the agent


async def only(stage: Stage, channel: str, *, more: str = "") -> None:
    """Let the rule ask in one channel alone."""
    stage.gateway.rewrite(CHANNELS, f"  channels: [{channel}]\n{more}")
    await stage.gateway.reload()


def places(stage: Stage, request: dict[str, Any], status: str = "live") -> list[tuple[str, str | None]]:
    """Return where the copies of a request's card are: channel, and whose own."""
    rows = stage.gateway.rows(
        f"SELECT channel, person FROM deliveries WHERE request_id = '{request['id']}' AND status = '{status}' "
        "ORDER BY channel, person"
    )
    return [(row["channel"], row["person"] and str(row["person"]).partition("@")[0]) for row in rows]


def rerouted(stage: Stage) -> list[str]:
    rows = stage.gateway.rows("SELECT facts FROM audit_events WHERE kind = 'card.rerouted' ORDER BY seq")
    return [json.loads(row["facts"])["why"] for row in rows]


def own_card(stage: Stage, who: str) -> str:
    """Return the message in a person's own conversation with the app, on Slack."""
    return str(stage.slack.view(stage.slack.direct(slack_id(who)))[-1]["ts"])


@requirement("F-33")
@pytest.mark.parametrize("fault", ["poison card", "removed bot", "deleted channel"])
async def test_a_slack_channel_that_takes_no_card_gives_way_to_its_people(stage: Stage, fault: str) -> None:
    await only(stage, "pay-slack")
    room = stage.slack.room
    match fault:
        case "poison card":
            stage.slack.fail_next("chat.postMessage", SlackFault.REFUSED)
        case "removed bot":
            room.has_app = False
        case _:
            del stage.slack.world.rooms[room.id]
    request = await stage.gateway.ask()
    await eventually(lambda: len(places(stage, request)) == len(PEOPLE))
    assert places(stage, request) == [("pay-slack", who) for who in PEOPLE]
    (why,) = rerouted(stage)
    assert why.startswith("pay-slack: ")
    await stage.slack.click(
        slack_id("bob"), stage.slack.direct(slack_id("bob")), own_card(stage, "bob"), "assent_approve"
    )
    assert await stage.state(request) == "approved"
    await stage.gateway.quiet()
    await eventually(lambda: len(places(stage, request, "retired")) == len(PEOPLE))  # every copy settles


@requirement("F-33")
@pytest.mark.parametrize("fault", ["revoked token", "missing scope"])
async def test_a_slack_app_that_may_not_speak_gives_way_to_feishu(stage: Stage, fault: str) -> None:
    await only(stage, "pay-slack", more="  fallback: [pay-feishu]\n")
    for token in stage.slack.world.tokens.values():
        if token.kind == "bot" and fault == "revoked token":
            token.revoked = True
        elif token.kind == "bot":
            token.scopes -= {"chat:write"}
    request = await stage.gateway.ask()
    await eventually(lambda: places(stage, request) == [("pay-feishu", None)])
    await stage.click("feishu", request, "alice")
    assert await stage.state(request) == "approved"
    assert {"revoked token": "token_revoked", "missing scope": "missing_scope"}[fault] in rerouted(stage)[-1]


@requirement("F-33")
@pytest.mark.parametrize("fault", ["removed bot", "missing scope"])
async def test_a_feishu_app_that_is_shut_out_gives_way_and_slack_flows_on(stage: Stage, fault: str) -> None:
    stage.gateway.rewrite("tools:\n  pay:", "tools:\n  tell: {}\n  pay:")
    stage.gateway.rewrite(
        "rules:\n", "rules:\n- {id: chat, tools: [tell], then: ask, stages: [{of: [finance]}], channels: [pay-slack]}\n"
    )
    await only(stage, "pay-feishu", more="  fallback: [pay-slack]\n")
    if fault == "removed bot":
        stage.feishu.platform.bot_chats.clear()
    else:
        stage.feishu.platform.scopes.clear()
    request = await stage.gateway.ask()
    other = await stage.gateway.ask("tell", {"n": 1})
    await eventually(lambda: places(stage, other) == [("pay-slack", None)])
    expected = [("pay-feishu", who) for who in PEOPLE] if fault == "removed bot" else [("pay-slack", None)]
    await eventually(lambda: places(stage, request) == expected)


@requirement("F-33")
async def test_when_both_platforms_are_shut_the_request_ends_and_names_both(stage: Stage) -> None:
    await only(stage, "pay-slack", more="  fallback: [pay-feishu]\n")
    for token in stage.slack.world.tokens.values():
        token.revoked = True
    stage.feishu.platform.scopes.clear()
    request = await stage.gateway.ask()
    said = f"SELECT settled_reason FROM requests WHERE id = '{request['id']}' AND status = 'undeliverable'"
    await eventually(lambda: stage.gateway.rows(said))
    (row,) = stage.gateway.rows(said)
    assert "pay-slack: " in row["settled_reason"]
    assert "token_revoked" in row["settled_reason"]
    assert "pay-feishu: " in row["settled_reason"]
    assert "99991672" in row["settled_reason"]


async def test_an_escalation_brings_people_and_a_second_platform_in_and_every_copy_settles(stage: Stage) -> None:
    await only(stage, "pay-slack", more="  escalate: [{after: 10m, to: [dave@acme.example], channels: [pay-feishu]}]\n")
    request = await stage.gateway.ask()
    await eventually(lambda: places(stage, request) == [("pay-slack", None)])
    await stage.gateway.advance(10 * MINUTE)
    everywhere = [("pay-feishu", None), ("pay-feishu", "dave"), ("pay-slack", None), ("pay-slack", "dave")]
    await eventually(lambda: sorted(places(stage, request), key=str) == sorted(everywhere, key=str))
    await stage.gateway.container.confirm_accounts()
    await stage.slack.click(
        slack_id("dave"), stage.slack.direct(slack_id("dave")), own_card(stage, "dave"), "assent_approve"
    )
    assert await stage.state(request) == "approved"
    await stage.gateway.quiet()
    await eventually(lambda: sorted(places(stage, request, "retired"), key=str) == sorted(everywhere, key=str))


@pytest.mark.parametrize("door", ["slack", "feishu"])
@pytest.mark.heavy
async def test_what_expired_is_asked_again_with_one_tap(stage: Stage, door: str) -> None:
    request = await stage.ask()
    await stage.gateway.advance(30 * MINUTE)
    await stage.gateway.container.confirm_accounts()
    await stage.gateway.quiet()
    await eventually(lambda: len(places(stage, request, "retired")) == 2)
    assert await stage.state(request) == "expired"
    if door == "slack":
        await stage.slack.use(slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "Ask again")
    else:
        await stage.feishu.press(stage.feishu_ids["alice"], stage.feishu_message(request), "Ask again")
    known = f"SELECT id FROM requests WHERE predecessor_id = '{request['id']}'"
    await eventually(lambda: stage.gateway.rows(known))
    (row,) = stage.gateway.rows(known)
    again = await stage.gateway.read({"id": row["id"]})
    await stage.gateway.quiet()
    await eventually(lambda: len(places(stage, again)) == 2)
    await stage.click(door, again, "bob")
    assert await stage.state(again) == "approved"
    assert again["arguments"]["amount"] == PAY["amount"]


@pytest.mark.parametrize("door", ["slack", "feishu"])
async def test_more_time_and_reminders_on_both_platforms(stage: Stage, door: str) -> None:
    request = await stage.ask()
    if door == "slack":
        await stage.slack.use(slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "More time")
    else:  # a chat's card leads to one's own, which has the rest
        alice = stage.feishu_ids["alice"]
        await stage.feishu.press(alice, stage.feishu_message(request), "More…")
        await stage.gateway.quiet()
        await eventually(lambda: ("pay-feishu", "alice") in places(stage, request))
        own = str(stage.feishu.view(stage.feishu.own_chat(alice))[-1]["message_id"])
        await stage.feishu.press(alice, own, "More time")
    extended = f"SELECT 1 AS one FROM requests WHERE id = '{request['id']}' AND extensions = 1"
    await eventually(lambda: stage.gateway.rows(extended))
    await stage.gateway.advance(45 * MINUTE)
    await eventually(
        lambda: "15 min left · then" in json.dumps(stage.slack.view(stage.slack.room.id), ensure_ascii=False)
    )
    message = stage.feishu_message(request)
    await eventually(lambda: "15 min left · then" in str(stage.feishu.remarks(message)))
    assert f"<@{slack_id('bob')}>" in json.dumps(stage.slack.view(stage.slack.room.id))
