"""The way to the review page: a link that one person may use once, and the short session that it opens.

Both are texts ``<version>.<key id>.<what it is for>.<mac>``. Who may look at which request until when is written in
them and sealed, for a purpose each, so that a link is no session and a session no link. They name one request of one
org: whoever has one for this request has none for another. That a link works once is the store's business.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.identity.seals import BadTokenError

if TYPE_CHECKING:
    from app.domain.identity.seals import Seals

LINK_FOR = timedelta(minutes=5)
"""How long a link may be used, once."""

SESSION_FOR = timedelta(minutes=30)
"""How long the page can be looked at after that, as long as the person still may."""

_VERSION = "r1"
_LONGEST = 2_000  # characters of a token: names and ids are far shorter
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Purpose(StrEnum):
    """What a token is good for; also the purpose that its key is derived for."""

    LINK = "review-link"
    SESSION = "review-session"
    CONSOLE = "console-link"  # not one request: all that concerns the person


class SignIn(Struct, frozen=True, kw_only=True):
    """One person's right to look at one request until an instant."""

    org: str
    person: str  # e-mail, as in the file
    request_id: str
    via: str  # the channel whose card was pressed, or "api"
    nonce: str  # unguessable; what a link is remembered by once it was used
    not_after: datetime

    def session(self, *, now: datetime) -> SignIn:
        """Return the right that using a link opens."""
        return replace(self, not_after=now + SESSION_FOR)


def render_token(seals: Seals, purpose: Purpose, right: SignIn) -> str:
    """Write a right as a sealed text of URL-safe characters."""
    micros = (right.not_after - _EPOCH) // timedelta(microseconds=1)
    parts = [right.org, right.person, right.request_id, right.via, right.nonce, micros]
    text = base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")
    key_id, mac = seals.seal(purpose, text)
    return f"{_VERSION}.{key_id}.{text}.{mac}"


def parse_right(seals: Seals, purpose: Purpose, token: str, *, now: datetime) -> SignIn:
    """Return what a token was sealed for. Raises BadTokenError: not ours, for another purpose, or over."""
    parts = token.split(".")
    if len(token) > _LONGEST or not token.isascii() or len(parts) != 4 or parts[0] != _VERSION:
        raise BadTokenError("not a sign-in of this gateway")
    _, key_id, text, mac = parts
    seals.verify_text(purpose, text, key_id=key_id, mac=mac)  # nothing is decoded before it is known to be ours
    org, person, request_id, via, nonce, micros = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    right = SignIn(
        org=org,
        person=person,
        request_id=request_id,
        via=via,
        nonce=nonce,
        not_after=_EPOCH + timedelta(microseconds=micros),
    )
    if now >= right.not_after:
        raise BadTokenError("its time is over")
    return right
