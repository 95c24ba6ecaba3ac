"""Where a call waits at the service that was to carry it out: it asks its own people, and that is no refusal.

Such a service answers 202, 402 or 403 with the id of an approval of its own. What was sent may be done at any later
time, by people whom nobody here knows: it counts as spent, and is never sent again.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from msgspec import Struct

from app.domain.errors import InvalidError
from app.domain.text.visible import hides

LONGEST_ID = 200
LONGEST_LINK = 2000
_LINK = re.compile(r"https?://[!-~]+", re.IGNORECASE)


class Elsewhere(Struct, frozen=True, kw_only=True):
    """The service's own id of what waits there, and where its people find it."""

    id: str
    link: str | None = None


def checked_elsewhere(name: str, link: str | None) -> Elsewhere:
    """Return where a call waits. Raises InvalidError for what people could not read as it stands, and other links."""
    if not 0 < len(name) <= LONGEST_ID or not name.isprintable() or name != name.strip() or hides(name):
        raise InvalidError(
            f"the service's id has 1 to {LONGEST_ID} characters that can be seen, on one line", path="elsewhere.id"
        )
    if link is not None and not _leads_somewhere(link):
        raise InvalidError(
            f"the link is an http or https address of at most {LONGEST_LINK} ASCII characters, without a user's name",
            path="elsewhere.link",
        )
    return Elsewhere(id=name, link=link)


def _leads_somewhere(link: str) -> bool:
    if len(link) > LONGEST_LINK or not _LINK.fullmatch(link):
        return False
    try:
        parts = urlsplit(link)
        return bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        return False
