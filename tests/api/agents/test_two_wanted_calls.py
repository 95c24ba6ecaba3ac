"""Two wanted calls stay two, and one call stays one: by its key, by its id, and by whether anybody still waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.agents.held_calls import held
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

CALL = {"tool": "by_api", "arguments": {"n": 1}, "session": "s-1"}
HOOK = {"tool_name": "by_api", "tool_input": {"n": 1}, "session_id": "s-1"}
OF_A_CLIENT = "idem_" + "0123456789abcdef" * 2


def named(door: str, call_id: str | None, **more: Any) -> dict[str, Any]:
    """The call under an id, as a door takes it."""
    body, name = (HOOK, "tool_use_id") if "hooks" in door else (CALL, "call_id")
    return body | ({} if call_id is None else {name: call_id}) | more


async def submit(g: Gateway, door: str, call_id: str | None, **headers: str) -> tuple[str, bool]:
    said = (await g.call("POST", door, named(door, call_id), **headers)).json()
    return said["request"]["id"], said["attached"]


@requirement("F-07")
@pytest.mark.parametrize("door", ["/v1/requests", "/v1/hooks/PreToolUse"])
async def test_the_same_call_under_two_ids_is_asked_about_twice_while_the_first_is_waited_for(
    either_gateway: Gateway, door: str
) -> None:
    g = either_gateway
    body = {"wait": 50, "claim_id": "claim-a"}
    first = await held(g, "POST", door, named(door, "a", **body))
    second = await held(g, "POST", door, named(door, "b", **body | {"claim_id": "claim-b"}))
    requests = (await g.call("GET", "/v1/requests", who="alice@acme.example")).json()["items"]
    assert {request["call_id"] for request in requests} == {"a", "b"}
    again, attached = await submit(g, door, "a")  # one's own call is found again, whoever waits
    assert attached
    assert again in {request["id"] for request in requests}
    for request in requests:
        await g.decide(request)
    claimed = [(await call.answer()).body["claimed"]["grant_id"] for call in (first, second)]
    assert len({*claimed}) == 2


@requirement("F-07")
async def test_a_call_that_nobody_waits_for_any_more_is_joined_under_a_new_id(gateway: Gateway) -> None:
    first = await held(gateway, "POST", "/v1/requests", {**CALL, "call_id": "a", "wait": 50, "claim_id": "claim-a"})
    standing = await only(gateway)
    first.hang_up()  # the agent was killed, and the model makes the call anew
    second = await held(gateway, "POST", "/v1/requests", {**CALL, "call_id": "b", "wait": 50, "claim_id": "claim-b"})
    assert (await only(gateway))["id"] == standing["id"]
    await gateway.decide(standing)
    assert (await second.answer()).body["claimed"]["arguments"] == {"n": 1}
    await first.answer()


async def test_who_was_told_to_come_back_is_expected(gateway: Gateway) -> None:
    first, _ = await submit(gateway, "/v1/requests", "a")
    second, _ = await submit(gateway, "/v1/requests", "b")
    assert first != second
    assert await submit(gateway, "/v1/requests", "a") == (first, True)
    assert await submit(gateway, "/v1/requests", None) in {(first, True), (second, True)}  # no id: either will do


@requirement("F-07")
@pytest.mark.heavy
async def test_who_was_told_of_the_approval_and_died_is_not_asked_for_again(gateway: Gateway) -> None:
    """A frozen agent hears of the decision, and is killed: what comes in its place at once joins, under its own id."""
    first = await held(gateway, "POST", "/v1/requests", {**CALL, "call_id": "a", "wait": 50})
    standing = await only(gateway)
    await gateway.decide(standing)
    assert (await first.answer()).body["request"]["state"] == "approved"
    assert await submit(gateway, "/v1/requests", "b") == (standing["id"], True)
    assert (await gateway.claim(standing)).status_code == 200


@requirement("F-07")
async def test_who_was_told_of_the_approval_and_lives_claims_it_and_another_call_is_asked_about(
    gateway: Gateway,
) -> None:
    first = await held(gateway, "POST", "/v1/requests", {**CALL, "call_id": "a", "wait": 50})
    standing = await only(gateway)
    await gateway.decide(standing)
    await first.answer()
    second = asyncio.ensure_future(submit(gateway, "/v1/requests", "b"))
    assert (await gateway.claim(standing)).status_code == 200
    asked, attached = await second
    assert (asked != standing["id"], attached) == (True, False)


async def test_a_call_without_an_id_joins_and_is_joined(gateway: Gateway) -> None:
    first, _ = await submit(gateway, "/v1/requests", None)
    assert await submit(gateway, "/v1/requests", None) == (first, True)
    assert await submit(gateway, "/v1/requests", "a") == (first, True)


@requirement("F-07")
async def test_a_key_that_a_caller_chose_decides_alone(either_gateway: Gateway) -> None:
    g, door = either_gateway, "/v1/requests"
    plain, _ = await submit(g, door, "a")
    ones = {key: await submit(g, door, "a", idempotency_key=key) for key in ("order-1", "order-2")}
    assert all(not attached for _, attached in ones.values())
    assert len({plain, *(found for found, _ in ones.values())}) == 3
    for key, (found, _) in ones.items():
        assert await submit(g, door, "a", idempotency_key=key) == (found, True)
    assert await submit(g, door, "a") == (plain, True)  # and nobody joins what a key alone names
    assert await submit(g, door, None, idempotency_key=OF_A_CLIENT) == (plain, True)  # a client's own, for a retry


async def test_a_sub_agents_call_is_another_than_the_agents_own(gateway: Gateway) -> None:
    first, _ = await submit(gateway, "/v1/requests", None)
    said = (await gateway.call("POST", "/v1/requests", {**CALL, "sub_agent": "clerk"})).json()
    assert (said["attached"], said["request"]["id"] != first) == (False, True)


async def only(g: Gateway) -> dict[str, Any]:
    """The one request that there is."""
    [request] = (await g.call("GET", "/v1/requests", who="alice@acme.example")).json()["items"]
    return request
