"""What one approver allows for a session beside an approval: narrow, counted, in the trail, and ended by anything."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.durability.races.test_races import all_at_once
from tests.fixtures.gateway import open_gateway
from tests.fixtures.review_visits import ReadPage, Visitor, press, pressing, sentence, with_url
from tests.fixtures.standing import ALICE, BOB, CAROL, DAVE, PAY, RITA, STANDING_ACME, approved, submit
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CHANGED = {"confirmed_by": "rule:note", "digest": "0" * 64, "proposed_by": DAVE}
USED = "standing.session_used"
S1: dict[str, Any] = {"session": "s-1", "requester": DAVE}
NOTE = {"to": "desk", "opts": 1, "text": "as ever"}
TERMS = "session: {lasts: 30m, uses: 3, each: {CNY: 1500}}"
OF_NOTES = "session: {lasts: 1h, uses: 2, differ: [text]}"
OF_WIRES = "session: {lasts: 30m, uses: 3, each: {CNY: 1400}}"
WIRE = {"payee": "Acme Ltd", "amount": "400", "currency": "CNY"}
ASKS = "    stages: [{of: [finance]}]\n    channels: [chat, api]\n"


def session_acme() -> str:
    """Return the file of an org whose rules let an approver allow calls for a session."""
    text = STANDING_ACME
    for old, new in (
        (
            "    standing: {lasts: 7d, uses: 5, each: {CNY: 500}, total: {CNY: 2000}, same: [payee, currency]}\n",
            f"    {TERMS}\n",
        ),
        ("standing: {lasts: 1h, uses: 3, same: [to, opts]}}", f"{OF_NOTES}}}"),
        (
            "    standing: {lasts: 7d, uses: 5, each: {CNY: 500}, total: {CNY: 2000}, same: [payee]}\n",
            f"    {OF_WIRES}\n",
        ),
    ):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write it."""
    orgs = tmp_path / "orgs"
    orgs.mkdir()
    (orgs / "acme.yaml").write_text(session_acme())
    return with_url(orgs)


def offer_in(page: str) -> str:
    """Return what the form of the page allows beside the approval; "": it offers nothing."""
    found = [str(a["value"]) for _, a in ReadPage(page).elements if a.get("name") == "allow"]
    return found[0] if found else ""


async def asked(g: Gateway, tool: str = "pay", arguments: object = None, **changed: Any) -> dict[str, Any]:
    """Ask about a call of the session; of a payment, to a payee who was paid before."""
    if tool in {"pay", "wire"}:
        await approved(g, tool, {**(PAY if tool == "pay" else WIRE), "amount": "399"})
    return await g.ask(tool, PAY if arguments is None else arguments, **{**S1, **changed})


async def allowed(
    g: Gateway, request: dict[str, Any] | None = None, *, who: str = ALICE, **fields: str
) -> tuple[dict[str, Any], httpx2.Response]:
    """Approve a request on its page, and allow for the session what it offers."""
    request = request or await asked(g)
    visitor = Visitor(gateway=g)
    page = await visitor.visit(request, who=who)
    assert offer_in(page), page
    return request, await press(visitor, request, "approve", page, allow=offer_in(page), **fields)


def facts_of(g: Gateway, kind: str) -> list[dict[str, Any]]:
    rows = g.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")
    return [json.loads(row["facts"]) if isinstance(row["facts"], str) else row["facts"] for row in rows]


async def listed(g: Gateway) -> list[dict[str, Any]]:
    return (await g.call("GET", "/v1/standing-approvals", who="auditor")).json()["items"]


async def offers(g: Gateway, request: dict[str, Any], *, who: str = ALICE) -> bool:
    return bool(offer_in(await Visitor(gateway=g).visit(request, who=who)))


