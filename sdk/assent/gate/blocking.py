"""`Gateway` and `BlockingGate`: the same client, and the same gate, for code without an event loop.

Not a second implementation: each call runs `AsyncGateway` on a portal, one background thread with an event loop that
lives until the `with` block is left, or as long as the process (a process that is forked off has its own). Spans,
errors and promises are those of `assent.client.gateway` and `assent.gate.gate`; tools run on the thread that calls.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

from assent.client.call import ToolCall
from assent.client.gateway import AsyncGateway
from assent.client.log import warn
from assent.client.models import OutcomeStatus
from assent.client.pace import seconds
from assent.gate.aftermath import UnknownOutcomeError
from assent.gate.arguments import is_asynchronous
from assent.gate.gate import Gate
from assent.gate.outcomes import Ran, Refused, Replayed
from assent.gate.permission import LAST_REPORT, Executed, Permission, granted
from assent.gate.portal import Portal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from os import PathLike
    from types import TracebackType
    from typing import Self

    import httpx2

    from assent.client.call import TokenSource
    from assent.client.models import Claimed, Elsewhere, Json, Question, Request, Taken, Verdict
    from assent.client.pace import Pace
    from assent.client.questions import OnQuestion
    from assent.gate.abandoned import Abandoned
    from assent.gate.resumption import Resumed
    from assent.gate.suspended import SuspendedCall

T = TypeVar("T")


class Gateway:
    """`AsyncGateway` for synchronous code. It opens by itself; as a context manager it closes earlier than the process.

    Threads may share it, and processes that are forked off. Closed while another thread waits for people, it does not
    wait with it: that call is cancelled there (`concurrent.futures.CancelledError`), and its request withdrawn.
    """

    def __init__(
        self,
        url: str,
        key: str | PathLike[str],
        *,
        session: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        pace: Pace | None = None,
        on_question: OnQuestion | None = None,
        requester_token: TokenSource | None = None,
    ) -> None:
        self.asynchronous = AsyncGateway(
            url,
            key,
            session=session,
            transport=transport,
            pace=pace,
            on_question=on_question,
            requester_token=requester_token,
        )
        self._portal = Portal(self.asynchronous, last=LAST_REPORT)

    def __enter__(self) -> Self:
        self._portal.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.close()

    def run(self, work: Callable[[], Awaitable[T]], *, is_report: bool = False) -> T:
        """Run something of the asynchronous client's on the portal and return what it returns.

        Interrupted (Ctrl-C), or closed by another thread, it is cancelled there, and its last report is waited for.
        Closed, it raises `concurrent.futures.CancelledError`. A report (`is_report`) has some seconds to arrive first.
        """
        return self._portal.run(work, is_report=is_report)

    def check(self, call: ToolCall, *, idempotency_key: str | None = None, within: float | None = None) -> Verdict:
        """See `AsyncGateway.check`."""
        return self.run(partial(self.asynchronous.check, call, idempotency_key=idempotency_key, within=within))

    submit = check

    def take(
        self,
        call: ToolCall,
        *,
        claim_id: str | None = None,
        idempotency_key: str | None = None,
        on_pending: Callable[[Request], object] | None = None,
        within: float | None = None,
    ) -> Verdict | Taken:
        """See `AsyncGateway.take`; `on_pending` is called on the portal's thread."""
        said = {"claim_id": claim_id, "idempotency_key": idempotency_key, "on_pending": on_pending, "within": within}
        return self.run(partial(self.asynchronous.take, call, **said))

    def take_when_decided(
        self, request: Request, *, claim_id: str | None = None, within: float | None = None
    ) -> Taken | Request:
        """See `AsyncGateway.take_when_decided`."""
        return self.run(partial(self.asynchronous.take_when_decided, request, claim_id=claim_id, within=within))

    def get(self, request_id: str) -> Request:
        """See `AsyncGateway.get`."""
        return self.run(partial(self.asynchronous.get, request_id))

    def wait(self, request: Request, *, within: float | None = None) -> Request:
        """See `AsyncGateway.wait`."""
        return self.run(partial(self.asynchronous.wait, request, within=within))

    def wait_for_outcome(self, request: Request, *, within: float | None = None) -> Request:
        """See `AsyncGateway.wait_for_outcome`."""
        return self.run(partial(self.asynchronous.wait_for_outcome, request, within=within))

    def claim(self, request: Request, *, claim_id: str | None = None) -> Claimed:
        """See `AsyncGateway.claim`."""
        return self.run(partial(self.asynchronous.claim, request, claim_id=claim_id))

    def report(
        self,
        request_id: str,
        claim_id: str,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Request:
        """See `AsyncGateway.report`."""
        said = {"result": result, "error": error, "elsewhere": elsewhere}
        reported = partial(self.asynchronous.report, request_id, claim_id, status, **said)
        return self.run(reported, is_report=True)

    def answer(self, request: Request, question: Question, text: str) -> Request:
        """See `AsyncGateway.answer`."""
        return self.run(partial(self.asynchronous.answer, request, question, text))

    def cancel(self, request: Request, *, reason: str) -> Request:
        """See `AsyncGateway.cancel`."""
        return self.run(partial(self.asynchronous.cancel, request, reason=reason))

    def list_open(self, *, session: str | None = None) -> list[Request]:
        """See `AsyncGateway.list_open`."""
        return self.run(partial(self.asynchronous.list_open, session=session))

    def resume(self, tools: Mapping[str, Callable[..., Any]], *, session: str | None = None) -> list[Resumed]:
        """See `assent.resume`. Synchronous tools run one after the other on a worker thread."""
        from assent.gate.resumption import resume

        return self.run(partial(resume, self.asynchronous, tools, session=session))


class BlockingGate:
    """`Gate` for synchronous code: `gateway` is open, and tools are plain functions."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        session: str | None = None,
        control_flow: tuple[type[BaseException], ...] = (),
        abandoned: Abandoned = "withdraw",
    ) -> None:
        self.gateway = gateway
        self.asynchronous = Gate(gateway.asynchronous, session=session, control_flow=control_flow, abandoned=abandoned)

    def run(
        self,
        tool: str,
        args: Json,
        execute: Callable[..., Any],
        *,
        call_id: str | None = None,
        session: str | None = None,
        sub_agent: str | None = None,
        claim: str | None = None,
        evidence: list[Json] | None = None,
        deadline: float | None = None,
        **more: str | None,
    ) -> Ran | Replayed | Refused:
        """See `Gate.run`."""
        said = {"call_id": call_id, "session": session, "sub_agent": sub_agent, "claim": claim}
        return self.run_call(ToolCall(tool, args, evidence=evidence or [], **said, **more), execute, deadline=deadline)

    def run_call(
        self, call: ToolCall, execute: Callable[..., Any], *, deadline: float | None = None
    ) -> Ran | Replayed | Refused:
        """See `Gate.run_call`. Raises `TypeError` for an asynchronous function: nobody would await it."""
        _check_plain(execute)
        given = seconds(deadline, "deadline")
        found = self.gateway.run(partial(self.asynchronous.obtain, call, deadline=given))
        return self._through(found, execute)

    def open(
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
        """See `Gate.open`."""
        said = {"call_id": call_id, "session": session, "sub_agent": sub_agent, "claim": claim}
        return self.open_call(ToolCall(tool, args, evidence=evidence or [], **said, **more), deadline=deadline)

    def open_call(self, call: ToolCall, *, deadline: float | None = None) -> SuspendedCall | Replayed | Refused:
        """See `Gate.open_call`."""
        given = seconds(deadline, "deadline")
        return self.gateway.run(partial(self.asynchronous.open_call, call, deadline=given))

    def finish(
        self, suspended: SuspendedCall | str, execute: Callable[..., Any], *, deadline: float | None = None
    ) -> Ran | Replayed | Refused:
        """See `Gate.finish`. Raises `TypeError` for an asynchronous function."""
        _check_plain(execute)
        given = seconds(deadline, "deadline")
        found = self.gateway.run(partial(self.asynchronous.redeem, suspended, deadline=given))
        return self._through(found, execute)

    def carry_out(self, permission: Permission, execute: Callable[..., Any]) -> Any:
        """See `Gate.carry_out`."""
        from concurrent.futures import CancelledError

        def report(status: OutcomeStatus, **outcome: Any) -> None:
            settled = partial(self.asynchronous.settle, permission, status, **outcome)
            try:
                self.gateway.run(settled, is_report=True)
            except CancelledError as fault:  # the tool has run: what came of it is the caller's all the same
                about = permission.claimed.request_id if permission.claimed else "(none)"
                warn("outcome of request %s could not be reported: %s", about, fault)

        try:
            with granted(permission.grant_id, permission.changes):
                result = _plain(execute(**permission.arguments))
        except BaseException as error:
            status, said, elsewhere = self.asynchronous.outcome_of(error)
            report(status, error=said, elsewhere=elsewhere)
            raise
        report(OutcomeStatus.SUCCEEDED, result=result)
        return result

    def _through(
        self, found: Permission | Executed | Replayed | Refused, execute: Callable[..., Any]
    ) -> Ran | Replayed | Refused:
        match found:
            case Permission():
                return found.ran(self.carry_out(found, execute))
            case Executed():
                return found.ran()
            case Replayed() | Refused():
                return found
            case _:
                assert_never(found)


def _plain(result: Any) -> Any:
    if inspect.isawaitable(result):
        what = "the tool returned what is to be awaited, and a BlockingGate awaits nothing"
        raise UnknownOutcomeError(f"{what}: it is not known what it did")
    return result


def _check_plain(execute: Callable[..., Any]) -> None:
    if is_asynchronous(execute):
        raise TypeError("the tools of a BlockingGate are plain functions; for an asynchronous one take a Gate")
