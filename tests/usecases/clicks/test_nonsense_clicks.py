"""What a channel's package hands in as a click, and answers: looked at before anybody acts on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from structlog.testing import capture_logs

from app.bulkhead.building import behind_bulkhead
from app.bulkhead.calls import ChannelFaultyError
from app.ports import Click, HttpAnswer, ListeningChannel
from tests.fixtures.memory_platform import APP, TENANT, MemoryChannel, MemoryPlatform, memory_spec
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.ports import Inbound
    from tests.fixtures.gateway import Gateway

TOKEN = "tok-0123456789"
GENUINE = {"x-memory": "genuine"}


@requirement("S-04")
@pytest.mark.parametrize(
    "changed",
    [
        {"account_id": 7},
        {"account_id": ""},
        {"chat_id": None},
        {"message_id": 7},
        {"app_id": None},
        {"tenant": ["T1"]},
        {"event_key": None},
        {"event_key": ""},
        {"event_key": "e" * 2000},
        {"event_key": "e\0"},
        {"account_id": "\ud800"},
        {"token": 7},
        {"token": "a1." + "x" * 5000},
        {"fields": ["reason"]},
        {"fields": {"note": 7}},
        {"fields": {"n\0": "x"}},
        {"fields": {str(n): "x" for n in range(200)}},
        {"reason": 7},
        {"wants_form": "yes"},
        {"reply_to": None},
    ],
)
async def test_a_click_that_is_none_is_nobodys(gateway: Gateway, changed: dict[str, Any]) -> None:
    request = await gateway.ask()
    click = gateway.platform.press(gateway.card(request), "U_ALICE", "approve")
    good = {name: getattr(click, name) for name in click.__struct_fields__}
    with capture_logs() as logs:
        said = await gateway.http.post(
            "/v1/channels/chat/callback", content=json.dumps({**good, **changed}), headers=GENUINE
        )
    assert (said.status_code, said.json()["code"]) == (401, "unauthenticated")
    [faulty] = [each for each in logs if each["event"] == "channel.faulty"]
    assert (faulty["channel"], faulty["call"]) == ("chat", "read")
    assert (await gateway.read(request))["decisions"] == []
    said = await gateway.http.post("/v1/channels/chat/callback", content=json.dumps(good), headers=GENUINE)
    assert said.json()["result"] == "recorded"


@requirement("S-10")
@pytest.mark.parametrize("length", [501, 200_000])
async def test_a_reason_that_is_too_long_is_said_to_be_and_not_recorded(gateway: Gateway, length: int) -> None:
    request = await gateway.ask()
    click = gateway.platform.press(gateway.card(request), "U_ALICE", "deny", reason="x" * length)
    body = {name: getattr(click, name) for name in click.__struct_fields__}
    said = await gateway.http.post("/v1/channels/chat/callback", content=json.dumps(body), headers=GENUINE)
    assert said.json()["result"] == "retry"
    assert "500 characters at most" in said.json()["sentence"]
    assert (await gateway.read(request))["decisions"] == []
    body |= {"reason": "\ud800" + "é" * 499, "event_key": "another"}
    said = await gateway.http.post("/v1/channels/chat/callback", content=json.dumps(body), headers=GENUINE)
    assert said.json()["result"] == "recorded"
    assert (await gateway.read(request))["decisions"][0]["reason"] == "?" + "é" * 499


@requirement("F-45")
@pytest.mark.parametrize("wrong", [None, HttpAnswer(body={"card": object()}), HttpAnswer(body={"x": "\ud800"})])
async def test_an_answer_that_is_none_takes_nothing_back(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, wrong: object
) -> None:
    monkeypatch.setattr(MemoryChannel, "answer", lambda *_: wrong)
    request = await gateway.ask()
    click = gateway.platform.press(gateway.card(request), "U_ALICE", "approve")
    body = {name: getattr(click, name) for name in click.__struct_fields__}
    said = await gateway.http.post("/v1/channels/chat/callback", content=json.dumps(body), headers=GENUINE)
    assert (said.status_code, said.content) == (200, b"")
    assert (await gateway.read(request))["state"] == "approved"


class Listening(MemoryChannel):
    """Has a connection, and hears nonsense on it."""

    connected = True

    async def listen(self, receive: Callable[[Inbound], Any]) -> None:
        self.answers = [await receive(cast("Any", each)) for each in ("a click", CLICK)]
        raise KeyError(TOKEN)


CLICK = Click(token="t", app_id=APP, tenant=TENANT, account_id="U", chat_id="C", message_id="m", event_key="e")


async def test_what_comes_over_a_connection_passes_the_same_door() -> None:
    settings = memory_spec(MemoryPlatform()).settings.model_validate({"type": "memory", "chat": "C1"})
    own = Listening("chat", cast("Any", settings), MemoryPlatform())
    channel = behind_bulkhead("chat", "memory", own)
    assert isinstance(channel, ListeningChannel)
    deaf = MemoryChannel("chat", cast("Any", settings), MemoryPlatform())
    assert not isinstance(behind_bulkhead("chat", "memory", deaf), ListeningChannel)
    heard: list[Inbound] = []

    async def receive(inbound: Inbound) -> HttpAnswer:
        heard.append(inbound)
        return HttpAnswer()

    with pytest.raises(ChannelFaultyError, match="failed in listen: KeyError") as raised:
        await channel.listen(receive)
    assert TOKEN not in str(raised.value)
    assert heard == [CLICK]
    assert [answer.status for answer in own.answers] == [401, 200]
