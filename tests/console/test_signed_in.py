"""A person's session: how it begins, what it opens, when it is over; and the inbox that it opens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import InvalidError, UnauthenticatedError
from app.domain.identity.console_session import LASTS
from app.domain.identity.review_link import LINK_FOR, SESSION_FOR
from app.usecases.console.sessions import SIGN_IN_WITHIN
from tests.fixtures.review_visits import URL, ReadPage, Visitor, path_of, pressing, token_of, with_url
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway

ALICE, BOB, DAVE, OLGA = (f"{name}@acme.example" for name in ("alice", "bob", "dave", "olga"))


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


class Person(Visitor):
    """Somebody who signs in to the whole console."""

    @classmethod
    async def signed_in(cls, gateway: Gateway, who: str = ALICE) -> Person:
        person = cls(gateway=gateway)
        answer = await person.enter((await gateway.container.console.sessions.invite("acme", who, by="cli")).url)
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), answer.text
        return person

    async def get(self, path: str = "/", **headers: str) -> httpx2.Response:
        sent = {"cookie": f"assent-session={self.session}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        self.gateway.http.cookies.clear()
        return await self.gateway.http.get(path, headers=sent)

    async def leave(self, where: str, seal: str, *, origin: str = URL) -> httpx2.Response:
        headers = {"origin": origin, "cookie": f"assent-session={self.session}"}
        self.gateway.http.cookies.clear()
        return await self.gateway.http.post("/sign-out", data={"where": where, "seal": seal}, headers=headers)

    async def seal(self) -> str:
        page = ReadPage((await self.get()).text)
        return next(str(a["value"]) for _, a in page.elements if a.get("name") == "seal")


def listed(page: str) -> list[str]:
    """Return the ids of the requests that a page lists, in its order."""
    links = [str(attributes.get("href")) for name, attributes in ReadPage(page).elements if name == "a"]
    return [link.removeprefix("/r/") for link in links if link.startswith("/r/")]


@requirement("S-20", "S-47")
async def test_a_sign_in_link_works_once_within_its_time_for_people_of_the_file(either_gateway: Gateway) -> None:
    gateway = either_gateway
    sessions = gateway.container.console.sessions
    way = await sessions.invite("acme", ALICE, by="cli")
    visitor = Visitor(gateway=gateway)
    before = gateway.content()
    for _ in range(3):
        assert "for a working day" in (await visitor.door(way.url)).text
    assert gateway.content() == before  # looking uses nothing up
    assert [(await visitor.enter(way.url)).status_code for _ in range(2)] == [303, 401]
    assert gateway.trail()[-2:] == [("person.link_made", "cli"), ("person.signed_in", ALICE)]
    kept = str([gateway.content(), gateway.rows("SELECT * FROM console_sessions")])
    assert token_of(way.url) not in kept
    with pytest.raises(InvalidError):
        await sessions.invite("acme", "nobody@acme.example", by="cli")


@pytest.mark.parametrize(
    ("language", "sign_in", "card", "none"),
    [
        ("en", ("within ten minutes", "for twelve hours", "assent link"),
         ("within five minutes", "for half an hour", "assent requests review"), ("not a whole link", "assent link")),
        ("zh", ("十分钟内有效", "十二小时", "assent link"), ("五分钟内有效", "半小时", "assent requests review"),
         ("不是此网关的完整链接", "assent link")),
    ],
)  # fmt: skip
async def test_each_kind_of_link_that_does_not_work_is_explained_as_what_it_is(
    gateway: Gateway, language: str, sign_in: tuple[str, ...], card: tuple[str, ...], none: tuple[str, ...]
) -> None:
    assert (timedelta(minutes=10), timedelta(hours=12)) == (SIGN_IN_WITHIN, LASTS)  # as the sentences say
    assert (timedelta(minutes=5), timedelta(minutes=30)) == (LINK_FOR, SESSION_FOR)
    sessions = gateway.container.console.sessions
    used, over = [(await sessions.invite("acme", ALICE, by="cli")).url for _ in range(2)]
    asked = (await gateway.ask())["id"]
    seen, late = [(await gateway.container.review.way("acme", asked, ALICE)).url for _ in range(2)]
    visitor = Visitor(gateway=gateway)
    assert [(await visitor.enter(link)).status_code for link in (used, seen)] == [303, 303]

    async def said(answer: httpx2.Response, *, not_this: tuple[str, ...] = ()) -> str:
        text = " ".join(ReadPage(answer.text).texts)
        assert answer.status_code == 401
        assert not [part for part in not_this if part in text], text
        return text

    speaks = {"accept-language": language}
    gateway.http.headers.update(speaks)
    by_post = [(await visitor.enter(link)) for link in (used, seen)]
    await gateway.advance(timedelta(minutes=11))
    by_get = [await visitor.door(link) for link in (over, late)]
    for answers, wanted, other in (
        ((by_post[0], by_get[0]), sign_in, card[:2]),
        ((by_post[1], by_get[1]), card, sign_in[:2]),
        ((await visitor.door(f"{URL}/sign-in?t=bogus"),), none, (*sign_in[:2], *card[:2])),
    ):
        for answer in answers:
            text = await said(answer, not_this=other)
            assert [part for part in wanted if part not in text] == [], text


async def test_whose_session_is_over_is_told_to_sign_in_and_not_of_a_link(gateway: Gateway) -> None:
    asked = (await gateway.ask())["id"]
    page = await gateway.http.get(f"/r/{asked}")
    assert page.status_code == 401
    assert "You are not signed in" in page.text
    assert "within five minutes" not in page.text


@requirement("S-21", "S-39")
async def test_a_session_is_one_persons_and_nothing_of_it_can_be_changed(gateway: Gateway) -> None:
    alice, dave = await Person.signed_in(gateway), await Person.signed_in(gateway, DAVE)
    ours, theirs = await gateway.ask(), await gateway.ask("anything", org="globex")
    assert {part.strip().lower() for part in alice.cookie.split(";")[1:]} == {
        "httponly", "max-age=43200", "path=/", "samesite=lax",
    }  # fmt: skip
    assert (await alice.get(f"/r/{ours['id']}")).status_code == 200
    assert (await dave.get(f"/r/{ours['id']}")).status_code == 403  # it concerns her, and not him
    assert (await alice.get(f"/r/{theirs['id']}")).status_code == 404
    good = alice.session
    head, name, secret = good.split("_")
    other = dave.session.split("_")[1]
    for changed in ("", "x", f"{head}_{name}_{secret[:-1]}", f"{head}_{other}_{secret}", f"s2_{name}_{secret}"):
        alice.session = changed
        assert (await alice.get()).status_code == 401
    [row] = gateway.rows(f"SELECT * FROM console_sessions WHERE id = '{name}'")
    assert secret not in str(row)
    gateway.rows(f"UPDATE console_sessions SET person = '{OLGA}' WHERE id = '{name}'")
    alice.session = good
    assert (await alice.get()).status_code == 401  # no row can be given to somebody else


async def test_a_session_ends_idle_old_at_once_everywhere_and_with_the_persons_place_in_the_file(
    gateway: Gateway,
) -> None:
    idle, old, here, there, bob = [await Person.signed_in(gateway, who) for who in (ALICE, ALICE, DAVE, DAVE, BOB)]
    for _ in range(6):
        await gateway.advance(timedelta(hours=1, minutes=59))
        assert (await old.get()).status_code == 200
    assert (await idle.get()).status_code == 401
    await gateway.advance(timedelta(minutes=6))
    assert (await old.get()).status_code == 401
    here, there, bob = [await Person.signed_in(gateway, who) for who in (DAVE, DAVE, BOB)]
    third = await Person.signed_in(gateway, DAVE)
    foreign = await bob.seal()
    for seal, origin in ((foreign, URL), ("", URL), (await here.seal(), "https://evil.example")):
        assert (await here.leave("everywhere", seal, origin=origin)).status_code == 401
    left = await third.leave("here", await third.seal())
    assert "max-age=0" in left.headers["set-cookie"].lower()
    assert [(await each.get()).status_code for each in (third, here, there)] == [401, 200, 200]
    assert (await here.leave("everywhere", await here.seal())).status_code == 303
    assert [(await each.get()).status_code for each in (here, there, bob)] == [401, 401, 200]
    assert gateway.trail()[-1] == ("person.signed_out", DAVE)
    gateway.rewrite("  bob@acme.example: {name: Bob, memory: U_BOB}\n", "")
    gateway.rewrite("alice@acme.example, bob@acme.example, ", "alice@acme.example, ")
    await gateway.reload()
    assert (await bob.get()).status_code == 401


async def test_the_inbox_has_what_waits_for_one_by_risk_and_time_left_and_never_the_newest_first(
    gateway: Gateway,
) -> None:
    risky = "risk: high, timeout: 1h, stages: [{of: [finance]}], channels: [api]"
    gateway.rewrite("- {id: staged, ", f"- {{id: risky, tools: [wire], then: ask, {risky}}}\n  - {{id: staged, ")
    gateway.rewrite("  ping: {}\n", "  ping: {}\n  wire: {}\n")
    await gateway.reload()
    alice = await Person.signed_in(gateway)
    page = await alice.get()
    assert "Nothing waits for you." in page.text
    assert listed(page.text) == []

    async def ask(tool: str, **more: Any) -> str:
        return (await gateway.ask(tool, {"payee": "Acme", "n": len(more)}, **more))["id"]

    long, soon = await ask("long"), await ask("by_api")
    await gateway.advance(timedelta(seconds=1))
    both = await ask("pay_two")
    risky, not_hers = await ask("wire"), (await gateway.ask("anything", org="globex"))["id"]
    page = await alice.get()
    assert listed(page.text) == [risky, soon, both, long]
    assert "<title>(4) Requests" in page.text
    assert "high risk" in page.text
    assert len(page.content) < 60_000
    voted = await alice.get(f"/r/{both}")
    answer = await vote(alice, both, voted.text)
    assert answer.status_code == 303
    dave = await Person.signed_in(gateway, DAVE)
    hers = await gateway.ask("by_api", {"n": 9}, requester=DAVE)
    assert listed((await dave.get()).text) == [hers["id"]]  # asked in his name; nothing for him to decide
    await gateway.decide(hers, "deny", who=ALICE)
    page = (await alice.get()).text
    assert listed(page) == [risky, soon, long, both, hers["id"]]  # to decide, waiting for others, done
    assert "1 of 2 approvals" in page
    assert "Denied" in page
    assert not_hers not in page
    assert "待您决定" in (await alice.get(accept_language="zh")).text


async def vote(person: Person, request_id: str, page: str) -> httpx2.Response:
    """Approve on the page of a request, in a person's session."""
    headers = {"origin": URL, "cookie": f"assent-session={person.session}"}
    press_of = next(str(a["value"]) for _, a in ReadPage(page).elements if a.get("name") == "press")
    person.gateway.http.cookies.clear()
    data = {"verdict": "approve", "press": press_of}
    return await person.gateway.http.post(f"/r/{request_id}", data=data, headers=headers)


