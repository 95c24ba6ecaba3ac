"""A call whose caller is gone while people are asked: its request is withdrawn, so that nobody approves for nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assent.client.errors import AssentError
from assent.client.log import warn
from assent.client.models import OutcomeStatus, State
from assent.gate.outcomes import ABANDONED, NOT_RUN
from assent.gate.permission import LAST_REPORT

if TYPE_CHECKING:
    from collections.abc import Collection

    from assent.client.call import ToolCall
    from assent.client.gateway import AsyncGateway
    from assent.client.models import Request

Abandoned = Literal["withdraw", "keep"]
"""What becomes of a request whose caller is cancelled while it waits."""
_ON_ITS_WAY = 0.5
"""Seconds after which a request that is not there is looked for once more."""
_GONE = f"{ABANDONED}whoever made this call is gone"


class Waiting:
    """The calls that one gate waits for: by which key each is asked about, and under which name it would be taken."""

    def __init__(self, gateway: AsyncGateway, abandoned: Abandoned) -> None:
        if abandoned not in {"withdraw", "keep"}:
            raise ValueError(f'abandoned: give "withdraw" or "keep", not {abandoned!r}')
        self._gateway = gateway
        self._withdraws = abandoned == "withdraw"
        self._keys: dict[str, int] = {}

    def begin(self, call: ToolCall, key: str) -> Wait:
        """Begin to wait; `over` must follow."""
        self._keys[key] = self._keys.get(key, 0) + 1
        return Wait(call, key)

    def over(self, wait: Wait) -> None:
        """Stop waiting."""
        left = self._keys[wait.first_key] - 1
        if left:
            self._keys[wait.first_key] = left
        else:
            del self._keys[wait.first_key]

    async def abandon(self, wait: Wait) -> None:
        """Withdraw what a cancelled caller waited for, within `LAST_REPORT` seconds; a fault is logged.

        Its request is found by the key of the call, for a caller that is held was not told of it; it is looked for and
        never asked for again, which would open one. Was it approved and taken in this very moment, the claim is given
        back: the tool did not run.
        """
        if not self._withdraws or self._keys.get(wait.first_key, 0) > 1:  # another one of ours waits for the same
            return
        import anyio

        with anyio.move_on_after(LAST_REPORT, shield=True):
            try:
                request = await self._gateway.find(wait.key)
                if request is None:  # what was sent may still be on its way, or be judged
                    await self._gateway.pace.sleep(_ON_ITS_WAY)
                    request = await self._gateway.find(wait.key)
                if request is not None:
                    await self._give_up(request, wait.claim_id)
            except AssentError as fault:
                warn("the request of an abandoned call of %s could not be withdrawn: %s", wait.call.tool, fault)

    async def withdraw(self, requests: Collection[Request]) -> None:
        """Withdraw what nobody comes back to, within `LAST_REPORT` seconds; a fault is logged."""
        if not self._withdraws or not requests:
            return
        import anyio

        async def one(request: Request) -> None:
            try:
                await self._gateway.cancel(request, reason=_GONE)
            except AssentError as fault:
                warn("request %s, to which nobody comes back, could not be withdrawn: %s", request.id, fault)

        with anyio.move_on_after(LAST_REPORT, shield=True):
            async with anyio.create_task_group() as group:
                for request in requests:
                    group.start_soon(one, request)

    async def _give_up(self, request: Request, claim_id: str) -> None:
        if request.state is State.PENDING:
            request = await self._gateway.cancel(request, reason=_GONE)
        taken = request.execution
        if request.state is State.EXECUTING and taken is not None and taken.claim_id == claim_id:
            error = f"{NOT_RUN}its caller was gone when it was approved"
            await self._gateway.report_briefly(request.id, claim_id, OutcomeStatus.FAILED, error=error)


class Wait:
    """One of them. The key moves on where a call is asked about anew."""

    __slots__ = ("call", "claim_id", "first_key", "key")

    def __init__(self, call: ToolCall, key: str) -> None:
        self.call = call
        self.key = self.first_key = key
        self.claim_id = ""
