"""How it ended, told to whoever asked and whom the file names: once each, privately, in their own language.

What is told here on the platform in memory, the stories of Slack and Feishu tell on theirs.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.text.language import Language
from app.ports import ChannelRefusedError, ChannelUnavailableError
from tests.fixtures.consulting import press
from tests.fixtures.gateway import PAY

if TYPE_CHECKING:
    from app.domain.card.card import Card
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import Message

RITA = "rita@acme.example"
RULE = "{id: pay, tools: [pay], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}"


async def asked(gateway: Gateway, more: str = "", **said: Any) -> dict[str, Any]:
    """Ask about a payment in Rita's name, under a rule that says `more`."""
    if more:
        gateway.rewrite(RULE, RULE.replace("timeout: 30m", f"timeout: 30m, {more}"))
        await gateway.reload()
    return await gateway.ask(**{"requester": RITA, **said})


def private(gateway: Gateway, request: dict[str, Any]) -> dict[str, Message]:
    """Return the cards that people have in chats of their own, by account: none has two."""
    found = [message for message in gateway.platform.of(request["id"]) if message.ref.chat_id not in {"C1", "C2"}]
    by_account = {message.ref.chat_id: message for message in found}
    assert len(by_account) == len(found)
    return by_account


def decides_nothing(card: Card) -> bool:
    return card.buttons is None


async def ended(g: Gateway, request: dict[str, Any], how: str) -> None:
    """Bring a request to an end."""
    if how == "denied":
        await g.press(request, "U_BOB", "deny")
    elif how == "expired":
        await g.advance(timedelta(minutes=31))
    else:
        await g.press(request)
        if how == "lapsed":
            await g.advance(timedelta(minutes=11))
            return
        await g.claim(request)
        if how == "unknown":
            await g.advance(timedelta(minutes=11))
            return
        await g.report(request, how)
        await g.quiet()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("denied", "“too expensive”"),
        ("expired", "in time"),
        ("lapsed", "did not run"),
        ("succeeded", "succeeded"),
        ("failed", "failed"),
        ("unknown", "not known"),
    ],
)
@pytest.mark.sampled(2)
async def test_whoever_asked_hears_each_end_once_and_in_private(gateway: Gateway, how: str, says: str) -> None:
    request = await asked(gateway)
    assert private(gateway, request) == {}  # nothing has ended
    await ended(gateway, request, how)
    assert (await gateway.read(request))["state"] == how
    mine = private(gateway, request)
    assert list(mine) == ["U_RITA"]
    assert says in f"{mine['U_RITA'].card.headline} {mine['U_RITA'].card.outcome}"
    assert decides_nothing(mine["U_RITA"].card)
    assert "not run" not in (mine["U_RITA"].card.outcome or "") or how in {"denied", "expired", "lapsed"}
    await gateway.container.sweep()
    await gateway.quiet()
    assert len(private(gateway, request)["U_RITA"].shown) == 1
    assert gateway.platform.notices == []


async def test_an_approval_is_no_end_and_what_an_agent_takes_back_brings_nobody_a_message(gateway: Gateway) -> None:
    approved, withdrawn = await asked(gateway), await asked(gateway, arguments={**PAY, "amount": 5})
    await gateway.press(approved)
    await gateway.claim(approved)
    await gateway.call("POST", f"/v1/requests/{withdrawn['id']}/cancel", {})
    await gateway.quiet()
    assert (await gateway.read(withdrawn))["state"] == "cancelled"
    assert private(gateway, approved) == private(gateway, withdrawn) == {}
    other = await asked(gateway, arguments={**PAY, "amount": 6})
    await gateway.call("POST", f"/v1/requests/{other['id']}/cancel", {"reason": "closed"}, who="admin")
    await gateway.quiet()
    assert list(private(gateway, other)) == ["U_RITA"]


