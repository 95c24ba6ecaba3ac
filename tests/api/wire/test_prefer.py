"""`Prefer: return=minimal`: whoever changes a request and does not read it again is told how it stands, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

STANDING = {"id", "state", "status", "version", "digest"}


async def test_a_change_is_answered_with_how_the_request_stands(gateway: Gateway) -> None:
    request = await gateway.ask()
    path = f"/v1/requests/{request['id']}"
    verdict = {"verdict": "approve", "digest": request["digest"]}
    said = await gateway.call("POST", f"{path}/decisions", verdict, who="alice@acme.example", prefer="return=minimal")
    assert (said.status_code, said.headers["preference-applied"]) == (200, "return=minimal")
    assert said.json().keys() == STANDING
    assert (said.json()["state"], said.json()["digest"]) == ("approved", request["digest"])
    assert (await gateway.claim(request)).status_code == 200
    outcome = {"claim_id": "claim-1", "status": "succeeded"}
    said = await gateway.call("POST", f"{path}/outcome", outcome, prefer="respond-async, return=minimal")
    assert (said.json().keys(), said.json()["state"]) == (STANDING, "succeeded")
    whole = await gateway.read(request)
    assert (whole["version"], whole["state"]) == (said.json()["version"], "succeeded")


@pytest.mark.parametrize(
    "prefer", ["return=minimal", 'Return = "minimal"', "wait=10, return=minimal; foo", "RETURN=MINIMAL"]
)
async def test_it_is_heard_as_the_standard_writes_it(gateway: Gateway, prefer: str) -> None:
    request = await gateway.ask()
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/cancel", {"reason": "no"}, prefer=prefer)
    assert (said.json().keys(), said.json()["state"]) == (STANDING, "cancelled")


@pytest.mark.parametrize(
    "prefer", ["", "return=representation", "x-return=minimal", "return=minimalist", "handling=lenient"]
)
async def test_any_other_wish_gets_all_of_it(gateway: Gateway, prefer: str) -> None:
    request = await gateway.ask()
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/cancel", {"reason": "no"}, prefer=prefer)
    assert said.json()["arguments"] == request["arguments"]
    assert "preference-applied" not in said.headers


async def test_a_refusal_is_the_same_problem_for_everybody(gateway: Gateway) -> None:
    request = await gateway.ask()
    verdict = {"verdict": "approve", "digest": "0" * 64}
    path = f"/v1/requests/{request['id']}/decisions"
    said = await gateway.call("POST", path, verdict, who="alice@acme.example", prefer="return=minimal")
    assert (said.status_code, said.json()["code"]) == (409, "digest_mismatch")
