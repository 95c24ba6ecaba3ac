"""What a no is worth afterwards: lifted by people alone, and told to whoever is asked the same in other words."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.text.language import Language
from app.domain.words.say import say
from tests.fixtures.gateway import PAY, open_gateway
from tests.fixtures.patience import in_one_commit
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

ALICE, BOB, DAVE, OLGA, RITA = (f"{name}@acme.example" for name in ("alice", "bob", "dave", "olga", "rita"))
HOUR = timedelta(hours=1)
NEVER_MIND: dict[str, Any] = {"what": 1}


async def denied(g: Gateway, tool: str = "by_api", arguments: object = None, **more: Any) -> dict[str, Any]:
    request = await g.ask(tool, NEVER_MIND if arguments is None else arguments, requester=RITA, **more)
    assert (await g.decide(request, "deny", who=BOB, reason="wrong invoice")).json()["state"] == "denied"
    await g.quiet()
    return request


async def call(
    g: Gateway, tool: str = "by_api", arguments: object = None, who: str = "agent:shop", **more: Any
) -> dict[str, Any]:
    body = {"tool": tool, "arguments": NEVER_MIND if arguments is None else arguments, "requester": RITA, **more}
    said = await g.call("POST", "/v1/requests", body, who=who)
    await g.quiet()
    return said.json()


async def lift(g: Gateway, request: dict[str, Any], who: str = ALICE, **body: Any) -> httpx2.Response:
    return await g.call("POST", f"/v1/requests/{request['id']}/lift", body, who=who)


def cautions(g: Gateway, said: dict[str, Any]) -> list[dict[str, Any]]:
    return g.kept("cautions", said["request"]["id"])


def lifted(g: Gateway) -> list[dict[str, Any]]:
    rows = g.rows("SELECT actor, request_id, facts FROM audit_events WHERE kind = 'request.lifted' ORDER BY seq")
    return [{**json.loads(row["facts"]), "actor": row["actor"], "request": row["request_id"]} for row in rows]


# --- lifting ----------------------------------------------------------------------------------------------------------


@requirement("S-30", "S-16")
async def test_a_lifted_call_is_asked_about_at_once_and_the_denied_request_stays_denied(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    request = await denied(g, session="s-1")
    assert (await call(g, session="s-2"))["rule"] == "cool-down"
    said = await lift(g, request, reason="it was the right one")
    assert (said.status_code, said.json()["state"]) == (200, "denied")
    (event,) = lifted(g)
    assert (event["actor"], event["request"], event["reason"]) == (ALICE, request["id"], "it was the right one")
    again = await call(g, session="s-2")
    assert (again["decision"], again["request"]["state"]) == ("ask", "pending")
    assert again["request"]["id"] != request["id"]
    assert (await g.read(request))["state"] == "denied"
    assert (await lift(g, request, BOB)).status_code == 200, "once more is answered like the first time"
    assert len(lifted(g)) == 1


@requirement("S-30")
async def test_lifting_is_of_that_one_refusal(gateway: Gateway) -> None:
    g = gateway
    first = await denied(g)
    other = await denied(g, arguments={"what": 2})
    await lift(g, first)
    assert (await call(g, arguments={"what": 2}))["rule"] == "cool-down", "another call that was denied"
    again = await call(g)
    await g.decide(again["request"], "deny", who=BOB, reason="still wrong")
    told = await call(g)
    assert told["rule"] == "cool-down", "and a second no is a refusal of its own"
    assert "still wrong" in told["message"]
    assert again["request"]["id"] in told["message"]
    await lift(g, other)
    assert (await call(g))["rule"] == "cool-down"


@requirement("S-30")
async def test_what_people_changed_before_they_denied_it_is_lifted_as_a_whole(gateway: Gateway) -> None:
    g = gateway
    request = (await call(g, "pay_two", {"amount": 1}))["request"]
    after = (await g.decide(request, who=ALICE, arguments={"amount": 1, "to": "Beta"})).json()
    assert (await g.decide(after, "deny", who=BOB)).json()["state"] == "denied"
    for arguments in ({"amount": 1, "to": "Beta"}, {"amount": 1}):
        assert (await call(g, "pay_two", arguments))["rule"] == "cool-down"
    assert (await lift(g, request, OLGA)).status_code == 403, "she owns the agent"
    assert (await lift(g, request, "carol@acme.example")).status_code == 200
    for arguments in ({"amount": 1, "to": "Beta"}, {"amount": 1}):
        assert (await call(g, "pay_two", arguments))["decision"] == "ask"


@requirement("S-16", "S-30")
@pytest.mark.parametrize(
    ("who", "code"),
    [
        ("agent:shop", "wrong_scope"),
        ("agent:other", "wrong_scope"),
        ("admin", "wrong_scope"),
        ("auditor", "wrong_scope"),
        (RITA, "not_eligible"),  # the requester
        (OLGA, "not_eligible"),  # the agent's owner
        (DAVE, "not_eligible"),  # nobody of finance
    ],
)
async def test_only_who_may_decide_it_lifts_a_refusal(gateway: Gateway, who: str, code: str) -> None:
    g = gateway
    request = await denied(g)
    said = await lift(g, request, who)
    assert (said.status_code, said.json()["code"]) == (403, code)
    assert (await call(g))["rule"] == "cool-down"
    assert lifted(g) == []
    assert (("click.refused", who) in g.trail(request)) == ("@" in who), "a person who tries is in the trail"


@requirement("S-30")
async def test_not_even_a_rule_that_lets_the_requester_decide_lets_them_lift(gateway: Gateway) -> None:
    g = gateway
    g.rewrite("id: by-api, tools: [by_api], then: ask, stages: [{of: [finance]}]",
              "id: by-api, tools: [by_api], then: ask, stages: [{of: [finance], allow_requester: true}]")  # fmt: skip
    await g.reload()
    request = await denied(g)
    for who in (RITA, OLGA):
        assert (await lift(g, request, who)).json()["code"] == "not_eligible"


@requirement("S-30")
async def test_who_has_left_the_group_by_now_lifts_nothing(gateway: Gateway) -> None:
    g = gateway
    request = await denied(g)
    g.rewrite("finance: [alice@acme.example, bob@acme.example", "finance: [bob@acme.example")
    await g.reload()
    assert (await lift(g, request, ALICE)).json()["code"] == "not_eligible"
    assert (await lift(g, request, BOB)).status_code == 200


async def test_only_a_denial_can_be_lifted_and_only_in_its_own_org(gateway: Gateway) -> None:
    g = gateway
    waiting = await g.ask("by_api", NEVER_MIND, requester=RITA)
    assert ((await lift(g, waiting)).status_code, lifted(g)) == (409, [])
    await g.decide(waiting)
    assert (await lift(g, waiting)).status_code == 409
    request = await denied(g, arguments={"what": 2})
    path = f"/v1/requests/{request['id']}/lift"
    assert (await g.call("POST", path, {}, who="gina@globex.example", org="globex")).status_code == 404
    assert (await g.call("POST", path, {"person": BOB}, who=ALICE)).status_code == 422
    assert lifted(g) == []


@requirement("S-55")
async def test_a_refusal_gives_the_model_no_appointment_for_the_next_try(gateway: Gateway) -> None:
    g = gateway
    await denied(g)
    told = (await call(g))["message"]
    assert "A person denied this very call less than a minute ago" in told
    assert "saying: wrong invoice" in told
    assert "only people can lift it" in told
    assert "Do not retry it, rephrase it, or try to reach the same end another way." in told
    for tempting in ("before", "until", "again in", "minutes", "UTC", BOB, "Bob"):
        assert tempting not in told


# --- near copies ------------------------------------------------------------------------------------------------------

BY_API = "stages: [{of: [finance]}], channels: [chat], timeout: 30m}"


@pytest.fixture
def decided_by_api(config: Path) -> None:
    """Let `pay` be decided by API too, let `tip` be allowed, and pin what each of them pays."""
    path = config / "acme.yaml"
    text = path.read_text().replace(BY_API, BY_API.replace("[chat]", "[chat, api]"))
    text = text.replace("  ping: {}\n", "  ping: {}\n  tip: {pin: [payee, amount]}\n")
    text = text.replace("tools: [ping], then: allow", "tools: [ping, tip], then: allow")
    path.write_text(text + "ask: {stages: [{of: [finance]}], channels: [chat, api], timeout: 30m}\n")


COPY = {**PAY, "account": "DE99-OTHER", "note": "as agreed"}
pytestmark_near = pytest.mark.usefixtures("decided_by_api")


@pytestmark_near
@requirement("S-30")
async def test_a_near_copy_is_asked_about_with_the_earlier_no_as_its_first_warning(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await denied(g, "pay", PAY, session="s-1")
    said = await call(g, "pay", COPY, who="agent:other", session="s-9")
    assert said["decision"] == "ask"
    (caution,) = cautions(g, said)
    assert caution["kind"] == "near_denied"
    assert caution["values"] == {
        "at": caution["values"]["at"],
        "request": request["id"],
        "reason": "wrong invoice",
    }
    card = g.card(said["request"]).card
    day = caution["values"]["at"].partition(" ")[0]  # to the day: the hour and the request are in `values`
    assert card.warnings[0] == say(Language.EN, "caution.near_denied", **{**caution["values"], "at": day})
    facts = g.rows(
        f"SELECT facts FROM audit_events WHERE kind = 'request.created' AND request_id = '{said['request']['id']}'"
    )
    assert json.loads(facts[0]["facts"])["cautions"] == ["near_denied"]


@pytestmark_near
@requirement("S-30")
async def test_a_rule_that_would_allow_it_does_not_allow_a_near_copy_of_what_was_denied(gateway: Gateway) -> None:
    g = gateway
    g.rewrite("  tip: {pin: [payee, amount]}\n", "  tip: {pin: [payee, amount]}\n  x: {}\n")
    bare = {"payee": "Acme Ltd", "amount": 1}
    assert (await call(g, "tip", bare))["decision"] == "allow"
    g.rewrite("tools: [ping, tip], then: allow", "tools: [ping], then: allow")
    g.rewrite("tools: [by_api], then: ask", "tools: [by_api, tip], then: ask")
    await g.reload()
    await denied(g, "tip", bare)
    g.rewrite("tools: [ping], then: allow", "tools: [ping, tip], then: allow")
    g.rewrite("tools: [by_api, tip], then: ask", "tools: [by_api], then: ask")
    await g.reload()
    assert (await call(g, "tip", {**bare, "note": "please"}))["decision"] == "ask"
    assert (await call(g, "tip", {**bare, "amount": 2}))["decision"] == "allow"


@pytestmark_near
@requirement("S-30")
@pytest.mark.parametrize("changed", [{"payee": "Beta Ltd"}, {"amount": 80001}, {"amount": "80000"}])
async def test_what_differs_where_it_must_be_seen_is_no_near_copy(gateway: Gateway, changed: dict[str, Any]) -> None:
    await denied(gateway, "pay", PAY)
    assert cautions(gateway, await call(gateway, "pay", {**COPY, **changed})) == []


@pytestmark_near
@requirement("S-30")
async def test_a_lifted_or_forgotten_denial_warns_of_nothing(gateway: Gateway) -> None:
    g = gateway
    first = await denied(g, "pay", PAY)
    await lift(g, first)
    assert cautions(g, await call(g, "pay", COPY)) == []
    await denied(g, "pay", {**PAY, "account": "DE03"})
    await g.advance(24 * HOUR - timedelta(minutes=1))
    assert len(cautions(g, await call(g, "pay", {**COPY, "note": "a"}))) == 1
    assert len(cautions(g, await call(g, "pay", {**PAY, "account": "DE03"}))) == 1, (
        "the same call, long after its cool-down"
    )
    await g.advance(timedelta(minutes=1))
    assert cautions(g, await call(g, "pay", {**COPY, "note": "b"})) == []


@pytestmark_near
async def test_zero_switches_the_memory_of_near_copies_off(
    config: Path, sqlite_url: str, platform: MemoryPlatform
) -> None:
    path = config / "acme.yaml"
    path.write_text(path.read_text().replace("default: deny\n", "default: deny\nattention: {remember_denials: 0s}\n"))
    async with open_gateway(sqlite_url, config, platform) as g:
        await denied(g, "pay", PAY)
        assert cautions(g, await call(g, "pay", COPY)) == []
        assert (await call(g, "pay", PAY))["rule"] == "cool-down", "the cool-down is another key"


@pytestmark_near
@requirement("S-34", "S-30")
async def test_the_warning_repeats_no_sensitive_value_and_cannot_turn_the_text(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay", PAY, requester=RITA)
    reason = f"{PAY['account']} is\u202e not\ntheirs, key AKIAIOSFODNN7EXAMPLE " + "x" * 500
    await g.decide(request, "deny", who=BOB, reason=reason)
    (caution,) = cautions(g, await call(g, "pay", COPY))
    told = caution["values"]["reason"]
    assert PAY["account"] not in told
    assert "AKIAIOSFODNN7EXAMPLE" not in told
    assert "is\\u{202E} not theirs" in told
    assert len(told) <= 120


@pytestmark_near
@requirement("S-30")
async def test_a_request_that_people_change_into_a_near_copy_says_so_too(gateway: Gateway) -> None:
    g = gateway
    earlier = await denied(g, "pay", PAY)
    said = await call(g, "pay", {**PAY, "payee": "Beta Ltd"})
    assert cautions(g, said) == []
    changed = await g.decide(said["request"], who=ALICE, arguments=COPY)
    assert changed.status_code == 200, changed.text
    (caution,) = cautions(g, said)
    assert (caution["kind"], caution["values"]["request"]) == ("near_denied", earlier["id"])


@requirement("S-30")
async def test_a_tool_without_pins_has_no_near_copies(gateway: Gateway) -> None:
    await denied(gateway, "by_api", {"what": 1})
    assert cautions(gateway, await call(gateway, "by_api", {"what": 2})) == []


async def test_near_copies_are_found_by_their_index(gateway: Gateway) -> None:
    plan = gateway.rows(
        "EXPLAIN QUERY PLAN SELECT id FROM requests WHERE org = 'acme' AND near_key = 'k' AND status = 'denied' AND "
        "settled_at > 1 AND NOT EXISTS (SELECT * FROM lifts WHERE lifts.org = requests.org AND lifts.request_id = "
        "requests.id) ORDER BY settled_at DESC, id LIMIT 1"
    )
    assert "ix_requests_denied_near" in str(plan)
    assert "SCAN" not in str(plan)


# --- calls that come at the same time are looked up at once -----------------------------------------------------------


@pytestmark_near
@requirement("S-30", "S-16")
async def test_calls_of_one_commit_hear_each_of_its_own_denials(either_gateway: Gateway) -> None:
    g = either_gateway
    same, near = await denied(g, session="s-1"), await denied(g, "pay", PAY, session="s-1")
    calls = [call(g, session="s-2"), call(g, "pay", COPY), call(g, arguments={"what": 2})]
    refused, copied, fresh = await in_one_commit(g.container.store, calls)
    assert (refused["decision"], refused["rule"]) == ("deny", "cool-down")
    assert same["id"] in refused["reason"]
    assert copied["decision"] == fresh["decision"] == "ask"
    (caution,) = cautions(g, copied)
    assert caution["values"]["request"] == near["id"]
    assert not cautions(g, fresh)


@requirement("S-30")
async def test_a_call_that_comes_together_with_a_denial_of_the_same_came_before_it(either_gateway: Gateway) -> None:
    g = either_gateway
    waiting = await g.ask("by_api", NEVER_MIND, session="s-1")
    await g.key(BOB)  # made before, not in between
    calls: list[Awaitable[Any]] = [g.decide(waiting, "deny", who=BOB), call(g, session="s-2")]
    denial, asked = await in_one_commit(g.container.store, calls, in_turn=True)
    assert (denial.json()["state"], asked["decision"]) == ("denied", "ask")
    rows = g.rows("SELECT request_id FROM audit_events WHERE request_id IS NOT NULL ORDER BY seq")
    said = [row["request_id"] for row in rows]
    assert said.index(asked["request"]["id"]) < len(said) - 1 - said[::-1].index(waiting["id"])
    assert (await call(g, session="s-3"))["rule"] == "cool-down"
