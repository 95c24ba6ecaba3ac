"""The channels that are configured now, by org and name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from app.domain.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.ports import Channel

V = TypeVar("V")


class _ByOrg(dict[tuple[str, str], V]):
    def __missing__(self, key: tuple[str, str]) -> V:
        raise UnavailableError(f"the channel {key[1]!r} is not running")


class ChannelBook:
    """Looks channels up. The container swaps its content when the configuration changes."""

    def __init__(self) -> None:
        """Begin empty."""
        self.replace({})

    def replace(self, channels: Mapping[tuple[str, str], Channel]) -> None:
        """Take another set of channels, at once."""
        self._by_org = _ByOrg(channels)
        self.chats: Mapping[tuple[str, str], str] = _ByOrg({at: each.chat_id for at, each in channels.items()})
        """The chat of each one's cards, as it said when it came; UnavailableError for one that is not running."""

    def all(self) -> Mapping[tuple[str, str], Channel]:
        """Return every channel by (org, name)."""
        return self._by_org

    def get(self, org: str, name: str) -> Channel:
        """Return a channel of an org. Raises UnavailableError: a card for it cannot be planned."""
        return self._by_org[org, name]

    def find(self, org: str, name: str) -> Channel | None:
        """Return a channel of an org, or None."""
        return self._by_org.get((org, name))

    def by_name(self, name: str) -> tuple[str, Channel]:
        """Return the org and the channel of a callback's path; names are unique over all orgs. Raises NotFoundError."""
        for (org, known), channel in self._by_org.items():
            if known == name:
                return org, channel
        raise NotFoundError
