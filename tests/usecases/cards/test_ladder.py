"""When nobody answers, told as stories: reminders, escalation, more time, and asking again for what expired."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.domain.errors import AlreadySettledError, ConflictError, NotEligibleError, NotFoundError
from app.domain.lifecycle.consultations import Edited
from app.domain.lifecycle.lifecycle import advance
from app.storage.requests.requests import lock_request
from app.usecases.upkeep.sweep import Sweep
from app.usecases.voters.electorate import voters_of
from app.usecases.writing.carry_out import carry_out
from tests.fixtures.gateway import PAY

if TYPE_CHECKING:
    from app.ports import Click
    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway

MINUTE = timedelta(minutes=1)
ALICE, DAVE, RITA = "alice@acme.example", "dave@acme.example", "rita@acme.example"
RULE = "{id: pay, tools: [pay], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}"


async def ruled(gateway: Gateway, more: str) -> None:
    """Let the rule that asks about payments say more."""
    gateway.rewrite(RULE, RULE.replace("timeout: 30m", more))
    await gateway.reload()


def said(gateway: Gateway) -> list[str]:
    """Return what was said under cards so far."""
    return [notice.text for _, notice in gateway.platform.notices]


def facts(gateway: Gateway, kind: str) -> list[dict[str, Any]]:
    rows = gateway.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")
    return [json.loads(row["facts"]) for row in rows]


def used(gateway: Gateway, request: dict[str, Any], account: str, action: str) -> Click:
    """Press another control of the request's card in the chat."""
    return gateway.platform.use(gateway.card(request), account, action)


async def heard(gateway: Gateway, click: Click, *, channel: str = "chat") -> tuple[str, str]:
    body = (await gateway.send(click, channel=channel)).body or {}
    return str(body["result"]), str(body["sentence"])


# --- reminders --------------------------------------------------------------------------------------------------------


async def test_people_are_reminded_at_half_and_at_nine_tenths_of_their_time(gateway: Gateway) -> None:
    request = await gateway.ask()
    await gateway.advance(14 * MINUTE)
    assert said(gateway) == []
    await gateway.advance(MINUTE)
    assert said(gateway) == ["⏰ 15 min left · then it does not run: Pay Acme Ltd 80,000"]
    await gateway.advance(12 * MINUTE)
    assert said(gateway)[1:] == ["⏰ 3 min left · then it does not run: Pay Acme Ltd 80,000"]
    assert [kind for kind, _ in gateway.trail(request)].count("request.reminded") == 2
    assert gateway.card(request).card.buttons  # the card went on, with live buttons
    assert (await gateway.press(request))["result"] == "recorded"


async def test_a_reminder_mentions_those_who_have_not_answered_and_nobody_else(gateway: Gateway) -> None:
    gateway.rewrite(RULE, RULE.replace("[{of: [finance]}]", "[{of: [finance], need: 2}]"))
    await gateway.reload()
    request = await gateway.ask(requester=RITA)
    await gateway.press(request)
    await gateway.advance(15 * MINUTE)
    ((_, notice),) = gateway.platform.notices
    assert notice.mentions == ("U_BOB", "U_CAROL")  # not Alice, who approved; Rita asked for it; Olga owns the agent


async def test_reminders_stop_with_the_decision_and_can_be_switched_off(gateway: Gateway) -> None:
    request = await gateway.ask()
    await gateway.press(request)
    await gateway.advance(29 * MINUTE)
    await ruled(gateway, "timeout: 30m, remind: []")
    await gateway.ask(arguments={**PAY, "amount": 1})
    await gateway.advance(29 * MINUTE)
    assert said(gateway) == []


async def test_a_gateway_that_was_down_reminds_once_and_says_what_is_really_left(gateway: Gateway) -> None:
    await gateway.ask()
    await gateway.advance(28 * MINUTE)
    assert said(gateway) == ["⏰ 2 min left · then it does not run: Pay Acme Ltd 80,000"]


async def test_sweeps_that_run_at_once_ring_once(gateway: Gateway) -> None:
    c = gateway.container
    await ruled(gateway, "timeout: 30m, escalate: [{after: 15m, to: [legal], channels: [chat-two]}]")
    request = await gateway.ask()
    gateway.clock.advance(15 * MINUTE)  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    another = Sweep(store=c.store, book=c.book, channels=c.channels)
    swept = await asyncio.gather(c.sweep(), another(), c.sweep())
    await gateway.quiet()
    assert sum(each.rung for each in swept) == 2
    kinds = [kind for kind, _ in gateway.trail(request)]
    assert (kinds.count("request.escalated"), kinds.count("request.reminded")) == (1, 1)
    assert len(gateway.platform.in_chat("C2")) == 1


