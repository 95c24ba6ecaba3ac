"""Links and small files that a call brings along: taken within bounds, approved as shown, and handed out inert."""

from __future__ import annotations

import json
from asyncio import to_thread
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.usecases.proving.verify_trail import VerifyTrail
from tests.domain.exhibit_files import ALL, INVOICE, PHOTO, a_file, a_link, jpeg, pdf
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

TOKEN = "ghp_" + "a1B2" * 9


async def test_it_is_kept_apart_and_handed_out_to_who_may_read_as_that_very_file(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    request = await g.ask(evidence=ALL)
    for who in ("agent:shop", "alice@acme.example", "auditor"):
        listed = (await g.read(request, who=who))["evidence"]
        assert [(each["number"], each["kind"], each["title"]) for each in listed] == [
            (1, "file", "invoice.pdf"),
            (2, "file", "photo.png"),
            (3, "link", "Order 7"),
        ]
        assert listed[2]["url"] == "https://erp.acme.example/orders/7"
        assert listed[0]["size"] == len(INVOICE)
        for number, content in ((1, INVOICE), (2, PHOTO)):
            file = await g.call("GET", f"/v1/requests/{request['id']}/evidence/{number}", who=who)
            assert (file.status_code, file.content) == (200, content)
    rows = g.rows("SELECT number, content FROM exhibits ORDER BY number")
    assert [row["number"] for row in rows] == [1, 2], "a link has no content"
    assert all(row["content"].startswith("e1.") for row in rows), "encrypted, as arguments are"
    assert g.rows("SELECT evidence FROM requests")[0]["evidence"].startswith("e1.")
    assert (await g.verify())[1] is None


@requirement("S-105")
async def test_a_file_goes_out_as_nothing_but_that_file(gateway: Gateway) -> None:
    request = await gateway.ask(evidence=[*ALL[:2], a_file(jpeg(), "image/jpeg", 'x"; filename=evil.html')])
    shown = [await gateway.call("GET", f"/v1/requests/{request['id']}/evidence/{n}") for n in (1, 2, 3)]
    assert [(each.headers["content-type"], each.headers["content-disposition"]) for each in shown] == [
        ("application/pdf", 'attachment; filename="evidence-1.pdf"'),
        ("image/png", 'inline; filename="evidence-2.png"'),
        ("image/jpeg", 'inline; filename="evidence-3.jpg"'),
    ]
    for each in shown:
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert each.headers["cross-origin-resource-policy"] == "same-origin"
        assert each.headers["cache-control"] == "private, no-store"


@requirement("S-105")
async def test_it_is_handed_out_to_nobody_who_may_not_read_the_request(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask(evidence=ALL)
    at = f"/v1/requests/{request['id']}/evidence"
    assert (await g.call("GET", f"{at}/1", who="agent:other")).status_code == 404
    assert (await g.call("GET", f"{at}/1", who="gina@globex.example", org="globex")).status_code == 404
    assert (await g.call("GET", f"{at}/1", who="executor")).status_code == 404
    assert (await g.http.get(f"{at}/1")).status_code == 401
    for nothing in ("0", "3", "4", "-1", "1.0", "١", "999", "x"):
        assert (await g.call("GET", f"{at}/{nothing}")).status_code == 404, nothing
    other = await g.ask(arguments={"payee": "B", "amount": 1})
    assert (await g.call("GET", f"/v1/requests/{other['id']}/evidence/1")).status_code == 404


@requirement("S-105")
@pytest.mark.parametrize(
    ("evidence", "path"),
    [
        ([a_file(b"GIF89a", "image/png")], "evidence.0.content"),
        ([a_link(), a_link("http://a.example/")], "evidence.1.url"),
        ([a_link()] * 9, "evidence"),
        ([a_file(INVOICE, "image/png")], "evidence.0.media_type"),
        ([a_file(INVOICE, "text/html")], "evidence.0.file.media_type"),
        ([{**a_link(), "content": "x"}], "evidence.0.link.content"),
        ([{"kind": "page", "url": "https://a.example"}], "evidence.0"),
        ([a_link(f"https://a.example/?t={TOKEN}")], "evidence.0.url"),
        ([a_link("https://a.example/DE02-SECRET")], "evidence.0.url"),
        ("https://a.example", "evidence"),
    ],
    ids=range(10),
)
async def test_what_cannot_be_shown_is_refused_with_the_place_of_the_fault_and_nothing_is_kept(
    gateway: Gateway, evidence: object, path: str
) -> None:
    g = gateway
    body = {"tool": "pay", "arguments": {"payee": "A", "amount": 1, "account": "DE02-SECRET"}, "evidence": evidence}
    for door in ("/v1/requests", "/v1/hooks/PreToolUse"):
        hook = {"tool_name": "pay", "tool_input": body["arguments"], "evidence": evidence}
        said = await g.call("POST", door, body if door.endswith("requests") else hook)
        assert (said.status_code, said.json()["path"]) == (422, path), said.text
        assert TOKEN not in said.text
    assert g.rows("SELECT id FROM requests") == []
    assert g.rows("SELECT id FROM exhibits") == []


async def test_it_comes_within_the_bound_of_the_body(gateway: Gateway) -> None:
    body = {"tool": "pay", "arguments": {"payee": "A", "amount": 1}, "evidence": [a_file(pdf(size=300_000))] * 3}
    assert (await gateway.call("POST", "/v1/requests", body)).status_code == 413


async def test_names_and_titles_are_kept_without_secrets_and_sensitive_values(gateway: Gateway) -> None:
    said = await gateway.ask(
        arguments={"payee": "A", "amount": 1, "account": "DE02-SECRET"},
        evidence=[a_link(title=f"for DE02-SECRET with {TOKEN}"), a_file(INVOICE, name="DE02-SECRET.pdf")],
    )
    link, file = said["evidence"]
    assert link["title"].startswith("for ••• with ")
    assert (TOKEN in link["title"], file["title"]) == (False, "•••.pdf")


@requirement("S-02")
async def test_it_is_part_of_what_is_approved_and_a_call_without_any_has_the_digest_that_it_had(
    gateway: Gateway,
) -> None:
    g = gateway
    request = await g.ask("pay_two", {"n": 1}, evidence=ALL)
    changed = await g.decide(request, arguments={"n": 2})
    assert changed.status_code == 200
    assert changed.json()["evidence"] == request["evidence"], "whoever changes the call keeps what came with it"
    assert changed.json()["digest"] != request["digest"]
    for who in ("bob@acme.example", "carol@acme.example"):
        assert (await g.decide(changed.json(), who=who)).status_code == 200
    assert (await g.claim(changed.json())).status_code == 200
    assert (await g.verify())[1] is None


async def test_a_repeated_call_keeps_what_people_were_shown(gateway: Gateway) -> None:
    g = gateway
    body = {"tool": "pay", "arguments": {"payee": "A", "amount": 1}, "session": "s-1"}
    first = (await g.call("POST", "/v1/requests", {**body, "evidence": ALL[:1]})).json()
    again = (await g.call("POST", "/v1/requests", {**body, "evidence": ALL[1:]})).json()
    assert (again["attached"], again["request"]["id"]) == (True, first["request"]["id"])
    assert again["request"]["evidence"] == first["request"]["evidence"]
    bare = (await g.call("POST", "/v1/requests", body)).json()
    assert bare["request"]["evidence"] == first["request"]["evidence"]
    assert len(g.rows("SELECT id FROM exhibits")) == 1


async def test_what_is_asked_again_brings_it_along_again(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask(evidence=ALL)
    await g.advance(timedelta(minutes=31))
    new = (await g.call("POST", f"/v1/requests/{request['id']}/reopen", {}, who="alice@acme.example")).json()
    assert new["id"] != request["id"]
    assert new["evidence"] == request["evidence"]
    assert (await g.call("GET", f"/v1/requests/{new['id']}/evidence/2")).content == PHOTO


async def test_the_trail_says_what_came_along_and_nothing_of_what_it_says(gateway: Gateway) -> None:
    request = await gateway.ask(evidence=ALL)
    story = gateway.rows("SELECT facts FROM audit_events WHERE kind = 'request.created'")
    told = json.loads(story[0]["facts"])["evidence"]
    assert [each["kind"] for each in told] == ["file", "file", "link"]
    assert [each["sha256"] for each in told] == [each["sha256"] for each in request["evidence"]]
    assert told[0]["size"] == len(INVOICE)
    for word in ("invoice.pdf", "Order 7", "erp.acme.example"):
        assert word not in json.dumps(story)


def _another_file(s: Stranger, of: str) -> None:
    s(f"UPDATE exhibits SET content = (SELECT content FROM exhibits WHERE id = '{of}.2') WHERE id = '{of}.1'")


def _in_clear(s: Stranger, of: str) -> None:
    s(f"UPDATE exhibits SET content = 'JVBERi0xLjcKJSVFT0YK' WHERE id = '{of}.1'")


def _gone(s: Stranger, of: str) -> None:
    s(f"DELETE FROM exhibits WHERE id = '{of}.1'")


def _other_number(s: Stranger, of: str) -> None:
    s(f"UPDATE exhibits SET number = 9 WHERE id = '{of}.1'")


def _no_evidence(s: Stranger, of: str) -> None:
    s(f"UPDATE requests SET evidence = '[]' WHERE id = '{of}'", f"DELETE FROM exhibits WHERE request_id = '{of}'")


@requirement("S-63")
@requirement("S-105")
@pytest.mark.parametrize(
    "edit", [_another_file, _in_clear, _gone, _other_number, _no_evidence], ids=lambda edit: edit.__name__
)
@pytest.mark.sampled(3)
async def test_one_that_was_changed_is_not_shown_not_approved_and_not_run(either_gateway: Gateway, edit: Any) -> None:
    g = either_gateway
    waiting, approved, other = [await g.ask("by_api", {"n": n}, evidence=ALL) for n in range(3)]
    assert (await g.decide(approved)).status_code == 200
    stranger = await to_thread(Stranger, g)
    for request in (waiting, approved):
        await to_thread(edit, stranger, request["id"])
    with capture_logs() as logs:
        file = await g.call("GET", f"/v1/requests/{waiting['id']}/evidence/1")
        assert file.status_code == (404 if edit is _no_evidence else 409)
        refused = await g.decide(waiting)
        assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
        refused = await g.claim(approved)
        assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
    assert {"request.forged"} <= {line["event"] for line in logs if line["log_level"] == "critical"}
    assert (await g.decide(other)).status_code == 200, "the others are as they were"
    faults = (await VerifyTrail(store=g.container.store, head_file=None)("acme")).faults
    for request in (waiting, approved):
        asked = f"asked {request['id']}: a file of its evidence is not there, or is not what was shown"
        told = f"the row of {request['id']} says" if edit is _no_evidence else asked
        assert [told in fault.text for fault in faults].count(True) == 1, faults
