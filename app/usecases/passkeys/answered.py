"""A passkey's answer, used: once, within its time, and only by a passkey that says that it has signed more than before.

What it signed was checked before, outside of the unit of work; here is all that only the rows can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.identity.press import stands
from app.storage.identity.passkeys import find_passkey, use_passkey
from app.storage.requests.seen_before import seen_before

if TYPE_CHECKING:
    from app.domain.identity.passkey import Aim, Proven
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx

_USED = "passkey challenge"


def use_answer(tx: Tx, proven: Proven, *, aim: Aim, person: str, covers: tuple[str, ...] = ()) -> str | None:
    """Use an answer up. None: it is good; otherwise why it is not, in the trail's words."""
    challenge, passkey = proven.challenge, proven.passkey
    now = tx.now()
    if (challenge.aim, challenge.covers) != (aim, covers):
        return "other_passkey_challenge"  # signed for another approval than this one
    if now >= challenge.not_after or seen_before(tx, _USED, challenge.nonce):
        return "old_passkey_challenge"
    kept = find_passkey(tx, passkey.credential)
    if kept is None or (kept.org, kept.person, kept.seal) != (tx.org, person, passkey.seal):
        return "no_such_passkey"
    return None if use_passkey(tx, kept, proven.signs, now) else "copied_passkey"


def covered_by(request: ConfirmationRequest) -> tuple[str, ...]:
    """Return what an approval of a request, as it stands, is of: this call, and all that was said about it so far."""
    return (request.id, request.digest, stands(request))