# --- escalation -------------------------------------------------------------------------------------------------------


async def test_who_is_brought_in_hears_of_it_privately_and_may_decide(gateway: Gateway) -> None:
    await ruled(gateway, "timeout: 30m, remind: [], escalate: [{after: 10m, to: [legal], channels: [chat-two]}]")
    request = await gateway.ask()
    assert (await gateway.press(request, "U_DAVE"))["result"] == "refused"
    await gateway.advance(10 * MINUTE)
    assert {message.ref.chat_id for message in gateway.platform.of(request["id"])} == {"C1", "C2", "U_ALICE", "U_DAVE"}
    assert facts(gateway, "request.escalated") == [
        {"to": ["legal"], "channels": ["chat-two"], "stages": [{"of": ["finance", "legal"], "need": 1}]}
    ]
    (row,) = gateway.rows(f"SELECT message_id FROM deliveries WHERE channel = 'chat' AND person = '{DAVE}'")
    own = next(message for message in gateway.platform.messages if message.ref.message_id == row["message_id"])
    assert own.card.own
    assert (await heard(gateway, gateway.platform.press(own, "U_DAVE", "approve")))[0] == "recorded"
    assert (await gateway.read(request))["state"] == "approved"
    assert not gateway.platform.live()  # every copy settles


async def test_who_has_answered_is_left_alone_in_their_own_copy_too(gateway: Gateway) -> None:
    asking = RULE.replace("[{of: [finance]}]", "[{of: [finance], need: 2}]")
    gateway.rewrite(
        RULE, asking.replace("timeout: 30m", "timeout: 30m, remind: [0.9], escalate: [{after: 10m, to: [legal]}]")
    )
    await gateway.reload()
    request = await gateway.ask()
    await gateway.press(request, "U_ALICE")
    await gateway.advance(10 * MINUTE)
    await gateway.advance(17 * MINUTE)
    assert sorted(ref.chat_id for ref, _ in gateway.platform.notices) == ["C1", "U_DAVE"]


async def test_nobody_is_brought_in_who_may_not_decide(gateway: Gateway) -> None:
    await ruled(gateway, "timeout: 30m, escalate: [{after: 10m, to: [legal]}]")
    request = await gateway.ask(requester=DAVE)
    await gateway.advance(10 * MINUTE)
    assert {message.ref.chat_id for message in gateway.platform.of(request["id"])} == {"C1", "U_ALICE"}
    assert (await gateway.press(request, "U_DAVE"))["result"] == "refused"


async def test_each_rung_is_climbed_in_its_turn_even_when_all_are_due_at_once(gateway: Gateway) -> None:
    ladder = "[{after: 0.5, to: [owners], channels: [chat-two]}, {after: 5m, to: [legal]}]"
    await ruled(gateway, f"timeout: 30m, remind: [], escalate: {ladder}")
    await gateway.ask()
    await gateway.advance(20 * MINUTE)
    assert [each["to"] for each in facts(gateway, "request.escalated")] == [["legal"], ["owners"]]


# --- more time --------------------------------------------------------------------------------------------------------


async def test_an_approver_adds_the_first_window_again_and_the_old_buttons_still_count(gateway: Gateway) -> None:
    request = await gateway.ask()
    old = gateway.platform.press(gateway.card(request), "U_ALICE", "approve")
    await gateway.advance(20 * MINUTE)
    assert await heard(gateway, used(gateway, request, "U_BOB", "extend")) == (
        "recorded",
        "There is time until 2026-03-01 11:00 UTC now.",
    )
    assert (await gateway.read(request))["digest"] == request["digest"]
    await gateway.advance(20 * MINUTE)  # past the first deadline
    assert (await gateway.read(request))["state"] == "pending"
    assert (await heard(gateway, old))[0] == "recorded"
    assert (await gateway.claim(request)).status_code == 200


async def test_more_time_brings_reminders_of_its_own(gateway: Gateway) -> None:
    await ruled(gateway, "timeout: 30m, remind: [0.5]")
    request = await gateway.ask()
    await gateway.send(used(gateway, request, "U_BOB", "extend"))
    await gateway.advance(15 * MINUTE)
    await gateway.advance(30 * MINUTE)
    assert said(gateway) == [
        "⏰ 45 min left · then it does not run: Pay Acme Ltd 80,000",
        "⏰ 15 min left · then it does not run: Pay Acme Ltd 80,000",
    ]


