"""Breaking the glass: two people, a reason, an hour at most, everybody is shown it, and somebody else reviews it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.ports import ChannelUnavailableError
from tests.fixtures.patience import eventually
from tests.fixtures.standing import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    OLGA,
    PAY,
    RITA,
    break_glass,
    break_it,
    submit,
    write_standing,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway

ASK: dict[str, Any] = {"reason": "the payroll run is stuck", "tools": ["pay"], "minutes": 20}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org that names who may break its glass."""
    return write_standing(tmp_path)


async def ask(g: Gateway, *, who: str = ALICE, **changed: Any) -> httpx2.Response:
    return await g.call("POST", "/v1/break-glass", {**ASK, **changed}, who=who)


async def act(g: Gateway, glass: dict[str, Any], verb: str, body: object, *, who: str) -> httpx2.Response:
    return await g.call("POST", f"/v1/break-glass/{glass['id']}/{verb}", body, who=who)


async def review(g: Gateway, glass: dict[str, Any], *, who: str = RITA) -> httpx2.Response:
    return await act(g, glass, "review", {"note": "all three were payroll"}, who=who)


async def listed(g: Gateway) -> list[dict[str, Any]]:
    return (await g.call("GET", "/v1/break-glass", who="auditor")).json()["items"]


def story(g: Gateway) -> list[tuple[str, str]]:
    return [(kind, actor) for kind, actor in g.trail() if kind.startswith("break_glass.")]


@requirement("S-50")
async def test_the_chats_hear_of_each_step_even_where_one_of_them_is_away(gateway: Gateway) -> None:
    g = gateway
    told = g.platform.announcements
    asked = (await ask(g)).json()
    await eventually(lambda: told)
    (chat, words) = told[-1]
    assert chat == "C2", "where the file says that everybody is told"
    assert words.splitlines()[0] == f"🚨 {ALICE} wants to break the glass ({asked['id']}): {ASK['reason']}"
    assert words.splitlines()[1:] == [asked["scope"], "It takes a second person."]
    glass = await break_it(g, asked)
    await eventually(lambda: len(told) == 2)
    assert told[-1][1].startswith(f"🚨 THE GLASS IS BROKEN ({glass['id']}) by {ALICE} and {BOB}: {ASK['reason']}\n")
    g.platform.broken["chat-two"] = ChannelUnavailableError("gone")
    with capture_logs() as logs:
        assert (await act(g, glass, "end", {}, who=BOB)).status_code == 200, "a chat that is away holds nothing up"
        await eventually(lambda: any(each["event"] == "announcement.unsaid" for each in logs))
    assert len(told) == 2


