"""`Gate`: one tool call, from "the model wants this" to what the model is told; for whoever writes an adapter.

    gate = Gate(gateway, session="order-4711", control_flow=(GraphBubbleUp,))

    match await gate.run("pay", {"payee": "Acme", "amount": 20}, pay, call_id=call.id):
        case Ran(result=result) | Replayed(result=result): ...  # what the tool returned, now or when it ran before
        case Refused(message=message): ...                      # text for the model, which says no more than is known

A refusal is a value. What the tool itself raises passes through unswallowed, and is reported; what a framework raises
through it to direct its own flow (`control_flow`) passes as well, and is reported as *not run*: carried out again, the
call is asked about anew.

*Which call is it?* With a session and a `call_id` it is one call, also for a process that was killed and replays it: it
meets the request that it had. Ran it before, the stored result comes back; is that unknown, nobody runs it again.
The key has session, sub-agent, call id, tool and arguments in it, so a runtime that counts its calls anew in every run
(or gives an ordinal in the place of an id) meets nobody else's.

`obtain`, `carry_out` and `settle` are the parts of `run`; `open` and `finish` are its suspend form.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from assent.client.call import ToolCall
from assent.client.errors import AssentError, CallRefusedError, GatewayError
from assent.client.log import warn
from assent.client.models import OutcomeStatus
from assent.gate.aftermath import after_error
from assent.gate.asking import Asking
from assent.gate.outcomes import NOT_RUN, Ran, Refused, Replayed, kept
from assent.gate.permission import LAST_REPORT, Executed, Permission, describe, granted
from assent.gate.suspended import SuspendedCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from assent.client.gateway import AsyncGateway
    from assent.client.models import Elsewhere, Json, Request
    from assent.gate.abandoned import Abandoned
    from assent.gate.asking import OnPending

    Execute = Callable[..., Awaitable[Any] | Any]


class Gate:
    """The gate in front of an agent's tools. `gateway` is its line, `session` the run (default: the gateway's).

    `control_flow` names the exceptions by which the agent's framework directs its flow through a tool. A caller that is
    cancelled while people are asked leaves no request behind that they could approve for nobody: it is withdrawn, and
    the very same call, made again, is asked about anew. With `abandoned="keep"` it stays, for whoever comes back to it.
    """

    def __init__(
        self,
        gateway: AsyncGateway,
        *,
        session: str | None = None,
        control_flow: tuple[type[BaseException], ...] = (),
        abandoned: Abandoned = "withdraw",
    ) -> None:
        self.gateway = gateway
        self.session = session
        self.control_flow = control_flow
        self._asking = Asking(gateway, session=session, abandoned=abandoned)

    async def run(
        self,
        tool: str,
        args: Json,
        execute: Execute,
        *,
        call_id: str | None = None,
        session: str | None = None,
        sub_agent: str | None = None,
        claim: str | None = None,
        evidence: list[Json] | None = None,
        deadline: float | None = None,
        **more: str | None,
    ) -> Ran | Replayed | Refused:
        """Ask about a call, wait for people, run it once as they approved it, and report. Never raises for a refusal.

        `execute(**arguments)` is called with the arguments that the gateway stored, and awaited where it wants to be.
        `deadline` is how many seconds until there is an answer at the latest, the tool's own time apart; then the call
        still waits, and the very same call finds it again. `evidence` is shown to the people who decide
        (`evidence_link`, `evidence_file`). `more` are the other members of a `ToolCall` (`requester`,
        `requester_token`, `cwd`, …).
        """
        said = {"call_id": call_id, "session": session, "sub_agent": sub_agent, "claim": claim}
        return await self.run_call(
            ToolCall(tool, args, evidence=evidence or [], **said, **more), execute, deadline=deadline
        )

    async def run_call(
        self, call: ToolCall, execute: Execute, *, deadline: float | None = None
    ) -> Ran | Replayed | Refused:
        """`run`, of a call that is written out."""
        return await self._through(await self.obtain(call, deadline=deadline), execute)

    async def obtain(
        self, call: ToolCall, *, deadline: float | None = None, on_pending: OnPending | None = None
    ) -> Permission | Executed | Replayed | Refused:
        """Ask about a call and, where people have to be asked, wait and take their approval.

        What only an executor may run is waited for instead, to its end (`Executed`). Whoever gets a `Permission` runs
        the call and settles it. `on_pending` is told of the request when people are asked, and when it is settled.
        """
        return await self._asking.obtain(call, deadline=deadline, on_pending=on_pending)

    async def take_up(
        self, request: Request, *, deadline: float | None = None
    ) -> Permission | Executed | Replayed | Refused:
        """Come back to a request: wait for its decision and take the approval, as `obtain` does."""
        return await self._asking.take_up(request, deadline=deadline)

    async def decided(self, request: Request) -> Request | Replayed | Refused:
        """Wait for the decision alone: the request as it then is, which `take_up` takes up."""
        try:
            return await self.gateway.wait(request)
        except GatewayError as error:
            error.request = request
            return await self._asking.meant(error, request.tool)

    async def withdraw(self, requests: Collection[Request]) -> None:
        """Withdraw requests that still wait for people, and to which nobody comes back (unless `abandoned="keep"`).

        What was decided meanwhile stands as it is. A fault is logged, never raised.
        """
        await self._asking.withdraw(requests)

    async def settle(
        self,
        permission: Permission,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Report the outcome. A fault is logged, never raised: the tool has run; the lease then marks it unknown."""
        if permission.claimed is None:
            return
        claimed = permission.claimed
        report = partial(self.gateway.report_briefly, claimed.request_id, claimed.claim_id)
        try:
            try:
                if elsewhere is not None:
                    await report(status, elsewhere=elsewhere)
                else:
                    await report(status, error=error, result=kept(result))
            except CallRefusedError:  # the value was not to the gateway's taste; the outcome matters more
                plain = OutcomeStatus.UNKNOWN if elsewhere is not None else status
                missing = None if result is None else {"kept": False, "why": "the gateway did not take it"}
                await report(plain, error=error, result=missing)
        except AssentError as fault:
            warn("outcome of request %s could not be reported: %s", claimed.request_id, fault)

    async def carry_out(self, permission: Permission, execute: Execute) -> Any:
        """Run a tool under a permission and report how it went; whatever it raises passes through.

        An exception is a failure, except one that may have come behind the deed (`assent.gate.aftermath`), and except
        the framework's own.
        """
        try:
            with granted(permission.grant_id, permission.changes):
                result = execute(**permission.arguments)
                if inspect.isawaitable(result):
                    result = await result
        except BaseException as error:
            status, said, elsewhere = self.outcome_of(error)
            if isinstance(error, Exception):
                await self.settle(permission, status, error=said, elsewhere=elsewhere)
                raise
            import anyio

            with anyio.move_on_after(LAST_REPORT, shield=True):  # cancelled, perhaps
                await self.settle(permission, status, error=said, elsewhere=elsewhere)
            raise
        await self.settle(permission, OutcomeStatus.SUCCEEDED, result=result)
        return result

    def outcome_of(self, error: BaseException) -> tuple[OutcomeStatus, str, Elsewhere | None]:
        """What a tool that raised this is reported as."""
        if isinstance(error, self.control_flow):
            return OutcomeStatus.FAILED, f"{NOT_RUN}{describe(error)}", None
        status, elsewhere = after_error(error)
        return status, describe(error), elsewhere

    # --- the suspend form ---------------------------------------------------------------------------------------------

    async def open(
        self,
        tool: str,
        args: Json,
        *,
        call_id: str | None = None,
        session: str | None = None,
        sub_agent: str | None = None,
        claim: str | None = None,
        evidence: list[Json] | None = None,
        deadline: float | None = None,
        **more: str | None,
    ) -> SuspendedCall | Replayed | Refused:
        """Ask about a call and wait for nobody: `finish` takes it up, here or anywhere, now or in a week.

        Where no people have to be asked, it does not wait (`SuspendedCall.waits`): finish it at once.
        """
        said = {"call_id": call_id, "session": session, "sub_agent": sub_agent, "claim": claim}
        return await self.open_call(ToolCall(tool, args, evidence=evidence or [], **said, **more), deadline=deadline)

    async def open_call(self, call: ToolCall, *, deadline: float | None = None) -> SuspendedCall | Replayed | Refused:
        """`open`, of a call that is written out."""
        return await self._asking.open(call, deadline=deadline)

    async def finish(
        self, suspended: SuspendedCall | str, execute: Execute, *, deadline: float | None = None
    ) -> Ran | Replayed | Refused:
        """Carry out a suspended call, as `run` does; until people have decided it waits, up to the deadline.

        Of any number of processes that finish it, also at once, one runs it; the others are told what is known.
        """
        return await self._through(await self.redeem(suspended, deadline=deadline), execute)

    async def redeem(
        self, suspended: SuspendedCall | str, *, deadline: float | None = None
    ) -> Permission | Executed | Replayed | Refused:
        """Take up a suspended call, as `obtain` does a new one. Raises `ValueError` for a text that is none."""
        suspended = SuspendedCall.parse(suspended) if isinstance(suspended, str) else suspended
        return await self._asking.come_back(suspended, deadline=deadline)

    async def _through(
        self, found: Permission | Executed | Replayed | Refused, execute: Execute
    ) -> Ran | Replayed | Refused:
        match found:
            case Permission():
                return found.ran(await self.carry_out(found, execute))
            case Executed():
                return found.ran()
            case Replayed() | Refused():
                return found
            case _:
                assert_never(found)
