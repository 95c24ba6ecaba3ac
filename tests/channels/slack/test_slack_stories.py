"""What people do in Slack, told as stories: the official SDK, the strict stand-in, and a whole gateway behind it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from app.usecases.platforms.hearing import EVERY
from channels.slack.simulator.simulator import DIRECTORY_TOKEN, CannotPressError, Room
from tests.fixtures.gateway import ManualClock
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import open_stage, slack_id
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from channels.slack.simulator.simulator import Modal
    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.fixtures.platforms import Stage

ALICE, BOB, RITA = (slack_id(who) for who in ("alice", "bob", "rita"))
MINUTE = timedelta(minutes=1)


async def rewrite(stage: Stage, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the org's file and take it into use."""
    path = stage.gateway.config / "acme.yaml"
    policy = yaml.safe_load(path.read_text())
    change(policy)
    path.write_text(yaml.safe_dump(policy, sort_keys=False))
    await stage.gateway.reload()


def in_slack_alone(policy: dict[str, Any]) -> None:
    policy["rules"][0]["channels"] = ["pay-slack"]


def message(stage: Stage, request: dict[str, Any], who: str = "") -> dict[str, Any]:
    """Return the newest message of a request in the channel, or in a person's own conversation."""
    room = stage.slack.direct(who) if who else stage.slack.room.id
    found = [
        entry
        for entry in stage.slack.view(room)
        if entry["kind"] == "message" and request["id"] in json.dumps(entry["blocks"])
    ]
    return {**found[-1], "room": room} if found else {}


def shown(entry: dict[str, Any]) -> str:
    """Return the texts of a message."""
    return json.dumps(entry["blocks"], ensure_ascii=False)


def labels(entry: dict[str, Any]) -> list[str]:
    """Return what can be pressed on a message, and chosen in its menus."""
    elements = [each for block in entry["blocks"] if block["type"] == "actions" for each in block["elements"]]
    buttons = [each["text"]["text"] for each in elements if each["type"] == "button"]
    return buttons + [option["text"]["text"] for each in elements for option in each.get("options", [])]


async def use(stage: Stage, request: dict[str, Any], who: str, label: str, *, own: bool = False, **answers: str) -> str:
    """Use a control, fill in its form where there are answers; return what the person then reads."""
    entry = message(stage, request, who if own else "")
    notes = len(stage.slack.room.notes)
    await stage.slack.use(who, entry["room"], entry["ts"], label)
    if answers:
        modal = stage.slack.modal_of(who)
        assert modal is not None
        await stage.slack.submit_modal(who, modal.id, answers)
        said = read_in(modal)
    else:
        await eventually(lambda: len(stage.slack.room.notes) > notes or own)
        said = stage.slack.room.notes[-1].text if len(stage.slack.room.notes) > notes else ""
    await stage.gateway.quiet()
    return said


def read_in(modal: Modal) -> str:
    """Return what a modal says: its outcome or its errors."""
    return json.dumps([modal.view["blocks"], modal.errors], ensure_ascii=False)


async def settled(stage: Stage) -> bool:
    """Tell whether no card anywhere has buttons any more that decide."""
    await stage.gateway.quiet()
    rooms = [stage.slack.view(room) for room in stage.slack.world.rooms]
    return not any("assent_approve" in json.dumps(entry["blocks"]) for view in rooms for entry in view)


@requirement("S-23")
async def test_a_place_that_is_handed_over_is_decided_in_a_direct_message_and_every_copy_settles(stage: Stage) -> None:
    request = await stage.ask()
    said = await use(stage, request, ALICE, "Hand over", person=BOB, note="on leave until Monday")
    assert "Bob decides in your place now." in said
    copy = message(stage, request, BOB)
    assert "Approve" in labels(copy)
    with pytest.raises(CannotPressError):
        await stage.slack.use(ALICE, copy["room"], copy["ts"], "Approve")
    assert await stage.state(request) == "pending"
    await stage.slack.use(BOB, copy["room"], copy["ts"], "Approve")
    assert await settled(stage)
    assert await stage.state(request) == "approved"
    for entry in (message(stage, request), message(stage, request, BOB)):
        assert "Bob (handed over by Alice)" in shown(entry)


