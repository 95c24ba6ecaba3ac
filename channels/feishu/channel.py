"""Feishu as a `Channel`: cards into one chat, clicks back by webhook or long connection."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, assert_never

from app.abilities.directories import Member
from app.domain.text.language import Language
from app.ports import (
    Account,
    AccountStatus,
    CallbackRejectedError,
    ChannelRefusedError,
    ClickResult,
    HttpAnswer,
    MessageRef,
)
from channels.feishu.callback import Audience, Secrets, read_webhook
from channels.feishu.card import render_card, render_content
from channels.feishu.client import MOST_AT_ONCE, FeishuClient
from channels.feishu.details.failures import NotPermittedError
from channels.feishu.details.groups import list_members
from channels.feishu.details.members import list_mailboxes
from channels.feishu.details.notice import render_link, render_notice, without_link
from channels.feishu.details.people import WITHHELD
from channels.feishu.details.reporting import list_managers
from channels.feishu.examine import examine_app
from channels.feishu.listener import Listener
from channels.feishu.settings import LIMITS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime, timedelta

    from app.abilities.directories import ReportsTo
    from app.domain.card.card import Card
    from app.domain.card.form import Form
    from app.ports import Click, ClickOutcome, Finding, Inbound, InboundCall, Notice, Post
    from channels.feishu.details.people import Contact
    from channels.feishu.settings import FeishuSettings


class FeishuChannel:
    """One app of one tenant, posting to one chat."""

    def __init__(
        self,
        name: str,
        settings: FeishuSettings,
        client: FeishuClient,
        *,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        """Put the parts together; nothing is called yet. `jitter` (0 to 1, by default random) spreads reconnects."""
        self._name = name
        self._settings = settings
        self._client = client
        self._jitter = jitter or secrets.SystemRandom().random
        self._audience = Audience(app_id=settings.app_id, tenant_key=settings.tenant_key)

    @property
    def name(self) -> str:
        """The channel's name in assent.yaml."""
        return self._name

    @property
    def kind(self) -> str:
        """The platform."""
        return "feishu"

    @property
    def language(self) -> Language:
        """What its people read."""
        return Language(self._settings.language)

    @property
    def chat_id(self) -> str:
        """The chat its cards go to."""
        return self._settings.chat

    @property
    def app_id(self) -> str:
        """Our app's id."""
        return self._settings.app_id

    @property
    def text_budget(self) -> int:
        """How many characters one card carries whole."""
        return LIMITS.text_budget

    @property
    def opens_forms(self) -> bool:
        """Feishu has no dialogues: a form stands on the card of the one person who wants to fill it in."""
        return LIMITS.opens_forms

    @property
    def deduplicates_for(self) -> timedelta:
        """How long one key posts at most one card."""
        return LIMITS.deduplicates_for

    @property
    def edits_for(self) -> timedelta:
        """How long a card can be edited and clicked."""
        return LIMITS.edits_for

    async def post(self, post: Post) -> MessageRef:
        """Put a card into a chat, or into a person's own; the key is the platform's ``uuid``.

        The answer names the chat in which a person talks with our bot: clicks there name it too.
        """
        sent = await self._client.send_card(post.chat_id, render_content(post.card), post.key)
        return MessageRef(
            app_id=self._settings.app_id,
            tenant=sent.tenant_key,
            chat_id=sent.chat_id,
            message_id=sent.message_id,
        )

    async def find(self, chat_id: str, key: str, *, since: datetime) -> MessageRef | None:  # noqa: ARG002 # the port's shape
        """Return None: the platform cannot be asked by uuid; within `deduplicates_for`, posting again is how to ask."""
        return None

    async def list_missing(self, refs: tuple[MessageRef, ...], /) -> frozenset[str]:
        """Say which of these messages are not there; the platform is asked one by one."""
        return frozenset([ref.message_id for ref in refs if not await self._client.is_there(ref.message_id)])

    async def refresh(self, ref: MessageRef, card: Card) -> None:
        """Make the message show `card`."""
        await self._client.replace_card(ref.message_id, render_content(card))

    async def notify(self, ref: MessageRef, notice: Notice, /) -> None:
        """Say something under the message, as rich text whose words are never parsed; the key is the ``uuid``."""
        await self._client.reply(ref.message_id, render_notice(notice, self.language), notice.key)

    async def announce(self, chat_id: str, notice: Notice, /) -> None:
        """Post a message of its own, as rich text; the key is the ``uuid``."""
        await self._client.send_text(chat_id, render_notice(notice, self.language), notice.key)

    async def group_members(self, source: str, /) -> tuple[str, ...]:
        """Return the open_ids of ``group:<id>`` or ``department:<open_department_id>``: direct members only.

        People of child departments are not among them, and neither are those of a department that is itself a member
        of a group. Raises ChannelRefusedError or ChannelUnavailableError; part of a list is never returned.
        """
        return await list_members(self._client, source)

    async def look_up(self, *, email: str, account_id: str) -> Account | None:
        """Say which account a person has here and whether they can sign in.

        The API of one person needs a wider scope than that of e-mails. Where it is missing, the e-mail serves, provided
        that it leads to the very same id.
        """
        if not account_id:
            return self._account((await self._client.find_contacts((email,)))[email])
        try:
            return self._account(await self._client.find_contact(account_id))
        except NotPermittedError:
            contact = (await self._client.find_contacts((email,)))[email] if email else None
            if contact is None or contact.open_id != account_id:
                raise
            return self._account(contact)

    async def look_up_all(self, emails: tuple[str, ...], /) -> dict[str, Account | None]:
        """Say the same of many at once, by e-mail: fifty are one call."""
        found: dict[str, Account | None] = {}
        for start in range(0, len(emails), MOST_AT_ONCE):
            contacts = await self._client.find_contacts(emails[start : start + MOST_AT_ONCE])
            found |= {email: self._account(contact) for email, contact in contacts.items()}
        return found

    @property
    def members_at_once(self) -> int:
        """As many as one call of the address book takes."""
        return MOST_AT_ONCE

    async def identify(self, accounts: tuple[str, ...], /) -> dict[str, Member]:
        """Say who these people are, by the organisation's own mailboxes."""
        found: dict[str, Member] = {}
        for each in await list_mailboxes(self._client, accounts):
            if (account := self._account(each.contact)) is not None:
                found[account.account_id] = Member(account=account, email=each.email, withheld=account.withheld)
        return found

    @property
    def managers_at_once(self) -> int:
        """Fifty, where assent.yaml says that this directory is asked (``managers: true``)."""
        return MOST_AT_ONCE if self._settings.managers else 0

    async def reports_to(self, accounts: tuple[str, ...], /) -> dict[str, ReportsTo]:
        """Say who the direct managers of these people are; whom the app may not see is left out."""
        return await list_managers(self._client, accounts)

    def _account(self, contact: Contact | None) -> Account | None:
        if contact is None:
            return None
        return Account(
            tenant=self._settings.tenant_key or "",  # the address book lists our own tenant only, and not its key
            account_id=contact.open_id,
            status=contact.status,
            withheld=WITHHELD if contact.status is AccountStatus.UNKNOWN else "",
        )

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Verify a webhook call and say what it asks."""
        keys = Secrets(encrypt_keys=self._settings.encrypt_keys, verification_tokens=self._settings.verification_tokens)
        return read_webhook(call, now=now, secrets=keys, audience=self._audience)

    def answer(self, click: Click, outcome: ClickOutcome) -> HttpAnswer:  # noqa: ARG002 # the port's shape
        """Answer with a toast, and with the card as it is now. Never an error: that would leave the card clickable."""
        body: dict[str, object] = {"toast": {"type": _toast(outcome.result), "content": without_link(outcome)}}
        if outcome.card is not None:
            # A card that does not fit is the outbox's to mourn: the vote is recorded, and the toast says so.
            with suppress(ChannelRefusedError):
                body["card"] = {"type": "raw", "data": render_card(outcome.card)}
        return HttpAnswer(body=body)

    async def open_form(self, click: Click, form: Form, /) -> None:  # noqa: ARG002 # the port's shape
        """Refuse: forms stand on the card itself."""
        raise ChannelRefusedError("Feishu asks on the card")

    async def tell(self, click: Click, outcome: ClickOutcome) -> None:
        """Send a link, if there is one, into the person's own chat; the toast of `answer` has said everything else."""
        if outcome.link:
            key = hashlib.sha256(f"{click.app_id}/{click.event_key}".encode()).hexdigest()[:40]
            await self._client.send_text(click.account_id, render_link(outcome, self.language), f"link-{key}")

    async def examine(self) -> list[Finding]:
        """Check credentials, membership and scopes."""
        return await examine_app(self._client, self._settings)

    async def warm_up(self) -> None:
        """Load the SDK ahead of the first card."""
        await self._client.warm_up()

    async def close(self) -> None:
        """Let go of the threads."""
        await self._client.close()


