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


async def test_who_waits_in_vain_is_told_that_it_still_waits_and_all_of_it_at_the_end(gateway: Gateway) -> None:
    request = await gateway.ask()
    path = f"/v1/requests/{request['id']}?wait=0.01"
    for query in (path, f"{path}&since={request['version']}"):
        said = await gateway.call("GET", query, prefer="return=minimal")
        assert (said.status_code, said.headers["preference-applied"]) == (200, "return=minimal")
        assert said.json() == {name: request[name] for name in STANDING}
        assert (await gateway.call("GET", query)).json()["arguments"] == request["arguments"]
    await gateway.decide(request)
    said = await gateway.call("GET", path, prefer="return=minimal")
    assert (said.json()["state"], said.json()["arguments"]) == ("approved", request["arguments"])
    assert "preference-applied" not in said.headers
    now = said.json()["version"]
    said = await gateway.call("GET", f"{path}&since={now}", prefer="return=minimal")
    assert (said.json().keys(), said.json()["state"]) == (STANDING, "approved")


async def test_what_changed_above_the_version_that_is_known_is_told_whole(gateway: Gateway) -> None:
    request = await gateway.ask()
    asked = {"text": "whose account?", "digest": request["digest"]}
    path = f"/v1/requests/{request['id']}"
    assert (await gateway.call("POST", f"{path}/questions", asked, who="alice@acme.example")).status_code == 200
    said = await gateway.call("GET", f"{path}?wait=5&since={request['version']}", prefer="return=minimal")
    assert (said.json()["state"], said.json()["questions"][0]["text"]) == ("pending", "whose account?")


async def test_whoever_comes_back_to_the_one_call_is_told_as_much_and_claims_with_all_of_it(gateway: Gateway) -> None:
    request = await gateway.ask()
    path = f"/v1/requests/{request['id']}?claim_id=run-1&wait=0.01"
    said = await gateway.call("GET", path, prefer="return=minimal")
    assert (said.status_code, said.headers["preference-applied"]) == (202, "return=minimal")
    assert said.json() == {"decision": "ask", "request": {name: request[name] for name in STANDING}}
    await gateway.decide(request)
    said = (await gateway.call("GET", path, prefer="return=minimal")).json()
    assert (said["decision"], said["claimed"]["arguments"]) == ("claimed", request["arguments"])
    assert said["request"]["arguments"] == request["arguments"]


async def test_a_call_that_is_new_is_told_whole_and_so_is_a_plain_reading(gateway: Gateway) -> None:
    body = {"tool": "pay", "arguments": {"payee": "Acme", "amount": 100, "currency": "CNY"}, "wait": 0.01}
    said = await gateway.call("POST", "/v1/requests", body, prefer="return=minimal")
    assert (said.status_code, said.json()["request"]["arguments"]) == (202, body["arguments"])
    said = await gateway.call("GET", f"/v1/requests/{said.json()['request']['id']}", prefer="return=minimal")
    assert said.json()["arguments"] == body["arguments"]
