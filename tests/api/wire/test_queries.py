"""What stands in an address or twice in a head is read as it was sent, or refused by its name: two never read alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway


@pytest.mark.parametrize("other", ["%FE", "%EF%BF%BD"])
async def test_two_claim_ids_that_are_no_utf8_are_not_handed_the_same_approval(gateway: Gateway, other: str) -> None:
    """Both were decoded to U+FFFD, and so the second was taken for the first come back."""
    g = gateway
    request = await g.ask()
    assert (await g.decide(request)).status_code == 200
    said = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=%FF")
    assert (said.status_code, said.json()["path"]) == (422, "query.claim_id")
    assert g.rows("SELECT * FROM executions") == []
    said = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=a{other}")
    assert said.status_code == (422 if other == "%FE" else 200)


@pytest.mark.parametrize(
    ("path", "named", "who"),
    [
        ("/v1/requests/ID?wiat=2", "query.wiat", "agent:shop"),
        ("/v1/requests/ID?since=abc", "query.since", "agent:shop"),
        ("/v1/requests/ID?claim_id=a&claim_id=b", "query.claim_id", "agent:shop"),
        ("/v1/requests/ID?%FF=1", "query.\ufffd", "agent:shop"),
        ("/v1/requests/ID%FF", "path.request_id", "agent:shop"),
        ("/v1/requests?agnet=shop", "query.agnet", "agent:shop"),
        ("/v1/requests/ID/evidence/%C3", "path.number", "agent:shop"),
        ("/v1/audit?after=%80", "query.after", "auditor"),
        ("/v1/standing-approvals?limits=3", "query.limits", "auditor"),
        ("/v1/break-glass?limit=3&limit=4", "query.limit", "auditor"),
        ("/healthz?x=%FF", "query.x", "auditor"),
    ],
)
async def test_what_is_wrong_with_an_address_is_named(gateway: Gateway, path: str, named: str, who: str) -> None:
    request = await gateway.ask()
    said = await gateway.call("GET", path.replace("ID", request["id"]), who=who)
    assert (said.status_code, said.json()["path"]) == (422, named), said.text


async def test_an_unknown_parameter_is_told_the_known_ones(gateway: Gateway) -> None:
    said = await gateway.call("GET", "/v1/requests/r1?wiat=2")
    assert said.json()["detail"] == "unknown parameter; there are claim_id, since, wait"
    said = await gateway.call("POST", "/v1/requests?wait=2", {"tool": "by_api", "arguments": {}})
    assert (said.status_code, said.json()["detail"]) == (422, "unknown parameter; there are none here")
    assert gateway.rows("SELECT * FROM requests") == []
    assert (await gateway.http.get("/healthz?probe=1")).status_code == 200  # its callers are not ours to teach


@pytest.mark.parametrize("name", ["idempotency-key", "authorization"])
async def test_a_header_that_says_two_things_says_neither(gateway: Gateway, name: str) -> None:
    key = await gateway.key("agent:shop")
    body = {"tool": "by_api", "arguments": {"n": 1}}
    again = key["authorization"] if name == "authorization" else "a"
    for second, status in (("b", 422), (again, 202)):
        headers = [*key.items(), ("idempotency-key", "a"), (name, second)]
        said = await gateway.http.post("/v1/requests", json=body, headers=headers)
        assert said.status_code == status, said.text
        assert status == 202 or said.json()["path"] == f"header.{name}"
