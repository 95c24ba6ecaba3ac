"""On which request a call already stands: its own, or one that it joins.

An idempotency key that its caller chose decides alone. Else a call stands on the request of the same call of its
session: of the same id; of any, where one of the two has none; and of another id once nobody waits for that any more,
for the agent was killed and its model made the call anew. As long as somebody waits, two calls are two wishes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from app.domain.errors import IdempotencyMismatchError, LackingSecretError
from app.domain.lifecycle.execution import lapse
from app.domain.lifecycle.lifecycle import DeadlinePassed, advance
from app.domain.request.request import State
from app.storage.requests.requests import find_edited, find_request, list_attached, lock_request
from app.storage.requests.sealing import why_missing
from app.storage.requests.seen_before import find_key
from app.usecases.asking.opening import Asked
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from app.domain.call.tool_call import ToolCall
    from app.domain.errors import AssentError
    from app.storage.engine.transaction import Tx
    from app.usecases.judging.judge_call import Judged


class Doubted(NamedTuple):
    """The same call stands under another id: it is joined if nobody waits for it any more."""

    versions: tuple[tuple[str, int], ...]
    """Each by its id, as it was seen."""


class StandingCall:
    """What a judged call may stand on; `attached_by` is None where no other key's request is joined."""

    def __init__(self, judged: Judged, of_submitted: str, attached_by: str | None, key: str | None) -> None:
        """Take the call, and by what it is known again."""
        self._judged = judged
        self._of_submitted = of_submitted
        self._attached_by = attached_by
        self._key = key
        self.left: frozenset[str] | None = None
        """Of the requests that were doubted, those for which nobody waits; None: nobody was asked yet."""

    def find(self, tx: Tx) -> Asked | AssentError | Doubted | None:
        """Find the request; `Doubted` where it must first be known who waits, and nothing may be written."""
        found = by_key(tx, self._judged.call, self._of_submitted, self._key)
        if found is not None or self._attached_by is None:
            return found
        standing_id = _joined(tx, self._judged, self._attached_by, self.left)
        if isinstance(standing_id, Doubted):
            return standing_id
        locked = lock_request(tx, standing_id) if standing_id else None
        if locked is None:  # of a lacking secret, it may be the answer all the same: nobody is asked twice
            missing = why_missing(tx, standing_id) if standing_id else None
            return missing if isinstance(missing, LackingSecretError) else None
        request, now = locked
        # Its time may be over without the sweep having come by: then it is settled here, and the call asks anew.
        over = lapse(request, now=now) if request.status.final else advance(request, DeadlinePassed(), now=now)
        if over.refusal is None:
            carry_out(tx, request, over)
            return None
        return Asked(request=request, attached=True)


def named_digest(of_digest: str, sub_agent: str | None) -> str:
    """Tell a sub-agent's call from the agent's own: people were asked about one of them."""
    return of_digest if sub_agent is None else hashlib.sha256(f"{of_digest}{sub_agent}".encode()).hexdigest()


def _joined(tx: Tx, judged: Judged, attached_by: str, left: frozenset[str] | None) -> str | Doubted | None:
    """Find the request that this call joins: of its own id; of no id, or where it has none; or one that was left.

    Two calls with ids of their own are two wishes, as long as somebody waits for the first.
    """
    standing, call_id = list_attached(tx, attached_by), judged.call.call_id
    same = next((request_id for (request_id, _), other in standing if other == call_id), None)
    near = next((request_id for (request_id, _), other in standing if other is None or call_id is None), None)
    joined = same or near or _changed_to(tx, judged)
    if joined is not None or not standing:
        return joined
    if left is None:
        return Doubted(tuple(seen for seen, _ in standing))
    return next((request_id for (request_id, _), _ in standing if request_id in left), None)


def _changed_to(tx: Tx, judged: Judged) -> str | None:
    """Find the request that people changed to this very call: the agent makes it as it was told to."""
    call = judged.call
    if call.session is None:
        return None
    return find_edited(tx, call.agent, call.session, judged.call_digest, states={State.PENDING, State.APPROVED})


def by_key(tx: Tx, call: ToolCall, of_digest: str, key: str | None) -> Asked | AssentError | None:
    """Find the request for which an idempotency key stands; refuse a key that stands for another call."""
    known = find_key(tx, call.agent, key) if key is not None else None
    if known is None:
        return None
    if known[0] != of_digest:
        return IdempotencyMismatchError()
    request = find_request(tx, known[1])
    return Asked(request=request, attached=True) if request else None
