"""What runs for each channel: a worker that carries its cards, and, where the platform wants it, a long connection."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from app.domain.errors import AssentError
from app.ports import ChannelRefusedError, ChannelUnavailableError, ListeningChannel
from app.storage.cards.outbox import end_leases, list_neglected
from app.storage.engine.transaction import EVERY_ORG
from app.workers.outbox_worker import LEASE, OutboxWorker

if TYPE_CHECKING:
    from app.ports import Channel, HttpAnswer, Inbound
    from app.storage.engine.store import Store
    from app.telemetry.spans import Spans
    from app.usecases.cards.deliver import Deliver
    from app.usecases.clicks.click import AnswerClick
    from app.usecases.platforms.channel_book import ChannelBook
    from app.usecases.platforms.confirm_accounts import ConfirmAccounts
    from app.usecases.platforms.contact import Contact
    from app.usecases.platforms.fetch_groups import FetchGroups
    from app.workers.supervisor import Supervisor

log = structlog.get_logger(__name__)

_NEGLECTED_AFTER = timedelta(minutes=5)
"""How long errands wait before a replica without their channel settles them: another one may know it already."""


class ChannelWork:
    """Starts and stops it, channel by channel."""

    def __init__(
        self,
        *,
        store: Store,
        deliver: Deliver,
        clicks: AnswerClick,
        confirm_accounts: ConfirmAccounts,
        fetch_groups: FetchGroups,
        contact: Contact,
        supervisor: Supervisor,
        tick: timedelta,
        spans: Spans | None = None,
    ) -> None:
        """Take what it works on; nothing runs yet."""
        self._spans = spans
        self._store = store
        self._deliver = deliver
        self._clicks = clicks
        self._confirm_accounts = confirm_accounts
        self._fetch_groups = fetch_groups
        self.contact = contact
        self._supervisor = supervisor
        self._tick = tick
        self._running: dict[tuple[str, str], tuple[OutboxWorker, list[asyncio.Task[None]]]] = {}

    def start(self, org: str, name: str, channel: Channel) -> None:
        """Begin to serve a channel, unless one of this name is served already."""
        if (org, name) in self._running:
            return
        worker = self._worker(org, name)

        async def carry() -> None:
            try:
                await channel.warm_up()
            except (ChannelUnavailableError, ChannelRefusedError) as error:  # then its first card waits for it
                log.error("channel.cold", channel=name, why=error.why, mend="assent doctor")  # noqa: TRY400 - no defect of ours
            # Who is who is asked beside the cards: a long list, or a platform that lets us wait, holds no card up.
            async with asyncio.TaskGroup() as group:
                group.create_task(self._confirm(org, channel))
                await worker.run()

        tasks = [self._supervisor.keep(f"outbox:{name}", carry)]
        if isinstance(channel, ListeningChannel):

            async def receive(inbound: Inbound) -> HttpAnswer:
                self.contact.heard[name] = time.monotonic()
                with self._spans.clicked(name) if self._spans else nullcontext():
                    return await self._clicks(org, channel, inbound)

            tasks.append(self._supervisor.keep(f"listen:{name}", lambda: channel.listen(receive)))
        self._running[org, name] = (worker, tasks)

    async def stop(self, key: tuple[str, str], channel: Channel) -> None:
        """End what runs for a channel, and close it."""
        _, tasks = self._running.pop(key, (None, list[asyncio.Task[None]]()))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await channel.close()

    async def take_up(self, org: str) -> None:
        """Take up at once what the process before was at when it was killed: of a SQLite file, nobody else is.

        People see a card whose place nobody knows yet, and its buttons wait until this worker has found it.
        """
        if self._store.dialect.name == "sqlite":
            await self._store.write(lambda tx: end_leases(tx, lease=LEASE), org=org)

    def nudge(self) -> None:
        """Tell every worker that there may be errands."""
        for worker, _ in self._running.values():
            worker.nudge()

    async def settle_orphans(self, channels: ChannelBook) -> None:
        """Settle errands for channels that are no longer configured: their cards are undeliverable, loudly."""
        neglected = await self._store.read(lambda tx: list_neglected(tx, since=_NEGLECTED_AFTER), org=EVERY_ORG)
        for org, name in neglected:
            if channels.find(org, name) is None:
                orphan = self._worker(org, name)
                while await orphan.round():
                    pass

    def _worker(self, org: str, name: str) -> OutboxWorker:
        return OutboxWorker(
            store=self._store, deliver=self._deliver, org=org, channel=name, tick=self._tick, spans=self._spans
        )

    async def _confirm(self, org: str, channel: Channel) -> None:
        """Know who is who, as soon as the platform says so."""
        try:
            await self._confirm_accounts.channel(org, channel)
            await self._fetch_groups.org(org)
        except AssentError as error:
            log.warning("accounts.unconfirmed", channel=channel.name, why=error.detail)
