"""Tell people in a chat what only they can mend: once when it comes, once when it is over.

What stands in the database (errands that wait, outcomes that nobody knows, a receiver that takes nothing) each gateway
sees; how it stands with a channel, only the gateway that has the channel's connection. So an alarm has a row for each
that sees it: whoever writes the first one says so in the trail and in a chat, and whoever takes the last one away says
that it is over. A gateway that is gone sees nothing.

It is said by the first channel of the file that none of the alarms is about, or else by whichever takes it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from app.domain.errors import UnsealedError
from app.domain.trail.alarms import Alarm, Cause
from app.domain.trail.audit import Kind
from app.domain.trail.told import told
from app.storage.cards.outbox import list_stuck
from app.storage.requests.executions import list_unknown
from app.storage.trail.alarms import (
    ANYBODY,
    Sighting,
    hold_first,
    hold_over,
    keep_sightings,
    list_sightings,
)
from app.storage.trail.replicas import list_written
from app.storage.trail.webhook_cursors import list_cursors
from app.usecases.platforms.send_webhooks import ALARM_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from app.domain.text.language import Language
    from app.domain.trail.audit import Record
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Pending, Tx
    from app.usecases.platforms.announce import Announce
    from app.usecases.platforms.channel_book import ChannelBook
    from app.usecases.platforms.contact import Contact
    from app.usecases.platforms.renew_access import AccessTrouble

log = structlog.get_logger(__name__)

STUCK_AFTER = timedelta(minutes=5)
_MOST_UNKNOWN = 20
"""Unknown outcomes that stand as alarms at once: more would fill a chat, and are said as these are settled."""
_MOST_UNSAID = 20
_LOGGED_EVERY = timedelta(hours=1)
"""How often the log repeats what no chat has taken, as long as some of it stands."""
_OF_CHANNEL = frozenset({Cause.DEAF, Cause.CUT_OFF, Cause.STUCK})
_SAID_AS_IT_IS = frozenset({Kind.COMMITS_LOST, Kind.RESTORED, Kind.FAILED_OVER})
"""What the trail says of a failover, which this gateway has found out itself: a chat hears the same."""


class WatchAlarms:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        channels: ChannelBook,
        contact: Contact,
        troubles: Callable[[], Iterable[AccessTrouble]],
        announce: Announce,
        name: str,
    ) -> None:
        """Take what it works on; `troubles` are those of the channels' access, `name` is this gateway's own."""
        self._store = store
        self._book = book
        self._channels = channels
        self._contact = contact
        self._troubles = troubles
        self._announce = announce
        self._name = name
        self._standing: dict[str, frozenset[Alarm]] = {}
        self._unsaid: dict[str, deque[Record]] = defaultdict(lambda: deque(maxlen=_MOST_UNSAID))
        self._logged: dict[str, tuple[list[Record], datetime]] = {}  # what the log has of them by now, since when

    def note(self, records: Mapping[str, Iterable[Pending]]) -> None:
        """Have a chat told of what a commit says of a failover, at the next look."""
        for org, pending in records.items():
            said = [item.record for item in pending if item.record.kind in _SAID_AS_IT_IS]
            if said:
                self._unsaid[org].extend(record for record in said if record.actor == "system")

    async def __call__(self) -> None:
        """Look at everything once, and say what has changed."""
        deaf = self._contact.deaf()
        for org in self._book.orgs():
            try:
                await self._look(org, deaf)
            except UnsealedError as error:  # it is named, and the other orgs are looked after
                log.error("alarms.unseen", org=org, why=error.detail)  # noqa: TRY400 - no fault of the code

    async def _look(self, org: str, deaf: Iterable[str]) -> None:
        mine = {Sighting(alarm, self._name) for alarm in self._of_channels(org, deaf)}
        before, after, now = await self._store.read(self._looker(org, mine), org=org, long=True)
        if before != after:
            self._unsaid[org].extend(await self._store.write(self._changer(org, mine), org=org))
        self._standing[org] = frozenset(each.alarm for each in after)
        await self._say(org, now)

    def _of_channels(self, org: str, deaf: Iterable[str]) -> set[Alarm]:
        ours = {name for of, name in self._channels.all() if of == org}
        lost = {each.channel for each in self._troubles() if each.lost}
        return {Alarm(Cause.DEAF, name) for name in ours & set(deaf)} | {
            Alarm(Cause.CUT_OFF, name) for name in ours & lost
        }

    def _looker(
        self, org: str, mine: set[Sighting], *, lock: bool = False
    ) -> Callable[[Tx], tuple[set[Sighting], set[Sighting], datetime]]:
        """Return a unit that says which alarms were seen by whom, which are now, and when that is."""

        def unit(tx: Tx) -> tuple[set[Sighting], set[Sighting], datetime]:
            before = list_sightings(tx, lock=lock)
            now = tx.now()
            written = list_written(tx).get(org)
            live = {each.id for each in written.replicas if each.is_live(now)} if written else set[str]()
            others = {each for each in before if each.by not in {ANYBODY, self._name} and each.by in live}
            return before, others | mine | {Sighting(alarm) for alarm in self._in_rows(tx, org)}, now

        return unit

    def _changer(self, org: str, mine: set[Sighting]) -> Callable[[Tx], list[Record]]:
        look = self._looker(org, mine, lock=True)

        def unit(tx: Tx) -> list[Record]:
            before, after, _ = look(tx)
            keep_sightings(tx, before, after)
            stood, stands = {each.alarm for each in before}, {each.alarm for each in after}
            said: list[Record] = []
            for sighting in sorted(each for each in after if each.alarm not in stood):
                hold_first(tx, sighting)
                said.append(sighting.alarm.record(raised=True))
            for alarm in sorted(stood - stands):
                hold_over(tx, alarm)
                said.append(alarm.record(raised=False))
            for record in said:
                tx.append(record)
            return said

        return unit

    def _in_rows(self, tx: Tx, org: str) -> set[Alarm]:
        """Return what every gateway can see."""
        now = tx.now()
        loaded = self._book.current(org)
        receivers = {hook.name for hook in loaded.webhooks}
        found = {Alarm(Cause.STUCK, channel) for channel in list_stuck(tx, since=now - STUCK_AFTER)}
        found |= {Alarm(Cause.UNKNOWN, request) for request in list_unknown(tx, now, most=_MOST_UNKNOWN)}
        for cursor in list_cursors(tx):
            if cursor.name in receivers and cursor.failing_since and now - cursor.failing_since >= ALARM_AFTER:
                found.add(Alarm(Cause.WEBHOOK, cursor.name))
        return found

    async def _say(self, org: str, now: datetime) -> None:
        """Say in one chat what has not been said; at the next look again, if none takes it."""
        unsaid = list(self._unsaid[org])
        if not unsaid:
            self._logged.pop(org, None)
            return
        names = [name for of, name in self._channels.all() if of == org]
        hurt = {alarm.of for alarm in self._standing[org] if alarm.cause in _OF_CHANNEL}
        first = [*(name for name in names if name not in hurt), *(name for name in names if name in hurt)]

        def words(language: Language) -> str:
            return "\n".join(told(record, language) for record in unsaid)

        before = self._logged.get(org)
        again = before is not None and before[0] == unsaid
        if await self._announce.in_one(org, first, words, again=again):
            for _ in unsaid:
                self._unsaid[org].popleft()
        elif before is None or not again or (self._standing[org] and now - before[1] >= _LOGGED_EVERY):
            self._logged[org] = unsaid, now
            # Where the file has no chat that is no fault of a chat, and the log is who hears of alarms.
            say = log.error if names else log.warning
            why = "no channel takes it" if names else "the file has no channel"
            say("alarm.unsaid", org=org, alarms=[_named(record) for record in unsaid], why=why)


def _named(record: Record) -> str:
    """Name what was to be said, in a few words for the log: its cause, and what it is about."""
    if "cause" not in record.facts:
        return record.kind.value
    over = " is over" if record.kind is Kind.ALARM_OVER else ""
    return f"{record.facts['cause']} of {record.facts['of']}{over}"
