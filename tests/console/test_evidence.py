"""Evidence on the page on which people decide: beside the call, as the agent's claim, and never as our own word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.domain.exhibit_files import ALL, INVOICE, PHOTO, a_file, a_link
from tests.fixtures.review_visits import URL, ReadPage, Visitor, with_url
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway

HOSTILE = [
    a_link("https://xn--bnk-5cd.example/pay", title='Bank <b onmouseover="x()">\u202e[click](https://evil.example)'),
    a_file(INVOICE, name='invoice\u202efdp.exe"><script>alert(1)</script>'.replace("/", "|")),
]


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


@pytest.fixture
def visitor(gateway: Gateway) -> Visitor:
    return Visitor(gateway=gateway)


async def fetched(gateway: Gateway, visitor: Visitor, request: dict[str, Any], number: object) -> httpx2.Response:
    """Get a file as the page does."""
    headers = {"cookie": f"assent-link={visitor.session}"} if visitor.session else {}
    return await gateway.http.get(f"/r/{request['id']}/evidence/{number}", headers=headers)


@requirement("S-105")
async def test_the_page_shows_pictures_of_ours_alone_and_says_whose_claim_it_is(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask(evidence=ALL)
    await visitor.visit(request)
    answer = await visitor.look(request)
    page, at = ReadPage(answer.text), f"/r/{request['id']}/evidence"
    pictures = [attributes for name, attributes in page.elements if name == "img"]
    assert [each["src"] for each in pictures] == [f"{at}/2"]
    links = {each["href"]: each for name, each in page.elements if name == "a" and each.get("href")}
    assert links["https://erp.acme.example/orders/7"]["rel"] == "noopener noreferrer nofollow"
    assert "download" in links[f"{at}/1"]
    text = " ".join(page.texts)
    for told in ("Evidence · 3", "not verified", "Leads away from here, to erp.acme.example", "invoice.pdf", "PNG ·"):
        assert told in text
    assert "The agent calls it: Order 7" in text
    assert f"img-src {URL}{at}/;" in answer.headers["content-security-policy"]
    await visitor.visit(other := await gateway.ask(arguments={"payee": "B", "amount": 1}))
    bare = await visitor.look(other)
    assert "img-src" not in bare.headers["content-security-policy"]
    assert "Evidence" not in bare.text


@requirement("S-18", "S-105")
async def test_nothing_that_an_agent_writes_beside_it_is_markup_or_turns_the_text(
    gateway: Gateway, visitor: Visitor
) -> None:
    page = await visitor.visit(await gateway.ask(evidence=HOSTILE))
    for markup in ("<b onmouse", "<script>alert", "\u202e", 'exe">'):
        assert markup not in page
    assert "\\u{202E}" in page
    assert ">xn--bnk-5cd.example</a>" in page, "the host as it is, not as it looks"


@requirement("S-105")
async def test_a_file_is_handed_out_in_the_session_of_its_page_alone(gateway: Gateway, visitor: Visitor) -> None:
    request, other = await gateway.ask(evidence=ALL), await gateway.ask(arguments={"payee": "B"}, evidence=ALL)
    await visitor.visit(request)
    shown = await fetched(gateway, visitor, request, 2)
    assert (shown.status_code, shown.content, shown.headers["content-type"]) == (200, PHOTO, "image/png")
    assert shown.headers["content-disposition"] == 'inline; filename="evidence-2.png"'
    assert shown.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert (await fetched(gateway, visitor, request, 1)).headers["content-disposition"].startswith("attachment")
    for nothing in (0, 3, 4, "%00", "x"):
        assert (await fetched(gateway, visitor, request, nothing)).status_code == 404
    assert (await fetched(gateway, visitor, other, 2)).status_code == 404
    assert (await fetched(gateway, Visitor(gateway=gateway), request, 2)).status_code == 401
    gateway.rewrite("finance: [alice@acme.example, ", "finance: [")
    await gateway.reload()
    assert (await fetched(gateway, visitor, request, 2)).status_code == 403
