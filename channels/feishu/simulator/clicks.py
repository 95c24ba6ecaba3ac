"""The simulated person's hand: it presses a button that is really there and shows what that person would see.

The call is built from the stored card, encrypted and signed (or framed, when the gateway holds a long connection), and
the answer is judged as the platform judges it: 200 within three seconds, a JSON object of ``toast`` and ``card`` and
nothing else, a card that passes the card check. Whatever else comes shows the platform's own error 200340 and leaves
the card.
"""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import httpx2

from channels.feishu.simulator.cards import CardFaultError, check_card, list_controls
from channels.feishu.simulator.wire import DATA, Delivery, Frame, seal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from channels.feishu.simulator.cards import Control
    from channels.feishu.simulator.http import Connection, SimulatorApp
    from channels.feishu.simulator.platform import Platform
    from channels.feishu.simulator.state import Message, Person

Json = dict[str, object]

DEADLINE_SECONDS = 3.0
CALLBACK_FAILED = 200340
CLICK_LIFE = timedelta(days=14)
_TOASTS = frozenset({"info", "success", "error", "warning"})


class CannotPressError(Exception):
    """A person could not do this: the button is not there, or they do not see the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the gateway answered, before it is judged."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """What the person saw."""

    toast: Json | None
    updated: bool  # the answer brought a card
    error: int | None = None  # 200340: the platform's own error
    why: str = ""
    status: int | None = None

    @property
    def sentence(self) -> str:
        """The toast's text, "" without one."""
        return "" if self.toast is None else str(self.toast["content"])


