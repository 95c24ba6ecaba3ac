"""Slack as a channel: `Card` out, clicks in.

`SlackChannel` is reached by webhook. `ListeningSlackChannel` is the same over Socket Mode, for gateways without a
public address; it refuses webhooks, so that each app has one door.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

import structlog

from app.domain.card.typed import TYPED
from app.ports import (
    CallbackRejectedError,
    ChannelRefusedError,
    ChannelUnavailableError,
    ClickResult,
    HttpAnswer,
    MessageRef,
)
from channels.slack import callback, card
from channels.slack.client import SlackClient
from channels.slack.details import forms, people, reporting
from channels.slack.examine import examine
from channels.slack.listener import SocketListener
from channels.slack.settings import LIMITS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from app.abilities.directories import Member, ReportsTo
    from app.abilities.renewal import Access, AccessKeeper
    from app.domain.card.card import Card
    from app.domain.card.form import Form
    from app.domain.text.language import Language
    from app.ports import Account, Click, ClickOutcome, Finding, Inbound, InboundCall, Notice, Post
    from channels.slack.settings import SlackSettings

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_CALL_SECONDS: Final = 5.0
_MODAL_SECONDS: Final = 2.0
_CLOCKS_APART: Final = timedelta(minutes=5)
_PAGES_MOST: Final = 10
_CONVERSATION: Final = re.compile(r"[CGD][A-Z0-9]{2,30}")
_STAMP: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_APP: Final = re.compile(r"A[A-Z0-9]{2,30}")


class SlackChannel:
    """One Slack app, posting to one conversation. See `app.ports.Channel` for what each method promises."""

    def __init__(self, name: str, settings: SlackSettings, *, call_seconds: float = _CALL_SECONDS) -> None:
        """Connect to nothing yet. `call_seconds` bounds each call to Slack."""
        self._name = name
        self._settings = settings
        self._client = SlackClient(settings, timeout=call_seconds)
        self._team = settings.team_id or ""

    @property
    def name(self) -> str:
        """The channel's name in assent.yaml."""
        return self._name

    @property
    def kind(self) -> str:
        """Always ``slack``."""
        return "slack"

    @property
    def language(self) -> Language:
        """What its people read."""
        return self._settings.language

    @property
    def chat_id(self) -> str:
        """The conversation its cards go to."""
        return self._settings.channel

    @property
    def app_id(self) -> str:
        """The pinned app id, or ""."""
        return self._settings.app_id or ""

    @property
    def text_budget(self) -> int:
        """Slack refuses messages with more than about 13,000 characters in all blocks; labels and marks need some."""
        return LIMITS.text_budget

    @property
    def opens_forms(self) -> bool:
        """Slack opens a modal for whoever clicked."""
        return LIMITS.opens_forms

    @property
    def deduplicates_for(self) -> timedelta:
        """Slack has no documented idempotency key: `find` looks for what an earlier attempt left."""
        return LIMITS.deduplicates_for

    @property
    def edits_for(self) -> timedelta:
        """Slack names no end for an app's own messages (a workspace may); this is as long as is promised here."""
        return LIMITS.edits_for

    @property
    def first_renewal(self) -> str | None:
        """The refresh token of assent.yaml, of an app with token rotation."""
        token = self._settings.refresh_token
        return token.get_secret_value() if token else None

    def use_access(self, keeper: AccessKeeper) -> None:
        """Take the bot token from there."""
        self._client.use_access(keeper)

    async def renew(self, renewal: str) -> Access:
        """Exchange a refresh token (``oauth.v2.access``)."""
        return await self._client.renew(renewal)

    async def post(self, post: Post) -> MessageRef:
        """Put a card into a conversation. The key travels as message metadata, for `find`."""
        text, blocks = card.render(post.card)
        metadata = {"event_type": card.EVENT_TYPE, "event_payload": {"key": post.key}}
        answer = await self._say({"channel": post.chat_id, "text": text, "blocks": blocks, "metadata": metadata})
        match answer:
            case {"channel": str(chat_id), "ts": str(ts)} if _CONVERSATION.fullmatch(chat_id) and _STAMP.fullmatch(ts):
                return self._ref(chat_id, ts, answer.get("message"))
            case _:
                why = "chat.postMessage: Slack's answer names no message"
                raise ChannelUnavailableError(why, ambiguous=True)

    async def notify(self, ref: MessageRef, notice: Notice) -> None:
        """Answer in the message's thread. Slack knows no second attempt: what may have been said says it is unclear."""
        text, blocks = card.thread_note(notice)
        await self._say({"channel": ref.chat_id, "thread_ts": ref.message_id, "text": text, "blocks": blocks})

    async def announce(self, chat_id: str, notice: Notice) -> None:
        """Post a message of its own; what may have been said is not said again."""
        text, blocks = card.thread_note(notice)
        await self._say({"channel": chat_id, "text": text, "blocks": blocks})

    async def find(self, chat_id: str, key: str, *, since: datetime) -> MessageRef | None:
        """Look through the conversation's history for our metadata; None too where the history scope is missing."""
        try:
            return await self._search(await self._conversation(chat_id), key, since=since)
        except ChannelRefusedError as refusal:
            log.warning("history.refused", channel=self._name, why=refusal.why)
            return None

    async def _search(self, chat_id: str, key: str, *, since: datetime) -> MessageRef | None:
        query: dict[str, object] = {
            "channel": chat_id,
            "oldest": f"{(since - _CLOCKS_APART).timestamp():.6f}",
            "include_all_metadata": True,
            "limit": 200,
        }
        for _ in range(_PAGES_MOST):
            page = await self._client.call("conversations.history", query, verb="GET")
            told = page.get("messages")
            if not isinstance(told, list):
                why = "conversations.history: Slack's answer holds no messages"
                raise ChannelUnavailableError(why)
            for message in cast("list[object]", told):
                if (ts := self._bears(message, key)) is not None:
                    return self._ref(chat_id, ts, message)
            match page:
                case {"response_metadata": {"next_cursor": str(cursor)}} if cursor:
                    query["cursor"] = cursor
                case _:
                    return None
        return None

    async def list_missing(self, refs: tuple[MessageRef, ...], /) -> frozenset[str]:
        """Say which of these messages the conversation's history does not hold: one question for all of them.

        Nothing is missing where Slack does not tell all of that time.
        """
        wanted = {ref.message_id for ref in refs}
        stamps = sorted(wanted, key=lambda ts: tuple(map(int, ts.split("."))))
        query: dict[str, object] = {"channel": refs[0].chat_id, "oldest": stamps[0], "latest": stamps[-1]}
        shown = await self._list_shown({**query, "inclusive": True, "limit": 200})
        return frozenset(wanted - shown) if shown is not None else frozenset()

    async def _list_shown(self, query: dict[str, object]) -> set[str] | None:
        """Return the time-stamps of what a history shows; None: Slack does not tell all of it."""
        shown: set[str] = set()
        for _ in range(_PAGES_MOST):
            page = await self._client.call("conversations.history", query, verb="GET")
            told = page.get("messages")
            if not isinstance(told, list):
                why = "conversations.history: Slack's answer holds no messages"
                raise ChannelUnavailableError(why)
            for message in cast("list[object]", told):
                match message:
                    case {"ts": str(), "subtype": "tombstone"}:
                        pass  # it was deleted, and others had answered it
                    case {"ts": str(ts)}:
                        shown.add(ts)
                    case _:
                        return None
            match page:
                case {"response_metadata": {"next_cursor": str(cursor)}} if cursor:
                    query["cursor"] = cursor
                case {"has_more": True}:
                    return None
                case _:
                    return shown
        return None

    async def refresh(self, ref: MessageRef, card_now: Card) -> None:
        """Replace the message's text and blocks."""
        text, blocks = card.render(card_now)
        change = {"channel": ref.chat_id, "ts": ref.message_id, "text": text, "blocks": blocks}
        await self._client.call("chat.update", {**change, "parse": "none", "link_names": False})

    async def look_up(self, *, email: str, account_id: str) -> Account | None:
        """Ask for a person by id (``users.info``) or e-mail (``users.lookupByEmail``)."""
        return await people.look_up(self._client, email=email, account_id=account_id, team=await self._own_team())

    async def group_members(self, source: str) -> tuple[str, ...]:
        """Return the account ids of the people in a Slack user group (``group:S…``); none where it is disabled.

        Raises ChannelUnavailableError or ChannelRefusedError.
        """
        return await people.group_members(self._client, source)

    @property
    def members_at_once(self) -> int:
        """One: Slack tells of people one by one."""
        return 1

    async def identify(self, accounts: tuple[str, ...]) -> dict[str, Member]:
        """Say who these accounts are, by their confirmed e-mails."""
        return await people.identify(self._client, accounts, team=await self._own_team())

    @property
    def managers_at_once(self) -> int:
        """One, where assent.yaml gives the token that SCIM takes; the bot's own reads nothing there."""
        return 1 if self._settings.scim_token is not None else 0

    async def reports_to(self, accounts: tuple[str, ...]) -> dict[str, ReportsTo]:
        """Say who the managers of these people are; whom SCIM does not know is left out."""
        return await reporting.list_managers(self._client, accounts)

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Verify and read a webhook call."""
        secrets = self._settings.signing_secrets
        if not secrets:
            raise CallbackRejectedError("this channel takes no webhooks")
        return callback.read_call(call, signing_secrets=secrets, app_id=self.app_id, now=now)

    def answer(self, click: Click, outcome: ClickOutcome) -> HttpAnswer:
        """Answer a button with nothing (Slack shows nothing of it), a modal with what became of it.

        A verdict that counts closes its modal at once: the card says the rest.
        """
        is_verdict = click.reason is not None or TYPED in click.fields
        if not click.via_modal or (outcome.result is ClickResult.RECORDED and is_verdict):
            return HttpAnswer()
        first = next(iter(click.fields), None)
        if outcome.result is ClickResult.RETRY and first is not None:
            errors = {forms.field_block(first): outcome.sentence}
            return HttpAnswer(body={"response_action": "errors", "errors": errors})
        view = card.outcome_modal(outcome)
        return HttpAnswer(body={"response_action": "update", "view": view})

    async def open_form(self, click: Click, form: Form) -> None:
        """Open a modal for a form, or fail in time for the click's own answer: both have three seconds."""
        view = forms.modal(form, click)
        await self._client.call("views.open", {"trigger_id": click.trigger, "view": view}, within=_MODAL_SECONDS)

    async def tell(self, click: Click, outcome: ClickOutcome) -> None:
        """Send a private note through the click's response_url, only ever to the channel's own host."""
        if click.via_modal or not click.reply_to:
            return
        if not self._is_own(click.reply_to):
            log.warning("private_answer.refused", channel=self._name, why="response_url is not of Slack's host")
            return
        await self._client.answer_privately(click.reply_to, card.private_note(outcome))

    async def examine(self) -> list[Finding]:
        """Check the token, the pins, the scopes and the membership."""
        return await examine(self._client, self._settings)

    async def warm_up(self) -> None:
        """Do nothing: the SDK is small, and was loaded with the client."""

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    # ------------------------------------------------------------------------------------------------------------------

    async def _say(self, message: dict[str, object]) -> dict[str, object]:
        """Post a message of which Slack parses and fetches nothing."""
        switched_off = {"mrkdwn": False, "parse": "none", "link_names": False}
        unfurl = {"unfurl_links": False, "unfurl_media": False}
        return await self._client.call("chat.postMessage", {**message, **switched_off, **unfurl})

    async def _conversation(self, chat_id: str) -> str:
        """Return the conversation with a person where `chat_id` names one: only posting takes a person's id."""
        if not forms.PERSON_ID.fullmatch(chat_id):
            return chat_id
        answer = await self._client.call("conversations.open", {"users": chat_id}, verb="FORM")
        match answer.get("channel"):
            case {"id": str(conversation)} if _CONVERSATION.fullmatch(conversation):
                return conversation
            case _:
                why = "conversations.open: Slack's answer names no conversation"
                raise ChannelUnavailableError(why)

    async def _own_team(self) -> str:
        if not self._team:
            answer = await self._client.call("auth.test", {})
            self._team = people.own_team(answer)
        return self._team

    def _ref(self, chat_id: str, ts: str, message: object) -> MessageRef:
        told = cast("dict[str, object]", message) if isinstance(message, dict) else {}
        return MessageRef(
            app_id=_named(told.get("app_id"), _APP) or self.app_id,
            tenant=_named(told.get("team"), people.WORKSPACE_ID) or self._team,
            chat_id=chat_id,
            message_id=ts,
        )

    def _bears(self, message: object, key: str) -> str | None:
        """Return the time-stamp of a message that our app posted with this key."""
        match message:
            case {"ts": str(ts), "metadata": {"event_type": card.EVENT_TYPE, "event_payload": {"key": str(found)}}}:
                author = cast("dict[str, object]", message).get("app_id", self.app_id)
                return ts if found == key and (not self.app_id or author == self.app_id) else None
            case _:
                return None

    def _is_own(self, address: str) -> bool:
        """Compare the whole address, not a parsed host: no port, user, or odd spelling gets by."""
        scheme = "http" if self._settings.api_url.startswith("http://") else "https"
        own = re.escape(f"{scheme}://{self._settings.response_host}/")
        return re.fullmatch(own + r"[A-Za-z0-9/_.~%-]+", address) is not None


