"""`Begun`: the calls of a framework that gives no way around a tool, but one hook before it and others behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assent.client.models import OutcomeStatus
from assent.integrations.ground.telling import notes

if TYPE_CHECKING:
    from collections.abc import Hashable

    from assent.gate.gate import Gate
    from assent.gate.permission import Permission


class Begun:
    """Permissions between two hooks, each under the name by which the framework knows its call. Each is settled once.

    Of a call that is not among them nothing is reported: nobody had to be asked, or it never came to the gate.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._permissions: dict[Hashable, Permission] = {}

    def __contains__(self, name: Hashable) -> bool:
        return name in self._permissions

    def begin(self, name: Hashable, permission: Permission) -> None:
        """From here on the framework may run it."""
        self._permissions[name] = permission

    async def ran(self, name: Hashable, result: Any) -> str:
        """Report that it ran, and what it returned; what the model is told beside that, if anything."""
        permission = self._permissions.pop(name, None)
        if permission is None:
            return ""
        await self._gate.settle(permission, OutcomeStatus.SUCCEEDED, result=result)
        return notes(permission.ran(result))

    async def failed(self, name: Hashable, error: str, *, status: OutcomeStatus = OutcomeStatus.FAILED) -> None:
        """Report an error in the framework's words."""
        permission = self._permissions.pop(name, None)
        if permission is not None:
            await self._gate.settle(permission, status, error=error)

    async def raised(self, name: Hashable, error: BaseException) -> None:
        """Report what the tool raised: that it failed, or that nobody knows."""
        permission = self._permissions.pop(name, None)
        if permission is not None:
            status, said, elsewhere = self._gate.outcome_of(error)
            await self._gate.settle(permission, status, error=said, elsewhere=elsewhere)