@requirement("S-26")
async def test_what_is_spelled_out_is_allowed_with_the_approval_and_each_use_says_whose_word_it_was(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    request, answer = await allowed(g)
    assert answer.status_code == 303, answer.text
    assert (await g.read(request))["status"] == "approved"
    [made] = await listed(g)
    assert (made["kind"], made["state"], made["proposed_by"], made["confirmed_by"]) == (
        "session", "active", ALICE, "rule:pay",
    )  # fmt: skip
    assert made["scope"].startswith("Up to 3 more payments to “Acme Ltd” with “pay”, each at most CNY 400, by “shop”")
    assert "in this session (“s-1”), until 20" in made["scope"]
    assert made["scope"].endswith("only amount may differ.")
    assert "向 “Acme Ltd” 付款最多 3 次，每笔最多 CNY 400" in made["scope_zh"]
    said = [await submit(g, "pay", {**PAY, "amount": each}, **S1) for each in ("400.00", "1", "12.50", "12.51")]
    assert [each["decision"] for each in said] == ["allow", "allow", "allow", "ask"]
    reason = f"{ALICE} allowed it for the session, as the standing approval {made['id']} (use 1 of 3)."
    assert said[0]["reason"] == reason
    told = [(facts["allowed_by"], facts["approved_request"], facts["used"]) for facts in facts_of(g, USED)]
    assert told == [(ALICE, request["id"], used) for used in (1, 2, 3)]
    assert [kind for kind, _ in g.trail(request)].count("standing.allowed") == 1
    assert (await listed(g))[0]["state"] == "used up"
    assert (await g.verify())[1] is None


@requirement("S-26")
@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ({"amount": "400.01"}, {}),
        ({"payee": "Acme Ltd."}, {}),
        ({"account": "DE03-OTHER"}, {}),
        ({"currency": "USD"}, {}),
        ({"memo": "new"}, {}),  # what nobody saw
        ({}, {"session": "s-2"}),
        ({}, {"session": None}),
        ({}, {"requester": RITA}),
        ({}, {"requester": ALICE}),  # nobody lets their own pass
        ({}, {"requester": None}),
        ({}, {"sub_agent": "helper"}),
        ({}, {"confirm": "look at it"}),
        ({}, {"who": "agent:other"}),
    ],
)
@pytest.mark.sampled(3)
async def test_whatever_else_differs_is_asked_about(
    gateway: Gateway, arguments: dict[str, str], changed: dict[str, Any]
) -> None:
    await allowed(gateway)
    more = {name: value for name, value in {**S1, **changed}.items() if value is not None}
    assert (await submit(gateway, "pay", {**PAY, "amount": "3", **arguments}, **more))["decision"] == "ask"
    assert (await submit(gateway, "pay", {**PAY, "amount": "4"}, **S1))["decision"] == "allow"
    assert (await gateway.verify())[1] is None


@requirement("S-26")
async def test_arguments_that_the_file_lets_differ_may_and_how_they_look_is_looked_at(gateway: Gateway) -> None:
    request = await asked(gateway, "note", NOTE)
    assert (await allowed(gateway, request))[1].status_code == 303
    assert "only text may differ" in (await listed(gateway))[0]["scope"]
    hidden = {**NOTE, "text": "fine\u200b"}
    assert (await submit(gateway, "note", hidden, **S1))["decision"] == "ask"
    assert (await submit(gateway, "note", {**NOTE, "text": {"of": "another kind"}}, **S1))["decision"] == "allow"
    assert (await submit(gateway, "note", {**NOTE, "opts": "1"}, **S1))["decision"] == "ask"
    assert (await submit(gateway, "memo", NOTE, **S1))["decision"] == "ask"  # another tool of the same rule


@requirement("S-26")
async def test_what_is_to_be_warned_of_is_neither_offered_nor_let_through(gateway: Gateway) -> None:
    first = await gateway.ask("pay", PAY, **S1)  # never paid before
    assert not await offers(gateway, first)
    assert (await gateway.decide(first, who=RITA)).status_code == 200
    request, _ = await allowed(gateway, await asked(gateway, arguments={**PAY, "amount": "300"}))
    limit = "payments: {step_up: [], duplicates: 30d}"
    gateway.rewrite("payments: {step_up: [], duplicates: 0m}", limit)
    await gateway.reload()
    assert (await submit(gateway, "pay", {**PAY, "amount": "300"}, **S1))["decision"] == "ask"  # a duplicate
    assert (await gateway.read(request))["status"] == "approved"


