"""Token rotation of the stand-in: access that ends after twelve hours, and refresh tokens for one exchange each.

As strict as can be read out of Slack's pages, and a little stricter: what was exchanged ends the access token before it
at once (Slack may let it live on), so that whoever goes on with an old one is found out.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from channels.slack.simulator.state import ALL_SCOPES, Token

if TYPE_CHECKING:
    from channels.slack.simulator.state import World

METHOD: Final = "oauth.v2.access"
LASTS: Final = timedelta(hours=12)


@dataclass(slots=True, kw_only=True)
class Rotation:
    """An app with token rotation, as its pages show it."""

    client_id: str = "17653672481.19874698323"
    client_secret: str = field(default="4f1b2c3d4e5f60718293a4b5c6d7e8f9", repr=False)
    good: set[str] = field(default_factory=set[str], repr=False)  # refresh tokens that were not exchanged yet
    access: str = field(default="", repr=False)  # the newest access token
    exchanges: int = 0

    def give(self, world: World) -> str:
        """Reinstall the app, as its owner does: every token before ends, and a new refresh token is shown."""
        self._end(world)
        self.good.clear()
        renewal = f"xoxe-1-{world.serial('R')}"
        self.good.add(renewal)
        return renewal

    def exchange(self, world: World, authorization: str, arguments: dict[str, object]) -> dict[str, object]:
        """Answer a call of the method."""
        given = _basic(authorization) or (str(arguments.get("client_id", "")), str(arguments.get("client_secret", "")))
        if given[0] != self.client_id:
            return _refused("invalid_client_id")
        if given[1] != self.client_secret:
            return _refused("bad_client_secret")
        if strange := arguments.keys() - {"grant_type", "refresh_token", "client_id", "client_secret"}:
            return {**_refused("invalid_arguments"), "response_metadata": {"messages": sorted(strange)}}
        if arguments.get("grant_type") != "refresh_token":
            return _refused("invalid_grant_type")
        spent = str(arguments.get("refresh_token", ""))
        if spent not in self.good:
            return _refused("invalid_refresh_token")
        self.good.remove(spent)
        self.exchanges += 1
        self._end(world)
        self.access, renewal = f"xoxe.xoxb-1-{world.serial('A')}", f"xoxe-1-{world.serial('R')}"
        self.good.add(renewal)
        until = world.clock.now() + LASTS
        world.tokens[self.access] = Token(kind="bot", scopes=ALL_SCOPES, until=until)
        return {
            "ok": True,
            "app_id": world.app_id,
            "access_token": self.access,
            "token_type": "bot",
            "expires_in": int(LASTS.total_seconds()),
            "refresh_token": renewal,
            "scope": ",".join(sorted(ALL_SCOPES)),
            "bot_user_id": world.bot_user_id,
            "team": {"id": world.team_id, "name": world.domain},
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def _end(self, world: World) -> None:
        if self.access:
            world.tokens[self.access].revoked = True


def _basic(authorization: str) -> tuple[str, str] | None:
    kind, _, rest = authorization.partition(" ")
    if kind != "Basic":
        return None
    try:
        name, _, secret = base64.b64decode(rest, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return name, secret


def _refused(code: str) -> dict[str, object]:
    return {"ok": False, "error": code}