class ListeningFeishuChannel(FeishuChannel):
    """The same over a long connection that we open: no public address is needed."""

    _listener: Listener | None = None

    @property
    def connected(self) -> bool:
        """Whether the connection stands."""
        return self._listener is not None and self._listener.connected

    def read(self, call: InboundCall, *, now: datetime) -> Inbound:
        """Refuse: this app's calls come on the connection."""
        del call, now
        raise CallbackRejectedError("this channel receives by long connection only")

    async def listen(self, receive: Callable[[Inbound], Awaitable[HttpAnswer]]) -> None:
        """Receive clicks by long connection until cancelled."""
        listener = self._listener = Listener(
            name=self._name,
            client=self._client,
            audience=self._audience,
            domain=self._settings.domain,
            jitter=self._jitter,
        )
        await listener.run(receive)


def build(name: str, options: FeishuSettings) -> FeishuChannel:
    """Return the channel that assent.yaml describes: a listening one where it says ``receive: websocket``."""
    channel = ListeningFeishuChannel if options.receive == "websocket" else FeishuChannel
    return channel(name, options, FeishuClient(options))


def _toast(result: ClickResult) -> Literal["success", "info", "error", "warning"]:
    match result:
        case ClickResult.RECORDED:
            return "success"
        case ClickResult.ALREADY:
            return "info"
        case ClickResult.REFUSED:
            return "error"
        case ClickResult.RETRY:
            return "warning"
        case _:
            assert_never(result)
