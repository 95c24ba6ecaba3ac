"""Whether a platform shows a message that it took: an answer of success is no message on anybody's screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from app.ports import MessageRef


@runtime_checkable
class AskableChannel(Protocol):
    """A channel whose platform can be asked whether it shows a message."""

    async def list_missing(self, refs: tuple[MessageRef, ...], /) -> frozenset[str]:
        """Return the ids of those messages, all of one chat, that are surely not there, or not any more.

        Raises ChannelUnavailableError, or ChannelRefusedError where it may not be asked (a scope is missing).
        """
        ...