async def test_a_click_that_the_platform_sends_twice_extends_once(gateway: Gateway) -> None:
    request = await gateway.ask()
    click = used(gateway, request, "U_BOB", "extend")
    assert [(await heard(gateway, click))[0] for _ in range(2)] == ["recorded", "already"]
    assert len(facts(gateway, "request.extended")) == 1


async def test_three_times_is_enough_and_thirty_days_are(gateway: Gateway) -> None:
    request = await gateway.ask()
    heard_of = [await heard(gateway, used(gateway, request, "U_BOB", "extend")) for _ in range(4)]
    assert [result for result, _ in heard_of] == ["recorded", "recorded", "recorded", "refused"]
    assert "cannot be done any more" in heard_of[-1][1]
    long = await gateway.ask("long")  # thirty days already
    assert (await heard(gateway, used(gateway, long, "U_BOB", "extend")))[0] == "refused"


async def test_the_requester_and_an_administrator_may_ask_for_more_time_and_strangers_may_not(gateway: Gateway) -> None:
    request, extend = await gateway.ask(requester=DAVE), gateway.container.extend
    known = {"org": "acme", "request_id": request["id"]}
    assert (await heard(gateway, used(gateway, request, "U_DAVE", "extend")))[0] == "recorded"
    after = await extend.extend(**known, by="key:k1", person=None)
    assert after.extensions == 2
    with pytest.raises(NotEligibleError):
        await extend.extend(**known, by="x", person="olga@acme.example")
    with pytest.raises(NotFoundError):
        await extend.extend(org="globex", request_id=request["id"], by="x", person=None)
    stranger = await gateway.ask(arguments={**PAY, "amount": 1})
    assert (await heard(gateway, used(gateway, stranger, "U_DAVE", "extend")))[0] == "refused"
    assert ("request.extended", "key:k1") in gateway.trail(request)


async def test_what_is_over_is_not_extended(gateway: Gateway) -> None:
    request = await gateway.ask()
    click = used(gateway, request, "U_BOB", "extend")
    gateway.clock.advance(31 * MINUTE)  # pyright: ignore[reportAttributeAccessIssue] - the sweep has not come by
    assert (await heard(gateway, click))[0] == "already"
    assert (await gateway.read(request))["state"] == "expired"
    with pytest.raises(AlreadySettledError):
        await gateway.container.extend.extend(org="acme", request_id=request["id"], by="key:k1", person=None)


# --- asking again -----------------------------------------------------------------------------------------------------


async def expired(gateway: Gateway, **more: Any) -> dict[str, Any]:
    request = await gateway.ask(**more)
    await gateway.advance(30 * MINUTE)
    await gateway.container.confirm_accounts()
    assert (await gateway.read(request))["state"] == "expired"
    return request


async def open_ids(gateway: Gateway) -> list[str]:
    """Return the requests that the agent finds when it resumes."""
    listed = (await gateway.call("GET", "/v1/requests?open=true")).json()
    return [each["id"] for each in listed["items"]]


async def test_one_tap_asks_again_and_the_agent_that_resumes_finds_the_new_request(gateway: Gateway) -> None:
    request = await expired(gateway, session="s-1", requester=RITA)
    result, sentence = await heard(gateway, used(gateway, request, "U_ALICE", "reopen"))
    (new_id,) = await open_ids(gateway)
    successor = await gateway.read({"id": new_id})
    assert (result, successor["code"] in sentence) == ("recorded", True)
    (row,) = gateway.rows(f"SELECT predecessor_id, requester, session FROM requests WHERE id = '{new_id}'")
    assert row == {"predecessor_id": request["id"], "requester": RITA, "session": "s-1"}
    assert ("request.reopened", ALICE) in gateway.trail(request)
    assert (await gateway.press(successor))["result"] == "recorded"
    assert (await gateway.claim(successor)).status_code == 200
    assert (await gateway.claim(request)).json()["code"] == "not_approved"


