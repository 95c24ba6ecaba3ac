"""The pages for who looks after it all: who may read them, what they say, and that it is so in the database."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import AccountStatus
from app.storage.engine.transaction import Tx
from app.storage.searching import find_requests
from tests.console.test_signed_in import ALICE, BOB, DAVE, OLGA, Person
from tests.fixtures.gateway import ManualClock
from tests.fixtures.patience import HANGS
from tests.fixtures.review_visits import URL, ReadPage, with_url
from tests.fixtures.second_factors import STEPS_UP
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(STEPS_UP)
    return with_url(config)


async def give(gateway: Gateway, **roles: str) -> None:
    """Have the file give these roles, each to one person."""
    gateway.rewrite("org: acme\n", f"org: acme\nroles: {json.dumps({role: [who] for role, who in roles.items()})}\n")
    await gateway.reload()


async def in_office(gateway: Gateway, who: str, role: str) -> Person:
    """Sign somebody in who has a role."""
    await give(gateway, **{role: who})
    return await Person.signed_in(gateway, who)


async def post(person: Person, path: str, *, origin: str = URL, **fields: str) -> httpx2.Response:
    headers = {"origin": origin, "cookie": f"assent-session={person.session}"}
    person.gateway.http.cookies.clear()
    return await person.gateway.http.post(path, data=fields, headers=headers)


def seal_in(page: str) -> str:
    return next(str(a["value"]) for _, a in ReadPage(page).elements if a.get("name") == "seal")


def rows_of(page: str) -> list[str]:
    """Return the first table of a page, a line a row."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [" | ".join(ReadPage(f"<tr>{row}").texts) for row in body.split("<tr>")[1:]] if body else []


@requirement("S-20", "S-43")
async def test_a_story_is_read_by_whom_the_request_concerns_and_who_audits_and_by_nobody_else(
    either_gateway: Gateway,
) -> None:
    gateway = either_gateway
    event = '{"cwd": "/srv/<i>"}'
    request = await gateway.ask("by_api", {"payee": "<b>Acme</b>"}, requester=DAVE, host_event=event)
    path = f"/console/requests/{request['id']}"
    alice, dave, olga = [await Person.signed_in(gateway, who) for who in (ALICE, DAVE, OLGA)]
    assert [(await each.get(path)).status_code for each in (alice, dave, olga)] == [200, 200, 200]
    for at in (path, f"/r/{request['id']}"):
        texts = ReadPage((await alice.get(at)).text).texts
        assert texts[texts.index("What the agent's program sent") + 1] == event
    gateway.rewrite("[alice@acme.example, bob@acme.example, ", "[alice@acme.example, ")
    await gateway.reload()
    bob = await Person.signed_in(gateway, BOB)
    for unknown in (path, "/console/requests/req_none"):
        assert (await bob.get(unknown)).status_code == 404
    await give(gateway, auditor=BOB)
    page = await bob.get(path)
    assert page.status_code == 200
    assert "&lt;b&gt;Acme&lt;/b&gt;" in page.text
    assert "Dave is told of the end in no chat" not in page.text
    gateway.platform.statuses["U_DAVE"] = AccountStatus.DEACTIVATED
    await gateway.container.confirm_accounts()
    assert "Dave is told of the end in no chat: no account of theirs is known." in (await bob.get(path)).text
    assert len(page.content) < 60_000
    assert gateway.trail(request).count(("request.reviewed", BOB)) == 1
    assert (await bob.get(path)).status_code == 200
    assert gateway.trail(request).count(("request.reviewed", BOB)) == 1  # once in a while
    assert f"/r/{request['id']}" not in page.text  # he does not decide it
    gateway.rewrite(f'{{"auditor": ["{BOB}"]}}', "{}")
    await gateway.reload()
    assert (await bob.get(path)).status_code == 404
    theirs = await gateway.ask("anything", org="globex")
    assert (await alice.get(f"/console/requests/{theirs['id']}")).status_code == 404


