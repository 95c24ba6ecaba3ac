"""Like requests in one message: each with its own buttons, and nobody lost when the message cannot be shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import ChannelUnavailableError
from app.storage.cards import bundles
from app.storage.engine.transaction import Statement
from tests.fixtures.shared_messages import (
    DIGEST,
    GROUP,
    MINUTE,
    QUIET,
    ask,
    click_on,
    given,
    ids,
    items_of,
    noon,
    send_on,
    shown,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.storage.engine.dialect import Dialect
    from tests.fixtures.gateway import Gateway

LONG = "{id: long, tools: [long], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30d"


async def low_risk(gateway: Gateway) -> None:
    path = gateway.config / "acme.yaml"
    path.write_text(path.read_text().replace(LONG, LONG + ", risk: low"))


# --- who shares a message ---------------------------------------------------------------------------------------------


async def test_what_waits_for_the_digest_goes_out_together(gateway: Gateway) -> None:
    await low_risk(gateway)
    await given(gateway, DIGEST)
    asked = [await ask(gateway, n, session=f"s-{n}") for n in range(7)]
    assert not gateway.platform.messages
    await noon(gateway)
    assert [len(each) for each in shown(gateway)] == [5, 2]
    assert sorted(each for message in shown(gateway) for each in message) == sorted(ids(*asked))


async def test_a_digest_leaves_alone_what_is_no_low_risk(gateway: Gateway) -> None:
    await low_risk(gateway)
    await given(gateway, DIGEST)
    low = await ask(gateway, 1)
    normal = await gateway.ask("pay")
    assert shown(gateway) == [[normal["id"]]]
    await noon(gateway)
    assert shown(gateway) == [[normal["id"]], [low["id"]]]


async def test_a_like_request_of_the_session_joins_the_card_that_is_out(either_gateway: Gateway) -> None:
    g = either_gateway
    await given(g, GROUP)
    first, second, third = [await ask(g, n) for n in range(3)]
    assert shown(g) == [ids(first, second, third)]
    assert all(card.buttons for card in items_of(g.platform.messages[0]))
    for request in (second, third):
        [posted] = [
            row["facts"]
            for row in g.rows(
                f"SELECT facts FROM audit_events WHERE kind = 'card.posted' AND request_id = '{request['id']}'"
            )
        ]
        assert '"message":"m1"' in posted
        assert '"carrier":' in posted
        assert '"approvable":true' in posted


async def test_each_trail_says_what_of_the_message_was_its_own(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    for n in range(3):
        await ask(gateway, n)
    rows = gateway.rows("SELECT facts FROM audit_events WHERE kind = 'card.posted'")
    assert len({row["facts"].partition('"card_hash":"')[2][:64] for row in rows}) == 3


@pytest.mark.parametrize(
    ("attention", "more"),
    [
        ("\nattention: {read_for: 4s}\n", {}),
        (GROUP, {"session": "another"}),
        (GROUP, {"tool": "pay_two"}),
        (GROUP, {"who": "agent:other"}),
    ],
    ids=["not configured", "another session", "another tool", "another agent"],
)
async def test_what_is_not_like_it_has_a_card_of_its_own(
    gateway: Gateway, attention: str, more: dict[str, Any]
) -> None:
    await given(gateway, attention)
    first = await ask(gateway, 1)
    second = await ask(gateway, 2, **more)
    assert shown(gateway)[:2] == [ids(first), ids(second)]


async def test_calls_without_a_session_are_like_no_others(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    await gateway.ask("long", {"n": 1})
    await gateway.ask("long", {"n": 2})
    assert len(gateway.platform.messages) == 2


async def test_a_high_risk_always_rings_its_own_bell(gateway: Gateway) -> None:
    path = gateway.config / "acme.yaml"
    path.write_text(path.read_text().replace(LONG, LONG + ", risk: high"))
    await given(gateway, GROUP)
    assert len({tuple(ids(await ask(gateway, n))) for n in range(3)}) == 3
    assert [len(each) for each in shown(gateway)] == [1, 1, 1]


async def test_a_card_is_joined_for_a_while_only(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    first, second = await ask(gateway, 1), None
    gateway.clock.advance(11 * MINUTE)  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    second = await ask(gateway, 2)
    assert shown(gateway) == [ids(first), ids(second)]


async def test_a_message_carries_five_at_most(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    for n in range(7):
        await ask(gateway, n)
    assert [len(each) for each in shown(gateway)] == [5, 2]


async def test_only_what_fits_whole_shares_a_message(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    await ask(gateway, 0)
    gateway.platform.text_budget = gateway.platform.messages[0].card.size() * 2 + 60
    for n in range(1, 4):
        await ask(gateway, n)
    assert [len(each) for each in shown(gateway)] == [2, 2]
    assert all(card.withheld is None for message in gateway.platform.messages for card in items_of(message))


async def test_a_card_without_approve_is_never_shared(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    await ask(gateway, 0)
    await gateway.ask("long", {"text": "x" * 20_000}, session="s")
    await ask(gateway, 1)
    assert [len(each) for each in shown(gateway)] == [2, 1]


async def test_settled_cards_are_joined_no_more(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    first = await ask(gateway, 0)
    await send_on(gateway, first)
    second = await ask(gateway, 1)
    assert shown(gateway) == [ids(first), ids(second)]


async def test_what_waits_in_quiet_hours_goes_out_together_where_it_is_alike(gateway: Gateway) -> None:
    await given(gateway, QUIET)
    asked = [await ask(gateway, n) for n in range(3)]
    other = await ask(gateway, 3, session="another")
    await noon(gateway)
    assert sorted(shown(gateway), key=len) == [ids(other), shown(gateway)[0]]
    assert sorted(shown(gateway)[0]) == sorted(ids(*asked))


async def test_what_was_settled_before_the_digest_is_not_in_it(gateway: Gateway) -> None:
    await given(gateway, QUIET)
    gateway.platform.faults.append(ChannelUnavailableError("busy"))
    first, second, third = [await ask(gateway, n) for n in range(3)]
    await noon(gateway)  # taken together, and not sent
    carrier = gateway.rows("SELECT request_id FROM deliveries WHERE id = carrier_id")[0]["request_id"]
    passengers = [each for each in (first, second, third) if each["id"] != carrier]
    await gateway.call("POST", f"/v1/requests/{carrier}/cancel", {})
    await gateway.call("POST", f"/v1/requests/{passengers[0]['id']}/cancel", {})
    await gateway.advance(MINUTE)
    assert shown(gateway) == [ids(passengers[1])]
    assert (await send_on(gateway, passengers[1]))["result"] == "recorded"


# --- its life ---------------------------------------------------------------------------------------------------------


@requirement("S-12", "S-21", "S-45")
async def test_the_buttons_of_one_item_never_decide_another(either_gateway: Gateway) -> None:
    g = either_gateway
    await given(g, GROUP)
    first, second, third = [await ask(g, n) for n in range(3)]
    assert (await send_on(g, second))["result"] == "recorded"
    assert [(await g.read(each))["state"] for each in (first, second, third)] == ["pending", "approved", "pending"]
    assert (await send_on(g, first, "deny"))["result"] == "recorded"
    [message] = g.platform.messages
    assert [card.headline for card in items_of(message)] == ["Denied", "Approved", "Approval needed"]
    assert [card.buttons is None for card in items_of(message)] == [True, True, False]
    assert (await send_on(g, third))["result"] == "recorded"
    assert [(await g.read(each))["state"] for each in (first, second, third)] == ["denied", "approved", "approved"]
    assert not any(card.buttons for card in items_of(message))
    states = g.rows("SELECT DISTINCT status FROM deliveries")
    assert [row["status"] for row in states] == ["retired"]
    for request in (first, second, third):
        assert [kind for kind, _ in g.trail(request)].count("card.retired") == 1


@requirement("S-12", "S-45")
async def test_a_button_is_refused_from_another_message_than_its_own(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    shared = [await ask(gateway, n) for n in range(2)]
    await ask(gateway, 2, session="another")
    click = click_on(gateway, shared[1], message_id="m2")
    assert ((await gateway.send(click)).body or {})["result"] == "refused"
    assert (await gateway.read(shared[1]))["state"] == "pending"


async def test_a_click_is_answered_with_the_whole_message(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    first, second = [await ask(gateway, n) for n in range(2)]
    await send_on(gateway, second)
    _, outcome = gateway.platform.told[-1]
    assert outcome.card is not None
    assert [outcome.card.request_id, *(card.request_id for card in outcome.card.also)] == ids(first, second)
    assert outcome.card.buttons
    assert outcome.card.also[0].buttons is None


async def test_a_form_is_about_the_item_that_was_pressed(gateway: Gateway) -> None:
    gateway.rewrite("  long: {}\n", "  long: {title: 'Number {n}'}\n")
    await given(gateway, GROUP)
    _, second = [await ask(gateway, n) for n in range(2)]
    await gateway.send(click_on(gateway, second, "deny", wants_form=True))
    [(_, form)] = gateway.platform.forms
    assert form.note == "Number 1"


async def test_whatever_changes_it_is_the_one_message_that_is_refreshed(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    first, second = [await ask(gateway, n) for n in range(2)]
    gateway.platform.calls.clear()
    cancelled = (gateway.call("POST", f"/v1/requests/{each['id']}/cancel", {}) for each in (first, second))
    await asyncio.gather(*cancelled)
    await gateway.quiet()
    assert not any(card.buttons for card in items_of(gateway.platform.messages[0]))
    refreshed = gateway.rows("SELECT DISTINCT delivery_id FROM outbox WHERE kind = 'refresh'")
    carrier = gateway.rows("SELECT id FROM deliveries WHERE id = carrier_id")
    assert [row["delivery_id"] for row in refreshed] == [row["id"] for row in carrier]
    assert gateway.platform.calls.count("refresh") <= 2


async def test_a_reminder_for_one_is_said_under_the_shared_message(gateway: Gateway) -> None:
    await given(gateway, GROUP)
    _, second = [await ask(gateway, n) for n in range(2)]
    await gateway.advance(20 * MINUTE)
    gateway.platform.notices.clear()
    control = next(c for c in items_of(gateway.platform.messages[0])[1].controls if c.action == "remind")
    await gateway.send(click_on(gateway, second, token=control.token))
    assert [ref.message_id for ref, _ in gateway.platform.notices] == ["m1"]


@requirement("S-37")
async def test_what_is_said_for_one_of_them_names_it_without_its_secrets(gateway: Gateway) -> None:
    rule = "- {id: noted, tools: [noted], then: ask, stages: [{of: [finance]}], channels: [chat, api]}"
    gateway.rewrite("  ping: {}\n", '  ping: {}\n  noted: {title: "Note {text}"}\n')
    gateway.rewrite("- {id: by-api,", f"{rule}\n  - {{id: by-api,")
    await given(gateway, GROUP)
    secret = "ghp_" + "a1B2" * 9
    for text in ("one", "two"):
        request = await gateway.ask("noted", {"text": text}, session="s-1")
    assert len(items_of(gateway.platform.messages[0])) == 2
    changed = (await gateway.decide(request, arguments={"text": secret})).json()
    body = {"text": "Why?", "digest": changed["digest"]}
    asked = f"/v1/requests/{request['id']}/questions"
    question = (await gateway.call("POST", asked, body, who="bob@acme.example")).json()["questions"][0]
    await gateway.call("POST", f"{asked}/{question['id']}/answer", {"text": "Because."})
    await gateway.quiet()
    (text,) = [notice.text for _, notice in gateway.platform.notices]
    assert text.startswith("Note ")
    assert secret not in str(gateway.platform.notices)


# --- what it costs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grouped", [False, True])
async def test_only_where_cards_are_grouped_does_one_look_for_company(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, grouped: bool
) -> None:
    if grouped:
        await given(gateway, GROUP)
    looks = [each for each in vars(bundles).values() if isinstance(each, Statement)]
    asked, bound = list[Statement](), Statement.bound

    def watched(self: Statement, dialect: Dialect, parameters: Mapping[str, object], **how: bool) -> Any:
        asked.append(self)
        return bound(self, dialect, parameters, **how)

    monkeypatch.setattr(Statement, "bound", watched)
    request = await gateway.ask()
    assert (await gateway.press(request))["result"] == "recorded"
    assert (await gateway.claim(request)).status_code == 200
    assert (await gateway.report(request)).status_code == 200
    await gateway.quiet()
    assert any(each in looks for each in asked) is grouped
