"""A platform has its answer in time whatever hangs behind it, and the click goes on to count."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import UnavailableError
from app.ports import ClickResult, Ignored
from app.usecases.clicks.click import ANSWER_SECONDS
from channels.feishu.callback import Audience, parse_event
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway


@requirement("F-45")
@pytest.mark.parametrize("ends", ["recorded", "away"])
async def test_a_click_behind_a_database_that_hangs_is_answered_in_time_and_goes_on(
    gateway: Gateway, ends: str
) -> None:
    request = await gateway.ask()
    clicks, channel = gateway.container.clicks, gateway.container.channels.get("acme", "chat")
    receive, free = clicks._receive, asyncio.Event()

    async def hang(*arguments: Any) -> Any:
        await free.wait()
        if ends == "away":
            raise UnavailableError("the database does not answer")
        return await receive(*arguments)

    clicks._receive = hang  # pyright: ignore[reportAttributeAccessIssue] - stands in for a frozen database
    clicks.answer_within = 0.2
    click = gateway.platform.press(gateway.card(request), "U_ALICE", "approve")
    async with asyncio.timeout(20):
        answer = await clicks("acme", channel, click)
    assert (answer.body or {})["result"] == "retry"
    assert "is being recorded" in str((answer.body or {})["sentence"])
    assert (await gateway.read(request))["state"] == "pending"
    told = len(gateway.platform.told)
    free.set()
    await eventually(lambda: len(gateway.platform.told) > told)
    assert gateway.platform.told[-1][1].result is (ClickResult.RECORDED if ends == "recorded" else ClickResult.RETRY)
    assert (await gateway.read(request))["state"] == ("approved" if ends == "recorded" else "pending")


@requirement("F-45")
@pytest.mark.may_block  # a traceback is read from files
async def test_a_channel_that_fails_to_say_it_takes_nothing_back(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = await gateway.ask()
    clicks = gateway.container.clicks
    channel: Any = gateway.container.channels.get("acme", "chat")

    def broken(*_: object) -> None:
        raise KeyError("of somebody else's package")

    monkeypatch.setattr(channel.of, "answer", broken)
    answer = await clicks("acme", channel, gateway.platform.press(gateway.card(request), "U_ALICE", "approve"))
    assert (answer.status, answer.body) == (200, None)
    assert (await gateway.read(request))["state"] == "approved"
    await eventually(lambda: gateway.platform.told[-1][1].result is ClickResult.RECORDED)  # beside the answer


@requirement("S-19")
@pytest.mark.may_block  # as above
async def test_a_callback_that_a_channel_cannot_read_is_nobodys(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel: Any = gateway.container.channels.get("acme", "chat")

    def broken(*_: object, **__: object) -> None:
        raise TypeError("comparing strings with non-ASCII characters is not supported")

    monkeypatch.setattr(channel.of, "read", broken)
    said = await gateway.http.post("/v1/channels/chat/callback", content=b"{}")
    assert (said.status_code, said.json()["code"]) == (401, "unauthenticated")
    assert "non-ASCII" not in said.text


@requirement("F-45")
def test_the_answer_leaves_before_the_platform_gives_up() -> None:
    assert ANSWER_SECONDS < 2.5


@requirement("F-46")
@pytest.mark.parametrize("value", [None, "words", {"somebody": "else's"}, {"v": 2, "t": "a"}])
def test_a_button_of_feishu_that_is_not_ours_is_answered_in_json(value: object) -> None:
    event = {
        "header": {"app_id": "cli_a", "tenant_key": "t", "event_type": "card.action.trigger", "event_id": "e"},
        "event": {
            "operator": {"tenant_key": "t", "open_id": "ou_x"},
            "action": {"value": value, "tag": "button"},
            "context": {"open_chat_id": "oc_x", "open_message_id": "om_x"},
        },
    }
    read = parse_event(event, audience=Audience(app_id="cli_a", tenant_key="t"))
    assert isinstance(read, Ignored)
    assert read.answer.status == 200
    assert set(read.answer.body or {}) == {"toast"}
    assert json.dumps(read.answer.body)
