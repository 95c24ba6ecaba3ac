"""Standing approvals: made by two people who may approve such calls, narrow, counted, and gone the moment they end."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.fixtures.gateway import ManualClock
from tests.fixtures.standing import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    OLGA,
    PAY,
    RITA,
    approved,
    confirm,
    propose,
    standing,
    submit,
    write_standing,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

NOTE = {"to": "desk", "opts": {"n": 1, "tags": ["a"]}, "text": "hello"}
NOTE_TERMS: dict[str, Any] = {"lasts_seconds": 3_600, "uses": 3, "each": None, "total": None}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org whose rules permit standing approvals."""
    return write_standing(tmp_path)


async def kinds(g: Gateway, like: str = "standing.") -> list[tuple[str, str]]:
    return [(kind, actor) for kind, actor in g.trail() if kind.startswith(like)]


async def listed(g: Gateway) -> list[dict[str, Any]]:
    return (await g.call("GET", "/v1/standing-approvals", who=ALICE)).json()["items"]


@requirement("S-25")
async def test_approving_once_leaves_no_residue(gateway: Gateway) -> None:
    first = await approved(gateway, "note", NOTE)
    again = await gateway.ask("note", NOTE)
    assert again["id"] != first["id"]
    assert again["state"] == "pending"
    paid = await approved(gateway)
    asked = await gateway.ask("pay", PAY)
    assert asked["id"] != paid["id"]
    assert gateway.card(asked).card.buttons is not None


@requirement("S-26")
async def test_nothing_holds_before_a_second_person_has_confirmed_what_is_spelled_out(either_gateway: Gateway) -> None:
    g = either_gateway
    base = await approved(g)
    proposed = (await propose(g, base)).json()
    assert proposed["state"] == "proposed"
    assert proposed["scope"].startswith("The agent “shop” may use “pay” without anybody being asked, in any session, ")
    for part in ("payee stays “Acme Ltd”", "CNY 500 at most each, CNY 2,000 in all", "5 uses at most", "account stays"):
        assert part in proposed["scope"]
    assert "每笔最多 CNY 500，合计最多 CNY 2,000" in proposed["scope_zh"]
    assert "SECRET" not in json.dumps(proposed)
    assert (await submit(g))["decision"] == "ask"
    wrong = await confirm(g, proposed, digest="0" * 64)
    assert (wrong.status_code, wrong.json()["code"]) == (409, "digest_mismatch")
    assert (await submit(g))["decision"] == "ask"
    assert (await confirm(g, proposed)).json()["state"] == "active"
    assert (await confirm(g, proposed)).status_code == 200  # the same answer, once
    said = await submit(g)
    assert (said["decision"], said["rule"]) == ("allow", "pay")
    assert proposed["id"] in said["reason"]
    assert "@" not in json.dumps(said)
    [shown] = await listed(g)
    assert (shown["used"], shown["spent"], shown["confirmed_by"]) == (1, {"CNY": "400"}, BOB)
    assert shown["last_used_at"] is not None
    assert await kinds(g) == [
        ("standing.proposed", ALICE),
        ("standing.confirmed", BOB),
        ("standing.used", "agent:shop"),
    ]
    [used] = g.rows("SELECT facts FROM audit_events WHERE kind = 'standing.used'")
    facts = json.loads(used["facts"])
    assert (facts["proposed_by"], facts["confirmed_by"], facts["used"], facts["uses"]) == (ALICE, BOB, 1, 5)


@requirement("S-26")
@pytest.mark.parametrize(
    ("amounts", "decisions"),
    [
        (["500"], ["allow"]),
        (["500.01"], ["ask"]),
        (["499.99", "500.00", "500", "500", "0.01"], ["allow"] * 5),
        (["500", "500", "500", "500", "0.01"], [*["allow"] * 4, "ask"]),
        (["500", "500", "500", "499.99", "0.02"], [*["allow"] * 4, "ask"]),
        (["1", "1", "1", "1", "1", "1"], [*["allow"] * 5, "ask"]),
    ],
)
async def test_every_bound_holds_to_the_last_cent_and_the_last_use(
    gateway: Gateway, amounts: list[str], decisions: list[str]
) -> None:
    await standing(gateway)
    said = [(await submit(gateway, arguments={**PAY, "amount": amount}))["decision"] for amount in amounts]
    assert said == decisions


