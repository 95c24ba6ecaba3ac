"""Which keys open which routes, over all that there are: a new one is closed to agents until this page says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from app.domain.identity.api_key import Scope
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

Route = tuple[str, str]

PLATFORMS = {("POST", "/v1/channels/{name}/callback")}
"""A platform's own proof opens it, and no key."""
READ: set[Route] = {
    ("GET", "/v1/requests"),
    ("GET", "/v1/requests/{request_id}"),
    ("GET", "/v1/requests/{request_id}/events"),
    ("GET", "/v1/requests/{request_id}/evidence/{number}"),
    ("GET", "/v1/events"),
}
AGENTS: set[Route] = READ | {
    ("POST", "/v1/requests"),
    ("POST", "/v1/hooks/{event}"),
    ("POST", "/v1/requests/{request_id}/cancel"),
    ("POST", "/v1/requests/{request_id}/questions/{question_id}/answer"),
    ("POST", "/v1/requests/{request_id}/remind"),
    ("POST", "/v1/requests/{request_id}/claim"),
    ("POST", "/v1/requests/{request_id}/outcome"),
    ("POST", "/v1/requests/{request_id}/reconcile"),
}
"""Their own requests, and nothing that decides, lifts, permits, pauses or configures."""
EXECUTORS: set[Route] = READ | {
    ("POST", "/v1/requests/{request_id}/claim"),
    ("POST", "/v1/requests/{request_id}/outcome"),
    ("POST", "/v1/requests/{request_id}/reconcile"),
}
"""What they run and what became of it; they ask for nothing themselves."""


def routes(g: Gateway) -> list[Route]:
    found = {
        (method, str(route.path))
        for route in g.app.routes
        for method in getattr(route, "methods", None) or ()
        if str(route.path).startswith("/v1/") and method not in {"HEAD", "OPTIONS"}
    }
    return sorted(found)


async def headers_of(g: Gateway, scope: Scope) -> dict[str, str]:
    agent = "shop" if scope in {Scope.AGENT, Scope.EVALUATION} else None
    person = "olga@acme.example" if scope in {Scope.AGENT, Scope.EVALUATION} else None
    made = await g.container.keys.create(
        org="acme",
        scope=scope,
        label=scope.value,
        agent=agent,
        person=person,
        tools=["*"] if scope is Scope.EXECUTOR else [],
    )
    return {"authorization": f"Bearer {made.text}"}


@requirement("S-16")
@pytest.mark.parametrize(
    ("scope", "opens"), [(Scope.AGENT, AGENTS), (Scope.EVALUATION, AGENTS), (Scope.EXECUTOR, EXECUTORS)]
)
async def test_a_machines_key_opens_the_routes_of_its_list_and_no_other_one_that_there_is(
    gateway: Gateway, scope: Scope, opens: set[Route]
) -> None:
    g = gateway
    request = await g.ask("by_api", {"what": 1}, who="agent:shop")
    headers = await headers_of(g, scope)
    there = routes(g)
    assert opens | PLATFORMS <= set(there), "the list names a route that is not there any more"
    before = g.content()
    refused: list[Route] = []
    for method, path in there:
        if (method, path) in opens | PLATFORMS:
            continue
        said = await g.http.request(method, filled(path, request), json={}, headers=headers)
        assert said.status_code in {403, 429}, (method, path, said.text[:200])
        if said.status_code == 403:
            assert said.json()["code"] == "wrong_scope", (method, path)
            refused.append((method, path))
    assert g.content() == before
    assert len(refused) >= 20, "too many were turned away for another reason"
    for route in (
        ("POST", "/v1/requests/{request_id}/decisions"),
        ("POST", "/v1/requests/{request_id}/lift"),
        ("PUT", "/v1/switches/pause"),
        ("POST", "/v1/keys"),
    ):
        assert route in refused


def filled(path: str, request: dict[str, Any]) -> str:
    """Put something that could be there into each part of a path."""
    path = path.replace("{request_id}", request["id"])
    while "{" in path:
        start, _, rest = path.partition("{")
        path = f"{start}some-id{rest.partition('}')[2]}"
    return path
