"""What the stand-in for Slack remembers: people, rooms, messages with their versions, modals, one-time rights."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.ports import Clock

ALL_SCOPES: Final = frozenset(
    {
        "chat:write",
        "channels:history",
        "groups:history",
        "channels:read",
        "groups:read",
        "users:read",
        "users:read.email",
        "im:write",
        "im:history",
        "usergroups:read",
    }
)


class Fault(StrEnum):
    """What can go wrong with the next call of a method."""

    RATE_LIMITED = "rate_limited"  # 429, Retry-After: 7
    SERVER_ERROR = "server_error"  # 500 with a page of HTML; nothing was done
    UNAVAILABLE = "unavailable"  # 503 with plain text; nothing was done
    FATAL_AFTER_STORE = "fatal_after_store"  # done, but answered with fatal_error
    RESET_BEFORE = "reset_before"  # the connection is dropped; nothing was done
    RESET_AFTER_RECEIVE = "reset_after_receive"  # done, and the connection is dropped
    HANG = "hang"  # no answer at all; nothing was done
    REFUSED = "refused"  # ok: false, restricted_action
    UNSHOWN = "unshown"  # answered as if it was done, with a time-stamp; nobody sees a message
    SHOWN_TWICE = "shown_twice"  # done, and people see a second message like it, of which the answer says nothing
    BROKEN_JSON = "broken_json"  # done, but the answer breaks off
    PLAIN_TEXT = "plain_text"  # 200 with text that is no JSON
    REDIRECT = "redirect"  # 307 to /elsewhere of this server, which records what it is sent


@dataclass(slots=True, kw_only=True)
class Person:
    """An account as ``users.info`` tells it."""

    id: str
    name: str
    email: str
    team_id: str
    deleted: bool = False
    is_bot: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    is_email_confirmed: bool | None = True  # None: it is not told
    grid_teams: tuple[str, ...] = ()  # of an Enterprise Grid's people: every workspace in which they are
    enterprise_id: str = "E0GRID"  # whose they then are
    manager: str = ""  # the account that an identity provider wrote there, which SCIM alone tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a message showed at one time."""

    text: str
    blocks: list[dict[str, object]]


@dataclass(slots=True, kw_only=True)
class UserGroup:
    """A user group, such as @finance."""

    id: str
    handle: str
    people: list[str]
    disabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer in a message's thread, with whom it rings up."""

    ts: str
    text: str
    blocks: list[dict[str, object]]
    mentions: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Message:
    """A message, with everything it ever showed."""

    ts: str
    metadata: dict[str, object] | None
    versions: list[Version]
    posted_at: datetime
    ours: bool = True  # posted by the app under test
    replies: list[Reply] = field(default_factory=list[Reply])

    @property
    def now(self) -> Version:
        """What it shows."""
        return self.versions[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An ephemeral message: one person sees it."""

    user: str
    text: str
    blocks: list[dict[str, object]]


@dataclass(slots=True, kw_only=True)
class Room:
    """A conversation; the app's own with one person where `person` is set."""

    id: str
    name: str
    person: str | None = None
    has_app: bool = True
    archived: bool = False
    messages: dict[str, Message] = field(default_factory=dict[str, Message])
    notes: list[Note] = field(default_factory=list[Note])


@dataclass(slots=True, kw_only=True)
class Modal:
    """A modal on one person's screen."""

    id: str
    user: str
    view: dict[str, object]
    hash: str
    open: bool = True
    errors: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True, kw_only=True)
class Token:
    """What a token may do."""

    kind: str  # "bot", "app" or "user"
    scopes: frozenset[str]
    revoked: bool = False
    until: datetime | None = None  # of an app with token rotation


@dataclass(slots=True, kw_only=True)
class ReplyRight:
    """A response_url: five uses in thirty minutes."""

    room: str
    ts: str
    user: str
    until: datetime
    uses_left: int = 5


