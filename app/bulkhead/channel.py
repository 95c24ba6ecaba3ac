"""A channel as the core has it: the package's own behind a bulkhead.

Nothing that a package does reaches anybody else. Each of its calls ends within a bound; what it raises besides the
errors of `app.ports` is a `ChannelFaultyError`; what it returns has been looked at. What went wrong is logged by the
channel's name, with the kind of the error and its place in the package, and never in the package's words.

A method that is not awaited (`read`, `answer`) cannot be ended from outside: it must be quick by itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from app.bulkhead import checked
from app.bulkhead.bulkhead import BOUNDS, Bulkhead
from app.bulkhead.calls import Returned, call_within
from app.domain.text.language import Language
from app.ports import CallbackRejectedError, HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from app.domain.card.card import Card
    from app.domain.card.form import Form
    from app.ports import Account, Channel, Click, ClickOutcome, Finding, Inbound, InboundCall, MessageRef, Notice, Post


FITS: Final[Mapping[str, Callable[[object], bool]]] = {
    "language": lambda said: isinstance(said, Language),
    "chat_id": checked.is_id,
    "app_id": lambda said: checked.is_id(said, empty=True),
    "text_budget": lambda said: type(said) is int and said > 0,
    "opens_forms": lambda said: isinstance(said, bool),
    "deduplicates_for": lambda said: isinstance(said, timedelta) and said >= timedelta(0),
    "edits_for": lambda said: isinstance(said, timedelta) and said >= timedelta(0),
}
"""What a channel says of itself, and what each of it must be."""


class _Said:
    """Asks the package, and says what it said last where it fails to: cards are composed with it, inside a write."""

    def __init__(self, bulkhead: Bulkhead, of: object) -> None:
        """Take what was looked at when the channel was built."""
        self._bulkhead = bulkhead
        self._of = of
        self._last = {what: getattr(of, what) for what in FITS}

    def __call__(self, what: str) -> Any:
        """Return what the package says."""
        try:
            said = getattr(self._of, what)
        except Exception as error:  # noqa: BLE001 - anything: it is somebody else's package
            self._bulkhead.fault(what, error)
            return self._last[what]
        if said is not self._last[what] and FITS[what](said):
            self._last[what] = said
        return self._last[what]


class BulkheadChannel:
    """See `app.ports.Channel` for what each method promises; this one keeps the promises."""

    def __init__(self, name: str, kind: str, of: Channel) -> None:
        """`of` is the package's own. Its name and kind are what the file and the package's `Spec` say."""
        self._name = name
        self._kind = kind
        self.of = of
        self.bulkhead = Bulkhead(name, of)
        self._said = _Said(self.bulkhead, of)

    @property
    def name(self) -> str:
        """The name in assent.yaml, whatever the package says: by another one it would take another's cards."""
        return self._name

    @property
    def kind(self) -> str:
        """The kind of its `Spec`, whatever the channel says."""
        return self._kind

    @property
    def language(self) -> Language:
        """As the package says."""
        return self._said("language")

    @property
    def chat_id(self) -> str:
        """As the package says."""
        return self._said("chat_id")

    @property
    def app_id(self) -> str:
        """As the package says."""
        return self._said("app_id")

    @property
    def text_budget(self) -> int:
        """As the package says."""
        return self._said("text_budget")

    @property
    def opens_forms(self) -> bool:
        """As the package says."""
        return self._said("opens_forms")

    @property
    def deduplicates_for(self) -> timedelta:
        """As the package says."""
        return self._said("deduplicates_for")

    @property
    def edits_for(self) -> timedelta:
        """As the package says."""
        return self._said("edits_for")

    async def post(self, post: Post) -> MessageRef:
        """Put a card into a chat."""
        return await self.bulkhead.call("post", lambda: self.of.post(post), checked.message_ref)

    async def find(self, chat_id: str, key: str, *, since: datetime) -> MessageRef | None:
        """Look for what an earlier attempt left."""
        return await self.bulkhead.call(
            "find", lambda: self.of.find(chat_id, key, since=since), checked.maybe_message_ref
        )

    async def refresh(self, ref: MessageRef, card: Card, /) -> None:
        """Make the message show the card."""
        await self.bulkhead.call("refresh", lambda: self.of.refresh(ref, card), checked.nothing)

    async def notify(self, ref: MessageRef, notice: Notice, /) -> None:
        """Say something under the message."""
        await self.bulkhead.call("notify", lambda: self.of.notify(ref, notice), checked.nothing)

    async def announce(self, chat_id: str, notice: Notice, /) -> None:
        """Say something in a chat."""
        await self.bulkhead.call("announce", lambda: self.of.announce(chat_id, notice), checked.nothing)

    async def look_up(self, *, email: str, account_id: str) -> Account | None:
        """Say which account somebody has."""
        return await self.bulkhead.call(
            "look_up", lambda: self.of.look_up(email=email, account_id=account_id), checked.maybe_account
        )

    async def group_members(self, source: str, /) -> tuple[str, ...]:
        """Return who is in a group."""
        return await self.bulkhead.call("group_members", lambda: self.of.group_members(source), checked.account_ids)

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Say what a call asks. One that the package fails at is nobody's: none has proved yet who they are."""
        try:
            return checked.inbound(self.of.read(call, now=now))
        except CallbackRejectedError as error:
            why = checked.words(getattr(error, "why", ""))
        except Exception as error:  # noqa: BLE001 - anything: it is somebody else's package
            why = str(self.bulkhead.fault("read", error))
        raise CallbackRejectedError(why)

    def answer(self, click: Click, outcome: ClickOutcome) -> HttpAnswer:
        """Render an answer. A package that fails at it takes nothing back: what was recorded is told beside."""
        try:
            return checked.http_answer(self.of.answer(click, outcome))
        except Exception as error:  # noqa: BLE001 - anything: it is somebody else's package
            self.bulkhead.fault("answer", error)
            return HttpAnswer()

    async def open_form(self, click: Click, form: Form, /) -> None:
        """Open a form."""
        await self.bulkhead.call("open_form", lambda: self.of.open_form(click, form), checked.nothing)

    async def tell(self, click: Click, outcome: ClickOutcome) -> None:
        """Say the outcome privately."""
        await self.bulkhead.call("tell", lambda: self.of.tell(click, outcome), checked.nothing)

    async def examine(self) -> list[Finding]:
        """Check what can be checked."""
        return await self.bulkhead.call("examine", self.of.examine, checked.findings)

    async def warm_up(self) -> None:
        """Load ahead what is slow to load."""
        await self.bulkhead.call("warm_up", self.of.warm_up, checked.nothing)

    async def close(self) -> None:
        """Let go of connections. Nobody can do anything about one that does not: it is logged."""
        came = await call_within(self.of.close, seconds=BOUNDS["close"])
        if not isinstance(came, Returned):
            self.bulkhead.tell("close", "its package did not close it")
