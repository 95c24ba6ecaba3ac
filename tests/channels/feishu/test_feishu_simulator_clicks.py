"""The stand-in's hand presses only what a person could press, and shows only what the platform would show."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import ChannelUnavailableError, HttpAnswer, MessageRef, Post, Severity
from channels.feishu.simulator.simulator import CannotPressError, Fault
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.channels.feishu.feishu_cards import a_card, chat_controls, some_buttons

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.ports import InboundCall

Json = dict[str, Any]


def card(*elements: Json) -> Json:
    return {"schema": "2.0", "body": {"elements": list(elements)}}


@pytest.fixture
async def stage() -> AsyncIterator[FeishuStage]:
    async with feishu_stage() as stage:
        yield stage


async def put(stage: FeishuStage, **changes: Any) -> str:
    posted = await stage.channel.post(Post(card=a_card(**changes), chat_id=stage.channel.chat_id, key="k"))
    return posted.message_id


def answering(answer: HttpAnswer, delay: asyncio.Event | None = None) -> Any:
    async def receive(call: InboundCall) -> HttpAnswer:
        if delay is not None:
            await delay.wait()
        return answer

    return receive


async def test_a_person_cannot_press_what_they_do_not_see(stage: FeishuStage) -> None:
    feishu, message_id = stage.simulator, await put(stage)
    stage.receive = answering(HttpAnswer())
    stranger = feishu.add_person("Stranger")
    for press in (
        feishu.approve(stranger.open_id, message_id),
        feishu.approve(stage.gone.open_id, message_id),
        feishu.press(stage.account_id, message_id, "Transfer everything"),
        feishu.deny(stage.account_id, message_id, "  "),
        feishu.deny(stage.account_id, message_id, "x" * 501),
        feishu.press(stage.account_id, message_id, "deny", form={"reason": "x", "amount": "1"}),
    ):
        with pytest.raises(CannotPressError):
            await press
    feishu.message(message_id).recalled = True
    with pytest.raises(CannotPressError):
        await feishu.approve(stage.account_id, message_id)
    assert stage.calls == []


async def test_a_label_on_several_buttons_names_none_of_them(stage: FeishuStage) -> None:
    feishu, message_id = stage.simulator, await put(stage, also=(a_card(buttons=some_buttons(approve="yes-1")),))
    stage.receive = answering(HttpAnswer())
    with pytest.raises(CannotPressError, match="2 buttons"):
        await feishu.press(stage.account_id, message_id, "同意")
    await feishu.press(stage.account_id, message_id, "yes-1")
    assert b'"yes-1"' in feishu.last_delivery.payload
    await feishu.approve(stage.account_id, message_id)
    assert b'"yes-1"' not in feishu.last_delivery.payload


async def test_a_small_button_is_never_taken_for_approve(stage: FeishuStage) -> None:
    message_id = await put(stage, buttons=some_buttons(approve=None), controls=chat_controls())
    with pytest.raises(CannotPressError):
        await stage.simulator.approve(stage.account_id, message_id)


async def test_buttons_die_after_fourteen_days(stage: FeishuStage) -> None:
    message_id = await put(stage)
    stage.clock.advance(timedelta(days=14, seconds=1))
    with pytest.raises(CannotPressError):
        await stage.simulator.approve(stage.account_id, message_id)


@pytest.mark.parametrize(
    "answer",
    [
        HttpAnswer(status=500),
        HttpAnswer(status=401),
        HttpAnswer(status=302),
        HttpAnswer(body={"ok": True}),
        HttpAnswer(body={"toast": {"type": "happy", "content": "x"}}),
        HttpAnswer(body={"toast": {"type": "info"}}),
        HttpAnswer(body={"toast": {"type": "info", "content": "x", "colour": "red"}}),
        HttpAnswer(body={"toast": "done"}),
        HttpAnswer(body={"card": {"type": "raw"}}),
        HttpAnswer(body={"card": {"type": "raw", "data": card({"tag": "note"})}}),
        HttpAnswer(body={"card": card()}),
    ],
)
async def test_an_answer_that_the_platform_does_not_take_shows_its_own_error(
    stage: FeishuStage, answer: HttpAnswer
) -> None:
    message_id = await put(stage)
    stage.receive = answering(answer)
    press = await stage.simulator.approve(stage.account_id, message_id)
    assert (press.error, press.toast, press.updated) == (200340, None, False)
    assert len(stage.simulator.message(message_id).versions) == 1


async def test_an_answer_that_never_comes_shows_the_platform_s_error(
    stage: FeishuStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.feishu.simulator.clicks.DEADLINE_SECONDS", 0.2)
    message_id, never = await put(stage), asyncio.Event()
    stage.receive = answering(HttpAnswer(), never)
    press = await stage.simulator.approve(stage.account_id, message_id)
    assert (press.error, press.status) == (200340, 0)
    never.set()


async def test_an_empty_answer_changes_nothing(stage: FeishuStage) -> None:
    message_id = await put(stage)
    stage.receive = answering(HttpAnswer())
    press = await stage.simulator.approve(stage.account_id, message_id)
    assert (press.error, press.toast, press.updated) == (None, None, False)


async def test_the_card_cannot_be_patched_while_a_click_is_in_flight(stage: FeishuStage) -> None:
    message_id, gate, arrived = await put(stage), asyncio.Event(), asyncio.Event()
    ref = MessageRef(app_id="", tenant="", chat_id=stage.channel.chat_id, message_id=message_id)

    async def receive(call: InboundCall) -> HttpAnswer:
        arrived.set()
        await gate.wait()
        return HttpAnswer()

    stage.receive = receive
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.simulator.approve(stage.account_id, message_id))
        await arrived.wait()
        with pytest.raises(ChannelUnavailableError) as caught:
            await stage.channel.refresh(ref, a_card(buttons=None))
        gate.set()
    assert caught.value.retry_after == timedelta(seconds=2)
    await stage.channel.refresh(ref, a_card(buttons=None))


async def test_the_view_is_json_with_what_everybody_saw(stage: FeishuStage) -> None:
    message_id = await put(stage)
    stage.receive = answering(HttpAnswer(body={"toast": {"type": "success", "content": "好"}}))
    await stage.simulator.approve(stage.account_id, message_id)
    [shown] = json.loads(json.dumps(stage.simulator.view(stage.channel.chat_id)))
    assert shown["message_id"] == message_id
    assert shown["buttons"] == ["同意", "拒绝"]
    assert shown["toasts"] == {stage.account_id: {"type": "success", "content": "好"}}
    assert shown["versions"] == 1


async def test_a_fault_hits_one_call_and_is_gone(stage: FeishuStage) -> None:
    stage.simulator.fail_next("is_in_chat", Fault.SERVER_ERROR)
    findings = await stage.channel.examine()
    assert [finding.severity for finding in findings].count(Severity.ERROR) == 1
    assert {finding.severity for finding in await stage.channel.examine()} == {Severity.OK}
