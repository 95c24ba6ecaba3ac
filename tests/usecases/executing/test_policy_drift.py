"""The file changes between an approval and its use: what today's rules would not approve is taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

RULE = "{id: by-api, tools: [by_api], then: ask, stages: [{of: [finance]}]"
BOB = "bob@acme.example"


async def changed(g: Gateway, new: str) -> None:
    g.rewrite(RULE, new)
    await g.reload()


@requirement("S-27")
@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (
            RULE.replace("{id: by-api", "{id: no, tools: [by_api], when: 'args.n > 0', then: deny}\n  - {id: by-api"),
            "deny it",
        ),
        (RULE.replace("[{of: [finance]}]", "[{of: [finance], need: 2}]"), "ask for more"),
        (RULE.replace("[{of: [finance]}]", "[{of: [finance]}, {of: [legal]}]"), "ask for more"),
        (RULE.replace("[{of: [finance]}]", "[{of: [legal]}]"), "ask for more"),
        (RULE + ", assurance: L2", "ask for more"),
    ],
)
async def test_an_approval_that_todays_rules_would_not_give_is_taken_back(
    either_gateway: Gateway, rule: str, why: str
) -> None:
    g = either_gateway
    request = await g.ask("by_api", {"n": 1})
    assert (await g.decide(request, who=BOB)).json()["state"] == "approved"
    await changed(g, rule)
    said = await g.claim(request)
    assert (said.status_code, said.json()["code"]) == (409, "not_approved")
    assert why in said.json()["detail"]
    assert (await g.read(request))["state"] == "lapsed"
    assert [kind for kind, _ in g.trail()][-2:] == ["grant.revoked", "access.refused"]
    await changed_back(g, rule)
    again = await g.claim(request)
    assert (again.status_code, again.json()["code"]) == (409, "grant_lapsed"), "what was taken back stays so"
    told = (again.json()["detail"], (await g.read(request))["message"])
    assert all(why in each and "taken back" in each and "in time" not in each for each in told), "nor was it late"


async def changed_back(g: Gateway, rule: str) -> None:
    g.rewrite(rule, RULE)
    await g.reload()


@requirement("S-27")
@pytest.mark.parametrize(
    "rule",
    [
        RULE.replace("[{of: [finance]}]", "[{of: [finance, legal]}]"),
        RULE + ", reason: other words",
        RULE.replace(
            "{id: by-api", "{id: night, tools: [by_api], when: 'now.getHours() >= 12', then: deny}\n  - {id: by-api"
        ),
        RULE + ", risk: low",
        RULE.replace("{id: by-api", "{id: free, tools: [by_api], when: 'args.n > 0', then: allow}\n  - {id: by-api"),
    ],
)
async def test_an_approval_that_todays_rules_would_give_as_well_is_used(gateway: Gateway, rule: str) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    await gateway.decide(request)
    await changed(gateway, rule)
    assert (await gateway.claim(request)).status_code == 200


@requirement("S-27")
async def test_whoever_was_brought_in_or_added_while_it_waited_still_counts(gateway: Gateway) -> None:
    g = gateway
    await changed(g, RULE + ", escalate: [{after: 0.5, to: [legal]}]")
    request = await g.ask("by_api", {"n": 1})
    await g.advance(timedelta(minutes=16))
    legal = next(iter(g.container.book.current("acme").policy.directory.members("legal")))
    assert (await g.decide(request, who=legal)).json()["state"] == "approved"
    g.rewrite("reason: Nobody may.", "reason: Nobody may at all.")
    await g.reload()
    assert (await g.claim(request)).status_code == 200
