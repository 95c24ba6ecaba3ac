"""The file changes between an approval and its use: what today's rules would not approve is taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.consulting import facts
from tests.fixtures.review_visits import Visitor, press, sentence, with_url
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


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


DENIED = RULE.replace("{id: by-api", "{id: no, tools: [by_api], when: 'args.n > 0', then: deny}\n  - {id: by-api")


@requirement("S-27")
@pytest.mark.parametrize(
    ("rule", "why"),
    [(DENIED, "deny it"), (RULE.replace("[{of: [finance]}]", "[{of: [finance], need: 2}]"), "for more")],
)
async def test_nobody_is_told_that_it_is_approved_where_todays_rules_would_take_that_back(
    either_gateway: Gateway, rule: str, why: str
) -> None:
    g = either_gateway
    request = await g.ask("by_api", {"n": 1})
    await changed(g, rule)
    said = await g.decide(request, who=BOB)
    assert (said.status_code, said.json()["code"]) == (409, "outdated")
    assert why in said.json()["detail"]
    assert (await g.read(request))["state"] == "pending"
    assert [each["why"] for each in facts(g, "click.refused")] == ["outdated"]
    await changed_back(g, rule)
    assert (await g.decide(request, who=BOB)).json()["state"] == "approved"
    assert (await g.claim(request)).status_code == 200


@requirement("S-27")
async def test_a_card_and_a_page_say_so_as_well_and_take_a_denial(gateway: Gateway) -> None:
    g, visitor = gateway, Visitor(gateway=gateway)
    by_card, on_page = await g.ask(session="s-1"), await g.ask(session="s-2")
    page = await visitor.visit(on_page)
    assert 'value="approve"' in page
    g.rewrite("rules:\n", "rules:\n  - {id: late, tools: [pay], when: 'args.amount > 0', then: deny}\n")
    await g.reload()
    said = await g.press(by_card, "U_ALICE", "approve")
    assert (said["result"], "the rules have changed" in said["sentence"]) == ("refused", True)
    refused = await press(visitor, on_page, "approve", page)
    assert (refused.status_code, "the rules have changed" in sentence(refused)) == (409, True)
    drawn = (await visitor.look(on_page)).text
    assert 'value="approve"' not in drawn
    assert "The rules have changed" in drawn
    assert [(await g.read(each))["state"] for each in (by_card, on_page)] == ["pending", "pending"]
    assert (await g.press(by_card, "U_ALICE", "deny", reason="no"))["result"] == "recorded"
    assert (await press(visitor, on_page, "deny", drawn, ready="amount")).status_code == 303
