"""The pages for who looks after it all: who may read them, what they say, and that it is so in the database."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from app.domain.identity.api_key import Scope
from tests.console.test_signed_in import ALICE, BOB, DAVE, OLGA, Person
from tests.fixtures.review_visits import URL, ReadPage, with_url
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


async def in_office(gateway: Gateway, who: str, scope: Scope) -> Person:
    """Sign somebody in to whom an administrator gave a right by name."""
    await gateway.container.keys.create(org="acme", scope=scope, label="office", person=who)
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
    request = await gateway.ask("by_api", {"payee": "<b>Acme</b>"}, requester=DAVE)
    path = f"/console/requests/{request['id']}"
    alice, dave, olga = [await Person.signed_in(gateway, who) for who in (ALICE, DAVE, OLGA)]
    assert [(await each.get(path)).status_code for each in (alice, dave, olga)] == [200, 200, 200]
    gateway.rewrite("[alice@acme.example, bob@acme.example, ", "[alice@acme.example, ")
    await gateway.reload()
    bob = await Person.signed_in(gateway, BOB)
    for unknown in (path, "/console/requests/req_none"):
        assert (await bob.get(unknown)).status_code == 404
    auditor = await gateway.container.keys.create(org="acme", scope=Scope.AUDITOR, label="office", person=BOB)
    page = await bob.get(path)
    assert page.status_code == 200
    assert "&lt;b&gt;Acme&lt;/b&gt;" in page.text
    assert len(page.content) < 60_000
    assert gateway.trail(request).count(("request.reviewed", BOB)) == 1
    assert (await bob.get(path)).status_code == 200
    assert gateway.trail(request).count(("request.reviewed", BOB)) == 1  # once in a while
    assert f"/r/{request['id']}" not in page.text  # he does not decide it
    await gateway.container.keys.revoke("acme", auditor.key.id)
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
    alice, olga = await in_office(gateway, ALICE, Scope.AUDITOR), await in_office(gateway, OLGA, Scope.ADMIN)
    for page in [(await alice.get(path)).text]:
        assert "An administrator settles it here" in page
        assert 'name="note"' not in page
    page = (await olga.get(path)).text
    assert "Nobody knows whether it ran" in page
    good = {"status": "failed", "note": "the bank has no payment under this key"}
    theirs = seal_in((await alice.get()).text)
    before = gateway.content()
    for person, fields, origin, status in (
        (alice, {**good, "seal": theirs}, URL, 403),
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