@requirement("S-26")
async def test_it_ends_at_its_end_and_is_listed_as_ended(gateway: Gateway) -> None:
    await standing(gateway)
    await gateway.advance(timedelta(seconds=86_400) - timedelta(microseconds=1))
    assert (await submit(gateway))["decision"] == "allow"
    await gateway.advance(timedelta(microseconds=1))
    assert (await submit(gateway))["decision"] == "ask"
    assert [each["state"] for each in await listed(gateway)] == ["ended"]


@requirement("S-26")
@pytest.mark.parametrize(
    "other",
    [
        {"who": "agent:other"},
        {"tool": "wrap"},
        {"tool": "memo"},  # of the same rule
        {"tool": "wrap", "arguments": {"tool": "note", "arguments": NOTE}},
        {"arguments": {**NOTE, "to": "Desk"}},
        {"arguments": {**NOTE, "to": ["desk"]}},
        {"arguments": {**NOTE, "to": {"to": "desk"}}},
        {"arguments": {**NOTE, "opts": {"n": "1", "tags": ["a"]}}},
        {"arguments": {**NOTE, "opts": {"n": 1}}},
        {"arguments": {**NOTE, "opts": {"n": 1, "tags": ["a"], "more": None}}},
        {"arguments": {**NOTE, "opts": {"n": 1, "tags": ["a", "b"]}}},
        {"arguments": {**NOTE, "opts": {"n": True, "tags": ["a"]}}},
        {"arguments": {**NOTE, "opts": '{"n":1,"tags":["a"]}'}},
        {"arguments": {"opts": NOTE["opts"], "text": "hello"}},
        {"arguments": {"to": "desk", "text": "hello"}},
        {"arguments": {"args": NOTE}},
        {"confirm": "the caller would like a person to look"},
        {"sub_agent": "helper"},
    ],
)
@pytest.mark.heavy
@pytest.mark.sampled(4)
async def test_nothing_else_is_covered_whatever_it_is_wrapped_in(gateway: Gateway, other: dict[str, Any]) -> None:
    await standing(gateway, await approved(gateway, "note", NOTE), **NOTE_TERMS)
    assert (await submit(gateway, **{"tool": "note", "arguments": NOTE, **other}))["decision"] == "ask"
    assert (await submit(gateway, "note", {**NOTE, "text": "something else"}))["decision"] == "allow"
    assert [each["used"] for each in await listed(gateway)] == [1]


@requirement("S-26")
async def test_one_for_a_session_is_for_that_session(gateway: Gateway) -> None:
    refused = await propose(gateway, await approved(gateway, "note", NOTE), session=True, **NOTE_TERMS)
    assert (refused.status_code, refused.json()["path"]) == (422, "session")
    base = await approved(gateway, "note", NOTE, session="s1")
    made = await standing(gateway, base, session=True, **NOTE_TERMS)
    assert "only in the session “s1”" in made["scope"]
    said = [(await submit(gateway, "note", NOTE, **more))["decision"] for more in ({}, {"session": "s2"})]
    assert said == ["ask", "ask"]
    assert (await submit(gateway, "note", NOTE, session="s1"))["decision"] == "allow"


