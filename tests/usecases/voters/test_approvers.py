"""Who may approve, told as stories: votes taken back, thresholds, limits, absences, and authority lost before use."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import NotApprovedError
from app.domain.request.quorum import Stage, count, reachable
from app.ports import AccountStatus
from app.usecases.executing.claim import Caller, Claim
from app.usecases.voters.electorate import voters_at_first, voters_shown
from tests.domain.samples import a_call
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

ALICE, BOB, CAROL, DAVE = (f"{name}@acme.example" for name in ("alice", "bob", "carol", "dave"))
RITA, OLGA = "rita@acme.example", "olga@acme.example"
FINANCE = f"  finance: [{ALICE}, {BOB}, {CAROL}, {OLGA}, {RITA}]"
BY_API = "- {id: by-api, tools: [by_api], then: ask, stages: [{of: [finance]}]"


async def asked(gateway: Gateway, stages: str, **more: Any) -> dict[str, Any]:
    """Let a rule ask `stages`, and submit a call of it."""
    gateway.rewrite(BY_API, BY_API.replace("[{of: [finance]}]", stages))
    await gateway.reload()
    return await gateway.ask("by_api", {"n": 1}, **more)


async def claimed(gateway: Gateway, request: dict[str, Any]) -> str:
    """Claim as the agent, with the policy in force; return the state, or why not."""
    claim = Claim(store=gateway.container.store, hooks=gateway.container.hooks)
    try:
        found = await claim(
            Caller(org="acme", agent="shop"), request_id=request["id"], digest=request["digest"], claim_id="c-1"
        )
    except NotApprovedError as refused:
        return refused.detail
    return found.state.value


def facts(gateway: Gateway, kind: str) -> list[dict[str, Any]]:
    rows = gateway.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")
    return [json.loads(row["facts"]) for row in rows]


# --- votes ------------------------------------------------------------------------------------------------------------


@requirement("S-23")
async def test_a_vote_can_be_taken_back_until_the_end_and_then_counts_no_longer(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("pay_two")
    assert (await g.decide(request, who=ALICE)).json()["stages"][0]["have"] == 1
    back = (await g.decide(request, "withdraw", who=ALICE)).json()
    assert (back["state"], back["decisions"], back["stages"][0]["have"]) == ("pending", [], 0)
    assert (await g.decide(request, who=BOB)).json()["state"] == "pending"
    assert (await g.decide(request, who=CAROL)).json()["state"] == "approved"
    assert [(each["verdict"], each.get("withdrew")) for each in facts(g, "request.voted")] == [
        ("approve", None),
        ("withdraw", "approve"),
        ("approve", None),
    ]
    assert (await g.claim(request)).status_code == 200
    late = await g.decide(request, "withdraw", who=BOB)
    assert (late.status_code, late.json()["code"]) == (409, "already_settled")


@requirement("S-23")
async def test_a_vote_can_be_taken_back_from_the_card_it_was_given_on(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("pay_two")
    assert [control.action for control in g.card(request).card.controls if control.action == "withdraw"] == []
    await g.press(request, "U_ALICE")
    press = g.platform.use(g.card(request), "U_ALICE", "withdraw")
    for click, result in ((g.platform.use(g.card(request), "U_BOB", "withdraw"), "already"), (press, "recorded")):
        assert ((await g.send(click)).body or {})["result"] == result
    after = await g.read(request)
    assert (after["state"], after["decisions"]) == ("pending", [])
    assert ((await g.send(press)).body or {})["result"] == "already"
    [taken] = [each for each in facts(g, "request.voted") if each["verdict"] == "withdraw"]
    assert (taken["withdrew"], taken["channel"], taken["account"]) == ("approve", "chat", "U_ALICE")
    assert not any(control.action == "withdraw" for control in g.card(request).card.controls)


async def test_only_a_vote_of_ones_own_on_this_very_request_can_be_taken_back(gateway: Gateway) -> None:
    request = await gateway.ask("pay_two")
    await gateway.decide(request, who=ALICE)
    none = await gateway.decide(request, "withdraw", who=BOB)
    other = await gateway.decide(request, "withdraw", who=ALICE, digest="0" * 64)
    assert [(said.status_code, said.json()["code"]) for said in (none, other)] == [
        (422, "invalid"),
        (409, "digest_mismatch"),
    ]
    assert [each["person"] for each in (await gateway.read(request))["decisions"]] == [ALICE]


@requirement("S-23")
@pytest.mark.parametrize("attempt", range(5))
async def test_a_vote_taken_back_while_the_last_one_comes_either_counted_or_did_not(
    either_gateway: Gateway, attempt: int
) -> None:
    g = either_gateway
    request = await g.ask("pay_two", {"n": attempt})
    await g.decide(request, who=ALICE)
    await g.key(BOB)
    back, last = await asyncio.gather(g.decide(request, "withdraw", who=ALICE), g.decide(request, who=BOB))
    seen = await g.read(request)
    people = {each["person"] for each in seen["decisions"]}
    assert last.status_code == 200
    assert (back.status_code, seen["state"], people) in [
        (200, "pending", {BOB}),
        (409, "approved", {ALICE, BOB}),
    ]


@requirement("S-24")
async def test_a_rule_may_want_several_denials_and_a_denial_may_be_changed(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await asked(g, "[{of: [finance], denials: 2}]")
    assert (await g.decide(request, "deny", who=ALICE)).json()["state"] == "pending"
    assert (await g.decide(request, "deny", who=ALICE)).json()["version"] == 2
    assert (await g.decide(request, "withdraw", who=ALICE)).json()["decisions"] == []
    assert (await g.decide(request, "deny", who=BOB)).json()["state"] == "pending"
    denied = (await g.decide(request, "deny", who=CAROL)).json()
    assert (denied["state"], denied["settled"]["by"]) == ("denied", CAROL)


@requirement("S-24")
async def test_a_request_that_can_no_longer_be_approved_is_denied_at_once(gateway: Gateway) -> None:
    request = await asked(gateway, "[{of: [legal], need: 2, denials: 2}]")
    assert (await gateway.decide(request, "deny", who=DAVE)).json()["state"] == "denied"


@requirement("S-23")
async def test_several_groups_of_one_stage_must_all_agree_each_by_its_own_people(gateway: Gateway) -> None:
    request = await asked(gateway, "[{all: [{of: [finance]}, {of: [legal]}]}]")
    assert (await gateway.decide(request, who=ALICE)).json()["state"] == "pending"  # in both, but one pair of eyes
    assert (await gateway.decide(request, who=BOB)).json()["state"] == "approved"
    assert facts(gateway, "request.created")[-1]["stages"] == [
        {"of": ["finance"], "need": 1},
        {"of": ["legal"], "need": 1, "joined": True},
    ]


# --- who --------------------------------------------------------------------------------------------------------------


@requirement("S-09")
async def test_a_rule_may_let_the_requester_approve_and_the_trail_says_so(gateway: Gateway) -> None:
    request = await asked(gateway, "[{of: [finance], allow_requester: true}]", requester=RITA)
    assert (await gateway.decide(request, who=OLGA)).json()["code"] == "not_eligible"
    assert (await gateway.decide(request, who=RITA)).json()["state"] == "approved"
    assert facts(gateway, "request.created")[-1]["stages"][0]["allow_requester"] is True


@requirement("S-09")
@pytest.mark.parametrize(
    ("stages", "requester"),
    [
        ("[{of: [finance], allow_requester: true}, {of: [legal]}]", DAVE),  # of the stage that does not allow it
        ("[{of: [carol@acme.example], allow_requester: true}, {of: [finance]}]", DAVE),  # for Bob, in the same
        ("[{of: [carol@acme.example], allow_requester: true}, {of: [finance]}]", BOB),  # for Bob, who asked
    ],
)
async def test_what_one_stage_allows_is_not_allowed_in_another(gateway: Gateway, stages: str, requester: str) -> None:
    if CAROL in stages:
        gateway.rewrite("{name: Bob,", AWAY)
    request = await asked(gateway, stages, requester=requester)
    assert (await gateway.decide(request, who=requester)).json()["code"] == "not_eligible"
    if requester == BOB:
        assert (await gateway.decide(request, who=DAVE)).json()["code"] == "not_eligible"
    assert gateway.rows("SELECT * FROM decisions") == []


@requirement("S-06")
@pytest.mark.parametrize(
    ("arguments", "within"),
    [
        ({"amount": 50000, "currency": "CNY"}, True),
        ({"amount": "50000.00", "currency": "CNY"}, True),
        ({"amount": "50000.01", "currency": "CNY"}, False),
        ({"amount": "50000.000000000000000000000000000000000001", "currency": "CNY"}, False),
        ({"amount": "-50000.01", "currency": "CNY"}, False),
        ({"amount": 1, "currency": "USD"}, False),
        ({"amount": 1, "currency": "cny"}, False),
        ({"amount": 1}, False),
        ({"currency": "CNY"}, False),
        ({"amount": 1, "currency": "CNY", "ccy": "USD"}, False),
    ],
)
@pytest.mark.sampled(3)
async def test_nobody_approves_above_their_limit_nor_what_has_no_known_amount(
    gateway: Gateway, arguments: dict[str, Any], *, within: bool
) -> None:
    g = gateway
    g.rewrite("{name: Alice,", "{name: Alice, limit: {CNY: 50000},")
    await g.reload()
    request = await g.ask("pay", {"payee": "Acme Ltd", **arguments})
    heard = await g.press(request, "U_ALICE")
    assert heard["result"] == ("recorded" if within else "refused")
    if within:
        return
    assert (await g.decide(request, who=ALICE)).json()["code"] == "not_eligible"
    assert g.rows("SELECT * FROM decisions") == []
    assert [each["why"] for each in facts(g, "click.refused")] == ["over_limit", "over_limit"]
    assert (await g.press(request, "U_BOB"))["result"] == "recorded"  # the button was not burned


@requirement("S-06")
async def test_who_may_not_approve_so_much_may_still_deny(gateway: Gateway) -> None:
    gateway.rewrite("{name: Alice,", '{name: Alice, limit: "1 CNY",')
    await gateway.reload()
    request = await gateway.ask("pay", {"payee": "Acme Ltd", "amount": 2, "currency": "CNY"})
    assert (await gateway.decide(request, "deny", who=ALICE)).json()["state"] == "denied"


# --- away -------------------------------------------------------------------------------------------------------------

AWAY = f"{{name: Bob, away: [{{from: 2026-03-01, until: 2026-03-02, to: {DAVE}}}],"


async def while_bob_is_away(gateway: Gateway, tool: str = "by_api", **more: Any) -> dict[str, Any]:
    gateway.rewrite("{name: Bob,", AWAY)
    await gateway.reload()
    return await gateway.ask(tool, {"n": 1}, **more)


@requirement("S-23")
async def test_a_delegate_acts_for_the_person_away_and_both_names_are_kept(gateway: Gateway) -> None:
    g = gateway
    request = await while_bob_is_away(g)
    assert (await g.decide(request, who=DAVE)).json()["state"] == "approved"
    assert [(row["person"], row["on_behalf_of"]) for row in g.rows("SELECT * FROM decisions")] == [(DAVE, BOB)]
    assert facts(g, "request.approved")[-1]["on_behalf_of"] == BOB
    assert await claimed(g, request) == "executing"


async def test_a_vote_for_somebody_away_is_shown_as_it_counts(gateway: Gateway) -> None:
    g = gateway
    asked_for = await while_bob_is_away(g, "pay_two")
    await g.decide(asked_for, who=DAVE)

    def shown() -> tuple[int, ...]:
        policy = g.container.book.current("acme").policy
        return count(request.stages, request.decisions, voters_shown(request, policy)).have

    request = await g.container.read.get("acme", asked_for["id"], agent=None)
    assert shown() == (1,)
    g.rewrite("from: 2026-03-01", "from: 2026-03-02")
    await g.reload()
    assert shown() == (0,)


@requirement("S-23")
@pytest.mark.parametrize("order", [(BOB, DAVE), (DAVE, BOB)])
async def test_a_delegate_never_adds_a_second_vote(gateway: Gateway, order: tuple[str, str]) -> None:
    request = await while_bob_is_away(gateway, "pay_two")
    for who in order:
        await gateway.decide(request, who=who)
    seen = await gateway.read(request)
    assert seen["state"] == "pending"
    assert (await gateway.decide(request, who=ALICE)).json()["state"] == "approved"


@requirement("S-09")
async def test_nobody_acts_for_the_barred_and_the_barred_for_nobody(gateway: Gateway) -> None:
    g = gateway
    request = await while_bob_is_away(g, requester=BOB)
    assert (await g.decide(request, who=DAVE)).json()["code"] == "not_eligible"
    mine = await g.ask("by_api", {"n": 2}, requester=DAVE)
    assert (await g.decide(mine, who=DAVE)).json()["code"] == "not_eligible"
    assert g.rows("SELECT * FROM decisions") == []


@pytest.mark.parametrize(("days", "state"), [(1, "approved"), (2, "pending")])
async def test_both_days_of_an_absence_are_included_and_no_other(gateway: Gateway, days: int, state: str) -> None:
    gateway.rewrite("{name: Bob,", AWAY)
    await gateway.reload()
    await gateway.advance(timedelta(days=days))
    request = await gateway.ask("by_api")
    await gateway.decide(request, who=DAVE)
    assert (await gateway.read(request))["state"] == state


# --- until it is used -------------------------------------------------------------------------------------------------


@requirement("S-27")
@pytest.mark.parametrize("how", ["left the group", "left the org", "deactivated", "limit", "delegation ended"])
@pytest.mark.sampled(3)
async def test_an_approval_of_somebody_who_may_no_longer_is_taken_back_at_the_claim(gateway: Gateway, how: str) -> None:
    g = gateway
    if how == "delegation ended":
        request = await while_bob_is_away(g)
        who = DAVE
        await g.decide(request, who=DAVE)
    else:
        request = await g.ask("pay", {"payee": "Acme Ltd", "amount": 2, "currency": "CNY"})
        who = BOB
        await g.press(request, "U_BOB")
    assert (await g.read(request))["state"] == "approved"
    match how:
        case "deactivated":
            g.platform.statuses["U_BOB"] = AccountStatus.DEACTIVATED
            await g.container.confirm_accounts()
        case "left the group":
            g.rewrite(FINANCE, FINANCE.replace(f"{BOB}, ", ""))
            await g.reload()
        case "left the org":
            g.rewrite(FINANCE, FINANCE.replace(f"{BOB}, ", ""))
            g.rewrite(f"  {BOB}: {{name: Bob, memory: U_BOB}}\n", "")
            await g.reload()
        case "limit":
            g.rewrite("{name: Bob,", '{name: Bob, limit: "1 CNY",')
            await g.reload()
        case _:
            g.rewrite("until: 2026-03-02", "until: 2026-03-01")
            g.rewrite("from: 2026-03-01", "from: 2026-02-01")
            g.rewrite("until: 2026-03-01", "until: 2026-02-28")
            await g.reload()
    why = await claimed(g, request)
    assert who in why
    seen = await g.read(request)
    assert (seen["state"], seen["grant"]["status"], seen["execution"]) == ("lapsed", "revoked", None)
    assert [row["revoked_why"] for row in g.rows("SELECT revoked_why FROM requests")] == [why]
    assert [each["lost"] for each in facts(g, "grant.revoked")] == [[who]]
    again = await g.ask(seen["tool"], seen["arguments"])
    assert again["id"] != request["id"]


@requirement("S-27")
async def test_an_approval_that_still_stands_without_the_one_who_left_is_claimed(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    await gateway.decide(request, who=ALICE)
    gateway.rewrite(FINANCE, FINANCE.replace(f"{BOB}, ", ""))
    await gateway.reload()
    assert await claimed(gateway, request) == "executing"
    assert await claimed(gateway, request) == "executing"  # the same claim again, whatever has changed since
    gateway.rewrite(f"{ALICE}, {CAROL}", CAROL)
    await gateway.reload()
    assert await claimed(gateway, request) == "executing"


@requirement("S-27")
async def test_a_quorum_is_not_met_by_an_account_that_was_switched_off_meanwhile(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay_two")
    await g.press(request, "U_BOB")
    g.platform.statuses["U_BOB"] = AccountStatus.DEACTIVATED
    await g.container.confirm_accounts()
    assert (await g.decide(request, who=ALICE)).json()["state"] == "pending"
    assert (await g.decide(request, who=CAROL)).json()["state"] == "approved"


@requirement("S-06", "S-07")
@pytest.mark.parametrize(("limit", "left"), [("1 CNY", False), ("2 CNY", True)])
async def test_whoever_may_not_approve_so_much_does_not_make_a_call_approvable(
    gateway: Gateway, limit: str, *, left: bool
) -> None:
    gateway.rewrite("{name: Dave,", f'{{name: Dave, limit: "{limit}",')
    await gateway.reload()
    policy = gateway.container.book.current("acme").policy
    stages = (Stage(of=("legal",), need=2),)
    call = a_call(tool="pay", arguments={"amount": 2, "currency": "CNY"})
    assert reachable(stages, voters_at_first(call, stages, policy)) is left


@requirement("S-09")
async def test_a_repetition_for_another_person_is_another_request_and_bars_that_person(either_gateway: Gateway) -> None:
    """Else whoever it is really for could approve what was asked for nobody."""
    g = either_gateway
    nobodys = await g.ask("by_api", {"n": 1}, session="s-1")
    bobs = await g.ask("by_api", {"n": 1}, session="s-1", requester=BOB)
    assert bobs["id"] != nobodys["id"]
    assert (await g.decide(bobs, who=BOB)).json()["code"] == "not_eligible"
    again = await g.call(
        "POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": 1}, "session": "s-1", "requester": BOB}
    )
    assert (again.json()["attached"], again.json()["request"]["id"]) == (True, bobs["id"])
