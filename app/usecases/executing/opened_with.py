"""Which evaluation key opened a request, remembered as long as idempotency keys are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.storage.requests.seen_before import find_key

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx


def opened_with(tx: Tx, request: ConfirmationRequest, evaluation_key: str) -> bool:
    """Say whether an evaluation key opened a request, within the time for which idempotency keys are remembered."""
    return find_key(tx, request.call.agent, opener_key(evaluation_key, request.id)) is not None


def opener_key(evaluation_key: str, request_id: str) -> str:
    """Return the key under which it is remembered who opened a request."""
    return f"opened by\n{evaluation_key}\n{request_id}"  # no caller's key has a line break
