"""A strict local stand-in for Slack, for tests and the demo.

It serves Slack's HTTP API and Socket Mode on loopback, so that the official SDK talks to it unchanged, keeps what a
workspace would keep, refuses what Slack refuses, and has people who press buttons. In a test::

    async with SlackSimulator(clock=clock) as slack:
        slack.callback_url = "http://127.0.0.1:8000/v1/channels/pay-slack/callback"
        channel = build("pay-slack", SlackSettings.model_validate(slack.configuration()))
        ref = await channel.post(post)
        await slack.click("U061F7AUR", ref.chat_id, ref.message_id, "assent_approve")
        slack.view(ref.chat_id)

A demo may serve `slack.app` itself (any ASGI server, mounted anywhere), after setting `slack.public_url`.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, Self

from channels.slack.simulator.clicks import Clicker, Delivery, Links
from channels.slack.simulator.rotation import Rotation
from channels.slack.simulator.screen import CannotPressError
from channels.slack.simulator.server import Front, Serving
from channels.slack.simulator.state import Fault, Modal, Person, Room, Token, UserGroup, World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.ports import Clock

__all__ = ["CannotPressError", "Delivery", "Fault", "Modal", "Person", "Room", "SlackSimulator", "UserGroup"]

_SIGNING_SECRET: Final = "8f742231b10e8888abcd99yyyzzz85a5"  # noqa: S105 - of Slack's documentation
_BOT_TOKEN: Final = "xoxb-17653672481-19874698323-simulated"  # noqa: S105 - of a stand-in
_APP_TOKEN: Final = "xapp-1-A0APPR0VAL-simulated"  # noqa: S105 - of a stand-in


DIRECTORY_TOKEN: Final = "xoxp-simulated-directory"  # noqa: S105 - of a stand-in


class SlackSimulator:
    """One workspace with one app and one channel, ``CBR2V3XEX``; more can be added through `world`."""

    def __init__(
        self,
        *,
        clock: Clock,
        callback_url: str | None = None,
        signing_secret: str = _SIGNING_SECRET,
        bot_token: str = _BOT_TOKEN,
        app_token: str = _APP_TOKEN,
    ) -> None:
        """Build the workspace; serve nothing yet."""
        self.world = World(clock=clock, signing_secret=signing_secret, bot_token=bot_token, app_token=app_token)
        self.room = self.world.add_room(Room(id="CBR2V3XEX", name="agent-approvals"))
        self.links = Links(self.world)
        self.app = Front(self.world, self.links.hold)
        self._clicker = Clicker(self.world, self.app, self.links)
        self._clicker.callback_url = callback_url
        self._bot_token = bot_token
        self._app_token = app_token
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Serve on a free port of 127.0.0.1."""
        await self._stack.enter_async_context(Serving(self.app))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop serving."""
        await self._stack.aclose()

    # --- set-up -------------------------------------------------------------------------------------------------------

    @property
    def public_url(self) -> str:
        """Where the application is served, without a slash at the end."""
        return self.app.public_url

    @public_url.setter
    def public_url(self, url: str) -> None:
        self.app.public_url = url.rstrip("/")

    @property
    def callback_url(self) -> str | None:
        """Where Slack's calls go over HTTP."""
        return self._clicker.callback_url

    @callback_url.setter
    def callback_url(self, url: str | None) -> None:
        self._clicker.callback_url = url

    def configuration(self, *, receive: str = "webhook") -> dict[str, object]:
        """Return what assent.yaml would say of this workspace's channel."""
        return {
            "type": "slack",
            "bot_token": self._bot_token,
            "signing_secret": self.world.signing_secret,
            "app_token": self._app_token,
            "channel": self.room.id,
            "receive": receive,
            "api_url": f"{self.public_url}/api/",
            "app_id": self.world.app_id,
            "team_id": self.world.team_id,
        }

    def open_directory(self) -> dict[str, object]:
        """Make a token for SCIM, and return what assent.yaml then says besides."""
        self.world.tokens[DIRECTORY_TOKEN] = Token(kind="user", scopes=frozenset({"admin"}))
        return {"scim_token": DIRECTORY_TOKEN}

    def rotate_tokens(self) -> dict[str, object]:
        """Turn token rotation on, for good, and return what assent.yaml then says in the place of ``bot_token``."""
        self.app.rotation = self.app.rotation or Rotation()
        self.world.tokens[self._bot_token].revoked = True
        return {
            "refresh_token": self.app.rotation.give(self.world),
            "client_id": self.app.rotation.client_id,
            "client_secret": self.app.rotation.client_secret,
        }

    @property
    def rotation(self) -> Rotation:
        """The app's tokens, once they rotate."""
        if self.app.rotation is None:
            raise LookupError("this app's tokens do not rotate: rotate_tokens() comes first")
        return self.app.rotation

    def add_person(
        self,
        user_id: str,
        *,
        name: str,
        email: str,
        team_id: str | None = None,
        deleted: bool = False,
        is_bot: bool = False,
    ) -> Person:
        """Let somebody join; further marks are set on the returned person."""
        team = team_id or self.world.team_id
        person = Person(id=user_id, name=name, email=email, team_id=team, deleted=deleted, is_bot=is_bot)
        return self.world.add_person(person)

    def add_group(self, group_id: str, handle: str, *people: str) -> UserGroup:
        """Make a user group of these people; it may be disabled on what is returned."""
        return self.world.add_group(UserGroup(id=group_id, handle=handle, people=list(people)))

    def fail_next(self, method: str, fault: Fault, *, times: int = 1) -> None:
        """Let the next calls of a Web API method go wrong."""
        self.world.faults[method].extend([fault] * times)

    # --- people -------------------------------------------------------------------------------------------------------

    async def click(self, user: str, channel: str, ts: str, action_id: str) -> Delivery:
        """Press a button of a message, and confirm. Raises CannotPressError when it is not there."""
        return await self._clicker.click(user, channel, ts, action_id)

    async def choose(self, user: str, channel: str, ts: str, action_id: str, value: str) -> Delivery:
        """Choose an option of a menu by its value. Raises CannotPressError when it is not there."""
        return await self._clicker.choose(user, channel, ts, action_id, value)

    async def use(self, user: str, channel: str, ts: str, label: str, *, nth: int = 0) -> Delivery:
        """Press a button, or choose from a menu, by its label (the nth with it). Raises CannotPressError."""
        return await self._clicker.use(user, channel, ts, label, nth=nth)

    async def submit_modal(self, user: str, view_id: str, answers: str | Mapping[str, str]) -> Delivery:
        """Fill in and submit a modal: a text for the first text box, or texts and people's ids by the fields' names.

        Raises CannotPressError when it is not on that person's screen, or its form does not let it pass.
        """
        return await self._clicker.submit_modal(user, view_id, answers)

    def modal_of(self, user: str) -> Modal | None:
        """Return the modal that a person sees."""
        open_now = [modal for modal in self.world.modals.values() if modal.user == user and modal.open]
        return open_now[-1] if open_now else None

    async def send_raw(self, body: bytes, headers: tuple[tuple[str, str], ...]) -> Delivery:
        """Post exactly this to the gateway: a replay of `last_delivery`, or a forgery."""
        return await self._clicker.send_raw(body, headers)

    def signed(
        self, payload: dict[str, object], *, secret: str | None = None
    ) -> tuple[bytes, tuple[tuple[str, str], ...]]:
        """Return body and headers of a call with this payload, signed at this clock's time."""
        return self._clicker.signed(payload, secret=secret)

    @property
    def last_delivery(self) -> Delivery:
        """The latest call to the gateway."""
        return self._clicker.deliveries[-1]

    # --- looking ------------------------------------------------------------------------------------------------------

    def calls(self, method: str) -> list[dict[str, object]]:
        """Return the arguments of every call of a Web API method so far."""
        return [call.arguments for call in self.world.calls if call.method == method]

    def direct(self, user: str) -> str:
        """Return the conversation of the app with a person."""
        return self.world.direct_room(user).id

    def view(self, channel: str) -> list[dict[str, object]]:
        """Return what a channel shows, oldest first, as JSON values: messages, then each person's private notes."""
        room = self.world.rooms[channel]
        messages: list[dict[str, object]] = [
            {
                "kind": "message",
                "ts": message.ts,
                "author": "assent",
                "text": message.now.text,
                "blocks": message.now.blocks,
                "versions": len(message.versions),
                "replies": [
                    {"text": reply.text, "blocks": reply.blocks, "mentions": list(reply.mentions)}
                    for reply in message.replies
                ],
            }
            for message in sorted(room.messages.values(), key=lambda message: message.ts)
        ]
        notes: list[dict[str, object]] = [
            {"kind": "note", "only_for": note.user, "text": note.text, "blocks": note.blocks} for note in room.notes
        ]
        return [*messages, *notes]
