"""Approving in Slack what takes more than a click: the official SDK, the strict stand-in, and a whole gateway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from channels.slack.simulator.simulator import CannotPressError
from tests.channels.slack.test_slack_stories import labels, message, read_in, rewrite, settled, shown
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import slack_id
from tests.requirements import requirement

if TYPE_CHECKING:
    from channels.slack.simulator.simulator import Modal
    from tests.fixtures.platforms import Stage

ALICE, BOB, DAVE = (slack_id(who) for who in ("alice", "bob", "dave"))
PAY = {"payee": "Acme Ltd", "amount": 80000, "currency": "CNY"}


async def asked(stage: Stage, level: str) -> dict[str, Any]:
    """Let the org's payments take a level of assurance, and ask for one."""

    def change(policy: dict[str, Any]) -> None:
        policy["rules"][0] |= {"assurance": level}
        policy["payments"] = {"step_up": []}
        policy["tools"]["pay"] |= {"payment": {"amount": "amount", "currency": "currency", "payee": "payee"}}

    await rewrite(stage, change)
    return await stage.ask(arguments=PAY)


async def open_form(stage: Stage, request: dict[str, Any], who: str, *, own: bool = False) -> Modal | None:
    """Press Approve; return the modal that opens."""
    entry = message(stage, request, who if own else "")
    await stage.slack.use(who, entry["room"], entry["ts"], "Approve")
    return stage.slack.modal_of(who)


async def type_in(stage: Stage, modal: Modal, who: str, text: str) -> str:
    """Fill the modal in and submit it; return what it then says."""
    await stage.slack.submit_modal(who, modal.id, text)
    await stage.gateway.quiet()
    return read_in(modal)


@requirement("S-29")
@pytest.mark.parametrize("typed", ["code", "amount"])
async def test_approve_opens_a_form_and_counts_once_the_code_or_the_amount_is_typed(stage: Stage, typed: str) -> None:
    request = await asked(stage, "L2")
    entry = message(stage, request)
    assert "assent_form_approve" in shown(entry)
    assert '"confirm": {' not in shown(entry)  # the form is the second question
    assert "Takes: a typed code" in shown(entry)
    modal = await open_form(stage, request, ALICE)
    assert modal is not None
    assert "or the amount" in read_in(modal)
    assert await stage.state(request) == "pending"
    await type_in(stage, modal, ALICE, str(request["code"]).lower() if typed == "code" else "80,000.00 CNY")
    assert not modal.open
    assert await settled(stage)
    assert await stage.state(request) == "approved"


@requirement("S-29")
async def test_three_wrong_tries_close_the_form_for_one_person_and_somebody_else_goes_on(stage: Stage) -> None:
    request = await asked(stage, "L2")
    modal = cast("Modal", await open_form(stage, request, ALICE))
    for left in (2, 1):
        said = await type_in(stage, modal, ALICE, f"8000{left}")
        assert f"Tries left: {left}" in said
        assert modal.errors
    assert "Too many wrong tries" in await type_in(stage, modal, ALICE, "80003")
    notes = len(stage.slack.room.notes)
    assert await open_form(stage, request, ALICE) is modal  # the one that says so; no other opens
    await eventually(lambda: len(stage.slack.room.notes) > notes)
    assert "Too many wrong tries" in stage.slack.room.notes[-1].text
    theirs = cast("Modal", await open_form(stage, request, BOB))
    await type_in(stage, theirs, BOB, "80000")
    assert await settled(stage)
    assert await stage.state(request) == "approved"
    assert "Approved by Bob" in shown(message(stage, request))


@requirement("S-06", "S-29")
async def test_no_form_opens_for_whoever_may_not_approve(stage: Stage) -> None:
    request = await asked(stage, "L2")
    assert await open_form(stage, request, DAVE) is None
    await eventually(lambda: stage.slack.room.notes)
    assert "You are not among the people who decide this" in stage.slack.room.notes[-1].text
    assert await stage.state(request) == "pending"


@requirement("S-29")
async def test_a_copy_of_one_s_own_takes_the_code_as_well(stage: Stage) -> None:
    request = await asked(stage, "L2")
    entry = message(stage, request)
    await stage.slack.use(ALICE, entry["room"], entry["ts"], "Hand over")
    over = cast("Modal", stage.slack.modal_of(ALICE))
    await stage.slack.submit_modal(ALICE, over.id, {"person": BOB})
    await stage.gateway.quiet()
    modal = cast("Modal", await open_form(stage, request, BOB, own=True))
    assert "Tries left: 2" in await type_in(stage, modal, BOB, "80001")
    await type_in(stage, modal, BOB, str(request["code"]))
    assert await settled(stage)
    assert await stage.state(request) == "approved"


@requirement("S-12", "S-29")
async def test_of_two_payments_in_one_message_each_opens_its_own_form(stage: Stage) -> None:
    def grouped(policy: dict[str, Any]) -> None:
        policy["attention"] = {"group": "10m"}
        policy["rules"][0] |= {"channels": ["pay-slack"]}
        policy["rules"][0] |= {"assurance": "L2"}

    await rewrite(stage, grouped)
    first, second = [await stage.gateway.ask(arguments={**PAY, "amount": n}, session="s-1") for n in (1, 2)]
    entry = message(stage, first)
    assert entry["ts"] == message(stage, second)["ts"]
    await stage.slack.use(ALICE, entry["room"], entry["ts"], "Approve", nth=1)
    modal = cast("Modal", stage.slack.modal_of(ALICE))
    assert second["code"] in read_in(modal)
    assert "Tries left: 2" in await type_in(stage, modal, ALICE, str(first["code"]))
    await type_in(stage, modal, ALICE, str(second["code"]))
    assert [await stage.state(each) for each in (first, second)] == ["pending", "approved"]


@requirement("S-29")
@pytest.mark.parametrize("level", ["L3", "L4"])
async def test_a_card_that_no_click_approves_has_no_approve_at_all_and_denies(stage: Stage, level: str) -> None:
    request = await asked(stage, level)
    entry = message(stage, request)
    assert not {"Approve", "Approve with changes"} & set(labels(entry))
    pressed = json.dumps([block for block in entry["blocks"] if block["type"] == "actions"])
    assert "approve" not in pressed.lower().replace("add an approver", "")
    assert ".y." not in pressed  # the letter of Approve in a token
    assert f"assent requests approve {request['id']}" in shown(entry)
    with pytest.raises(CannotPressError):
        await stage.slack.use(ALICE, entry["room"], entry["ts"], "Approve")
    await stage.click("slack", request, "alice", "deny")
    assert await settled(stage)
    assert await stage.state(request) == "denied"