async def test_a_story_says_each_event_once_in_its_order_and_how_long_was_waited_for_whom(gateway: Gateway) -> None:
    request = await gateway.ask("by_api", {"payee": "Acme"}, requester=DAVE)
    await gateway.advance(timedelta(minutes=10))
    await gateway.decide(request)
    await gateway.advance(timedelta(minutes=1))
    await gateway.claim(request)
    await gateway.advance(timedelta(minutes=4))
    await gateway.report(request)
    await gateway.quiet()  # who asked hears how it ended
    alice = await Person.signed_in(gateway)
    page = (await alice.get(f"/console/requests/{request['id']}")).text
    for told in ("waited for people: 10 min", "approved, not begun: 1 min", "ran: 4 min", "15 min from left to right"):
        assert told in page
    assert len(rows_of(page)) == len(gateway.trail(request)) - 1  # her own look came behind it
    assert "nothing happened for 10 min" in page
    assert "Read from the database at 2026-03-01 10:15 UTC." in page
    bars = [a for name, a in ReadPage(page).elements if name == "rect" and a["class"] != "gap"]
    widths = [float(str(a["width"]).removesuffix("%")) for a in bars]
    assert widths == [pytest.approx(94 * share / 15, abs=0.02) for share in (10, 1, 4)]  # to scale
    assert "10 分钟" in (await alice.get(f"/console/requests/{request['id']}", accept_language="zh")).text


@requirement("S-43")
async def test_an_unknown_outcome_is_settled_by_an_administrator_with_evidence_and_by_nobody_else(
    either_gateway: Gateway,
) -> None:
    gateway = either_gateway
    request = await gateway.ask("by_api", {"payee": "Acme"})
    await gateway.decide(request)
    await gateway.claim(request)
    await gateway.report(request, "unknown")
    path = f"/console/requests/{request['id']}"
    await give(gateway, auditor=ALICE, admin=OLGA, operator=DAVE)
    alice, olga, dave = [await Person.signed_in(gateway, who) for who in (ALICE, OLGA, DAVE)]
    for page in [(await alice.get(path)).text]:
        assert "An operator or administrator settles it here" in page
        assert 'name="note"' not in page
    page = (await olga.get(path)).text
    assert "Nobody knows whether it ran" in page
    good = {"status": "failed", "note": "the bank has no payment under this key"}
    theirs = seal_in((await alice.get()).text)
    before = gateway.content()
    for person, fields, origin, status in (
        (alice, {**good, "seal": theirs}, URL, 403),
        (dave, {**good, "seal": seal_in((await dave.get()).text)}, URL, 404),  # nobody settles what they may not read
        (olga, {**good, "seal": theirs}, URL, 401),
        (olga, {**good, "seal": seal_in(page)}, "https://evil.example", 401),
        (olga, {**good, "seal": seal_in(page), "note": "  "}, URL, 409),
        (olga, {**good, "seal": seal_in(page), "status": "unknown"}, URL, 401),
    ):
        assert (await post(person, path, origin=origin, **fields)).status_code == status
    assert gateway.content() == before
    assert (await post(olga, path, **good, seal=seal_in(page))).status_code == 303
    assert (await gateway.read(request))["state"] == "failed"
    assert ("execution.reconciled", OLGA) in gateway.trail(request)
    again = await post(olga, path, seal=seal_in(page), status="succeeded", note="it is there after all")
    assert again.status_code == 409
    assert "Nothing was recorded" in again.text
    assert (await gateway.verify())[1] is None


# --- the trail --------------------------------------------------------------------------------------------------------


def ids_in(page: str) -> list[str]:
    """Return the ids of the requests that a page lists, in its order."""
    links = [str(a.get("href")) for name, a in ReadPage(page).elements if name == "a"]
    return [link.rpartition("/")[2] for link in links if link.startswith("/console/requests/")]


