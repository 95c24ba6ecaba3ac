"""Wait for what an executor makes of a call that the agent's own side may not run."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from assent.client.errors import GatewayAwayError, UnexpectedAnswerError
from assent.client.models import State, parse_object, parse_request
from assent.client.query import query

if TYPE_CHECKING:
    from assent.client.models import Request
    from assent.client.pace import Pace
    from assent.client.wire import Wire

HANDED_ON = frozenset({State.APPROVED, State.EXECUTING})
"""States in which an executor owes an outcome: each ends by itself, by the grant's time or the lease's."""


async def wait_for_outcome(wire: Wire, pace: Pace, request: Request) -> Request:
    """Hold while an executor may still run an approved request, through restarts of the gateway.

    Raises `GatewayAwayError` when the gateway does not answer until the time of the executor and a margin are over:
    then nobody here knows whether it ran.
    """
    attempt, started = 0, pace.monotonic()
    while request.state in HANDED_ON:
        end = _end_of(request) + timedelta(seconds=pace.margin)
        left = wire.seconds_to(end)
        if left is None:  # the gateway has never told its time
            left = (end - request.created_at).total_seconds() - (pace.monotonic() - started)
        if left <= 0:
            raise GatewayAwayError(f"what the executor made of request {request.id} was not told in its time")
        hold, asked_at = max(0.0, min(pace.hold, left)), pace.monotonic()
        path = f"/v1/requests/{request.id}" + query(wait=round(hold, 3), since=request.version)
        answer = await wire.try_once("GET", path, hold=hold)
        moved = False
        if answer.body is not None:
            found = parse_request(answer.body)
            if found.id != request.id:
                raise UnexpectedAnswerError(f"the gateway answered for request {found.id}, not for {request.id}")
            moved, request = found.version > request.version, found
        if moved or (answer.body is not None and pace.monotonic() - asked_at >= hold / 2):
            attempt = 0
        elif request.state in HANDED_ON:
            attempt += 1
            await wire.back_off(attempt, at_least=answer.retry_after, at_most=left)
    return request


def _end_of(request: Request) -> datetime:
    """The instant by which the gateway ends this state by itself."""
    if request.execution is not None:
        return request.execution.lease_until
    grant = parse_object(request.raw.get("grant") or {}, "'grant'")
    try:
        end = datetime.fromisoformat(str(grant.get("not_after")))
    except ValueError:
        raise UnexpectedAnswerError("the gateway's answer has no instant in 'grant.not_after'") from None
    if end.tzinfo is None:
        raise UnexpectedAnswerError("the gateway's answer has an instant without a zone in 'grant.not_after'")
    return end
