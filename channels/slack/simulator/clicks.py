"""The people in front of the stand-in: they press buttons and fill modals, and Slack carries it to the gateway.

A press is built from the message as it stands (a button that is no longer there cannot be pressed), in the form of
Slack's own payloads, signed, and posted to the callback address, or sent over Socket Mode where a connection is open.
Whoever answers later than three seconds, with another status than 200, or with an answer that the surface does not
know, shows the person an error: `Delivery.trouble`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlencode

import aiohttp

from channels.slack.simulator.api import message_json
from channels.slack.simulator.blocks import BlocksRefusedError, check_view
from channels.slack.simulator.screen import CannotPressError, filled, find_button, find_control, find_option
from channels.slack.simulator.state import Modal, ReplyRight, Trigger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping
    from typing import Any

    from channels.slack.simulator.screen import Found
    from channels.slack.simulator.server import Front
    from channels.slack.simulator.state import Message, Person, Room, World

_DEADLINE_SECONDS: Final = 3.0
_TROUBLE: Final = "We had some trouble connecting. Try again?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One call to the gateway: what was sent, what came back, and the error that the person saw ("" if none)."""

    body: bytes
    headers: tuple[tuple[str, str], ...]
    status: int | None
    answer: dict[str, object] | None
    trouble: str


