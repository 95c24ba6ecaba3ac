"""A strict local Feishu: a real HTTP server that keeps state, refuses what the platform refuses, and clicks.

For tests and the demo. In tests::

    async with FeishuSimulator(clock=clock) as feishu:
        chat = feishu.add_chat(feishu.add_person("Wang"))
        settings = feishu.settings(chat)          # what assent.yaml would hold
        feishu.callback_url = "http://127.0.0.1:…/v1/channels/pay/callback"
        press = await feishu.approve(person.open_id, message_id)

A demo serves `app` itself and sets `base_url`. It binds to loopback only and holds nothing worth protecting.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from channels.feishu.simulator.cards import list_controls, list_texts
from channels.feishu.simulator.clicks import CannotPressError, Clicker
from channels.feishu.simulator.directory import Department
from channels.feishu.simulator.http import Fault, SimulatorApp
from channels.feishu.simulator.platform import Platform
from channels.feishu.simulator.server import serve
from channels.feishu.simulator.state import App, Person

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from types import TracebackType

    from app.ports import Clock
    from channels.feishu.simulator.clicks import Press, Reply
    from channels.feishu.simulator.http import LoggedCall
    from channels.feishu.simulator.posts import Remark
    from channels.feishu.simulator.state import Message
    from channels.feishu.simulator.wire import Delivery

__all__ = ["CannotPressError", "Fault", "FeishuSimulator"]

Json = dict[str, object]


class FeishuSimulator:
    """One tenant with one app (ours), its people, its chats and its messages."""

    def __init__(
        self,
        *,
        clock: Clock,
        app_id: str = "cli_a5fb0ae6a4c8d00e",
        app_secret: str = "simulated-app-secret",  # noqa: S107 # guards nothing but this simulator
        encrypt_key: str = "simulated-encrypt-key",
        verification_token: str = "simulated-verification-token",  # noqa: S107 # the same
        tenant_key: str = "2df73991750a1b2c",
    ) -> None:
        """Set up an empty tenant."""
        console = App(
            app_id=app_id,
            app_secret=app_secret,
            encrypt_key=encrypt_key,
            verification_token=verification_token,
            tenant_key=tenant_key,
        )
        self.platform = Platform(console, clock=clock)
        self.app = SimulatorApp(self.platform)
        self.clicker = Clicker(self.app)
        self._running = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Listen on a free loopback port."""
        self.base_url = await self._running.enter_async_context(serve(self.app))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of hanging calls and stop."""
        self.app.faults.release()
        await self.drop_connections()
        await self._running.aclose()

    @property
    def base_url(self) -> str:
        """Where the API is; ``domain`` of the channel's settings."""
        return self.app.base_url

    @base_url.setter
    def base_url(self, url: str) -> None:
        self.app.base_url = url

    @property
    def callback_url(self) -> str:
        """Where clicks are posted while no long connection is open."""
        return self.clicker.callback_url

    @callback_url.setter
    def callback_url(self, url: str) -> None:
        self.clicker.callback_url = url

    # --- the tenant ---------------------------------------------------------------------------------------------------

    def add_person(self, name: str, *, email: str = "", tenant_key: str = "", **status: bool) -> Person:
        """Add a user; `status` takes frozen, resigned, activated, exited, unjoined."""
        open_id = self.platform.new_id("ou_")
        person = Person(
            open_id=open_id,
            name=name,
            email=email or f"{name.lower()}@example.com",
            tenant_key=tenant_key or self.platform.app.tenant_key,
        )
        person = replace(person, **status)  # pyright: ignore[reportArgumentType] - its marks alone
        self.platform.people[open_id] = person
        return person

    def add_chat(self, *members: Person, bot: bool = True) -> str:
        """Add a chat and return its id."""
        chat_id = self.platform.new_id("oc_")
        self.platform.chats[chat_id] = {member.open_id for member in members}
        if bot:
            self.platform.bot_chats.add(chat_id)
        return chat_id

    def add_group(self, *members: Person) -> str:
        """Add a user group and return its id."""
        group_id = self.platform.new_id("g")
        self.platform.directory.groups[group_id] = [member.open_id for member in members]
        return group_id

    def add_department(self, *members: Person, parent: str = "", in_range: bool = True) -> str:
        """Add a department and return its open_department_id; `in_range` says whether the app may see it."""
        department_id = self.platform.new_id("od-")
        people = [member.open_id for member in members]
        self.platform.directory.departments[department_id] = Department(people=people, parent=parent, in_range=in_range)
        return department_id

    def own_chat(self, open_id: str) -> str:
        """Return the chat in which a person talks with our bot. Raises KeyError before the first message."""
        return self.platform.own_chats[open_id]

    def letters(self, open_id: str) -> list[str]:
        """Return what one person was told in their own chat, besides cards."""
        chat_id = self.platform.own_chats.get(open_id, "")
        return [letter.text for letter in self.platform.letters.get(chat_id, [])]

    def settings(self, chat_id: str, *, receive: str = "webhook", language: str = "en") -> Json:
        """Return what a channel of assent.yaml needs to reach this simulator."""
        console = self.platform.app
        return {
            "type": "feishu",
            "app_id": console.app_id,
            "app_secret": console.app_secret,
            "encrypt_key": console.encrypt_key,
            "verification_token": console.verification_token,
            "chat": chat_id,
            "receive": receive,
            "language": language,
            "domain": self.base_url,
        }

    def message(self, message_id: str) -> Message:
        """Return a message. Raises KeyError."""
        return self.platform.messages[message_id]

    def texts(self, message_id: str) -> list[str]:
        """Return what a reader of the message sees, in order."""
        return list_texts(self.message(message_id).card)

    def labels(self, message_id: str) -> list[str]:
        """Return the labels of the buttons that can be pressed."""
        return [control.label for control in list_controls(self.message(message_id).card)]

    def remarks(self, message_id: str) -> list[Remark]:
        """Return what was said under a message, in order."""
        return self.message(message_id).remarks

    def view(self, chat_id: str) -> list[Json]:
        """Return a chat's messages as JSON: the card now, how often it changed, what was said under it, and toasts.

        In a person's own chat also what is no card: `card` is then None, and `text` what they were told.
        """
        shown: list[Json] = [
            {
                "message_id": message.message_id,
                "author": message.app_id,
                "created_at": message.created_at.isoformat(),
                "card": message.card,
                "versions": len(message.versions),
                "buttons": self.labels(message.message_id),
                "remarks": [
                    {"text": self._named(remark.text), "created_at": remark.created_at.isoformat()}
                    for remark in message.remarks
                ],
                "toasts": {open_id: toasts[-1] for open_id, toasts in message.toasts.items()},
            }
            for message in self.platform.messages.values()
            if message.chat_id == chat_id and not message.recalled
        ]
        letters: list[Json] = [
            {
                "message_id": letter.message_id,
                "author": self.platform.app.app_id,
                "created_at": letter.created_at.isoformat(),
                "card": None,
                "text": letter.text,
            }
            for letter in self.platform.letters.get(chat_id, [])
        ]
        return shown + letters

    def _named(self, text: str) -> str:
        """Write names where a mention has an id, as the client does."""
        for person in self.platform.people.values():
            text = text.replace(f"@{person.open_id}", f"@{person.name}")
        return text

    # --- clicks -------------------------------------------------------------------------------------------------------

    async def approve(self, open_id: str, message_id: str) -> Press:
        """Press the large button that stands outside a form."""
        return await self.press(open_id, message_id, "approve")

    async def deny(self, open_id: str, message_id: str, reason: str) -> Press:
        """Type a reason and submit the form."""
        return await self.press(open_id, message_id, "deny", form={"reason": reason})

    async def submit(self, open_id: str, message_id: str, button: str, **typed: str) -> Press:
        """Fill in the form of a named button, by our names of its fields, and submit it."""
        form = {f"{button}_{name}": text for name, text in typed.items()}
        return await self.press(open_id, message_id, button, form=form)

    async def press(
        self, open_id: str, message_id: str, button: str, *, form: Mapping[str, str] | None = None
    ) -> Press:
        """Press a button by its label, name or token. Raises CannotPressError when a person could not."""
        message = self.message(message_id)
        control = self.clicker.find_control(message, button)
        return await self.clicker.press(self.platform.people[open_id], message, control, form or {})

    @property
    def last_delivery(self) -> Delivery:
        """The last call to the gateway, byte for byte."""
        if self.clicker.last_delivery is None:
            raise LookupError("nothing was delivered yet")
        return self.clicker.last_delivery

    async def deliver(self, delivery: Delivery) -> Reply:
        """Send a call (again, late, or changed) and return the bare answer."""
        return await self.clicker.deliver(delivery)

    def forge(self, payload: Json, *, encrypt_key: str | None = None, age: timedelta | None = None) -> Delivery:
        """Seal any payload, with any key, as if it had been sent `age` ago."""
        raw = json.dumps(payload, ensure_ascii=False).encode()
        if age is None:
            return self.clicker.seal(raw, encrypt_key=encrypt_key)
        return self.clicker.seal(raw, encrypt_key=encrypt_key, age=age)

    async def verify_address(self) -> bool:
        """Try the gateway's address as the console does when it is saved: the challenge must come back in a second."""
        challenge = self.platform.new_id("challenge-")
        payload: Json = {
            "challenge": challenge,
            "token": self.platform.app.verification_token,
            "type": "url_verification",
        }
        sealed = self.forge(payload)
        unsigned = type(sealed)(headers=sealed.headers[:1], body=sealed.body, payload=sealed.payload)
        async with asyncio.timeout(1):
            reply = await self.deliver(unsigned)
        return reply.status == 200 and json.loads(reply.body) == {"challenge": challenge}

    # --- faults and the long connection -------------------------------------------------------------------------------

    @property
    def calls(self) -> list[LoggedCall]:
        """Every API call the gateway made, in order."""
        return self.app.calls

    def count(self, operation: str) -> int:
        """Say how often an operation was called."""
        return sum(call.operation == operation for call in self.calls)

    def fail_next(self, operation: str, fault: Fault) -> None:
        """Let the next call fail.

        Operations: token, send, patch, reply, batch_get_id, get_user, is_in_chat,
        list_group, list_department, endpoint.
        """
        self.app.faults.add(operation, fault)

    def release(self) -> None:
        """Let hanging calls go on."""
        self.app.faults.release()

    async def wait_called(self, operation: str, times: int = 1) -> None:
        """Wait until an operation was called so often."""
        async with self.app.changed:
            await self.app.changed.wait_for(lambda: self.count(operation) >= times)

    async def wait_connected(self, connections: int = 1) -> None:
        """Wait until exactly so many long connections are open."""
        async with self.app.changed:
            await self.app.changed.wait_for(lambda: len(self.app.connections) == connections)

    async def drop_connections(self) -> None:
        """Close every long connection, as the platform does now and then."""
        for connection in list(self.app.connections):
            await connection.close()
