"""Settle by evidence an outcome that nobody knows, or that others still decide: records, or what a person found out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import NotStartedError, OutcomeConflictError
from app.domain.lifecycle import execution
from app.domain.lifecycle.lifecycle import Refusal
from app.domain.request.redact import place_for, scrubbed_for
from app.domain.request.request import State
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from app.domain.errors import AssentError
    from app.domain.request.elsewhere import Elsewhere
    from app.domain.request.request import ConfirmationRequest, ExecutionStatus
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.executing.claim import Caller


class Reconcile:
    """The use case."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(
        self,
        caller: Caller,
        *,
        request_id: str,
        status: ExecutionStatus,
        result: str | None,
        error: str | None,
        note: str,
        elsewhere: Elsewhere | None = None,
    ) -> ConfirmationRequest:
        """Settle an uncertain outcome for good, or say that it waits `elsewhere`; nothing runs because of it.

        The trail keeps `note`, the evidence. The same again is answered like the first time. Raises NotFoundError,
        WrongScopeError, NotStartedError, OutcomeConflictError (it is settled, or may still be running).
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            refused = caller.refused_to_settle(request, people=True)
            if refused is not None:
                return refused
            step = execution.reconcile(
                request,
                status=status,
                result=result,
                error=scrubbed_for(error, request) if error else error,
                note=scrubbed_for(note, request),
                by=caller.actor,
                now=now,
                elsewhere=place_for(elsewhere, request),
            )
            after = carry_out(tx, request, step)
            return _refusal(step.refusal, after) or after

        return await self._store.write(unit, org=caller.org, about=request_id)


def _refusal(refusal: Refusal | None, request: ConfirmationRequest) -> AssentError | None:
    if refusal in {None, Refusal.REPEATED}:
        return None
    if refusal is Refusal.NOT_STARTED:
        return NotStartedError(state=request.state.value)
    if request.state is State.EXECUTING and request.execution is not None:
        until = f"{request.execution.lease_until:%Y-%m-%d %H:%M:%S}"
        return OutcomeConflictError(f"it may still be running, until {until} UTC", state=request.state.value)
    return OutcomeConflictError(state=request.state.value)