class Links:
    """The open Socket Mode connections."""

    def __init__(self, world: World) -> None:
        """Start with none."""
        self._world = world
        self._open: list[Callable[[MutableMapping[str, Any]], Awaitable[None]]] = []  # pyright: ignore[reportExplicitAny] - ASGI's send
        self._acks: dict[str, asyncio.Future[dict[str, object]]] = {}
        self._changed = asyncio.Condition()
        self.opened = 0  # connections since the start

    @property
    def any_open(self) -> bool:
        """Whether calls can be delivered this way."""
        return bool(self._open)

    async def hold(
        self,
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],  # pyright: ignore[reportExplicitAny] - ASGI's receive
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],  # pyright: ignore[reportExplicitAny] - ASGI's send
    ) -> None:
        """Keep one connection until it ends."""
        await _send_json(
            send, {"type": "hello", "num_connections": 1, "connection_info": {"app_id": self._world.app_id}}
        )
        self._open.append(send)
        await self._tell(opened=1)
        try:
            while True:
                event = await receive()
                if event["type"] == "websocket.disconnect":
                    return
                ack = cast("dict[str, object]", json.loads(str(event.get("text") or "{}")))
                waiting = self._acks.pop(str(ack.get("envelope_id")), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(ack)
        finally:
            self._open = [other for other in self._open if other is not send]
            await self._tell(opened=0)

    async def _tell(self, *, opened: int) -> None:
        async with self._changed:
            self.opened += opened
            self._changed.notify_all()

    async def wait_open(self, connections: int = 1) -> None:
        """Wait until so many connections have been opened since the start, and one is open."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.opened >= connections and bool(self._open))

    async def wait_none(self) -> None:
        """Wait until none is open."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._open)

    async def ask_to_reconnect(self, reason: str = "refresh_requested") -> None:
        """Tell every client that its connection is going away."""
        for send in list(self._open):
            await _send_json(send, {"type": "disconnect", "reason": reason})

    async def drop(self) -> None:
        """Close every connection without a word."""
        for send in list(self._open):
            await send({"type": "websocket.close", "code": 1012})

    async def deliver(self, payload: dict[str, object], envelope: str, *, kind: str = "interactive") -> Delivery:
        """Send a payload on one connection and wait for its acknowledgement."""
        frame: dict[str, object] = {
            "type": kind,
            "envelope_id": envelope,
            "accepts_response_payload": True,
            "payload": payload,
        }
        ack: asyncio.Future[dict[str, object]] = asyncio.get_running_loop().create_future()
        self._acks[envelope] = ack
        await _send_json(self._open[-1], frame)
        body = json.dumps(frame).encode()
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                answer = (await ack).get("payload")
        except TimeoutError:
            return Delivery(body=body, headers=(), status=None, answer=None, trouble=_TROUBLE)
        table = cast("dict[str, object]", answer) if isinstance(answer, dict) else None
        return Delivery(body=body, headers=(), status=200, answer=table, trouble="")


class Clicker:
    """Everybody's fingers. `callback_url` is where Slack's calls go over HTTP."""

    def __init__(self, world: World, front: Front, links: Links) -> None:
        """Press nothing yet."""
        self._world = world
        self._front = front
        self._links = links
        self.callback_url: str | None = None
        self.deliveries: list[Delivery] = []

    async def click(self, user: str, channel: str, ts: str, action_id: str) -> Delivery:
        """Press a button, and confirm where it asks. Raises CannotPressError when it is not on the screen."""
        room, message = self._seen(user, channel, ts)
        return await self._deliver(self._press(self._person(user), room, message, find_button(message, action_id)))

    async def choose(self, user: str, channel: str, ts: str, action_id: str, value: str) -> Delivery:
        """Choose an option of a menu. Raises CannotPressError when it is not on the screen."""
        room, message = self._seen(user, channel, ts)
        return await self._deliver(
            self._press(self._person(user), room, message, find_option(message, action_id, value))
        )

    async def use(self, user: str, channel: str, ts: str, label: str, *, nth: int = 0) -> Delivery:
        """Press a button, or choose an option of a menu, by its label. Raises CannotPressError."""
        room, message = self._seen(user, channel, ts)
        found = find_control(message, label, nth=nth)
        return await self._deliver(self._press(self._person(user), room, message, found))

    async def submit_modal(self, user: str, view_id: str, answers: str | Mapping[str, str]) -> Delivery:
        """Fill the modal in (`filled`), submit it, apply the answer to the screen. Raises CannotPressError."""
        person = self._person(user)
        modal = self._world.modals.get(view_id)
        if modal is None or not modal.open or modal.user != user:
            raise CannotPressError(f"no modal {view_id} on the screen of {user}")
        payload = self._submission(person, modal, filled(self._world, modal, answers))
        delivery = await self._deliver(payload)
        if delivery.trouble:
            return delivery
        trouble = self._apply(modal, delivery.answer)
        shown = Delivery(
            body=delivery.body,
            headers=delivery.headers,
            status=delivery.status,
            answer=delivery.answer,
            trouble=trouble,
        )
        self.deliveries[-1] = shown
        return shown

    async def send_raw(self, body: bytes, headers: tuple[tuple[str, str], ...]) -> Delivery:
        """Post exactly this to the callback address: a replay, or a forgery."""
        if self.callback_url is None:
            raise CannotPressError("no callback address is configured")
        timeout = aiohttp.ClientTimeout(total=_DEADLINE_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
                session.post(self.callback_url, data=body, headers=list(headers), allow_redirects=False) as response,
            ):
                status, raw = response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError):
            return Delivery(body=body, headers=headers, status=None, answer=None, trouble=_TROUBLE)
        answer, trouble = _parse_answer(status, raw)
        return Delivery(body=body, headers=headers, status=status, answer=answer, trouble=trouble)

    def signed(
        self, payload: dict[str, object], *, secret: str | None = None
    ) -> tuple[bytes, tuple[tuple[str, str], ...]]:
        """Return the body and headers of an authentic call (or, with another secret, of a forged one)."""
        body = urlencode({"payload": json.dumps(payload)}).encode()
        stamp = str(int(self._world.clock.now().timestamp()))
        key = (self._world.signing_secret if secret is None else secret).encode()
        mac = hmac.new(key, f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
        headers = (
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Slack-Request-Timestamp", stamp),
            ("X-Slack-Signature", f"v0={mac}"),
        )
        return body, headers

    async def _deliver(self, payload: dict[str, object]) -> Delivery:
        if self._links.any_open:
            delivery = await self._links.deliver(payload, self._world.serial("E"))
        else:
            delivery = await self.send_raw(*self.signed(payload))
        self.deliveries.append(delivery)
        return delivery

    # --- payloads, as in Slack's own examples -------------------------------------------------------------------------

    def _press(self, person: Person, room: Room, message: Message, found: Found) -> dict[str, object]:
        world = self._world
        block_id, used = found
        state: dict[str, object] = {}
        if used["type"] == "static_select":
            chosen = {"type": "static_select", "selected_option": used["selected_option"]}
            state = {block_id: {str(used["action_id"]): chosen}}
        return {
            "type": "block_actions",
            **self._who(person),
            "container": {"type": "message", "message_ts": message.ts, "channel_id": room.id, "is_ephemeral": False},
            "trigger_id": self._trigger(person),
            "channel": {"id": room.id, "name": room.name},
            "message": message_json(world, message, with_metadata=True),
            "state": {"values": state},
            "response_url": self._reply_address(person, room, message),
            "actions": [{**used, "block_id": block_id, "action_ts": world.stamp()}],
        }

    def _submission(self, person: Person, modal: Modal, values: dict[str, object]) -> dict[str, object]:
        ours = {"app_id": self._world.app_id, "bot_id": self._world.bot_id, "team_id": self._world.team_id}
        shown = {"id": modal.id, "hash": modal.hash, "root_view_id": modal.id, "previous_view_id": None, **ours}
        view = {**modal.view, **shown, "state": {"values": values}}
        return {
            "type": "view_submission",
            **self._who(person),
            "trigger_id": self._trigger(person),
            "view": view,
            "response_urls": [],
        }

    def _who(self, person: Person) -> dict[str, object]:
        world = self._world
        user = {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team_id}
        team = {"id": world.team_id, "domain": world.domain}
        if world.enterprise_id:
            team |= {"enterprise_id": world.enterprise_id, "enterprise_name": "Acme"}
        return {
            "user": user,
            "api_app_id": world.app_id,
            "token": "Nj2rfC2hU8mAfgaJLemZgO7H",
            "team": None if world.org_wide else team,
            "enterprise": {"id": world.enterprise_id, "name": "Acme"} if world.enterprise_id else None,
            "is_enterprise_install": world.org_wide,
        }

    def _trigger(self, person: Person) -> str:
        trigger_id = f"12321423423.333649436676.{self._world.serial('').lower()}"
        until = self._world.clock.now() + timedelta(seconds=_DEADLINE_SECONDS)
        self._world.triggers[trigger_id] = Trigger(user=person.id, until=until)
        return trigger_id

    def _reply_address(self, person: Person, room: Room, message: Message) -> str:
        path = f"/actions/{self._world.team_id}/6209934123456/{self._world.serial('')}"
        until = self._world.clock.now() + timedelta(minutes=30)
        self._world.reply_rights[path] = ReplyRight(room=room.id, ts=message.ts, user=person.id, until=until)
        return f"{self._front.public_url}{path}"

    def _seen(self, user: str, channel: str, ts: str) -> tuple[Room, Message]:
        """Return a message that this person sees."""
        self._person(user)
        room = self._world.rooms[channel]
        message = room.messages.get(ts)
        if message is None or room.person not in {None, user}:
            raise CannotPressError(f"no message {ts} in {channel} for {user}")
        return room, message

    def _person(self, user: str) -> Person:
        person = self._world.people.get(user)
        if person is None or person.deleted or person.is_bot:
            raise CannotPressError(f"{user} cannot press anything here")
        return person

    # --- what the answer does to the screen ---------------------------------------------------------------------------

    def _apply(self, modal: Modal, answer: dict[str, object] | None) -> str:
        modal.errors = {}
        match answer:
            case None:
                modal.open = False
                return ""
            case {"response_action": "clear", **rest} if not rest:
                modal.open = False
                return ""
            case {"response_action": "errors", "errors": dict(), **rest} if not rest:
                return self._show_errors(modal, cast("dict[str, object]", answer["errors"]))
            case {"response_action": "update" | "push", "view": view, **rest} if not rest:
                try:
                    check_view(view)
                except BlocksRefusedError:
                    return _TROUBLE
                modal.view, modal.hash = cast("dict[str, object]", view), self._world.serial("H")
                return ""
            case _:
                return _TROUBLE

    def _show_errors(self, modal: Modal, errors: dict[str, object]) -> str:
        blocks = cast("list[dict[str, object]]", modal.view["blocks"])
        inputs = {block.get("block_id") for block in blocks if block.get("type") == "input"}
        if (
            not errors
            or not errors.keys() <= inputs
            or not all(isinstance(text, str) and text for text in errors.values())
        ):
            return _TROUBLE
        modal.errors = {name: str(text) for name, text in errors.items()}
        return ""


def _parse_answer(status: int, raw: bytes) -> tuple[dict[str, object] | None, str]:
    if status != 200:
        return None, _TROUBLE
    if not raw:
        return None, ""
    try:
        parsed = cast("object", json.loads(raw))
    except ValueError:
        return None, _TROUBLE
    return (cast("dict[str, object]", parsed), "") if isinstance(parsed, dict) else (None, _TROUBLE)


async def _send_json(
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],  # pyright: ignore[reportExplicitAny] - ASGI's send
    frame: dict[str, object],
) -> None:
    await send({"type": "websocket.send", "text": json.dumps(frame)})