@requirement("S-26", "S-09")
async def test_only_who_may_decide_it_alone_and_in_their_own_right_is_offered_it(gateway: Gateway) -> None:
    mine = await asked(gateway, requester=BOB)
    assert await offers(gateway, mine)
    assert not await offers(gateway, mine, who=BOB)
    assert not await offers(gateway, await gateway.ask("pay", {**PAY, "amount": "401"}, **S1), who=CAROL)  # her limit
    assert not await offers(gateway, await gateway.ask("pay", {**PAY, "amount": "1501"}, **S1))  # above `each`
    assert not await offers(gateway, await gateway.ask("pay", {**PAY, "amount": "2"}, requester=DAVE))  # no session
    assert not await offers(gateway, await gateway.ask("wrap", {"a": 1}, **S1))  # a rule that does not let it


@requirement("S-26", "S-27")
@pytest.mark.parametrize(
    ("old", "new", "for_good"),
    [
        (f"{ASKS}    {TERMS}\n", ASKS.replace("]}]", "], need: 2}]"), True),
        (f"{ASKS}    {TERMS}\n", f"    assurance: L3\n{ASKS}", True),
        (f"    {TERMS}\n", "", True),
        (TERMS, TERMS.replace("1500", "300"), True),
        (TERMS, TERMS.replace("30m", "29m"), True),
        (TERMS, TERMS.replace("uses: 3", "uses: 2"), True),
        ("  pay:\n    title:", "  pay:\n    requires_confirmation: true\n    title:", True),
        ("{name: Alice, memory: U_ALICE}", "{name: Alice, memory: U_ALICE, limit: 5 CNY}", False),
        ("finance: [alice@acme.example, ", "finance: [", False),
    ],
)
@pytest.mark.sampled(3)
async def test_a_file_that_lets_less_ends_it_and_that_it_lets_it_again_brings_nothing_back(
    gateway: Gateway, old: str, new: str, *, for_good: bool
) -> None:
    await allowed(gateway)
    gateway.rewrite(old, new)
    await gateway.reload()
    assert (await submit(gateway, "pay", {**PAY, "amount": "7"}, **S1))["decision"] == "ask"
    gateway.rewrite(new, old) if new else gateway.rewrite(ASKS, f"{ASKS}    {TERMS}\n")
    await gateway.reload()
    answer = (await submit(gateway, "pay", {**PAY, "amount": "8"}, **S1))["decision"]
    assert (answer, (await listed(gateway))[0]["state"]) == (("ask", "ended") if for_good else ("allow", "active"))
    assert (await gateway.verify())[1] is None


@requirement("S-26", "S-27")
async def test_less_by_the_file_counts_before_anything_has_ended_it(gateway: Gateway) -> None:
    await allowed(gateway, await asked(gateway, "wire", WIRE))
    let = (await submit(gateway, "wire", {**WIRE, "amount": "3"}, **S1))["request"]
    gateway.rewrite(OF_WIRES, OF_WIRES.replace("1400", "399"))
    assert not await asyncio.to_thread(gateway.container.book.reload)  # and is not yet taken into use
    assert (await submit(gateway, "wire", {**WIRE, "amount": "4"}, **S1))["decision"] == "ask"
    assert [each["state"] for each in await listed(gateway)] == ["ended"]
    assert (await gateway.claim(let, who="executor")).status_code == 409


