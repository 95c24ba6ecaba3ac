"""A switch that is flipped while a claim is on its way holds the approval back: the claim judges behind its lock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.call.switch import PAUSE, READ_ONLY
from app.storage.requests.requests import lock_to_claim
from app.storage.sessions.switches import put_switch
from app.usecases.executing import claim
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway


def turn_on(name: str) -> Callable[[Tx], None]:
    """Return the unit that turns a switch on and tells no memory of it, as another replica would."""

    def unit(tx: Tx) -> None:
        put_switch(tx, name, agent="", is_on=True, reason="month end", by="cli")

    return unit


@requirement("S-49")
@pytest.mark.parametrize(("name", "code"), [(READ_ONLY, "read_only"), (PAUSE, "paused")])
async def test_a_switch_that_another_replica_turned_on_just_now_holds_the_approval_back(
    either_gateway: Gateway, name: str, code: str
) -> None:
    g = either_gateway
    request = await g.ask("by_api", {"what": 1}, session="s")
    await g.decide(request)
    assert (await g.call("POST", "/v1/requests", {"tool": "ping", "arguments": {}})).json()["decision"] == "allow"
    # This gateway has read its switches within the last half second, and believes them.
    await g.container.store.write(turn_on(name), org="acme")
    refused = await g.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (409, code)
    assert "month end" in refused.json()["detail"]
    assert (await g.read(request))["state"] == "approved"
    assert [row["status"] for row in g.rows("SELECT status FROM grants")] == ["issued"]


@requirement("S-49")
@pytest.mark.parametrize(("name", "code"), [(READ_ONLY, "read_only"), (PAUSE, "paused")])
async def test_a_switch_that_is_turned_on_before_the_lock_is_taken_holds_the_approval_back(
    either_gateway: Gateway, name: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim's own unit has begun, and all that came before it saw the switch off."""
    g = either_gateway
    request = await g.ask("by_api", {"what": 1}, session="s")
    await g.decide(request)
    flipped = list[bool]()

    def lock(tx: Tx, request_id: str) -> Any:
        if not flipped:
            flipped.append(True)
            turn_on(name)(tx)
        return lock_to_claim(tx, request_id)

    monkeypatch.setattr(claim, "lock_to_claim", lock)
    refused = await g.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (409, code)
    assert flipped
    assert [row["status"] for row in g.rows("SELECT status FROM grants")] == ["issued"]


@requirement("S-49")
@pytest.mark.parametrize(("name", "code"), [(READ_ONLY, "read_only"), (PAUSE, "paused")])
async def test_of_a_claim_and_a_switch_at_once_no_claim_follows_the_switch(
    either_gateway: Gateway, name: str, code: str
) -> None:
    g = either_gateway
    requests = [await g.ask("by_api", {"what": number}, session="s") for number in range(6)]
    for request in requests:
        await g.decide(request)
    set_on = asyncio.create_task(g.container.store.write(turn_on(name), org="acme"))
    answers = await asyncio.gather(*map(g.claim, requests[:3]))
    await set_on
    late = await asyncio.gather(*map(g.claim, requests[3:]))
    assert [said.json()["code"] for said in late] == [code] * 3
    statuses = {row["request_id"]: row["status"] for row in g.rows("SELECT request_id, status FROM grants")}
    for request, said in zip(requests, [*answers, *late], strict=True):
        assert said is not None
        assert statuses[request["id"]] == ("consumed" if said.status_code == 200 else "issued")
