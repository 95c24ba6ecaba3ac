"""Withdraw a request: its agent, or an administrator, no longer wants the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import AlreadySettledError, AssentError, NotFoundError
from app.domain.lifecycle.lifecycle import Withdrawn, advance
from app.domain.request.redact import scrubbed_for
from app.domain.request.request import Status
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


class Cancel:
    """The use case."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(
        self, *, org: str, request_id: str, agent: str | None, by: str, reason: str | None
    ) -> ConfirmationRequest:
        """Withdraw a pending request; `agent` (None for an administrator) must be the one that asked.

        Cancelling again is answered like the first time. Raises NotFoundError, AlreadySettledError.
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            if agent is not None and locked[0].call.agent != agent:
                return NotFoundError()
            request, now = locked
            step = advance(request, Withdrawn(by=by, reason=scrubbed_for(reason, request) if reason else None), now=now)
            after = carry_out(tx, request, step)
            if step.refusal is not None and after.status is not Status.CANCELLED:
                return AlreadySettledError(f"the request is {after.state.value}", state=after.state.value)
            return after

        return await self._store.write(unit, org=org, about=request_id)