async def settled_ones(gateway: Gateway) -> dict[str, str]:
    """Have one request of each kind that is looked for; the newest last."""
    made: dict[str, str] = {}

    async def ask(name: str, tool: str, arguments: object, **more: str) -> dict[str, Any]:
        request = await gateway.ask(tool, arguments, **more)
        made[name] = request["id"]
        if isinstance(gateway.clock, ManualClock):
            await gateway.advance(timedelta(seconds=60))
        return request

    order = {"payee": "100% Stahl_GmbH", "amount": "80000.50", "currency": "EUR", "ref": "R-1"}
    await gateway.decide(await ask("paid", "pay_L1", order, requester=DAVE))
    await gateway.decide(await ask("other", "pay_L1", {**order, "payee": "＝1000 StahlXÄmter", "amount": "7"}), "deny")
    quick = await gateway.ask("by_api", {"n": 1})
    await gateway.decide(quick)
    made["quick"] = quick["id"]
    if isinstance(gateway.clock, ManualClock):  # of two of one instant neither is the newer
        await gateway.advance(timedelta(seconds=60))
    lost = await gateway.ask("by_api", {"n": 2})
    await gateway.decide(lost, who=BOB)
    await gateway.claim(lost)
    await gateway.report(lost, "unknown")
    made["lost"] = lost["id"]
    return made


@requirement("S-43")
async def test_the_trail_is_found_by_what_is_kept_in_clear_and_each_look_is_in_it(either_gateway: Gateway) -> None:
    gateway = either_gateway
    made = await settled_ones(gateway)
    theirs = await gateway.ask("anything", org="globex")
    olga = await in_office(gateway, OLGA, "auditor")
    asked = {
        "": ["lost", "quick", "other", "paid"],
        "payee=100%25+stahl_g": ["paid"],  # a sign of a pattern is the sign itself
        "payee=stahl": ["other", "paid"],
        "payee=STAHLX%C3%84mter": ["other"],  # as it is written, whatever the database knows of capitals
        "least=7.01": ["paid"],
        "least=7&most_paid=7": ["other"],
        f"person={DAVE}": ["paid"],
        f"person={BOB.upper()}": ["lost"],
        "tool=BY_": ["lost", "quick"],
        "text=too+expensive": ["other"],
        "text=%22": [],
        "outcome=denied": ["other"],
        "saved=unknown": ["lost"],
        "saved=expired": [],
        "saved=expired&outcome=denied": [],
        "saved=glass": [],
        "since=2020-01-01&until=2020-01-02": [],
        "since=2020-01-01&tool=pay_L1": ["other", "paid"],
    }
    for query, names in asked.items():
        page = await olga.get(f"/console/trail?{query}")
        assert page.status_code == 200
        assert ids_in(page.text) == [made[name] for name in names], query
        assert theirs["id"] not in page.text
        assert len(page.content) < 60_000
    code = (await gateway.read({"id": made["other"]}))["code"]
    assert ids_in((await olga.get(f"/console/trail?code={code.lower().replace('-', '')}")).text) == [made["other"]]
    assert gateway.trail().count(("trail.read", OLGA)) == len(asked) + 1
    await olga.get("/console/trail?saved=unknown")
    assert gateway.trail().count(("trail.read", OLGA)) == len(asked) + 1  # the same, once in a while
    for wrong in (
        "least=much",
        "since=yesterday",
        "until=9999-12-31",
        "outcome=fine",
        "saved=mine",
        "before=x",
        "text=%00",
    ):
        answer = await olga.get(f"/console/trail?{wrong}")
        assert answer.status_code == 400
        assert "Nothing was searched for" in answer.text
    table = await olga.get("/console/trail.csv?tool=pay_L1")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    lines = table.text.splitlines()
    assert [line.split(",")[0].removeprefix("\ufeff") for line in lines] == ["request", made["other"], made["paid"]]
    assert lines[1].endswith(",'＝1000 StahlXÄmter")  # no spreadsheet reckons with what an agent wrote
    assert "80000.50 EUR" in lines[2] or "80000.5 EUR" in lines[2]
    assert (await gateway.verify())[1] is None


