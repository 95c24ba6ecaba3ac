"""What follows a commit: whoever waits is woken, whoever works is nudged, and what was written is counted and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from app.telemetry.logs import log_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Batch
    from app.telemetry.figures import Telemetry
    from app.usecases.platforms.send_webhooks import SendWebhooks
    from app.usecases.reading.follow import Feed
    from app.usecases.reading.wait import Waiters
    from app.usecases.upkeep.fail_over import FailOver
    from app.usecases.upkeep.watch_alarms import WatchAlarms
    from app.workers.channel_work import ChannelWork


class AfterCommit(Struct, frozen=True, kw_only=True):
    """Everybody who is told, of this gateway's own commits and of what others say of theirs."""

    waiters: Waiters
    feed: Feed
    webhooks: SendWebhooks
    fail_over: FailOver
    alarms: WatchAlarms
    telemetry: Telemetry
    work: ChannelWork

    def __call__(self, batch: Batch) -> None:
        """Tell of a commit of ours."""
        self.waiters.wake(cast("Mapping[tuple[str, str], ConfirmationRequest]", batch.changed))
        self.feed.touch(batch.records)
        if batch.records:
            self.webhooks.nudge()
        self.fail_over.alarm_of(batch.records)
        self.alarms.note(batch.records)
        self.telemetry.committed(batch.records, batch.seconds)
        log_records(batch.records)
        if batch.outbox_filled:
            self.work.nudge()

    def heard(self, changed: list[tuple[str, str]]) -> None:
        """Tell of what another gateway says that it changed."""
        self.waiters.wake(dict.fromkeys(changed))
        self.feed.touch(org for org, _ in changed)

    def missed(self) -> None:
        """Have everybody look for themselves: what others said may have been lost."""
        self.waiters.wake(dict.fromkeys(self.waiters.waited_for()))
        self.feed.touch_all()
