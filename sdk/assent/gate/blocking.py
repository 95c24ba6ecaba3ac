"""`Gateway`: the same client for code without an event loop.

Not a second implementation: each call runs `AsyncGateway` on a portal, one background thread with an event loop that
lives as long as the `with` block. Spans, errors and promises are those of `assent.client.gateway`.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from assent.client.errors import NotOpenError
from assent.client.gateway import AsyncGateway

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType
    from typing import Self

    import httpx2
    from anyio.from_thread import BlockingPortal

    from assent.client.call import ToolCall
    from assent.client.models import Claimed, Elsewhere, OutcomeStatus, Question, Request, Taken, Verdict
    from assent.client.pace import Pace
    from assent.client.questions import OnQuestion
    from assent.gate.resumption import Resumed

T = TypeVar("T")


class Gateway:
    """`AsyncGateway` for synchronous code. Use it as a context manager; threads may share it."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        session: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        pace: Pace | None = None,
        on_question: OnQuestion | None = None,
    ) -> None:
        self.asynchronous = AsyncGateway(
            url, key, session=session, transport=transport, pace=pace, on_question=on_question
        )
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        from anyio.from_thread import start_blocking_portal

        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self.asynchronous))
            self._stack, self._portal = stack.pop_all(), portal
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._stack.close()

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something of the asynchronous client's on the portal and return what it returns."""
        if self._portal is None:
            raise NotOpenError
        return self._portal.call(work)

    def check(self, call: ToolCall, *, idempotency_key: str | None = None) -> Verdict:
        """See `AsyncGateway.check`."""
        return self.run(partial(self.asynchronous.check, call, idempotency_key=idempotency_key))

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
        return self.run(partial(self.asynchronous.report, request_id, claim_id, status, **said))

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
