"""How this gateway and each channel hear each other: whether calls go through, and when one last did.

It is of this process alone and kept nowhere: another gateway may reach what this one does not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import Struct

from app.ports import ListeningChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.usecases.platforms.channel_book import ChannelBook

SEND, HEAR = "send", "hear"
DEAF_AFTER = 120.0
"""Seconds that a connection may be down: platforms close theirs in passing, and a listener opens the next one."""


class Direction(Struct, frozen=True, kw_only=True):
    """One direction of a channel: whether it is open, where that can be told, and the seconds since it last worked."""

    is_open: bool | None = None
    worked_ago: float | None = None


class Contact:
    """Keeps it, by the channels' names, which are unique over all orgs."""

    def __init__(self, channels: ChannelBook) -> None:
        """Nothing has been sent or heard yet."""
        self.heard: dict[str, float] = {}
        """When a genuine call last came, by the monotonic clock. Written as it is: every click passes here."""
        self.clock: Callable[[], float] = time.monotonic
        self.channels = channels
        self.unbuilt: frozenset[str] = frozenset()
        """The channels of the files that could not be built: nothing is sent there. Written as it is."""
        self.known: dict[str, bool] = {}
        """Whether the last round could ask the platform about everybody. Written as it is."""
        self._down: dict[str, float] = {}
        self._sent: dict[str, float] = {}
        self._unsent: set[str] = set()

    def sent(self, name: str) -> None:
        """The platform took something."""
        self._sent[name] = time.monotonic()
        self._unsent.discard(name)

    def unsent(self, name: str) -> None:
        """The platform could not be reached, or could not take anything."""
        self._unsent.add(name)

    def deaf(self) -> list[str]:
        """Return the channels whose connection has been down for too long. To be asked every few seconds."""
        now = self.clock()
        listening = [
            (name, each) for (_, name), each in self.channels.all().items() if isinstance(each, ListeningChannel)
        ]
        self._down = {name: self._down.get(name, now) for name, each in listening if not each.connected}
        return [name for name, since in self._down.items() if now - since >= DEAF_AFTER]

    def directions(self) -> dict[tuple[str, str], Direction]:
        """Return how it stands with each channel of the file now, by its name and the direction."""
        now = time.monotonic()
        found = {(name, SEND): Direction(is_open=False) for name in self.unbuilt}
        for (_, name), channel in self.channels.all().items():
            tried = name in self._sent or name in self._unsent
            stands = channel.connected if isinstance(channel, ListeningChannel) else None
            found[name, SEND] = Direction(
                is_open=name not in self._unsent if tried else None, worked_ago=_ago(self._sent, name, now)
            )
            found[name, HEAR] = Direction(is_open=stands, worked_ago=_ago(self.heard, name, now))
        return found

    def unknowing(self) -> list[str]:
        """Return the channels that could not be asked about everybody: whom they do not know decides nothing there."""
        return sorted(name for _, name in self.channels.all() if not self.known.get(name, True))


def _ago(times: dict[str, float], name: str, now: float) -> float | None:
    return now - times[name] if name in times else None
