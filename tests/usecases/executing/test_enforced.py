"""Tools that only an executor runs: what a rule allows gets a grant, and what came of it goes back to people."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.cli.beside_database import render_event
from app.domain.card.card_for import outcome_sentence
from app.domain.lifecycle.execution import UNREPORTED
from app.domain.request.request import State
from app.domain.text.language import Language
from app.domain.trail.audit import Kind
from app.storage.requests.requests import find_request
from app.usecases.executing.still_allowed import why_not_allowed
from app.usecases.hooks.known_call import KnownOnRow
from tests.fixtures.enforced import CALL, EXECUTOR, approved, enforce, reported
from tests.fixtures.review_visits import URL, Visitor
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway

RITA = "rita@acme.example"
PAYMENT = {"payee": "Acme Ltd", "amount": 80000, "account": "DE02100100100006820101"}


async def allowed(gateway: Gateway, **more: Any) -> dict[str, Any]:
    """Submit a call that a rule allows, and return the request that was opened for it."""
    said = await gateway.call("POST", "/v1/requests", {"tool": "ping", "arguments": {"host": "a"}, **more})
    assert (said.status_code, said.json()["decision"]) == (202, "ask")
    return said.json()["request"]


# --- what a rule allows -----------------------------------------------------------------------------------------------


@requirement("S-01")
async def test_what_a_rule_allows_gets_a_grant_that_only_an_executor_can_spend(either_gateway: Gateway) -> None:
    gateway = await enforce(either_gateway)
    request = await allowed(gateway)
    assert (request["state"], request["enforced"], request["allowed_by"]) == ("approved", True, "rule:harmless")
    assert (request["stages"], request["decisions"], request["grant"]["status"]) == ([], [], "issued")
    assert "wait for its outcome" in request["message"]
    assert (await gateway.claim(request)).json()["code"] == "wrong_scope"
    claimed = await gateway.claim(request, who=EXECUTOR)
    assert (claimed.status_code, claimed.json()["arguments"]) == (200, {"host": "a"})
    assert (await reported(gateway, request, result={"ok": True})).json()["state"] == "succeeded"
    assert (await gateway.read(request))["execution"]["result"] == {"ok": True}
    kinds = [kind for kind, _ in gateway.trail(request)]
    assert kinds == ["request.created", "call.allowed", "request.approved", "grant.claimed", "execution.succeeded"]
    assert dict(gateway.trail(request))["request.approved"] == "rule:harmless"
    assert (await gateway.verify())[1] is None


async def test_a_hook_is_answered_with_the_request_and_the_same_call_joins_it(gateway: Gateway) -> None:
    await enforce(gateway)
    moment = {"session_id": "s-1", "tool_name": "ping", "tool_input": {"host": "a"}}
    first = await gateway.call("POST", "/v1/hooks/PreToolUse", moment)
    assert (first.status_code, first.json()["request"]["state"]) == (202, "approved")
    again = await gateway.call("POST", "/v1/hooks/PreToolUse", moment)
    assert (again.json()["attached"], again.json()["request"]["id"]) == (True, first.json()["request"]["id"])
    assert len(gateway.rows("SELECT id FROM grants")) == 1


@requirement("S-01")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- {id: harmless, tools: [ping], then: allow}", "- {id: harmless, tools: [ping], then: deny}"),
        (
            "- {id: harmless, tools: [ping], then: allow}",
            "- {id: harmless, tools: [ping], agents: [other], then: allow}",
        ),
        ("tools: [ping], then: allow}", "tools: [ping], when: 'args.host == \"b\"', then: allow}"),
        ("tools: [ping], then: allow}", "tools: [ping], then: ask, stages: [{of: [finance]}], channels: [api]}"),
        ("  ping: {enforced: true}", "  ping: {enforced: true, requires_confirmation: true}"),
        ("  ping: {enforced: true}", "  ping: {enforced: true, schema: {type: object, required: [port]}}"),
        ("default: deny\n", "default: deny\nagents:\n  shop: {confirm_all_tools: true}\n"),
    ],
)
@pytest.mark.sampled(3)
async def test_a_rule_that_allows_it_no_more_takes_the_grant_back_before_it_is_spent(
    gateway: Gateway, old: str, new: str
) -> None:
    await enforce(gateway)
    request = await allowed(gateway)
    gateway.rewrite(old, new)
    await gateway.reload()
    refused = await gateway.claim(request, who=EXECUTOR)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_approved")
    assert "today's configuration" in refused.json()["detail"]
    after = await gateway.read(request)
    assert (after["state"], after["grant"]["status"], after["execution"]) == ("lapsed", "revoked", None)
    assert after["revoked_why"] in after["message"]


@requirement("S-01")
async def test_what_an_agent_was_to_run_itself_is_not_handed_to_it_once_the_tool_is_enforced(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    request = await approved(g)
    await enforce(g)
    refused = await g.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_approved")
    assert "behind an executor by now" in refused.json()["detail"]
    assert (await g.read(request))["grant"]["status"] == "revoked"


async def test_another_rule_that_allows_it_today_is_as_good(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await allowed(gateway)
    gateway.rewrite("{id: harmless, tools: [ping]", "{id: renamed, tools: [ping]")
    await gateway.reload()
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200


@requirement("S-01")
async def test_what_a_standing_approval_let_through_falls_with_it(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await allowed(gateway)

    def why(tx: Tx, allowed_by: str) -> str | None:
        found = find_request(tx, request["id"])
        assert found is not None
        known = KnownOnRow(tx, gateway.container.hooks, found)
        return why_not_allowed(tx, known, replace(found, allowed_by=allowed_by), now=tx.now())

    told = await gateway.container.store.read(lambda tx: why(tx, "standing:sta_gone"), org="acme")
    assert told is not None
    assert "standing approval" in told
    assert await gateway.container.store.read(lambda tx: why(tx, "rule:harmless"), org="acme") is None


@pytest.mark.parametrize("state", [*State])
@pytest.mark.parametrize("language", [*Language])
@pytest.mark.sampled(4)
async def test_people_are_told_by_what_it_was_allowed_in_every_state(
    gateway: Gateway, state: State, language: Language
) -> None:
    await enforce(gateway)
    request = await allowed(gateway)
    if state in {State.EXECUTING, State.SUCCEEDED, State.FAILED, State.UNKNOWN, State.PENDING_ELSEWHERE}:
        await gateway.claim(request, who=EXECUTOR)
    if state in {State.SUCCEEDED, State.FAILED, State.UNKNOWN, State.PENDING_ELSEWHERE}:
        await reported(gateway, request, state.value)
    if state is State.LAPSED:
        gateway.rewrite("tools: [ping], then: allow", "tools: [ping], then: deny")
        await gateway.reload()
        await gateway.claim(request, who=EXECUTOR)
    store = gateway.container.store
    found = await store.read(lambda tx: find_request(tx, request["id"]), org="acme")
    assert found is not None
    if found.state is state:
        told = outcome_sentence(found, language, lambda email: email)
        assert ("rule harmless" if language is Language.EN else "规则 harmless") in told
    else:
        assert state in {State.PENDING, State.DENIED, State.EXPIRED, State.CANCELLED, State.UNDELIVERABLE}
    events = await gateway.container.read.story("acme", request["id"])
    lines = [render_event(event) for event in events]
    assert any("nobody was asked: the rule harmless lets an executor run it" in line for line in lines)
    assert {event.record.kind for event in events} >= {Kind.CREATED, Kind.ALLOWED, Kind.APPROVED}


async def test_the_review_page_shows_a_request_without_stages(gateway: Gateway) -> None:
    gateway.rewrite("org: acme\n", f"url: {URL}\norg: acme\n")
    await enforce(gateway)
    request = await allowed(gateway)
    page = await Visitor(gateway=gateway).visit(request, who="olga@acme.example")  # the agent's owner
    assert "Allowed by rule harmless" in page
    assert "nobody was asked: the rule harmless lets an executor run it" in page
    assert "asks people" not in page


# --- the result goes back ---------------------------------------------------------------------------------------------


async def done(gateway: Gateway, status: str = "succeeded", **more: Any) -> dict[str, Any]:
    request = await gateway.ask("pay", PAYMENT, requester=RITA)
    await gateway.press(request)
    await gateway.claim(request, who=EXECUTOR)
    said = await reported(gateway, request, status, **more)
    assert said.status_code == 200, said.text
    await gateway.quiet()
    return request


def told(card: Any) -> dict[str, str]:
    return {fact.label: fact.value for fact in card.facts}


async def test_the_card_shows_the_parts_of_the_result_that_the_file_names_and_nothing_else(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await done(gateway, result={"receipt": "R-0042", "balance": "1000.00"})
    card = gateway.card(request).card
    assert told(card)["Result · receipt"] == "R-0042"
    assert "1000.00" not in repr(card)


@requirement("S-37")
async def test_a_result_is_inert_short_and_without_what_is_secret(gateway: Gateway) -> None:
    await enforce(gateway)
    receipt = f"<@U_BOB>\n**R**\u202e {PAYMENT['account']} ghp_{'a' * 36} " + "x" * 500
    card = gateway.card(await done(gateway, result={"receipt": receipt})).card
    shown = told(card)["Result · receipt"]
    assert str(PAYMENT["account"]) not in shown
    assert "ghp_" + "a" * 36 not in shown
    assert "\u202e" not in shown
    assert "\n" not in shown
    assert len(shown) < 300


@pytest.mark.parametrize("result", ["R-0042", ["R-0042"], None, {"other": 1}, {"receipt": {"deep": [1]}}])
@pytest.mark.sampled(3)
async def test_a_result_of_any_shape_breaks_no_card(gateway: Gateway, result: object) -> None:
    await enforce(gateway)
    card = gateway.card(await done(gateway, result=result)).card
    assert card.headline == "Done · approved"
    assert ("Result · receipt" in told(card)) == (result == {"receipt": {"deep": [1]}})


async def test_a_tool_without_result_paths_shows_none(gateway: Gateway) -> None:
    await enforce(gateway)
    gateway.rewrite("    result: [receipt]\n", "")
    await gateway.reload()
    card = gateway.card(await done(gateway, result={"receipt": "R-0042"})).card
    assert "R-0042" not in repr(card)


@pytest.mark.parametrize(("status", "label"), [("failed", "What went wrong"), ("unknown", "Why it is not known")])
async def test_a_failure_is_told_in_one_scrubbed_line(gateway: Gateway, status: str, label: str) -> None:
    await enforce(gateway)
    error = f"the bank refused\n{PAYMENT['account']}: password=hunter2hunter2"
    card = gateway.card(await done(gateway, status, error=error)).card
    line = told(card)[label]
    assert line.startswith("the bank refused •••")
    assert "hunter2" not in line


async def test_that_nothing_was_heard_is_said_by_the_cards_own_sentence(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await gateway.ask("pay", PAYMENT)
    await gateway.press(request)
    await gateway.claim(request, who=EXECUTOR)
    await gateway.advance(timedelta(hours=1))
    card = gateway.card(request).card
    assert "Whether it ran is not known" in (card.outcome or "")
    assert UNREPORTED not in repr(card)


@pytest.mark.parametrize("direct", [False, True])
async def test_the_requester_is_told_privately_what_came_of_it(either_gateway: Gateway, *, direct: bool) -> None:
    gateway = await enforce(either_gateway)
    gateway.platform.names_direct_chats = direct
    request = await done(gateway, result={"receipt": "R-0042"})
    mine = [message for message in gateway.platform.of(request["id"]) if message.ref.chat_id != "C1"]
    assert [message.card.headline for message in mine] == ["Done · approved"]
    assert told(mine[0].card)["Result · receipt"] == "R-0042"
    assert (mine[0].card.buttons, mine[0].card.own) == (None, True)


async def test_an_outcome_that_becomes_known_later_is_shown_on_the_requesters_card(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await done(gateway, "unknown")
    body = {"status": "succeeded", "note": "the ledger has it", "result": {"receipt": "R-7"}}
    await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", body, who=EXECUTOR)
    await gateway.quiet()
    mine = [message for message in gateway.platform.of(request["id"]) if message.ref.chat_id != "C1"]
    assert [card.headline for message in mine for card in message.shown] == [
        "Outcome unknown · was approved",
        "Done · approved",
    ]
    assert told(mine[0].card)["Result · receipt"] == "R-7"


async def test_nobody_is_told_privately_of_what_nobody_asked_for(gateway: Gateway) -> None:
    await enforce(gateway)
    nobodys = await gateway.ask("pay", {**PAYMENT, "amount": 5})
    await gateway.press(nobodys)
    await gateway.claim(nobodys, who=EXECUTOR)
    await reported(gateway, nobodys)
    await gateway.quiet()
    assert {message.ref.chat_id for message in gateway.platform.of(nobodys["id"])} == {"C1"}


async def test_the_trail_has_no_result(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await done(gateway, result={"receipt": "R-0042"})
    events = (await gateway.call("GET", f"/v1/requests/{request['id']}/events", who="auditor")).json()
    assert "R-0042" not in json.dumps(events)


async def test_an_enforced_call_that_people_approve_runs_behind_the_executor_alone(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await approved(gateway, arguments=CALL)
    assert (request["enforced"], request["allowed_by"]) == (True, None)
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200
