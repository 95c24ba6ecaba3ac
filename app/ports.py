"""The outside as the core sees it, on one screen.

A channel carries cards to people and their clicks back. It never decides: it verifies that the platform really sent a
call, turns it into one of the `Inbound` values, and renders the answer that a use case gives.
"""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime, timedelta

    from app.domain.card.card import Card
    from app.domain.card.form import Form
    from app.domain.text.language import Language


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""
        ...


class IdFactory(Protocol):
    """Where ids come from."""

    def new(self, prefix: str) -> str:
        """Return an unguessable id such as ``req_…``: 135 random bits of its own, no time and no order in it."""
        ...


class MessageRef(Struct, frozen=True, kw_only=True):
    """Where one card lives: everything a click on it must match, and all that is needed to edit it.

    `app_id` and `tenant` are "" where the platform's answer does not tell them.
    """

    app_id: str
    tenant: str
    chat_id: str
    message_id: str


class Post(Struct, frozen=True, kw_only=True):
    """A card to be put into a chat; or, where `chat_id` is a person's account id, into that person's own.

    `key` (at most 50 characters, the same for every attempt at this revision) is what the platform's own deduplication,
    or `Channel.find`, recognises an earlier attempt by.
    """

    card: Card
    chat_id: str
    key: str


class Notice(Struct, frozen=True, kw_only=True):
    """A few words under a card, for what changes a card does not ring a bell. Plain text, never markup.

    `mentions` are account ids of ours, whom the platform is to notify. `key` as in `Post`.
    """

    text: str
    mentions: tuple[str, ...]
    key: str


class AccountStatus(StrEnum):
    """What the platform says of an account."""

    ACTIVE = "active"
    DEACTIVATED = "deactivated"  # deleted, frozen, resigned
    GUEST = "guest"  # a restricted member, or of another workspace
    BOT = "bot"
    UNKNOWN = "unknown"  # it is there, but the platform withholds how it stands: cards reach it, nobody decides

    @property
    def reachable(self) -> bool:
        """Whether cards and words are sent to such an account. Deciding takes an active one."""
        return self in {AccountStatus.ACTIVE, AccountStatus.UNKNOWN}


class Account(Struct, frozen=True, kw_only=True):
    """A platform account, by its immutable id."""

    tenant: str  # the workspace or company, by the platform's own id; "" where the platform did not tell
    account_id: str
    status: AccountStatus
    withheld: str = ""  # where the status is unknown: what the platform did not tell, and how to mend that


