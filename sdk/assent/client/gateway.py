"""`AsyncGateway`: the gateway as an object, for agents.

Three promises. *Creating twice is safe*: every check carries an idempotency key, so a lost answer is asked for again,
not a second card. *Away means no*: the client reconnects through restarts, 502, 503 and resets, and when its patience
(or the request's own deadline) is over it raises `GatewayAwayError`; nothing here ever turns a fault into an approval.
*Deadlines are local*: `within` is so many seconds of this machine's monotonic clock, whatever any calendar says; when a
request is over is for the gateway to say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assent.client.call import proved
from assent.client.errors import (
    CallRefusedError,
    ClaimRefusedError,
    GatewayError,
    NotEntitledError,
)
from assent.client.holding import MINIMAL, hold_within, query, same, wait_for_decision, wait_for_outcome
from assent.client.models import (
    OutcomeStatus,
    Pending,
    Request,
    State,
    Taken,
    parse_claimed,
    parse_page,
    parse_request,
    parse_taken,
    parse_verdict,
)
from assent.client.pace import Pace, seconds
from assent.client.questions import Answerer
from assent.client.unapproved import StillPendingError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from os import PathLike
    from types import TracebackType
    from typing import Self

    import httpx2

    from assent.client.call import TokenSource, ToolCall
    from assent.client.models import Claimed, Elsewhere, Json, Question, Verdict
    from assent.client.questions import OnQuestion

_PAGE = 100
_MARGIN = 2.0
"""Seconds of a lease that are not used: what is begun at its very end would be run behind it."""
NO = ": not approved"
"""What no answer means to a call that is asked about. To a report it means nothing of the kind."""
_CLAIMS_MADE: set[str] = set()
"""Of all gateways of this process, and of the one that it was forked off: each of them may still be running."""
_UNKNOWN_TO_OLD = ("wait: Extra inputs", "claim_id: Extra inputs")
"""How a gateway from before there was the one call refuses its members."""


def _outcome(status: OutcomeStatus, result: Any, error: str | None, elsewhere: Elsewhere | None) -> Json:
    """Say what became of a run. The place is named only where there is one: an older gateway knows no such member."""
    place = {} if elsewhere is None else {"elsewhere": {"id": elsewhere.id, "link": elsewhere.link}}
    return {"status": status.value, "result": result, "error": error, **place}


class AsyncGateway:
    """One agent's line to its gateway. It opens by itself, once in each event loop, and closes with that.

    As an async context manager it closes earlier; it may be used again afterwards.

    `url` is the gateway's root (`https://assent.acme.example`), `key` the agent's key (`ak_…`), or the path of the file
    in which it stands (a `Path`): that is read again when the key is refused, so that it can be rotated while the agent
    runs. `session` is the name under which this run of the agent files its calls, so that `resume` finds them. Proxies
    and certificates named in the environment are not used (whoever sets an agent's environment must not be able to
    stand in for the gateway): pass a `transport` for those. `on_question` answers what approvers ask back while a call
    waits (see `assent.client.questions`); without it nothing happens, and the requester can answer.

    `requester_token` is the ID token of whom the agent acts for, or a function (also an async one) that returns it for
    each call: it proves who asked, to a gateway whose file takes such tokens.
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
        self.session = session
        self._token = requester_token
        self.pace = pace or Pace()
        self.claims_made = _CLAIMS_MADE
        """The claim ids of this process, by which `resume` tells its own executions from a dead predecessor's."""
        from assent.client.wire import Wire  # here, because its HTTP library costs more than all else together

        self._wire = Wire(url, key, transport=transport, pace=self.pace)
        self._answerer = Answerer(on_question)
        self._of_executors: set[str] = set()
        """Tools that only an executor runs: a claim of them was refused."""

    async def __aenter__(self) -> Self:
        await self._wire.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._wire.close()

    async def check(
        self, call: ToolCall, *, idempotency_key: str | None = None, within: float | None = None
    ) -> Verdict:
        """Ask whether the call may run: `Allowed`, `Denied`, or `Pending` with the request that people now decide.

        The same call of the same session joins the request that stands; `idempotency_key` names this very submission,
        for asking once more after a crash. With `within=0` it is asked once. Raises `TypeError` for arguments that are
        not JSON, `ValueError` for a time that is none, and `GatewayError`.
        """
        call = await proved(replace(call, session=call.session or self.session), self._token)
        body = call.as_body()
        headers = {"Idempotency-Key": idempotency_key or self.pace.new_id("idem")}
        end = self._end(within)
        said = await self._wire.ask("POST", "/v1/requests", body=body, headers=headers, end=end, silence=NO)
        return parse_verdict(said)

    submit = check

    async def get(self, request_id: str) -> Request:
        """The request as it stands."""
        return parse_request(await self._wire.ask("GET", f"/v1/requests/{request_id}"))

    async def take(
        self,
        call: ToolCall,
        *,
        claim_id: str | None = None,
        idempotency_key: str | None = None,
        on_pending: Callable[[Request], object] | None = None,
        within: float | None = None,
    ) -> Verdict | Taken:
        """Ask whether the call may run, wait for people where they are asked, and take their approval: in one call.

        `Allowed` and `Denied` as from `check`; `Taken` is the single use of an approval. `Pending` comes back only with
        a request that ended otherwise, that an executor runs (`enforced`), or that still waits when `within` seconds
        are over (0: it is asked once, and nobody is waited for). `on_pending` is told of the request as soon as people
        are asked, which takes a second call; so does `on_question` of the gateway. A lost answer is asked for again
        under the same ids. Raises what `check`, `wait` and `claim` raise.
        """
        claim_id, end = self._named(claim_id), self._end(within)
        call = await proved(replace(call, session=call.session or self.session), self._token)
        hold = 0.0 if on_pending is not None or self._answerer.listens else hold_within(self.pace, within)
        verdict = await self._taken(call, claim_id, idempotency_key or self.pace.new_id("idem"), hold, end)
        if not isinstance(verdict, Pending) or verdict.request.enforced:
            return verdict
        request = verdict.request
        if request.state is State.PENDING and on_pending is not None:
            on_pending(request)
        try:
            found = await self._taken_later(request, claim_id, end)
        except StillPendingError as waiting:
            found = waiting.request
        return found if isinstance(found, Taken) else replace(verdict, request=found)

    async def _taken(self, call: ToolCall, claim_id: str, key: str, hold: float, end: float | None) -> Verdict | Taken:
        body, headers = call.as_body(), {"Idempotency-Key": key}
        wanted: Json = {"wait": hold} if call.tool in self._of_executors else {"wait": hold, "claim_id": claim_id}
        while True:
            try:
                said = await self._wire.ask(
                    "POST", "/v1/requests", body=body | wanted, headers=headers, hold=hold, end=end, silence=NO
                )
            except NotEntitledError as refused:  # nothing was opened: only an executor may claim it
                if refused.code != "executor_only":
                    raise
                wanted = {"wait": hold}
                self._of_executors.add(call.tool)
            except CallRefusedError as refused:
                if not wanted or not (refused.detail or "").startswith(_UNKNOWN_TO_OLD):
                    raise
                wanted = {}
            else:
                claimed = said.get("decision") == "claimed"
                return parse_taken(said, claim_id=claim_id) if claimed else parse_verdict(said)

    def leaves_to_executors(self, tool: str) -> bool:
        """Whether only an executor runs this tool, as far as the gateway said so to a call that was to be taken."""
        return tool in self._of_executors

    async def take_when_decided(
        self, request: Request, *, claim_id: str | None = None, within: float | None = None
    ) -> Taken | Request:
        """Come back to a request: hold until it is decided, and take the approval in the same call.

        Returns the request where it ended otherwise. Raises as `wait` and `claim` do.
        """
        return await self._taken_later(request, self._named(claim_id), self._end(within))

    async def _taken_later(self, request: Request, claim_id: str, end: float | None) -> Taken | Request:
        try:
            found = await self._decided(request, end, claim_id) if request.state is State.PENDING else request
            if not isinstance(found, Request) or found.state is not State.APPROVED:
                return found
            request = found
            claimed = await self.claim(request, claim_id=claim_id)
        except GatewayError as error:
            error.request = request
            raise
        return Taken(request=request, claimed=claimed, attached=True, message=request.message)

    async def wait(self, request: Request, *, within: float | None = None) -> Request:
        """Hold until the request is no longer pending, through restarts of the gateway, and return it.

        Raises `StillPendingError` when `within` seconds are over first, `GatewayAwayError` when the gateway does not
        answer until the request's deadline and a margin have passed: both mean "not approved".
        """
        found = await self._decided(request, self._end(within), None)
        return found.request if isinstance(found, Taken) else found

    async def _decided(self, request: Request, end: float | None, claim_id: str | None) -> Taken | Request:
        return await wait_for_decision(
            self._wire,
            self.pace,
            request,
            end=end,
            claim_id=claim_id,
            answerer=self._answerer,
            answer=self.answer,
        )

    async def wait_for_outcome(self, request: Request, *, within: float | None = None) -> Request:
        """Wait for the decision, and then for what an executor makes of it; for requests that are `enforced`.

        The request comes back as succeeded, failed, unknown or pending elsewhere, or as it was settled otherwise; or,
        when `within` seconds are over, as it stands. Raises as `wait` does; here no answer does not mean that it did
        not run.
        """
        end = self._end(within)
        try:
            found = await self._decided(request, end, None)
        except StillPendingError as waiting:
            return waiting.request
        found = found.request if isinstance(found, Taken) else found
        return await wait_for_outcome(self._wire, self.pace, found, end=end)

    def _end(self, within: float | None) -> float | None:
        given = seconds(within, "within")
        return None if given is None else self.pace.monotonic() + given

    def _named(self, claim_id: str | None) -> str:
        """Return the claim's id, its caller's or a new one, and remember that it is this process's."""
        claim_id = claim_id or self.pace.new_id("clm")
        self.claims_made.add(claim_id)
        return claim_id

    async def claim(self, request: Request, *, claim_id: str | None = None) -> Claimed:
        """Take the single use of an approval. A lost answer is asked for again under the same claim id.

        Raises `ClaimRefusedError` (its `code` says why) when there is nothing to take.
        """
        claim_id = self._named(claim_id)
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
        body = {"claim_id": claim_id, **_outcome(status, result, error, elsewhere)}
        return parse_request(await self._wire.ask("POST", f"/v1/requests/{request_id}/outcome", body=body))

    async def report_briefly(
        self,
        request_id: str,
        claim_id: str,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Do as `report` does, for whoever does not look at the request again: its arguments do not come back."""
        body = {"claim_id": claim_id, **_outcome(status, result, error, elsewhere)}
        await self._wire.ask("POST", f"/v1/requests/{request_id}/outcome", body=body, headers=MINIMAL)

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
        body = {"note": note, **_outcome(status, result, error, elsewhere)}
        answer = await self._wire.ask("POST", f"/v1/requests/{request.id}/reconcile", body=body)
        return same(request, parse_request(answer))

    def seconds_to(self, instant: datetime) -> float | None:
        """How long until the gateway's clock shows `instant`; None as long as it has never told its time."""
        return self._wire.seconds_to(instant)

    async def lease_left(self, claimed: Claimed) -> float:
        """How many seconds a claim is good for still, at least; 0 if it is not, or nobody can tell.

        A claim may be read long after it was given: by a process that was frozen, or over a slow line. By then its
        lease may be over, people may have settled the request, and the call may have been made anew. Where the answers
        so far do not rule that out, the gateway is asked once more. Raises `GatewayError`.
        """
        left = self._wire.surely_to(claimed.lease_until)
        hoped = self._wire.seconds_to(claimed.lease_until)
        if hoped is None or hoped <= _MARGIN:
            return 0.0
        if left is None or left <= _MARGIN:
            answer = await self._wire.ask("GET", f"/v1/requests/{claimed.request_id}", end=self._end(hoped))
            found = parse_request(answer)
            taken = found.execution
            if found.state is not State.EXECUTING or taken is None or taken.claim_id != claimed.claim_id:
                return 0.0
            left = self._wire.surely_to(claimed.lease_until)
        return 0.0 if left is None else max(0.0, left - _MARGIN)

    async def answer(self, request: Request, question: Question, text: str) -> Request:
        """Answer what an approver asked back, for them to read beside the call. The same answer again is harmless.

        Raises `ClaimRefusedError` (its `code` says why) when it was answered otherwise, or the request is settled.
        """
        path = f"/v1/requests/{request.id}/questions/{question.id}/answer"
        return same(request, parse_request(await self._wire.ask("POST", path, body={"text": text})))

    async def cancel(self, request: Request, *, reason: str) -> Request:
        """Withdraw a request. One that is settled already comes back as it stands."""
        try:
            return parse_request(
                await self._wire.ask("POST", f"/v1/requests/{request.id}/cancel", body={"reason": reason})
            )
        except ClaimRefusedError:
            return await self.get(request.id)

    async def find(self, idempotency_key: str) -> Request | None:
        """Return the request for which a key of this agent's stands; None: there is none, and asking opens none."""
        found = parse_page(await self._wire.ask("GET", "/v1/requests" + query(idempotency_key=idempotency_key)))
        return found[0] if found else None

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
