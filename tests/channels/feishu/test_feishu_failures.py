"""How the platform's failures reach the outbox: passing or final, when to try again, and whether it may have worked."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import ChannelRefusedError, ChannelUnavailableError, Post
from channels.feishu.channel import build
from channels.feishu.client import FeishuClient
from channels.feishu.settings import FeishuSettings
from channels.feishu.simulator.simulator import Fault
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.channels.feishu.feishu_cards import a_card
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.ports import MessageRef


@pytest.fixture
async def stage() -> AsyncIterator[FeishuStage]:
    async with feishu_stage() as stage:
        yield stage


async def post(stage: FeishuStage, *, key: str = "dlv_1.1", **changes: Any) -> MessageRef:
    return await stage.channel.post(Post(card=a_card(**changes), chat_id=stage.channel.chat_id, key=key))


@pytest.mark.parametrize(
    ("fault", "retry_after", "ambiguous", "done"),
    [
        (Fault.RATE_LIMITED, timedelta(seconds=7), False, 0),
        (Fault.CHAT_RATE, timedelta(seconds=1), False, 0),
        (Fault.BUSY, timedelta(seconds=2), True, 0),
        (Fault.SERVER_ERROR, None, True, 0),
        (Fault.SERVER_ERROR_AFTER, None, True, 1),
        (Fault.GARBAGE, None, True, 0),
        (Fault.RESET, None, True, 1),
    ],
)
async def test_a_passing_failure_says_when_and_whether_it_may_have_worked(
    stage: FeishuStage, fault: Fault, retry_after: timedelta | None, ambiguous: bool, done: int
) -> None:
    stage.simulator.fail_next("send", fault)
    with pytest.raises(ChannelUnavailableError) as caught:
        await post(stage)
    assert (caught.value.retry_after, caught.value.ambiguous) == (retry_after, ambiguous)
    assert stage.messages() == done
    await post(stage)
    assert stage.messages() == 1


async def test_a_platform_that_says_nothing_is_given_up_on() -> None:
    async with feishu_stage(call_seconds=2) as stage:
        await stage.channel.warm_up()
        stage.simulator.fail_next("send", Fault.HANG)
        with pytest.raises(ChannelUnavailableError) as caught:
            await post(stage)
    assert caught.value.ambiguous


@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.RESET, Fault.RATE_LIMITED, Fault.GARBAGE])
async def test_a_failure_before_the_message_went_out_is_not_ambiguous(stage: FeishuStage, fault: Fault) -> None:
    stage.simulator.fail_next("token", fault)
    with pytest.raises(ChannelUnavailableError) as caught:
        await post(stage)
    assert not caught.value.ambiguous
    assert stage.simulator.count("send") == 0


async def test_a_platform_that_is_away_is_not_ambiguous(stage: FeishuStage) -> None:
    settings = stage.settings.model_copy(update={"domain": "http://127.0.0.1:9"})
    client = FeishuClient(settings, call_seconds=0.5)
    try:
        with pytest.raises(ChannelUnavailableError, match="cannot be reached") as caught:
            await client.send_card("oc_1", "{}", "u")
    finally:
        await client.close()
    assert not caught.value.ambiguous


async def test_a_locked_card_is_tried_again_in_two_seconds(stage: FeishuStage) -> None:
    ref = await post(stage)
    stage.simulator.fail_next("patch", Fault.LOCKED)
    with pytest.raises(ChannelUnavailableError) as caught:
        await stage.channel.refresh(ref, a_card(buttons=None))
    assert caught.value.retry_after == timedelta(seconds=2)


@requirement("S-51")
async def test_refusals_name_the_code_and_the_mend_and_no_secret(stage: FeishuStage) -> None:
    refusals = []
    stage.simulator.fail_next("send", Fault.REFUSED)
    with pytest.raises(ChannelRefusedError, match=r"230002.*add it under the chat's Settings > Bots") as caught:
        await post(stage)
    refusals.append(caught.value.why)
    stage.simulator.platform.scopes.clear()
    with pytest.raises(ChannelRefusedError, match=r"99991672.*grant it") as caught:
        await post(stage)
    refusals.append(caught.value.why)
    with pytest.raises(ChannelRefusedError, match=r"10014.*app_secret") as caught:
        await _with_wrong_secret(stage)
    refusals.append(caught.value.why)
    told = " ".join(refusals)
    assert "t-0" not in told
    assert "a-wrong-secret" not in told
    assert "80000" not in told


async def _with_wrong_secret(stage: FeishuStage) -> None:
    fields = stage.simulator.settings(stage.channel.chat_id) | {"app_secret": "a-wrong-secret"}
    wrong = build("pay", FeishuSettings.model_validate(fields))
    try:
        await wrong.post(Post(card=a_card(), chat_id=stage.channel.chat_id, key="k"))
    finally:
        await wrong.close()


async def test_a_proxy_of_the_environment_is_not_used_for_a_simulator(
    stage: FeishuStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    assert (await post(stage)).message_id