async def test_looking_at_the_inbox_writes_nothing_but_when_the_session_was_used(gateway: Gateway) -> None:
    await gateway.ask()
    alice = await Person.signed_in(gateway)
    before = gateway.content()
    assert (await alice.get()).status_code == 200
    assert gateway.content() == before
    assert (await gateway.http.get("/")).status_code == 401
    assert "You are not signed in" in (await gateway.http.get("/")).text


async def test_what_a_session_looked_at_is_in_the_trail_once_in_a_while(gateway: Gateway) -> None:
    request = await gateway.ask("long")
    alice = await Person.signed_in(gateway)

    async def looks() -> int:
        assert (await alice.get(f"/r/{request['id']}")).status_code == 200
        return gateway.trail(request).count(("request.reviewed", ALICE))

    assert [await looks() for _ in range(3)] == [1, 1, 1]
    await gateway.advance(timedelta(minutes=16))
    await gateway.container.sweep.forget()
    assert await looks() == 2


async def test_the_first_start_has_a_link_for_whom_the_file_names_first_until_something_was_asked(
    gateway: Gateway,
) -> None:
    sessions = gateway.container.console.sessions
    found = await sessions.first_link("acme")
    assert found is not None
    assert found[0] == ALICE
    assert (await Visitor(gateway=gateway).enter(found[1])).status_code == 303
    assert await sessions.first_link("acme") is None
    assert await sessions.first_link("globex") is not None
    await gateway.ask("anything", org="globex")
    assert await sessions.first_link("globex") is None