@requirement("S-26")
async def test_a_batch_is_covered_payment_by_payment_and_payee_by_payee(gateway: Gateway) -> None:
    def batch(*lines: tuple[str, str]) -> dict[str, Any]:
        return {"currency": "CNY", "lines": [{"payee": payee, "amount": amount} for payee, amount in lines]}

    await standing(gateway, await approved(gateway, "pay_all", batch(("Ann", "10"), ("Bo", "20"))))
    for lines in ([("Ann", "10")], [("Bo", "20"), ("Ann", "10")], [("Ann", "500.01"), ("Bo", "1")]):
        assert (await submit(gateway, "pay_all", batch(*lines)))["decision"] == "ask", lines
    for lines, decision in (([("Ann", "500"), ("Bo", "500")], "allow"), ([("Ann", "500"), ("Bo", "499")], "allow")):
        assert (await submit(gateway, "pay_all", batch(*lines)))["decision"] == decision
    assert (await submit(gateway, "pay_all", batch(("Ann", "1"), ("Bo", "0.01"))))["decision"] == "ask"
    assert [each["spent"] for each in await listed(gateway)] == [{"CNY": "1999"}]


@requirement("S-26")
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"uses": 6}, "uses must be 1 to 5"),
        ({"lasts_seconds": 7 * 86_400 + 1}, "must end within"),
        ({"each": {"CNY": "500.01"}}, "each in CNY"),
        ({"total": {"CNY": "2000.01"}}, "total in CNY"),
        ({"total": {"CNY": "499"}}, "total in CNY"),
        ({"each": {"USD": "1"}, "total": {"USD": "1"}}, "each in USD"),
        ({"each": {}, "total": {}}, "one at least"),
        ({"each": {"CNY": "0"}}, "each in CNY"),
    ],
)
@pytest.mark.sampled(3)
async def test_more_than_the_rule_permits_cannot_be_proposed(
    gateway: Gateway, changed: dict[str, Any], why: str
) -> None:
    refused = await propose(gateway, await approved(gateway), **changed)
    assert refused.status_code == 422
    assert why in refused.json()["detail"]
    assert await listed(gateway) == []


@requirement("S-26")
@pytest.mark.parametrize("who", [DAVE, OLGA, RITA, CAROL])
async def test_whoever_may_not_approve_it_asked_for_it_or_answers_for_the_agent_makes_none(
    gateway: Gateway, who: str
) -> None:
    """Dave decides nothing, the agent is Olga's, it is asked for Rita, and 500 is above what Carol may approve."""
    request = await gateway.ask("pay", PAY, requester=RITA)
    await gateway.decide(request, who=ALICE)
    refused = await propose(gateway, request, who=who)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_eligible")
    proposed = (await propose(gateway, request)).json()
    assert (await confirm(gateway, proposed, who=who)).status_code == 403
    assert [each["state"] for each in await listed(gateway)] == ["proposed"]
    assert (await confirm(gateway, proposed, who=BOB)).status_code == 200


@requirement("S-26")
async def test_one_pair_of_eyes_is_refused_by_the_use_case_and_by_the_database(either_gateway: Gateway) -> None:
    g = either_gateway
    proposed = (await propose(g, await approved(g))).json()
    refused = await confirm(g, proposed, who=ALICE)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_eligible")
    for change in (f"confirmed_by = '{ALICE}', status = 'active'", "status = 'active'"):
        with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation)):
            g.rows(f"UPDATE standing_approvals SET {change}")
    g.rows(f"UPDATE standing_approvals SET confirmed_by = '{ALICE.upper()}', status = 'active'")
    assert (await submit(g))["decision"] == "ask"


