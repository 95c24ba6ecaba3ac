"""Each receiver goes at its own pace: whoever lets a gateway wait holds up nobody else, and it shows."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import structlog

from app.domain.trail.audit import Kind
from app.storage.trail.webhook_cursors import list_cursors
from app.usecases.platforms import send_webhooks
from app.usecases.platforms.send_webhooks import ALARM_AFTER, NotTakenError, SendWebhooks
from tests.fixtures.patience import eventually
from tests.requirements import requirement
from tests.storage.rig import ManualClock, open_store
from tests.usecases.platforms.test_send_webhooks import Book, Desk, hook

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import pytest

    from app.domain.trail.webhooks import Webhook

SOON = 20
"""Seconds for what comes at once: less than a receiver that hangs is waited for anywhere."""

SIEM, PAGER = (hook(f"https://{name}.example/", name=name) for name in ("siem", "pager"))


@dataclass(slots=True)
class Outside:
    """Receivers by name, which answer as they are told to."""

    got: dict[str, int] = field(default_factory=dict[str, int])
    gates: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    refuses: str = ""
    breaks: str = ""

    async def __call__(self, webhook: Webhook, body: bytes, headers: Mapping[str, str]) -> None:
        del body, headers
        self.got[webhook.name] = self.got.get(webhook.name, 0) + 1
        if webhook.name in self.gates:
            await self.gates[webhook.name].wait()
        if webhook.name == self.refuses:
            raise NotTakenError("status 500")
        if webhook.name == self.breaks:
            raise ZeroDivisionError


@dataclass(slots=True)
class Running(Desk):
    """One gateway's sender, at its work."""

    book: Book
    loop: asyncio.Task[None]

    async def tell(self, *kinds: Kind) -> None:
        await self.say(*kinds)
        self.send.nudge()


@asynccontextmanager
async def running(
    url: str, outside: Outside, *hooks: Webhook, every: timedelta = timedelta(hours=1)
) -> AsyncIterator[Running]:
    clock, book = ManualClock(), Book(hooks)
    async with open_store(url, clock) as store:
        send = SendWebhooks(store=store, book=cast("Any", book), clock=clock, send=outside, every=every)
        await send()  # they are known
        loop = asyncio.ensure_future(send.run())
        try:
            yield Running(store, clock, send, book, loop)
        finally:
            loop.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait_for(loop, SOON)


@requirement("S-36")
async def test_one_that_hangs_holds_up_nobody_else(database_url: str) -> None:
    outside = Outside(gates={"siem": asyncio.Event()})
    async with running(database_url, outside, SIEM, PAGER) as at:
        for told in range(1, 4):
            await at.tell(Kind.CREATED)
            await eventually(lambda told=told: outside.got.get("pager") == told, seconds=SOON)
            await eventually(lambda: outside.got.get("siem") == 1, seconds=SOON)
        outside.gates["siem"].set()
        await eventually(lambda: outside.got["siem"] == 3, seconds=SOON)


@requirement("S-36")
async def test_who_asked_to_come_back_later_is_not_held_up_by_one_that_hangs(sqlite_url: str) -> None:
    outside = Outside(gates={"siem": asyncio.Event()}, refuses="pager")
    async with running(sqlite_url, outside, SIEM, PAGER, every=timedelta(milliseconds=10)) as at:
        await at.tell(Kind.CREATED)
        await eventually(lambda: at.send.failing, seconds=SOON)
        outside.refuses = ""
        at.clock.advance(timedelta(seconds=1))
        await eventually(lambda: outside.got["pager"] == 2, seconds=SOON)