@requirement("S-20")
async def test_a_session_that_was_planted_before_a_sign_in_is_not_the_one_that_begins(gateway: Gateway) -> None:
    stranger = await Person.signed_in(gateway, BOB)  # somebody else's own, put into Alice's browser
    for planted in (stranger.session, "made-up", f"{stranger.session[:-4]}AAAA"):
        link = (await gateway.container.console.sessions.invite("acme", ALICE, by="cli")).url
        headers = {"origin": URL, "sec-fetch-site": "same-origin", "cookie": f"assent-session={planted}"}
        gateway.http.cookies.clear()
        answer = await gateway.http.post("/sign-in", data={"t": token_of(link)}, headers=headers)
        began = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
        right = await gateway.container.console.sessions.right_of("", began)
        assert (answer.status_code, right.person) == (303, ALICE)
        assert planted.partition(".")[0] not in {began, right.name}
        assert right.name not in planted
        if planted == stranger.session:
            assert (await gateway.container.console.sessions.right_of("", planted)).person == BOB  # still his alone
        else:
            with pytest.raises(UnauthenticatedError):
                await gateway.container.console.sessions.right_of("", planted)


async def test_behind_what_ran_stand_its_outcome_and_for_who_is_signed_in_the_way_to_its_story(
    gateway: Gateway,
) -> None:
    alice, by_link = await Person.signed_in(gateway), Visitor(gateway=gateway)
    request = await gateway.ask()
    await gateway.decide(request)
    await gateway.claim(request)
    await gateway.report(request)
    story = f"/console/requests/{request['id']}"
    page = (await alice.get(f"/r/{request['id']}")).text
    assert f'<a href="{story}">What happened, step by step</a>' in page
    assert (await alice.get(story)).status_code == 200
    assert story not in await by_link.visit(request)  # that session opens one page alone