async def test_a_question_reaches_the_requester_and_the_answer_comes_back_to_the_card(stage: Stage) -> None:
    request = await stage.ask(requester="rita@acme.example")
    question = "Whose invoice is it? <@U0BOB00> *now*"
    assert "Sent. The answer will stand on this card." in await use(
        stage, request, ALICE, "Ask a question", text=question
    )
    assert question in shown(message(stage, request))
    copy = message(stage, request, RITA)
    assert [label for label in labels(copy) if label in {"Answer", "Approve", "Deny"}] == ["Answer"]
    await stage.slack.use(RITA, copy["room"], copy["ts"], "Answer")
    modal = stage.slack.modal_of(RITA)
    assert modal is not None
    assert question in read_in(modal)
    await stage.slack.submit_modal(RITA, modal.id, {"Your answer": "Acme's, of May"})
    await stage.gateway.quiet()
    entry = message(stage, request)
    assert "Acme's, of May" in shown(entry)
    assert "not verified" in shown(entry)
    assert [reply for reply in entry["replies"] if "Acme's, of May" in reply["text"]]
    await stage.click("slack", request, "alice")
    assert await settled(stage)
    assert await stage.state(request) == "approved"


async def test_whoever_asked_is_told_privately_that_it_was_denied_and_why(stage: Stage) -> None:
    request = await stage.ask(requester="rita@acme.example")
    await stage.click("slack", request, "alice", "deny")
    assert await settled(stage)
    copy = message(stage, request, RITA)
    assert "Denied by Alice" in shown(copy)
    assert "too expensive" in shown(copy)
    assert labels(copy) == []


async def test_approving_with_changes_shows_what_was_changed_and_needs_somebody_else(stage: Stage) -> None:
    request = await stage.ask(arguments={"payee": "Acme Ltd", "amount": 80000, "account": "DE02"})
    refused = await use(stage, request, ALICE, "Approve with changes", amount="a lot")
    assert "must be a whole number" in refused
    modal = cast("Modal", stage.slack.modal_of(ALICE))
    assert list(modal.errors) == [next(iter(input_blocks(modal)))]
    await stage.slack.submit_modal(ALICE, modal.id, {"amount": "70000", "payee": "Acme Ltd (new)"})
    await stage.gateway.quiet()
    assert "somebody else must approve it" in read_in(modal)
    entry = message(stage, request)
    assert "Changed by Alice: amount: 80000 → 70000" in shown(entry)
    assert "Acme Ltd (new)" in entry["text"]
    await stage.click("slack", request, "bob")
    assert await settled(stage)
    seen = await stage.gateway.read(request)
    assert (seen["state"], seen["arguments"]["amount"]) == ("approved", 70000)


def input_blocks(modal: Modal) -> list[str]:
    blocks = cast("list[dict[str, Any]]", modal.view["blocks"])
    return [str(block["block_id"]) for block in blocks if block["type"] == "input"]


async def test_people_are_reminded_in_the_thread_and_those_who_are_brought_in_have_cards_of_their_own(
    stage: Stage,
) -> None:
    def escalating(policy: dict[str, Any]) -> None:
        policy["groups"] |= {"bosses": ["dave@acme.example"], "finance": ["alice@acme.example", "bob@acme.example"]}
        policy["rules"][0] |= {"channels": ["pay-slack"], "escalate": [{"after": 0.75, "to": ["bosses"]}]}

    await rewrite(stage, escalating)
    request = await asked(stage)
    await stage.gateway.advance(15 * MINUTE)
    [reminder] = message(stage, request)["replies"]
    assert reminder["mentions"] == [ALICE, BOB]
    assert reminder["text"].endswith("Pay Acme Ltd 80000")
    assert message(stage, request, slack_id("dave")) == {}
    await stage.gateway.advance(8 * MINUTE)
    copy = message(stage, request, slack_id("dave"))
    await stage.slack.use(slack_id("dave"), copy["room"], copy["ts"], "Approve")
    assert await settled(stage)
    assert await stage.state(request) == "approved"