@requirement("S-50")
async def test_two_people_let_calls_run_about_which_people_would_be_asked_and_everybody_sees_each(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    asked = (await ask(g)).json()
    assert (asked["state"], asked["reason"]) == ("proposed", ASK["reason"])
    assert asked["scope"] == (
        "For 20 minutes every agent may use “pay” without anybody being asked: 20 uses at most, CNY 100,000 at most "
        "each, CNY 200,000 in all, and nothing above the limits of the two."
    )
    assert (await submit(g))["request"]["state"] == "pending"
    with capture_logs() as logs:
        glass = await break_it(g, asked)
        said = await submit(g, arguments={**PAY, "amount": "99999", "payee": "Somebody New"})
        await g.quiet()
    request = said["request"]
    assert (said["decision"], request["state"], request["allowed_by"]) == ("ask", "approved", f"standing:{glass['id']}")
    assert [each["kind"] for each in request["cautions"]] == ["first_payee"]
    for chat in ("C1", "C2"):  # where the rule asks, and where the file says that everybody is told
        card = g.card(request, chat=chat).card
        assert card.headline.startswith("🚨 BREAK-GLASS · nobody was asked")
        assert (card.outcome or "").startswith(f"🚨 BREAK-GLASS {glass['id']}"), "Slack shows it as the headline"
        assert card.buttons is None
        assert any(ALICE in fact.value and BOB in fact.value and ASK["reason"] in fact.value for fact in card.facts)
    loud = [(each["event"], each["log_level"]) for each in logs if each["event"].startswith("break_glass.")]
    assert loud == [("break_glass.broken", "critical"), ("break_glass.used", "critical")]
    assert (await g.claim(request)).status_code == 200
    assert story(g) == [
        ("break_glass.proposed", ALICE),
        ("break_glass.broken", BOB),
        ("break_glass.used", "agent:shop"),
    ]
    [used] = g.rows("SELECT facts, request_id FROM audit_events WHERE kind = 'break_glass.used'")
    assert used["request_id"] == request["id"]
    assert json.loads(used["facts"])["call_digest"] == request["call_digest"]


@requirement("S-50", "S-16")
async def test_one_person_an_agent_an_administrator_or_a_stranger_cannot_break_it(gateway: Gateway) -> None:
    for who, status in (
        ("agent:shop", 403),
        ("admin", 403),
        ("auditor", 403),
        ("executor", 403),
        (CAROL, 403),
        (DAVE, 403),
    ):
        assert (await ask(gateway, who=who)).status_code == status, who
    asked = (await ask(gateway)).json()
    digest = {"digest": asked["digest"]}
    for who in ("agent:shop", "admin", ALICE, CAROL):
        assert (await act(gateway, asked, "confirm", digest, who=who)).status_code == 403, who
        assert (await act(gateway, asked, "end", {}, who=CAROL)).status_code == 403
    assert (await act(gateway, asked, "confirm", {"digest": "0" * 64}, who=BOB)).status_code == 409
    assert (await submit(gateway))["request"]["state"] == "pending"
    assert story(gateway) == [("break_glass.proposed", ALICE)]


@requirement("S-50")
@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"reason": ""}, "reason"),
        ({"reason": " \n"}, "reason"),
        ({"minutes": 0}, "minutes"),
        ({"minutes": 31}, "minutes"),
        ({"minutes": 61}, "minutes"),
        ({"tools": []}, "tools"),
        ({"tools": ["wrap"]}, "tools"),
        ({"tools": ["*"]}, "tools"),
        ({"tools": ["pay", "stop*"]}, "tools"),
    ],
)
async def test_it_takes_a_reason_an_hour_at_most_and_tools_within_the_files(
    gateway: Gateway, changed: dict[str, Any], path: str
) -> None:
    refused = await ask(gateway, **changed)
    assert (refused.status_code, refused.json()["path"].split(".")[0]) == (422, path)
    assert await listed(gateway) == []
    assert (await ask(gateway, minutes=30, tools=["pay", "stop_*"])).status_code == 201


@requirement("S-50", "S-49")
async def test_what_is_denied_stays_denied_and_a_pause_stands(gateway: Gateway) -> None:
    await break_glass(gateway, tools=["pay", "forbidden", "note"], agent="shop")
    assert (await submit(gateway, "forbidden", {}))["decision"] == "deny"
    assert (await submit(gateway, "wrap", {}))["request"]["state"] == "pending"
    assert (await submit(gateway, who="agent:other"))["request"]["state"] == "pending"
    await gateway.call("PUT", "/v1/switches/pause", {"on": True}, who="admin")
    assert (await submit(gateway))["decision"] == "deny"
    await gateway.call("PUT", "/v1/switches/pause", {"on": False}, who="admin")
    assert (await submit(gateway, "note", {}, confirm="a wish to ask people"))["request"]["state"] == "approved"
    assert [each["used"] for each in await listed(gateway)] == [1]


@requirement("S-50")
async def test_it_ends_by_itself_to_the_microsecond_and_says_so_as_loudly(gateway: Gateway) -> None:
    await break_glass(gateway)
    await gateway.advance(timedelta(minutes=20) - timedelta(microseconds=1))
    waiting = (await submit(gateway, "pay"))["request"]
    assert waiting["state"] == "approved"
    await gateway.advance(timedelta(microseconds=1))
    with capture_logs() as logs:
        assert (await submit(gateway))["request"]["state"] == "pending"
        assert await gateway.container.break_glass.end_over() == 1
        assert await gateway.container.break_glass.end_over() == 0
    assert [each["event"] for each in logs if each["log_level"] == "critical"] == ["break_glass.ended"]
    assert story(gateway)[-1] == ("break_glass.ended", "system")
    assert [each["state"] for each in await listed(gateway)] == ["ended"]
    assert (await gateway.claim(waiting)).status_code == 409


