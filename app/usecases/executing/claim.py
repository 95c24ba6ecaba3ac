"""Spend an approval, and report what came of it: the only way to the execution of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from app.domain.card.card_for import message_for_model
from app.domain.errors import (
    AlreadyClaimedError,
    AssentError,
    DigestMismatchError,
    GrantLapsedError,
    NotApprovedError,
    NotFoundError,
    NotStartedError,
    OutcomeConflictError,
    UnavailableError,
    WrongScopeError,
)
from app.domain.lifecycle import execution
from app.domain.lifecycle.lifecycle import Refusal
from app.domain.lifecycle.restored import RESTORED, fence, is_open
from app.domain.request.decision import Verdict
from app.domain.request.quorum import counted, met, worth_enough
from app.domain.request.redact import place_for, scrubbed_for
from app.domain.request.request import GrantStatus
from app.storage.requests.requests import find_request, lock_request, lock_to_claim
from app.storage.requests.sealing import why_missing
from app.usecases.executing.read_only import has_own_guards, held_back, held_back_by_own, may_hold_back
from app.usecases.executing.still_allowed import BEHIND_AN_EXECUTOR, why_not_allowed, why_not_approved
from app.usecases.hooks.known_call import KnownOnRow
from app.usecases.pauses.stop_paused import claim_refused
from app.usecases.voters.electorate import awaits_directory, voters_of, without_account
from app.usecases.writing.carry_out import carry_out
from assent.hooks.engine.observer import UNOBSERVED, Observer

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.domain.request.elsewhere import Elsewhere
    from app.domain.request.request import ConfirmationRequest, ExecutionStatus
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.requests.requests import Held
    from app.usecases.hooks.known_call import HookBook, KnownCall


_ANOTHER_CLAIM = "it was claimed under another claim_id: whoever has that one reports what came of it"
_UNTOLD = "whether those who approved still may was not told yet, since the gateway was started: claim it again"


def _nothing(_: str) -> bool:
    return False


class Caller(Struct, frozen=True, kw_only=True):
    """Who claims, reports and reconciles, as the key says: an agent, an executor (its key's id), or an administrator.

    With neither `agent` nor `executor` it is a person with an administrator's key, whom `by` names.
    """

    org: str
    agent: str | None = None
    executor: str | None = None
    by: str | None = None
    runs: Callable[[str], bool] = _nothing
    """Which tools an executor's key may run."""

    @property
    def actor(self) -> str:
        """How the trail names it."""
        if self.agent is not None:
            return f"agent:{self.agent}"
        return f"key:{self.executor}" if self.executor is not None else self.by or "system"

    def refused(self, request: ConfirmationRequest, *, people: bool = False) -> AssentError | None:
        """Say why this caller may not claim or settle a request; None if it may.

        What is enforced is an executor's whose key names the tool, whoever asked; everything else is the agent's that
        asked. `people`: an administrator may as well.
        """
        if self.agent is None and self.executor is None:
            return None if people else WrongScopeError("this needs a key of scope agent or executor")
        if self.agent is not None and request.call.agent != self.agent:
            return NotFoundError()
        if self.agent is not None and request.enforced:
            return WrongScopeError("this tool runs behind an executor: wait for its outcome")
        if self.executor is not None and not (request.enforced and self.runs(request.call.tool)):
            return NotFoundError()
        return None

    def refused_to_settle(self, request: ConfirmationRequest, *, people: bool = False) -> AssentError | None:
        """Say why this caller may not say what became of a request: as `refused`, and what another key claimed."""
        refused = self.refused(request, people=people)
        claimed_by = request.execution.claimed_by if request.execution else None
        if refused is None and self.executor is not None and claimed_by not in {None, self.actor}:
            return WrongScopeError("another key claimed this: only that key, or an administrator, settles it")
        return refused


class Claimed(NamedTuple):
    """What a claim yields: the request, and how many restores of the database were declared when it was handed out."""

    request: ConfirmationRequest
    epoch: int


class Claim:
    """Spend the grant, at most once, and hand out the stored arguments."""

    def __init__(self, *, store: Store, hooks: HookBook, observer: Observer = UNOBSERVED) -> None:
        """Take what it works on. `observer` watches the read-only guards at work."""
        self._store = store
        self._hooks = hooks
        self._observer = observer

    async def __call__(self, caller: Caller, *, request_id: str, digest: str, claim_id: str) -> ConfirmationRequest:
        """Do as `take` does, for a caller that does not look at the epoch."""
        return (await self.take(caller, request_id=request_id, digest=digest, claim_id=claim_id)).request

    async def take(self, caller: Caller, *, request_id: str, digest: str, claim_id: str) -> Claimed:
        """Consume the grant and start the execution; the same `claim_id` again gets the same answer.

        Those who approved must still be entitled, by the configuration of this instant, and what a rule or a standing
        approval let through must still be let through; else the grant is taken back.
        While people have paused the tool, the agent or the org, or switched what writes off, nothing is handed out, and
        the grant is not spent: both are judged behind the lock of the row, as the switches stand there.
        Raises NotFoundError (also for another agent's request), WrongScopeError (an agent's key, for what an executor
        runs), NotApprovedError, AlreadyClaimedError, GrantLapsedError, DigestMismatchError, ReadOnlyError, PausedError,
        UnavailableError.
        """
        loaded, registry = self._hooks.current(caller.org)
        if loaded.hooks and has_own_guards(registry):
            await self._ask_own_guards(caller, request_id)

        def unit(tx: Tx) -> Claimed | AssentError:
            locked = lock_to_claim(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            refused = caller.refused(locked.request)
            if refused is not None:
                return refused
            if digest != locked.request.digest:
                return DigestMismatchError()
            try:
                known = KnownOnRow(tx, self._hooks, locked.request)
            except AssentError as unknown:
                return unknown
            if known.registry is not registry and known.loaded.hooks and has_own_guards(known.registry):
                return UnavailableError("the hooks of this org have changed just now: claim it again", retry_after=1)
            return _taken_back(tx, known, locked) or self._hand_out(tx, caller, known, locked, claim_id)

        return await self._store.write(unit, org=caller.org, about=request_id)

    def _hand_out(
        self, tx: Tx, caller: Caller, known: KnownOnRow, locked: Held, claim_id: str
    ) -> Claimed | AssentError:
        request = locked.request
        execution_id = tx.ids.new("exe")
        step = execution.claim(request, execution_id=execution_id, claim_id=claim_id, by=caller.actor, now=locked.now)
        if step.refusal in {None, Refusal.REPEATED}:  # it would be handed out, perhaps once more
            stopped = self._stopped(tx, caller, known, locked)
            if stopped is not None:
                return stopped
        after = carry_out(tx, request, step)
        return _refusal(step.refusal, after) or Claimed(after, locked.epoch)

    def _stopped(self, tx: Tx, caller: Caller, known: KnownOnRow, locked: Held) -> AssentError | None:
        """Say why nothing is handed out right now, though the approval stands: read-only mode, or a pause."""
        # Where the file declares no hook, there is but the built-in guard, which asks a switch.
        if not locked.any_switch and not (known.loaded.hooks and may_hold_back(known.registry)):
            return None
        found = known.find()
        if isinstance(found, AssentError):
            return found
        denied = held_back(found, locked.request, now=locked.now, observer=self._observer)
        if denied is not None:
            return denied
        pause = found.pause(locked.request.call.tool)
        return claim_refused(tx, locked.request, pause, by=caller.actor) if pause is not None else None

    async def _ask_own_guards(self, caller: Caller, request_id: str) -> None:
        """Ask the guards that the org has made itself. Raises NotFoundError, WrongScopeError, ReadOnlyError."""

        def look(tx: Tx) -> tuple[ConfirmationRequest, KnownCall, datetime] | AssentError:
            request = find_request(tx, request_id)
            refused = NotFoundError() if request is None else caller.refused(request)
            if request is None or refused is not None:
                return refused or NotFoundError()
            known = KnownOnRow(tx, self._hooks, request).find()
            return known if isinstance(known, AssentError) else (request, known, tx.now())

        request, known, now = await self._store.read(look, org=caller.org)
        denied = await held_back_by_own(known, request, now=now, observer=self._observer)
        if denied is not None:
            raise denied


def _taken_back(tx: Tx, known: KnownOnRow, locked: Held) -> AssentError | None:
    """Take back what stands no longer: what was approved before a restore, or what today's file would not let pass."""
    request, now = locked.request, locked.now
    if locked.restored_at is not None and request.created_at <= locked.restored_at and is_open(request):
        after = carry_out(tx, request, fence(request, now=now))
        return NotApprovedError(RESTORED, state=after.state.value)
    gone = _gone(tx, known, request, now)
    if gone is None or isinstance(gone, AssentError):
        return gone
    why, lost = gone
    revoked = execution.revoke(request, why=why, lost=lost, now=now)
    after = carry_out(tx, request, revoked)
    return _refusal(revoked.refusal, after) or NotApprovedError(state=after.state.value)


def _gone(
    tx: Tx, known: KnownOnRow, request: ConfirmationRequest, now: datetime
) -> tuple[str, frozenset[str]] | AssentError | None:
    """Return why an unspent approval stands no longer, and whose part of it counts no more; None if it stands.

    Or, where nobody can say yet, UnavailableError: it is not handed out, and it does not end.
    """
    grant = request.grant
    if request.execution is not None or grant is None or grant.status is not GrantStatus.ISSUED:
        return None
    if not request.enforced and known.loaded.policy.is_enforced(request.call.tool):
        return BEHIND_AN_EXECUTOR, frozenset()
    if request.allowed_by is not None:
        why = why_not_allowed(tx, known, request, now=now)
        return (why, frozenset[str]()) if why is not None else None
    voters = voters_of(request, known.loaded.policy, now=now, without=without_account(tx, request))
    is_met = met(request.stages, request.decisions, voters, request.assurance)
    if not is_met and awaits_directory(request.call, request.stages, known.loaded.policy):
        return UnavailableError(_UNTOLD, retry_after=2)
    if is_met:
        is_same = known.loaded.policy.version == request.policy_version
        why = None if is_same else why_not_approved(known.loaded, known.agents(), request, now=now)
        return (f"the approval no longer stands: {why}", frozenset[str]()) if why is not None else None
    approved = {decision.person for decision in request.decisions if decision.verdict is Verdict.APPROVE}
    lost = frozenset(approved - counted(worth_enough(request.decisions, request.assurance), voters))
    return _sentence(lost), lost


def _sentence(lost: frozenset[str]) -> str:
    who = ", ".join(sorted(lost)) or "those who approved"
    return f"the approval no longer stands: {who} may not approve this any more; ask again"


class Report:
    """Record what the tool did."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(
        self,
        caller: Caller,
        *,
        request_id: str,
        claim_id: str,
        status: ExecutionStatus,
        result: str | None,
        error: str | None,
        elsewhere: Elsewhere | None = None,
    ) -> ConfirmationRequest:
        """Settle the execution that this `claim_id` started; the same outcome again is answered like the first time.

        Raises NotFoundError, WrongScopeError, NotStartedError, AlreadyClaimedError, OutcomeConflictError.
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            refused = caller.refused_to_settle(request)
            if refused is not None:
                return refused
            step = execution.report(
                request,
                claim_id=claim_id,
                status=status,
                result=result,
                error=scrubbed_for(error, request) if error else error,
                by=caller.actor,
                now=now,
                elsewhere=place_for(elsewhere, request),
            )
            after = carry_out(tx, request, step)
            if step.refusal is Refusal.CLAIMED:
                return AlreadyClaimedError(_ANOTHER_CLAIM, state=after.state.value)
            return _refusal(step.refusal, after) or after

        return await self._store.write(unit, org=caller.org, about=request_id)


def _refusal(refusal: Refusal | None, request: ConfirmationRequest) -> AssentError | None:
    state = request.state.value
    match refusal:
        case None | Refusal.REPEATED:
            return None
        case Refusal.CLAIMED:
            return AlreadyClaimedError(state=state)
        case Refusal.LAPSED:
            # Taken back is not late: then the request says why, as its agent may read it.
            is_revoked = request.grant is not None and request.grant.status is GrantStatus.REVOKED
            return GrantLapsedError(message_for_model(request) if is_revoked else "", state=state)
        case Refusal.REVOKED:
            return NotApprovedError(request.revoked_why or "", state=state)
        case Refusal.NOT_STARTED:
            return NotStartedError(state=state)
        case Refusal.OUTCOME_CONFLICT:
            return OutcomeConflictError(state=state)
        case _:
            return NotApprovedError(f"the request is {state}", state=state)
