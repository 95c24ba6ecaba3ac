"""Calls that were answered before people had decided: whoever made one comes back to it, or it is withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.client.models import State

if TYPE_CHECKING:
    from assent.client.models import Request
    from assent.gate.gate import Gate
    from assent.gate.outcomes import Refused, Replayed
    from assent.gate.permission import Executed, Permission

_MOST = 1000
"""Requests that are remembered; those before them end by themselves."""


class Deferred:
    """The requests that still waited when their calls were answered, each with the run that it is of."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._left: dict[str, tuple[Request, str | None]] = {}

    def note(self, found: Permission | Executed | Replayed | Refused, *, of: str | None = None) -> None:
        """Hear what a call is answered with."""
        request = found.request
        if request is None:
            return
        self._left.pop(request.id, None)
        if request.state is not State.PENDING:
            return
        if len(self._left) >= _MOST:
            del self._left[next(iter(self._left))]
        self._left[request.id] = (request, of)

    async def withdraw(self, *, of: str | None = None) -> None:
        """Withdraw those of one run, or all: whoever would have come back to them is gone."""
        gone = [request for request, run in self._left.values() if of in {None, run}]
        for request in gone:
            del self._left[request.id]
        await self._gate.withdraw(gone)
