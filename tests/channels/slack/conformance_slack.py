"""The Slack stage for the suite that every channel must pass: a channel, a stand-in workspace, and people in it.

A tiny real HTTP endpoint inside the stage takes Slack's calls and hands them, raw, to what the suite sets as `receive`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlencode

from aiohttp import web
from msgspec.structs import replace

from app.domain.card.card import Buttons, Card, Control, Fact, Tone
from app.domain.card.form import Field, FieldKind, Form
from app.domain.request.action import VERB_OF, Action
from app.domain.text.language import Language
from app.ports import AccountStatus, CallbackRejectedError, Challenge, HttpAnswer, Ignored, InboundCall, MessageRef
from channels.conformance.harness import Said, StillClock
from channels.slack import SPEC
from channels.slack.channel import SlackChannel
from channels.slack.settings import SlackSettings
from channels.slack.simulator.simulator import CannotPressError, Delivery, Fault, SlackSimulator
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

ALICE, BOB = "U061F7AUR", "U0SECOND001"
CARD = Card(
    request_id="req_7f3k",
    revision=1,
    language=Language.EN,
    tone=Tone.WAITING,
    headline="Approval needed",
    title="Pay 80000 CNY to Acme Ltd",
    tool="oa__purchase_pay",
    facts=(Fact(label="payee", value="Acme Ltd"), Fact(label="amount", value="80000 CNY")),
    arguments=(Fact(label="memo", value="March invoice"),),
    agent_says=Fact(label="The agent says", value="The invoice is due today."),
    footer="7F3K · req_7f3k",
    outcome=None,
    progress="0 of 2 approvals · finance",
    withheld=None,
    deadline=datetime(2026, 3, 1, 10, 30, tzinfo=UTC),
    buttons=Buttons(
        approve="sealed-approve",
        deny="sealed-deny",
        approve_label="Approve",
        deny_label="Deny",
        reason_label="Why not?",
        reason_hint="The agent sees the reason.",
        confirm_title="Approve?",
        confirm_text="It runs once, with the arguments shown.",
        cancel_label="Cancel",
    ),
)
SETTLED = replace(
    CARD, tone=Tone.GOOD, headline="Approved", outcome="Approved by alice at 10:02 UTC", buttons=None, deadline=None
)
REASON = Form(
    title="Deny",
    submit="Deny",
    cancel="Go back",
    note="Pay 80000 CNY to Acme Ltd",
    fields=(Field(name="reason", label="Why not?", hint="The agent sees the reason."),),
)
HAND_OVER = Form(
    title="Hand over",
    submit="Hand over",
    cancel="Go back",
    note="This person then decides in your place.",
    fields=(
        Field(name="person", label="Who?", kind=FieldKind.PERSON),
        Field(name="note", label="A word about it", kind=FieldKind.LINE, required=False),
    ),
)
LABELS = {
    Action.REVIEW: "See all of it",
    Action.EDIT: "Approve with changes",
    Action.ASK: "Ask a question",
    Action.HAND_OVER: "Hand over",
    Action.ADD: "Add an approver",
    Action.REMIND: "Remind",
    Action.EXTEND: "More time",
    Action.ANSWER: "Answer",
    Action.REOPEN: "Ask again",
}
ASKING = {Action.EDIT, Action.ASK, Action.HAND_OVER, Action.ADD, Action.ANSWER}
HEAD = "a1.0123abcd.4jq8w6c1tz5n0v3b7k2m9x6d1f8g0h4p"


def token(action: Action, head: str = HEAD) -> str:
    """Make a token of the gateway's own shape."""
    return f"{head}.{VERB_OF[action].letter}.{'0f' * 20}"


def controls(*actions: Action, head: str = HEAD) -> tuple[Control, ...]:
    """Make the controls of a card."""
    return tuple(
        Control(action=a, label=LABELS[a], token=token(a, head), form=HAND_OVER if a in ASKING else None)
        for a in actions
    )


_FAULTS = {
    "rate_limited": Fault.RATE_LIMITED,
    "server_error": Fault.SERVER_ERROR,
    "reset_after_receive": Fault.RESET_AFTER_RECEIVE,
    "refused": Fault.REFUSED,
}