@requirement("S-20", "S-43")
async def test_the_trail_is_for_who_audits_and_for_nobody_else(gateway: Gateway) -> None:
    alice = await Person.signed_in(gateway)
    assert "/console/trail" not in (await alice.get()).text
    await give(gateway, operator=ALICE)
    pulse = await alice.get("/console/pulse")
    assert pulse.status_code == 200
    assert "/console/trail" not in pulse.text  # nothing leads where she may not
    before = gateway.content()
    seal = seal_in((await alice.get()).text)
    for answer in (
        await alice.get("/console/trail"),
        await alice.get("/console/trail.csv"),
        await post(alice, "/console/trail/verify", seal=seal),
    ):
        assert answer.status_code == 403
        assert "This page is not for you" in answer.text
    assert gateway.content() == before
    gateway.rewrite('{"operator"', '{"auditor"')
    await gateway.reload()
    assert 'href="/console/trail"' in (await alice.get()).text
    assert (await alice.get("/console/trail")).status_code == 200
    assert (await alice.get("/console/trail", accept_language="zh")).text.count("审计记录") > 1


async def test_a_look_goes_through_so_many_requests_and_the_next_goes_on_behind_them(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_requests, "WINDOW", 3)
    made = [(await gateway.ask("by_api", {"n": number}))["id"] for number in range(7)]
    olga = await in_office(gateway, OLGA, "auditor")
    reads: list[str] = []
    plain = Tx.all

    def counted(tx: Tx, statement: Any, **parameters: object) -> Any:
        reads.append("read")
        return plain(tx, statement, **parameters)

    seen: list[str] = []
    query, looks = "text=by_api", 0
    monkeypatch.setattr(Tx, "all", counted)
    while query:
        page = (await olga.get(f"/console/trail?{query}")).text
        assert len(ids_in(page)) <= 3
        seen += ids_in(page)
        onward = [str(a["href"]) for name, a in ReadPage(page).elements if name == "a" and "before=" in str(a["href"])]
        query, looks = onward[0].partition("?")[2] if onward else "", looks + 1
    monkeypatch.undo()
    assert sorted(seen) == sorted(made)
    assert looks == 3
    assert len(reads) <= 12 * looks  # however many there are: a look takes as many statements