async def test_people_groups_and_the_agents_owner_hear_it_where_the_rule_says_so(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await asked(g, "cc: [legal, owner, rita@acme.example]")
    await g.press(request, "U_BOB", "deny")
    mine = private(g, request)
    assert sorted(mine) == ["U_ALICE", "U_DAVE", "U_OLGA", "U_RITA"]
    assert {message.card.headline for message in mine.values()} == {"Denied"}
    assert all(decides_nothing(message.card) and message.card.controls == () for message in mine.values())
    assert (await g.verify())[1] is None


async def test_who_only_hears_that_it_expired_is_not_offered_to_ask_again(gateway: Gateway) -> None:
    request = await asked(gateway, "cc: [dave@acme.example]")
    await gateway.advance(timedelta(minutes=31))
    mine = private(gateway, request)
    assert [control.action.value for control in mine["U_RITA"].card.controls] == ["reopen"]
    assert mine["U_DAVE"].card.controls == ()


async def test_each_reads_it_in_a_language_of_their_own(gateway: Gateway) -> None:
    gateway.rewrite("{name: Rita, memory: U_RITA}", "{name: Rita, memory: U_RITA, language: zh}")
    request = await asked(gateway, "cc: [dave@acme.example]")
    await gateway.press(request, "U_BOB", "deny")
    mine = private(gateway, request)
    assert (mine["U_RITA"].card.language, mine["U_DAVE"].card.language) == (Language.ZH, Language.EN)
    assert (mine["U_RITA"].card.headline, mine["U_DAVE"].card.headline) == ("已拒绝", "Denied")


async def test_under_a_card_of_their_own_it_is_said_once_and_what_becomes_known_later_again(gateway: Gateway) -> None:
    request = await asked(gateway)
    await press(gateway, gateway.card(request), "U_ALICE", "ask", text="Which invoice?")
    gateway.platform.notices.clear()
    await ended(gateway, request, "unknown")
    body = {"status": "succeeded", "note": "the ledger has it"}
    await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", body)
    await gateway.quiet()
    said = [(ref.chat_id, notice.text, notice.mentions) for ref, notice in gateway.platform.notices]
    assert [chat for chat, _, _ in said] == ["U_RITA", "U_RITA"]
    assert "not known" in said[0][1]
    assert "succeeded" in said[1][1]
    assert list(private(gateway, request)) == ["U_RITA"]


async def test_what_is_no_longer_so_when_it_could_be_said_is_not_said(gateway: Gateway) -> None:
    request = await asked(gateway)
    await press(gateway, gateway.card(request), "U_ALICE", "ask", text="Which invoice?")
    gateway.platform.notices.clear()
    await gateway.press(request)
    await gateway.claim(request)
    gateway.platform.notify_faults.append(ChannelUnavailableError("away"))
    await gateway.report(request, "unknown")
    await gateway.quiet()
    await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", {"status": "failed", "note": "not there"})
    await gateway.quiet()
    await gateway.advance(timedelta(minutes=1))
    assert [("failed" in notice.text, "not known" in notice.text) for _, notice in gateway.platform.notices] == [
        (True, False)
    ]


async def test_who_asked_and_decided_it_needs_no_message_of_their_own_answer(gateway: Gateway) -> None:
    gateway.rewrite(RULE, RULE.replace("[finance]}", "[finance], allow_requester: true}"))
    await gateway.reload()
    request = await gateway.ask(requester=RITA)
    await gateway.press(request, "U_RITA", "deny")
    assert private(gateway, request) == {}


async def test_where_nobody_can_be_told_the_end_stands_all_the_same(gateway: Gateway) -> None:
    request = await asked(gateway, requester="stranger@elsewhere.example")
    await gateway.press(request, "U_BOB", "deny")
    assert (await gateway.read(request))["state"] == "denied"
    assert private(gateway, request) == {}


async def test_a_chat_that_refuses_it_takes_nothing_back_and_the_trail_says_so(gateway: Gateway) -> None:
    request = await asked(gateway)
    gateway.platform.broken["chat/U_RITA"] = ChannelRefusedError("the bot is muted there")
    await gateway.press(request, "U_BOB", "deny")
    assert (await gateway.read(request))["state"] == "denied"
    assert [kind for kind, _ in gateway.trail(request) if kind == "card.failed"] == ["card.failed"]


async def test_what_is_decided_by_api_alone_is_told_in_whatever_chat_they_have(gateway: Gateway) -> None:
    request = await gateway.ask("by_api", {"x": 1}, requester=RITA)
    await gateway.decide(request, "deny")
    await gateway.quiet()
    assert list(private(gateway, request)) == ["U_RITA"]
