"""The console's pages on the wire: one door, one cookie, one request; nothing of an argument becomes markup."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from app.console.pages import environment
from app.domain.text.visible import visible, visible_value
from tests.channels.test_card_corpus import CORPUS, PAYLOADS
from tests.fixtures.review_visits import URL, ReadPage, Visitor, token_of, with_url
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

HTML_PAYLOADS = [
    "<script>alert(1)</script>",
    "</dd></dl></section><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "<!--",
    "-->",
    "]]>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</textarea><a href=javascript:alert(1)>approve</a>",
    "<form action=https://evil.example method=post><button>Approve</button></form>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "&lt;script&gt;",
    "&amp;lt;",
    "&#x3c;script&#x3e;",
    "&NewLine;&Tab;&nbsp;",
    "javascript:alert(1)",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "\n leading break",
    "\r\nSet-Cookie: a=b",
    "\u2028\u2029\x85\x00\x1b[2J",
    "\ufeff+ADw-script+AD4-",
    "<\x00script>",
    "＜script＞",
]
ELEMENTS = {
    "html", "head", "meta", "title", "link", "script", "body", "main", "div", "span", "nav", "a", "header", "h1", "h2",
    "p", "b", "small", "dl", "dt", "dd", "section", "article", "details", "summary", "ul", "ol", "li", "time", "form",
    "input", "button", "label", "textarea", "select", "option",
}  # fmt: skip


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


def assert_harmless(page: ReadPage, request: dict[str, Any]) -> None:
    """What a page names, loads, leads to and sends is our own, whatever stands on it."""
    loads = {re.sub(r"\?v=[0-9a-f]{12}$", "", str(link)) for link in page.values("href") | page.values("src")}
    assert loads <= {"?lang=zh", "", "#decide", "../console/console.css", "../console/console.js"}
    assert page.values("action") <= {f"/r/{request['id']}"}
    assert not page.values("style") | page.values("formaction") | page.values("srcdoc")
    of_ours = {"moved", "left", "decide", "reason", "typed", "totp", "approve", "undo", "others"}
    assert all(each in of_ours or re.fullmatch(r"do-[a-z_0-9-]+", str(each)) for each in page.values("id"))
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


@pytest.fixture
def visitor(gateway: Gateway) -> Visitor:
    return Visitor(gateway=gateway)


# --- nothing of an argument becomes markup ----------------------------------------------------------------------------


@requirement("S-18", "S-19")
@pytest.mark.parametrize("at", range(0, len(CORPUS) + len(HTML_PAYLOADS), 60))
@pytest.mark.sampled(3)
async def test_no_text_of_an_agent_becomes_markup_and_all_of_it_can_be_read(
    gateway: Gateway, visitor: Visitor, at: int
) -> None:
    texts = [*HTML_PAYLOADS, *CORPUS][at : at + 60]
    arguments = {"payee": texts[0], "amount": 5, "memo": {"deep": texts}, **{f"a{i}": t for i, t in enumerate(texts)}}
    request = await gateway.ask(arguments=arguments, claim=texts[0].replace("\0", ""), session="s")
    page = ReadPage(await visitor.visit(request))
    assert {name for name, _ in page.elements} <= ELEMENTS
    assert_harmless(page, request)
    for name, value in arguments.items():
        assert visible_value(value) in page.texts, name
    assert json.dumps(5) in page.texts


@requirement("S-18", "S-19")
@pytest.mark.parametrize("text", [*HTML_PAYLOADS[:12], *PAYLOADS[-3:]])
@pytest.mark.sampled(4)
async def test_what_people_and_agents_say_around_the_call_is_as_inert_as_the_call(
    gateway: Gateway, visitor: Visitor, text: str
) -> None:
    request = await gateway.ask(arguments={"payee": "A", text: text}, requester="<b>x</b>@acme.example")
    await gateway.decide(request, "deny", reason=text)
    page = ReadPage(await visitor.visit(request))
    assert {name for name, _ in page.elements} <= ELEMENTS
    assert_harmless(page, request)
    assert "".join(page.texts).count(visible(text)) >= 4  # name, value, what was said, the record


@requirement("S-19")
async def test_what_may_deceive_is_said_first_and_all_of_it(gateway: Gateway, visitor: Visitor) -> None:
    twins = {f"name{i}": f"Hеngtong {i}" for i in range(9)}  # the second letter is Cyrillic
    request = await gateway.ask(arguments={"payee": "PayPaI", "amount": 1, **twins})
    text = await visitor.visit(request)
    assert text.count("mixes letters of different alphabets") == 9
    assert "More warnings of this kind" not in text
    assert text.index("Look twice") < text.index("Everything that will run")


@requirement("S-13")
async def test_every_argument_is_there_whole_however_long(gateway: Gateway, visitor: Visitor) -> None:
    arguments: dict[str, Any] = {"payee": "x" * 60_000 + "END", "amount": 80000, "n": [1, {"a": None}], "": "empty"}
    request = await gateway.ask(arguments=arguments)
    page = ReadPage(await visitor.visit(request))
    assert all(visible_value(value) in page.texts for value in arguments.values())
    assert request["digest"] in page.texts


@requirement("S-37")
async def test_sensitive_values_and_secrets_are_masked_and_counted(gateway: Gateway, visitor: Visitor) -> None:
    token = "ghp_" + "a1B2" * 9
    request = await gateway.ask(
        arguments={"payee": "A", "amount": 1, "account": "DE02-SECRET", "memo": f"ref {token}"}, claim=f"use {token}"
    )
    await gateway.decide(request, "deny", reason=f"never send {token}")
    text = await visitor.visit(request)
    assert "DE02-SECRET" not in text
    assert token not in text
    assert "Values hidden here: 2." in text


@requirement("S-18")
@pytest.mark.parametrize("text", HTML_PAYLOADS)
def test_a_text_stays_a_text_inside_an_element_and_inside_an_attribute(text: str) -> None:
    text = text.replace("\r", "")
    page = ReadPage(environment().from_string('<p title="{{ title }}">{{ text }}</p>').render(title=text, text=text))
    assert page.elements == [("p", {"title": text})]
    assert "".join(page.texts) == text.replace("\r", "")


# --- the door ---------------------------------------------------------------------------------------------------------


@requirement("S-15")
async def test_a_preview_of_a_link_sees_a_button_and_nothing_of_the_request(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    link = (await visitor.link(request)).json()["url"]
    answer = await visitor.door(link)
    page = ReadPage(answer.text)
    assert [name for name, _ in page.elements if name in {"form", "button"}] == ["form", "button"]
    assert page.values("action") == {"/sign-in"}
    assert page.values("value") == {token_of(link)}
    assert not any(word in answer.text for word in ("Acme", "80000", "alice", request["code"]))
    assert answer.headers["referrer-policy"] == "same-origin"  # else a browser would not say where the form comes from


@requirement("S-21")
async def test_no_character_of_a_link_or_a_session_can_be_changed(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    link = (await visitor.link(request)).json()["url"]
    token = token_of(link)
    parts = [len(part) for part in token.split(".")]
    spots = [sum(parts[:n]) + n + at for n in range(4) for at in (0, parts[n] // 2, parts[n] - 1)]
    for at in spots:
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        assert (await visitor.enter(link.replace(token, changed))).status_code == 401
        assert (await visitor.door(link.replace(token, changed))).status_code == 401
    assert (await visitor.enter(link)).status_code == 303
    session = visitor.session
    for at in spots:
        visitor.session = session[:at] + ("A" if session[at] != "A" else "B") + session[at + 1 :]
        assert (await visitor.look(request)).status_code == 401
    for other in ("", token, "x", "r1.a.b.c", "r1..."):
        visitor.session = other
        assert (await visitor.look(request)).status_code == 401


@requirement("S-14", "S-52")
async def test_a_session_of_another_org_or_for_another_request_opens_nothing(
    gateway: Gateway, visitor: Visitor
) -> None:
    ours, other = await gateway.ask(), await gateway.ask(arguments={"payee": "B", "amount": 2})
    theirs = await gateway.ask("anything", org="globex")
    assert (await visitor.link(theirs)).status_code == 404
    await visitor.visit(ours)
    foreign = await visitor.look(theirs)
    unknown = await visitor.look("req_unknown")
    assert foreign.status_code == unknown.status_code == 404
    third = await visitor.look(other)
    assert len({re.sub(r'nonce="[^"]*"', "", each.text) for each in (foreign, unknown, third)}) == 1
    await visitor.visit(theirs, who="gina@globex.example")
    assert (await visitor.look(ours)).status_code == 404


@requirement("S-16", "S-48")
@pytest.mark.parametrize("who", ["agent:shop", "admin", "auditor"])
async def test_only_a_persons_own_key_makes_a_link(gateway: Gateway, visitor: Visitor, who: str) -> None:
    request = await gateway.ask()
    assert (await visitor.link(request, who=who)).status_code == 403


async def test_the_api_says_until_when_a_link_works(gateway: Gateway, visitor: Visitor) -> None:
    answer = await visitor.link(await gateway.ask())
    assert answer.json().keys() == {"url", "expires_at"}
    assert answer.json()["expires_at"] == "2026-03-01T10:05:00+00:00"
    assert answer.json()["url"].startswith(f"{URL}/sign-in?t=r1.")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example", "sec_fetch_site": "cross-site"},
        {"origin": "https://evil.example", "sec_fetch_site": ""},
        {"origin": "null", "sec_fetch_site": "cross-site"},
        {"origin": "", "sec_fetch_site": ""},
        {"origin": URL, "sec_fetch_site": "same-site"},
        {"origin": f"{URL}.evil.example", "sec_fetch_site": ""},
        {"origin": "https://127.0.0.1:8080", "sec_fetch_site": "same-origin"},
    ],
)
@pytest.mark.sampled(3)
async def test_only_our_own_page_can_press_the_button(
    gateway: Gateway, visitor: Visitor, headers: dict[str, str]
) -> None:
    link = (await visitor.link(await gateway.ask())).json()["url"]
    answer = await visitor.enter(link, **headers)
    assert (answer.status_code, visitor.cookie) == (401, "")
    assert (await visitor.enter(link)).status_code == 303  # nothing was used up


async def test_a_browser_too_old_to_say_more_than_its_origin_is_let_in(gateway: Gateway, visitor: Visitor) -> None:
    link = (await visitor.link(await gateway.ask())).json()["url"]
    assert (await visitor.enter(link, sec_fetch_site="")).status_code == 303


@requirement("S-32", "S-41")
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/x-www-form-urlencoded", 401),
        (b"t=a&t=b", "application/x-www-form-urlencoded", 401),
        (b"t=%ff", "application/x-www-form-urlencoded", 401),
        (b"\xff", "application/x-www-form-urlencoded", 401),
        (b"&".join(b"a=b" for _ in range(9)), "application/x-www-form-urlencoded", 401),
        (b"t=" + b"x" * 20_000, "application/x-www-form-urlencoded", 400),
        (b'{"t": "x"}', "application/json", 401),
        (b"t=x", "text/plain", 401),
    ],
)
async def test_a_form_that_is_none_gets_a_page_and_no_cookie(
    gateway: Gateway, body: bytes, kind: str, status: int
) -> None:
    headers = {"content-type": kind, "origin": URL}
    answer = await gateway.http.post("/sign-in", content=body, headers=headers)
    assert (answer.status_code, "set-cookie" in answer.headers) == (status, False)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@requirement("S-39")
async def test_the_session_is_a_cookie_of_that_page_alone_which_no_script_reads(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask()
    answer = await visitor.enter((await visitor.link(request)).json()["url"])
    path = f"/r/{request['id']}"
    attributes = {part.strip().lower() for part in visitor.cookie.split(";")[1:]}
    assert attributes == {"httponly", "max-age=1800", f"path={path}", "samesite=strict"}
    assert answer.headers["location"] == path
    assert answer.content == b""


@requirement("S-39")
async def test_behind_https_and_a_path_the_cookie_is_secure_and_the_way_is_the_same(
    gateway: Gateway, visitor: Visitor
) -> None:
    gateway.rewrite(f"url: {URL}", "url: https://Gate.acme.example/assent/")
    await gateway.reload()
    request = await gateway.ask()
    link = (await visitor.link(request)).json()["url"]
    base = "https://Gate.acme.example/assent"
    assert link.startswith(f"{base}/sign-in?t=")
    link = link.replace(base, URL)
    door = await visitor.door(link, lang="zh")
    assert ReadPage(door.text).values("action") == {"/assent/sign-in"}
    assert door.headers["strict-transport-security"] == "max-age=31536000"
    answer = await visitor.enter(link, origin="https://gate.acme.example")
    assert answer.headers["location"] == f"/assent/r/{request['id']}"
    assert visitor.cookie.startswith("__Secure-assent-link=")
    assert {"Secure", f"Path=/assent/r/{request['id']}"} <= {part.strip() for part in visitor.cookie.split(";")}
    page = await visitor.look(request, cookie=f"__Secure-assent-link={visitor.session}")
    assert page.status_code == 200


@requirement("S-39")
async def test_every_page_forbids_what_pages_can_be_abused_for(gateway: Gateway, visitor: Visitor) -> None:
    request = await gateway.ask()
    link = (await visitor.link(request)).json()["url"]
    pages = [
        await visitor.door(link),
        await visitor.enter(link),
        await visitor.enter(link),
        await visitor.look(request),
    ]
    visitor.session = ""
    pages.append(await visitor.look(request))
    assert [page.status_code for page in pages] == [200, 303, 401, 401, 401]
    for page in pages:
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] in {"no-referrer", "same-origin"}
    seen = set[str]()
    for page in (page for page in pages if page.status_code != 303):
        policy = page.headers["content-security-policy"]
        nonces = set(re.findall(r"'nonce-([A-Za-z0-9_-]{22})'", policy))
        assert re.sub(r"'nonce-[A-Za-z0-9_-]{22}'", "NONCE", policy) == (
            "default-src 'none'; style-src NONCE; script-src NONCE; connect-src 'self'; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'"
        )
        assert ReadPage(page.text).values("nonce") == nonces
        seen |= nonces
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["x-robots-tag"].startswith("noindex")
        assert page.headers["cross-origin-opener-policy"] == "same-origin"
    assert len(seen) == 4  # another one each time


@requirement("S-15")
@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"])
async def test_no_other_method_does_anything(gateway: Gateway, visitor: Visitor, method: str) -> None:
    request = await gateway.ask()
    link = (await visitor.link(request)).json()["url"]
    before = gateway.content()
    for path in (link.removeprefix(URL), f"/r/{request['id']}"):
        said = await gateway.http.request(method, path)
        as_get = (await gateway.http.get(path)).status_code
        assert said.status_code == (as_get if method == "HEAD" else 405)
        assert method != "HEAD" or not said.content
    assert gateway.content() == before


# --- what stands on it ------------------------------------------------------------------------------------------------


async def test_the_page_tells_who_asked_who_decides_who_said_what_and_the_trail(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await gateway.ask("pay_two", {"payee": "Acme"}, requester="dave@acme.example")
    await gateway.decide(request, who="bob@acme.example")
    text = "\n".join(ReadPage(await visitor.visit(request)).texts)
    for said in (
        "agent shop; it says: for Dave <dave@acme.example> (not verified)",
        "1 of 2 approvals · finance",
        "Bob approved · on api",
        "Alice <alice@acme.example>",
        "2026-03-01 10:00 UTC",
        "asked for pay_two; the rule pay-two asks people about it",
        "a card was posted to chat",
        "Bob <bob@acme.example>\n · \napproved on api",
        "looked at all of it, by way of api",
        request["digest"],
        request["code"],
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("query", "accept", "lang"),
    [
        ("", "", "en"),
        ("", "fr-FR,fr;q=0.9,zh-CN;q=0.8,en;q=0.5", "zh-CN"),
        ("?lang=zh", "en", "zh-CN"),
        ("?lang=en", "zh", "en"),
        ("?lang=xx", "zh", "zh-CN"),
    ],
)
async def test_the_page_speaks_the_readers_language(
    gateway: Gateway, visitor: Visitor, query: str, accept: str, lang: str
) -> None:
    request = await gateway.ask()
    await visitor.visit(request)
    answer = await visitor.look(request, query=query, accept_language=accept)
    assert ReadPage(answer.text).elements[0] == ("html", {"lang": lang})
    assert ("到期不执行" in answer.text) is (lang != "en")
