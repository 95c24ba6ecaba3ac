"""`Adapter`: an adapter's line to the gateway, and what all of its calls have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from assent.client.call import ToolCall
from assent.gate.blocking import BlockingGate, Gateway
from assent.gate.gate import Gate
from assent.gate.suspended import SuspendedCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from assent.client.gateway import AsyncGateway
    from assent.client.models import Json
    from assent.gate.abandoned import Abandoned
    from assent.gate.outcomes import Ran, Refused, Replayed
    from assent.gate.permission import Executed, Permission

    AnyGateway = AsyncGateway | Gateway
    Execute = Callable[..., Awaitable[Any]]


class How(TypedDict, total=False):
    """How an adapter asks: all that one is told besides the gateway."""

    suspend: bool
    """Wait for nobody: the run ends where people have to be asked, and any process goes on with it."""
    sub_agent: str | None
    """Under whose name its calls are asked about."""
    deadline: float | None
    """Seconds for each call until there is an answer."""
    abandoned: Abandoned
    """What becomes of the request of a call whose run was cancelled."""


class Adapter:
    """One adapter's line to the gateway."""

    def __init__(
        self,
        gateway: AnyGateway,
        *,
        control_flow: tuple[type[BaseException], ...] = (),
        suspend: bool = False,
        sub_agent: str | None = None,
        deadline: float | None = None,
        abandoned: Abandoned = "withdraw",
    ) -> None:
        self._blocking: BlockingGate | None = None
        if isinstance(gateway, Gateway):
            self._blocking = BlockingGate(gateway, abandoned=abandoned, control_flow=control_flow)
            self.gate = self._blocking.asynchronous
        else:
            self.gate = Gate(gateway, abandoned=abandoned, control_flow=control_flow)
        self.suspends = suspend
        self.sub_agent = sub_agent
        self.deadline = deadline

    @property
    def blocking(self) -> BlockingGate:
        """The gate for synchronous tools. Raises `TypeError` where the gateway is an `AsyncGateway`."""
        if self._blocking is None:
            raise TypeError("this agent runs synchronously: give the adapter a Gateway, not an AsyncGateway")
        return self._blocking

    def call(self, tool: str, args: Json, *, call_id: str | None, session: str | None = None) -> ToolCall:
        """One call. Its session is the gateway's, else the framework's."""
        session = None if self.gate.gateway.session else session
        return ToolCall(tool, args, call_id=call_id, session=session, sub_agent=self.sub_agent)

    async def run(self, call: ToolCall, execute: Execute) -> Ran | Replayed | Refused:
        """Ask about a call, wait, run it once, report."""
        return await self.gate.run_call(call, execute, deadline=self.deadline)

    async def obtain(self, call: ToolCall) -> Permission | Executed | Replayed | Refused:
        """Ask about a call, and wait; for frameworks that run the tool by themselves."""
        return await self.gate.obtain(call, deadline=self.deadline)

    async def open(self, call: ToolCall) -> SuspendedCall | Replayed | Refused | None:
        """Why a call is not to be run now, where nobody is waited for; None where no people have to be asked."""
        found = await self.gate.open_call(call, deadline=self.deadline)
        return None if isinstance(found, SuspendedCall) and not found.waits else found
