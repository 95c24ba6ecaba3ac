"""Long-polls: wait for people, and for what an executor makes of a call that the agent's own side may not run.

Deadlines are local. `within` is counted by this machine's monotonic clock alone: no answer's `Date` moves it, and the
gateway is asked to answer a little before it. How long a request stands is the gateway's affair, and as long as it
answers, it is believed: its clock counts only where it stays away, and then only so that the wait ends.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from assent.client.errors import GatewayAwayError, UnexpectedAnswerError
from assent.client.models import State, Taken, parse_object, parse_request, parse_return
from assent.client.unapproved import StillPendingError

if TYPE_CHECKING:
    from assent.client.models import Request
    from assent.client.pace import Pace
    from assent.client.questions import Answer, Answerer
    from assent.client.wire import Answer as Said
    from assent.client.wire import Wire

MINIMAL = {"Prefer": "return=minimal"}
"""A header for whoever does not read the answer, or has it: without it, it holds all arguments again."""
HANDED_ON = frozenset({State.APPROVED, State.EXECUTING})
"""States in which an executor owes an outcome: each ends by itself, by the grant's time or the lease's."""
_NOT_KNOWN = HANDED_ON | {State.UNKNOWN}
_LAG = 2.0
"""Seconds that an answer may need: the gateway is asked to answer so much before a deadline, or a quarter of the time.

