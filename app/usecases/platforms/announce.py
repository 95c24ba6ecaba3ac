"""Tell everybody in the chats what they must hear of at once, and what no card is about.

It is not kept: the trail and the log have it already, and a chat that is away must not hold an emergency up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from app.domain.errors import AssentError
from app.domain.request.request import API
from app.ports import ChannelRefusedError, ChannelUnavailableError, Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from app.domain.text.language import Language
    from app.ports import IdFactory
    from app.usecases.platforms.channel_book import ChannelBook

log = structlog.get_logger(__name__)


class Announce:
    """The use case."""

    def __init__(
        self, *, channels: ChannelBook, ids: IdFactory, later: Callable[[Coroutine[object, object, None]], None]
    ) -> None:
        """`later` runs what must not delay the answer."""
        self._channels = channels
        self._ids = ids
        self._later = later

    def __call__(self, org: str, channels: Iterable[str], says: Callable[[Language], str]) -> None:
        """Say it in the chat of each of these channels, in its language. Returns at once, and never raises."""
        for name in dict.fromkeys(channels):
            if name != API:
                self._later(self._tell(org, name, says))

    async def in_one(
        self, org: str, channels: Iterable[str], says: Callable[[Language], str], *, again: bool = False
    ) -> bool:
        """Say it in the chat of the first of these channels that takes it. False: none does.

        `again`: the log has it already that none did, and does not hear it once more.
        """
        for name in channels:
            if await self._say(org, name, says, again=again):
                return True
        return False

    async def _tell(self, org: str, name: str, says: Callable[[Language], str]) -> None:
        await self._say(org, name, says)

    async def _say(self, org: str, name: str, says: Callable[[Language], str], *, again: bool = False) -> bool:
        try:
            channel = self._channels.get(org, name)
            notice = Notice(text=says(channel.language), mentions=(), key=self._ids.new("ann"))
            await channel.announce(channel.chat_id, notice)
        except (AssentError, ChannelUnavailableError, ChannelRefusedError) as error:
            if not again:
                log.error("announcement.unsaid", org=org, channel=name, why=str(error))  # noqa: TRY400 - not a defect
            return False
        return True
