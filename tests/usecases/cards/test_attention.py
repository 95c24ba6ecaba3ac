"""How much is asked of people, told as stories: cards that wait, cards that must be read, and agents that nag."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.doctor.doctor import examine_all
from app.usecases.upkeep.watch_pace import WatchPace
from tests.fixtures.gateway import ACME, PAY, SECRET, START, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

ALICE, BOB, DAVE = (f"{name}@acme.example" for name in ("alice", "bob", "dave"))
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
RISKY = (
    ACME.replace("channels: [chat], timeout: 30d}", "channels: [chat, api], timeout: 2d, risk: low}")
    .replace("then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}", "then: ask, risk: high, "
             "stages: [{of: [finance]}], channels: [chat, chat-two, api], timeout: 30m}")
    .replace("{of: [finance]}, {of: [legal]}", "{of: [legal]}, {of: [finance]}")
)  # fmt: skip
"""`long` is of low risk, `pay` of high, `pay_two` and `staged` (legal first) of normal risk."""


def attend(config: Path, **keys: object) -> None:
    """Write the file with this `attention`."""
    (config / "acme.yaml").write_text(
        RISKY.replace("default: deny\n", f"default: deny\nattention: {json.dumps(keys)}\n")
    )


def facts(gateway: Gateway, kind: str) -> list[dict[str, Any]]:
    rows = gateway.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")
    return [json.loads(row["facts"]) for row in rows]


# --- cards that wait --------------------------------------------------------------------------------------------------


@pytest.fixture
def held(config: Path) -> None:
    attend(config, cards_per_hour=2, digest=["14:00"], quiet="22:00-07:30")


@pytest.mark.usefixtures("held")
@requirement("S-30")
async def test_a_low_risk_waits_for_the_digest_and_the_trail_says_so(gateway: Gateway) -> None:
    g = gateway
    first, second = await g.ask("long", {"n": 1}), await g.ask("long", {"n": 2})
    assert g.platform.messages == []
    until = (START + 4 * HOUR).isoformat()
    held = {"until": until, "why": "a low risk waits for the digest", "risk": "low", "channels": ["chat"]}
    assert facts(g, "card.held") == [held, held]
    assert g.trail(first) == [("request.created", "agent:shop"), ("card.held", "system")]
    assert (await g.decide(first, who=ALICE)).json()["state"] == "approved", "the API knows it all the while"
    await g.advance(4 * HOUR - SECOND)
    assert g.platform.messages == []
    await g.advance(SECOND)
    assert [message.card.request_id for message in g.platform.messages] == [second["id"]], "the other one is decided"
    await g.container.confirm_accounts()
    assert (await g.press(second))["result"] == "recorded"


@pytest.mark.usefixtures("held")
@requirement("S-30")
async def test_at_night_only_a_high_risk_rings(gateway: Gateway) -> None:
    g = gateway
    await g.advance(13 * HOUR)
    await g.container.confirm_accounts()
    high, normal = await g.ask("pay"), await g.ask("pay_two")
    assert [message.card.request_id for message in g.platform.in_chat("C1")] == [high["id"]]
    (held,) = facts(g, "card.held")
    assert (held["until"], held["why"]) == ((START + 13 * HOUR + 15 * MINUTE).isoformat(), "quiet hours")
    await g.advance(15 * MINUTE)  # half of its window is kept, even at night
    assert g.card(normal).card.buttons is not None


@pytest.fixture
def bounded(config: Path) -> None:
    attend(config, cards_per_hour=2)


@pytest.mark.usefixtures("bounded")
@requirement("S-30")
async def test_more_cards_than_an_approver_is_to_have_in_an_hour_wait_but_never_those_of_high_risk(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    normal = [await g.ask("pay_two", {"n": n}) for n in range(3)]
    high = [await g.ask("pay", {**PAY, "amount": n}) for n in range(3)]
    (held,) = facts(g, "card.held")
    assert (held["why"], held["risk"]) == (
        "its approvers have had as many cards within an hour as they are to have",
        "normal",
    )
    shown = [message.card.request_id for message in g.platform.in_chat("C1")]
    assert shown == [each["id"] for each in (*normal[:2], *high)]


@requirement("S-30")
async def test_the_budget_is_per_approver_survives_a_restart_and_is_free_again_after_an_hour(
    config: Path, sqlite_url: str, platform: MemoryPlatform
) -> None:
    attend(config, cards_per_hour=2)
    async with open_gateway(sqlite_url, config, platform) as g:
        clock = g.clock
        for n in range(2):
            await g.ask("staged", {"n": n})  # Dave and Alice have had theirs now
        third = await g.ask("staged", {"n": 3})
        (held,) = facts(g, "card.held")
        assert held["until"] == (START + 15 * MINUTE).isoformat(), "an hour would be later than half of its window"
        await g.ask("pay_two", {"n": 1})  # two of finance are needed: Bob, Carol and Rita have room
        assert len(facts(g, "card.held")) == 1
    async with open_gateway(sqlite_url, config, platform, clock=clock) as g:  # pyright: ignore[reportArgumentType]
        await g.ask("staged", {"n": 4})
        assert len(facts(g, "card.held")) == 2
        await g.advance(15 * MINUTE)
        assert g.card(third).card.buttons is not None
        await g.advance(45 * MINUTE)
        await g.ask("staged", {"n": 5})
        assert len(facts(g, "card.held")) == 2


@requirement("S-30")
async def test_a_card_is_above_the_budget_when_fewer_people_than_its_step_needs_have_room(
    config: Path, sqlite_url: str, platform: MemoryPlatform
) -> None:
    attend(config, cards_per_hour=1, digest=["14:00"])
    path = config / "acme.yaml"
    text = path.read_text().replace("[{of: [legal]}, ", "[{of: [dave@acme.example]}, ")
    path.write_text(text.replace("{of: [finance], need: 2}", "{of: [legal], need: 2}"))
    async with open_gateway(sqlite_url, config, platform) as g:
        await g.ask("long")  # it waits for the digest, and is nobody's next card
        await g.ask("staged")
        assert [each["risk"] for each in facts(g, "card.held")] == ["low"]
        await g.ask("pay_two")  # Alice has room, Dave has not
        assert [each["until"] for each in facts(g, "card.held")][1:] == [(START + 15 * MINUTE).isoformat()]


@requirement("S-30")
async def test_what_waits_for_the_digest_counts_for_nobody(
    config: Path, sqlite_url: str, platform: MemoryPlatform
) -> None:
    attend(config, cards_per_hour=1, digest=["14:00"])
    async with open_gateway(sqlite_url, config, platform) as g:
        for n in range(3):
            await g.ask("long", {"n": n})
        await g.ask("pay_two")
        assert [each["risk"] for each in facts(g, "card.held")] == ["low"] * 3


@requirement("S-30")
async def test_whoever_is_asked_first_has_half_of_the_time_until_others_are_brought_in(
    config: Path, sqlite_url: str, platform: MemoryPlatform
) -> None:
    attend(config, digest=["20:00"])
    path = config / "acme.yaml"
    path.write_text(path.read_text().replace("risk: low}", "risk: low, escalate: [{after: 2h, to: [legal]}]}"))
    async with open_gateway(sqlite_url, config, platform) as g:
        await g.ask("long")
        assert [each["until"] for each in facts(g, "card.held")] == [(START + HOUR).isoformat()]


@requirement("S-30")
async def test_without_anything_in_the_file_every_card_goes_out_at_once(gateway: Gateway) -> None:
    for n in range(25):
        await gateway.ask("pay_two", {"n": n})
    assert facts(gateway, "card.held") == []
    assert len(gateway.platform.in_chat("C1")) == 25


# --- cards that must be read ------------------------------------------------------------------------------------------


@pytest.fixture
def risky(config: Path) -> None:
    attend(config)


@pytest.mark.usefixtures("risky")
@requirement("S-30")
async def test_an_approval_of_a_high_risk_before_it_can_be_read_is_no_vote_and_burns_no_button(
    gateway: Gateway,
) -> None:
    g = gateway
    request = await g.ask("pay")
    g.clock.advance(1.5 * SECOND)  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    said = await g.press(request)
    assert said["result"] == "retry"
    assert said["sentence"] == "Please read it first: approving is possible in 2 s. Nothing was recorded."
    assert (await g.read(request))["version"] == 1
    (refused,) = facts(g, "click.refused")
    assert (refused["why"], refused["account"]) == ("too_soon", "U_ALICE")
    g.clock.advance(1.5 * SECOND)  # pyright: ignore[reportAttributeAccessIssue]
    assert (await g.press(request))["result"] == "recorded"
    (approved,) = facts(g, "request.approved")
    assert approved["shown_for_ms"] == 3000


@pytest.mark.usefixtures("risky")
@requirement("S-30")
async def test_the_copy_that_was_clicked_must_have_been_there(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay")
    g.clock.advance(10 * SECOND)  # pyright: ignore[reportAttributeAccessIssue]
    late = g.rows("SELECT id FROM deliveries WHERE channel = 'chat-two'")[0]["id"]
    g.rows(f"UPDATE deliveries SET posted_at = posted_at + 9000000 WHERE id = '{late}'")
    assert (await g.press(request, chat="C2"))["result"] == "retry"
    assert (await g.press(request, "U_BOB"))["result"] == "recorded"


@pytest.mark.usefixtures("risky")
@requirement("S-30")
async def test_denying_needs_no_time_and_neither_does_hearing_that_one_may_not(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay")
    assert (await g.press(request, "U_DAVE"))["sentence"].startswith("You are not among the people")
    assert (await g.press(request, "U_BOB", "deny"))["result"] == "recorded"
    assert (await g.press(request))["result"] == "already"
    normal = await g.ask("pay_two")
    assert (await g.press(normal))["result"] == "recorded", "only a high risk is held to it"


@pytest.mark.usefixtures("risky")
@requirement("S-30")
async def test_the_api_holds_approvers_to_it_too(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay")
    hasty = await g.decide(request, who=ALICE)
    assert (hasty.status_code, hasty.json()["code"]) == (409, "too_soon")
    assert hasty.json()["detail"] == "read it first: approving is possible in 3 s"
    assert (await g.read(request))["decisions"] == []
    g.clock.advance(3 * SECOND)  # pyright: ignore[reportAttributeAccessIssue]
    assert (await g.decide(request, who=ALICE)).json()["state"] == "approved"


@pytest.mark.usefixtures("risky")
@requirement("S-30")
async def test_what_somebody_else_changed_must_be_there_to_be_read_as_well(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay")
    await g.advance(MINUTE)
    changed = {**PAY, "payee": "Beta Ltd"}
    after = (await g.decide(request, who=ALICE, arguments=changed)).json()
    await g.quiet()
    assert (await g.press(request, "U_BOB"))["result"] == "retry"
    assert (await g.decide(after, who=BOB)).json()["code"] == "too_soon"
    g.clock.advance(3 * SECOND)  # pyright: ignore[reportAttributeAccessIssue]
    assert (await g.press(request, "U_BOB"))["result"] == "recorded"


async def test_a_reading_time_of_zero_asks_for_none(config: Path, sqlite_url: str, platform: MemoryPlatform) -> None:
    attend(config, read_for="0s")
    async with open_gateway(sqlite_url, config, platform) as g:
        assert (await g.press(await g.ask("pay")))["result"] == "recorded"


# --- agents that nag --------------------------------------------------------------------------------------------------


async def ask_again(g: Gateway, *, who: str = "agent:shop", amount: int = 1, **more: Any) -> dict[str, Any]:
    """Submit the call once more, whatever comes of it."""
    key = more.pop("key", None)
    body = {"tool": "pay_two", "arguments": {"amount": amount}, **more}
    headers = {"idempotency_key": key} if key else {}
    return (await g.call("POST", "/v1/requests", body, who=who, **headers)).json()


@requirement("S-30", "S-55")
async def test_a_call_that_people_denied_is_refused_at_the_gate_for_a_while(either_gateway: Gateway) -> None:
    g = either_gateway
    asked = await ask_again(g, key="first", session="s-1")
    request = asked["request"]
    await g.decide(request, "deny", reason="not to this payee\u202e.")
    await g.quiet()
    posts = g.platform.calls.count("post")
    said = await ask_again(g, session="s-2")
    assert (said["decision"], said["rule"]) == ("deny", "cool-down")
    told = f"A person denied this very call less than a minute ago (request {request['id']}), saying: not to this payee"
    assert f"{told}\\u{{202E}}. The denial stands, and nobody was asked about it again: " in said["message"]
    assert "It did not run. Do not retry it, rephrase it, or try to reach the same end another way." in said["message"]
    assert not {"alice", "Alice"} & set(said["message"].replace("@", " ").split()), "no approver is named to the model"
    assert await ask_again(g, key="second") == said, "a new key is no new question"
    assert (await ask_again(g, key="first", session="s-1"))["request"]["state"] == "denied", "its own key has its own"
    await g.quiet()
    assert g.platform.calls.count("post") == posts
    assert len(g.rows("SELECT id FROM requests")) == 1
    refused = facts(g, "call.refused")
    assert [(each["rule"], each["denied_request"], each["asked_by"]) for each in refused] == [
        ("cool-down", request["id"], "pay-two")
    ] * 2


@requirement("S-30")
async def test_another_call_and_another_agent_are_asked_about(gateway: Gateway) -> None:
    g = gateway
    await g.decide((await ask_again(g))["request"], "deny")
    assert (await ask_again(g))["decision"] == "deny"
    assert (await ask_again(g, amount=2))["decision"] == "ask"
    assert (await ask_again(g, who="agent:other"))["decision"] == "ask"


@requirement("S-30")
async def test_what_people_made_of_a_call_and_then_denied_is_not_asked_about_either(either_gateway: Gateway) -> None:
    g = either_gateway
    request = (await ask_again(g))["request"]
    after = (await g.decide(request, who=ALICE, arguments={"amount": 1, "to": "Beta"})).json()
    assert (await g.decide(after, "deny", who=BOB)).json()["state"] == "denied"
    for arguments in ({"amount": 1, "to": "Beta"}, {"amount": 1}):
        said = await g.call("POST", "/v1/requests", {"tool": "pay_two", "arguments": arguments})
        assert said.json()["rule"] == "cool-down"
    assert (await ask_again(g, amount=2))["decision"] == "ask"


@requirement("S-30")
async def test_after_the_cool_down_people_are_asked_again_and_may_say_yes(gateway: Gateway) -> None:
    g = gateway
    await g.decide((await ask_again(g))["request"], "deny", reason="not now")
    await g.advance(9 * MINUTE)
    assert "denied this very call 9 min ago" in (await ask_again(g))["message"]
    await g.advance(MINUTE)
    assert (await ask_again(g))["decision"] == "ask"


@requirement("S-30")
async def test_only_a_persons_denial_cools_down(gateway: Gateway) -> None:
    g = gateway
    expired = (await ask_again(g))["request"]
    await g.advance(HOUR)
    assert (await g.read(expired))["state"] == "expired"
    withdrawn = await ask_again(g)
    assert withdrawn["decision"] == "ask"
    await g.call("POST", f"/v1/requests/{withdrawn['request']['id']}/cancel", {"reason": "no longer"})
    assert (await ask_again(g))["decision"] == "ask"


async def test_a_cool_down_of_zero_asks_again_at_once(config: Path, sqlite_url: str, platform: MemoryPlatform) -> None:
    attend(config, cool_down="0s")
    async with open_gateway(sqlite_url, config, platform) as g:
        await g.decide((await ask_again(g))["request"], "deny")
        assert (await ask_again(g))["decision"] == "ask"


async def test_what_was_denied_is_found_by_the_index_of_denials(gateway: Gateway) -> None:
    plan = gateway.rows(
        "EXPLAIN QUERY PLAN SELECT id FROM requests WHERE org = 'acme' AND agent = 'shop' AND call_digest = 'd' "
        "AND status = 'denied' AND settled_at > 1 ORDER BY settled_at DESC, id LIMIT 1"
    )
    assert "ix_requests_denied" in str(plan)
    plan = gateway.rows(
        "EXPLAIN QUERY PLAN SELECT id FROM requests WHERE org = 'acme' AND agent = 'shop' AND status = 'denied' "
        "AND settled_at > 1 AND edited_by IS NOT NULL ORDER BY settled_at DESC, id LIMIT 20"
    )
    assert "ix_requests_denied_edited" in str(plan)


# --- who no longer reads ----------------------------------------------------------------------------------------------


@pytest.mark.may_block
@requirement("S-30")
@pytest.mark.heavy
async def test_whoever_approves_everything_at_once_is_named_by_the_doctor(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = gateway
    for n in range(20):
        request = await g.ask("staged", {"n": n})
        await g.press(request, "U_DAVE")
        if n == 18:
            assert await WatchPace(store=g.container.store).find("acme") == ()
    for n in range(20):
        request = await g.ask("by_api", {"n": n})
        g.clock.advance(4 * SECOND)  # pyright: ignore[reportAttributeAccessIssue]
        await g.decide(request, who=BOB)
    (one,) = await WatchPace(store=g.container.store).find("acme")
    assert (one.person, one.decisions, one.at_once) == (DAVE, 20, 20)
    said: list[str] = []
    monkeypatch.setenv("ASSENT_DATABASE_URL", g.url)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    monkeypatch.setattr("app.cli.doctor.doctor.SystemClock", lambda: g.clock)
    assert await examine_all(g.config, {}, said.append) == 0
    told = (
        "acme: dave@acme.example approved 20 of 20 decisions of the last 7 days within 3 seconds of the card's arrival"
    )
    assert f"WARNING  {told}" in said
    assert "ok       globex: nobody approves faster than they can read" in said
    await g.advance(timedelta(days=7))
    assert await WatchPace(store=g.container.store).find("acme") == ()
