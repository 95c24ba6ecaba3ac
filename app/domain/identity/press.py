"""What makes a form of the console pressable: for whom it was drawn, in which session, and how the request stood then.

A text ``p1.<key id>.<what it says>.<mac>``, in the form itself. Bound to the session, it is the proof that our own page
sent the form. What it says of the request is compared when it is pressed: a page that shows what no longer is cannot
be pressed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.identity.seals import BadTokenError

if TYPE_CHECKING:
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest

_PURPOSE = "console-press"
_VERSION = "p1"
_LONGEST = 8_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Press(Struct, frozen=True, kw_only=True):
    """One form. `stood` and `votes` are what the page showed of the request; `drawn_at` is when it was first read."""

    session: str  # the session's own unguessable name
    request_id: str
    stood: str
    votes: tuple[str, ...]  # the ids of the decisions that it showed
    drawn_at: datetime


def stands(request: ConfirmationRequest) -> str:
    """Name how a request stands, as far as it matters to who decides: a reminder that went out does not."""
    said = [
        request.digest,
        request.state.value,
        [each.id for each in request.decisions],
        [[each.id, each.answer is not None] for each in request.questions],
        len(request.handovers),
        [[*stage.of] for stage in request.stages],
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def drawn(request: ConfirmationRequest, *, session: str, at: datetime) -> Press:
    """Return what the form of a page says that shows a request as it stands."""
    votes = tuple(each.id for each in request.decisions)
    return Press(session=session, request_id=request.id, stood=stands(request), votes=votes, drawn_at=at)


def render_press(seals: Seals, press: Press) -> str:
    """Write it as a sealed text of URL-safe characters."""
    micros = (press.drawn_at - _EPOCH) // timedelta(microseconds=1)
    parts = [press.request_id, press.stood, list(press.votes), micros]
    text = base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")
    key_id, mac = seals.seal(_PURPOSE, f"{press.session}\n{text}")
    return f"{_VERSION}.{key_id}.{text}.{mac}"


def parse_press(seals: Seals, token: str, *, session: str, request_id: str) -> Press:
    """Return what was sealed for this session and request. Raises BadTokenError."""
    parts = token.split(".")
    if len(token) > _LONGEST or not token.isascii() or len(parts) != 4 or parts[0] != _VERSION:
        raise BadTokenError("not a form of this gateway")
    _, key_id, text, mac = parts
    seals.verify_text(_PURPOSE, f"{session}\n{text}", key_id=key_id, mac=mac)  # before anything is decoded
    of, stood, votes, micros = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    if of != request_id:
        raise BadTokenError("the form of another request")
    at = _EPOCH + timedelta(microseconds=micros)
    return Press(session=session, request_id=of, stood=stood, votes=tuple(votes), drawn_at=at)
