"""Give people more time: whoever may decide, the requester, or an administrator adds the first window once more.

What was approved stays bound to the deadline as it was asked; the extension is an event of the trail.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.errors import AlreadySettledError, AssentError, ConflictError, NotEligibleError
from app.domain.lifecycle.consultations import LONGEST, Extended
from app.domain.lifecycle.lifecycle import Refusal, advance
from app.domain.request.decision import Evidence
from app.domain.request.request import API
from app.domain.request.timetable import REMINDERS, reminders
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.voters.may_ask_for import may_ask_for
from app.usecases.writing.carry_out import carry_out
from app.usecases.writing.door import door_of
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


class Extend:
    """The use case, by API. A click comes in through `clicks/extend_click.py` and ends in the same `more_time`."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def extend(self, *, org: str, request_id: str, by: str, person: str | None) -> ConfirmationRequest:
        """Add the time that people had at first, and return the request. `by` stands in the trail.

        `person` is the e-mail of a personal key; None: an administrator's. Raises NotFoundError, NotEligibleError,
        AlreadySettledError, and ConflictError where it was extended as often, or waits as long, as it may.
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            policy = self._book.current(org).policy
            evidence = Evidence(channel=API)
            if person is not None and not may_ask_for(request, person, policy, now):
                tx.append(refused_click(evidence, why="not_eligible", person=person), request_id=request.id)
                return NotEligibleError()
            step = advance(request, more_time(request, policy, by=by, evidence=evidence), now=now)
            after = carry_out(tx, request, step)
            match step.refusal:
                case None:
                    return after
                case Refusal.SETTLED:
                    return AlreadySettledError(f"the request is {after.state.value}", state=after.state.value)
                case _:
                    return ConflictError("this request has been given all the time that it may have")

        return await self._store.write(unit, org=org, about=request_id)


def more_time(request: ConfirmationRequest, policy: Policy, *, by: str, evidence: Evidence) -> Extended:
    """Add the first window again, as far as a request may wait in all, with the reminders of the file in it."""
    window = (request.expires_at - request.created_at) / (request.extensions + 1)
    until = min(request.expires_at + window, request.created_at + LONGEST)
    added = max(until - request.expires_at, timedelta(0))
    asking = next((rule.asking for rule in policy.rules if rule.id == request.rule_id), None) or policy.ask
    remind = asking.remind if asking else REMINDERS
    timers = reminders(request.expires_at, added, remind)
    return Extended(by=by, until=until, timers=timers, facts=door_of(evidence))