What was answered by then is known: it is asked on until the deadline, and no slow answer reads as none any more.
"""
_TOO_LATE = 0.05
"""Seconds before a deadline in which nothing more is asked."""


def query(**values: str | float | None) -> str:
    """The values that are given, as a query string."""
    from urllib.parse import urlencode

    given = {name: value for name, value in values.items() if value is not None}
    return "?" + urlencode(given) if given else ""


def hold_within(pace: Pace, left: float | None) -> float:
    """How long the gateway may hold one call of which `left` seconds are left here."""
    return pace.hold if left is None else max(0.0, min(pace.hold, left - min(_LAG, left / 4)))


class _Clock:
    """How much of a wait is left: of what the caller gave, and of the time in which the gateway ends it by itself."""

    def __init__(self, wire: Wire, pace: Pace, end: float | None) -> None:
        self._wire, self._pace, self._end = wire, pace, end
        self._started = pace.monotonic()
        self._doubtful: float | None = None

    @property
    def given(self) -> float | None:
        """What is left of what the caller gave; None where it set no limit."""
        return None if self._end is None else self._end - self._pace.monotonic()

    def until(self, last: datetime, request: Request, *, away: bool) -> float:
        """Return how long a request may still be waited for, at most.

        It is counted from now as if it had just been made: too long, and never too short. A gateway that is `away` is
        held to its clock, as far as it has told it.
        """
        left = (last - request.created_at).total_seconds() - (self._pace.monotonic() - self._started)
        told = self._wire.seconds_to(last) if away else None
        return left if told is None else min(left, told)

    def to_look_up(self, request: Request) -> float:
        """How long an unknown outcome may still be waited for: counted from when it was first seen, and from the lease.

        So one that has been unknown for long is not waited for at all.
        """
        now = self._pace.monotonic()
        self._doubtful = now if self._doubtful is None else self._doubtful
        left = self._pace.lookup - (now - self._doubtful)
        over = None if request.execution is None else self._wire.seconds_to(request.execution.lease_until)
        return left if over is None else min(left, over + self._pace.lookup)


async def wait_for_decision(
    wire: Wire,
    pace: Pace,
    request: Request,
    *,
    end: float | None = None,
    claim_id: str | None = None,
    answerer: Answerer,
    answer: Answer,
) -> Taken | Request:
    """Hold while a request is pending, through restarts of the gateway; with a `claim_id`, take the approval at once.

    Raises `StillPendingError` at `end` (an instant of the pace's clock), `GatewayAwayError` when the gateway does not
    answer until the request's deadline and a margin have passed.
    """
    clock, attempt, away = _Clock(wire, pace, end), 0, False
    while request.state is State.PENDING:
        left = clock.until(request.expires_at + timedelta(seconds=pace.margin), request, away=away)
        if left <= 0:
            raise GatewayAwayError(
                f"request {request.id} was not settled by its deadline {request.expires_at.isoformat()}: not approved"
            )
        given = clock.given
        if given is not None:
            if given <= _TOO_LATE:
                raise StillPendingError(request)
            left = min(left, given)
        if (answered := await answerer.answer(request, answer, within=left)) is not request:
            request = answered
            continue
        hold = min(hold_within(pace, given), left)
        asked_at = pace.monotonic()
        since = request.version if answerer.listens else None
        path = f"/v1/requests/{request.id}" + query(wait=round(hold, 3), since=since, claim_id=claim_id)
        said, stands = await _poll(wire, path, request, hold=hold, end=end)
        moved, away = False, said.body is None
        if said.body is not None and not stands:
            found = parse_request(said.body) if claim_id is None else parse_return(said.body, claim_id=claim_id)
            if isinstance(found, Taken):
                same(request, found.request)
                return found
            same(request, found)
            moved, request = since is not None and found.version > since, found
        if moved or (not away and pace.monotonic() - asked_at >= hold / 2):
            attempt = 0
        elif request.state is State.PENDING:  # a fault, or an answer that did not hold: never a busy loop
            attempt += 1
            await wire.back_off(attempt, at_least=said.retry_after, at_most=left)
    return request


async def wait_for_outcome(wire: Wire, pace: Pace, request: Request, *, end: float | None = None) -> Request:
    """Hold while an executor may still run an approved request, through restarts of the gateway.

    Also while it is unknown since a short time, for a lookup may still say (`Pace.lookup`). At `end` the request comes
    back as it stands. Raises `GatewayAwayError` when the gateway does not answer until the time of the executor and a
    margin are over: then nobody here knows whether it ran.
    """
    clock, attempt, away = _Clock(wire, pace, end), 0, False
    while request.state in _NOT_KNOWN:
        if request.state is State.UNKNOWN:
            left = clock.to_look_up(request)
        else:
            left = clock.until(_end_of(request) + timedelta(seconds=pace.margin), request, away=away)
        if left <= 0:
            if request.state is State.UNKNOWN:
                return request
            raise GatewayAwayError(f"what the executor made of request {request.id} was not told in its time")
        given = clock.given
        if given is not None:
            if given <= _TOO_LATE:
                return request
            left = min(left, given)
        hold, asked_at = min(hold_within(pace, given), left), pace.monotonic()
        path = f"/v1/requests/{request.id}" + query(wait=round(hold, 3), since=request.version)
        answer, stands = await _poll(wire, path, request, hold=hold, end=end)
        moved, away = False, answer.body is None
        if answer.body is not None and not stands:
            found = same(request, parse_request(answer.body))
            moved, request = found.version > request.version, found
        if moved or (not away and pace.monotonic() - asked_at >= hold / 2):
            attempt = 0
        elif request.state in _NOT_KNOWN:
            attempt += 1
            await wire.back_off(attempt, at_least=answer.retry_after, at_most=left)
    return request


def same(asked: Request, found: Request) -> Request:
    """Return what was found, if it is what was asked for."""
    if found.id != asked.id:
        raise UnexpectedAnswerError(f"the gateway answered for request {found.id} when asked for {asked.id}")
    return found


async def _poll(wire: Wire, path: str, known: Request, *, hold: float, end: float | None) -> tuple[Said, bool]:
    """Hold for a request that is known; return the answer, and whether it says that it stands so still, and no more.

    An answer that is no more than that, and does not bear out what is known, is nothing to go by: all of it is read.
    """
    said = await wire.try_once("GET", path, headers=MINIMAL, hold=hold, end=end)
    if said.body is None:
        return said, False
    told = said.body if said.body.get("decision") is None else parse_object(said.body.get("request"), "request")
    if "arguments" in told:
        return said, False
    if all(told.get(name) == getattr(known, name) for name in ("id", "state", "version", "digest")):
        return said, True
    return await wire.try_once("GET", f"/v1/requests/{known.id}", end=end), False


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
