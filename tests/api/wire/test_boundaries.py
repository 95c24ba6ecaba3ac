"""Between orgs, between kinds of keys, and between looking and deciding."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from msgspec.structs import asdict
from psycopg import sql

from app.identifiers import RandomIds
from app.storage.tables.tables import ORG_TABLES
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

DIGEST = "ab" * 32
BODIES: dict[str, dict[str, Any]] = {
    "decisions": {"verdict": "approve", "digest": DIGEST},
    "cancel": {},
    "claim": {"digest": DIGEST, "claim_id": "c"},
    "outcome": {"claim_id": "c", "status": "succeeded"},
    "reconcile": {"status": "succeeded", "note": "n"},
    "lift": {},
    "confirm": {"digest": DIGEST},
    "end": {},
    "review": {"note": "n"},
}
OPERATIONS = [
    ("GET", "/v1/requests/{id}", "agent:shop"),
    ("GET", "/v1/requests/{id}", "auditor"),
    ("GET", "/v1/requests/{id}?wait=1", "agent:shop"),
    ("GET", "/v1/requests/{id}/events", "auditor"),
    ("POST", "/v1/requests/{id}/decisions", "alice@acme.example"),
    ("POST", "/v1/requests/{id}/cancel", "admin"),
    ("POST", "/v1/requests/{id}/cancel", "agent:shop"),
    ("POST", "/v1/requests/{id}/claim", "agent:shop"),
    ("POST", "/v1/requests/{id}/outcome", "agent:shop"),
    ("POST", "/v1/requests/{id}/reconcile", "admin"),
    ("POST", "/v1/requests/{id}/lift", "alice@acme.example"),
    ("POST", "/v1/requests/{id}/reconcile", "agent:shop"),
    ("POST", "/v1/standing-approvals/{id}/confirm", "alice@acme.example"),
    ("DELETE", "/v1/standing-approvals/{id}", "alice@acme.example"),
    ("DELETE", "/v1/standing-approvals/{id}", "admin"),
    ("POST", "/v1/break-glass/{id}/confirm", "alice@acme.example"),
    ("POST", "/v1/break-glass/{id}/end", "alice@acme.example"),
    ("POST", "/v1/break-glass/{id}/review", "alice@acme.example"),
    ("DELETE", "/v1/keys/{id}", "admin"),
    ("GET", "/v1/policies/{id}", "auditor"),
]


async def _foreign_ids(g: Gateway) -> dict[str, str]:
    """Make one thing of every kind in the other org, with an agent of the same name."""
    request = await g.ask("pay", org="globex")
    await g.decide(request, who="gina@globex.example")
    await g.claim(request, org="globex")
    return {
        "request": request["id"],
        "key": g.rows("SELECT id FROM api_keys WHERE org = 'globex'")[0]["id"],
        "policy": g.container.book.current("globex").policy.version,
        "delivery": g.rows("SELECT id FROM deliveries")[0]["id"],
        "grant": g.rows("SELECT id FROM grants")[0]["id"],
        "execution": g.rows("SELECT id FROM executions")[0]["id"],
        "decision": g.rows("SELECT id FROM decisions")[0]["id"],
        "event": g.rows("SELECT id FROM audit_events WHERE org = 'globex'")[0]["id"],
    }


@requirement("S-14", "S-52")
async def test_another_orgs_ids_answer_byte_for_byte_like_unknown_ones(either_gateway: Gateway) -> None:
    g = either_gateway
    foreign = await _foreign_ids(g)
    for _, _, who in OPERATIONS:
        await g.key(who)
    await g.quiet()  # the cards of what was just asked are on their way
    before = g.content()
    for method, path, who in OPERATIONS:
        body = BODIES.get(path.rsplit("/", 1)[-1])
        unknown = await g.call(
            method, path.replace("{id}", RandomIds().new("req")), body, who=who, x_request_id="named"
        )
        assert unknown.status_code == 404
        for kind, foreign_id in foreign.items():
            said = await g.call(method, path.replace("{id}", foreign_id), body, who=who, x_request_id="named")
            same = (said.status_code, said.content, dict(said.headers))
            assert same == (404, unknown.content, dict(unknown.headers)), (method, path, kind)
    assert g.content() == before
    assert [item["org"] for item in (await g.call("GET", "/v1/audit?limit=1000", who="auditor")).json()["items"]] == [
        "acme"
    ] * len(g.rows("SELECT 1 AS one FROM audit_events WHERE org = 'acme'"))
    assert (await g.call("GET", "/v1/requests", who="admin")).json()["items"] == []


@requirement("S-14")
async def test_another_agents_request_is_unknown_too(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    for path in ("", "?wait=1", "/events"):
        assert (await gateway.call("GET", f"/v1/requests/{request['id']}{path}", who="agent:other")).status_code == 404
    for act in ("cancel", "claim", "outcome", "reconcile"):
        said = await gateway.call("POST", f"/v1/requests/{request['id']}/{act}", BODIES[act], who="agent:other")
        assert said.status_code == 404, act
    assert (await gateway.call("GET", "/v1/requests?agent=shop", who="agent:other")).json()["items"] == []


@requirement("S-14")
async def test_a_database_session_without_an_org_sees_nothing_even_as_the_owner(
    postgres_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(postgres_url, config, platform) as g:
        request = await g.ask("pay", org="globex")
        await g.ask()
        await g.press(await g.ask(arguments={"payee": "x", "amount": 1}))
        with psycopg.connect(postgres_url) as owner:
            for table in ORG_TABLES:
                assert owner.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone() == (
                    0,
                ), table
            owner.execute("SET assent.org = 'acme'")
            assert owner.execute("SELECT count(*) FROM requests").fetchone() == (2,)
            touched = owner.execute("UPDATE outbox SET status = 'dead' WHERE org = 'globex'").rowcount
            assert touched == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute("INSERT INTO policies VALUES ('globex', 'v', 'text', 1)")
        assert (await g.read(request, org="globex"))["state"] == "pending"


# --- looking ----------------------------------------------------------------------------------------------------------


PREFETCHES = [
    {"purpose": "prefetch", "x-moz": "prefetch"},
    {"sec-purpose": "prefetch;prerender"},
    {"x-purpose": "preview"},
    {"x-http-method-override": "POST"},
    {"x-http-method": "DELETE", "x-method-override": "DELETE"},
]
BOTS = [
    {"user-agent": agent, "x-memory": "genuine", **PREFETCHES[index % len(PREFETCHES)]}
    for index, agent in enumerate(
        (
            "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
            "Slackbot 1.0 (+https://api.slack.com/robots)",
            "Slack-ImgProxy (+https://api.slack.com/robots)",
            "facebookexternalhit/1.1",
            "Mozilla/5.0 (compatible; Bytespider; spider-feedback@bytedance.com)",
            "LarkUrl/1.0",
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
            "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
            "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
            "Twitterbot/1.0",
            "LinkedInBot/1.0 (compatible; Mozilla/5.0; +http://www.linkedin.com)",
            "WhatsApp/2.23.20.0",
            "TelegramBot (like TwitterBot)",
            "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
            "SkypeUriPreview Preview/0.5",
            "Microsoft Office/16.0 (Microsoft Outlook 16.0; SafeLinks)",
            "Mozilla/5.0 (compatible; Barracuda Sentinel (EE))",
            "GPTBot/1.2",
            "curl/8.9.1",
        )
    )
]
_SHARE = 4
CALLERS = ["agent:shop", "alice@acme.example", "admin", "auditor"]


async def _links(g: Gateway) -> list[tuple[str, dict[str, Any]]]:
    """Return every path of the application, each with the very body by which a POST to it would change something."""
    pending, approved, running = await g.ask(), await g.ask("by_api"), await g.ask("by_api")
    for request in (approved, running):
        assert (await g.decide(request)).status_code == 200
    assert (await g.claim(running)).status_code == 200
    for who in CALLERS:
        await g.key(who)
    press = g.platform.press(g.card(pending), "U_ALICE", "approve")
    bodies: dict[str, dict[str, Any]] = {
        "requests": {"tool": "pay", "arguments": {"payee": "x", "amount": 1}},
        "{event}": {"tool_name": "pay", "tool_input": {"payee": "x", "amount": 2}},
        "decisions": {"verdict": "approve", "digest": pending["digest"]},
        "claim": {"digest": approved["digest"], "claim_id": "c"},
        "outcome": {"claim_id": "claim-1", "status": "succeeded"},
        "cancel": {},
        "reconcile": {"status": "succeeded", "note": "n"},
        "callback": asdict(press),
        "keys": {"scope": "auditor", "label": "of a bot"},
    }
    links: list[tuple[str, dict[str, Any]]] = []
    for path in sorted({str(route.path) for route in g.app.routes}):
        last = path.rsplit("/", 1)[-1]
        for request in (pending, approved, running) if "{request_id}" in path else (pending,):
            filled = (
                path.replace("{request_id}", request["id"])
                .replace("{name}", "chat")
                .replace("{event}", "PreToolUse")
                .replace("{key_id}", g.rows("SELECT id FROM api_keys WHERE scope = 'auditor'")[0]["id"])
                .replace("{version}", g.container.book.current("acme").policy.version)
                .replace("{question_id}", "que_1")
                .replace("{number}", "1")
                .replace("{standing_id}", "sta_1")
                .replace("{glass_id}", "gls_1")
                .replace("{person}", "alice@acme.example")
                .replace("{passkey_id}", "pk_1")
                .replace("{org}", "acme")
            )
            links.append((filled, bodies.get(last, bodies["decisions"] | {"token": press.token})))
    assert {path.rsplit("/", 1)[-1] for path, _ in links} > {*bodies} - {"{event}"}
    assert not [path for path, _ in links if "{" in path], "a path with a part that this test cannot fill"
    return links


@pytest.mark.heavy
@requirement("S-15")
@pytest.mark.parametrize("visits", [1, pytest.param(1_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_looking_never_decides(
    database_url: str, config: Path, platform: MemoryPlatform, visits: int, *, bounded: bool
) -> None:
    """In the long form each bot follows every link until it has come a thousand times, with one key after another.

    In the short one it follows one link in four. Each is still met in each way and with each key, by five bots.
    """
    async with open_gateway(database_url, config, platform, calls_per_second=1_000_000) as g:
        links = await _links(g)
        before = _but_by_itself(g)
        for number, bot in enumerate(BOTS):
            came = 0
            some = links if visits > 1 else links[number // len(PREFETCHES) :: _SHARE]
            while came < (min(visits, 300) if bounded else visits):
                # Twenty bots, five ways to knock, four keys: each key is met with each way.
                key = await g.key(CALLERS[(number + came) % len(CALLERS)])
                came += await _follow(g, some, {**bot, **key})
            assert _but_by_itself(g) == before, bot["user-agent"]


def _but_by_itself(g: Gateway) -> dict[str, Any]:
    """Return what is stored, but whether a card was seen: the gateway asks its platform by itself, a little later."""
    content = g.content()
    return content | {"deliveries": [re.sub(r", 'looked': [0-9]", "", str(row)) for row in content["deliveries"]]}


async def _follow(g: Gateway, links: list[tuple[str, dict[str, Any]]], headers: dict[str, str]) -> int:
    came = 0
    for path, body in links:
        query = {"_method": "POST", "method": "POST", **{n: str(v) for n, v in body.items() if v is not None}}
        for method in ("GET", "HEAD", "OPTIONS"):
            if (path, method) == ("/v1/events", "GET"):
                continue  # a stream has no end; it is read elsewhere
            said = await g.http.request(method, path, params=query, json=body, headers=headers)
            assert said.status_code < 500, (method, path)
            assert said.status_code != 429, "turned away before it could do harm"
            came += 1
    return came


@requirement("S-15")
async def test_a_post_that_only_brings_what_a_browser_adds_by_itself_changes_nothing(either_gateway: Gateway) -> None:
    """A page elsewhere can make a browser post, with cookies and a signed-in address, but it cannot name a key."""
    g = either_gateway
    links = await _links(g)
    keys = [(await g.key(who))["authorization"] for who in CALLERS]
    before = g.content()
    for path, body in links:
        if path.endswith("/callback") or not path.startswith("/v1/"):
            continue  # those carry a platform's own proof, or nothing
        for key in keys:
            plain = key.removeprefix("Bearer ")
            browser = {
                "cookie": f"authorization={plain}; key={plain}; session={plain}",
                "origin": "https://elsewhere.example",
                "content-type": "text/plain",  # the most that a page may send without asking first
            }
            for method in ("POST", "DELETE"):
                sent = {"content": json.dumps(body), "params": {"key": plain, "authorization": key}}
                said = await g.http.request(method, path, headers=browser, **sent)
                # Keys that fail are slowed down by their source, whichever way they fail.
                assert said.status_code in {401, 405, 429}, (method, path)
    assert g.content() == before


# --- agents -----------------------------------------------------------------------------------------------------------


@requirement("S-16")
async def test_an_agents_key_opens_no_door_but_its_own(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask()
    await g.key("agent:shop")
    before = g.content()
    refused = [
        ("POST", f"/v1/requests/{request['id']}/decisions", {"verdict": "approve", "digest": request["digest"]}),
        ("GET", "/v1/keys", None),
        ("POST", "/v1/keys", {"scope": "approver", "label": "x", "person": "alice@acme.example"}),
        ("DELETE", f"/v1/keys/{g.rows('SELECT id FROM api_keys')[0]['id']}", None),
        ("GET", "/v1/factors", None),
        ("POST", "/v1/factors/invitations", {"person": "alice@acme.example"}),
        ("POST", "/v1/factors/enrol", {"code": "x"}),
        ("POST", "/v1/factors/confirm", {"totp": "000000"}),
        ("DELETE", "/v1/factors/alice@acme.example", None),
        ("GET", "/v1/audit", None),
        ("GET", f"/v1/policies/{g.container.book.current('acme').policy.version}", None),
    ]
    for method, path, body in refused:
        said = await g.call(method, path, body)
        assert (said.status_code, said.json()["code"]) == (403, "wrong_scope"), path
    assert g.content() == before
    for who in ("admin", "auditor"):  # and none of the others votes or claims, either
        assert (await g.decide(request, who=who)).status_code == 403
        assert (await g.claim(request, who=who)).status_code == 403
    for act in ("claim", "outcome"):
        said = await g.call("POST", f"/v1/requests/{request['id']}/{act}", BODIES[act], who="alice@acme.example")
        assert said.status_code == 403
    assert (await g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {}}, who="admin")).status_code == 403


@requirement("S-16")
@pytest.mark.parametrize(
    "extra",
    [
        {"approved": True},
        {"risk": "low"},
        {"read_only": True},
        {"kind": "harmless"},
        {"agent": "root"},
        {"org": "globex"},
        {"owner": "x@y.z"},
        {"rule": "reading"},
    ],
)
@pytest.mark.sampled(3)
async def test_an_agents_own_labels_change_nothing(gateway: Gateway, extra: dict[str, object]) -> None:
    plain = await gateway.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"amount": 1}, **extra})
    assert (plain.status_code, plain.json()["code"]) == (422, "invalid")
    hook = {"tool_name": "pay", "tool_input": {"amount": 1}, **extra}
    said = await gateway.call("POST", "/v1/hooks/PreToolUse", hook)
    assert (said.status_code, said.json()["decision"]) == (202, "ask")
    assert said.json()["request"]["agent"] == "shop"
    inside = await gateway.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"amount": 2, **extra}})
    assert (inside.status_code, inside.json()["request"]["state"]) == (202, "pending")


@requirement("S-48")
async def test_only_a_key_of_a_person_votes_and_the_trail_says_whose(gateway: Gateway) -> None:
    g = gateway
    refused = await g.call("POST", "/v1/keys", {"scope": "approver", "label": "bridge"}, who="admin")
    assert (refused.status_code, refused.json()["path"]) == (422, "person")
    request = await g.ask("by_api")
    forged = {"verdict": "approve", "digest": request["digest"], "person": "bob@acme.example"}
    path = f"/v1/requests/{request['id']}/decisions"
    assert (await g.call("POST", path, forged, who="alice@acme.example")).status_code == 422
    await g.decide(request, who="alice@acme.example")
    facts = g.rows("SELECT actor, facts FROM audit_events WHERE kind = 'request.approved'")[0]
    assert facts["actor"] == "alice@acme.example"
    for part in ('"channel":"api"', '"account"', '"app"', '"assurance"'):
        assert part in facts["facts"].replace('": ', '":')


# --- keys -------------------------------------------------------------------------------------------------------------


@requirement("S-34")
async def test_keys_are_long_random_and_nowhere_to_be_found(either_gateway: Gateway) -> None:
    g = either_gateway
    made = [
        (await g.call("POST", "/v1/keys", {"scope": "auditor", "label": f"k{n}"}, who="admin")).json() for n in range(5)
    ]
    texts = [each["key"] for each in made]
    assert all(re.fullmatch(r"ak_[a-z2-7]{16}_[a-z2-7]{52}_[0-9a-f]{6}", text) for text in texts)  # 260 bits
    dump = repr(g.content())
    for text in [*texts, *g.keys.values()]:
        assert text not in dump
        assert text.split("_")[2] not in dump
    listed = await g.call("GET", "/v1/keys", who="admin")
    assert {each["id"] for each in made} <= {each["id"] for each in listed.json()["items"]}
    assert "secret" not in listed.text
    assert all(text.split("_")[2] not in listed.text for text in texts)


NO_HEADER = "there is no Authorization header: send `Authorization: Bearer ak_…`"
NO_BEARER = "the Authorization header is not `Bearer ak_…`"
NO_KEY = "this key is none of ours, or no longer: it is unknown, revoked, over, or of another ASSENT_SECRET"


@requirement("S-34")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", NO_HEADER),
        ("Bearer", NO_BEARER),
        ("Bearer ", NO_BEARER),
        ("Bearer x", NO_KEY),
        ("Basic {key}", NO_BEARER),
        ("Bearer {key}x", NO_KEY),
        ("Bearer {other_secret}", NO_KEY),
        ("Bearer {KEY}", NO_KEY),
        ("{key}", NO_BEARER),
    ],
)
@pytest.mark.sampled(3)
async def test_a_wrong_key_gets_the_uniform_401(gateway: Gateway, text: str, why: str) -> None:
    """Of the header it says what is wrong, of a key nothing that a stranger could use."""
    key = (await gateway.key("auditor"))["authorization"].removeprefix("Bearer ")
    admin = (await gateway.key("admin"))["authorization"].removeprefix("Bearer ")
    parts, other = key.split("_"), admin.split("_")
    mixed = "_".join([parts[0], parts[1], other[2], other[3]])
    filled = text.replace("{key}", key).replace("{KEY}", key.upper()).replace("{other_secret}", mixed)
    said = await gateway.http.get("/v1/audit", headers={"authorization": filled})
    assert said.status_code == 401
    assert said.headers["www-authenticate"] == "Bearer"
    assert said.json() == {
        "type": "urn:assent:problem:unauthenticated",
        "title": "The caller could not be verified.",
        "status": 401,
        "detail": why,
        "instance": "/v1/audit",
        "code": "unauthenticated",
    }


@requirement("S-34")
async def test_an_expired_key_ends_and_two_keys_live_side_by_side_for_a_rotation(gateway: Gateway) -> None:
    g = gateway
    said = await g.call("POST", "/v1/keys", {"scope": "auditor", "label": "old", "lives_for_days": 1}, who="admin")
    new = await g.call("POST", "/v1/keys", {"scope": "auditor", "label": "new"}, who="admin")

    async def status(text: str) -> int:
        return (await g.http.get("/v1/audit", headers={"authorization": f"Bearer {text}"})).status_code

    assert (await status(said.json()["key"]), await status(new.json()["key"])) == (200, 200)
    await g.advance(timedelta(days=1))
    assert (await status(said.json()["key"]), await status(new.json()["key"])) == (401, 200)


@requirement("S-34")
@pytest.mark.parametrize("set_back", [False, True])
async def test_a_revoked_key_is_dead_on_every_replica_within_a_second_whatever_the_clock_does(
    database_url: str, config: Path, platform: MemoryPlatform, set_back: bool
) -> None:
    clock = ManualClock() if database_url.startswith("sqlite") else None
    async with (
        open_gateway(database_url, config, platform, clock=clock) as one,
        open_gateway(database_url, config, platform, clock=clock) as two,
    ):
        headers = await one.key("auditor")
        for g in (one, two):
            assert (await g.http.get("/v1/audit", headers=headers)).status_code == 200
        key_id = headers["authorization"].split("_")[1]
        assert (await one.call("DELETE", f"/v1/keys/{key_id}", who="admin")).status_code == 204
        assert (await one.http.get("/v1/audit", headers=headers)).status_code == 401
        if not clock:
            await asyncio.sleep(1)
        elif set_back:
            clock.advance(-timedelta(hours=1))
        else:
            clock.advance(timedelta(seconds=1))
        for g in (two, one):
            assert (await g.http.get("/v1/audit", headers=headers)).status_code == 401
        assert (await one.call("DELETE", f"/v1/keys/{key_id}", who="admin")).status_code == 404
        assert ("key.revoked", f"key:{(await one.key('admin'))['authorization'].split('_')[1]}") in one.trail()


@requirement("S-34")
async def test_guessing_keys_is_slowed_down_by_source_and_hurts_nobody_else(gateway: Gateway) -> None:
    headers = await gateway.key("auditor")
    wrong = {"authorization": "Bearer ak_a_b_c"}
    said = [(await gateway.http.get("/v1/audit", headers=wrong)) for _ in range(40)]
    assert {answer.status_code for answer in said} == {401, 429}
    assert all("retry-after" in answer.headers for answer in said if answer.status_code == 429)
    assert (await gateway.http.get("/v1/audit", headers=headers)).status_code == 200


@requirement("S-52")
def test_ids_are_unguessable_whichever_others_one_knows() -> None:
    ids = RandomIds()
    made = [ids.new("req") for _ in range(100_000)]
    assert all(re.fullmatch(r"req_[a-z2-7]{32}", each) for each in made)
    own = [each[9:] for each in made]  # 27 letters of five bits: what those who know the first five still have to guess
    assert len(set(own)) == len(own)
    rising = sum(a < b for a, b in pairwise(own))
    assert 49_000 < rising < 51_000  # no order
    for place in range(27):  # and no part that stands still
        assert len({each[place] for each in own[:2_000]}) == 32


@requirement("S-52")
def test_what_ids_of_a_moment_share_tells_neither_when_nor_after_what(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()  # each id a second after the one before: a moment of its own
    monkeypatch.setattr("app.identifiers.time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    ids = RandomIds()
    made = [ids.new("req")[4:9] for _ in range(20_000)]
    rising = sum(a < b for a, b in pairwise(made))
    assert 9_500 < rising < 10_500
    for place in range(5):
        assert len({each[place] for each in made[:2_000]}) == 32
    assert len(set(made)) > 19_950  # of 2²⁵

    # And at one moment they stand side by side in an index.
    monkeypatch.setattr("app.identifiers.time", SimpleNamespace(monotonic=lambda: 1e9))
    assert len({ids.new("req")[4:9] for _ in range(1_000)} | {ids.new("evt")[4:9]}) == 1


@requirement("S-34")
async def test_a_key_with_foreign_letters_is_no_key(gateway: Gateway) -> None:
    said = await gateway.http.get("/v1/requests", headers={b"authorization": "Bearer ak_a_b_é".encode()})
    assert (said.status_code, said.json()["code"]) == (401, "unauthenticated")