@dataclass(slots=True, kw_only=True)
class Trigger:
    """The right to open one modal, for three seconds."""

    user: str
    until: datetime
    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One line of the request log; tokens are not in it."""

    method: str
    arguments: dict[str, object]
    authorized: bool  # whether an Authorization header came with it


class World:
    """One workspace with one app in it. Everything a test wants to look at or set up is public."""

    def __init__(self, *, clock: Clock, signing_secret: str, bot_token: str, app_token: str) -> None:
        """Start with an empty workspace."""
        self.clock = clock
        self.signing_secret = signing_secret
        self.team_id = "T9TK3CUKW"
        self.domain = "example-corp"
        self.app_id = "A0APPR0VAL"
        self.bot_id = "B0B0T00001"
        self.bot_user_id = "U0B0TUSER1"
        self.tokens = {
            bot_token: Token(kind="bot", scopes=ALL_SCOPES),
            app_token: Token(kind="app", scopes=frozenset({"connections:write"})),
        }
        self.people: dict[str, Person] = {}
        self.rooms: dict[str, Room] = {}
        self.groups: dict[str, UserGroup] = {}
        self.modals: dict[str, Modal] = {}
        self.triggers: dict[str, Trigger] = {}
        self.reply_rights: dict[str, ReplyRight] = {}
        self.tickets: set[str] = set()
        self.refuse_sockets = 0  # how many of the next Socket Mode handshakes fail
        self.calls: list[ApiCall] = []
        self.faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self.tampers: dict[str, Callable[[dict[str, object]], dict[str, object]]] = {}  # by method: what answers become
        self.late: dict[str, asyncio.Event] = {}  # by method: it is done at once, and answered when this is set
        self.enterprise_id = ""  # whose workspace this is
        self.org_wide = False  # the app is installed in the whole organisation, not in one workspace
        self.limits_rate = False
        self.holds_for = 0  # seconds: once too fast, a method takes nothing in that channel for so long
        self.held_until: dict[str, datetime] = {}
        self.refused_for_rate = 0
        self.refuses_markup = True
        self.refused_words: set[str] = set()  # no message may hold one of them
        self.closing = asyncio.Event()
        self._count = 0

    def serial(self, prefix: str) -> str:
        """Return a fresh id; the same in every run, and not to be guessed by reading one of them."""
        self._count += 1
        return prefix + hashlib.sha256(f"{self.signing_secret}{prefix}{self._count}".encode()).hexdigest()[:16].upper()

    def stamp(self) -> str:
        """Return a fresh message time-stamp: seconds of this clock, and a counter that makes it unique."""
        self._count += 1
        return f"{int(self.clock.now().timestamp())}.{self._count:06d}"

    def take_fault(self, method: str) -> Fault | None:
        """Return what shall go wrong with this call, once."""
        waiting = self.faults[method]
        return waiting.popleft() if waiting else None

    def add_person(self, person: Person) -> Person:
        """Let somebody join."""
        self.people[person.id] = person
        return person

    def add_room(self, room: Room) -> Room:
        """Open a conversation."""
        self.rooms[room.id] = room
        return room

    def direct_room(self, user: str) -> Room:
        """Return the app's conversation with a person, opened if there is none yet."""
        found = next((room for room in self.rooms.values() if room.person == user), None)
        return found or self.add_room(Room(id=self.serial("D")[:11], name="directmessage", person=user))

    def show_else(self, answer: dict[str, object], *, twice: bool) -> None:
        """Show a message that was answered for twice, or not at all."""
        room = self.rooms.get(str(answer.get("channel")))
        message = room.messages.get(str(answer.get("ts"))) if room is not None else None
        if room is None or message is None:
            return
        if twice:
            again = replace(message, ts=self.stamp(), versions=list(message.versions), replies=[])
            room.messages[again.ts] = again
        else:
            del room.messages[message.ts]

    def add_group(self, group: UserGroup) -> UserGroup:
        """Make a user group."""
        self.groups[group.id] = group
        return group