class InboundCall(Struct, frozen=True, kw_only=True):
    """An HTTP call of a platform, exactly as it came. Header names are lower-cased; a name may come twice."""

    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value of a header that came exactly once; None if it is missing or came twice."""
        values = [value for key, value in self.headers if key == name]
        return values[0] if len(values) == 1 else None


class HttpAnswer(Struct, frozen=True, kw_only=True):
    """What the platform is told, within its three seconds. `body` is JSON (a dict), or empty."""

    status: int = 200
    body: dict[str, object] | None = None


class Challenge(Struct, frozen=True, kw_only=True):
    """The platform tries whether the address is ours; `answer` is what it wants to hear."""

    answer: HttpAnswer


class Ignored(Struct, frozen=True, kw_only=True):
    """A genuine call that asks nothing of us; answered with an empty 200, unless the platform wants to hear more."""

    why: str
    answer: HttpAnswer = field(default_factory=HttpAnswer)


class Click(Struct, frozen=True, kw_only=True):
    """A verified press of one of our buttons.

    What is asked (of which request) is sealed in `token`. `message_id` is "" when the platform does
    not name the message (a dialogue over it): it then travels in the sealed place the channel chose, and is still
    compared.
    """

    token: str
    app_id: str
    tenant: str  # of the person who clicked
    account_id: str
    chat_id: str
    message_id: str
    event_key: str  # the same for every redelivery of this very click
    reason: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict[str, str])  # what else a form was filled in with
    wants_form: bool = False  # pressed where a form is asked in a second step: see Channel.open_form
    via_modal: bool = False  # the answer goes into the modal, not under the card
    reply_to: str = ""  # a one-time address for a private answer; a secret, never stored or logged
    trigger: str = ""  # a one-time right to open a modal; a secret


Inbound = Challenge | Ignored | Click


class ClickResult(StrEnum):
    """What became of a click."""

    RECORDED = "recorded"  # the vote counts (the request may still wait for others)
    ALREADY = "already"  # the request is settled, or this person has voted; nothing changed
    REFUSED = "refused"  # this account may not, or this card is not live; the request still waits
    RETRY = "retry"  # nothing was recorded; pressing again in a moment is right


class _Shown:
    """A card that is composed when it is asked for: the answer to most buttons shows none."""

    def __get__(self, outcome: ClickOutcome | None, _: type[ClickOutcome] | None = None) -> Card | None:
        known: Card | Callable[[], Card] | None = None if outcome is None else vars(outcome)["_card"]
        if callable(known):
            known = vars(outcome)["_card"] = known()
        return known

    def __set__(self, outcome: ClickOutcome, card: Card | Callable[[], Card] | None) -> None:
        vars(outcome)["_card"] = card


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClickOutcome:
    """The answer to a click: one sentence for the person who clicked, and the card as it is now, where there is one.

    `card` may be given as what composes it: that is then done for a channel that shows it. `link`, with which the
    sentence then ends, is a one-time address for that person alone: it goes where nobody else reads, and into no log.
    """

    result: ClickResult
    sentence: str = dataclasses.field(repr=False)
    card: _Shown = _Shown()
    link: str = dataclasses.field(default="", repr=False)


class Severity(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Finding(Struct, frozen=True, kw_only=True):
    """One line of `assent doctor`: what was looked at, how it stands, and how to mend it."""

    severity: Severity
    what: str
    mend: str = ""


class ChannelUnavailableError(Exception):
    """The platform did not take the message; trying again later is right.

    `retry_after` is the platform's own wish, when it said one; `limited` says that it is a limit of the method in that
    chat, so that nothing else of it need be tried there before. `ambiguous` is True when the platform may have taken
    the message all the same (a reset, a time-out, a half-failed answer): it must then be looked for before it is
    sent again.
    """

    def __init__(
        self, why: str, *, retry_after: timedelta | None = None, ambiguous: bool = False, limited: bool = False
    ) -> None:
        """Keep a short reason without secrets."""
        super().__init__(why)
        self.why = why[:1000]
        self.retry_after = retry_after
        self.limited = limited
        self.ambiguous = ambiguous


class ChannelRefusedError(Exception):
    """The platform will never take this message here (bad card, no such chat, missing scope, revoked token)."""

    def __init__(self, why: str) -> None:
        """Keep a short reason without secrets, naming the platform's code and the mend where it is known."""
        super().__init__(why)
        self.why = why[:1000]


class ContentRefusedError(ChannelRefusedError):
    """The platform refuses what the card says (a word, data-loss prevention); it may take one without the call."""


class EditClosedError(ChannelRefusedError):
    """The message can no longer be edited (too old, recalled, deleted): only a new one can say what changed."""


class CallbackRejectedError(Exception):
    """The call is not provably the platform's. Outside it is one uniform 401; `why` is for our own log."""

    def __init__(self, why: str) -> None:
        """Keep the reason for our own log."""
        super().__init__(why)
        self.why = why


