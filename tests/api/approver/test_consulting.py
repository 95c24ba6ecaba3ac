"""The verbs around a decision over the API: whose key may do what, on exactly which request, and what they are told."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    import httpx2

    from tests.fixtures.gateway import Gateway

ALICE, BOB, CAROL, DAVE = (f"{name}@acme.example" for name in ("alice", "bob", "carol", "dave"))
RITA, OLGA, GINA = "rita@acme.example", "olga@acme.example", "gina@globex.example"
DOORS = ("request.reminded", "request.extended", "request.answered")
VERBS = {
    "handover": {"to": BOB},
    "approvers": {"person": DAVE},
    "questions": {"text": "Which invoice?"},
}


async def do(gateway: Gateway, request: dict[str, Any], verb: str, *, who: str = ALICE, **body: Any) -> httpx2.Response:
    """Call a verb of a request; those that name it exactly get its digest."""
    named = VERBS[verb] | {"digest": request["digest"]} if verb in VERBS else {}
    org = "globex" if who == GINA else "acme"
    return await gateway.call("POST", f"/v1/requests/{request['id']}/{verb}", named | body, who=who, org=org)


async def by_api(gateway: Gateway, **more: Any) -> dict[str, Any]:
    return await gateway.ask("by_api", {"n": 1}, **more)


def refused(said: httpx2.Response) -> tuple[int, str]:
    return said.status_code, said.json()["code"]


async def test_an_approver_hands_over_adds_and_asks_with_their_own_key(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await by_api(g)
    asked = (await do(g, request, "questions")).json()
    added = (await do(g, request, "approvers", note="she knows them")).json()
    given = (await do(g, request, "handover", note=" away \n")).json()
    assert (asked["version"], added["version"], given["version"]) == (2, 3, 4)
    question = given["questions"][0]
    assert (question["by"], question["text"], question["answer"]) == (ALICE, "Which invoice?", None)
    assert [(stage["of"], stage["added_by"]) for stage in given["stages"]] == [(["finance"], None), ([DAVE], ALICE)]
    assert [(over["by"], over["to"], over["note"]) for over in given["handovers"]] == [(ALICE, BOB, "away")]
    assert (given["risk"], given["extensions"]) == ("normal", 0)
    for person, state in ((BOB, "pending"), (DAVE, "approved")):
        assert (await g.decide(request, who=person)).json()["state"] == state
    assert [kind for kind, _ in g.trail(request)] == [
        "request.created",
        "request.asked_back",
        "request.approver_added",
        "request.handed_over",
        "request.voted",
        "request.approved",
    ]


@requirement("S-16", "S-48")
@pytest.mark.parametrize("verb", [*VERBS, "extend", "reopen"])
async def test_no_agents_auditors_or_foreign_key_uses_the_verbs_of_approvers(gateway: Gateway, verb: str) -> None:
    request = await by_api(gateway)
    wrong = [refused(await do(gateway, request, verb, who=who)) for who in ("agent:shop", "auditor")]
    assert wrong == [(403, "wrong_scope")] * 2
    assert refused(await do(gateway, request, verb, who=GINA)) == (404, "not_found")
    assert (await gateway.read(request))["version"] == 1


@requirement("S-06", "S-09")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("who", [DAVE, OLGA, RITA])
@pytest.mark.sampled(3)
async def test_whoever_may_not_decide_is_refused_and_the_trail_says_so(gateway: Gateway, verb: str, who: str) -> None:
    request = await by_api(gateway, requester=RITA)
    assert refused(await do(gateway, request, verb, who=who)) == (403, "not_eligible")
    assert gateway.trail(request)[-1] == ("click.refused", who)
    assert (await gateway.read(request))["version"] == 1


@pytest.mark.parametrize("verb", VERBS)
async def test_the_verbs_name_exactly_the_request_that_was_read(gateway: Gateway, verb: str) -> None:
    request = await by_api(gateway)
    assert refused(await do(gateway, request, verb, digest="0" * 64)) == (409, "digest_mismatch")
    assert refused(await do(gateway, {**request, "id": "req_unknown"}, verb)) == (404, "not_found")
    await gateway.decide(request, "deny")
    assert refused(await do(gateway, request, verb)) == (409, "already_settled")


@pytest.mark.parametrize(
    ("verb", "body", "path"),
    [
        ("handover", {"to": "nobody@acme.example"}, "to"),
        ("handover", {"to": DAVE}, "to"),  # not of the group
        ("handover", {"to": OLGA}, "to"),  # the agent is hers
        ("handover", {"to": "bob"}, "to"),  # no address
        ("approvers", {"person": "nobody@acme.example"}, "person"),
        ("approvers", {"person": OLGA}, "person"),
        ("approvers", {"note": "x" * 501}, "note"),
        ("questions", {"text": " \n"}, "text"),
        ("questions", {"text": "x" * 501}, "text"),
        ("questions", {"text": "a\x00b"}, "text"),
        ("questions", {"why": "?"}, "why"),
    ],
)
@pytest.mark.sampled(4)
async def test_a_fault_is_told_with_its_place(gateway: Gateway, verb: str, body: dict[str, Any], path: str) -> None:
    request = await by_api(gateway)
    said = await do(gateway, request, verb, **body)
    assert (said.status_code, said.json().get("path")) == (422, path), said.text
    assert (await gateway.read(request))["version"] == 1


async def test_the_same_hand_over_and_the_same_person_added_again_are_answered_like_the_first_time(
    gateway: Gateway,
) -> None:
    request = await by_api(gateway)
    for verb in ("approvers", "handover"):
        first = await do(gateway, request, verb, who=ALICE)
        again = await do(gateway, request, verb, who=ALICE)
        assert (first.status_code, again.status_code) == (200, 200 if verb == "handover" else again.status_code)
        assert again.json()["version"] == first.json()["version"]


@requirement("S-23", "S-27")
@pytest.mark.parametrize("attempt", range(3))
async def test_a_vote_and_the_hand_over_of_the_same_place_at_once_leave_one_of_them(
    either_gateway: Gateway, attempt: int
) -> None:
    g = either_gateway
    request = await g.ask("by_api", {"n": attempt})
    await g.key(ALICE)
    voted, given = await asyncio.gather(g.decide(request, who=ALICE), do(g, request, "handover"))
    seen = await g.read(request)
    assert (voted.status_code, given.status_code, seen["state"], len(seen["handovers"])) in [
        (200, 409, "approved", 0),
        (403, 200, "pending", 1),
    ]


# --- questions and answers --------------------------------------------------------------------------------------------


async def answer(gateway: Gateway, request: dict[str, Any], text: str, *, who: str, question: str = "") -> Any:
    seen = await gateway.read(request)
    wanted = question or seen["questions"][-1]["id"]
    path = f"/v1/requests/{request['id']}/questions/{wanted}/answer"
    return await gateway.call("POST", path, {"text": text}, who=who, org="globex" if who == GINA else "acme")


@pytest.mark.parametrize(("who", "by"), [("agent:shop", "agent:shop"), (RITA, RITA)])
async def test_the_agent_or_the_requester_answers_once_and_may_repeat_it(
    either_gateway: Gateway, who: str, by: str
) -> None:
    g = either_gateway
    request = await by_api(g, requester=RITA)
    await do(g, request, "questions")
    told = (await g.read(request))["message"]
    assert "Which invoice?" in told
    assert "alice" not in told.lower()  # the model is told what, never who
    said = await answer(g, request, "4711", who=who)
    again = await answer(g, request, "4711", who=who)
    assert (said.status_code, again.status_code) == (200, 200)
    assert again.json()["questions"][0] | {"at": "", "answered_at": ""} == {
        "id": said.json()["questions"][0]["id"],
        "by": ALICE,
        "text": "Which invoice?",
        "at": "",
        "answer": "4711",
        "answered_by": by,
        "answered_at": "",
    }
    assert refused(await answer(g, request, "other", who=who)) == (409, "already_answered")
    assert "Which invoice?" not in (await g.read(request))["message"]


@requirement("S-14", "S-48")
async def test_nobody_else_answers(gateway: Gateway) -> None:
    request = await by_api(gateway, requester=RITA)
    await do(gateway, request, "questions")
    assert refused(await answer(gateway, request, "x", who=BOB)) == (403, "not_eligible")
    assert refused(await answer(gateway, request, "x", who="agent:other")) == (404, "not_found")
    assert refused(await answer(gateway, request, "x", who=GINA)) == (404, "not_found")
    assert refused(await answer(gateway, request, "x", who="admin")) == (403, "wrong_scope")
    assert refused(await answer(gateway, request, "x", who=RITA, question="que_unknown")) == (404, "not_found")


async def test_a_question_wakes_an_agent_that_waits_for_more_than_it_knows(gateway: Gateway) -> None:
    request = await by_api(gateway)
    await do(gateway, request, "questions")
    seen = await gateway.call("GET", f"/v1/requests/{request['id']}?wait=30&since={request['version']}")
    assert [each["text"] for each in seen.json()["questions"]] == ["Which invoice?"]


# --- remind, extend, reopen -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [ALICE, RITA, "agent:shop", "admin"])
async def test_people_are_reminded_by_whoever_waits_and_not_too_often(gateway: Gateway, who: str) -> None:
    request = await by_api(gateway, requester=RITA)
    assert refused(await do(gateway, request, "remind", who=who)) == (409, "too_soon")
    await gateway.advance(timedelta(minutes=6))
    assert (await do(gateway, request, "remind", who=who)).status_code == 200
    assert refused(await do(gateway, request, "remind", who=who)) == (409, "too_soon")


async def test_who_has_nothing_to_do_with_it_reminds_nobody(gateway: Gateway) -> None:
    request = await by_api(gateway)
    await gateway.advance(timedelta(minutes=6))
    assert refused(await do(gateway, request, "remind", who=DAVE)) == (403, "not_eligible")
    assert refused(await do(gateway, request, "remind", who="agent:other")) == (404, "not_found")
    assert refused(await do(gateway, request, "remind", who="auditor")) == (403, "wrong_scope")


async def test_time_is_given_and_what_expired_is_asked_again_as_a_new_request(gateway: Gateway) -> None:
    request = await by_api(gateway)
    longer = (await do(gateway, request, "extend", who=ALICE)).json()
    assert (longer["extensions"], longer["expires_at"] > request["expires_at"]) == (1, True)
    assert (await do(gateway, request, "extend", who="admin")).json()["extensions"] == 2
    await gateway.advance(timedelta(hours=3))
    again = (await do(gateway, request, "reopen", who=ALICE)).json()
    assert (again["predecessor"], again["state"]) == (request["id"], "pending")
    assert again["id"] != request["id"]


@requirement("S-17")
async def test_the_trail_says_through_which_door_and_account_time_was_given_and_people_were_reminded(
    gateway: Gateway,
) -> None:
    g = gateway
    request = await g.ask("pay_two", {"n": 1})
    await g.advance(timedelta(minutes=6))
    for action in ("remind", "extend"):
        await g.send(g.platform.use(g.card(request), "U_ALICE", action))
    asked = (await do(g, request, "questions")).json()["questions"][0]
    await answer(g, request, "It is so.", who="agent:shop", question=asked["id"])
    await do(g, request, "extend")
    rows = g.rows(f"SELECT kind, facts FROM audit_events WHERE request_id = '{request['id']}' ORDER BY seq")
    facts = [(row["kind"], json.loads(row["facts"])) for row in rows]
    doors = [(kind, each["channel"], each.get("account")) for kind, each in facts if kind in DOORS]
    assert doors == [
        ("request.reminded", "chat", "U_ALICE"),
        ("request.extended", "chat", "U_ALICE"),
        ("request.answered", "api", None),
        ("request.extended", "api", None),
    ]


@requirement("S-17")
@pytest.mark.parametrize("verb", ["extend", "reopen"])
async def test_whoever_may_not_give_time_or_ask_again_stands_in_the_trail(gateway: Gateway, verb: str) -> None:
    request = await by_api(gateway)
    assert refused(await do(gateway, request, verb, who=DAVE)) == (403, "not_eligible")
    assert gateway.trail(request)[-1] == ("click.refused", DAVE)