async def asked(stage: Stage, **more: Any) -> dict[str, Any]:
    """Submit a payment that asks in Slack alone."""
    return await stage.gateway.ask(**more)


async def test_what_expired_is_asked_again_with_one_tap(stage: Stage) -> None:
    await rewrite(stage, in_slack_alone)
    request = await asked(stage)
    await stage.gateway.advance(31 * MINUTE)
    entry = message(stage, request)
    assert "nobody decided in time" in shown(entry)
    assert labels(entry) == ["Ask again"]
    await use(stage, request, ALICE, "Ask again")
    newest = [entry for entry in stage.slack.view(stage.slack.room.id) if entry["kind"] == "message"][-1]
    assert newest["ts"] != entry["ts"]
    await stage.slack.use(BOB, stage.slack.room.id, str(newest["ts"]), "Approve")
    assert await settled(stage)
    assert await stage.state(request) == "expired"


@requirement("S-22")
async def test_outsiders_and_late_clicks_are_told_why_and_change_nothing(stage: Stage) -> None:
    request = await stage.ask()
    dave = slack_id("dave")
    for label in ("Approve", "Deny", "Hand over", "Ask a question", "Remind", "More time"):
        assert "You are not among the people who decide this" in await use(stage, request, dave, label)
        assert stage.slack.modal_of(dave) is None
    entry = message(stage, request)
    await use(stage, request, ALICE, "Ask a question", text="Whose invoice is it?")
    late = cast("Modal", await opened(stage, entry, BOB, "Hand over"))
    await stage.click("slack", request, "alice")
    await stage.gateway.quiet()
    await stage.slack.submit_modal(BOB, late.id, {"person": slack_id("olga")})
    assert "Approved by Alice" in read_in(late)
    with pytest.raises(CannotPressError):
        await stage.slack.use(BOB, entry["room"], entry["ts"], "Approve")
    assert await stage.state(request) == "approved"


async def opened(stage: Stage, entry: dict[str, Any], who: str, label: str) -> Modal | None:
    await stage.slack.use(who, entry["room"], entry["ts"], label)
    return stage.slack.modal_of(who)


async def test_two_stages_are_passed_on_one_card(stage: Stage) -> None:
    def staged(policy: dict[str, Any]) -> None:
        policy["groups"] |= {"legal": ["dave@acme.example"], "finance": ["alice@acme.example", "bob@acme.example"]}
        policy["rules"][0] |= {"channels": ["pay-slack"], "stages": [{"of": ["finance"]}, {"of": ["legal"]}]}

    await rewrite(stage, staged)
    request = await asked(stage)
    assert "not among the people" not in await use(stage, request, ALICE, "Approve")
    assert "Step 2 of 2" in shown(message(stage, request))
    assert await stage.state(request) == "pending"
    await use(stage, request, slack_id("dave"), "Approve")
    assert await settled(stage)
    assert await stage.state(request) == "approved"


@requirement("S-47")
@pytest.mark.parametrize("label", ["Approve", "Deny", "Hand over", "Ask a question", "Remind", "More time"])
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_no_control_of_a_copied_card_does_anything(stage: Stage, label: str) -> None:
    request = await stage.ask()
    original = stage.slack.room.messages[stage.slack_ts(request)]
    elsewhere = stage.slack.world.add_room(Room(id="C0PY00001", name="random"))
    copy = replace(original, ts=stage.slack.world.stamp(), versions=list(original.versions))
    elsewhere.messages[copy.ts] = copy
    before = stage.gateway.content(without=("audit_events", "audit_heads"))
    await stage.slack.use(ALICE, elsewhere.id, copy.ts, label)
    await eventually(lambda: elsewhere.notes)
    assert "no longer the live one" in elsewhere.notes[-1].text
    assert stage.slack.modal_of(ALICE) is None
    assert stage.gateway.content(without=("audit_events", "audit_heads")) == before


@requirement("F-33")
async def test_a_channel_that_takes_no_card_gives_way_to_direct_messages(stage: Stage) -> None:
    await rewrite(stage, in_slack_alone)
    stage.slack.room.archived = True
    request = await asked(stage)
    await eventually(lambda: message(stage, request, BOB) != {})
    await stage.gateway.quiet()
    copy = message(stage, request, BOB)
    await stage.slack.use(BOB, copy["room"], copy["ts"], "Approve")
    assert await settled(stage)
    assert await stage.state(request) == "approved"


