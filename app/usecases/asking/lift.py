"""Lift a refusal: somebody who may decide the request lets the call that was denied be asked about again.

It is that one refusal alone: the request stays denied, and what is asked again is a request of its own, with its own
people. Neither the requester nor the agent's owner may lift it, nor any agent, whatever the rule lets them decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import AssentError, ConflictError, NotEligibleError
from app.domain.people.people import email_key
from app.domain.request.decision import Evidence
from app.domain.request.redact import scrubbed_for
from app.domain.request.request import API, Status
from app.domain.trail.audit import Kind, Record
from app.storage.refusals.lifts import is_lifted, put_lift
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.voters.electorate import voters_of
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


class Lift:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def __call__(self, *, org: str, request_id: str, person: str, reason: str | None) -> ConfirmationRequest:
        """Lift the refusal that follows from a denied request. `person` is whose key it is.

        Lifting it again is answered like the first time. Raises NotFoundError, NotEligibleError, and ConflictError
        where nobody denied the request.
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            concerned = {email_key(each) for each in (request.call.requester, request.call.owner) if each}
            voters = voters_of(request, self._book.current(org).policy, now=now)
            if email_key(person) in concerned or person not in voters.entitled():
                tx.append(
                    refused_click(Evidence(channel=API), why="not_eligible", person=person), request_id=request.id
                )
                return NotEligibleError()
            if request.status is not Status.DENIED:
                state = request.state.value
                return ConflictError(f"the request is {state}: only what people denied can be lifted", state=state)
            if not is_lifted(tx, request.id):
                put_lift(tx, request.id, by=person, at=now)
                facts = {
                    "tool": request.call.tool,
                    "agent": request.call.agent,
                    "call_digest": request.call_digest,
                    "reason": scrubbed_for(reason, request) if reason else None,
                }
                tx.append(Record(kind=Kind.LIFTED, actor=person, facts=facts), request_id=request.id)
            return request

        return await self._store.write(unit, org=org, about=request_id)