async def test_a_list_comes_in_pages_and_what_may_still_hold_is_on_the_first(either_gateway: Gateway) -> None:
    g = either_gateway
    base = await approved(g)
    made: list[dict[str, Any]] = []
    for each in range(6):
        made.append(await standing(g, base) if each == 0 else (await propose(g, base)).json())
        if isinstance(g.clock, ManualClock):  # or their ids would put those that hold first, once in twenty times
            g.clock.advance(timedelta(seconds=1))
    for each in made[2:5]:
        await g.call("DELETE", f"/v1/standing-approvals/{each['id']}", who="admin")
    seen: list[str] = []
    page, query = {"next_cursor": ""}, "?limit=2"
    for _ in range(3):
        page = (await g.call("GET", f"/v1/standing-approvals{query}", who="auditor")).json()
        assert len(page["items"]) == 2
        seen += [each["id"] for each in page["items"]]
        query = f"?limit=2&cursor={page['next_cursor']}"
    assert page["next_cursor"] is None
    holding, over = {made[0]["id"], made[1]["id"], made[5]["id"]}, {each["id"] for each in made[2:5]}
    assert (set(seen[:3]), set(seen[3:])) == (holding, over)
    assert len(seen) == len(set(seen))
    assert (await g.call("GET", "/v1/break-glass", who="auditor")).json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize("path", ["/v1/standing-approvals", "/v1/break-glass"])
@pytest.mark.parametrize(
    ("query", "fault"),
    [("cursor=eHg=", "cursor"), ("cursor=MToyOg==&limit=x", "limit"), ("cursor=LTE6MTp4", "cursor"), ("all=1", "all")],
)
async def test_a_page_that_nobody_can_mean_is_refused(gateway: Gateway, path: str, query: str, fault: str) -> None:
    said = await gateway.call("GET", f"{path}?{query}", who="auditor")
    assert (said.status_code, said.json()["path"]) == (422, f"query.{fault}")


@requirement("S-16", "S-26")
async def test_no_key_of_an_agent_opens_any_of_it_and_an_administrators_only_ends_it(gateway: Gateway) -> None:
    base = await approved(gateway)
    made = await standing(gateway, base)
    body = {"request": base["id"], "uses": 1, "lasts_seconds": 60}
    calls: list[tuple[str, str, object]] = [
        ("GET", "/v1/standing-approvals", None),
        ("POST", "/v1/standing-approvals", body),
        ("POST", f"/v1/standing-approvals/{made['id']}/confirm", {"digest": made["digest"]}),
        ("DELETE", f"/v1/standing-approvals/{made['id']}", None),
    ]
    for method, path, given in calls:
        assert (await gateway.call(method, path, given, who="agent:shop")).status_code == 403, path
    for method, path, given in calls[1:3]:
        assert (await gateway.call(method, path, given, who="admin")).status_code == 403, path
    assert (await gateway.call("DELETE", f"/v1/standing-approvals/{made['id']}", who="auditor")).status_code == 403
    assert (await gateway.call("DELETE", f"/v1/standing-approvals/{made['id']}", who="admin")).json()[
        "state"
    ] == "revoked"


@requirement("S-26")
@pytest.mark.parametrize(
    ("tool", "why"), [("unsay", "cannot be undone"), ("note", "second factor"), ("wrap", "permits no standing")]
)
async def test_there_is_none_of_what_cannot_be_undone_takes_a_factor_or_is_not_permitted(
    gateway: Gateway, tool: str, why: str
) -> None:
    waiting = await gateway.ask(tool, {"to": "board"})
    early = await propose(gateway, waiting, **NOTE_TERMS)
    assert (early.status_code, "people approved" in early.json()["detail"]) == (409, True)
    request = await approved(gateway, tool, {"to": "desk"})
    gateway.rewrite(
        "id: note, tools: [note, memo], then: ask,", "id: note, tools: [note, memo], then: ask, assurance: L3,"
    )
    await gateway.reload()
    refused = await propose(gateway, request, **NOTE_TERMS)
    assert refused.status_code == 409
    assert why in refused.json()["detail"]


@requirement("S-26", "S-25")
async def test_what_ran_under_one_is_no_ground_for_another(gateway: Gateway) -> None:
    await standing(gateway, await approved(gateway, "wire", PAY))
    said = await submit(gateway, "wire", PAY)
    assert said["request"]["allowed_by"].startswith("standing:sta_")
    refused = await propose(gateway, said["request"])
    assert (refused.status_code, "people approved" in refused.json()["detail"]) == (409, True)