@requirement("F-33")
async def test_a_slack_that_takes_nothing_ends_the_request_at_once_with_the_cause(stage: Stage) -> None:
    await rewrite(stage, in_slack_alone)
    token = stage.slack.world.tokens[str(stage.slack.configuration()["bot_token"])]
    token.scopes = token.scopes - {"chat:write"}
    request = await asked(stage)
    seen = await stage.gateway.read(request)
    assert seen["state"] == "undeliverable"
    assert "add the scope chat:write" in seen["settled"]["reason"]


async def test_the_people_of_a_slack_user_group_decide_and_nobody_else(stage: Stage) -> None:
    group = stage.slack.add_group("S0FIN", "finance", ALICE)
    await rewrite(
        stage,
        lambda policy: policy["groups"].update(finance={"channel": "pay-slack", "group": "S0FIN"}),
    )
    request = await stage.ask()
    assert "not among the people" in await use(stage, request, BOB, "Approve")
    group.people.append(BOB)
    await stage.gateway.container.fetch_groups()
    await stage.click("slack", request, "bob")
    assert await settled(stage)
    assert await stage.state(request) == "approved"


@requirement("S-07")
async def test_whom_scim_names_as_manager_gets_a_card_and_decides(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    directory = {"scim_token": DIRECTORY_TOKEN}
    async with open_stage(sqlite_url, tmp_path, platform, slack_more=directory) as stage:
        assert stage.slack.open_directory() == directory
        stage.slack.world.people[RITA].manager = BOB

        def by_the_manager(policy: dict[str, Any]) -> None:
            policy["rules"][0] |= {"channels": ["pay-slack"], "stages": [{"of": ["manager"]}]}

        await rewrite(stage, by_the_manager)
        assert isinstance(stage.gateway.clock, ManualClock)
        stage.gateway.clock.advance(EVERY)
        await stage.gateway.container.fetch_groups()
        request = await stage.gateway.ask(requester="rita@acme.example")
        await stage.gateway.quiet()
        copy = message(stage, request, BOB)
        assert "Approve" in labels(copy)
        await stage.slack.use(ALICE, stage.slack.room.id, message(stage, request)["ts"], "Approve")
        await stage.gateway.quiet()
        assert await stage.state(request) == "pending"
        await stage.slack.use(BOB, copy["room"], copy["ts"], "Approve")
        assert await settled(stage)
        assert await stage.state(request) == "approved"


@requirement("S-06")
async def test_a_member_of_a_user_group_whom_nobody_wrote_down_decides_by_their_confirmed_e_mail(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with open_stage(sqlite_url, tmp_path, platform) as stage:
        zoe, mal = (slack_id(who) for who in ("zoe", "mal"))
        stage.slack.add_person(zoe, name="zoe", email="zoe@acme.example")
        stage.slack.add_person(mal, name="mal", email="mal@acme.example").is_email_confirmed = False
        stage.slack.add_group("S0BOARD", "board", zoe, mal)

        def by_the_group(policy: dict[str, Any]) -> None:
            board = {"channel": "pay-slack", "group": "S0BOARD", "members": "verified", "domains": ["acme.example"]}
            policy["groups"]["board"] = board
            policy["rules"][0] |= {"channels": ["pay-slack"], "stages": [{"of": ["board"]}]}

        await rewrite(stage, by_the_group)
        request = await stage.gateway.ask(requester="rita@acme.example")
        await stage.gateway.quiet()
        for who in (ALICE, mal):
            await stage.slack.use(who, stage.slack.room.id, message(stage, request)["ts"], "Approve")
            await stage.gateway.quiet()
            assert await stage.state(request) == "pending"
        assert "vouches for no e-mail of yours" in stage.slack.room.notes[-1].text
        await stage.slack.use(zoe, stage.slack.room.id, message(stage, request)["ts"], "Approve")
        assert await settled(stage)
        assert await stage.state(request) == "approved"
        assert "zoe@acme.example" in shown(message(stage, request))
