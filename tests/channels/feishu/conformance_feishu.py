"""The Feishu stage for the suite that every channel must pass: a channel, a stand-in tenant, and people in it.

A tiny real HTTP endpoint inside the stage takes Feishu's calls and hands them, raw, to the suite's `receive`.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from app.ports import AccountStatus, CallbackRejectedError, Challenge, HttpAnswer, Ignored, InboundCall, MessageRef
from channels.conformance.harness import Said, StillClock
from channels.feishu import SPEC
from channels.feishu.channel import FeishuChannel, ListeningFeishuChannel
from channels.feishu.client import FeishuClient
from channels.feishu.settings import FeishuSettings
from channels.feishu.simulator.server import serve
from channels.feishu.simulator.simulator import CannotPressError, Fault, FeishuSimulator
from tests.fixtures.made_once import import_feishu_sdk
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from channels.feishu.simulator.clicks import Press
    from channels.feishu.simulator.wire import Delivery

_FAULTS = {
    "rate_limited": Fault.RATE_LIMITED,
    "server_error": Fault.SERVER_ERROR,
    "reset_after_receive": Fault.RESET,
    "refused": Fault.REFUSED,
}


class FeishuStage:
    """The suite's `Harness`, and what the other tests need besides."""

    spec = SPEC
    cannot_press = CannotPressError
    shows_outcome = True
    email = "alice@example.com"
    unknown_email = "nobody@example.com"

    def __init__(self, simulator: FeishuSimulator, clock: StillClock, *, call_seconds: float, receive: str) -> None:
        """Put alice, bob and somebody who has left into the tenant, and a chat around them."""
        self.simulator = simulator
        self.clock = clock
        self.alice = simulator.add_person("Alice", email=self.email)
        self.bob = simulator.add_person("Bob")
        self.gone = simulator.add_person("Gone", resigned=True)
        self.account_id, self.other_account_id = self.alice.open_id, self.bob.open_id
        self.people = {AccountStatus.ACTIVE: self.email, AccountStatus.DEACTIVATED: self.gone.email}
        chat = simulator.add_chat(self.alice, self.bob, self.gone)
        self.options = simulator.settings(chat, receive=receive)
        self.settings = FeishuSettings.model_validate(self.options)
        client = FeishuClient(self.settings, call_seconds=call_seconds)
        listening = self.settings.receive == "websocket"
        channel = ListeningFeishuChannel if listening else FeishuChannel
        self.channel = channel("pay-feishu", self.settings, client, jitter=lambda: 0.0)
        self.receive: Callable[[InboundCall], Awaitable[HttpAnswer]] | None = None
        self.calls: list[InboundCall] = []

    async def click_approve(self, ref: MessageRef, *, user: str = "") -> Press:
        """Press Approve."""
        return await self.simulator.approve(user or self.account_id, ref.message_id)

    async def click_deny(self, ref: MessageRef, reason: str, *, user: str = "") -> Press:
        """Type the reason and press Deny."""
        return await self.simulator.deny(user or self.account_id, ref.message_id, reason)

    async def press(self, ref: MessageRef, label: str, /, *, by: str, filled: Mapping[str, str]) -> Press:
        """Press what bears this label, and fill in the form that it submits."""
        control = self.simulator.clicker.find_control(self.simulator.message(ref.message_id), label)
        if filled and control.form is None:
            raise CannotPressError(f"{label} asks for nothing")
        name = str(control.button.get("name"))
        form = {
            "reason" if (name, field) == ("deny", "reason") else f"{name}_{field}": filled[field] for field in filled
        }
        return await self.simulator.press(by, ref.message_id, label, form=form)

    def visible_text(self, ref: MessageRef) -> str:
        """Return all text on the card as it now stands."""
        return "\n".join(self.simulator.texts(ref.message_id))

    def has_buttons(self, ref: MessageRef) -> bool:
        """Tell whether anything on the card can be pressed."""
        return bool(self.simulator.labels(ref.message_id))

    def private_notes(self, user: str = "") -> list[str]:
        """Return what one person alone was told."""
        toasts = [
            toast
            for message in self.simulator.platform.messages.values()
            for toast in message.toasts.get(user or self.account_id, [])
        ]
        return [*(str(toast["content"]) for toast in toasts), *self.simulator.letters(user or self.account_id)]

    def notes(self, ref: MessageRef) -> list[Said]:
        """Return what was said under the card."""
        return [Said(remark.text, remark.mentions) for remark in self.simulator.remarks(ref.message_id)]

    def announcements(self) -> list[str]:
        """Return what was said in the chat under no card, each as its lines."""
        return [letter.text for letter in self.simulator.platform.letters.get(self.channel.chat_id, [])]

    def messages(self) -> int:
        """Return how many cards the chat shows."""
        return len(self.simulator.view(self.channel.chat_id))

    def fail_next_post(self, kind: str) -> None:
        """Let the next post go wrong: rate_limited, server_error, reset_after_receive or refused."""
        self.simulator.fail_next("send", _FAULTS[kind])

    def end_edits(self, ref: MessageRef) -> None:
        """Let the message be recalled."""
        self.simulator.message(ref.message_id).recalled = True

    def speak_as(self, stranger: Literal["app", "tenant"]) -> str:
        """Let the next events name another app, or Alice another tenant; the key that proves them stays."""
        platform = self.simulator.platform
        if stranger == "app":
            platform.app = replace(platform.app, app_id="cli_somebodyelses")
            return platform.app.app_id
        platform.people[self.account_id] = replace(self.alice, tenant_key="anothertenant")
        return platform.people[self.account_id].tenant_key

    def signed(self, content: bytes) -> InboundCall:
        """Return an encrypted and signed event that says this."""
        return _call(self.simulator.clicker.seal(content))

    def other_calls(self) -> list[tuple[InboundCall, type[Challenge | Ignored]]]:
        """Return the console's try of the address, which is encrypted and not signed, and another event."""
        app = self.simulator.platform.app
        tried = {"type": "url_verification", "challenge": "a-challenge", "token": app.verification_token}
        header = {"token": app.verification_token, "app_id": app.app_id, "tenant_key": app.tenant_key}
        other = {"schema": "2.0", "header": header | {"event_id": "e1", "event_type": "im.message.receive_v1"}}
        challenge = _call(self.simulator.forge(dict(tried)))
        unsigned = InboundCall(headers=challenge.headers[:1], body=challenge.body)
        return [(unsigned, Challenge), (_call(self.simulator.forge({**other, "event": {}})), Ignored)]

    async def forward(self, scope: Any, receive: Any, send: Any) -> None:
        """Take one call of the platform and answer what the suite says (an ASGI application)."""
        body = b""
        more = True
        while more:
            event = await receive()
            body += event.get("body", b"")
            more = event.get("more_body", False)
        headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"])
        call = InboundCall(headers=headers, body=body)
        self.calls.append(call)
        answer = await self._answer(call)
        content = b"" if answer.body is None else json.dumps(answer.body, ensure_ascii=False).encode()
        start = {"type": "http.response.start", "status": answer.status, "headers": []}
        await send(start | {"headers": [(b"content-length", str(len(content)).encode())]})
        await send({"type": "http.response.body", "body": content})

    async def _answer(self, call: InboundCall) -> HttpAnswer:
        if self.receive is None:
            return HttpAnswer(status=503)
        try:
            return await self.receive(call)
        except CallbackRejectedError:
            return HttpAnswer(status=401)


def _call(delivery: Delivery) -> InboundCall:
    headers = tuple((name.lower(), value) for name, value in delivery.headers)
    return InboundCall(headers=headers, body=delivery.body)


@asynccontextmanager
async def feishu_stage(*, call_seconds: float = HANGS, receive: str = "webhook") -> AsyncIterator[FeishuStage]:
    """Set the stage: the stand-in, the endpoint, and the channel between them."""
    clock = StillClock()
    await asyncio.to_thread(import_feishu_sdk)
    async with FeishuSimulator(clock=clock) as simulator:
        stage = FeishuStage(simulator, clock, call_seconds=call_seconds, receive=receive)
        async with serve(stage.forward) as address:
            simulator.callback_url = f"{address}/callback"
            try:
                yield stage
            finally:
                await stage.channel.close()