async def test_a_link_names_whose_it_is_and_makes_nobody_of_a_browser_that_is_somebody_elses(gateway: Gateway) -> None:
    bob, request = await Person.signed_in(gateway, BOB), await gateway.ask("pay_two")
    link = (await bob.link(request)).json()["url"]
    path, form = path_of(link), {"t": token_of(link)}
    signed_in = {"origin": URL, "cookie": f"assent-session={bob.session}"}
    for lang, whose, refused in (
        ("en", "This is Alice&#39;s link", "signed in as Bob"),
        ("zh", "Alice的链接", "以Bob的身份"),
    ):
        assert whose in (await gateway.http.get(path, headers={"accept-language": lang})).text
        told = await bob.get(path, accept_language=lang)
        assert (told.status_code, refused in told.text, "Alice" in told.text) == (403, True, True)
        assert 'action="/sign-out"' in told.text
    pressed = await gateway.http.post("/sign-in", data=form, headers=signed_in)
    assert (pressed.status_code, "set-cookie" in pressed.headers) == (403, False)
    alice = Visitor(gateway=gateway)
    assert (await alice.enter(link)).status_code == 303  # it is still unused
    both = {"cookie": f"assent-link={alice.session}; assent-session={bob.session}"}
    page = (await gateway.http.get(f"/r/{request['id']}", headers=both)).text
    voted = await gateway.http.post(
        f"/r/{request['id']}", data={"verdict": "approve", "press": pressing(page)}, headers={**both, "origin": URL}
    )
    assert voted.status_code == 303
    [vote] = (await gateway.read(request))["decisions"]
    assert vote["person"] == BOB
    own = (await bob.link(request, who=BOB)).json()["url"]
    gateway.http.cookies.clear()
    assert (await gateway.http.post("/sign-in", data={"t": token_of(own)}, headers=signed_in)).status_code == 303


async def test_the_door_offers_no_passkey_where_browsers_make_none(gateway: Gateway) -> None:
    page = (await gateway.http.get("/sign-in")).text
    assert "/sign-in/passkey" not in page
    assert "assent link" in page
    assert "Sign in with a passkey" not in page
