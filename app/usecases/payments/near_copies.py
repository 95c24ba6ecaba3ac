"""Warn of a call that says what people denied, in other words: whoever decides should know that somebody said no.

Two calls are near copies where they say the same in everything that the file wants to be seen (`pin`), whichever agent
makes them and in whichever session. Such a call is not refused, for it may be the mended one: people are asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.call.tool_call import near_key
from app.domain.card.card_for import instant_text
from app.domain.request.caution import Caution, CautionKind
from app.domain.request.redact import scrubbed_for
from app.domain.text.visible import visible
from app.storage.refusals.denials import find_near_denied
from app.usecases.writing.clean import clean

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx
    from app.usecases.judging.judge_call import Judged

_LONGEST = 120
NO_REASON = "–"


def near_copies(tx: Tx, judged: Judged, *, now: datetime) -> tuple[Caution, ...]:
    """Return the caution that a call like this was denied; nothing, without a look, where the file pins nothing."""
    within, key = judged.policy.attention.remember_denials, near_key(judged.call, judged.tool, judged.payments)
    if not within or key is None:
        return ()
    denied = find_near_denied(tx, key, since=now - within)
    if denied is None or denied.settlement is None:
        return ()
    at = denied.settlement.at.replace(second=0, microsecond=0)
    values = {"at": instant_text(at, judged.policy.zone), "request": denied.id, "reason": _reason(denied)}
    return (Caution(kind=CautionKind.NEAR_DENIED, values=values),)


def _reason(denied: ConfirmationRequest) -> str:
    """Return the reason of a denial for other people's cards: on one line, short, with no sensitive value in it."""
    said = denied.settlement.reason if denied.settlement else None
    if not said or not said.strip():
        return NO_REASON
    line = visible(" ".join(clean(scrubbed_for(said, denied)).split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
