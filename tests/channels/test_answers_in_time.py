"""Both platforms have their answer in time, whatever is frozen behind the gateway, and what it says comes true.

The stand-ins hang up after three seconds, as the platforms do. The gateway's own bound is set far below that here, so
that a busy machine does not decide; `test_late_clicks.py` holds what it is in production.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.request.action import Action
from channels.feishu.simulator.http import Fault as FeishuFault
from channels.slack.simulator.state import Fault as SlackFault
from tests.channels.test_card_corpus import nodes
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import slack_id
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.fixtures.platforms import Stage

    Sending = Callable[[], Awaitable[tuple[int | None, str]]]

WITHIN = 0.5
RECORDING = "is being recorded"


@asynccontextmanager
async def busy_lane(stage: Stage) -> AsyncIterator[None]:
    """Hold the one lane on which everything is written, until left."""
    free, held = threading.Event(), threading.Event()

    def hold(_: Any) -> None:
        held.set()
        free.wait(60)

    holding = asyncio.create_task(stage.gateway.container.store.write(hold, org="acme"))
    await asyncio.to_thread(held.wait)
    try:
        yield
    finally:
        free.set()
        await holding


def notes(stage: Stage) -> list[str]:
    """Return what people were told privately in Slack, in order."""
    return [str(each["text"]) for each in stage.slack.view(stage.slack.room.id) if each["kind"] == "note"]


async def verdict(stage: Stage, door: str, request: dict[str, Any], how: str) -> tuple[int | None, str]:
    """Press Approve (`click`), or send the form of Deny (`form`); return the status and what the answer said."""
    if door == "feishu":
        message, alice = stage.feishu_message(request), stage.feishu_ids["alice"]
        press = await (
            stage.feishu.approve(alice, message) if how == "click" else stage.feishu.deny(alice, message, "too dear")
        )
        return press.status if press.error is None else press.error, press.sentence
    who = slack_id("alice")
    if how == "click":
        pressed = await stage.slack.click(who, stage.slack.room.id, stage.slack_ts(request), "assent_approve")
        return pressed.status, ""
    modal = stage.slack.modal_of(who)
    assert modal is not None
    sent = await stage.slack.submit_modal(who, modal.id, "too dear")
    return sent.status, json.dumps(sent.answer)


def ended(stage: Stage, door: str, request: dict[str, Any], word: str) -> bool:
    """Whether the card of a request says how it ended."""
    view = stage.slack.view(stage.slack.room.id) if door == "slack" else stage.feishu.view(stage.feishu_chat)
    return any(word in json.dumps(each) for each in view if request["id"] in json.dumps(each))


@requirement("F-45")
@pytest.mark.parametrize("how", ["click", "form"])
@pytest.mark.parametrize("door", ["slack", "feishu"])
@pytest.mark.heavy
@pytest.mark.sampled(2)
async def test_behind_a_busy_database_the_answer_says_that_it_is_worked_on_and_the_card_follows(
    stage: Stage, door: str, how: str
) -> None:
    request = await stage.ask()
    if (door, how) == ("slack", "form"):
        await stage.slack.click(slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "assent_deny")
    stage.gateway.container.clicks.answer_within = WITHIN
    told = len(notes(stage))
    async with busy_lane(stage):
        status, said = await verdict(stage, door, request, how)
        assert status == 200
        if (door, how) == ("slack", "click"):
            assert not notes(stage)[told:]  # Slack shows nothing of an answer; the outcome is told once there is one
        else:
            assert RECORDING in said
    word = "Approved" if how == "click" else "Denied"
    await eventually(lambda: ended(stage, door, request, word))
    assert await stage.state(request) == word.lower()
    if (door, how) == ("slack", "click"):
        await eventually(lambda: "Recorded: approved" in "".join(notes(stage)[told:]))


@requirement("F-45")
async def test_behind_a_busy_database_a_modal_is_not_waited_for_and_the_person_is_told(stage: Stage) -> None:
    request = await stage.ask()
    stage.gateway.container.clicks.answer_within = WITHIN
    async with busy_lane(stage):
        pressed = await stage.slack.click(
            slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "assent_deny"
        )
        assert pressed.status == 200
        assert stage.slack.modal_of(slack_id("alice")) is None
    await eventually(lambda: stage.slack.modal_of(slack_id("alice")) or notes(stage))
    assert await stage.state(request) == "pending"  # opening a form decides nothing, however late it opens


@requirement("F-45")
@pytest.mark.parametrize("how", ["click", "form"])
@pytest.mark.parametrize("door", ["slack", "feishu"])
@pytest.mark.sampled(2)
async def test_a_platform_whose_api_never_answers_has_its_own_answer_all_the_same(
    stage: Stage, door: str, how: str
) -> None:
    request = await stage.ask()
    if (door, how) == ("slack", "form"):
        await stage.slack.click(slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "assent_deny")
    for method in ("chat.update", "chat.postMessage", "users.info"):
        stage.slack.fail_next(method, SlackFault.HANG)
    for operation in ("patch", "send", "reply", "get_user", "token"):
        stage.feishu.fail_next(operation, FeishuFault.HANG)
    status, said = await verdict(stage, door, request, how)
    assert status == 200
    assert RECORDING not in said  # nothing that this answer needs is asked of the platform
    assert await stage.state(request) == ("approved" if how == "click" else "denied")
    stage.feishu.release()


@requirement("F-45")
@pytest.mark.heavy
async def test_a_modal_that_slack_never_opens_is_given_up_in_time_and_said(stage: Stage) -> None:
    request = await stage.ask()
    stage.slack.fail_next("views.open", SlackFault.HANG)
    stage.gateway.container.clicks.answer_within = WITHIN
    pressed = await stage.slack.click(slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "assent_deny")
    assert pressed.status == 200
    await eventually(lambda: "Nothing was recorded" in "".join(notes(stage)))
    await stage.slack.click(slack_id("alice"), stage.slack.room.id, stage.slack_ts(request), "assent_deny")
    assert stage.slack.modal_of(slack_id("alice")) is not None


async def editing_in_slack(stage: Stage, request: dict[str, Any], who: str) -> Sending:
    """Open the form in which a call is changed; return what sends it."""
    await stage.slack.use(who, stage.slack.room.id, stage.slack_ts(request), "Approve with changes")
    modal = stage.slack.modal_of(who)
    assert modal is not None

    async def send() -> tuple[int | None, str]:
        sent = await stage.slack.submit_modal(who, modal.id, {"amount": "70000"})
        return sent.status, json.dumps(sent.answer)

    return send


async def editing_in_feishu(stage: Stage, request: dict[str, Any]) -> Sending:
    """Have the card of one's own on which the form stands; return what sends it."""
    alice = stage.feishu_ids["alice"]
    await stage.feishu.press(alice, stage.feishu_message(request), "More…")
    await stage.gateway.quiet()
    messages = stage.feishu.platform.messages.values()
    own = next(each for each in messages if each.chat_id == stage.feishu.own_chat(alice))
    inputs = (node for node in nodes(own.card) if node.get("tag") == "input")
    amount = next(str(node["name"]) for node in inputs if node.get("default_value") == "80000")

    async def send() -> tuple[int | None, str]:
        press = await stage.feishu.press(alice, own.message_id, "edit", form={amount: "70000"})
        return press.status, press.sentence

    return send


@requirement("F-45")
@pytest.mark.parametrize("door", ["slack", "feishu"])
@pytest.mark.heavy
async def test_a_slow_judge_of_a_changed_call_is_not_waited_for_and_its_verdict_counts(stage: Stage, door: str) -> None:
    request = await stage.ask()
    edit: Any = stage.gateway.container.clicks._receive._others[Action.EDIT]
    judged, free, begun = edit._edit.judged, asyncio.Event(), asyncio.Event()

    async def slow(*arguments: Any) -> Any:
        begun.set()
        await free.wait()
        return await judged(*arguments)

    edit._edit.judged = slow
    alice = slack_id("alice")
    sending = await (editing_in_slack(stage, request, alice) if door == "slack" else editing_in_feishu(stage, request))
    stage.gateway.container.clicks.answer_within = WITHIN
    status, said = await sending()
    assert begun.is_set()
    assert status == 200
    assert RECORDING in said
    assert await stage.state(request) == "pending"
    free.set()
    changed = "SELECT 1 FROM audit_events WHERE kind = 'request.edited'"
    await eventually(lambda: stage.gateway.rows(changed))
    await eventually(lambda: ended(stage, door, request, "70,000") or ended(stage, door, request, "70000"))
