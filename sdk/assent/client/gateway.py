"""`AsyncGateway`: the gateway as an object, for agents.

Three promises. *Creating twice is safe*: every check carries an idempotency key, so a lost answer is asked for again,
not a second card. *Away means no*: the client reconnects through restarts, 502, 503 and resets, and when its patience
(or the request's own deadline) is over it raises `GatewayAwayError`; nothing here ever turns a fault into an approval.
*The server's clock counts*: deadlines are instants of the gateway; the client learns its clock from the answers'
`Date` and then only counts elapsed seconds, so a wrong local clock changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from assent.client.errors import ClaimRefusedError, GatewayAwayError, UnexpectedAnswerError
from assent.client.models import OutcomeStatus, State, parse_claimed, parse_page, parse_request, parse_verdict
from assent.client.outcomes import wait_for_outcome
from assent.client.pace import Pace
from assent.client.query import query
from assent.client.questions import Answerer
from assent.client.unapproved import StillPendingError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import httpx2

    from assent.client.call import ToolCall
    from assent.client.models import Claimed, Elsewhere, Json, Question, Request, Verdict
    from assent.client.questions import OnQuestion

_PAGE = 100


def _same(asked: Request, found: Request) -> Request:
    if found.id != asked.id:
        raise UnexpectedAnswerError(f"the gateway answered for request {found.id} when asked for {asked.id}")
    return found


def _placed(elsewhere: Elsewhere | None) -> Json:
    """Name the place only where there is one: a gateway from before there were any knows no such member."""
    return {} if elsewhere is None else {"elsewhere": {"id": elsewhere.id, "link": elsewhere.link}}


class AsyncGateway:
    """One agent's line to its gateway. Use it as an async context manager; it may be opened again after it was closed.

    `url` is the gateway's root (`https://assent.acme.example`), `key` the agent's key (`ak_…`), `session` the name
    under which this run of the agent files its calls, so that `resume` finds them. Proxies and certificates named in
    the environment are not used (whoever sets an agent's environment must not be able to stand in for the gateway):
    pass a `transport` for those. `on_question` answers what approvers ask back while a call waits (see
    `assent.client.questions`); without it nothing happens, and the requester can answer.
    """

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
        self.session = session
        self.pace = pace or Pace()
        self.claims_made: set[str] = set()
        """The claim ids of this process, by which `resume` tells its own executions from a dead predecessor's."""
        from assent.client.wire import Wire  # here, because its HTTP library costs more than all else together

        self._wire = Wire(url, key, transport=transport, pace=self.pace)
        self._answerer = Answerer(on_question)

    async def __aenter__(self) -> Self:
        await self._wire.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._wire.close()

    async def check(self, call: ToolCall, *, idempotency_key: str | None = None) -> Verdict:
        """Ask whether the call may run: `Allowed`, `Denied`, or `Pending` with the request that people now decide.

        The same call of the same session joins the request that stands; `idempotency_key` names this very submission,
        for asking once more after a crash. Raises `TypeError` for arguments that are not JSON, and `GatewayError`.
        """
        body = replace(call, session=call.session or self.session).as_body()
        key = idempotency_key or self.pace.new_id("idem")
        return parse_verdict(await self._wire.ask("POST", "/v1/requests", body=body, headers={"Idempotency-Key": key}))

    submit = check

    async def get(self, request_id: str) -> Request:
        """The request as it stands."""
        return parse_request(await self._wire.ask("GET", f"/v1/requests/{request_id}"))

    async def wait(self, request: Request, *, until: datetime | None = None) -> Request:
        """Hold until the request is no longer pending, through restarts of the gateway, and return it.

        Raises `StillPendingError` when `until` (an instant of the gateway's clock) comes first, `GatewayAwayError`
        when the gateway does not answer until the request's deadline and a margin have passed: both mean "not
        approved".
        """
        started = self.pace.monotonic()
        attempt = 0
        while request.state is State.PENDING:
            last = request.expires_at + timedelta(seconds=self.pace.margin)  # anew: people may have extended it
            end = min(until, last) if until else last
            span = (last - request.created_at).total_seconds()  # for the case that the gateway's clock is not known yet
            left = self._wire.seconds_to(end)
            left = span - (self.pace.monotonic() - started) if left is None else left
            if left <= 0:
                raise self._out_of_time(request, until, last)
            if (answered := await self._answerer.answer(request, self.answer, within=left)) is not request:
                request = answered
                continue
            hold = max(0.0, min(self.pace.hold, left))
            asked_at = self.pace.monotonic()
            since = request.version if self._answerer.listens else None
            answer = await self._wire.try_once(
                "GET", f"/v1/requests/{request.id}" + query(wait=round(hold, 3), since=since), hold=hold
            )
            moved = False
            if answer.body is not None:
                found = _same(request, parse_request(answer.body))
                moved, request = since is not None and found.version > since, found
            if moved or (answer.body is not None and self.pace.monotonic() - asked_at >= hold / 2):
                attempt = 0
            elif request.state is State.PENDING:  # a fault, or an answer that did not hold: never a busy loop
                attempt += 1
                await self._wire.back_off(attempt, at_least=answer.retry_after, at_most=left)
        return request

    async def wait_for_outcome(self, request: Request, *, until: datetime | None = None) -> Request:
        """Wait for the decision, and then for what an executor makes of it; for requests that are `enforced`.

        The request comes back as succeeded, failed, unknown or pending elsewhere, or as it was settled otherwise.
        Raises as `wait` does; here no answer does not mean that it did not run.
        """
        return await wait_for_outcome(self._wire, self.pace, await self.wait(request, until=until))

    def _out_of_time(self, request: Request, until: datetime | None, last: datetime) -> Exception:
        if until is not None and until < last:
            return StillPendingError(request)
        return GatewayAwayError(
            f"request {request.id} was not settled by its deadline {request.expires_at.isoformat()}: not approved"
        )

    async def claim(self, request: Request, *, claim_id: str | None = None) -> Claimed:
        """Take the single use of an approval. A lost answer is asked for again under the same claim id.

        Raises `ClaimRefusedError` (its `code` says why) when there is nothing to take.
        """
        claim_id = claim_id or self.pace.new_id("clm")
        self.claims_made.add(claim_id)
        body = {"digest": request.digest, "claim_id": claim_id}
        answer = await self._wire.ask("POST", f"/v1/requests/{request.id}/claim", body=body)
        return parse_claimed(answer, request_id=request.id, claim_id=claim_id)

    async def report(
        self,
        request_id: str,
        claim_id: str,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Request:
        """Say what became of an execution; `elsewhere` goes with `PENDING_ELSEWHERE`. Repeating it is harmless."""
        body = {"claim_id": claim_id, "status": status.value, "result": result, "error": error, **_placed(elsewhere)}
        return parse_request(await self._wire.ask("POST", f"/v1/requests/{request_id}/outcome", body=body))

    async def reconcile(
        self,
        request: Request,
        status: OutcomeStatus,
        *,
        note: str,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Request:
        """Settle an outcome that is unknown or pending elsewhere; `note` is the evidence. Repeating it is harmless.

        It succeeded, or failed; or what was unknown waits `elsewhere`. Raises `ClaimRefusedError` when it is settled.
        """
        body = {"status": status.value, "result": result, "error": error, "note": note, **_placed(elsewhere)}
        answer = await self._wire.ask("POST", f"/v1/requests/{request.id}/reconcile", body=body)
        return _same(request, parse_request(answer))

    def seconds_to(self, instant: datetime) -> float | None:
        """How long until the gateway's clock shows `instant`; None as long as it has never told its time."""
        return self._wire.seconds_to(instant)

    async def answer(self, request: Request, question: Question, text: str) -> Request:
        """Answer what an approver asked back, for them to read beside the call. The same answer again is harmless.

        Raises `ClaimRefusedError` (its `code` says why) when it was answered otherwise, or the request is settled.
        """
        path = f"/v1/requests/{request.id}/questions/{question.id}/answer"
        return _same(request, parse_request(await self._wire.ask("POST", path, body={"text": text})))

    async def cancel(self, request: Request, *, reason: str) -> Request:
        """Withdraw a request. One that is settled already comes back as it stands."""
        try:
            return parse_request(
                await self._wire.ask("POST", f"/v1/requests/{request.id}/cancel", body={"reason": reason})
            )
        except ClaimRefusedError:
            return await self.get(request.id)

    async def list_open(self, *, session: str | None = None) -> list[Request]:
        """This agent's requests that are not over (pending, approved, executing, unknown, …), oldest first."""
        found: list[Request] = []
        cursor: str | None = None
        while True:
            page = await self._wire.ask(
                "GET", "/v1/requests" + query(open="true", session=session or self.session, limit=_PAGE, cursor=cursor)
            )
            found += parse_page(page)
            cursor = page.get("next_cursor")
            if not cursor:
                return sorted(found, key=lambda one: one.created_at)