class Clicker:
    """Presses buttons and delivers what comes of it."""

    def __init__(self, app: SimulatorApp) -> None:
        """Press on the cards of one platform."""
        self._app = app
        self.callback_url = ""
        self.frame_type = "event"  # what the platform sends is reported both ways: "event" and "card"
        self.chunks = 1
        self.last_delivery: Delivery | None = None

    @property
    def _platform(self) -> Platform:
        return self._app.platform

    async def press(self, person: Person, message: Message, control: Control, form: Mapping[str, str]) -> Press:
        """Press one button, with what was typed into its form, and apply the answer."""
        self._check_possible(person, message)
        payload = self._payload(person, message, control, form)
        message.clicks_in_flight += 1
        try:
            reply = await self.deliver(self.seal(payload))
        finally:
            message.clicks_in_flight -= 1
        return self._apply(person, message, reply)

    async def deliver(self, delivery: Delivery) -> Reply:
        """Send one call to the gateway, for the first time or again. Status 0: no answer in time."""
        self.last_delivery = delivery
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                if self._app.connections:
                    return await self._deliver_framed(self._app.connections[-1], delivery.payload)
                return await self._deliver_posted(delivery)
        except (OSError, httpx2.HTTPError) as error:  # OSError covers TimeoutError
            return Reply(status=0, body=repr(error).encode())

    def seal(
        self, payload: bytes, *, encrypt_key: str | None = None, age: timedelta = timedelta(0), nonce: str | None = None
    ) -> Delivery:
        """Encrypt and sign a payload; with another key, or as if sent earlier, to try what a forger tries."""
        sealed_at = self._platform.clock.now() - age
        return seal(
            payload,
            encrypt_key=self._platform.app.encrypt_key if encrypt_key is None else encrypt_key,
            timestamp=int(sealed_at.timestamp()),
            nonce=nonce or self._platform.new_id(""),
            iv=bytes.fromhex(self._platform.new_id("")),
        )

    def find_control(self, message: Message, name: str) -> Control:
        """Find a button by its label, its name, what it carries, or ``approve`` (the large one).

        A label that stands on several buttons names none of them: a person would have to point.
        """
        controls = list_controls(message.card)
        if name == "approve":
            found = [each for each in controls if str(each.button.get("name", "")).partition("_")[0] == "approve"]
            found = found or [each for each in controls if each.button.get("type") == "primary_filled"]
            found = found[:1]  # the card's own request stands first
        else:
            found = [each for each in controls if each.button.get("name") == name or each.token == name]
            found = found or [each for each in controls if each.label == name]
        if len(found) != 1:
            labels = [each.label for each in controls]
            raise CannotPressError(f"{len(found)} buttons are {name!r} on the card; there are {labels}")
        return found[0]

    def _check_possible(self, person: Person, message: Message) -> None:
        if person.open_id not in self._platform.chats[message.chat_id]:
            raise CannotPressError(f"{person.name} is not in the chat")
        if person.resigned or person.exited or person.frozen:
            raise CannotPressError(f"{person.name} cannot sign in")
        if message.recalled:
            raise CannotPressError("the message was recalled")
        if self._platform.clock.now() - message.created_at > CLICK_LIFE:
            raise CannotPressError("buttons die with their message's fourteenth day")

    def _payload(self, person: Person, message: Message, control: Control, form: Mapping[str, str]) -> bytes:
        app = self._platform.app
        action: Json = {"value": control.value, "tag": "button", "timezone": "Asia/Shanghai"}
        if control.form is not None:
            action |= {"name": control.button["name"], "form_value": _fill(control.form, form)}
        header = {
            "event_id": self._platform.new_id(""),  # new for every click; only a replay repeats it
            "token": app.verification_token,
            "create_time": str(int(self._platform.clock.now().timestamp() * 1_000_000)),
            "event_type": "card.action.trigger",
            "tenant_key": app.tenant_key,
            "app_id": app.app_id,
        }
        event = {
            "operator": {
                "tenant_key": person.tenant_key,
                "open_id": person.open_id,
                "union_id": person.open_id.replace("ou_", "on_"),
            },
            "token": self._platform.new_id("c-"),
            "action": action,
            "host": "im_message",
            "context": {"open_message_id": message.message_id, "open_chat_id": message.chat_id},
        }
        return json.dumps({"schema": "2.0", "header": header, "event": event}, ensure_ascii=False).encode()

    async def _deliver_posted(self, delivery: Delivery) -> Reply:
        # Making the client reads certificates from the disk: not on the loop.
        client = await asyncio.to_thread(
            httpx2.AsyncClient, trust_env=False, follow_redirects=False, timeout=DEADLINE_SECONDS
        )
        async with client:
            answer = await client.post(self.callback_url, content=delivery.body, headers=list(delivery.headers))
        return Reply(status=answer.status_code, body=answer.content)

    async def _deliver_framed(self, connection: Connection, payload: bytes) -> Reply:
        message_id = self._platform.new_id("")
        size = -(-len(payload) // self.chunks)
        parts = [payload[at : at + size] for at in range(0, len(payload), size)]
        reply = asyncio.get_running_loop().create_future()
        connection.replies[message_id] = reply
        for index, part in enumerate(parts):
            headers = {
                "type": self.frame_type,
                "message_id": message_id,
                "trace_id": message_id,
                "sum": str(len(parts)),
                "seq": str(index),
            }
            await connection.write(Frame(method=DATA, service=7, headers=headers, payload=part, sequence=index + 1))
        frame = await reply
        answer = cast("Json", json.loads(frame.payload))
        return Reply(status=int(str(answer["code"])), body=base64.b64decode(str(answer.get("data", ""))))

    def _apply(self, person: Person, message: Message, reply: Reply) -> Press:
        try:
            toast, card = _judge(reply, frozenset(self._platform.people))
        except ValueError as fault:
            failure: Json = {"type": "error", "content": str(CALLBACK_FAILED)}
            message.toasts.setdefault(person.open_id, []).append(failure)
            return Press(toast=None, updated=False, error=CALLBACK_FAILED, why=str(fault), status=reply.status)
        if toast is not None:
            message.toasts.setdefault(person.open_id, []).append(toast)
        if card is not None:
            message.versions.append(card)
        return Press(toast=toast, updated=card is not None, status=reply.status)


def _inputs(elements: list[Json]) -> Iterator[Json]:
    """Yield what can be filled in, also where it stands beside something else."""
    for element in elements:
        if element.get("tag") == "input":
            yield element
        yield from _inputs(cast("list[Json]", element.get("columns", element.get("elements", []))))


def _fill(form: Json, typed: Mapping[str, str]) -> Json:
    """Fill the form as the client does: required inputs and lengths are checked before anything is sent."""
    values: Json = {}
    inputs = list(_inputs(cast("list[Json]", form["elements"])))
    for element in inputs:
        name = str(element["name"])
        text = typed.get(name, str(element.get("default_value", "")))
        if element.get("required") is True and not text.strip():
            raise CannotPressError(f"{name} must be filled in")
        if len(text) > int(str(element.get("max_length", 1000))):
            raise CannotPressError(f"{name} takes no more than {element['max_length']} characters")
        values[name] = text
    unknown = typed.keys() - values.keys()
    if unknown:
        raise CannotPressError(f"the form has no input {sorted(unknown)}")
    return values


def _judge(reply: Reply, people: frozenset[str]) -> tuple[Json | None, Json | None]:
    """Return the toast and the card of a good answer. Raises ValueError for what the platform would not take."""
    if reply.status != 200:
        raise ValueError("no answer in time" if reply.status == 0 else f"status {reply.status}")
    answer: object = json.loads(reply.body or b"{}")
    if not isinstance(answer, dict):
        raise ValueError("the answer is not a JSON object")  # noqa: TRY004 # one kind of error for a bad answer
    fields = cast("Json", answer)
    if not fields.keys() <= {"toast", "card"}:
        raise ValueError(f"the answer has unknown fields: {sorted(fields)}")
    toast = _judge_toast(fields["toast"]) if "toast" in fields else None
    card = _judge_card(fields["card"], people) if "card" in fields else None
    return toast, card


def _judge_toast(value: object) -> Json:
    toast = cast("Json", value) if isinstance(value, dict) else {}
    if toast.get("type") not in _TOASTS or not isinstance(toast.get("content"), str):
        raise ValueError("the toast is malformed")
    if not toast.keys() <= {"type", "content", "i18n"}:
        raise ValueError("the toast has unknown fields")
    return toast


def _judge_card(value: object, people: frozenset[str]) -> Json:
    card = cast("Json", value) if isinstance(value, dict) else {}
    if card.get("type") != "raw" or card.keys() != {"type", "data"}:
        raise ValueError("only raw cards are modelled here")
    try:
        return check_card(card["data"], people=people)
    except CardFaultError as fault:
        raise ValueError(str(fault)) from None
