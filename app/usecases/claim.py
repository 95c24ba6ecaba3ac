"""Spend an approval, and report what came of it: the only way to the execution of a tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain import execution
from app.domain.decision import Verdict
from app.domain.errors import (
    AlreadyClaimedError,
    AssentError,
    DigestMismatchError,
    GrantLapsedError,
    NotApprovedError,
    NotFoundError,
    NotStartedError,
    OutcomeConflictError,
)
from app.domain.lifecycle import Refusal
from app.domain.quorum import count, counted
from app.domain.redact import scrubbed_for
from app.domain.request import GrantStatus
from app.storage.requests import lock_request, lock_to_claim
from app.usecases.carry_out import carry_out
from app.usecases.electorate import voters_of, without_account
from app.usecases.stop_paused import claim_refused, pause_of

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request import ConfirmationRequest, ExecutionStatus
    from app.policies.policy_book import PolicyBook
    from app.storage.store import Store
    from app.storage.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who claims or reports: an agent, as its key says."""

    org: str
    agent: str


class Claim:
    """Spend the grant, at most once, and hand out the stored arguments."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def __call__(self, caller: Caller, *, request_id: str, digest: str, claim_id: str) -> ConfirmationRequest:
        """Consume the grant and start the execution; the same `claim_id` again gets the same answer.

        Those who approved must still be entitled, by the configuration of this instant; else the grant is taken back.
        While people have paused the tool, the agent or the org, nothing is handed out, and the grant is not spent.
        Raises NotFoundError (also for another agent's request), NotApprovedError, AlreadyClaimedError,
        GrantLapsedError, DigestMismatchError, PausedError.
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_to_claim(tx, request_id)
            if locked is None or locked[0].call.agent != caller.agent:
                return NotFoundError()
            request, now, any_pause = locked
            if digest != request.digest:
                return DigestMismatchError()
            lost = self._lost(tx, request, now)
            if lost is not None:
                revoked = execution.revoke(request, why=_sentence(lost), lost=lost, now=now)
                after = carry_out(tx, request, revoked)
                return _refusal(revoked.refusal, after) or NotApprovedError(state=after.state.value)
            step = execution.claim(
                request, execution_id=tx.ids.new("exe"), claim_id=claim_id, agent=caller.agent, now=now
            )
            if any_pause and step.refusal in {None, Refusal.REPEATED}:  # it would be handed out, perhaps once more
                pause = pause_of(tx, self._book, request)
                if pause is not None:
                    return pause if isinstance(pause, AssentError) else claim_refused(tx, request, pause)
            after = carry_out(tx, request, step)
            return _refusal(step.refusal, after) or after

        return await self._store.write(unit, org=caller.org, about=request_id)

    def _lost(self, tx: Tx, request: ConfirmationRequest, now: datetime) -> frozenset[str] | None:
        """Return whose approval no longer counts, if what is left of an unspent approval is too little; else None."""
        grant = request.grant
        if request.execution is not None or grant is None:
            return None
        if grant.status is not GrantStatus.ISSUED:
            return None
        policy = self._book.current(request.call.org).policy
        gone = without_account(tx, request)
        voters = voters_of(request, policy, now=now, without=gone)
        if count(request.stages, request.decisions, voters).met:
            return None
        approved = {decision.person for decision in request.decisions if decision.verdict is Verdict.APPROVE}
        return frozenset(approved - counted(request.decisions, voters))


def _sentence(lost: frozenset[str]) -> str:
    who = ", ".join(sorted(lost)) or "those who approved"
    return f"the approval no longer stands: {who} may not approve this any more; ask again"


class Report:
    """Record what the tool did."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(
        self,
        caller: Caller,
        *,
        request_id: str,
        claim_id: str,
        status: ExecutionStatus,
        result: str | None,
        error: str | None,
    ) -> ConfirmationRequest:
        """Settle the execution that this `claim_id` started; the same outcome again is answered like the first time.

        Raises NotFoundError, NotStartedError, OutcomeConflictError.
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None or locked[0].call.agent != caller.agent:
                return NotFoundError()
            request, now = locked
            step = execution.report(
                request,
                claim_id=claim_id,
                status=status,
                result=result,
                error=scrubbed_for(error, request) if error else error,
                by=f"agent:{caller.agent}",
                now=now,
            )
            after = carry_out(tx, request, step)
            return _refusal(step.refusal, after) or after

        return await self._store.write(unit, org=caller.org, about=request_id)


def _refusal(refusal: Refusal | None, request: ConfirmationRequest) -> AssentError | None:
    state = request.state.value
    match refusal:
        case None | Refusal.REPEATED:
            return None
        case Refusal.CLAIMED:
            return AlreadyClaimedError(state=state)
        case Refusal.LAPSED:
            return GrantLapsedError(state=state)
        case Refusal.REVOKED:
            return NotApprovedError(request.revoked_why or "", state=state)
        case Refusal.NOT_STARTED:
            return NotStartedError(state=state)
        case Refusal.OUTCOME_CONFLICT:
            return OutcomeConflictError(state=state)
        case _:
            return NotApprovedError(f"the request is {state}", state=state)
