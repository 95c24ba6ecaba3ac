"""What else is done on a request's page: each verb of the table by one form, as from a card and by the API."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.text.language import Language
from tests.console.signed_in import Home
from tests.fixtures.editing import EDITING, TRANSFER
from tests.fixtures.gateway import open_gateway
from tests.fixtures.review_visits import URL, ReadPage, Visitor, pressing, sentence, with_url
from tests.fixtures.second_factors import ALICE, BOB, DAVE, OLGA, STEPS_UP, enrolled
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CAROL = "carol@acme.example"
CHANGED = "request.edited"


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


@pytest.fixture
def visitor(gateway: Gateway) -> Visitor:
    return Visitor(gateway=gateway)


@pytest.fixture
async def editing(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(f"url: {URL}\n{EDITING}")
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


@pytest.fixture
async def steps_up(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(f"url: {URL}\n{STEPS_UP}")
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


async def do(
    visitor: Visitor,
    request: dict[str, Any],
    verb: str,
    page: str,
    *,
    origin: str = URL,
    press: str | None = None,
    **fields: str,
) -> httpx2.Response:
    """Send one of the forms below the decision, as a browser does."""
    headers = {"origin": origin, "sec-fetch-site": "same-origin", "cookie": f"assent-link={visitor.session}"}
    visitor.gateway.http.cookies.clear()
    data = {"do": verb, "press": press or pressing(page), **fields}
    return await visitor.gateway.http.post(f"/r/{request['id']}", data=data, headers=headers)


def offered(page: str) -> list[str | None]:
    """Return the verbs that a page has forms for."""
    return [a["value"] for _, a in ReadPage(page).elements if a.get("name") == "do"]


def listed(page: str, verb: str) -> set[str | None]:
    """Return whom a verb's form lets one pick."""
    found, inside = set[str | None](), False
    for name, attributes in ReadPage(page).elements:
        if name == "select":
            inside = attributes["id"] == f"do-{verb}-person"
        if name == "option" and inside and attributes["value"]:
            found.add(attributes["value"])
    return found


def change(page: str, **typed: str) -> dict[str, str]:
    """Return the fields of the form for changes as they stand on a page, some typed anew; each by its label's end."""
    fields = [a for _, a in ReadPage(page).elements if str(a.get("name", "")).startswith("edit_")]
    labels = dict(zip([a["name"] for a in fields], _labels(page), strict=True))
    return {str(a["name"]): typed.get(labels[a["name"]], str(a["value"])) for a in fields}


def _labels(page: str) -> list[str]:
    read = ReadPage(page)
    wanted = sum(str(a.get("for", "")).startswith("do-edit-edit_") for _, a in read.elements)
    at = [part.partition(">")[2].partition("<")[0] for part in page.split('<label for="do-edit-edit_')[1:]]
    assert len(at) == wanted
    return at