@requirement("S-26")
async def test_the_end_of_the_session_ends_it(either_gateway: Gateway) -> None:
    g = either_gateway
    await allowed(g)
    for session, who in (("s-2", "agent:shop"), ("s-1", "agent:other")):
        said = await g.call("POST", "/v1/hooks/SessionEnd", {"session_id": session, "reason": "clear"}, who=who)
        assert said.status_code == 200, said.text
    assert (await submit(g, "pay", {**PAY, "amount": "5"}, **S1))["decision"] == "allow"
    said = await g.call("POST", "/v1/hooks/SessionEnd", {"session_id": "s-1", "reason": "clear"})
    assert said.status_code == 200, said.text
    assert (await submit(g, "pay", {**PAY, "amount": "6"}, **S1))["decision"] == "ask"
    [made] = await listed(g)
    assert (made["state"], made["used"]) == ("ended", 1)
    assert [facts["why"] for facts in facts_of(g, "standing.revoked")] == ["the session ended"]
    assert (await g.verify())[1] is None


@requirement("S-26")
async def test_its_time_is_the_one_that_the_page_said_and_then_it_is_over(gateway: Gateway) -> None:
    request, visitor = await asked(gateway), Visitor(gateway=gateway)
    page = await visitor.visit(request)
    await gateway.advance(timedelta(minutes=20))
    said = await press(visitor, request, "approve", page, allow=offer_in(page))
    assert said.status_code == 303, said.text
    await gateway.advance(timedelta(minutes=9))
    assert (await submit(gateway, "pay", {**PAY, "amount": "5"}, **S1))["decision"] == "allow"
    await gateway.advance(timedelta(minutes=1))
    assert (await submit(gateway, "pay", {**PAY, "amount": "6"}, **S1))["decision"] == "ask"


@requirement("S-26")
async def test_one_tap_ends_it_on_the_page_on_the_list_and_by_the_api(gateway: Gateway) -> None:
    request, visitor = await asked(gateway), Visitor(gateway=gateway)
    page = await visitor.visit(request)
    await press(visitor, request, "approve", page, allow=offer_in(page))
    shown = (await visitor.look(request)).text
    [made] = await listed(gateway)
    assert "Alice allowed for this session" in shown
    assert "used 0 / 3" in shown
    other, stranger = await gateway.ask("note", NOTE, **S1), Visitor(gateway=gateway)
    foreign = await press(stranger, other, "", await stranger.visit(other, who=BOB), end=made["id"])
    assert "It was not ended" in sentence(foreign)  # not from the page of another request
    forged = await press(visitor, request, "", shown.replace(pressing(shown), "p1.x.y.z"), end=made["id"])
    assert "this form is too old" in sentence(forged)
    assert (await listed(gateway))[0]["state"] == "active"
    assert (await press(visitor, request, "", shown, end=made["id"])).status_code == 303
    after = (await visitor.look(request)).text
    assert "ended by somebody" in after
    assert "End it now" not in after
    assert (await submit(gateway, "pay", {**PAY, "amount": "6"}, **S1))["decision"] == "ask"
    await allowed(gateway, await gateway.ask("pay", {**PAY, "amount": "50"}, **S1))
    again = (await listed(gateway))[0]
    said = await gateway.call("DELETE", f"/v1/standing-approvals/{again['id']}", who=RITA)
    assert (said.status_code, said.json()["state"]) == (200, "revoked")
    assert (await submit(gateway, "pay", {**PAY, "amount": "6"}, **S1))["decision"] == "ask"


@requirement("S-26", "S-22")
async def test_another_than_the_page_said_is_not_allowed_and_then_nothing_is_recorded(gateway: Gateway) -> None:
    request, visitor = await asked(gateway), Visitor(gateway=gateway)
    page = await visitor.visit(request)
    before = gateway.content()
    for verdict, allow in (("approve", "0" * 64), ("deny", offer_in(page))):
        said = await press(visitor, request, verdict, page, allow=allow, reason="no")
        assert (said.status_code, "Nothing was recorded" in sentence(said)) == (409, True)
    assert gateway.content() == before
    gateway.rewrite("uses: 3, each: {CNY: 1500}", "uses: 2, each: {CNY: 1500}")
    await gateway.reload()
    said = await press(visitor, request, "approve", page, allow=offer_in(page))
    assert (said.status_code, "Nothing was recorded" in sentence(said)) == (409, True)
    assert (await gateway.read(request))["status"] == "pending"
    assert await listed(gateway) == []


