"""The Web API methods of the stand-in, as strict as Slack's are documented to be. No HTTP here.

`call_method` takes a method's name, the bearer token and the merged arguments, and returns what Slack would answer; a
refusal is an answer too (``{"ok": false, "error": …}``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from channels.slack.simulator.blocks import BlocksRefusedError, check_blocks, check_view, markup_in, stray_markup
from channels.slack.simulator.state import Message, Modal, Reply, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from channels.slack.simulator.state import Person, Room, Token, World

_TEXT_MOST: Final = {"chat.postMessage": 40_000, "chat.update": 4_000}
_METADATA_MOST: Final = 16_000
_MENTION: Final = re.compile(r"<@([UW][A-Z0-9]+)>")


class _Refusal(Exception):  # noqa: N818 - an answer, not an error of this program
    """``ok: false``, with what else the answer says."""

    def __init__(self, code: str, **more: object) -> None:
        super().__init__(code)
        self.answer: dict[str, object] = {"ok": False, "error": code, **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Method:
    """Who may call a method, and with what."""

    run: Callable[[World, dict[str, object]], dict[str, object]]
    takes: frozenset[str]
    kind: str = "bot"
    scopes: frozenset[str] = frozenset()  # any one of them
    direct: str = ""  # the scope for conversations with one person


def call_method(world: World, method: str, token: str | None, arguments: dict[str, object]) -> dict[str, object]:
    """Carry out one call."""
    known = _METHODS.get(method)
    if known is None:
        return {"ok": False, "error": "unknown_method", "req_method": method}
    try:
        return {"ok": True, **_checked(known, world, token, arguments).run(world, arguments)}
    except _Refusal as refusal:
        return refusal.answer
    except BlocksRefusedError as refusal:
        told = [f"[ERROR] {fault}" for fault in refusal.faults]
        metadata: dict[str, object] = {"messages": told}
        return {"ok": False, "error": refusal.code, "errors": refusal.faults, "response_metadata": metadata}


def message_json(world: World, message: Message, *, with_metadata: bool) -> dict[str, object]:
    """Return a message as Slack tells it in answers, histories and clicks."""
    told: dict[str, object] = {
        "type": "message",
        "user": world.bot_user_id,
        "bot_id": world.bot_id,
        "app_id": world.app_id if message.ours else "A0THER0001",
        "team": world.team_id,
        "ts": message.ts,
        "text": message.now.text,
        "blocks": message.now.blocks,
    }
    if with_metadata and message.metadata is not None:
        told["metadata"] = message.metadata
    return told


def checked_version(world: World, method: str, arguments: dict[str, object], *, rings: bool = False) -> Version:
    """Check a message's text and blocks. Raises what `call_method` turns into an answer.

    Where it may ring people up, mentions of people who are here are no stray markup.
    """
    text = str(arguments.get("text", ""))
    blocks = cast("list[dict[str, object]]", _structure(arguments.get("blocks", [])))
    if not text and not blocks:
        raise _Refusal("no_text")
    if len(text) > _TEXT_MOST[method]:
        raise _Refusal("msg_too_long")
    if blocks:
        check_blocks(blocks)
    told = stray_markup(text)
    if arguments.get("parse") == "none":  # then an address in the text for notifications is no link
        told = [found for found in told if not found.startswith("http")]
    if world.refused_words and any(word in f"{text}{json.dumps(blocks)}" for word in world.refused_words):
        raise _Refusal("invalid_blocks")
    stray = [found for found in (*told, *markup_in(blocks)) if not (rings and _rung(world, found))]
    if stray and world.refuses_markup:
        raise BlocksRefusedError("invalid_blocks", [f"markup that this stand-in does not allow: {m}" for m in stray])
    return Version(text=text, blocks=blocks)


def _rung(world: World, text: str) -> list[str]:
    return [user for user in _MENTION.findall(text) if user in world.people]


# --- who may ----------------------------------------------------------------------------------------------------------


def _token(world: World, token: str | None) -> Token:
    if not token:
        raise _Refusal("not_authed")
    known = world.tokens.get(token)
    if known is None:
        raise _Refusal("invalid_auth")
    if known.revoked:
        raise _Refusal("token_revoked")
    if known.until is not None and world.clock.now() >= known.until:
        raise _Refusal("token_expired")
    return known


def _checked(method: _Method, world: World, token: str | None, arguments: dict[str, object]) -> _Method:
    known = _token(world, token)
    _authorize(method, known)
    direct = str(arguments.get("channel", "")).startswith("D")
    needed = {method.direct} if direct else method.scopes - {method.direct}
    if method.direct and not needed & known.scopes:
        raise _Refusal("missing_scope", needed=min(needed), provided=",".join(sorted(known.scopes)))
    if strange := arguments.keys() - method.takes:
        told = [f"[ERROR] unknown argument: {name}" for name in sorted(strange)]
        raise _Refusal("invalid_arguments", response_metadata={"messages": told})
    return method


def _authorize(method: _Method, token: Token) -> None:
    if token.kind != method.kind:
        raise _Refusal("not_allowed_token_type")
    if method.scopes and not method.scopes & token.scopes:
        raise _Refusal("missing_scope", needed=min(method.scopes), provided=",".join(sorted(token.scopes)))


def _room(world: World, arguments: dict[str, object], *, to_write: bool = True) -> Room:
    room = world.rooms.get(str(arguments.get("channel", "")))
    if room is None:
        raise _Refusal("channel_not_found")
    if not room.has_app:
        raise _Refusal("not_in_channel")
    if room.archived and to_write:
        raise _Refusal("is_archived")
    return room


def _structure(value: object) -> object:
    """Return a JSON argument that may have come as text (form and query calls)."""
    if not isinstance(value, str):
        return value
    try:
        return cast("object", json.loads(value))
    except ValueError:
        raise _Refusal("invalid_arguments") from None


# --- the methods ------------------------------------------------------------------------------------------------------


def _auth_test(world: World, _: dict[str, object]) -> dict[str, object]:
    url = f"https://{world.domain}.slack.com/"
    who: dict[str, object] = {
        "team_id": world.team_id,
        "user_id": world.bot_user_id,
        "bot_id": world.bot_id,
        "app_id": world.app_id,
    }
    if world.enterprise_id:
        who["enterprise_id"] = world.enterprise_id
    if world.org_wide:
        who["team_id"] = None
    return {"url": url, "team": world.domain, "user": "assent", "is_enterprise_install": world.org_wide, **who}


def _post_message(world: World, arguments: dict[str, object]) -> dict[str, object]:
    person = world.people.get(str(arguments.get("channel", "")))
    if person is not None and not person.deleted and not person.is_bot:  # posting alone takes a person's id
        arguments = {**arguments, "channel": world.direct_room(person.id).id}
    room = _room(world, arguments)
    if "thread_ts" in arguments:
        return _reply(world, room, arguments)
    version = checked_version(world, "chat.postMessage", arguments)
    metadata = _metadata(arguments.get("metadata"))
    message = Message(ts=world.stamp(), metadata=metadata, versions=[version], posted_at=world.clock.now())
    room.messages[message.ts] = message
    return {"channel": room.id, "ts": message.ts, "message": message_json(world, message, with_metadata=True)}


def _reply(world: World, room: Room, arguments: dict[str, object]) -> dict[str, object]:
    parent = room.messages.get(str(arguments["thread_ts"]))
    if parent is None:
        raise _Refusal("thread_not_found")
    version = checked_version(world, "chat.postMessage", arguments, rings=True)
    marked = json.dumps([block for block in version.blocks if block.get("type") == "context"])
    reply = Reply(ts=world.stamp(), text=version.text, blocks=version.blocks, mentions=tuple(_rung(world, marked)))
    parent.replies.append(reply)
    told = {"type": "message", "ts": reply.ts, "thread_ts": parent.ts, "text": reply.text, "blocks": reply.blocks}
    return {"channel": room.id, "ts": reply.ts, "message": told}


def _open_conversation(world: World, arguments: dict[str, object]) -> dict[str, object]:
    person = world.people.get(str(arguments.get("users", "")))
    if person is None:
        raise _Refusal("user_not_found")
    if person.deleted:
        raise _Refusal("user_disabled")
    if person.is_bot:
        raise _Refusal("cannot_dm_bot")
    return {"channel": {"id": world.direct_room(person.id).id}}


def _group_people(world: World, arguments: dict[str, object]) -> dict[str, object]:
    group = world.groups.get(str(arguments.get("usergroup", "")))
    if group is None:
        raise _Refusal("no_such_subteam")
    with_disabled = str(arguments.get("include_disabled", "")).lower() in {"1", "true"}
    return {"users": [] if group.disabled and not with_disabled else list(group.people)}


def _metadata(value: object) -> dict[str, object] | None:
    metadata = _structure(value) if value is not None else None
    match metadata:
        case None:
            return None
        case {"event_type": str(event_type), "event_payload": dict()} if re.fullmatch(r"[a-z0-9_]{1,255}", event_type):
            if len(json.dumps(metadata)) > _METADATA_MOST:
                raise _Refusal("metadata_too_large")
            return cast("dict[str, object]", metadata)
        case _:
            raise _Refusal("invalid_metadata_format")


def _update(world: World, arguments: dict[str, object]) -> dict[str, object]:
    room = _room(world, arguments)
    message = room.messages.get(str(arguments.get("ts", "")))
    if message is None:
        raise _Refusal("message_not_found")
    if not message.ours:
        raise _Refusal("cant_update_message")
    message.versions.append(checked_version(world, "chat.update", arguments))
    told = message_json(world, message, with_metadata=False)
    return {"channel": room.id, "ts": message.ts, "text": message.now.text, "message": told}


def _history(world: World, arguments: dict[str, object]) -> dict[str, object]:
    room = _room(world, arguments, to_write=False)
    oldest = float(str(arguments.get("oldest", "0")))
    latest = float(str(arguments.get("latest", "inf")))
    within = str(arguments.get("inclusive", "")).lower() in {"1", "true"}
    limit = min(int(str(arguments.get("limit", "100"))), 999)
    start = int(str(arguments.get("cursor", "") or "0"))
    shown = [
        message
        for message in room.messages.values()
        if oldest < float(message.ts) < latest or (within and float(message.ts) in {oldest, latest})
    ]
    newest_first = sorted(shown, key=lambda m: m.ts, reverse=True)
    page = newest_first[start : start + limit]
    more = start + limit < len(newest_first)
    with_metadata = str(arguments.get("include_all_metadata", "")).lower() in {"1", "true"}
    return {
        "messages": [message_json(world, message, with_metadata=with_metadata) for message in page],
        "has_more": more,
        "response_metadata": {"next_cursor": str(start + limit) if more else ""},
    }


def _conversation(world: World, arguments: dict[str, object]) -> dict[str, object]:
    room = world.rooms.get(str(arguments.get("channel", "")))
    if room is None:
        raise _Refusal("channel_not_found")
    told = {"id": room.id, "name": room.name, "is_member": room.has_app, "is_archived": room.archived}
    return {"channel": {**told, "is_channel": room.person is None, "is_im": room.person is not None}}


def _user_by_id(world: World, arguments: dict[str, object]) -> dict[str, object]:
    person = world.people.get(str(arguments.get("user", "")))
    if person is None:
        raise _Refusal("user_not_found")
    told = _person_json(person)
    if not any("users:read.email" in token.scopes for token in world.tokens.values() if token.kind == "bot"):
        told["profile"] = {"real_name": person.name}  # the address takes a scope of its own
    return {"user": told}


def _user_by_email(world: World, arguments: dict[str, object]) -> dict[str, object]:
    wanted = str(arguments.get("email", "")).lower()
    for person in world.people.values():
        if wanted and person.email.lower() == wanted:
            return {"user": _person_json(person)}
    raise _Refusal("users_not_found")


def _person_json(person: Person) -> dict[str, object]:
    marks = {name: True for name in ("is_restricted", "is_ultra_restricted", "is_stranger") if getattr(person, name)}
    profile = {"email": person.email, "real_name": person.name}
    told: dict[str, object] = {"id": person.id, "team_id": person.team_id, "name": person.name, "profile": profile}
    if person.grid_teams:
        grid = {"id": person.id, "enterprise_id": person.enterprise_id, "teams": list(person.grid_teams)}
        told["enterprise_user"] = grid
    if person.is_email_confirmed is not None:
        told["is_email_confirmed"] = person.is_email_confirmed
    return {**told, "deleted": person.deleted, "is_bot": person.is_bot, **marks}


def _open_view(world: World, arguments: dict[str, object]) -> dict[str, object]:
    trigger = world.triggers.get(str(arguments.get("trigger_id", "")))
    if trigger is None:
        raise _Refusal("invalid_trigger_id")
    if trigger.used:
        raise _Refusal("exchanged_trigger_id")
    if world.clock.now() > trigger.until:
        raise _Refusal("expired_trigger_id")
    view = _structure(arguments.get("view"))
    check_view(view)
    trigger.used = True
    modal = Modal(id=world.serial("V"), user=trigger.user, view=cast("dict[str, object]", view), hash=world.serial("H"))
    world.modals[modal.id] = modal
    return {"view": {**modal.view, "id": modal.id, "hash": modal.hash, "team_id": world.team_id}}


_SENT = frozenset({"channel", "text", "blocks", "metadata", "mrkdwn", "parse", "link_names"})
_METHODS: Final = {
    "auth.test": _Method(run=_auth_test, takes=frozenset()),
    "chat.postMessage": _Method(
        run=_post_message,
        takes=_SENT | {"unfurl_links", "unfurl_media", "thread_ts"},
        scopes=frozenset({"chat:write"}),
    ),
    "chat.update": _Method(run=_update, takes=(_SENT - {"mrkdwn"}) | {"ts"}, scopes=frozenset({"chat:write"})),
    "conversations.history": _Method(
        run=_history,
        takes=frozenset({"channel", "oldest", "latest", "limit", "cursor", "inclusive", "include_all_metadata"}),
        scopes=frozenset({"channels:history", "groups:history", "im:history"}),
        direct="im:history",
    ),
    "conversations.open": _Method(run=_open_conversation, takes=frozenset({"users"}), scopes=frozenset({"im:write"})),
    "usergroups.users.list": _Method(
        run=_group_people,
        takes=frozenset({"usergroup", "include_disabled"}),
        scopes=frozenset({"usergroups:read"}),
    ),
    "conversations.info": _Method(
        run=_conversation,
        takes=frozenset({"channel"}),
        scopes=frozenset({"channels:read", "groups:read", "im:read"}),
    ),
    "users.info": _Method(run=_user_by_id, takes=frozenset({"user"}), scopes=frozenset({"users:read"})),
    "users.lookupByEmail": _Method(
        run=_user_by_email, takes=frozenset({"email"}), scopes=frozenset({"users:read.email"})
    ),
    "views.open": _Method(run=_open_view, takes=frozenset({"trigger_id", "view"})),
    "apps.connections.open": _Method(
        run=lambda world, _: {"ticket": _ticket(world)},
        takes=frozenset(),
        kind="app",
        scopes=frozenset({"connections:write"}),
    ),
}


def _ticket(world: World) -> str:
    ticket = world.serial("L")
    world.tickets.add(ticket)
    return ticket
