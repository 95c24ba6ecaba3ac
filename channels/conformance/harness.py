"""What the suite needs of a platform's stand-in; whoever writes a channel fills it in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from app.ports import AccountStatus, Channel, HttpAnswer, InboundCall, MessageRef
    from app.spec import Spec

    Receive = Callable[[InboundCall], Awaitable[HttpAnswer]]

FaultKind = Literal["rate_limited", "server_error", "reset_after_receive", "refused"]
"""How a post can go wrong: to be repeated after a while; broken, perhaps after it was taken; taken, but the answer is
lost; refused for good."""


class StillClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        """Start at a fixed instant."""
        self._now = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the instant it stands at."""
        return self._now

    def advance(self, span: timedelta) -> None:
        """Move it."""
        self._now += span


class Harness(Protocol):
    """A channel, a stand-in of its platform, and people in it.

    The stand-in speaks as the platform does (over real HTTP where the platform does), and refuses what it refuses.
    When somebody clicks, it calls `receive` with what the platform would send, and keeps the call in `calls`. A
    CallbackRejectedError of `receive` never happens; the answer is then a 401.
    """

    receive: Receive | None

    @property
    def spec(self) -> Spec:
        """What the platform's package says of it."""
        ...

    @property
    def clock(self) -> StillClock:
        """The time, for both sides."""
        ...

    @property
    def account_id(self) -> str:
        """Somebody who may click."""
        ...

    @property
    def people(self) -> Mapping[AccountStatus, str]:
        """The e-mails of one person of each status that the platform has."""
        ...

    @property
    def unknown_email(self) -> str:
        """An e-mail of nobody there."""
        ...

    @property
    def cannot_press(self) -> type[Exception]:
        """What a click raises when there is no such control."""
        ...

    @property
    def calls(self) -> Sequence[InboundCall]:
        """What the stand-in sent, in order."""
        ...

    @property
    def channel(self) -> Channel:
        """What is examined."""
        ...

    async def click_approve(self, ref: MessageRef, /) -> object:
        """Press Approve as `account_id`, and wait for the answer. Raises `cannot_press`."""
        ...

    async def click_deny(self, ref: MessageRef, reason: str, /) -> object:
        """Press Deny as `account_id` with this reason, in whatever way the platform asks for it."""
        ...

    def visible_text(self, ref: MessageRef, /) -> str:
        """Return all text on the card as it now stands."""
        ...

    def has_buttons(self, ref: MessageRef, /) -> bool:
        """Tell whether anything on the card can be pressed."""
        ...

    def private_notes(self) -> Sequence[str]:
        """Return what `account_id` alone was told."""
        ...

    def announcements(self) -> Sequence[str]:
        """Return what was said in the chat under no card, each as its lines."""
        ...

    def messages(self) -> int:
        """Return how many cards the chat shows."""
        ...

    def fail_next_post(self, kind: FaultKind, /) -> None:
        """Let the next post go wrong."""
        ...