@requirement("S-26", "S-29")
async def test_at_l2_the_amount_or_code_is_typed_and_wrong_ones_allow_nothing(gateway: Gateway) -> None:
    request, visitor = await asked(gateway), Visitor(gateway=gateway)
    gateway.rewrite(ASKS, f"    assurance: L2\n{ASKS}")
    await gateway.reload()
    request = await gateway.ask("pay", {**PAY, "amount": "12"}, **S1)
    page = await visitor.visit(request)
    missing = await press(visitor, request, "approve", page, allow=offer_in(page))
    assert missing.status_code == 409
    wrong = await press(visitor, request, "approve", page, allow=offer_in(page), typed="1")
    assert (wrong.status_code, await listed(gateway)) == (409, [])
    right = await press(visitor, request, "approve", page, allow=offer_in(page), typed=request["code"])
    assert (right.status_code, (await listed(gateway))[0]["state"]) == (303, "active")


@requirement("S-26", "S-27")
async def test_a_call_of_an_executor_that_it_let_through_is_taken_back_once_it_is_ended(gateway: Gateway) -> None:
    await allowed(gateway, await asked(gateway, "wire", WIRE))
    let = [(await submit(gateway, "wire", {**WIRE, "amount": each}, **S1))["request"] for each in ("3", "4")]
    assert [each["state"] for each in let] == ["approved", "approved"]
    assert (await gateway.claim(let[0], who="executor")).status_code == 200
    [made] = await listed(gateway)
    await gateway.call("DELETE", f"/v1/standing-approvals/{made['id']}", who=BOB)
    said = await gateway.claim(let[1], who="executor")
    assert (said.status_code, said.json()["code"]) == (409, "not_approved"), said.text


@requirement("S-26")
async def test_of_many_at_the_last_use_exactly_one_is_let_through(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with (
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as g,
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as other,
    ):
        await allowed(g)
        await other.key("agent:shop")
        calls = [submit((g, other)[n % 2], "pay", {**PAY, "amount": f"{n + 1}"}, **S1) for n in range(32)]
        said = await all_at_once(*calls)
        assert sorted(each["decision"] for each in said) == ["allow"] * 3 + ["ask"] * 29
        assert (await g.verify())[1] is None


@requirement("S-26")
async def test_two_presses_of_one_page_allow_once(either_gateway: Gateway) -> None:
    g = either_gateway
    request, visitor = await asked(g), Visitor(gateway=g)
    page = await visitor.visit(request)
    said = await all_at_once(*(press(visitor, request, "approve", page, allow=offer_in(page)) for _ in range(4)))
    assert {each.status_code for each in said} == {303}
    assert len(await listed(g)) == 1


@requirement("S-26")
@pytest.mark.parametrize("column", ["scope", "confirmed_by", "digest", "proposed_by"])
async def test_a_row_that_was_changed_lets_nothing_pass(gateway: Gateway, column: str) -> None:
    await allowed(gateway)
    [row] = gateway.rows("SELECT * FROM standing_approvals")
    put(gateway, column, CHANGED.get(column) or row["scope"].replace('"400"', '"900"'))
    assert (await submit(gateway, "pay", {**PAY, "amount": "9"}, **S1))["decision"] == "ask"
    put(gateway, column, row[column])
    assert (await submit(gateway, "pay", {**PAY, "amount": "10"}, **S1))["decision"] == "allow"


def put(g: Gateway, column: str, value: str) -> None:
    with closing(sqlite3.connect(g.url.removeprefix("sqlite:///"))) as file, file:
        file.execute(f"UPDATE standing_approvals SET {column} = ?", (value,))
