"""The single use of an approval, as the engine hands it from the gate to whatever runs the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from assent.client.models import Elsewhere, OutcomeStatus


class Permit(Protocol):
    """Leave to run the call once, taken (claimed) already. Whoever holds it must settle it."""

    @property
    def request_id(self) -> str:
        """The request that people approved."""
        ...

    @property
    def grant_id(self) -> str:
        """The tool's idempotency key."""
        ...

    async def settle(
        self,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Report how the tool fared; `elsewhere` goes with `PENDING_ELSEWHERE`. Never raises: the tool has run."""
        ...