class SlackStage:
    """The suite's `Harness`, and what the other tests need besides."""

    spec = SPEC
    cannot_press = CannotPressError
    account_id, other_account_id = ALICE, BOB
    shows_outcome = False  # an ephemeral answer leaves the message alone: `refresh` follows
    email = "alice@example.com"
    unknown_email = "nobody@example.com"

    def __init__(self, channel: SlackChannel, simulator: SlackSimulator, clock: StillClock) -> None:
        """Put alice, and one person of each other status, into the workspace."""
        self.channel = channel
        self.simulator = simulator
        self.clock = clock
        self.options = simulator.configuration()
        self.receive: Callable[[InboundCall], Awaitable[HttpAnswer]] | None = None
        self.calls: list[InboundCall] = []
        simulator.add_person(ALICE, name="alice", email=self.email)
        simulator.add_person(BOB, name="bob", email="bob@example.com")
        simulator.add_person("U0G0NE0001", name="gone", email="gone@example.com", deleted=True)
        simulator.add_person("U0B0T00001", name="robot", email="robot@example.com", is_bot=True)
        simulator.add_person("U0GUEST001", name="guest", email="guest@example.com").is_restricted = True
        self.people = {
            AccountStatus.ACTIVE: self.email,
            AccountStatus.DEACTIVATED: "gone@example.com",
            AccountStatus.BOT: "robot@example.com",
            AccountStatus.GUEST: "guest@example.com",
        }

    async def click_approve(self, ref: MessageRef, *, user: str = ALICE) -> Delivery:
        """Press Approve."""
        return await self.simulator.click(user, ref.chat_id, ref.message_id, "assent_approve")

    async def click_deny(self, ref: MessageRef, reason: str, *, user: str = ALICE) -> Delivery:
        """Press Deny, and give the reason in the modal that the gateway then opens (`Channel.open_form`)."""
        pressed = await self.simulator.click(user, ref.chat_id, ref.message_id, "assent_deny")
        modal = self.simulator.modal_of(user)
        return pressed if modal is None else await self.simulator.submit_modal(user, modal.id, reason)

    async def press(self, ref: MessageRef, label: str, /, *, by: str, filled: Mapping[str, str]) -> Delivery:
        """Press a button or choose from a menu, and submit the modal that the gateway then opens, if it does."""
        before = self.simulator.modal_of(by)
        pressed = await self.simulator.use(by, ref.chat_id, ref.message_id, label)
        modal = self.simulator.modal_of(by)
        if modal is not None and modal is not before:
            return await self.simulator.submit_modal(by, modal.id, filled)
        if filled:
            raise CannotPressError(f"{label} asks for nothing")
        return pressed

    def replies(self, ref: MessageRef) -> list[dict[str, object]]:
        """Return what was said in the card's thread, and whom it rang up."""
        return cast("list[dict[str, object]]", self._message(ref)["replies"])

    def visible_text(self, ref: MessageRef) -> str:
        """Return all text on the card as it now stands."""
        return "\n".join(_texts(self._message(ref)["blocks"]))

    def has_buttons(self, ref: MessageRef) -> bool:
        """Tell whether anything on the card can be pressed."""
        return '"type": "button"' in str(self._message(ref)["blocks"]).replace("'", '"')

    def private_notes(self, user: str = ALICE) -> list[str]:
        """Return what one person alone was told."""
        shown = self.simulator.view(self.channel.chat_id)
        notes = [entry for entry in shown if entry["kind"] == "note" and entry["only_for"] == user]
        links = [[text for text in _texts(entry["blocks"]) if text.startswith("<http")] for entry in notes]
        return [" ".join([str(entry["text"]), *link]) for entry, link in zip(notes, links, strict=True)]

    def notes(self, ref: MessageRef) -> list[Said]:
        """Return what was said in the card's thread."""
        told = self.replies(ref)
        return [Said("\n".join(_texts(reply["blocks"])), tuple(cast("list[str]", reply["mentions"]))) for reply in told]

    def announcements(self) -> list[str]:
        """Return what was said in the chat under no card, each as its lines."""
        shown = self.simulator.view(self.channel.chat_id)
        said = [entry for entry in shown if entry["kind"] == "message" and not entry.get("thread_ts")]
        return ["\n".join(_texts(entry["blocks"])) for entry in said if "assent_notice" in str(entry["blocks"])]

    def messages(self) -> int:
        """Return how many cards the chat shows."""
        return len([entry for entry in self.simulator.view(self.channel.chat_id) if entry["kind"] == "message"])

    def fail_next_post(self, kind: str) -> None:
        """Let the next post go wrong: rate_limited, server_error, reset_after_receive or refused."""
        self.simulator.fail_next("chat.postMessage", _FAULTS[kind])

    def end_edits(self, ref: MessageRef) -> None:
        """Delete the message."""
        del self.simulator.world.rooms[ref.chat_id].messages[ref.message_id]

    def speak_as(self, stranger: Literal["app", "tenant"]) -> str:
        """Let the next payloads name another app, or another workspace for Alice; the signing secret stays."""
        if stranger == "app":
            self.simulator.world.app_id = "A0STRANGER1"
            return self.simulator.world.app_id
        self.simulator.world.people[ALICE].team_id = "T0STRANGER1"
        return self.simulator.world.people[ALICE].team_id

    def signed(self, content: bytes) -> InboundCall:
        """Return a signed form whose payload says this."""
        return self._signed(urlencode({"payload": content}).encode(), "application/x-www-form-urlencoded")

    def other_calls(self) -> list[tuple[InboundCall, type[Challenge | Ignored]]]:
        """Return the try of the address, the try of its certificate, and an event."""
        tried = json.dumps({"type": "url_verification", "challenge": "a-challenge"}).encode()
        event = json.dumps({"type": "event_callback"}).encode()
        return [
            (self._signed(tried, "application/json"), Challenge),
            (self._signed(b"ssl_check=1", "application/x-www-form-urlencoded"), Ignored),
            (self._signed(event, "application/json"), Ignored),
        ]

    def _signed(self, body: bytes, kind: str) -> InboundCall:
        stamp = str(int(self.clock.now().timestamp()))
        key = self.simulator.world.signing_secret.encode()
        mac = hmac.new(key, f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
        proof = (("x-slack-request-timestamp", stamp), ("x-slack-signature", f"v0={mac}"))
        return InboundCall(headers=(("content-type", kind), *proof), body=body)

    def _message(self, ref: MessageRef) -> dict[str, object]:
        return next(entry for entry in self.simulator.view(ref.chat_id) if entry.get("ts") == ref.message_id)


def _texts(branch: object) -> list[str]:
    match branch:
        case {"type": "plain_text" | "mrkdwn", "text": str(text)}:
            return [text]
        case dict():
            return [text for value in branch.values() for text in _texts(value)]
        case list():
            return [text for value in branch for text in _texts(value)]
        case _:
            return []


@asynccontextmanager
async def slack_stage(*, call_seconds: float = HANGS) -> AsyncIterator[SlackStage]:
    """Set the stage: the stand-in, the endpoint, and the channel between them."""
    clock = StillClock()
    async with SlackSimulator(clock=clock) as simulator:
        channel = SlackChannel(
            "pay-slack", SlackSettings.model_validate(simulator.configuration()), call_seconds=call_seconds
        )
        stage = SlackStage(channel, simulator, clock)
        async with _endpoint(stage) as address:
            simulator.callback_url = address
            try:
                yield stage
            finally:
                await channel.close()


@asynccontextmanager
async def _endpoint(stage: SlackStage) -> AsyncIterator[str]:
    async def forward(request: web.Request) -> web.Response:
        headers = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in request.raw_headers
        )
        call = InboundCall(headers=headers, body=await request.read())
        stage.calls.append(call)
        if stage.receive is None:
            return web.Response(status=503)
        try:
            answer = await stage.receive(call)
        except CallbackRejectedError:
            answer = HttpAnswer(status=401)
        if answer.body is None:
            return web.Response(status=answer.status)
        return web.json_response(answer.body, status=answer.status)

    app = web.Application()
    app.router.add_post("/callback", forward)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/callback"
    finally:
        await runner.cleanup()
        await asyncio.sleep(0)
