"""Alarms reach a chat: once for each cause, once when it is over, by one gateway, where a channel still works."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.domain.text.language import Language
from app.domain.trail.alarms import Alarm, Cause
from app.domain.trail.audit import Kind, Record
from app.domain.trail.told import told
from app.ports import ChannelUnavailableError
from app.storage.engine.dialect import to_us
from app.usecases.platforms.contact import DEAF_AFTER
from app.usecases.platforms.renew_access import AccessTrouble
from app.usecases.platforms.send_webhooks import ALARM_AFTER
from app.usecases.upkeep.watch_alarms import STUCK_AFTER
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.patience import HANGS
from tests.fixtures.platforms import open_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = pytest.mark.may_block  # the files of two gateways are read

STUCK = "ALARM: what is to be shown on chat has waited for more than five minutes"
WEBHOOKS = """
webhooks:
  siem: {url: "https://siem.example/hook", secret: "${SIEM}", kinds: [request.approved]}
"""


@asynccontextmanager
async def two(url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[tuple[Gateway, Gateway]]:
    """Run two gateways on one database."""
    clock = ManualClock() if url.startswith("sqlite") else None
    async with (
        open_gateway(url, config, platform, clock=clock) as a,
        open_gateway(url, config, platform, clock=clock) as b,
    ):
        await beat(a, b)
        yield a, b


async def beat(*gateways: Gateway) -> None:
    for g in gateways:
        await g.container.replicas()


async def look(*gateways: Gateway) -> None:
    """Let everybody look, at the same time and then again."""
    await asyncio.gather(*(g.container.alarms() for g in gateways))
    for g in gateways:
        await g.container.alarms()


def said(g: Gateway) -> list[tuple[str, str, str]]:
    """Return what acme's trail says of alarms: raised or over, the cause, and what it is about."""
    rows = g.rows("SELECT kind, facts FROM audit_events WHERE kind LIKE 'alarm.%' AND org = 'acme' ORDER BY seq")
    facts = [(row["kind"], json.loads(row["facts"])) for row in rows]
    return [(kind.removeprefix("alarm."), fact["cause"], fact["of"]) for kind, fact in facts]


async def until_connected(channel: Any) -> None:
    async with asyncio.timeout(HANGS):
        while not channel.connected:  # noqa: ASYNC110 - the channel's own state
            await asyncio.sleep(0.01)


def back(g: Gateway, column: str, table: str, span: timedelta) -> None:
    """Let something have stood for so long."""
    g.rows(f"UPDATE {table} SET {column} = {column} - {span // timedelta(microseconds=1)}")


