"""Where our clients go: to the platform's hosts, and nowhere that an answer sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response as Answer

from app.ports import ChannelRefusedError, ChannelUnavailableError, Post
from channels.feishu.listener import _Connect
from channels.feishu.settings import is_own_connection
from channels.feishu.simulator.simulator import Fault as FeishuFault
from channels.slack.details.failures import RedirectRefusedError
from channels.slack.settings import is_own_socket
from channels.slack.simulator.simulator import Fault as SlackFault
from tests.channels.feishu.conformance_feishu import feishu_stage
from tests.channels.feishu.feishu_cards import a_card
from tests.channels.slack.conformance_slack import ALICE, CARD, slack_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

APP_TOKEN = "xapp-1-A0APPR0VAL-simulated"


@requirement("S-35", "S-78")
@pytest.mark.parametrize("operation", ["token", "send", "patch", "reply", "batch_get_id", "get_user", "endpoint"])
async def test_no_call_to_feishu_follows_a_redirect(operation: str) -> None:
    async with feishu_stage() as stage:
        channel, client = stage.channel, stage.channel._client
        ref = None
        if operation in {"patch", "reply"}:
            ref = await channel.post(Post(card=a_card(), chat_id=channel.chat_id, key="dlv_0.1"))
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "token": client.check_credentials,
            "send": lambda: channel.post(Post(card=a_card(), chat_id=channel.chat_id, key="dlv_1.1")),
            "patch": lambda: client.replace_card(ref.message_id if ref else "", "{}"),
            "reply": lambda: client.reply(ref.message_id if ref else "", "{}", "u"),
            "batch_get_id": lambda: channel.look_up(email=stage.email, account_id=""),
            "get_user": lambda: channel.look_up(email="", account_id=stage.account_id),
            "endpoint": client.find_endpoint,
        }
        stage.simulator.fail_next(operation, FeishuFault.REDIRECT)
        with pytest.raises((ChannelRefusedError, ChannelUnavailableError)):
            await calls[operation]()
        assert "elsewhere" not in [call.operation for call in stage.simulator.calls]


@requirement("S-35", "S-78")
@pytest.mark.parametrize("method", ["chat.postMessage", "users.info", "apps.connections.open", "auth.test"])
async def test_no_call_to_slack_follows_a_redirect(method: str) -> None:
    async with slack_stage() as stage:
        channel, client = stage.channel, stage.channel._client
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "chat.postMessage": lambda: channel.post(Post(card=CARD, chat_id=channel.chat_id, key="dlv_1.1")),
            "users.info": lambda: channel.look_up(email="", account_id=ALICE),
            "apps.connections.open": lambda: client.open_socket_address(APP_TOKEN),
            "auth.test": lambda: client.call("auth.test", {}),
        }
        await channel._own_team()
        stage.simulator.fail_next(method, SlackFault.REDIRECT)
        with pytest.raises((ChannelRefusedError, ChannelUnavailableError)):
            await calls[method]()
        assert "elsewhere" not in [call.method for call in stage.simulator.world.calls]


@requirement("S-78")
def test_the_long_connection_of_feishu_goes_to_the_platform_alone() -> None:
    feishu, lark, own = "https://open.feishu.cn", "https://open.larksuite.com", "https://open.lark.acme.example"
    good = [
        ("wss://msg-frontier.feishu.cn/ws/v2?ticket=x", feishu),
        ("wss://msg-frontier-sg.larksuite.com/ws/v2", lark),
        ("wss://ws.open.lark.acme.example/", own),
        ("ws://127.0.0.1:9000/callback/ws", "http://127.0.0.1:9000"),
    ]
    bad = [
        ("ws://msg-frontier.feishu.cn/ws/v2", feishu),
        ("wss://msg-frontier.feishu.cn.evil.example/", feishu),
        ("wss://evilfeishu.cn/", feishu),
        ("wss://msg-frontier.feishu.cn@evil.example/", feishu),
        ("wss://evil.example/?x=.feishu.cn", feishu),
        ("wss://other.acme.example/", own),
        ("ws://evil.example/", "http://127.0.0.1:9000"),
        ("wss:///", feishu),
    ]
    assert [each for each in good if not is_own_connection(each[0], domain=each[1])] == []
    assert [each for each in bad if is_own_connection(each[0], domain=each[1])] == []


@requirement("S-78")
def test_the_socket_of_slack_goes_to_slack_alone() -> None:
    api = "https://slack.com/api/"
    assert is_own_socket("wss://wss-primary.slack.com/link/?ticket=x", api_url=api)
    assert is_own_socket("wss://wss.slack-gov.com/link/", api_url="https://slack-gov.com/api/")
    for url in (
        "ws://wss-primary.slack.com/",
        "wss://notslack.com/",
        "wss://slack.com.evil.example/",
        "wss://wss-primary.slack.com@evil.example/",
        "wss://127.0.0.1/",
    ):
        assert not is_own_socket(url, api_url=api), url


@requirement("S-78")
async def test_an_address_elsewhere_is_never_connected_to() -> None:
    async with slack_stage() as stage:
        stage.simulator.world.tampers["apps.connections.open"] = lambda answer: {**answer, "ticket": "t"}
        stage.simulator.app.public_url = "http://evil.example"
        with pytest.raises(ChannelRefusedError, match="hosts"):
            await stage.channel._client.open_socket_address(APP_TOKEN)


@requirement("S-78")
async def test_neither_connection_follows_a_redirect_of_its_handshake() -> None:
    gone = InvalidStatus(Answer(302, "Found", Headers({"Location": "ws://127.0.0.1:9/elsewhere"})))
    assert _Connect("ws://127.0.0.1:9/").process_redirect(gone) is gone
    async with slack_stage() as stage:
        socket = await stage.channel._client.socket(APP_TOKEN)
        with pytest.raises(RedirectRefusedError):
            await socket.aiohttp_client_session.get(f"{stage.simulator.public_url}/moved")
        assert "elsewhere" not in [call.method for call in stage.simulator.world.calls]
        await socket.aiohttp_client_session.close()