@requirement("S-26")
async def test_a_revoked_one_is_not_used_again_and_takes_back_what_was_not_run(either_gateway: Gateway) -> None:
    g = either_gateway
    made = await standing(g, await approved(g, "wire", PAY))
    waiting = (await submit(g, "wire", PAY))["request"]
    assert waiting["state"] == "approved"
    assert (await g.call("DELETE", f"/v1/standing-approvals/{made['id']}", who=DAVE)).status_code == 403
    assert (await g.call("DELETE", f"/v1/standing-approvals/{made['id']}", who=RITA)).json()["state"] == "revoked"
    assert (await g.call("DELETE", f"/v1/standing-approvals/{made['id']}", who=RITA)).status_code == 200
    assert (await submit(g, "wire", PAY))["decision"] == "ask"
    assert (await g.claim(waiting, who="executor")).status_code == 409
    assert (await g.read(waiting))["state"] == "lapsed"
    assert (await confirm(g, made, who=RITA)).status_code == 409


@requirement("S-27", "S-26")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("finance: [alice@acme.example, ", "finance: ["),
        ("finance: [alice@acme.example, bob@acme.example, ", "finance: [alice@acme.example, "),
        ("bob@acme.example: {name: Bob, memory: U_BOB}", "bob@acme.example: {name: Bob, memory: U_BOB, limit: 10 CNY}"),
        ("uses: 5, each: {CNY: 500}, total: {CNY: 2000}, same: [payee, c", "uses: 4, each: {CNY: 500}, total: {CNY: 2000}, same: [payee, c"),  # noqa: E501
        ("  - id: pay\n", "  - id: other\n"),
        ("    standing: {lasts: 7d, uses: 5, each: {CNY: 500}, total: {CNY: 2000}, same: [payee, currency]}\n", ""),
        ("same: [payee, currency]", "same: [payee, currency, amount]"),
        ("    payment: {amount: amount, currency: currency, payee: payee, account: account}", "    payment: {amount: amount, currency: currency, payee: payee, account: account}\n    requires_confirmation: true"),  # noqa: E501
    ],
)  # fmt: skip
@pytest.mark.sampled(3)
async def test_todays_file_is_asked_at_every_use(gateway: Gateway, old: str, new: str) -> None:
    await standing(gateway)
    assert (await submit(gateway))["decision"] == "allow"
    gateway.rewrite(old, new)
    await gateway.reload()
    assert (await submit(gateway))["decision"] == "ask"
    assert [each["used"] for each in await listed(gateway)] == [1]


@requirement("S-26", "S-49")
async def test_a_caution_asks_people_and_a_pause_stops_it(gateway: Gateway) -> None:
    await standing(gateway)
    await gateway.call("PUT", "/v1/switches/pause", {"on": True, "tool": "pay"}, who="admin")
    assert (await submit(gateway))["decision"] == "deny"
    await gateway.call("PUT", "/v1/switches/pause", {"on": False, "tool": "pay"}, who="admin")
    assert (await submit(gateway))["decision"] == "allow"
    gateway.rewrite("duplicates: 0m", "duplicates: 30d")
    await gateway.reload()
    said = await submit(gateway)
    assert (said["decision"], [each["kind"] for each in said["request"]["cautions"]]) == ("ask", ["duplicate"])


@requirement("S-26")
async def test_a_row_that_says_something_else_than_was_confirmed_is_not_used(gateway: Gateway) -> None:
    await standing(gateway)
    for scope in ("replace(scope, '\"uses\":5', '\"uses\":4')", "'{}'", "'[]'", "replace(scope, 'shop', 'shopper')"):
        gateway.rows(f"UPDATE standing_approvals SET scope = {scope}")
        assert (await submit(gateway))["decision"] == "ask", scope
        assert (await gateway.call("GET", "/v1/standing-approvals", who=ALICE)).status_code == 200
