"""What a pause does to what stood before it: cards say so, and where people want that, all that waits is ended."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import ChannelUnavailableError
from app.storage.engine.store import Store
from app.usecases.pauses import under_pause
from app.usecases.pauses.under_pause import Ended, UnderPause
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from tests.fixtures.gateway import Gateway

SAID = "runs only once lifted."


async def pause(g: Gateway, *, on: bool = True, who: str = "admin", **body: Any) -> httpx2.Response:
    said = await g.call("PUT", "/v1/switches/pause", {"on": on, **body}, who=who)
    await g.quiet()
    return said


async def approved(g: Gateway, tool: str = "by_api", **more: Any) -> dict[str, Any]:
    request = await g.ask(tool, {"what": len(g.rows("SELECT id FROM requests"))}, **more)
    assert (await g.decide(request)).json()["state"] == "approved"
    return request


def warnings(g: Gateway, request: dict[str, Any]) -> tuple[str, ...]:
    return g.card(request).card.warnings


def states(g: Gateway) -> dict[str, str]:
    return {row["id"]: row["state"] for row in g.rows("SELECT id, state FROM requests")}


# --- cards ------------------------------------------------------------------------------------------------------------


@requirement("S-49")
async def test_cards_of_what_waits_say_that_it_is_paused_and_no_longer_once_it_is_lifted(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    paid, other = await g.ask("pay"), await g.ask("pay_two")
    assert warnings(g, paid) == ()
    setter = (await pause(g, tool="pay", reason="wrong\npayees\u202e")).json()["set_by"]
    (told,) = warnings(g, paid)
    assert told.startswith("Paused since ")
    assert told.endswith(f" by {setter} (wrong⏎ payees\\u{{202E}}): {SAID}")
    assert warnings(g, other) == (), "the pause does not bind it"
    await pause(g)
    assert len(warnings(g, other)) == 1
    await pause(g, on=False)
    assert warnings(g, other) == ()
    assert SAID in warnings(g, paid)[0], "its own pause still stands"
    await pause(g, on=False, tool="pay")
    assert warnings(g, paid) == ()


@requirement("S-49", "S-54")
async def test_approving_while_paused_records_the_vote_and_runs_nothing_until_it_is_lifted(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay_two")
    await pause(g)
    assert (await g.press(request))["result"] == "recorded"
    assert SAID in warnings(g, request)[0], "the card that answers the click says so too"
    assert (await g.press(request, "U_BOB"))["result"] == "recorded"
    assert warnings(g, request) == (), "it is settled: there is nothing left to decide"
    voted = {each["person"] for each in (await g.read(request))["decisions"]}
    assert voted == {"alice@acme.example", "bob@acme.example"}
    assert (await g.claim(request)).json()["code"] == "paused"
    await pause(g, on=False)
    assert (await g.claim(request)).status_code == 200


@requirement("S-49")
async def test_a_card_that_goes_out_under_a_pause_says_so(gateway: Gateway) -> None:
    g = gateway
    said = await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"payee": "x", "amount": 1}})
    await g.call("PUT", "/v1/switches/pause", {"on": True, "agent": "shop"}, who="admin")  # its card is not out yet
    await g.quiet()
    assert SAID in warnings(g, said.json()["request"])[0]


@requirement("S-49")
async def test_cards_of_sub_agents_say_that_who_is_above_them_is_paused(gateway: Gateway) -> None:
    g = gateway
    await g.call("POST", "/v1/hooks/SessionStart", {"session_id": "b"}, who="agent:boss")
    below = await g.ask("pay", session="s", parent_session="b")
    alone = await g.ask("pay", {"payee": "Beta", "amount": 1}, session="alone")
    await pause(g, agent="boss")
    assert SAID in warnings(g, below)[0]
    assert warnings(g, alone) == ()


@requirement("S-49")
async def test_pausing_needs_no_chat_and_the_cards_follow_when_it_is_back(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay")
    g.platform.refresh_faults.append(ChannelUnavailableError("away"))
    assert (await pause(g)).status_code == 200
    assert (await g.call("POST", "/v1/requests", {"tool": "ping", "arguments": {}})).json()["rule"] == "paused"
    assert warnings(g, request) == ()
    await g.advance(timedelta(minutes=5))
    assert SAID in warnings(g, request)[0]


async def test_no_more_cards_are_shown_anew_than_a_chat_can_bear(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = gateway
    monkeypatch.setattr(under_pause, "MOST_CARDS", 3)
    monkeypatch.setattr(under_pause, "_BATCH", 2)
    requests: list[dict[str, Any]] = []
    for n in range(5):
        requests.append(await g.ask("pay", {"payee": "x", "amount": n + 1}))
        await g.advance(timedelta(minutes=1))
    await pause(g)
    told = [bool(warnings(g, request)) for request in requests]
    assert told == [True, True, True, False, False], "the nearest deadlines first"
    assert (await g.claim(requests[4])).status_code == 409, "nothing hangs on its card"
    await pause(g, on=False)
    assert [bool(warnings(g, request)) for request in requests] == [False] * 5


# --- ending what waits ------------------------------------------------------------------------------------------------


@requirement("S-49", "S-54")
async def test_deny_waiting_cancels_what_waits_and_revokes_what_nobody_used(either_gateway: Gateway) -> None:
    g = either_gateway
    waiting, granted, running, other = await g.ask("pay"), await approved(g), await approved(g), await g.ask("staged")
    granted_pay = await g.ask("long")
    await g.press(granted_pay)
    assert (await g.claim(running)).status_code == 200
    said = (await pause(g, deny_waiting=True, reason="month end")).json()
    assert said["ended"] == {"cancelled": 2, "revoked": 2, "more": False}
    after = states(g)
    assert [after[each["id"]] for each in (waiting, other, granted, granted_pay, running)] == [
        "cancelled",
        "cancelled",
        "lapsed",
        "lapsed",
        "executing",
    ]
    grants = {row["request_id"]: row["status"] for row in g.rows("SELECT request_id, status FROM grants")}
    assert (grants[granted["id"]], grants[running["id"]]) == ("revoked", "consumed")
    assert ("request.cancelled", said["set_by"]) in g.trail(waiting)
    assert ("grant.revoked", said["set_by"]) in g.trail(granted)
    read = await g.read(waiting)
    assert "everything was paused, with all that waited (month end)" in read["message"]
    assert "Do not retry it" in read["message"]
    assert said["set_by"] not in read["message"]
    assert "was paused, with all that waited" in (await g.read(granted))["message"]
    card = g.card(waiting).card
    assert card.buttons is None
    await pause(g, on=False)
    assert states(g) == after, "nothing comes back"
    assert (await g.claim(granted)).status_code == 409
    assert (await g.report(running)).json()["state"] == "succeeded"


@requirement("S-49")
async def test_it_ends_exactly_what_the_pause_binds(gateway: Gateway) -> None:
    g = gateway
    await g.call("POST", "/v1/hooks/SessionStart", {"session_id": "b"}, who="agent:boss")
    below = await g.ask("by_api", session="s", parent_session="b")
    others = [
        await g.ask("by_api", session="alone"),
        await g.ask("pay"),
        await g.ask("by_api", who="agent:other"),
    ]
    foreign = await g.ask("by_api", org="globex")
    said = (await pause(g, agent="boss", tool="by_*", deny_waiting=True)).json()
    assert said["ended"] == {"cancelled": 1, "revoked": 0, "more": False}
    after = states(g)
    assert after.pop(below["id"]) == "cancelled"
    assert after == {each["id"]: "pending" for each in (*others, foreign)}


@requirement("S-49")
async def test_without_it_everything_stays_frozen_and_lifting_takes_no_such_wish(gateway: Gateway) -> None:
    g = gateway
    waiting, granted = await g.ask("pay"), await approved(g)
    assert "ended" not in (await pause(g)).json()
    assert states(g) == {waiting["id"]: "pending", granted["id"]: "approved"}
    refused = await pause(g, on=False, deny_waiting=True)
    assert (refused.status_code, refused.json()["path"]) == (422, "deny_waiting")
    assert (await g.claim(granted)).json()["code"] == "paused", "and so nothing was lifted"


@requirement("S-49", "S-16")
@pytest.mark.parametrize("who", ["agent:shop", "auditor", "alice@acme.example"])
async def test_only_an_admin_ends_what_waits(gateway: Gateway, who: str) -> None:
    request = await gateway.ask("pay")
    assert (await pause(gateway, who=who, deny_waiting=True)).status_code == 403
    assert states(gateway) == {request["id"]: "pending"}


@requirement("S-49")
async def test_it_goes_in_batches_says_how_far_it_is_and_goes_on_where_it_was_cut_off(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = gateway
    monkeypatch.setattr(under_pause, "_BATCH", 2)
    for n in range(5):
        await g.ask("by_api", {"n": n})
    granted = [await approved(g) for _ in range(2)]
    switch = await g.container.switches.set_pause("acme", on=True, by="cli")
    under, told = UnderPause(store=g.container.store), list[Ended]()
    first = await under.end("acme", switch, by="cli", most=3, told=told.append)
    assert first == Ended(cancelled=3, more=True)
    assert [each.total for each in told] == [2, 3]
    failing: list[int] = []
    write = Store.write

    async def cut_off(self: Store, unit: Callable[..., Any], **more: Any) -> Any:
        failing.append(1)
        if len(failing) == 2:
            raise ConnectionError("cut off")
        return await write(self, unit, **more)

    monkeypatch.setattr(Store, "write", cut_off)
    with pytest.raises(ConnectionError):
        await under.end("acme", switch, by="cli")
    monkeypatch.setattr(Store, "write", write)
    rest = await under.end("acme", switch, by="cli")
    assert rest.more is False
    counted = [kind for kind, actor in g.trail() if actor == "cli" and kind in {"request.cancelled", "grant.revoked"}]
    assert sorted(counted) == ["grant.revoked"] * 2 + ["request.cancelled"] * 5, "each once, each in the trail"
    assert all(states(g)[each["id"]] == "lapsed" for each in granted)
    assert await under.end("acme", switch, by="cli") == Ended()


@requirement("S-49")
async def test_whoever_lifts_the_pause_stops_the_ending(gateway: Gateway) -> None:
    g = gateway
    request, granted = await g.ask("pay"), await approved(g)
    switch = await g.container.switches.set_pause("acme", on=True, by="cli")
    await pause(g, on=False)
    await pause(g, tool="ping")  # another pause is no reason
    assert await UnderPause(store=g.container.store).end("acme", switch, by="cli") == Ended()
    assert states(g) == {request["id"]: "pending", granted["id"]: "approved"}


@requirement("S-54", "S-11")
async def test_what_ran_out_of_time_by_then_expired_and_was_cancelled_by_nobody(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("by_api")
    g.clock.advance(timedelta(hours=1))  # pyright: ignore[reportAttributeAccessIssue]
    assert (await pause(g, deny_waiting=True)).json()["ended"]["cancelled"] == 0
    row = g.rows("SELECT status, settled_by FROM requests")[0]
    assert (row["status"], row["settled_by"]) == ("expired", "system")
    assert request


@requirement("S-49")
async def test_the_trail_says_that_it_was_paused_before_it_says_what_was_ended(gateway: Gateway) -> None:
    g = gateway
    await g.ask("pay")
    await pause(g, deny_waiting=True)
    kinds = [kind for kind, _ in g.trail() if kind in {"switch.set", "request.cancelled"}]
    assert kinds == ["switch.set", "request.cancelled"]
    facts = g.rows("SELECT facts FROM audit_events WHERE kind = 'request.cancelled'")[0]["facts"]
    assert "everything was paused" in json.loads(facts)["reason"]