async def test_a_receiver_that_lets_us_wait_shows_before_it_has_failed(sqlite_url: str) -> None:
    outside = Outside(gates={"siem": asyncio.Event()}, refuses="siem")
    async with running(sqlite_url, outside, SIEM, PAGER) as at:
        await at.tell(Kind.CREATED)
        await eventually(lambda: outside.got == {"siem": 1, "pager": 1}, seconds=SOON)
        began = at.clock.now()
        at.clock.advance(timedelta(seconds=4))
        assert at.send.failing == ()
        at.clock.advance(timedelta(seconds=2))
        [failing] = at.send.failing
        assert (failing.webhook, failing.why, failing.since) == ("siem", "no answer yet", began)
        outside.gates["siem"].set()
        await eventually(lambda: at.send.failing[0].why == "status 500", seconds=SOON)
        assert at.send.failing[0].since == began, "it is counted from when it was first waited for"


@requirement("S-36")
async def test_one_that_is_taken_out_of_the_file_ends_and_comes_back_with_it(sqlite_url: str) -> None:
    outside = Outside()
    async with running(sqlite_url, outside, SIEM, PAGER) as at:
        await at.tell(Kind.CREATED)
        await eventually(lambda: outside.got == {"siem": 1, "pager": 1}, seconds=SOON)
        at.book.webhooks = (PAGER,)
        await at.tell(Kind.CREATED)
        await eventually(lambda: outside.got["pager"] == 2, seconds=SOON)
        await eventually(lambda: at.send._woken.keys() == {("acme", "pager")}, seconds=SOON)
        assert outside.got["siem"] == 1
        at.book.webhooks = (SIEM, PAGER)
        at.send.nudge()
        await eventually(lambda: outside.got["siem"] == 2, seconds=SOON)


async def test_a_stop_ends_one_that_hangs(sqlite_url: str) -> None:
    outside = Outside(gates={"siem": asyncio.Event()})
    async with running(sqlite_url, outside, SIEM) as at:
        await at.tell(Kind.CREATED)
        await eventually(lambda: outside.got.get("siem") == 1, seconds=SOON)
        at.loop.cancel()
        await asyncio.wait({at.loop}, timeout=SOON)
        assert at.loop.cancelled()
        assert at.send._woken == {}


async def test_only_so_many_are_sent_to_at_once_and_none_of_the_others_has_a_lease(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_webhooks, "_AT_ONCE", 2)
    hooks = [hook(f"https://{name}.example/", name=name) for name in ("a", "b", "c", "d")]
    outside = Outside(gates={each.name: asyncio.Event() for each in hooks})
    async with running(sqlite_url, outside, *hooks) as at:
        await at.tell(Kind.CREATED)
        await eventually(lambda: len(outside.got) == 2, seconds=SOON)
        leased = await at.store.read(lambda tx: [each.name for each in list_cursors(tx) if each.attempts], org="acme")
        assert set(leased) == outside.got.keys()
        for gate in outside.gates.values():
            gate.set()
        await eventually(lambda: outside.got == dict.fromkeys("abcd", 1), seconds=SOON)


async def test_a_defect_with_one_receiver_is_said_and_stops_no_other(sqlite_url: str) -> None:
    outside = Outside(breaks="siem")
    with structlog.testing.capture_logs() as logged:
        async with running(sqlite_url, outside, SIEM, PAGER) as at:
            for told in (1, 2):
                await at.tell(Kind.CREATED)
                await eventually(lambda told=told: outside.got.get("pager") == told, seconds=SOON)
            await eventually(lambda: any(line["event"] == "webhook.failed" for line in logged), seconds=SOON)
            assert not at.loop.done()


@requirement("S-36")
async def test_every_gateway_says_how_a_receiver_stands_whichever_sent_to_it(database_url: str) -> None:
    clock, outside, book = ManualClock(), Outside(refuses="siem"), cast("Any", Book((SIEM,)))
    async with open_store(database_url, clock) as store:
        one, two = (
            SendWebhooks(store=store, book=book, clock=clock, send=outside, every=timedelta(hours=1)) for _ in range(2)
        )
        at = Desk(store, clock, one)
        await one()
        await at.say(Kind.CREATED)
        for _ in range(2):
            await one()
            await two()
            assert [each.why for each in two.failing] == ["status 500"]
            clock.advance(ALARM_AFTER * 2)
        outside.refuses = ""
        await two()
        await one()
        assert (one.failing, two.failing) == ((), ())