class Channel(Protocol):
    """One configured way to reach people (an app in one workspace, posting to one chat)."""

    @property
    def name(self) -> str:
        """The channel's name in assent.yaml, such as ``pay-chat``."""
        ...

    @property
    def kind(self) -> str:
        """The platform: its `Spec.kind`."""
        ...

    @property
    def language(self) -> Language:
        """What its people read."""
        ...

    @property
    def chat_id(self) -> str:
        """The chat its cards go to: the same one for as long as the channel runs."""
        ...

    @property
    def app_id(self) -> str:
        """Our app's id on the platform; "" when it is not known, and then not compared."""
        ...

    @property
    def text_budget(self) -> int:
        """How many characters of text (`Card.size`) one card can carry whole."""
        ...

    @property
    def opens_forms(self) -> bool:
        """Whether a form can be opened for the person who clicked; else forms stand on that person's own card."""
        ...

    @property
    def deduplicates_for(self) -> timedelta:
        """How long after a first `post` the platform itself swallows a second one with the same key; zero if never."""
        ...

    @property
    def edits_for(self) -> timedelta:
        """How long after `post` a card can still be edited and clicked."""
        ...

    async def post(self, post: Post) -> MessageRef:
        """Put a card into a chat, once. Raises ChannelUnavailableError or ChannelRefusedError."""
        ...

    async def find(self, chat_id: str, key: str, *, since: datetime) -> MessageRef | None:
        """Look for what an earlier `post` with this key may have left. None: not there, or cannot be looked for."""
        ...

    async def refresh(self, ref: MessageRef, card: Card, /) -> None:
        """Make the message show `card`. Raises EditClosedError besides the errors of `post`."""
        ...

    async def notify(self, ref: MessageRef, notice: Notice, /) -> None:
        """Say something under the message, so that people hear of it. Raises like `post`."""
        ...

    async def announce(self, chat_id: str, notice: Notice, /) -> None:
        """Say something in a chat, under no card. Raises like `post`."""
        ...

    async def look_up(self, *, email: str, account_id: str) -> Account | None:
        """Say which account a person has here and how it stands.

        By `account_id` when the file names one ("" if not), else by e-mail. None: the platform knows nobody by it.
        Raises ChannelUnavailableError or ChannelRefusedError.
        """
        ...

    async def group_members(self, source: str, /) -> tuple[str, ...]:
        """Return the account ids in a group of the platform: ``group:<id>``, or ``department:<id>`` where it has such.

        Raises ChannelUnavailableError or ChannelRefusedError: then nobody is in it.
        """
        ...

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Verify a webhook call and say what it asks. Pure. Raises CallbackRejectedError."""
        ...

    def answer(self, click: Click, outcome: ClickOutcome) -> HttpAnswer:
        """Render what the platform wants to hear within its three seconds. Pure."""
        ...

    async def open_form(self, click: Click, form: Form, /) -> None:
        """Open a form for the person who clicked (only for clicks with `wants_form`): what it says comes as a click."""
        ...

    async def tell(self, click: Click, outcome: ClickOutcome) -> None:
        """Say the outcome privately to the person who clicked, after the answer was sent, where `answer` could not."""
        ...

    async def examine(self) -> list[Finding]:
        """Check what can be checked from here (credentials, scopes, membership), for `assent doctor`."""
        ...

    async def warm_up(self) -> None:
        """Load ahead what is slow to load, so that the first card need not wait for it."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class ListeningChannel(Protocol):
    """A channel that can also be reached without a public address, through a connection that it opens itself."""

    @property
    def connected(self) -> bool:
        """Whether that connection stands now."""
        ...

    async def listen(self, receive: Callable[[Inbound], Awaitable[HttpAnswer]]) -> None:
        """Receive clicks until cancelled; reconnect by itself; stop cleanly when cancelled.

        Every frame passes the same checks of app, tenant and shape as `read` makes (there is no signature). `receive`
        must be awaited on the gateway's own loop; its answer is sent back on the connection within three seconds.
        """
        ...


@runtime_checkable
class BatchChannel(Protocol):
    """A channel whose platform says of many people at once which accounts they have."""

    async def look_up_all(self, emails: tuple[str, ...], /) -> Mapping[str, Account | None]:
        """Say what `look_up` says of each of these e-mails. Raises what it raises, for all of them."""
        ...
