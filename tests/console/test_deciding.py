"""Deciding on the console's page: what it takes, what is refused, and what the page then says."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.console.signed_in import Home
from tests.fixtures.review_visits import URL, Visitor, press, pressing, sentence, with_url
from tests.fixtures.second_factors import BOB
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


@pytest.fixture
def visitor(gateway: Gateway) -> Visitor:
    return Visitor(gateway=gateway)


@requirement("S-10")
async def test_what_is_approved_on_the_page_is_recorded_as_any_approval_and_read_back(either_gateway: Gateway) -> None:
    gateway, visitor = either_gateway, Visitor(gateway=either_gateway)
    request = await gateway.ask()
    answer = await press(visitor, request, "approve", await visitor.visit(request))
    assert (answer.status_code, answer.headers["location"]) == (303, f"/r/{request['id']}")
    assert gateway.trail(request)[-1][0] in {"request.approved", "card.retired"}
    page = (await visitor.look(request)).text
    assert "Approved by Alice" in page
    assert 'value="approve"' not in page
    assert "approved on the console" in page
    assert (await gateway.claim(request)).status_code == 200
    page = (await visitor.look(request)).text
    assert "Running now" in page
    assert "<form" not in page
    assert (await gateway.verify())[1] is None


async def test_a_denial_takes_a_ready_reason_or_ones_own_and_the_agent_is_told(
    gateway: Gateway, visitor: Visitor
) -> None:
    first, second = await gateway.ask(), await gateway.ask(arguments={"payee": "B", "amount": 2})
    page = await visitor.visit(first)
    nothing = await press(visitor, first, "deny", page, reason="  ")
    assert (nothing.status_code, sentence(nothing)) == (409, "Please say why.")
    long = await press(visitor, first, "deny", page, reason="x" * 1001)
    assert "at most 1000 characters" in sentence(long)
    assert (await press(visitor, first, "deny", page, ready="amount")).status_code == 303
    assert "Wrong amount" in (await gateway.read(first))["message"]
    assert (await press(visitor, second, "deny", await visitor.visit(second), reason="no <b>")).status_code == 303
    assert "no &lt;b&gt;" in (await visitor.look(second)).text


@requirement("S-22")
async def test_a_page_drawn_before_somebody_else_acted_cannot_be_pressed_and_says_who_was_faster(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask("pay_two")
    page = await visitor.visit(request)
    await gateway.decide(request, who=BOB)
    stale = await press(visitor, request, "approve", page)
    assert (stale.status_code, (await gateway.read(request))["status"]) == (409, "pending")
    assert "Bob was faster, and approved." in sentence(stale)
    assert (await press(visitor, request, "approve", stale.text)).status_code == 303  # as it stands now
    again = await press(visitor, request, "approve", stale.text)  # a double press: what it wants is so already
    assert again.status_code == 303
    late = await press(visitor, request, "deny", stale.text, ready="later")
    assert "Somebody was faster: ✅ Approved by" in sentence(late)
    over = await gateway.ask()
    await gateway.advance(timedelta(minutes=29))
    page = await visitor.visit(over)
    await gateway.advance(timedelta(minutes=2))
    told = sentence(await press(visitor, over, "approve", page))
    assert "Its time has run out" in told
    assert "faster" not in told


async def test_a_reminder_that_went_out_makes_no_page_old(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    page = await visitor.visit(request)
    await gateway.advance(timedelta(minutes=20))
    assert (await gateway.read(request))["version"] > 1
    assert (await press(visitor, request, "approve", page)).status_code == 303


@requirement("S-53")
async def test_a_press_behind_the_deadline_approves_nothing(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    await gateway.advance(timedelta(minutes=29))
    page = await visitor.visit(request)
    gateway.clock.advance(timedelta(minutes=1))  # pyright: ignore[reportAttributeAccessIssue] - nobody has swept yet
    answer = await press(visitor, request, "approve", page)
    assert answer.status_code == 409
    assert (await gateway.read(request))["status"] == "expired"


@requirement("S-39")
async def test_a_form_counts_in_the_session_alone_for_which_it_was_drawn(gateway: Gateway, visitor: Visitor) -> None:
    request, other = await gateway.ask(), await gateway.ask(arguments={"payee": "B", "amount": 2})
    mine = await visitor.visit(request)
    theirs = Visitor(gateway=gateway)
    page_of_bob = await theirs.visit(request, who=BOB)
    page_of_other = await Visitor(gateway=gateway).visit(other)
    before = gateway.content()
    for page in (page_of_bob, page_of_other):
        assert "this form is too old, or is not yours" in sentence(await press(visitor, request, "approve", page))
    for changed in ({"origin": "https://evil.example"}, {"origin": ""}, {"session": ""}):
        assert (await press(visitor, request, "approve", mine, **changed)).status_code == 401
    for verdict in ("", "APPROVE", "edit"):
        assert (await press(visitor, request, verdict, mine)).status_code == 401
    token = pressing(mine)
    for at in (3, len(token) // 2, len(token) - 1):
        forged = mine.replace(token, token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :])
        assert (await press(visitor, request, "approve", forged)).status_code == 409
    assert gateway.content() == before
    assert (await press(visitor, request, "approve", mine)).status_code == 303


async def test_who_may_only_read_has_nothing_to_press_and_a_press_of_theirs_counts_nothing(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask(requester="dave@acme.example")
    page = await visitor.visit(request, who="dave@acme.example")
    assert "somebody else decides" in page
    assert 'name="verdict"' not in page
    of_alice = Visitor(gateway=gateway)
    drawn_for_alice = await of_alice.visit(request)
    answer = await press(visitor, request, "approve", drawn_for_alice)
    assert answer.status_code == 409
    assert (await gateway.read(request))["status"] == "pending"


async def test_a_vote_can_be_taken_back_while_it_waits(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask("pay_two")
    await press(visitor, request, "approve", await visitor.visit(request))
    page = (await visitor.look(request)).text
    assert "You approved this. It waits for others." in page
    assert (await press(visitor, request, "withdraw", page)).status_code == 303
    assert "0 of 2 approvals" in (await visitor.look(request)).text


async def test_the_page_and_its_row_say_how_many_of_each_stage_have_agreed(gateway: Gateway, visitor: Visitor) -> None:
    gateway.rewrite(
        "stages: [{of: [finance], need: 2}]", "stages: [{all: [{of: [finance]}, {of: [dave@acme.example]}]}]"
    )
    await gateway.reload()
    request = await gateway.ask("pay_two")
    await press(visitor, request, "approve", await visitor.visit(request))
    said = "1 of 1 approvals · finance + 0 of 1 approvals · Dave"
    assert said in (await visitor.look(request)).text
    await gateway.quiet()
    assert str(gateway.card(request).card.progress).startswith(said)
    carol = await Home.of(gateway, "carol@acme.example", origin=URL)
    assert said in (await carol.get()).text


async def test_an_approval_is_taken_back_until_it_is_claimed_and_nothing_runs(either_gateway: Gateway) -> None:
    gateway, visitor, of_bob = either_gateway, Visitor(gateway=either_gateway), Visitor(gateway=either_gateway)
    request, other = await gateway.ask(), await gateway.ask(arguments={"payee": "B", "amount": 2})
    await press(visitor, request, "approve", await visitor.visit(request))
    assert 'value="withdraw"' not in await of_bob.visit(request, who=BOB)  # it is not his
    assert (await press(of_bob, request, "withdraw", (await visitor.look(request)).text)).status_code == 409
    page = (await visitor.look(request)).text
    assert "you can stop it here" in page
    for _ in range(2):  # the answer to the first was lost
        assert (await press(visitor, request, "withdraw", page)).status_code == 303
    assert "took it back" in (await visitor.look(request)).text
    refused = await gateway.claim(request)
    assert (refused.status_code, refused.json()["state"]) == (409, "lapsed")
    assert gateway.trail(request)[-1][0] in {"grant.revoked", "card.retired"}
    assert [row["status"] for row in gateway.rows("SELECT status FROM grants")] == ["revoked"]
    await press(visitor, other, "approve", await visitor.visit(other))
    page = (await visitor.look(other)).text
    assert (await gateway.claim(other)).status_code == 200
    late = await press(visitor, other, "withdraw", page)
    assert (late.status_code, "it can no longer be stopped here" in late.text) == (409, True)
    assert (await gateway.read(other))["state"] == "executing"
    assert (await gateway.verify())[1] is None


async def test_a_program_takes_its_persons_approval_back_by_the_api(gateway: Gateway) -> None:
    request = await gateway.ask()
    said = {"verdict": "approve", "digest": request["digest"]}
    path = f"/v1/requests/{request['id']}/decisions"
    assert (await gateway.call("POST", path, said, who="alice@acme.example")).status_code == 200
    taken = {**said, "verdict": "withdraw"}
    assert (await gateway.call("POST", path, taken, who=BOB)).status_code == 409
    answer = await gateway.call("POST", path, taken, who="alice@acme.example")
    assert (answer.status_code, answer.json()["state"]) == (200, "lapsed")
    assert "alice@acme.example" not in answer.json()["message"]
    assert (await gateway.call("POST", path, taken, who="alice@acme.example")).status_code == 409


async def test_what_asks_for_time_to_be_read_is_approved_only_after_it_was_on_the_screen_that_long(
    gateway: Gateway, visitor: Visitor
) -> None:
    gateway.rewrite("then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m",
                    "then: ask, risk: high, stages: [{of: [finance]}], channels: [chat], timeout: 30m")  # fmt: skip
    await gateway.reload()
    request = await gateway.ask()
    await gateway.advance(timedelta(minutes=1))
    page = await visitor.visit(request)
    soon = await press(visitor, request, "approve", page)
    assert "approving is possible in 3 s" in sentence(soon)
    await gateway.advance(timedelta(seconds=3))
    assert (await press(visitor, request, "approve", soon.text)).status_code == 303  # it need not be read anew


async def test_a_form_of_another_address_is_told_what_it_is(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    page = await visitor.visit(request)
    for origin in ("https://evil.example", "null"):
        answer = await press(visitor, request, "approve", page, origin=origin)
        assert (answer.status_code, "This form is not from a page of this gateway" in answer.text) == (401, True)
    assert (await gateway.read(request))["status"] == "pending"


async def test_a_mistyped_address_is_a_page_for_whoever_browses_and_a_document_for_programs(gateway: Gateway) -> None:
    for path in ("/inbox", "/console/nope", "/a/b/c"):
        browsed = await gateway.http.get(path, headers={"accept": "text/html,*/*;q=0.8"})
        assert (browsed.status_code, "There is no such page" in browsed.text) == (404, True)
        asked = await gateway.http.get(path, headers={"accept": "*/*"})
        assert (asked.status_code, asked.json()["code"]) == (404, "not_found")


async def test_pages_are_looked_at_by_head_and_a_method_that_is_none_is_told_all_that_are(gateway: Gateway) -> None:
    for path, status in (("/healthz", 200), ("/sign-in", 200), ("/", 401), ("/r/req_x", 401)):
        assert (await gateway.http.head(path)).status_code == status
    for path, allowed in (("/", "GET, HEAD, POST"), ("/healthz", "GET, HEAD"), ("/v1/requests", "GET, POST")):
        answer = await gateway.http.delete(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