async def test_a_second_tap_finds_the_same_request(gateway: Gateway) -> None:
    request = await expired(gateway)
    first = used(gateway, request, "U_ALICE", "reopen")
    second = used(gateway, request, "U_BOB", "reopen")
    both = await asyncio.gather(heard(gateway, first), heard(gateway, second))
    assert sorted(result for result, _ in both) == ["already", "recorded"]
    (new_id,) = await open_ids(gateway)
    code = (await gateway.read({"id": new_id}))["code"]
    assert all(code in sentence for _, sentence in both)
    gateway.clock.advance(timedelta(days=2))  # pyright: ignore[reportAttributeAccessIssue] - no key is remembered so long
    await gateway.container.confirm_accounts()
    await gateway.container.sweep.forget()
    assert code in (await heard(gateway, used(gateway, request, "U_BOB", "reopen")))[1]


async def test_a_call_that_waits_again_already_is_not_asked_a_second_time(gateway: Gateway) -> None:
    request = await expired(gateway, session="s-1")
    again = await gateway.ask(session="s-1")
    result, sentence = await heard(gateway, used(gateway, request, "U_ALICE", "reopen"))
    assert (result, again["code"] in sentence) == ("already", True)
    assert await open_ids(gateway) == [again["id"]]


@pytest.mark.parametrize(
    ("then", "sentence"),
    [("then: deny, reason: Frozen.}", "it is refused: Frozen."), ("then: allow}", "it needs no approval")],
)
async def test_rules_that_no_longer_ask_are_told_and_nothing_is_opened(
    gateway: Gateway, then: str, sentence: str
) -> None:
    request = await expired(gateway)
    gateway.rewrite(RULE, "{id: pay, tools: [pay], " + then)
    await gateway.reload()
    before = len(gateway.trail())
    result, told = await heard(gateway, used(gateway, request, "U_RITA", "reopen"))
    assert (result, sentence in told) == ("refused", True), told
    assert await open_ids(gateway) == []
    assert [kind for kind, _ in gateway.trail()[before:]] == []


async def test_who_may_not_decide_and_did_not_ask_cannot_ask_again(gateway: Gateway) -> None:
    request, reopen = await expired(gateway, requester=RITA), gateway.container.reopen
    assert (await heard(gateway, used(gateway, request, "U_DAVE", "reopen")))[0] == "refused"
    with pytest.raises(NotEligibleError):
        await reopen.reopen(org="acme", request_id=request["id"], person=DAVE)
    again = await reopen.reopen(org="acme", request_id=request["id"], person=RITA)
    assert again.predecessor_id == request["id"]
    assert (await reopen.reopen(org="acme", request_id=request["id"], person=ALICE)).id == again.id
    with pytest.raises(ConflictError, match="only what expired"):
        await reopen.reopen(org="acme", request_id=again.id, person=ALICE)


async def test_what_people_had_changed_is_not_asked_again_in_the_agents_name(gateway: Gateway) -> None:
    request, c = await gateway.ask(), gateway.container
    changed = {**PAY, "amount": 1}

    def edit(tx: Tx) -> None:
        before, now = lock_request(tx, request["id"]) or pytest.fail("it is gone")
        voters = voters_of(before, c.book.current("acme").policy, now=now)
        call = replace(before.call, arguments=changed)
        edited = replace(before, call=call, digest="another", proposed=PAY, edited_by=ALICE)
        event = Edited(by=ALICE, changed=edited, voters=voters, after=voters, facts={})
        carry_out(tx, before, advance(before, event, now=now))

    await c.store.write(edit, org="acme")
    assert (await gateway.read(request))["arguments"]["amount"] == 1
    await gateway.advance(30 * MINUTE)
    again = await c.reopen.reopen(org="acme", request_id=request["id"], person=ALICE)
    assert (dict(again.call.arguments), again.edited_by) == (PAY, None)


async def test_what_a_sub_agent_asked_still_needs_its_people_when_it_is_asked_again(gateway: Gateway) -> None:
    chief = "{id: chief, tools: [pay], agents: [chief], then: ask, stages: [{of: [legal]}], channels: [chat]}"
    gateway.rewrite("rules:\n", f"rules:\n  - {chief}\n")
    await gateway.reload()
    request = await expired(gateway, sub_agent="chief")
    again = await gateway.container.reopen.reopen(org="acme", request_id=request["id"], person=ALICE)
    assert [stage.of for stage in again.stages] == [("finance",), ("legal",)]


async def test_arguments_that_no_longer_fit_the_tool_are_told_and_not_asked(gateway: Gateway) -> None:
    request = await expired(gateway)
    gateway.rewrite("    money: [amount]\n", "    money: [amount]\n    schema: {required: [memo]}\n")
    await gateway.reload()
    result, told = await heard(gateway, used(gateway, request, "U_ALICE", "reopen"))
    assert (result, "memo" in told) == ("refused", True)