async def test_an_unknown_outcome_is_said_by_one_gateway_once_and_again_when_it_is_settled(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with two(database_url, config, platform) as (a, b):
        request = await a.ask()
        await a.decide(request)
        await a.claim(request)
        await a.report(request, "unknown", error="the line broke")
        await a.quiet()
        await look(a, b)
        words = f"nobody knows whether {request['id']} ran: somebody must look, and settle it"
        assert platform.announcements == [("C1", f"ALARM: {words}")]
        assert said(a) == [("raised", "unknown_outcome", request["id"])]

        settled = {"status": "succeeded", "note": "seen on the statement of March"}
        answer = await a.call("POST", f"/v1/requests/{request['id']}/reconcile", settled, who="admin")
        assert answer.status_code == 200, answer.text
        await look(b, a)
        assert platform.announcements[1:] == [("C1", f"the alarm is over: {words}")]
        assert said(a)[1:] == [("over", "unknown_outcome", request["id"])]
        assert (await a.verify())[1] is None


async def test_a_stuck_outbox_is_said_where_a_channel_still_works(gateway: Gateway) -> None:
    gateway.platform.broken["chat"] = ChannelUnavailableError("away")
    await gateway.ask()
    await look(gateway)
    assert said(gateway) == []  # a moment is none
    back(gateway, "created_at", "outbox", STUCK_AFTER)
    await look(gateway)
    assert gateway.platform.announcements == [("C2", STUCK)]
    gateway.platform.broken.clear()
    gateway.rows("UPDATE outbox SET due_at = 0")
    await gateway.quiet()
    await look(gateway)
    assert gateway.platform.announcements[1:] == [("C1", STUCK.replace("ALARM:", "the alarm is over:"))]
    assert said(gateway) == [("raised", "stuck", "chat"), ("over", "stuck", "chat")]


async def test_where_no_channel_works_it_is_said_as_soon_as_one_does(gateway: Gateway) -> None:
    for name in ("chat", "chat-two"):
        gateway.platform.broken[name] = ChannelUnavailableError("away")
    await gateway.ask()
    back(gateway, "created_at", "outbox", STUCK_AFTER)
    with capture_logs() as logs:
        await look(gateway)
    [line] = [line for line in logs if line["event"] == "alarm.unsaid"]
    assert (line["alarms"], line["log_level"], line["why"]) == (["stuck of chat"], "error", "no channel takes it")
    assert [line["channel"] for line in logs if line["event"] == "announcement.unsaid"] == ["chat-two", "chat"]
    assert (said(gateway), gateway.platform.announcements) == ([("raised", "stuck", "chat")], [])
    del gateway.platform.broken["chat-two"]
    await look(gateway)
    assert gateway.platform.announcements == [("C2", STUCK)]


async def test_where_the_file_has_no_chat_the_log_names_each_alarm_once_and_again_hourly(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock()
    async with open_gateway(sqlite_url, config, platform, clock=clock) as g:
        g.container.channels.replace({})

        async def unknown() -> str:
            request = await g.ask("by_api")
            await g.decide(request)
            await g.claim(request)
            await g.report(request, "unknown", error="the line broke")
            return f"unknown_outcome of {request['id']}"

        async def logged(times: int = 3) -> list[tuple[str, list[str]]]:
            with capture_logs() as logs:
                for _ in range(times):
                    await g.container.alarms()
            return [(line["log_level"], line["alarms"]) for line in logs if line["event"] == "alarm.unsaid"]

        one = await unknown()
        assert await logged() == [("warning", [one])]
        clock.advance(timedelta(minutes=59))
        assert await logged() == []
        clock.advance(timedelta(minutes=2))
        assert await logged() == [("warning", [one])]
        two = await unknown()
        assert await logged() == [("warning", [one, two])]


async def test_a_receiver_that_takes_nothing_is_said(database_url: str, config: Path, platform: MemoryPlatform) -> None:
    path = config / "acme.yaml"
    path.write_text(path.read_text() + WEBHOOKS)
    environ = {"SIEM": "whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcywgb2s="}
    async with open_gateway(database_url, config, platform, environ=environ) as g:
        async with asyncio.timeout(HANGS):
            while not g.rows("SELECT 1 FROM webhooks"):  # noqa: ASYNC110 - it begins to tell beside us
                await asyncio.sleep(0.01)
        g.rows(f"UPDATE webhooks SET failing_since = {to_us(g.clock.now())}, due_at = 9007199254740991")
        await look(g)
        assert said(g) == []
        back(g, "failing_since", "webhooks", ALARM_AFTER)
        await look(g)
        assert said(g) == [("raised", "webhook", "siem")]
        words = "ALARM: the receiver siem has taken nothing for a quarter of an hour"
        assert platform.announcements == [("C1", words)]
        g.rewrite(WEBHOOKS, "")
        await g.reload()
        await look(g)
        assert said(g)[1:] == [("over", "webhook", "siem")]  # nobody waits for it any more


async def test_a_channel_without_access_is_said_elsewhere(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    for lost in (False, True):
        trouble = AccessTrouble(org="acme", channel="chat", why="invalid_refresh_token", lost=lost)
        monkeypatch.setattr(gateway.container.renew_access, "troubles", (trouble,))
        await look(gateway)
        assert said(gateway) == [("raised", "cut_off", "chat")] * lost
    [(chat, words)] = gateway.platform.announcements
    assert chat == "C2"
    assert words.startswith("ALARM: chat is cut off: its access is lost")
    assert {row["org"] for row in gateway.rows("SELECT org FROM alarms")} == {"acme"}


async def test_it_is_over_when_the_last_gateway_that_sees_it_sees_it_no_more_or_is_gone(
    database_url: str, config: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(g: Gateway, *names: str) -> None:
        monkeypatch.setattr(g.container.contact, "deaf", lambda: list(names))

    async with two(database_url, config, platform) as (a, b):
        deaf(a, "chat")
        deaf(b, "chat")
        await look(a, b)
        assert [chat for chat, _ in platform.announcements] == ["C2"]
        deaf(a)
        await look(a, b)
        assert said(a) == [("raised", "deaf", "chat")]
        deaf(b)
        await look(a, b)
        deaf(b, "chat")
        await look(b, a)
        assert said(a)[1:] == [("over", "deaf", "chat"), ("raised", "deaf", "chat")]
        await b.container.replicas.leave()
        await a.container.alarms()
        assert said(a)[3:] == [("over", "deaf", "chat")]
        assert len(platform.announcements) == 4


@pytest.mark.heavy
async def test_a_connection_that_stays_down_is_said_over_another_and_over_when_it_stands_again(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with open_stage(sqlite_url, tmp_path, platform, slack="socket", feishu="websocket") as stage:
        async with asyncio.timeout(HANGS):
            await stage.slack.links.wait_open()
            await stage.feishu.wait_connected()
        g, now = stage.gateway, 0.0
        g.container.contact.clock = lambda: now
        channel: Any = g.container.channels.get("acme", "pay-slack")
        await look(g)
        _, (_, listening) = g.container.work._running["acme", "pay-slack"]
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        now = 10.0
        await look(g)
        now = 9.0 + DEAF_AFTER
        await look(g)
        assert said(g) == []
        now = 10.0 + DEAF_AFTER
        await look(g)
        assert said(g) == [("raised", "deaf", "pay-slack")]
        words = Alarm(Cause.DEAF, "pay-slack").record(raised=True)
        assert told(words, Language.EN) in str(stage.feishu.view(stage.feishu_chat))

        async with asyncio.TaskGroup() as group:
            again = group.create_task(channel.listen(lambda _: asyncio.sleep(0)))
            await until_connected(channel)
            await look(g)
            again.cancel()
        assert said(g)[1:] == [("over", "deaf", "pay-slack")]


async def test_what_a_failover_lost_is_said_in_the_words_of_the_trail(gateway: Gateway) -> None:
    lost = Record(
        kind=Kind.COMMITS_LOST, actor="system", facts={"first": 7, "last": 9, "events": 3, "requests": ["req_1"]}
    )
    fenced = Record(kind=Kind.RESTORED, actor="olga@acme.example", facts={"epoch": 2, "reason": "a backup"})

    def unit(tx: Any) -> None:
        tx.append(lost)
        tx.append(fenced)  # by a person, with a command: they know

    await gateway.container.store.write(unit, org="acme")
    await look(gateway)
    assert gateway.platform.announcements == [
        ("C1", "THE DATABASE LOST WHAT WAS COMMITTED: events 7 to 9, of the requests req_1")
    ]


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("cause", Cause)
def test_each_cause_has_words_that_name_what_it_is_about(cause: Cause, language: Language) -> None:
    raised, over = (told(Alarm(cause, "pay-chat").record(raised=raised), language) for raised in (True, False))
    assert "pay-chat" in raised
    assert raised != over
    assert all(each.isascii() for each in (raised, over)) == (language is Language.EN)