def facts(gateway: Gateway, request: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return what the trail says of the only event of a kind."""
    where = f"WHERE request_id = '{request['id']}' AND kind = '{kind}'"
    [row] = gateway.rows(f"SELECT actor, facts FROM audit_events {where}")
    said = row["facts"]
    return {"actor": row["actor"], **(json.loads(said) if isinstance(said, str) else said)}


@requirement("S-10")
@pytest.mark.parametrize(
    ("verb", "fields", "kind", "told"),
    [
        ("ask", {"text": "Which <b>invoice</b>?"}, "request.asked_back", r"Which &lt;b&gt;invoice&lt;/b&gt;\?"),
        ("hand_over", {"person": BOB, "note": "on leave"}, "request.handed_over", "Bob decides in their place"),
        ("add", {"person": DAVE, "note": ""}, "request.approver_added", "Dave"),
        ("extend", {}, "request.extended", "(59 min|1 h) left"),
    ],
)
async def test_each_verb_is_done_once_as_by_any_way_and_the_page_shows_what_stands(
    either_gateway: Gateway, verb: str, fields: dict[str, str], kind: str, told: str
) -> None:
    gateway, visitor = either_gateway, Visitor(gateway=either_gateway)
    request = await gateway.ask()
    page = await visitor.visit(request)
    assert verb in offered(page)
    for _ in range(2):  # a double press, or the answer to the first was lost
        answer = await do(visitor, request, verb, page, **fields)
        assert (answer.status_code, answer.headers.get("location")) == (303, f"/r/{request['id']}"), sentence(answer)
    said = facts(gateway, request, kind)
    assert (said["actor"], said["channel"]) == (ALICE, "console")
    assert re.search(told, (await visitor.look(request)).text)
    assert (await gateway.read(request))["status"] == "pending"  # none of it approves
    assert (await gateway.verify())[1] is None


async def test_others_are_reminded_once_and_not_right_after_they_were_asked(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    soon = await visitor.visit(request)
    assert "remind" not in offered(soon)
    assert "a moment ago" in sentence(await do(visitor, request, "remind", soon))
    await gateway.advance(timedelta(minutes=6))
    page = (await visitor.look(request)).text
    for _ in range(2):
        assert (await do(visitor, request, "remind", page)).status_code == 303
    assert facts(gateway, request, "request.reminded")["actor"] == ALICE


async def test_who_asked_for_it_answers_there_and_has_no_form_that_is_an_approvers(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask(requester=DAVE)
    of_alice = Visitor(gateway=gateway)
    await do(of_alice, request, "ask", await of_alice.visit(request), text="Which invoice?")
    page = await visitor.visit(request, who=DAVE)
    assert offered(page) == ["extend", "answer"]
    assert "Which invoice?" in page
    [field] = [str(a["name"]) for _, a in ReadPage(page).elements if str(a.get("name", "")).startswith("text_")]
    before = gateway.content(without=("audit_events",))
    for verb, fields in {
        "ask": {"text": "me?"}, "hand_over": {"person": BOB}, "add": {"person": BOB}, "edit": {"edit_0": "1"},
    }.items():  # fmt: skip
        answer = await do(visitor, request, verb, page, **fields)
        assert answer.status_code == 409, verb
        assert "You asked for this" in sentence(answer) or "Nothing changed: the form" in sentence(answer)
    assert gateway.content(without=("audit_events",)) == before
    assert gateway.trail(request)[-1][0] == "click.refused"
    assert (await do(visitor, request, "answer", page, **{field: "INV-7"})).status_code == 303
    assert (await gateway.read(request))["questions"][0]["answer"] == "INV-7"
    assert "INV-7" in (await of_alice.look(request)).text


async def test_who_may_read_and_neither_asked_nor_decides_has_no_form_and_a_forged_one_does_nothing(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask()
    page = await visitor.visit(request, who=OLGA)  # the agent is hers
    assert "<form" not in page
    console = gateway.container.console
    right = await console.sessions.right_of(visitor.session, "")
    press = (await console.decide_page.show(right, request["id"], Language.EN)).press
    fields = {"text": "x", "person": BOB, **change(await Visitor(gateway=gateway).visit(request))}
    before = gateway.content(without=("audit_events",))
    for verb in ("edit", "ask", "hand_over", "add", "remind", "extend", "answer"):
        answer = await do(visitor, request, verb, page, press=press, **fields)
        assert answer.status_code == 409, verb
        assert re.search("You asked for this, or the agent is yours|not among the people", sentence(answer)), verb
    assert gateway.content(without=("audit_events",)) == before
    assert [who for kind, who in gateway.trail(request) if kind == "click.refused"].count(OLGA) >= 5


async def test_the_lists_have_whom_the_file_lets_take_the_place_and_a_long_file_takes_a_name(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask(requester=CAROL)
    page = await visitor.visit(request)
    assert listed(page, "hand_over") == {BOB, "rita@acme.example"}  # not who asked, whose agent it is, or is in legal
    assert {BOB, DAVE} <= listed(page, "add")
    assert CAROL not in listed(page, "add")
    outside = await do(visitor, request, "hand_over", page, person=DAVE)
    assert "This person cannot decide this request" in sentence(outside)
    many = "".join(f"  p{number}@acme.example: {{name: P{number}}}\n" for number in range(24))
    gateway.rewrite("people:\n", f"people:\n{many}")
    await gateway.reload()
    page = (await visitor.look(request)).text
    assert listed(page, "hand_over") == set()
    assert (await do(visitor, request, "hand_over", page, person="  bob ")).status_code == 303
    assert (await gateway.read(request))["handovers"][0]["to"] == BOB


@requirement("S-22")
async def test_a_page_of_then_does_nothing_now_and_says_who_was_faster(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask("pay_two")
    page = await visitor.visit(request)
    await gateway.decide(request, who=BOB)
    await gateway.quiet()
    before = gateway.content()
    stale = await do(visitor, request, "ask", page, text="Why?")
    assert (stale.status_code, sentence(stale).count("Bob was faster, and approved.")) == (409, 1)
    assert gateway.content() == before
    assert "Why?" in stale.text  # what was typed is still there
    assert (await do(visitor, request, "ask", stale.text, text="Why?")).status_code == 303
    page = (await visitor.look(request)).text
    await gateway.decide(request, who=CAROL)
    assert "Somebody was faster: ✅ Approved by" in sentence(await do(visitor, request, "extend", page))


@requirement("S-39")
async def test_only_a_form_of_this_session_and_of_our_own_page_does_anything(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask()
    page = await visitor.visit(request)
    of_bob = await Visitor(gateway=gateway).visit(request, who=BOB)
    before = gateway.content()
    assert "is too old, or is not yours" in sentence(await do(visitor, request, "extend", of_bob))
    for origin in ("https://evil.example", ""):
        assert (await do(visitor, request, "extend", page, origin=origin)).status_code == 401
    for verb in ("", "ASK", "approve", "more", "review"):  # votes have a form of their own
        assert (await do(visitor, request, verb, page)).status_code == 401
    assert gateway.content() == before


async def test_what_is_typed_is_bounded_kept_for_another_try_and_never_markup(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask()
    page = await visitor.visit(request)
    before = gateway.content()
    for verb, fields, told in (
        ("ask", {}, "Please write something."),
        ("ask", {"text": " \r\n "}, "Please write something."),
        ("ask", {"text": "x" * 501}, "500 characters at most"),
        ("hand_over", {"note": "n"}, "Please say who."),
        ("hand_over", {"person": "nobody@acme.example"}, "This person is not known here."),
        ("add", {"person": "<script>"}, "This person is not known here."),
        ("add", {"person": BOB, "note": "n" * 501}, "500 characters at most"),
        ("edit", {"edit_99_deadbeef": "1"}, "the form is no longer that of this request"),
    ):
        answer = await do(visitor, request, verb, page, **fields)
        assert (answer.status_code, told in sentence(answer)) == (409, True), sentence(answer)
    assert (await do(visitor, request, "ask", page, text="a\0b")).status_code == 401
    assert (await do(visitor, request, "ask", page, text="x" * 17_000)).status_code == 400
    assert (await do(visitor, request, "ask", page, **{f"f{n}": "" for n in range(20)})).status_code == 401
    hostile = "</textarea><script>alert(1)</script>" + "x" * 500
    kept = await do(visitor, request, "ask", page, text=hostile)
    assert "<script>alert" not in kept.text
    assert "&lt;/textarea&gt;&lt;script&gt;" in kept.text
    assert gateway.content() == before


async def test_it_speaks_the_readers_language(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    page = await visitor.visit(request, query="?lang=zh")
    for text in ("其他操作", "修改后批准", "退回询问", "转交", "加签", "延长时限", "决定时限将延长至"):
        assert text in page
    headers = {"origin": URL, "accept-language": "zh", "cookie": f"assent-link={visitor.session}"}
    data = {"do": "ask", "press": pressing(page), "text": " "}
    answer = await gateway.http.post(f"/r/{request['id']}", data=data, headers=headers)
    assert sentence(answer) == "请填写内容。"


# --- approve with changes ---------------------------------------------------------------------------------------------


@requirement("S-10")
async def test_a_call_is_changed_on_the_page_as_by_any_way_and_who_did_more_than_lower_it_leaves_it_to_others(
    editing: Gateway,
) -> None:
    lowered = await editing.ask("transfer", TRANSFER)
    other = await editing.ask("transfer", {**TRANSFER, "amount": 70000})
    visitor = Visitor(gateway=editing)
    page = await visitor.visit(lowered)
    assert TRANSFER["account"] not in page  # what is sensitive is in no form
    for _ in range(2):
        assert (await do(visitor, lowered, "edit", page, **change(page, amount="50000"))).status_code == 303
    after = await editing.read(lowered)
    assert (after["state"], after["arguments"]["amount"], after["edited_by"]) == ("approved", 50000, ALICE)
    assert facts(editing, lowered, CHANGED)["channel"] == "console"
    page = await visitor.visit(other)
    for _ in range(2):
        assert (await do(visitor, other, "edit", page, **change(page, payee="Beta Ltd"))).status_code == 303
    after = await editing.read(other)
    assert (after["state"], after["arguments"]["payee"]) == ("pending", "Beta Ltd")
    assert "You changed this call: somebody else decides." in (await visitor.look(other)).text
    assert len(facts(editing, other, CHANGED)) > 1  # once
    assert (await editing.verify())[1] is None


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"payee": "Evil Ltd"}, "This payee is frozen."),
        ({"amount": "8e4"}, "must be a whole number"),
        ({"amount": ""}, "must be a whole number"),
        ({"amount": "0"}, "Nothing changed:"),
        ({"payee": " "}, "must not be empty"),
        ({"payee": "a\u202eb"}, "characters that nobody could see"),
        ({"urgent": "perhaps"}, "must be true or false"),
        ({"payee": "x" * 501}, "at most 500 characters"),
    ],
)
@pytest.mark.sampled(3)
async def test_a_change_that_rules_or_the_tool_do_not_take_changes_nothing_and_says_why(
    editing: Gateway, typed: dict[str, str], told: str
) -> None:
    request, visitor = await editing.ask("transfer", TRANSFER), Visitor(gateway=editing)
    page = await visitor.visit(request)
    answer = await do(visitor, request, "edit", page, **change(page, **typed))
    assert (answer.status_code, told in sentence(answer)) == (409, True), sentence(answer)
    after = await editing.read(request)
    assert (after["state"], after["arguments"], after.get("edited_by")) == (
        "pending", {**TRANSFER, "memo": "none"}, None,
    )  # fmt: skip


async def test_a_change_takes_what_an_approval_of_its_level_takes(steps_up: Gateway) -> None:
    order = {"payee": "Acme Ltd", "amount": "80000.50", "currency": "CNY", "ref": "INV-1"}
    typed, factor = await steps_up.ask("pay_L2", order), await steps_up.ask("pay_L3", {**order, "ref": "INV-2"})
    visitor = Visitor(gateway=steps_up)
    page = await visitor.visit(typed)
    nothing = await do(visitor, typed, "edit", page, **change(page, amount="70000.50"))
    assert "type the amount or the code" in sentence(nothing)
    wrong = await do(visitor, typed, "edit", page, typed="000", **change(page, amount="70000.50"))
    assert "That is not what stands above" in sentence(wrong)
    assert (await steps_up.read(typed))["arguments"] == order
    done = await do(visitor, typed, "edit", page, typed=typed["code"], **change(page, amount="70000.50"))
    assert done.status_code == 303, sentence(done)
    assert (await steps_up.read(typed))["arguments"]["amount"] == "70000.50"
    assert "edit" not in offered(await visitor.visit(factor))  # no second factor: there is no way to approve
    phone = await enrolled(steps_up)
    page = await visitor.visit(factor)
    less = await do(visitor, factor, "edit", page, typed=factor["code"], **change(page, amount="70000.50"))
    assert "six digits" in sentence(less)
    given = {"typed": factor["code"], "totp": phone.next(steps_up)}
    done = await do(visitor, factor, "edit", page, **given, **change(page, amount="70000.50"))
    assert done.status_code == 303, sentence(done)
    assert (await steps_up.read(factor))["status"] == "approved"


async def test_an_amount_that_is_lowered_into_a_lower_tier_takes_what_the_call_took_before(steps_up: Gateway) -> None:
    less = "{id: less, tools: [pay_L3], when: 'amount(args.amount) < amount(20000)', then: ask, channels: [api], "
    steps_up.rewrite("  - {id: at-L3,", f"  - {less}stages: [{{of: [finance]}}]}}\n  - {{id: at-L3,")
    await steps_up.reload()
    order = {"payee": "Acme Ltd", "amount": "60000.00", "currency": "CNY", "ref": "INV-1"}
    request, visitor, phone = await steps_up.ask("pay_L3", order), Visitor(gateway=steps_up), await enrolled(steps_up)
    page = await visitor.visit(request)
    lower = change(page, amount="15000.00")
    assert "type the amount or the code" in sentence(await do(visitor, request, "edit", page, **lower))
    typed = await do(visitor, request, "edit", page, typed=request["code"], **lower)
    assert "six digits" in sentence(typed)
    by_api = await steps_up.decide(request, arguments={**order, "amount": "15000.00"}, digest=request["digest"])
    assert (by_api.status_code, by_api.json()["assurance"]) == (403, "L3")
    assert (await steps_up.read(request))["arguments"] == order
    given = {"typed": request["code"], "totp": phone.next(steps_up)}
    assert (await do(visitor, request, "edit", page, **given, **lower)).status_code == 303
    assert [(await steps_up.read(request))[name] for name in ("state", "assurance")] == ["approved", "L1"]


async def test_what_expired_is_asked_again_on_its_page_once_by_whoever_may(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    await gateway.advance(timedelta(minutes=31))
    assert (await gateway.read(request))["state"] == "expired"
    page = await visitor.visit(request)
    assert offered(page) == ["reopen"]
    for told in ("Asked again: the new request has the code", "This was asked again already: look for the code"):
        answer = await do(visitor, request, "reopen", page)
        assert (answer.status_code, told in sentence(answer)) == (200, True)
    opened = [row["id"] for row in gateway.rows("SELECT id FROM requests") if row["id"] != request["id"]]
    alice = await Home.of(gateway, origin=URL)
    page = (await alice.get(f"/r/{request['id']}")).text
    answer = await alice.post(f"/r/{request['id']}", origin=URL, do="reopen", press=pressing(page))
    assert (answer.status_code, [answer.headers["location"]]) == (303, [f"/r/{each}" for each in opened])
    waiting = await gateway.ask(arguments={"payee": "B", "amount": 2})
    page = await visitor.visit(waiting)
    assert "reopen" not in offered(page)
    assert (await do(visitor, waiting, "reopen", page)).status_code == 409
