"""A card that nobody can take: private messages, then the other channels, and at last a loud and early end."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import ChannelRefusedError, ChannelUnavailableError
from app.storage.cards import undelivered as reach
from app.storage.cards.undelivered import list_late
from app.storage.engine.transaction import EVERY_ORG
from app.storage.requests.due import list_timers_due
from tests.fixtures.gateway import PAY, ManualClock, open_gateway
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

MINUTE = timedelta(minutes=1)
RULE = "{id: pay, tools: [pay], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}"
PEOPLE = {"U_ALICE", "U_BOB", "U_CAROL"}
CAUSES = ("invalid_blocks", "token_revoked", "missing_scope", "channel_not_found", "not_in_channel")


async def with_fallback(gateway: Gateway, *, channels: str = "chat") -> None:
    gateway.rewrite(RULE, RULE.replace("channels: [chat]", f"channels: [{channels}], fallback: [chat-two]"))
    await gateway.reload()


def places(gateway: Gateway, request: dict[str, Any]) -> set[str]:
    """Return the chats, and the people's own, in which a request's card is."""
    return {message.ref.chat_id for message in gateway.platform.of(request["id"])}


def told(gateway: Gateway, kind: str) -> list[dict[str, Any]]:
    rows = gateway.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")
    return [json.loads(row["facts"]) for row in rows]


@requirement("F-33")
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.sampled(3)
async def test_a_card_that_its_chat_refuses_goes_to_the_people_themselves(either_gateway: Gateway, cause: str) -> None:
    g = either_gateway
    g.platform.broken["chat/C1"] = ChannelRefusedError(cause)
    request = await g.ask(requester="rita@acme.example")
    await eventually(lambda: places(g, request) == PEOPLE)  # who asked, and whose agent it is, are not asked
    await g.quiet()
    (event,) = told(g, "card.rerouted")
    assert event["why"] == f"chat: {cause}"
    message = g.platform.in_chat("U_BOB")[-1]
    assert ((await g.send(g.platform.press(message, "U_BOB", "approve"))).body or {})["result"] == "recorded"
    await eventually(lambda: not g.platform.live())
    assert (await g.container.sweep()).total == 0  # nothing is late, on either database


@requirement("F-33")
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.sampled(3)
async def test_a_channel_that_refuses_everything_gives_way_to_the_next_and_the_others_flow(
    gateway: Gateway, cause: str
) -> None:
    await with_fallback(gateway)
    gateway.platform.broken["chat"] = ChannelRefusedError(cause)
    request = await gateway.ask()
    other = await gateway.ask("pay_two")  # has another channel from the beginning
    assert places(gateway, request) == {"C2"}
    assert places(gateway, other) == {"C2"}
    assert [each["channels"] for each in told(gateway, "card.rerouted")] == [["chat"], ["chat-two"]]
    assert (await gateway.press(request, chat="C2"))["result"] == "recorded"


async def logged(event: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """Wait for an event in the log: it is written after the rows that tell of the same."""
    out: list[str] = []

    def is_there() -> bool:
        out.append(capsys.readouterr().out)
        return event in "".join(out) + caplog.text

    await eventually(is_there)


@requirement("F-33")
async def test_when_no_way_is_left_the_request_ends_at_once_and_names_each_cause(
    gateway: Gateway, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    await with_fallback(gateway)
    gateway.platform.broken |= {
        "chat": ChannelRefusedError("token_revoked"),
        "chat-two/C2": ChannelRefusedError("not_in_channel"),
        **{f"chat-two/{who}": ChannelRefusedError("missing_scope") for who in (*PEOPLE, "U_RITA")},
    }
    request = await gateway.ask()
    seen = await gateway.read(request)
    assert seen["state"] == "undeliverable"
    assert set(seen["settled"]["reason"].split("; ")) == {
        "chat: token_revoked",
        "chat-two: not_in_channel",
        "chat-two: missing_scope",
    }
    await logged("request.undeliverable", capsys, caplog)
    assert gateway.trail(request)[-1] == ("request.undeliverable", "system")


async def test_the_persons_own_copies_of_the_other_channel_are_the_last_way(gateway: Gateway) -> None:
    await with_fallback(gateway)
    gateway.platform.broken |= {"chat": ChannelRefusedError("gone"), "chat-two/C2": ChannelRefusedError("gone")}
    request = await gateway.ask()
    assert places(gateway, request) == {*PEOPLE, "U_RITA"}
    assert (await gateway.read(request))["state"] == "pending"


async def test_people_with_keys_may_still_decide_what_no_card_can_reach(
    gateway: Gateway, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    await with_fallback(gateway, channels="chat, api")
    gateway.platform.broken |= {name: ChannelRefusedError("token_revoked") for name in ("chat", "chat-two")}
    request = await gateway.ask()
    assert (await gateway.read(request))["state"] == "pending"
    await logged("request.unreached", capsys, caplog)
    assert (await gateway.decide(request)).status_code == 200


async def test_a_card_that_is_late_goes_another_way_and_is_still_tried(gateway: Gateway) -> None:
    await with_fallback(gateway)
    gateway.platform.broken["chat"] = ChannelUnavailableError("away")
    request = await gateway.ask()
    for _ in range(3):
        await gateway.advance(50 * timedelta(seconds=1))
    assert places(gateway, request) == set()
    await gateway.advance(31 * timedelta(seconds=1))  # a tenth of the half hour is over: to the people themselves
    assert [each["why"] for each in told(gateway, "card.late")] == ["away"]
    for _ in range(5):
        await gateway.advance(timedelta(seconds=61))
    assert places(gateway, request) == {"C2"}
    gateway.platform.broken.clear()
    await gateway.advance(MINUTE)
    assert places(gateway, request) == {"C1", "C2", *PEOPLE, "U_RITA"}
    assert len(told(gateway, "card.rerouted")) == 2
    assert (await gateway.press(request))["result"] == "recorded"


async def test_both_databases_know_what_is_late_and_what_is_due(either_gateway: Gateway) -> None:
    g, store = either_gateway, either_gateway.container.store
    g.platform.broken["chat"] = ChannelUnavailableError("away")
    said = await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": PAY}, who="agent:shop")
    request_id = said.json()["request"]["id"]
    (row,) = g.rows(f"SELECT id FROM deliveries WHERE request_id = '{request_id}'")

    async def due(after: timedelta) -> tuple[list[str], list[str]]:
        def unit(tx: Tx) -> tuple[list[str], list[str]]:
            at = tx.now() + after
            return [each for _, each in list_late(tx, at, 9, awake=tx.now())], [
                each for _, each in list_timers_due(tx, at, 9)
            ]

        return await store.read(unit, org=EVERY_ORG)

    assert await due(2 * MINUTE) == ([], [])
    assert await due(4 * MINUTE) == ([row["id"]], [])
    assert await due(16 * MINUTE) == ([row["id"]], [request_id])
    assert await due(31 * MINUTE) == ([], [])  # then it expires, and nothing else happens


async def test_after_an_outage_of_the_gateway_what_waited_goes_out_as_planned_and_nowhere_else(
    config: Path, sqlite_url: str, platform: MemoryPlatform
) -> None:
    clock = ManualClock()
    async with open_gateway(sqlite_url, config, platform, clock=clock) as gateway:
        platform.gate = asyncio.Event()  # nothing gets through until the gateway is gone
        for amount in range(1, 31):
            body = {"tool": "pay", "arguments": {**PAY, "amount": amount}}
            assert (await gateway.call("POST", "/v1/requests", body)).status_code == 202
    platform.gate = None
    clock.advance(8 * MINUTE)
    async with open_gateway(sqlite_url, config, platform, clock=clock) as gateway:
        await gateway.container.sweep()
        await gateway.quiet()
        assert told(gateway, "card.late") == []
        assert [message.ref.chat_id for message in platform.messages] == ["C1"] * 30


async def test_what_is_late_is_found_without_reading_every_delivery(gateway: Gateway) -> None:
    given = {"at": 1, "soonest": 1, "awake": 1, "most": 9}
    statement, parameters = reach._LATE.bound(gateway.container.store.dialect, given)
    with closing(sqlite3.connect(gateway.url.removeprefix("sqlite:///"))) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
    assert "USING INDEX ix_outbox_due" in str(plan)
    assert all(step != "SCAN deliveries" for *_, step in plan), plan


async def test_what_is_late_is_looked_at_once(gateway: Gateway) -> None:
    gateway.platform.broken["chat"] = ChannelUnavailableError("away")
    await gateway.ask("by_api")
    await gateway.ask()
    for _ in range(9):
        await gateway.advance(timedelta(seconds=61))
    assert len(told(gateway, "card.late")) == 5  # the chat's, and four people's
    assert (await gateway.container.sweep()).late == 0


async def test_who_could_not_be_reached_before_is_tried_again_when_they_are_brought_in(gateway: Gateway) -> None:
    ladder = "timeout: 30m, escalate: [{after: 10m, to: [legal]}]"
    gateway.rewrite(RULE, RULE.replace("timeout: 30m", ladder))
    await gateway.reload()
    gateway.platform.broken |= {place: ChannelRefusedError("gone") for place in ("chat/C1", "chat/U_ALICE")}
    request = await gateway.ask()
    assert places(gateway, request) == {"U_BOB", "U_CAROL", "U_RITA"}
    gateway.platform.broken.clear()
    await gateway.advance(10 * MINUTE)
    assert places(gateway, request) == {*PEOPLE, "U_RITA", "U_DAVE"}


async def test_a_card_that_arrived_late_is_as_good_as_any(gateway: Gateway) -> None:
    gateway.platform.broken["chat/C1"] = ChannelUnavailableError("away")
    request = await gateway.ask()
    for _ in range(4):
        await gateway.advance(MINUTE)
    assert told(gateway, "card.late")
    gateway.platform.broken.clear()
    await gateway.advance(MINUTE)
    assert "C1" in places(gateway, request)
    assert gateway.rows("SELECT 1 AS one FROM deliveries WHERE error IS NOT NULL") == []
