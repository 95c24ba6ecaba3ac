"""What the platform keeps and enforces: tokens, people, chats, messages, and the rules of its API. No I/O.

Every operation takes what came over the wire and returns the ``data`` of the answer, or raises `ApiFaultError` with the
code that the platform documents for it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from channels.feishu.simulator.cards import CardFaultError, check_card
from channels.feishu.simulator.directory import DEPARTMENT_SCOPE, GROUP_SCOPE, Directory, batch_ids, by_scope
from channels.feishu.simulator.errors import ApiFaultError
from channels.feishu.simulator.posts import Remark, check_post
from channels.feishu.simulator.state import Message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.ports import Clock
    from channels.feishu.simulator.state import App, Person

Json = dict[str, object]

TOKEN_LIFE = timedelta(hours=2)
TOKEN_RENEWS_BELOW = timedelta(minutes=30)
UUID_LIFE = timedelta(hours=1)
EDIT_LIFE = timedelta(days=14)
MAX_BODY = 30 * 1024
STATUS_SCOPE, REPORTING_SCOPE = "contact:user.employee:readonly", "contact:user.department:readonly"
ALL_SCOPES = frozenset(
    {
        "im:message:send_as_bot",
        "im:message:readonly",
        "im:message.group_msg",
        "im:chat:readonly",
        "contact:user.id:readonly",
        "contact:contact.base:readonly",
        STATUS_SCOPE,
        REPORTING_SCOPE,
        GROUP_SCOPE,
        DEPARTMENT_SCOPE,
    }
)
_RECEIVER_KINDS = frozenset({"open_id", "user_id", "union_id", "email", "chat_id"})


class Platform:
    """The platform's state for one app in one tenant."""

    def __init__(self, app: App, *, clock: Clock) -> None:
        """Begin with nobody and nothing."""
        self.app = app
        self.clock = clock
        self.people: dict[str, Person] = {}
        self.chats: dict[str, set[str]] = {}
        self.bot_chats: set[str] = set()
        self.own_chats: dict[str, str] = {}  # a person's talk with our bot, by open_id
        self.letters: dict[str, list[Remark]] = {}  # what was said in a chat besides cards, under none
        self.unavailable: set[str] = set()  # open_ids of those to whom our app is not available
        self.directory = Directory()
        self.messages: dict[str, Message] = {}
        self.scopes: set[str] = set(ALL_SCOPES)
        self.refused_words: set[str] = set()  # the company's data-loss prevention stops what holds one of them
        self.enforces_rates = False
        self.holds_for = 0  # seconds: once too fast, nothing more is taken there for so long
        self.refused_for_rate = 0
        self.held_until: dict[str, datetime] = {}
        self.repeats_uuid_as_error = False  # what a second call with one uuid returns is not documented: either may be
        self.fails_unknown_in_batch = False  # nor what an unknown id among others does: it may fail them all
        self._tokens: dict[str, datetime] = {}
        self._sent: dict[tuple[str, str], tuple[datetime, str]] = {}
        self._said: dict[tuple[str, str], tuple[datetime, Remark]] = {}
        self._touched: dict[str, list[datetime]] = {}
        self._count = 0

    def new_id(self, prefix: str) -> str:
        """Return a fresh id of the platform's look."""
        self._count += 1
        return f"{prefix}{self._count:032x}"

    # --- tokens -------------------------------------------------------------------------------------------------------

    def issue_token(self, body: bytes) -> Json:
        """Hand out the token that still has half an hour, or a new one; both then stay valid."""
        self.check_credentials(_object(body), "app_id", "app_secret")
        now = self.clock.now()
        for token, expires_at in self._tokens.items():
            if expires_at - now >= TOKEN_RENEWS_BELOW:
                return {"tenant_access_token": token, "expire": int((expires_at - now).total_seconds())}
        token = self.new_id("t-")
        self._tokens[token] = now + TOKEN_LIFE
        return {"tenant_access_token": token, "expire": int(TOKEN_LIFE.total_seconds())}

    def check_credentials(self, fields: Json, id_name: str, secret_name: str) -> None:
        """Refuse another app's id or a wrong secret."""
        if fields.get(id_name) != self.app.app_id:
            raise ApiFaultError(10003, "invalid param")
        if fields.get(secret_name) != self.app.app_secret:
            raise ApiFaultError(10014, "app secret invalid")

    def revoke_tokens(self) -> None:
        """Make every token that was handed out invalid."""
        self._tokens.clear()

    def authorise(self, authorization: str | None) -> None:
        """Check the Authorization header of a call."""
        if not authorization:
            raise ApiFaultError(99991661, "Missing access token for authorization.")
        token = authorization.removeprefix("Bearer ")
        if not token.startswith("t-"):
            raise ApiFaultError(99991671, "Invalid access token, must start with t-, u-, or a-.")
        if self._tokens.get(token, self.clock.now()) <= self.clock.now():
            raise ApiFaultError(99991663, "Invalid access token for authorization.")

    # --- messages -----------------------------------------------------------------------------------------------------

    def send(self, query: Mapping[str, str], body: bytes) -> Json:
        """Put a card into a chat, at most once an hour for one uuid."""
        self._need("im:message:send_as_bot")
        if len(body) > MAX_BODY:
            raise ApiFaultError(230025, "The length of the message content reaches its limit.")
        if query.get("receive_id_type") not in _RECEIVER_KINDS:
            raise ApiFaultError(99992402, "field validation failed: receive_id_type")
        fields = _object(body)
        self._refuse_unknown(fields, {"receive_id", "msg_type", "content", "uuid"})
        uuid = self._uuid(fields)
        if fields.get("msg_type") not in {"interactive", "post"}:
            raise ApiFaultError(230001, "only cards and rich text are modelled here")
        chat_id = self._receiver(query["receive_id_type"], str(fields.get("receive_id")))
        if fields["msg_type"] == "post":
            return self._say(chat_id, fields.get("content"), uuid)
        now = self.clock.now()
        sent_at, earlier = self._sent.get((chat_id, uuid), (now, "")) if uuid else (now, "")
        if earlier and now - sent_at < UUID_LIFE:
            if self.repeats_uuid_as_error:
                raise ApiFaultError(230049, "The message is being sent.")
            return self._describe(self.messages[earlier])
        card = self._card(fields.get("content"))
        self._count_rate(chat_id)
        message = Message(
            message_id=self.new_id("om_"), chat_id=chat_id, app_id=self.app.app_id, created_at=now, versions=[card]
        )
        self.messages[message.message_id] = message
        if uuid:
            self._sent[chat_id, uuid] = (now, message.message_id)
        return self._describe(message)

    def _say(self, chat_id: str, content: object, uuid: str) -> Json:
        """Take rich text that stands on its own, in a chat or for one person; a link is for one person alone."""
        now = self.clock.now()
        earlier = self._said.get((chat_id, uuid)) if uuid else None
        remark = earlier[1] if earlier is not None and now - earlier[0] < UUID_LIFE else None
        if remark is None:
            text, mentions = check_post(
                content, people=frozenset(self.people), links=chat_id in self.own_chats.values()
            )
            self._count_rate(chat_id)
            remark = Remark(message_id=self.new_id("om_"), created_at=now, text=text, mentions=mentions)
            self.letters.setdefault(chat_id, []).append(remark)
            if uuid:
                self._said[chat_id, uuid] = (now, remark)
        return {"message_id": remark.message_id, "chat_id": chat_id, "msg_type": "post"}

    def _receiver(self, kind: str, receiver: str) -> str:
        """Return the chat that a message goes to; a person's own is opened by the first one."""
        match kind:
            case "chat_id" if receiver in self.chats:
                self._check_reach(receiver)
                return receiver
            case "open_id" if receiver in self.people:
                chat_id = self.own_chats.get(receiver) or self.new_id("oc_")
                self._check_available(receiver)
                self.own_chats[receiver] = chat_id
                self.chats[chat_id] = {receiver}
                self.bot_chats.add(chat_id)
                return chat_id
            case "open_id":
                raise ApiFaultError(99992351, "not a valid open_id")
            case "chat_id":
                raise ApiFaultError(230001, "invalid receive_id")
            case _:
                raise ApiFaultError(230001, "only chats and open_ids are modelled here")

    def _check_reach(self, chat_id: str) -> None:
        if chat_id not in self.bot_chats:
            raise ApiFaultError(230002, "Bot/User can NOT be out of the chat.")
        for open_id in [person for person, own in self.own_chats.items() if own == chat_id]:
            self._check_available(open_id)

    def _check_available(self, open_id: str) -> None:
        person = self.people[open_id]
        gone = person.resigned or person.frozen or person.exited or person.tenant_key != self.app.tenant_key
        if gone or open_id in self.unavailable:
            raise ApiFaultError(230013, "Bot has NO availability to this user.")

    def reply(self, message_id: str, body: bytes) -> Json:
        """Say something under a message, at most once an hour for one uuid."""
        self._need("im:message:send_as_bot")
        if len(body) > MAX_BODY:
            raise ApiFaultError(230025, "The length of the message content reaches its limit.")
        fields = _object(body)
        self._refuse_unknown(fields, {"content", "msg_type", "reply_in_thread", "uuid"})
        uuid = self._uuid(fields)
        message = self.messages.get(message_id)
        if message is None:
            raise ApiFaultError(230001, "invalid message_id")
        if message.recalled:
            raise ApiFaultError(230011, "The message has been recalled.")
        self._check_reach(message.chat_id)
        now = self.clock.now()
        earlier = self._said.get((message_id, uuid)) if uuid else None
        if earlier is not None and now - earlier[0] < UUID_LIFE:
            return message.told_of(earlier[1])
        if fields.get("msg_type") != "post":
            raise ApiFaultError(230001, "only rich text is modelled here")
        text, mentions = check_post(fields.get("content"), people=frozenset(self.people))
        self._count_rate(message.chat_id)
        remark = Remark(message_id=self.new_id("om_"), created_at=now, text=text, mentions=mentions)
        message.remarks.append(remark)
        if uuid:
            self._said[message_id, uuid] = (now, remark)
        return message.told_of(remark)

    @staticmethod
    def _uuid(fields: Json) -> str:
        uuid = fields.get("uuid", "")
        if not isinstance(uuid, str) or len(uuid) > 50:
            raise ApiFaultError(99992402, "field validation failed: uuid")
        return uuid

    def patch(self, message_id: str, body: bytes) -> Json:
        """Replace the card of a message, within its fourteen days and not while somebody's click is in flight."""
        if len(body) > MAX_BODY:
            raise ApiFaultError(230025, "The length of the message content reaches its limit.")
        fields = _object(body)
        self._refuse_unknown(fields, {"content"})
        message = self.messages.get(message_id)
        if message is None:
            raise ApiFaultError(230001, "invalid message_id")
        if message.app_id != self.app.app_id:
            raise ApiFaultError(230027, "Lack of necessary permissions.")
        if message.recalled:
            raise ApiFaultError(230011, "The message has been recalled.")
        if self.clock.now() - message.created_at > EDIT_LIFE:
            raise ApiFaultError(230031, "The message was sent more than 14 days ago.")
        card = self._card(fields.get("content"))
        if message.clicks_in_flight:
            raise ApiFaultError(
                230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card action is lock; "
            )
        self._count_rate(message_id)
        message.versions.append(card)
        return {}

    def get(self, message_id: str) -> Json:
        """Return a message, recalled or not; in a group, that takes the scope for all its messages."""
        self._need("im:message:readonly")
        message = self.messages.get(message_id)
        if message is None:
            raise ApiFaultError(230001, "Your request contains an invalid request parameter, ext=invalid message_id.")
        if message.chat_id not in self.own_chats.values():
            self._need("im:message.group_msg")
        return {"items": [self._describe(message)]}

    def show_else(self, message_id: str, *, twice: bool) -> None:
        """Show a message that was answered for twice, or not at all."""
        message = self.messages.get(message_id)
        if message is not None and twice:
            again = replace(message, message_id=self.new_id("om_"), versions=list(message.versions), toasts={})
            self.messages[again.message_id] = again
        elif message is not None:
            del self.messages[message_id]
            self._sent = {key: sent for key, sent in self._sent.items() if sent[1] != message_id}

    def _card(self, content: object) -> Json:
        if not isinstance(content, str):
            raise ApiFaultError(230001, "content is not a string")
        if any(word in content for word in self.refused_words):
            raise ApiFaultError(230028, "The messages do NOT pass the audit.")
        try:
            return check_card(json.loads(content), people=frozenset(self.people))
        except ValueError:
            raise ApiFaultError(230001, "content is not JSON") from None
        except CardFaultError as fault:
            raise ApiFaultError(230099, str(fault)) from None

    def _describe(self, message: Message) -> Json:
        return message.told(self.app)

    def _count_rate(self, key: str) -> None:
        now = self.clock.now()
        recent = [at for at in self._touched.get(key, []) if now - at < timedelta(seconds=1)]
        held = now < self.held_until.get(key, now)
        if self.enforces_rates and (held or len(recent) >= 5):
            self.refused_for_rate += 1
            if not self.holds_for:
                raise ApiFaultError(230020, "This operation triggers the frequency limit.")
            if not held:
                self.held_until[key] = now + timedelta(seconds=self.holds_for)
            headers = {"x-ogw-ratelimit-limit": "5", "x-ogw-ratelimit-reset": str(self.holds_for)}
            raise ApiFaultError(99991400, "request trigger frequency limit", status=429, headers=headers)
        self._touched[key] = [*recent, now]

    # --- people and chats ---------------------------------------------------------------------------------------------

    def batch_get_id(self, query: Mapping[str, str], body: bytes) -> Json:
        """Map login e-mails to ids; `user_id` is left out for those whom the app cannot see."""
        self._need("contact:user.id:readonly")
        if query.get("user_id_type", "open_id") != "open_id":
            raise ApiFaultError(40001, "only open_id is modelled here")
        fields = _object(body)
        self._refuse_unknown(fields, {"emails", "mobiles", "include_resigned"})
        emails = fields.get("emails", [])
        if not isinstance(emails, list) or len(cast("list[object]", emails)) > 50:
            raise ApiFaultError(40001, "at most 50 emails")
        found: list[Json] = []
        for email in cast("list[object]", emails):
            entry: Json = {"email": email}
            for person in self.people.values():
                visible = person.tenant_key == self.app.tenant_key
                if (
                    person.email == email
                    and visible
                    and (not person.resigned or fields.get("include_resigned") is True)
                ):
                    entry |= {"user_id": person.open_id} | self._status(person)
            found.append(entry)
        return {"user_list": found}

    def get_user(self, open_id: str, query: Mapping[str, str]) -> Json:
        """Return one user of our tenant."""
        self._need("contact:contact.base:readonly")
        if query.get("user_id_type", "open_id") != "open_id":
            raise ApiFaultError(40001, "only open_id is modelled here")
        person = self.people.get(open_id)
        if person is None:
            raise ApiFaultError(99992351, "not a valid open_id")
        if person.tenant_key != self.app.tenant_key:
            raise ApiFaultError(41050, "no user authority error")
        return {"user": {"open_id": open_id, "name": person.name} | self._status(person)}

    def list_users(self, query: Mapping[str, str]) -> Json:
        """Return users of our tenant by their ids, with what the app's scopes bring of each; others are left out."""
        self._need("contact:contact.base:readonly")
        ids = batch_ids(query)
        if self.fails_unknown_in_batch and not self.people.keys() >= set(ids):
            raise ApiFaultError(99992351, "not a valid open_id")
        found = (self.people[each] for each in ids if each in self.people)
        return {"items": [self._told(each) for each in found if each.tenant_key == self.app.tenant_key]}

    def _told(self, person: Person) -> Json:
        more = by_scope(person, of_work=STATUS_SCOPE in self.scopes, above=REPORTING_SCOPE in self.scopes)
        return {"open_id": person.open_id, "name": person.name} | self._status(person) | more

    def _status(self, person: Person) -> Json:
        """Return how somebody stands; nothing at all, and no error either, without the scope of that field."""
        return {"status": person.status()} if STATUS_SCOPE in self.scopes else {}

    def is_in_chat(self, chat_id: str) -> Json:
        """Say whether the bot is a member."""
        self._need("im:chat:readonly")
        if chat_id not in self.chats:
            raise ApiFaultError(232006, "Your request specifies a chat_id which is invalid.")
        return {"is_in_chat": chat_id in self.bot_chats}

    def list_group(self, group_id: str, query: Mapping[str, str]) -> Json:
        """Return a page of a user group's people."""
        self._need(GROUP_SCOPE)
        return self.directory.list_group(group_id, query)

    def list_department(self, query: Mapping[str, str]) -> Json:
        """Return a page of a department's people."""
        self._need(DEPARTMENT_SCOPE)
        return self.directory.list_department(query)

    def _need(self, scope: str) -> None:
        if scope not in self.scopes:
            raise ApiFaultError(99991672, f"Access denied. One of the following scopes is required: [{scope}].")

    @staticmethod
    def _refuse_unknown(fields: Json, allowed: set[str]) -> None:
        unknown = fields.keys() - allowed
        if unknown:
            # The real platform's answer is not documented; a typo must not pass here.
            raise ApiFaultError(99992402, f"field validation failed: {sorted(unknown)}")


def _object(body: bytes) -> Json:
    try:
        value: object = json.loads(body)
    except ValueError:
        raise ApiFaultError(9499, "Bad Request") from None
    if not isinstance(value, dict):
        raise ApiFaultError(9499, "Bad Request")
    return cast("Json", value)  # JSON objects have string keys
