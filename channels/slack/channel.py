"""Slack as a channel: `Card` out, clicks in.

`SlackChannel` is reached by webhook. `ListeningSlackChannel` is the same over Socket Mode, for gateways without a
public address; it refuses webhooks, so that each app has one door.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

import structlog

from app.ports import (
    Account,
    AccountStatus,
    CallbackRejectedError,
    ChannelRefusedError,
    ChannelUnavailableError,
    ClickResult,
    HttpAnswer,
    MessageRef,
)
from channels.slack import callback, card
from channels.slack.client import SlackClient
from channels.slack.examine import examine
from channels.slack.listener import SocketListener

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from app.domain.card import Card, Language
    from app.ports import Click, ClickOutcome, Finding, Inbound, InboundCall, Post
    from channels.slack.settings import SlackSettings

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_CALL_SECONDS: Final = 5.0
_MODAL_SECONDS: Final = 2.0
_CLOCKS_APART: Final = timedelta(minutes=5)
_PAGES_MOST: Final = 10
_EDITS_FOR: Final = timedelta(days=14)
_UNKNOWN_PERSON: Final = frozenset({"users_not_found", "user_not_found", "user_not_visible"})


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
        return card.TEXT_BUDGET

    @property
    def deduplicates_for(self) -> timedelta:
        """Slack has no documented idempotency key: `find` looks for what an earlier attempt left."""
        return timedelta(0)

    @property
    def edits_for(self) -> timedelta:
        """Slack names no end for an app's own messages (a workspace may); this is as long as is promised here."""
        return _EDITS_FOR

    async def post(self, post: Post) -> MessageRef:
        """Put a card into a conversation. The key travels as message metadata, for `find`."""
        text, blocks = card.render(post.card)
        message = {
            "channel": post.chat_id,
            "text": text,
            "blocks": blocks,
            "metadata": {"event_type": card.EVENT_TYPE, "event_payload": {"key": post.key}},
            "mrkdwn": False,
            "parse": "none",
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        answer = await self._client.call("chat.postMessage", message)
        match answer:
            case {"channel": str(chat_id), "ts": str(ts)}:
                return self._ref(chat_id, ts, answer.get("message"))
            case _:
                why = "chat.postMessage: Slack's answer names no message"
                raise ChannelUnavailableError(why, ambiguous=True)

    async def find(self, chat_id: str, key: str, *, since: datetime) -> MessageRef | None:
        """Look through the conversation's history for our metadata; None too where the history scope is missing."""
        query: dict[str, object] = {
            "channel": chat_id,
            "oldest": f"{(since - _CLOCKS_APART).timestamp():.6f}",
            "include_all_metadata": True,
            "limit": 200,
        }
        for _ in range(_PAGES_MOST):
            try:
                page = await self._client.call("conversations.history", query, verb="GET")
            except ChannelRefusedError as refusal:
                log.warning("history.refused", channel=self._name, why=refusal.why)
                return None
            for message in cast("list[object]", page.get("messages") or []):
                if (ts := self._bears(message, key)) is not None:
                    return self._ref(chat_id, ts, message)
            match page:
                case {"response_metadata": {"next_cursor": str(cursor)}} if cursor:
                    query["cursor"] = cursor
                case _:
                    return None
        return None

    async def refresh(self, ref: MessageRef, card_now: Card) -> None:
        """Replace the message's text and blocks."""
        text, blocks = card.render(card_now)
        change = {"channel": ref.chat_id, "ts": ref.message_id, "text": text, "blocks": blocks}
        await self._client.call("chat.update", {**change, "parse": "none", "link_names": False})

    async def look_up(self, *, email: str, account_id: str) -> Account | None:
        """Ask for a person by id (``users.info``) or e-mail (``users.lookupByEmail``)."""
        team = await self._own_team()
        method, query = (
            ("users.info", {"user": account_id}) if account_id else ("users.lookupByEmail", {"email": email})
        )
        try:
            answer = await self._client.call(method, query, verb="GET")
        except ChannelRefusedError as refusal:
            if any(refusal.why.startswith(f"{method}: {code}") for code in _UNKNOWN_PERSON):
                return None
            raise
        match answer.get("user"):
            case {"id": str(user_id)} as user:
                return _account(user_id, cast("dict[str, object]", user), team=team)
            case _:
                why = f"{method}: Slack's answer names nobody"
                raise ChannelUnavailableError(why)

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Verify and read a webhook call."""
        secret = self._settings.signing_secret
        if secret is None:
            raise CallbackRejectedError("this channel takes no webhooks")
        return callback.read_call(call, signing_secret=secret.get_secret_value(), app_id=self.app_id, now=now)

    def answer(self, click: Click, outcome: ClickOutcome) -> HttpAnswer:
        """Answer a button with nothing (Slack shows nothing of it), a modal with what became of it."""
        if not click.via_modal or outcome.result is ClickResult.RECORDED:
            return HttpAnswer()
        if outcome.result is ClickResult.RETRY:
            return HttpAnswer(body={"response_action": "errors", "errors": {card.REASON_BLOCK: outcome.sentence}})
        view = card.outcome_modal(outcome.card.headline if outcome.card else "Assent", outcome.sentence)
        return HttpAnswer(body={"response_action": "update", "view": view})

    async def ask_reason(self, click: Click, card_now: Card) -> None:
        """Open the modal for the reason, or fail in time for the click's own answer: both have three seconds."""
        view = card.deny_modal(card_now, click)
        await self._client.call("views.open", {"trigger_id": click.trigger, "view": view}, within=_MODAL_SECONDS)

    async def tell(self, click: Click, outcome: ClickOutcome) -> None:
        """Send a private note through the click's response_url, only ever to the channel's own host."""
        if click.via_modal or not click.reply_to:
            return
        if not self._is_own(click.reply_to):
            log.warning("private_answer.refused", channel=self._name, why="response_url is not of Slack's host")
            return
        await self._client.answer_privately(click.reply_to, card.private_note(outcome.sentence))

    async def examine(self) -> list[Finding]:
        """Check the token, the pins, the scopes and the membership."""
        return await examine(self._client, self._settings)

    async def warm_up(self) -> None:
        """Do nothing: the SDK is small, and was loaded with the client."""

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    # ------------------------------------------------------------------------------------------------------------------

    async def _own_team(self) -> str:
        if not self._team:
            answer = await self._client.call("auth.test", {})
            self._team = str(answer.get("team_id") or "")
        return self._team

    def _ref(self, chat_id: str, ts: str, message: object) -> MessageRef:
        told = cast("dict[str, object]", message) if isinstance(message, dict) else {}
        return MessageRef(
            app_id=str(told.get("app_id") or self.app_id),
            tenant=str(told.get("team") or self._team),
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


class ListeningSlackChannel(SlackChannel):
    """The same over Socket Mode: Slack's calls come on a connection that we open with the app-level token."""

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Refuse: this app's calls come on the connection."""
        del call, now
        raise CallbackRejectedError("this channel listens on Socket Mode and takes no webhooks")

    async def listen(self, receive: Callable[[Inbound], Awaitable[HttpAnswer]]) -> None:
        """Receive until cancelled. Raises ChannelRefusedError without an app-level token."""
        token = self._settings.app_token
        if token is None:
            raise ChannelRefusedError("app_token is missing")
        listener = SocketListener(
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


def _account(user_id: str, user: dict[str, object], *, team: str) -> Account:
    tenant = str(user.get("team_id") or "")
    if user.get("deleted"):
        status = AccountStatus.DEACTIVATED
    elif user.get("is_bot") or user_id == "USLACKBOT":
        status = AccountStatus.BOT
    elif _is_guest(user) or tenant != team:
        status = AccountStatus.GUEST
    else:
        status = AccountStatus.ACTIVE
    return Account(tenant=tenant, account_id=user_id, status=status)


def _is_guest(user: dict[str, object]) -> bool:
    return any(user.get(mark) for mark in ("is_restricted", "is_ultra_restricted", "is_stranger"))


def manifest(*, name: str, public_url: str, receive: str) -> dict[str, object]:
    """Return the Slack app manifest for a channel of assent.yaml (api.slack.com/reference/manifests).

    `public_url` is the gateway's address; it is not needed with ``receive="socket"``. Raises ValueError for webhooks
    without an https address: Slack takes no other.
    """
    if receive == "webhook" and not re.match(r"https://[^/\s]", public_url):
        raise ValueError(
            "webhooks need the gateway's public address: add --public-url https://assent.acme.example, "
            "or take --receive socket, which needs none"
        )
    scopes = [
        "chat:write",
        "channels:history",  # finds a card after a crash, so that it is not posted twice
        "groups:history",  # the same in private channels
        "channels:read",  # lets `assent doctor` see whether the app is a member
        "groups:read",
        "users:read",
        "users:read.email",
    ]
    interactivity: dict[str, object] = {"is_enabled": True}
    if receive == "webhook":
        interactivity["request_url"] = f"{public_url.rstrip('/')}/v1/channels/{name}/callback"
    return {
        "display_information": {"name": "Assent", "description": "Approvals for AI agents"},
        "features": {"bot_user": {"display_name": "assent", "always_online": True}},
        "oauth_config": {"scopes": {"bot": scopes}},
        "settings": {
            "interactivity": interactivity,
            "org_deploy_enabled": False,
            "socket_mode_enabled": receive == "socket",
            "token_rotation_enabled": False,
        },
    }
