"""How a call is asked about: which call it is, what the gateway's answer means, and what is known of an earlier run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from assent.client.call import not_json
from assent.client.errors import CallRefusedError, ClaimRefusedError, GatewayError
from assent.client.log import warn
from assent.client.messages import RefusalCode
from assent.client.models import Allowed, Denied, OutcomeStatus, Pending, Request, State, Taken
from assent.client.pace import seconds
from assent.client.unapproved import StillPendingError
from assent.gate.abandoned import Wait, Waiting
from assent.gate.outcomes import NOT_RUN, Refused, Replayed, ended, never_ran
from assent.gate.permission import Executed, Permission
from assent.gate.suspended import SuspendedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from assent.client.call import ToolCall
    from assent.client.gateway import AsyncGateway
    from assent.client.models import Verdict
    from assent.gate.abandoned import Abandoned

    OnPending = Callable[[Request], object]

_MOST_ANEW = 20
"""How often a call is asked about anew of whose request nothing came."""
_TOO_OFTEN = "it was approved and not run too often"
_TO_FINISH = frozenset({State.PENDING, State.APPROVED})
_NO_ANSWER = frozenset({RefusalCode.GATEWAY_AWAY, RefusalCode.ANSWER_LATE})
_CLAIM_CODES = {
    "grant_lapsed": RefusalCode.LAPSED,
    "digest_mismatch": RefusalCode.DIGEST_MISMATCH,
    "already_claimed": RefusalCode.ALREADY_CLAIMED,
    "paused": RefusalCode.PAUSED,
}


class Asking:
    """One agent's questions about its calls. Refusals are values, and so are the gateway's faults."""

    def __init__(self, gateway: AsyncGateway, *, session: str | None = None, abandoned: Abandoned = "withdraw") -> None:
        self._gateway = gateway
        self._session = session
        self._waiting = Waiting(gateway, abandoned)

    async def obtain(
        self, call: ToolCall, *, deadline: float | None, on_pending: OnPending | None
    ) -> Permission | Executed | Replayed | Refused:
        """See `Gate.obtain`."""
        filed = self._filed(call)
        if isinstance(filed, Refused):
            return filed
        call, key = filed
        import anyio

        wait = self._waiting.begin(call, key)
        try:
            return await self.answered(wait, self.end(deadline), on_pending)
        except anyio.get_cancelled_exc_class():
            await self._waiting.abandon(wait)
            raise
        finally:
            self._waiting.over(wait)

    async def withdraw(self, requests: Collection[Request]) -> None:
        """See `Gate.withdraw`."""
        await self._waiting.withdraw(requests)

    async def open(self, call: ToolCall, *, deadline: float | None) -> SuspendedCall | Replayed | Refused:
        """See `Gate.open`."""
        filed = self._filed(call)
        if isinstance(filed, Refused):
            return filed
        (call, key), end = filed, self.end(deadline)
        for _ in range(_MOST_ANEW):
            try:
                verdict = await self._gateway.check(call, idempotency_key=key, within=self._left(end))
            except GatewayError as error:
                return await self.meant(error, call.tool)
            if isinstance(verdict, Denied):
                return _denied(verdict)
            if isinstance(verdict, Allowed):
                return SuspendedCall(call=call, key=key)
            request = verdict.request
            if not never_ran(request):
                goes_on = request.state in _TO_FINISH or request.enforced
                return SuspendedCall(call=call, key=key, request_id=request.id) if goes_on else ended(request)
            key = _anew(key, request)
        return Refused(code=RefusalCode.CALL_REFUSED, reason=_TOO_OFTEN)

    async def come_back(
        self, suspended: SuspendedCall, *, deadline: float | None
    ) -> Permission | Executed | Replayed | Refused:
        """See `Gate.redeem`."""
        end = self.end(deadline)
        if suspended.request_id is None:  # a rule allowed it then: the rules are asked again
            return await self.answered(Wait(suspended.call, suspended.key), end, None)
        try:
            request = await self._gateway.get(suspended.request_id)
        except GatewayError as error:
            return await self.meant(error, suspended.call.tool)
        if request.tool != suspended.call.tool:  # the ticket's keeper does not choose what an approval is spent on
            other = f"it is a call of {suspended.call.tool}, and request {request.id} is about {request.tool}"
            return Refused(code=RefusalCode.CALL_REFUSED, reason=other)
        if never_ran(request):
            return await self.answered(Wait(suspended.call, _anew(suspended.key, request)), end, None)
        return await self.take_up(request, deadline=self._left(end))

    async def take_up(self, request: Request, *, deadline: float | None) -> Permission | Executed | Replayed | Refused:
        """See `Gate.take_up`."""
        if request.enforced:
            return await self._executed(request, self.end(deadline))
        if request.state not in _TO_FINISH:
            return ended(request)
        try:
            found = await self._gateway.take_when_decided(request, within=deadline)
        except StillPendingError as waiting:
            return ended(waiting.request)
        except GatewayError as error:
            return await self.meant(error, request.tool)
        return await self._taken(found) if isinstance(found, Taken) else ended(found)

    async def answered(
        self, wait: Wait, end: float | None, on_pending: OnPending | None
    ) -> Permission | Executed | Replayed | Refused:
        """Ask under a key, and wait until `end`; anew as long as nothing came of what stands under it."""
        call = wait.call
        told: list[Request] = []

        def tell(request: Request) -> None:
            if on_pending is not None:
                told.append(request)
                on_pending(request)

        for _ in range(_MOST_ANEW):
            within, wait.claim_id = self._left(end), self._gateway.pace.new_id("clm")
            listener = None if on_pending is None else tell
            try:
                verdict = await self._gateway.take(
                    call, claim_id=wait.claim_id, idempotency_key=wait.key, within=within, on_pending=listener
                )
            except GatewayError as error:
                stands = await self._stands(error)
                if stands is not None and never_ran(stands):
                    wait.key = _anew(wait.key, stands)
                    continue
                return await self.meant(error, call.tool, stands)
            if isinstance(verdict, Pending) and never_ran(verdict.request):
                wait.key = _anew(wait.key, verdict.request)
                continue
            if isinstance(verdict, Pending | Taken) and told and verdict.request.state is not State.PENDING:
                tell(verdict.request)
            return await self._judged(call, verdict, end, tell)
        return Refused(code=RefusalCode.CALL_REFUSED, reason=_TOO_OFTEN)

    async def _judged(
        self, call: ToolCall, verdict: Verdict | Taken, end: float | None, tell: OnPending
    ) -> Permission | Executed | Replayed | Refused:
        match verdict:
            case Allowed() if call.confirm is not None:
                fault = "the gateway allowed a call that people had to be asked about; it may be older than this client"
                return await self.meant(CallRefusedError(fault), call.tool)
            case Allowed(arguments=given, context=context):
                return Permission(arguments=call.arguments if given is None else given, claimed=None, context=context)
            case Denied():
                return _denied(verdict)
            case Taken():
                return await self._taken(verdict)
            case Pending(request=request) if request.enforced:
                if request.state is State.PENDING:
                    tell(request)
                return await self._executed(request, end, tell)
            case Pending(request=request):
                return ended(request)
            case _:
                assert_never(verdict)

    async def _taken(self, taken: Taken) -> Permission | Refused:
        """Leave to run what was taken, unless its time may be over: then somebody else may have run it by now."""
        claimed = taken.claimed
        try:
            if await self._gateway.lease_left(claimed) > 0:
                return _permission(taken)
            why = "the time in which it had to run was over when its approval was read here"
        except GatewayError as error:
            why = f"whether there was time left to run it could not be found out: {error}"
        warn("request %s is not run: %s", claimed.request_id, why)
        with suppress(GatewayError):  # it may be settled already, and the lease marks it unknown else
            error = f"{NOT_RUN}{why}"
            await self._gateway.report_briefly(
                claimed.request_id, claimed.claim_id, OutcomeStatus.FAILED, error=error[:500]
            )
        return Refused(code=RefusalCode.LAPSED, request=taken.request)

    async def _executed(
        self, request: Request, end: float | None, tell: OnPending | None = None
    ) -> Executed | Replayed | Refused:
        """Wait for what an executor makes of a request that only one may run: no answer is never "it did not run"."""
        try:
            if tell is not None and request.state is State.PENDING:
                request = await self._gateway.wait(request, within=self._left(end))
                tell(request)
            request = await self._gateway.wait_for_outcome(request, within=self._left(end))
        except StillPendingError as waiting:
            request = waiting.request
        except GatewayError as error:
            warn("the outcome of request %s, which an executor runs, is not known: %s", request.id, error)
            return Refused(code=RefusalCode.OUTCOME_UNKNOWN, request=request)
        if request.state is State.SUCCEEDED:
            return Executed(request=request)
        if request.state in _TO_FINISH:
            return Refused(code=RefusalCode.LEFT_TO_EXECUTOR, request=request)
        return ended(request)

    async def _stands(self, error: GatewayError) -> Request | None:
        """The request that a fault of the one call is about, as it stands now."""
        known = error.request if isinstance(error.request, Request) else None
        name = known.id if known is not None else error.request_id
        if name is not None and isinstance(error, ClaimRefusedError):
            with suppress(GatewayError):  # else nothing is known of it but what was said first
                return await self._gateway.get(name)
        return known

    async def meant(self, error: GatewayError, tool: str, stands: Request | None = None) -> Replayed | Refused:
        """What a fault means for a call: of the call itself, or of the approval that stands for it."""
        request = stands or await self._stands(error)
        if isinstance(error, ClaimRefusedError) and request is not None:
            code = _CLAIM_CODES.get(error.code, RefusalCode.CALL_REFUSED)
            if request.execution is not None:  # somebody else has it, or had it: what is told is what came of it
                return ended(request)
            return Refused(code=code, reason=error.detail if code is RefusalCode.PAUSED else None, request=request)
        if error.refusal_code in _NO_ANSWER and self._gateway.leaves_to_executors(tool):
            warn("what an executor makes of a call of %s is not known: %s", tool, error)
            return Refused(code=RefusalCode.LEFT_TO_EXECUTOR, reason="the gateway does not answer", request=request)
        warn("a call of %s is not approved: %s", tool, error)
        reason = error.detail if error.refusal_code is not RefusalCode.GATEWAY_AWAY else None
        if reason is None and error.refusal_code is RefusalCode.CALL_REFUSED:
            reason = str(error)
        return Refused(code=error.refusal_code, reason=reason, request=request)

    def _filed(self, call: ToolCall) -> tuple[ToolCall, str] | Refused:
        """The call as it is at this moment, and its key: what its caller changes of it later is not what was judged.

        Its arguments are what JSON makes of them, whoever decides: what people or a rule allowed runs with the same.
        """
        import json

        try:
            same = json.loads(json.dumps(call.arguments, allow_nan=False))
            call = replace(call, arguments=same, session=call.session or self._session or self._gateway.session)
            return call, call_key(call) or self._gateway.pace.new_id("idem")
        except (TypeError, ValueError, RecursionError) as fault:  # also half of a surrogate pair
            place = not_json(call.arguments)
            return Refused(code=RefusalCode.BAD_ARGUMENTS, reason=f"they are not JSON: {place or fault}")

    def end(self, deadline: float | None) -> float | None:
        """The instant of the pace's clock at which an answer must be there. Raises for what is no span of time."""
        span = seconds(deadline, "deadline")
        return None if span is None else self._gateway.pace.monotonic() + span

    def _left(self, end: float | None) -> float | None:
        return None if end is None else max(0.0, end - self._gateway.pace.monotonic())


def call_key(call: ToolCall) -> str | None:
    """The key of one call of one run, so that a replay meets its earlier request; None where nothing tells it apart.

    Raises what `json.dumps` raises for arguments that are not JSON.
    """
    import json

    named = [call.session, call.parent_session, call.sub_agent, call.call_id, call.tool, call.arguments]
    text = json.dumps(named, allow_nan=False, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    if call.session is None or call.call_id is None:
        return None
    import hashlib

    return f"gate_{hashlib.sha256(text).hexdigest()}"


def _anew(key: str, request: Request) -> str:
    """The key under which a call is asked about whose approval was spent for nothing: the same in every replay."""
    import hashlib

    return f"gate_{hashlib.sha256(f'{key} {request.id}'.encode()).hexdigest()}"


def _permission(taken: Taken) -> Permission:
    claimed = taken.claimed
    return Permission(arguments=claimed.arguments, claimed=claimed, changes=taken.changes, request=taken.request)


def _denied(verdict: Denied) -> Refused:
    if verdict.hook is not None:
        return Refused(code=RefusalCode.BLOCKED, rule=verdict.hook, reason=verdict.reason)
    return Refused(code=RefusalCode.DENIED_BY_RULE, rule=verdict.rule, reason=verdict.reason)
