"""Approving on Feishu what takes more than a click: the real SDK, the strict stand-in, and a whole gateway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from channels.feishu.simulator.cards import list_controls
from channels.feishu.simulator.simulator import CannotPressError
from tests.channels.feishu.test_feishu_stories import BOB, stage
from tests.channels.test_card_corpus import nodes
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from channels.feishu.simulator.clicks import Press
    from tests.channels.feishu.test_feishu_stories import Stage

__all__ = ["stage"]


async def asked(stage: Stage, level: str, **more: Any) -> dict[str, Any]:
    """Let the org's payments take a level of assurance, and ask for one."""
    path = stage.gateway.config / "acme.yaml"
    policy = yaml.safe_load(path.read_text())
    policy["rules"][0] |= {"assurance": level}
    policy["payments"] = {"step_up": []}
    policy["tools"]["pay"] |= {"payment": {"amount": "amount", "currency": "currency", "payee": "payee"}}
    path.write_text(json.dumps({**policy, **more}))
    await stage.gateway.reload()
    return await stage.ask(session="s")


async def type_in(stage: Stage, request: Mapping[str, Any], who: str, text: str, *, on: str = "") -> Press:
    """Fill in the input beside Approve, and press it."""
    return await stage.press(dict(request), who, "approve", on=on, typed=text)


def tone(press: Press) -> object:
    """Return how what the person saw looked."""
    return (press.toast or {})["type"]


@requirement("S-29")
@pytest.mark.parametrize("typed", ["code", "amount"])
async def test_approve_stands_in_a_form_of_its_own_and_takes_the_code_or_the_amount(stage: Stage, typed: str) -> None:
    request = await asked(stage, "L2")
    controls = list_controls(stage.feishu.message(stage.message(request)).card)
    assert [each.button["name"] for each in controls if each.form] == ["approve", "deny"]
    assert "Takes: a typed code" in stage.texts(request)
    for empty in ("", "  "):
        with pytest.raises(CannotPressError):  # the platform itself asks for what is required
            await type_in(stage, request, "alice", empty)
    code = str(request["code"])
    full_width = "".join(chr(ord(char) + 0xFEE0) for char in code.lower())
    press = await type_in(stage, request, "alice", full_width if typed == "code" else "￥80,000")
    assert tone(press) == "success"
    assert await stage.state(request) == "approved"
    assert stage.labels() == []


@requirement("S-29")
async def test_three_wrong_tries_lock_one_person_and_somebody_else_goes_on(stage: Stage) -> None:
    request = await asked(stage, "L2")
    for left in (2, 1):
        press = await type_in(stage, request, "alice", "80001")
        assert (tone(press), f"Tries left: {left}" in press.sentence) == ("warning", True)
    for text in ("80001", "80000"):
        press = await type_in(stage, request, "alice", text)
        assert (tone(press), "Too many wrong tries" in press.sentence) == ("error", True)
    assert await stage.state(request) == "pending"
    await type_in(stage, request, "bob", "80000")
    assert await stage.state(request) == "approved"
    assert "Approved by Bob" in stage.texts(request)


@requirement("S-29")
async def test_whoever_is_locked_out_still_denies_with_one_click_and_a_reason(stage: Stage) -> None:
    request = await asked(stage, "L2")
    for _ in range(3):
        await type_in(stage, request, "alice", "80001")
    await stage.feishu.deny(stage.ids["alice"], stage.message(request), "not now")
    assert await stage.state(request) == "denied"


@requirement("S-29")
async def test_a_copy_of_one_s_own_takes_the_code_as_well(stage: Stage) -> None:
    request = await asked(stage, "L2")
    await stage.more(request, "alice")
    await stage.press(request, "alice", "hand_over", on="alice", person=BOB)
    assert "Tries left: 2" in (await type_in(stage, request, "bob", "80001", on="bob")).sentence
    await type_in(stage, request, "bob", str(request["code"]), on="bob")
    assert await stage.state(request) == "approved"
    assert stage.labels() == []


@requirement("S-29")
async def test_a_changed_amount_is_approved_apart_with_what_stands_there_now(stage: Stage) -> None:
    request = await asked(stage, "L2")
    await stage.more(request, "alice")
    [amount] = [
        name.removeprefix("edit_") for name, value in stage.fields(request, "alice").items() if value == "80000"
    ]
    press = await stage.press(request, "alice", "edit", on="alice", **{amount: "50000"})
    assert "Now approve it" in press.sentence
    assert await stage.state(request) == "pending"
    assert "Tries left: 2" in (await type_in(stage, request, "alice", str(request["code"]))).sentence
    await type_in(stage, request, "alice", "50,000.00")
    after = await stage.gateway.read(request)
    assert (after["state"], after["arguments"]["amount"]) == ("approved", 50000)


@requirement("S-12", "S-29")
async def test_of_two_payments_in_one_message_each_has_an_input_of_its_own(stage: Stage) -> None:
    first = await asked(stage, "L2", attention={"group": "10m"})
    second = await stage.ask(amount=7, session="s")
    message = stage.message(second)
    assert message == stage.message(first)

    async def press(typed: str) -> str:
        pressed = await stage.feishu.press(stage.ids["alice"], message, "approve_1", form={"approve_1_typed": typed})
        await stage.gateway.quiet()
        return pressed.sentence

    assert "Tries left: 2" in await press("80000")
    await press("7")
    assert [await stage.state(each) for each in (first, second)] == ["pending", "approved"]


@requirement("S-29")
@pytest.mark.parametrize("level", ["L3", "L4"])
async def test_a_card_that_no_click_approves_has_no_approve_at_all_and_denies(stage: Stage, level: str) -> None:
    request = await asked(stage, level)
    await stage.more(request, "alice")
    for copy in ("", "alice"):
        card = stage.feishu.message(stage.message(request, copy)).card
        pressed = json.dumps([node for node in nodes(card) if node.get("tag") in {"button", "input"}])
        assert "approve" not in pressed.lower().replace("add an approver", "")
        assert ".y." not in pressed  # the letter of Approve in a token
        assert f"assent requests approve {request['id']}" in stage.texts(request, copy)
    await stage.feishu.deny(stage.ids["alice"], stage.message(request), "not now")
    await stage.gateway.quiet()
    assert await stage.state(request) == "denied"
    assert stage.labels() == []