async def test_the_trail_is_verified_from_its_page_and_what_was_changed_is_named_there(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    olga = await in_office(gateway, OLGA, "auditor")
    page = (await olga.get("/console/trail")).text
    assert (await post(olga, "/console/trail/verify", seal="")).status_code == 401

    async def verified() -> str:
        assert (await post(olga, "/console/trail/verify", seal=seal_in(page))).status_code == 303
        async with asyncio.timeout(HANGS):
            while 'http-equiv="refresh"' in (said := (await olga.get("/console/trail")).text):  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # as a page without scripts does it
        return said

    said = await verified()
    assert "events were walked, unbroken" in said
    assert "Head:" in said
    Stranger(gateway)(f"UPDATE requests SET tool = 'other' WHERE id = '{request['id']}'")
    said = await verified()
    assert "NOT WHOLE" in said
    assert request["id"] in said
    verify, held = gateway.container.console.office.verify, list[Any]()
    later = verify._later
    monkeypatch.setattr(verify, "_later", held.append)
    await asyncio.gather(*(post(olga, "/console/trail/verify", seal=seal_in(page)) for _ in range(2)))
    [walk] = held  # of two presses at once
    later(walk)


# --- the pulse --------------------------------------------------------------------------------------------------------


def numbers_in(page: str) -> list[str]:
    """Return the large numbers of the pulse, in their order."""
    numbers = page.partition('<dl class="sheet now">')[2].partition("</dl>")[0]
    return [" ".join("".join(ReadPage(each).texts).split()) for each in re.findall(r"<dd.*?</dd>", numbers)]


@requirement("S-20")
async def test_the_pulse_counts_what_is_so_in_the_database_and_leads_to_the_trail(either_gateway: Gateway) -> None:
    gateway = either_gateway
    made = await settled_ones(gateway)
    waits = await gateway.ask("by_api", {"n": 3})
    await gateway.ask("anything", org="globex")
    alice, olga = await Person.signed_in(gateway), await in_office(gateway, OLGA, "auditor")
    refused = await alice.get("/console/pulse")
    assert (refused.status_code, "auditor / operator / administrator" in refused.text) == (403, True)
    assert "auditor / administrator" in (await alice.get("/console/trail")).text
    page = (await olga.get("/console/pulse")).text
    waiting, _, expired, unknown, undelivered, *_ = numbers_in(page)
    assert (waiting, expired, unknown, undelivered) == ("1", "0", "1", "0")
    today = rows_of(page)[-1].split(" | ")
    assert today[1:] == ["1", "2", "2", "0", "5"]  # waits; approved; denied and unknown; in all
    assert "Alice | 3 | ⚠ " in page_rows(page, 1)[0]
    for link, names in (("?outcome=pending", [waits["id"]]), ("?saved=unknown", [made["lost"]])):
        assert f'href="/console/trail{link}"' in page
        assert ids_in((await olga.get(f"/console/trail{link}")).text) == names
    assert 'action="/console/pulse/pause"' not in page  # an auditor reads
    answer = await post(olga, "/console/pulse/pause", seal=seal_in((await olga.get()).text), do="pause", sure="yes")
    assert answer.status_code == 403
    assert len(page) < 60_000


async def test_half_of_the_decisions_and_nine_of_ten_came_within_what_the_pulse_says(gateway: Gateway) -> None:
    olga = await in_office(gateway, OLGA, "admin")
    assert numbers_in((await olga.get("/console/pulse")).text)[-2:] == ["–", "–"]
    for minutes in (1, 2, 3, 20):
        request = await gateway.ask("by_api", {"n": minutes})
        await gateway.advance(timedelta(minutes=minutes))
        await gateway.decide(request)
    await gateway.ask("by_api", {"n": 0})
    await gateway.advance(timedelta(minutes=31))  # nobody decides: no decision of people
    numbers = numbers_in((await olga.get("/console/pulse")).text)
    assert numbers == ["0", "–", "1", "0", "0", "2 min", "20 min"]


@requirement("S-43")
async def test_everything_is_paused_from_the_pulse_by_an_administrator_who_is_sure_and_says_why(
    gateway: Gateway,
) -> None:
    olga = await in_office(gateway, OLGA, "admin")
    page = (await olga.get("/console/pulse")).text
    good = {"seal": seal_in(page), "do": "pause", "sure": "yes", "reason": "the books do not agree"}
    for changed, origin, status in (
        ({"sure": ""}, URL, 409),
        ({"reason": " "}, URL, 409),
        ({"seal": "x"}, URL, 401),
        ({"do": "stop"}, URL, 401),
        ({}, "https://evil.example", 401),
    ):
        assert (await post(olga, "/console/pulse/pause", origin=origin, **{**good, **changed})).status_code == status
    assert ("switch.set", OLGA) not in gateway.trail()
    assert (await post(olga, "/console/pulse/pause", **good)).status_code == 303
    page = (await olga.get("/console/pulse")).text
    assert "PAUSED: everything, by olga@acme.example" in page
    assert "the books do not agree" in page
    body = {"tool": "ping", "arguments": {}}
    refused = await gateway.call("POST", "/v1/requests", body)
    assert refused.json()["decision"] == "deny", refused.text
    assert (await post(olga, "/console/pulse/pause", **{**good, "do": "lift", "reason": ""})).status_code == 303
    assert (await gateway.call("POST", "/v1/requests", body)).json()["decision"] == "allow"


def page_rows(page: str, number: int) -> list[str]:
    """Return a table of a page, a line a row."""
    return rows_of("<tbody>" + page.split("<tbody>")[number + 1])