@requirement("S-50")
@pytest.mark.parametrize("who", [BOB, OLGA])
async def test_whoever_might_break_it_ends_it_early_and_what_was_not_run_is_taken_back(
    either_gateway: Gateway, who: str
) -> None:
    g = either_gateway
    glass = await break_glass(g)
    waiting = (await submit(g))["request"]
    assert (await act(g, glass, "end", {}, who=CAROL)).status_code == 403
    assert (await act(g, glass, "end", {}, who=who)).json()["state"] == "revoked"
    assert (await submit(g))["request"]["state"] == "pending"
    assert (await g.claim(waiting)).status_code == 409
    assert story(g)[-1] == ("break_glass.ended", who)


@requirement("S-50")
async def test_a_question_that_nobody_seconds_is_over_after_a_quarter_of_an_hour(gateway: Gateway) -> None:
    asked = (await ask(gateway)).json()
    await gateway.advance(timedelta(minutes=15))
    late = await act(gateway, asked, "confirm", {"digest": asked["digest"]}, who=BOB)
    assert (late.status_code, late.json()["state"]) == (409, "ended")
    assert (await ask(gateway)).status_code == 201  # nothing was broken, so there is nothing to review


@requirement("S-50")
async def test_until_somebody_else_has_reviewed_it_no_new_one_can_be_asked_for(either_gateway: Gateway) -> None:
    g = either_gateway
    waiting = (await ask(g)).json()
    glass = await break_glass(g)
    assert (await review(g, glass)).status_code == 409  # it is not over
    second = await act(g, waiting, "confirm", {"digest": waiting["digest"]}, who=OLGA)
    assert (second.status_code, second.json()["unreviewed"]) == (409, glass["id"])
    await act(g, glass, "end", {}, who=ALICE)
    refused = await ask(g, who=OLGA)
    assert (refused.status_code, refused.json()["unreviewed"]) == (409, glass["id"])
    for who in (ALICE, BOB, "admin", "agent:shop"):
        assert (await review(g, glass, who=who)).status_code == 403, who
    assert (await listed(g))[0]["id"] == glass["id"]  # what awaits a review comes first
    done = (await review(g, glass)).json()
    assert (done["reviewed_by"], done["review"]) == (RITA, "all three were payroll")
    assert (await review(g, glass, who=CAROL)).status_code == 409
    assert (await ask(g, who=OLGA)).status_code == 201
    assert ("break_glass.reviewed", RITA) in story(g)


@requirement("S-50", "S-27")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("crisis: [alice@acme.example, bob@acme.example, ", "crisis: [carol@acme.example, bob@acme.example, "),
        ("crisis: [alice@acme.example, bob@acme.example, ", "crisis: [alice@acme.example, carol@acme.example, "),
        ("lasts: 30m, tools: [pay, ", "lasts: 30m, tools: ["),
        ("review: [finance], lasts: 30m,", "review: [finance], lasts: 19m,"),
    ],
)
async def test_todays_file_is_asked_at_every_use_of_it_too(gateway: Gateway, old: str, new: str) -> None:
    await break_glass(gateway)
    assert (await submit(gateway))["request"]["state"] == "approved"
    gateway.rewrite(old, new)
    await gateway.reload()
    assert (await submit(gateway))["request"]["state"] == "pending"


@requirement("S-50")
async def test_what_people_denied_before_is_not_run_under_a_broken_glass(gateway: Gateway) -> None:
    request = await gateway.ask("note", {"to": "desk"})
    await gateway.decide(request, "deny", who=RITA)
    await break_glass(gateway, tools=["note"])
    assert (await submit(gateway, "note", {"to": "desk"}))["decision"] == "deny"


@requirement("S-50", "S-26")
async def test_a_longer_time_that_is_written_into_the_row_is_not_believed(gateway: Gateway) -> None:
    await break_glass(gateway, minutes=5)
    gateway.rows("UPDATE standing_approvals SET expires_at = expires_at + 1")
    assert (await submit(gateway))["request"]["state"] == "pending"
    gateway.rows("UPDATE standing_approvals SET expires_at = expires_at - 1")
    assert (await submit(gateway))["request"]["state"] == "approved"
    gateway.rows('UPDATE standing_approvals SET scope = replace(scope, \'"pay"\', \'"pay","note"\')')
    assert (await submit(gateway, "note", {}))["request"]["state"] == "pending"
