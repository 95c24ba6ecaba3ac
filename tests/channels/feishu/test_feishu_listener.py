"""The long connection, end to end: the stand-in's frames (hand-written protobuf) against ours (the SDK's class)."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from app.ports import Click, ClickOutcome, ClickResult, HttpAnswer, Ignored, Post
from channels.feishu.channel import ListeningFeishuChannel
from channels.feishu.client import FeishuClient
from channels.feishu.listener import Listener
from channels.feishu.simulator.simulator import Fault
from channels.feishu.simulator.wire import DATA, Frame
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.channels.feishu.feishu_cards import APPROVE, DENY, a_card
from tests.fixtures.patience import HANGS
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.ports import Inbound, MessageRef


class Gateway:
    """Records what the connection brings."""

    def __init__(self, stage: FeishuStage) -> None:
        self.stage = stage
        self.seen: list[Inbound] = []
        self.gates: dict[str, asyncio.Event] = {}  # by account: hold this person's clicks
        self.arrived = asyncio.Event()
        self.failing = False

    async def receive(self, inbound: Inbound) -> HttpAnswer:
        self.seen.append(inbound)
        self.arrived.set()
        if self.failing:
            raise RuntimeError("the database is away")
        if not isinstance(inbound, Click):
            return HttpAnswer()
        if inbound.account_id in self.gates:
            await self.gates[inbound.account_id].wait()
        card = a_card(buttons=None, outcome="王芳 已同意")
        outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="已记录。", card=card)
        return self.stage.channel.answer(inbound, outcome)


@asynccontextmanager
async def listening(stage: FeishuStage) -> AsyncIterator[Gateway]:
    gateway = Gateway(stage)
    assert isinstance(stage.channel, ListeningFeishuChannel)
    task = asyncio.create_task(stage.channel.listen(gateway.receive))
    try:
        async with asyncio.timeout(HANGS):  # the SDK's import
            await stage.simulator.wait_connected()
        yield gateway
    finally:
        task.cancel()
        async with asyncio.timeout(HANGS):
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def stage() -> AsyncIterator[FeishuStage]:
    async with feishu_stage(receive="websocket") as stage:
        yield stage


async def test_credentials_that_are_refused_are_one_line_and_a_long_pause(stage: FeishuStage) -> None:
    pauses: list[float] = []
    enough = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            enough.set()
            await asyncio.Event().wait()

    channel = stage.channel
    wrong = FeishuClient(channel._settings.model_copy(update={"app_secret": SecretStr("w" * 32)}))
    listener = Listener(
        name="pay",
        client=wrong,
        audience=channel._audience,
        domain=stage.settings.domain,
        jitter=lambda: 1.0,
        sleep=pause,
    )
    with capture_logs() as told:
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(listener.run(Gateway(stage).receive))
            async with asyncio.timeout(HANGS):  # the SDK's import
                await enough.wait()
            listening.cancel()
    await wrong.close()
    assert [(entry["event"], entry["mend"]) for entry in told] == [("connection.refused", "assent doctor")] * 4
    assert pauses == [32.0, 64.0, 120.0, 120.0]


async def post(stage: FeishuStage, key: str = "k") -> MessageRef:
    return await stage.channel.post(Post(card=a_card(), chat_id=stage.channel.chat_id, key=key))


@pytest.mark.parametrize("frame_type", ["event", "card"])
@pytest.mark.parametrize("chunks", [1, 3, 40])
async def test_a_click_is_received_answered_and_shown(stage: FeishuStage, frame_type: str, chunks: int) -> None:
    ref = await post(stage)
    stage.simulator.clicker.frame_type = frame_type
    stage.simulator.clicker.chunks = chunks
    async with listening(stage) as gateway:
        press = await stage.click_approve(ref)
        assert (press.sentence, press.updated) == ("已记录。", True)
        [click] = gateway.seen
        assert isinstance(click, Click)
        assert (click.token, click.account_id, click.message_id) == (APPROVE, stage.account_id, ref.message_id)
        assert click.tenant == ref.tenant
        assert not stage.has_buttons(ref)
    assert stage.calls == []


async def test_a_denial_carries_its_reason(stage: FeishuStage) -> None:
    ref = await post(stage)
    async with listening(stage) as gateway:
        await stage.click_deny(ref, "金额不对")
        [click] = gateway.seen
        assert isinstance(click, Click)
        assert (click.token, click.reason) == (DENY, "金额不对")


async def test_a_slow_click_holds_up_no_other(stage: FeishuStage) -> None:
    slow, quick = await post(stage, "k1"), await post(stage, "k2")
    async with listening(stage) as gateway:
        gate = gateway.gates[stage.alice.open_id] = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(stage.click_approve(slow))
            await gateway.arrived.wait()
            press = await stage.click_approve(quick, user=stage.bob.open_id)
            assert press.updated
            assert not waiting.done()
            gate.set()
        assert waiting.result().updated


async def test_a_click_that_takes_too_long_is_told_so_and_can_be_pressed_again(
    stage: FeishuStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.feishu.listener.ANSWER_SECONDS", 0.1)
    ref = await post(stage)
    async with listening(stage) as gateway:
        gate = gateway.gates[stage.alice.open_id] = asyncio.Event()
        press = await stage.click_approve(ref)
        assert (press.error, press.status) == (200340, 500)
        gate.set()
        assert (await stage.click_approve(ref)).updated


@pytest.mark.may_block  # the traceback that is logged is made from source files
async def test_a_click_that_fails_ends_neither_the_connection_nor_the_next(stage: FeishuStage) -> None:
    ref = await post(stage)
    async with listening(stage) as gateway:
        gateway.failing = True
        assert (await stage.click_approve(ref)).status == 500
        gateway.failing = False
        assert (await stage.click_approve(ref)).updated


@requirement("S-46")
@pytest.mark.parametrize("change", ["app_id", "tenant", "shape", "json", "doubled key"])
async def test_a_frame_that_is_not_for_us_is_refused(stage: FeishuStage, change: str) -> None:
    ref = await post(stage)
    stage.channel = type(stage.channel)(
        "pay",
        stage.settings.model_copy(update={"tenant_key": stage.simulator.platform.app.tenant_key}),
        stage.channel._client,
        jitter=lambda: 0.0,
    )
    async with listening(stage) as gateway:
        await stage.click_approve(ref)
        genuine = stage.simulator.last_delivery
        payload = json.loads(genuine.payload)
        if change == "app_id":
            payload["header"]["app_id"] = "cli_another"
        elif change == "tenant":
            payload["header"]["tenant_key"] = "another"
        elif change == "shape":
            del payload["event"]["operator"]["open_id"]
        raw = json.dumps(payload).encode()
        if change == "json":
            raw = raw[:-1]
        elif change == "doubled key":
            raw = raw.replace(b'"header": {', b'"header": {"app_id": "x", ', 1)
        reply = await stage.simulator.deliver(type(genuine)(headers=(), body=b"", payload=raw))
        assert (reply.status, reply.body) == (500, b"")
        assert len(gateway.seen) == 1


async def test_other_events_are_acknowledged_without_effect(stage: FeishuStage) -> None:
    app = stage.simulator.platform.app
    event = {
        "schema": "2.0",
        "header": {"event_type": "im.message.receive_v1", "app_id": app.app_id, "event_id": "e"},
        "event": {},
    }
    async with listening(stage) as gateway:
        reply = await stage.simulator.deliver(stage.simulator.forge(event))
        assert (reply.status, reply.body) == (200, b"{}")
        assert isinstance(gateway.seen[0], Ignored)


async def test_a_lost_connection_is_opened_again(stage: FeishuStage) -> None:
    ref = await post(stage)
    async with listening(stage) as gateway:
        await stage.simulator.drop_connections()
        async with asyncio.timeout(HANGS):
            await stage.simulator.wait_connected(0)
            await stage.simulator.wait_connected(1)
        assert (await stage.click_approve(ref)).updated
        assert len(gateway.seen) == 1
    assert stage.simulator.count("endpoint") == 2


@pytest.mark.heavy
async def test_a_platform_that_is_away_is_tried_until_it_is_back(stage: FeishuStage) -> None:
    for fault in (Fault.SERVER_ERROR, Fault.GARBAGE):
        stage.simulator.fail_next("endpoint", fault)
    async with listening(stage):
        assert stage.simulator.count("endpoint") == 3


async def test_stopping_closes_the_connection(stage: FeishuStage) -> None:
    async with listening(stage):
        pass
    async with asyncio.timeout(HANGS):
        await stage.simulator.wait_connected(0)


async def test_stopping_does_not_wait_for_a_click_that_hangs(stage: FeishuStage) -> None:
    ref = await post(stage)
    async with listening(stage) as gateway:
        gateway.gates[stage.alice.open_id] = asyncio.Event()
        pressing = asyncio.create_task(stage.click_approve(ref))
        await gateway.arrived.wait()
    pressing.cancel()
    await asyncio.gather(pressing, return_exceptions=True)


async def test_an_address_without_encryption_is_not_opened_on_the_real_platform(stage: FeishuStage) -> None:
    listener = Listener(
        name="pay",
        client=stage.channel._client,
        audience=stage.channel._audience,
        domain="https://open.feishu.cn",
        jitter=lambda: 0.0,
    )
    task = asyncio.create_task(listener.run(Gateway(stage).receive))
    async with asyncio.timeout(30):
        await stage.simulator.wait_called("endpoint", 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert stage.simulator.app.connections == []


async def test_the_wait_grows_with_every_failure_up_to_what_the_platform_asks(stage: FeishuStage) -> None:
    def wait(failures: int, jitter: float) -> float:
        listener: Any = Listener(
            name="pay",
            client=stage.channel._client,
            audience=stage.channel._audience,
            domain="http://127.0.0.1",
            jitter=lambda: jitter,
        )
        return listener._pause(failures, 120.0)

    assert [wait(failures, 1.0) for failures in (0, 1, 2, 3, 7, 8, 99)] == [0.5, 1.0, 2.0, 4.0, 64.0, 120.0, 120.0]
    assert wait(3, 0.0) == 2.0


async def test_doctor_tries_the_long_connection_too(stage: FeishuStage) -> None:
    findings = await stage.channel.examine()
    assert findings[-1].what == "the long connection"
    assert findings[-1].severity == "ok"


async def test_frames_that_make_no_sense_are_passed_over(stage: FeishuStage) -> None:
    ref = await post(stage)
    async with listening(stage) as gateway:
        [connection] = stage.simulator.app.connections
        await connection._send({"type": "websocket.send", "bytes": b"\xff\xff"})
        await connection._send({"type": "websocket.send", "text": "hello"})
        odd_parts = [("0", "0"), ("-1", "0"), ("x", "0"), ("3", "3"), ("3", "-1"), ("65", "0"), ("1e3", "0")]
        for total, seq in odd_parts:
            headers = {"type": "event", "message_id": "odd", "sum": total, "seq": seq}
            await connection.write(Frame(method=DATA, service=7, headers=headers, payload=b"{}"))
        for seq in ("0", "1"):  # together larger than a callback may be
            headers = {"type": "event", "message_id": "large", "sum": "3", "seq": seq}
            await connection.write(Frame(method=DATA, service=7, headers=headers, payload=b"x" * 200_000))
        for at in range(70):  # first parts whose rest never comes
            headers = {"type": "event", "message_id": f"half-{at}", "sum": "2", "seq": "0"}
            await connection.write(Frame(method=DATA, service=7, headers=headers, payload=b"{"))
        await connection.write(Frame(method=DATA, service=7, headers={"type": "telegram", "message_id": "t"}))
        assert (await stage.click_approve(ref)).updated
        assert len(gateway.seen) == 1
    assert stage.simulator.count("endpoint") == 1
