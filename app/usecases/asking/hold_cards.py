"""Say when the first cards of a new request go out, and count them for the people who will have to look at them.

Part of the unit that opens the request: who has had how many cards is a row, and replicas share it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.request.quorum import reachable, steps
from app.domain.request.timetable import Act
from app.domain.rules.attention import BUDGET_WINDOW, Posting, goes_out_at
from app.domain.trail.audit import Kind, Record
from app.storage.sessions.counters import take, wait_for
from app.usecases.voters.electorate import voters_of

if TYPE_CHECKING:
    from app.domain.request.quorum import Electorate
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.storage.engine.transaction import Tx


def hold_cards(tx: Tx, request: ConfirmationRequest, policy: Policy) -> Posting:
    """Return when the cards of a request that is being opened may go out, and count those that go out at once."""
    now = request.created_at
    if not request.card_channels:
        return Posting(at=now)
    attention = policy.attention
    # Those who are asked first have until others are brought in: at least half of that is theirs too.
    ends = min((request.expires_at, *(timer.at for timer in request.timers if timer.act is Act.ESCALATE)))

    def posting(room_in: timedelta | None) -> Posting:
        return goes_out_at(attention, now=now, risk=request.risk, expires_at=ends, zone=policy.zone, room_in=room_in)

    found = posting(None)
    if found.held is not None or attention.cards_per_hour is None:
        return found  # what waits comes with others, as one message: it is nobody's next interruption
    return posting(_room_in(tx, request, policy, attention.cards_per_hour))


def held(posting: Posting, request: ConfirmationRequest) -> Record:
    """Say in the trail until when a request's cards wait, and why."""
    return Record(
        kind=Kind.CARD_HELD,
        actor="system",
        facts={
            "until": posting.at.isoformat(),
            "why": str(posting.held),
            "risk": request.risk.value,
            "channels": list(request.card_channels),
        },
    )


def _room_in(tx: Tx, request: ConfirmationRequest, policy: Policy, most: int) -> timedelta | None:
    """Count a card for the approvers of the first step, and return None; or how long until enough have room for it."""
    voters = voters_of(request, policy, now=request.created_at)
    first = min(steps(request.stages), key=min)
    people = sorted(frozenset[str]().union(*(voters.stages[index] for index in first)))  # in order: locks are taken
    waits = {person: wait_for(tx, _key(person, most), calls=most) for person in people}
    free = {person for person, wait in waits.items() if wait is None}
    seconds = 0.0
    busy = sorted((wait, person) for person, wait in waits.items() if wait is not None)
    able = set(free)
    while busy and not _enough(request, voters, first, able):
        seconds, person = busy.pop(0)
        able.add(person)
    if seconds:
        return timedelta(seconds=seconds)
    for person in sorted(free):
        take(tx, _key(person, most), calls=most, window_seconds=BUDGET_WINDOW.total_seconds())
    return None


def _enough(request: ConfirmationRequest, voters: Electorate, first: frozenset[int], able: set[str]) -> bool:
    """Say whether these people suffice for the first step."""
    asked = sorted(first)
    members = tuple(voters.stages[index] & able for index in asked)
    return reachable([request.stages[index] for index in asked], replace(voters, stages=members, acting={}))


def _key(person: str, most: int) -> str:
    return f"cards\n{most}\n{person}"  # a counter's key always comes with the same bound; no hook's has a line break
