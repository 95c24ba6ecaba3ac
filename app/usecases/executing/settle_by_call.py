"""Settle the execution that a finished tool call belonged to, for runtimes that only tell that the tool has run.

Whoever claimed may be another process, long gone: the request is found by its own id, by the call's, or (where the
runtime gives calls no id) by what was called. An outcome of what nobody claimed changes nothing, and is answered so.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.call.tool import checked
from app.domain.call.tool_call import ToolCall, call_digest
from app.domain.errors import AssentError, LackingSecretError
from app.domain.lifecycle.execution import report
from app.domain.lifecycle.lifecycle import Refusal
from app.domain.request.redact import scrubbed_for
from app.domain.request.request import UNCERTAIN_STATES, State
from app.domain.rules.policy import tools_of
from app.storage.requests.request_lists import find_call, find_call_by_digest
from app.storage.requests.requests import find_edited, lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.executing.opened_with import opened_with
from app.usecases.writing.carry_out import carry_out
from assent.hooks.contract.tool_names import canonical_name

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest, ExecutionStatus
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.executing.claim import Caller

_LONGEST_ERROR = 300


class FinishedCall(Struct, frozen=True, kw_only=True):
    """A call that has run, as the agent's runtime names it."""

    tool: str
    arguments: object
    session: str | None = None
    call_id: str | None = None
    request_id: str | None = None
    evaluation_key: str | None = None
    """The id of the reporting key, if it is one of scope evaluation: it settles only what it opened itself."""


class Settled(Struct, frozen=True, kw_only=True):
    """What became of the report. `changed`: this very report settled the execution; `note` says why not otherwise."""

    request: ConfirmationRequest | None
    changed: bool
    note: str


class SettleByCall:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def __call__(
        self, caller: Caller, call: FinishedCall, *, status: ExecutionStatus, error: str | None
    ) -> Settled:
        """Record the outcome of the execution that the call was. The same outcome again changes nothing."""
        agent, of_digest = str(caller.agent), self._digest(caller, call)

        def unit(tx: Tx) -> Settled | AssentError:
            request_id = _find(tx, agent, call, of_digest)
            locked = lock_request(tx, request_id) if request_id else None
            if locked is None and request_id and isinstance(why := why_missing(tx, request_id), LackingSecretError):
                return why
            if locked is None or locked[0].call.agent != agent:
                return Settled(request=None, changed=False, note="no request of this agent belongs to this call")
            request, now = locked
            why = _contradiction(request, call) or _other_arguments(request, call, of_digest)
            if why is not None:
                note = f"the request {request.id} is of {why}: nothing was recorded"
                return Settled(request=None, changed=False, note=note)
            if call.evaluation_key is not None and not opened_with(tx, request, call.evaluation_key):
                note = "this evaluation key did not open the request of this call: nothing was recorded"
                return Settled(request=None, changed=False, note=note)
            if request.enforced:
                note = "this tool runs behind an executor, which alone reports its outcome: nothing was recorded"
                return Settled(request=request, changed=False, note=note)
            if request.execution is None:
                note = f"the request is {request.state.value} and was not claimed: nothing was recorded"
                return Settled(request=request, changed=False, note=note)
            step = report(
                request,
                claim_id=request.execution.claim_id,
                status=status,
                result=None,
                error=scrubbed_for(error, request)[:_LONGEST_ERROR] if error else None,
                by=caller.actor,
                now=now,
            )
            return _settled(carry_out(tx, request, step), step.refusal, status)

        return await self._store.write(unit, org=caller.org, about=call.request_id or "")

    def _digest(self, caller: Caller, call: FinishedCall) -> str | None:
        """Name the call as it was named when it was asked about; None if it has an id, or could never have been."""
        if call.request_id is not None or call.call_id is not None or call.session is None:
            return None
        policy = self._book.current(caller.org).policy
        try:
            arguments = checked(tools_of(policy, call.tool), call.arguments)
        except AssentError:
            return None
        return call_digest(
            ToolCall(
                org=caller.org,
                agent=str(caller.agent),
                session=call.session,
                call_id=None,
                tool=call.tool,
                arguments=arguments,
                requester=None,
                owner=None,
                claim=None,
            )
        )


def _find(tx: Tx, agent: str, call: FinishedCall, of_digest: str | None) -> str | None:
    if call.request_id is not None:
        return call.request_id
    if call.session is None:
        return None
    if call.call_id is not None:
        return find_call(tx, agent, call.session, call_id=call.call_id, claim_id=claim_of(call.session, call.call_id))
    if of_digest is None:
        return None
    changed = find_edited(tx, agent, call.session, of_digest, states=UNCERTAIN_STATES | {State.EXECUTING})
    return changed or find_call_by_digest(tx, agent, call.session, of_digest)


def _contradiction(request: ConfirmationRequest, call: FinishedCall) -> str | None:
    """Say in what the named request is another call's; None if nothing that is known of both differs."""
    asked = request.call
    if canonical_name(call.tool) != canonical_name(asked.tool):
        return "another tool"
    if call.session is not None and asked.session is not None and call.session != asked.session:
        return "another session"
    if call.call_id is None or asked.call_id is None or call.call_id == asked.call_id:
        return None
    # A call that came back under a new id joined the request of the old one: then the claim was made for the new id.
    execution, session = request.execution, asked.session or call.session or ""
    joined = execution is not None and execution.claim_id == claim_of(session, call.call_id)
    return None if joined else "another call"


def _other_arguments(request: ConfirmationRequest, call: FinishedCall, of_digest: str | None) -> str | None:
    """Refuse, for a request that people changed and that only its arguments name, a call with those of before."""
    if call.request_id is not None or of_digest is None or request.proposed is None:
        return None
    return None if call_digest(request.call) == of_digest else "other arguments: people changed them"


def claim_of(session: str, call_id: str) -> str:
    """Return the claim id that the hook command makes for a call (`assent.command.hosts.event.Event.claim_id`)."""
    return "clm_" + hashlib.sha256(f"{session}\n{call_id}".encode()).hexdigest()


def _settled(request: ConfirmationRequest, refusal: Refusal | None, status: ExecutionStatus) -> Settled:
    if refusal is None:
        return Settled(request=request, changed=True, note=f"recorded: {request.state.value}")
    stands = request.execution
    if refusal is Refusal.REPEATED or (stands is not None and stands.status is status):
        return Settled(request=request, changed=False, note=f"already recorded: {request.state.value}")
    return Settled(
        request=request, changed=False, note=f"another outcome stands already: {request.state.value}; nothing changed"
    )
