"""The inbox: what is approved together, how it goes on, and how little it looks at however much there is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import psycopg
import pytest
from msgspec.structs import replace
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.lifecycle.lifecycle import opened
from app.domain.request.quorum import Stage
from app.domain.request.request import Risk
from app.storage.engine import transaction
from app.storage.requests import concerning
from app.storage.requests.requests import find_request
from app.usecases.console import inbox
from app.usecases.console.inbox import BESIDE, MOST_LOOKED, MOST_SHOWN
from app.usecases.writing.carry_out import open_request
from tests.console.signed_in import Home, field_of
from tests.fixtures.review_visits import URL, ReadPage, with_url
from tests.fixtures.second_factors import ALICE, BOB, DAVE
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path
    from typing import LiteralString

    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


def rows_of(page: str) -> list[str]:
    """Return the ids of the requests that a page lists, in its order."""
    links = [str(found.get("href")) for name, found in ReadPage(page).elements if name == "a"]
    return [link.removeprefix("/r/") for link in links if link.startswith("/r/")]


def marks_of(page: str) -> dict[str, str]:
    """Return what can be marked on a page, and what its mark says."""
    boxes = (found for name, found in ReadPage(page).elements if name == "input" and found.get("type") == "checkbox")
    return {str(found["name"]): str(found["value"]) for found in boxes}


def onward_of(page: str) -> str | None:
    """Return where a page says that the list of those to decide goes on."""
    links = [str(found.get("href")) for name, found in ReadPage(page).elements if name == "a"]
    return next((link for link in links if link.startswith("/?list=decide&")), None)


async def copies(gateway: Gateway, request: dict[str, Any], count: int, **changed: Any) -> None:
    """Open many requests like one, as if as many calls had asked."""

    def unit(tx: Tx) -> None:
        template = find_request(tx, request["id"])
        assert template is not None
        for _ in range(count):
            made = replace(template, id=tx.ids.new("req"), nonce=tx.ids.new("n"), **changed)
            open_request(tx, opened(made), targets={})

    await gateway.container.store.write(unit, org="acme")


@requirement("S-10", "S-13", "S-22")
async def test_what_is_marked_is_approved_as_it_was_drawn_and_what_moved_on_meanwhile_is_said_item_by_item(
    gateway: Gateway,
) -> None:
    for tool, more in (("high", "risk: high"), ("typed", "assurance: L2")):
        rule = f"tools: [{tool}], then: ask, {more}, stages: [{{of: [finance]}}], channels: [api]"
        gateway.rewrite("- {id: staged, ", f"- {{id: {tool}, {rule}}}\n  - {{id: staged, ")
        gateway.rewrite("  ping: {}\n", f"  ping: {{}}\n  {tool}: {{}}\n")
    await gateway.reload()
    plain = [await gateway.ask("by_api", {"payee": f"Payee {n}", "note": "<b>all of it</b>"}) for n in range(5)]
    apart = [
        await gateway.ask("high"),
        await gateway.ask("typed"),
        await gateway.ask("by_api", {"payee": "PayPaI Hеngtong", "n": 1}),  # a letter of another alphabet
        await gateway.ask("by_api", {"payee": "x" * 300}),  # too long for a row
        await gateway.ask("pay_two"),  # an account is hidden
    ]
    home = await Home.of(gateway, origin=URL)
    page = (await home.get()).text
    marks = marks_of(page)
    assert set(marks) == {each["id"] for each in plain}
    assert page.count("&lt;b&gt;all of it&lt;/b&gt;") == 5  # the whole call stands in the row
    assert {each["id"] for each in apart} <= set(rows_of(page))
    good, decided, gone, foreign, old = [each["id"] for each in plain]
    seal = field_of(page, "seal")
    none = await home.post("/", origin=URL, seal=seal)
    assert "Nothing was marked" in none.text
    await gateway.decide(plain[1], "deny", who=BOB)
    await gateway.call("POST", f"/v1/requests/{gone}/cancel", {"reason": "not needed"})
    stranger = await Home.of(gateway, BOB, origin=URL)
    theirs = marks_of((await stranger.get()).text)
    sent = {
        good: marks[good],
        decided: marks[decided],
        gone: marks[gone],
        foreign: theirs[foreign],
        old: marks[good],
        apart[0]["id"]: marks[good],
        "req_nothing": marks[good],
    }
    before = gateway.trail()
    for lie in ({"origin": "https://evil.example"}, {"seal": "x"}):
        assert (await home.post("/", **{"origin": URL, "seal": seal, **sent, **lie})).status_code == 401
    assert gateway.trail() == before
    answer = await home.post("/", origin=URL, seal=seal, **sent)
    assert answer.status_code == 409
    told = [
        line.strip() for line in answer.text.split('class="told"')[1].split("</ul>")[0].split("</li>") if "<li>" in line
    ]
    for line, said in zip(told, ("is recorded · Approved", "faster: ⛔ Denied by Bob", "faster: ", "form is too old",
                                 "form is too old", "form is too old", "may not see"), strict=True):  # fmt: skip
        assert said in line
    assert "Approved: 1 of 7" in answer.text
    stand = {each["id"]: (await gateway.read(each))["status"] for each in (*plain, *apart)}
    assert stand == dict.fromkeys(stand, "pending") | {good: "approved", decided: "denied", gone: "cancelled"}
    assert [each for each in gateway.trail() if each[0] == "request.approved"] == [("request.approved", ALICE)]
    again = await home.post("/", origin=URL, seal=seal, **{good: marks[good]})  # pressed twice: it is so already
    assert (again.status_code, again.text.count("is recorded")) == (200, 1)


@requirement("S-13")
async def test_only_what_a_row_shows_whole_can_be_approved_from_it_whatever_a_form_says(gateway: Gateway) -> None:
    request = await gateway.ask("by_api", {"payee": "x" * 300})
    home = await Home.of(gateway, origin=URL)
    press = field_of((await home.get(f"/r/{request['id']}")).text, "press")  # good on the request's own page
    answer = await home.post("/", origin=URL, seal=await home.seal(), **{request["id"]: press})
    assert "decided on its own page" in answer.text
    assert (await gateway.read(request))["status"] == "pending"
    assert (await home.post(f"/r/{request['id']}", origin=URL, verdict="approve", press=press)).status_code == 303


async def test_like_requests_stand_together_where_cards_share_a_message_and_no_others_do(gateway: Gateway) -> None:
    gateway.rewrite("default: deny\n", "default: deny\nattention: {group: 30s}\n")
    await gateway.reload()
    first = await gateway.ask("by_api", {"n": 1}, session="one")
    await gateway.advance(timedelta(seconds=1))
    other = await gateway.ask("by_api", {"n": 2}, session="two")
    await gateway.advance(timedelta(seconds=1))
    same = await gateway.ask("by_api", {"n": 3}, session="one")
    await gateway.advance(timedelta(minutes=1))
    late = await gateway.ask("by_api", {"n": 4}, session="one")
    home = await Home.of(gateway, origin=URL)
    page = (await home.get()).text
    assert rows_of(page) == [each["id"] for each in (first, same, other, late)]
    assert page.count("2 alike, from shop") == 1
    assert page.count('class="alike"') == 1


@pytest.mark.heavy
@requirement("F-38")
async def test_a_page_looks_at_so_much_and_no_more_and_the_next_goes_on_where_it_ended(
    either_gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = either_gateway
    mine = await gateway.ask("by_api", {"payee": "长" * 70, "note": "注" * 90}, requester=DAVE)
    settled = await gateway.ask("by_api", {"n": 1})
    await gateway.decide(settled)
    home, dave = await Home.of(gateway, origin=URL), await Home.of(gateway, DAVE, origin=URL)
    looked: list[tuple[int, int]] = []
    reading = transaction.Tx.all

    def counted(tx: Tx, statement: Any, **parameters: object) -> list[Any]:
        found = reading(tx, statement, **parameters)
        looked.append((1, len(found)))
        return found

    async def look(who: Home, path: str = "/") -> tuple[str, int, int]:
        looked.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transaction.Tx, "all", counted)
            page = await who.get(path)
        assert page.status_code == 200
        assert len(page.content) <= 60_000, len(page.content)
        return page.text, len(looked), sum(rows for _, rows in looked)

    async def three() -> list[tuple[int, int]]:
        """Count the best of three looks at each: on a slow day a worker reads meanwhile."""
        pages = (home, "/"), (dave, "/"), (home, "/?list=done")
        return [min([(await look(*page))[1:] for _ in range(3)]) for page in pages]

    monkeypatch.setattr(inbox, "WALKED", MOST_LOOKED)
    monkeypatch.setattr(inbox, "_STEP", MOST_LOOKED // 2)
    await copies(gateway, mine, 3 * MOST_LOOKED // 2)
    few = await three()
    await copies(gateway, mine, 2 * MOST_LOOKED)
    await copies(gateway, mine, MOST_LOOKED, risk=Risk.HIGH)
    many = await three()
    for (_, before), (_, now) in zip(few, many, strict=True):  # three times as many wait: hardly another row is read
        assert now <= before + MOST_SHOWN
    assert max(statements for statements, _ in (*few, *many)) <= 24
    monkeypatch.undo()
    page, _, _ = await look(home)
    assert "<title>(128+) Requests" in page
    assert len(marks_of(page)) == 0  # those of high risk come first, and are approved on their own
    seen: list[str] = []
    path: str | None = "/"
    while path is not None and len(seen) < 1000:
        page, _, _ = await look(home, path)
        seen += rows_of(page)[:MOST_SHOWN]
        path = onward_of(page)
    everything = gateway.rows("SELECT id, risk, expires_at FROM requests WHERE status = 'pending'")
    weights = {"high": 0, "normal": 1}
    in_order = sorted(everything, key=lambda row: (weights[row["risk"]], row["expires_at"], row["id"]))
    assert [each for each in seen if each != settled["id"]] == [row["id"] for row in in_order]
    asked = rows_of((await look(dave))[0])
    assert len(asked) == BESIDE
    other = await gateway.ask("by_api", {"n": 2})
    await copies(gateway, other, 1, stages=(Stage(of=("legal",), need=1),), expires_at=far(gateway))
    page, _, _ = await look(dave)
    assert "<title>(1) Requests" in page  # found behind five hundred that are not his to decide


async def test_what_waits_for_its_requesters_answer_is_marked_in_their_own_inbox_until_it_is_answered(
    gateway: Gateway,
) -> None:
    asked, quiet = [await gateway.ask("by_api", {"n": n}, requester=DAVE) for n in range(2)]
    question = {"text": "Which invoice?", "digest": asked["digest"]}
    said = await gateway.call("POST", f"/v1/requests/{asked['id']}/questions", question, who=ALICE)
    assert said.status_code == 200
    dave, alice = await Home.of(gateway, DAVE, origin=URL), await Home.of(gateway, origin=URL)
    mark = "a question waits for your answer"
    page = (await dave.get()).text
    assert page.count(mark) == 1
    assert "Nothing waits for you." not in page
    assert mark in page.split(f'href="/r/{asked["id"]}"')[1].split("</li>")[0]
    assert {asked["id"], quiet["id"]} <= set(rows_of(page))
    assert mark not in (await alice.get()).text, "it waits for him, and not for her who asked it"
    answer = f"/v1/requests/{asked['id']}/questions/{said.json()['questions'][0]['id']}/answer"
    assert (await gateway.call("POST", answer, {"text": "INV-7"}, who=DAVE)).status_code == 200
    answered = (await dave.get()).text
    assert mark not in answered
    assert "Nothing waits for you." in answered


def far(gateway: Gateway) -> Any:
    """Return an instant behind all others."""
    return gateway.clock.now() + timedelta(days=9)


@requirement("F-38")
def test_each_list_of_the_inbox_is_one_walk_along_an_index(unused_url: str) -> None:
    wanted = {
        "ix_requests_waiting": concerning._WAITING,
        "ix_decisions_person": concerning._DECIDED,
        "ix_requests_requester": concerning._ASKED[0],
        "ix_requests_owner": concerning._ASKED[1],
    }
    dialect: Any = (sqlite if unused_url.startswith("sqlite") else postgresql).dialect()
    for index, statement in wanted.items():
        values = {"for_org": "acme", "risk": "low", "at": 1, "behind_id": "x", "most": 9, "of_person": ALICE}
        bound = statement._construct.params(**values)
        text = str(bound.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        plan = plan_of(unused_url, text)
        assert index in plan, plan
        assert "SCAN" not in plan
        assert "Seq Scan" not in plan


async def test_what_waits_for_others_is_what_one_voted_on_the_next_to_expire_first(gateway: Gateway) -> None:
    voted = []
    for number in range(4):
        voted.append(await gateway.ask("pay_two", {"account": str(number)}))
        await gateway.advance(timedelta(seconds=1))
    for request in voted:  # so the last vote is on the last to expire
        await gateway.decide(request)
    await gateway.decide(voted[1], who=BOB)
    waiting = [voted[number]["id"] for number in (0, 2, 3)]
    for most in (1, 2, 9):
        found = await gateway.container.store.read(partial(concerning.list_voted, person=ALICE, most=most), org="acme")
        assert found == waiting[:most]


def plan_of(url: str, text: str) -> str:
    """Return how a database would answer; PostgreSQL as if its tables were large."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            return str(file.execute(f"EXPLAIN QUERY PLAN {text}").fetchall())
    with closing(psycopg.connect(url)) as connection:
        connection.execute("SET assent.org = '*'")
        connection.execute("SET enable_seqscan = off")
        return str(connection.execute(cast("LiteralString", f"EXPLAIN {text}")).fetchall())


async def test_nothing_is_marked_that_its_reader_cannot_approve_and_its_row_says_why(gateway: Gateway) -> None:
    gateway.rewrite("{name: Alice,", "{name: Alice, limit: {CNY: 1},")
    await gateway.reload()
    request = await gateway.ask("by_api", {"payee": "B"})
    alice, bob = await Home.of(gateway, ALICE, origin=URL), await Home.of(gateway, BOB, origin=URL)
    page = (await alice.get()).text
    assert request["id"] in rows_of(page)
    assert "It is above what you may approve, or its amount is not known." in page
    assert request["id"] not in marks_of(page)
    assert request["id"] in marks_of((await bob.get()).text)
