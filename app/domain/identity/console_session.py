"""A person's session in the console: begun by a link that works once, over when it is idle or old, or ended at once.

A browser holds ``s1_<id>_<secret>``. The row keeps a MAC over the secret and whose it is, so that no row can borrow a
session's secret or another person's name.
"""

from __future__ import annotations

import json
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.identity.seals import BadTokenError

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.identity.seals import Seals

IDLE_FOR = timedelta(hours=2)
"""How long nobody may look at anything before a session is over."""

LASTS = timedelta(hours=12)
"""How long a session holds at most, however much is looked at: a working day."""

_PURPOSE = "console-session"


class ConsoleSession(Struct, frozen=True, kw_only=True):
    """One session. `seen_at` is when it was last used, to the minute or so."""

    id: str
    org: str
    person: str  # e-mail, as in the file
    via: str  # what made the link that began it
    seal: str
    begun_at: datetime
    seen_at: datetime
    ended_at: datetime | None = None
    groups: tuple[str, ...] = ()  # what whoever signed the person in says that they are in

    @property
    def not_after(self) -> datetime:
        """When it is over at the latest."""
        return min(self.begun_at + LASTS, self.seen_at + IDLE_FOR)

    def live(self, now: datetime) -> bool:
        """Whether it holds at `now`."""
        return self.ended_at is None and now < self.not_after


def new_session(
    seals: Seals, *, org: str, person: str, via: str, now: datetime, groups: tuple[str, ...] = ()
) -> tuple[ConsoleSession, str]:
    """Begin a session; return it with the text that the browser holds."""
    session_id, secret = secrets.token_hex(16), secrets.token_urlsafe(32).replace("_", "~")
    session = ConsoleSession(
        id=session_id, org=org, person=person, via=via, seal="", begun_at=now, seen_at=now, groups=groups
    )
    seal = ".".join(seals.seal(_PURPOSE, _said(session, secret)))
    return replace(session, seal=seal), f"s1_{session_id}_{secret}"


def id_in(text: str) -> str | None:
    """Return the id of the session that a text may be of; None: of none."""
    parts = text.split("_")
    return parts[1] if len(text) <= 200 and text.isascii() and len(parts) == 3 and parts[0] == "s1" else None


def opens_session(seals: Seals, session: ConsoleSession, text: str) -> bool:
    """Say whether a text is this session's."""
    key_id, _, mac = session.seal.partition(".")
    try:
        secret = text.split("_")[2]
        seals.verify_text(_PURPOSE, _said(session, secret), key_id=key_id, mac=mac)
    except (BadTokenError, IndexError):
        return False
    return True


def _said(session: ConsoleSession, secret: str) -> str:
    of = [session.id, session.org, session.person, secret]
    return json.dumps([*of, list(session.groups)] if session.groups else of)