def _named(told: object, form: re.Pattern[str]) -> str:
    """Return an id that Slack told, or "" where what stands there is none: every click would be compared with it."""
    return told if isinstance(told, str) and form.fullmatch(told) else ""


class ListeningSlackChannel(SlackChannel):
    """The same over Socket Mode: Slack's calls come on a connection that we open with the app-level token."""

    _listener: SocketListener | None = None

    @property
    def connected(self) -> bool:
        """Whether the connection stands."""
        return self._listener is not None and self._listener.connected

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Refuse: this app's calls come on the connection."""
        del call, now
        raise CallbackRejectedError("this channel listens on Socket Mode and takes no webhooks")

    async def listen(self, receive: Callable[[Inbound], Awaitable[HttpAnswer]]) -> None:
        """Receive until cancelled. Raises ChannelRefusedError without an app-level token."""
        token = self._settings.app_token
        if token is None:
            raise ChannelRefusedError("app_token is missing")
        listener = self._listener = SocketListener(
            self._client,
            receive,
            name=self._name,
            app_token=token.get_secret_value(),
            app_id=self.app_id,
        )
        await listener.run()


def build(name: str, options: SlackSettings) -> SlackChannel:
    """Return the channel that assent.yaml describes: a listening one where it says ``receive: socket``."""
    return (ListeningSlackChannel if options.receive == "socket" else SlackChannel)(name, options)
