"""What the suite needs of a platform's stand-in; whoever writes a channel fills it in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from app.ports import AccountStatus, Challenge, Channel, HttpAnswer, Ignored, InboundCall, MessageRef
    from app.spec import Spec

    Receive = Callable[[InboundCall], Awaitable[HttpAnswer]]

FaultKind = Literal["rate_limited", "server_error", "reset_after_receive", "refused"]
"""How a post can go wrong: to be repeated after a while; broken, perhaps after it was taken; taken, but the answer is
lost; refused for good."""


class NotThereError(Exception):
    """What a harness raises, with the reason, for something that its platform does not have: the case is skipped."""


class Said(NamedTuple):
    """A few words under a card, as a reader sees them, and the accounts whose phones rang."""

    text: str
    mentions: tuple[str, ...]


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
    def options(self) -> Mapping[str, object]:
        """What assent.yaml says of the channel, every secret in plain: `spec.settings` takes it."""
        ...

    @property
    def clock(self) -> StillClock:
        """The time, for both sides."""
        ...

    @property
    def account_id(self) -> str:
        """Somebody who may click: the first of `people`, the active one."""
        ...

    @property
    def other_account_id(self) -> str:
        """Somebody else who may."""
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
        """What a press raises when there is no such control, or nothing such to fill in."""
        ...

    @property
    def shows_outcome(self) -> bool:
        """Whether the answer to a click puts the card onto the message at once; else only `refresh` does."""
        ...

    @property
    def calls(self) -> Sequence[InboundCall]:
        """What the stand-in sent, in order."""
        ...

    @property
    def channel(self) -> Channel:
        """What is examined."""
        ...

    async def press(self, ref: MessageRef, label: str, /, *, by: str, filled: Mapping[str, str]) -> object:
        """Press, as this account, the control with this label; fill in what is asked; wait for the answer.

        What is asked is named by `Field.name`, and the reason of a denial is ``reason``: on the card or in a second
        step, however the platform does it. Raises `cannot_press`.
        """
        ...

    def visible_text(self, ref: MessageRef, /) -> str:
        """Return all text on the card as it now stands; a date of the platform's own as UTC (``10:30``)."""
        ...

    def has_buttons(self, ref: MessageRef, /) -> bool:
        """Tell whether anything on the card can be pressed."""
        ...

    def private_notes(self) -> Sequence[str]:
        """Return what `account_id` alone was told, however that is done there, besides cards."""
        ...

    def notes(self, ref: MessageRef, /) -> Sequence[Said]:
        """Return what was said under the card."""
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

    def end_edits(self, ref: MessageRef, /) -> None:
        """Let the message be past editing: too old, recalled or deleted, as it happens there."""
        ...

    def speak_as(self, stranger: Literal["app", "tenant"], /) -> str:
        """Let the next calls be about another app, or from somebody of another tenant; return its id.

        They are proven as genuinely as ever. Raises NotThereError where the platform has no such thing.
        """
        ...

    def signed(self, content: bytes, /) -> InboundCall:
        """Return a call that is proven as genuinely as ever, with this where a click's own words stand.

        It is not sent. What stands around the words (a form's field, encryption) is as the platform has it.
        """
        ...

    def other_calls(self) -> Sequence[tuple[InboundCall, type[Challenge | Ignored]]]:
        """Return genuine calls that are no clicks, and what each must be read as; none where there are none."""
        ...
