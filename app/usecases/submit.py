"""Judge a tool call: answer at once, or open the durable question and let its cards go out."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from app.domain.audit import Kind, Record
from app.domain.errors import ConflictError, IdempotencyMismatchError, NotFoundError, TooManyError, WrongScopeError
from app.domain.execution import lapse
from app.domain.lifecycle import DeadlinePassed, advance, opened
from app.domain.policy import Allow, Ask, Deny
from app.domain.quorum import reachable
from app.domain.request import API, ConfirmationRequest, State
from app.domain.timetable import timetable
from app.domain.tool import title_for
from app.domain.tool_call import ToolCall, attach_key, binding_digest, call_digest
from app.domain.visible import visible
from app.storage.edited_requests import find_edited
from app.storage.memory import find_key, remember_key
from app.storage.request_lists import count_pending
from app.storage.requests import find_attached, find_request, lock_request
from app.usecases.call_records import facts_of, notes_of, ruled, why
from app.usecases.carry_out import carry_out, open_request
from app.usecases.cool_down import denied_before
from app.usecases.electorate import voters_at_first
from app.usecases.hold_cards import held, hold_cards
from app.usecases.judge_call import NOTHING_SAID, Said, Submission
from app.usecases.pauses import PAUSED, told
from app.usecases.stop_paused import call_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.domain.errors import AssentError
    from app.domain.seals import Seals
    from app.storage.store import Store
    from app.storage.transaction import Tx
    from app.usecases.channel_book import ChannelBook
    from app.usecases.judge_call import JudgeCall, Judged
    from app.usecases.quota import Quota

__all__ = ("Answered", "Asked", "Submission", "Submit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Allowed or denied at once, by a rule or (`hook` is set) by a hook; `fault`: by a hook that failed."""

    allowed: bool
    rule_id: str | None
    reason: str
    hook: str | None = None
    fault: bool = False
    said: Said = NOTHING_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request stands for the call. `attached`: it stood before, and nothing new was posted."""

    request: ConfirmationRequest
    attached: bool
    said: Said = NOTHING_SAID


class Submit:
    """The use case."""

    def __init__(self, *, store: Store, judge: JudgeCall, channels: ChannelBook, seals: Seals, quota: Quota) -> None:
        """Take what it works on."""
        self._store = store
        self._judge = judge
        self._channels = channels
        self._seals = seals
        self._quota = quota

    async def __call__(self, submission: Submission) -> Answered | Asked:
        """Judge a call.

        Raises UnknownToolError, BadArgumentsError, InvalidError, IdempotencyMismatchError, TooManyError,
        UnavailableError: each of them means that the tool must not run.
        """
        pause = await self._judge.find_pause(submission)
        if pause is not None:  # before any hook runs or counts, and whatever stands for the call already
            await self._store.write(lambda tx: tx.append(call_refused(submission, pause)), org=submission.org)
            return Answered(allowed=False, rule_id=PAUSED, reason=told(pause))
        judged = await self._judge(submission)
        key = submission.idempotency_key
        match judged.ruling:
            case Ask() if not submission.evaluation:
                found = await self._ask(judged, judged.ruling, key)
            case Ask():
                found = await self._bypass(judged, judged.ruling)
            case Allow() | Deny():
                found = await self._answer(judged, judged.ruling, key)
            case _:
                assert_never(judged.ruling)
        return replace(found, said=judged.said)

    async def _answer(self, judged: Judged, ruling: Allow | Deny, key: str | None) -> Answered | Asked:
        call, hook = judged.call, judged.hook
        sub_agent = judged.sub_agent
        answered = Answered(
            allowed=isinstance(ruling, Allow),
            rule_id=ruling.rule_id if hook is None else None,
            reason=ruling.reason,
            hook=hook,
            fault=judged.fault,
        )
        notes = notes_of(judged)
        if not ruling.record and key is None and not notes:
            return answered

        def unit(tx: Tx) -> Answered | Asked | AssentError:
            # People were asked under this key before: their answer stands, whatever the rules say by now. A hook that
            # denies is heard all the same.
            named = _named(call_digest(judged.submitted), sub_agent)
            standing = _by_key(tx, call, named, key) if hook is None else None
            if isinstance(standing, Asked) and judged.said.route is not None:
                return _unroutable(answered, judged.said.route.provider)
            if standing is not None:
                return standing
            if ruling.record:
                tx.append(ruled(judged, ruling, allowed=answered.allowed))
            for note in notes:
                tx.append(note)
            return answered

        return await self._store.write(unit, org=call.org)

    async def _bypass(self, judged: Judged, ruling: Ask) -> Answered:
        """Answer an evaluation run's question without people, and say so in the trail."""
        facts = {**facts_of(judged, ruling), "reason": why(ruling)}
        record = Record(kind=Kind.EVALUATION_BYPASSED, actor=f"agent:{judged.call.agent}", facts=facts)

        def unit(tx: Tx) -> None:
            for each in (record, *notes_of(judged)):
                tx.append(each)

        await self._store.write(unit, org=judged.call.org)
        return Answered(
            allowed=True, rule_id=ruling.rule_id, reason=f"An evaluation run: nobody was asked. {why(ruling)}"
        )

    async def _ask(self, judged: Judged, ruling: Ask, key: str | None) -> Answered | Asked:
        call, policy = judged.call, judged.policy
        stages = ruling.asking.stages
        if not reachable(stages, voters_at_first(call, stages, policy)):
            nobody = Deny(
                rule_id=ruling.rule_id,
                reason="Nobody who may approve this is left once the requester, the agent's owner and those above "
                "their limit are taken out.",
                policy_version=ruling.policy_version,
                trace=ruling.trace,
                record=True,
            )
            return await self._answer(judged, nobody, key)
        targets = {name: self._channels.get(call.org, name).chat_id for name in ruling.asking.channels if name != API}
        of_digest = call_digest(call)
        of_submitted = _named(
            of_digest if call is judged.submitted else call_digest(judged.submitted), judged.sub_agent
        )
        attached_by = attach_key(call, of_digest)

        def come_back(tx: Tx) -> Asked | AssentError | None:
            standing = _standing(tx, call, of_submitted, attached_by, key)
            return standing if judged.sub_agent is None else _with_its_people(standing, ruling)

        def unit(tx: Tx) -> Answered | Asked | AssentError:
            standing = come_back(tx)
            if standing is not None:
                return standing
            denied = denied_before(tx, judged, ruling, of_digest=of_digest)
            if denied is not None:
                return _turn_away(tx, judged, *denied)
            request = self._build(tx, judged, ruling, of_digest=of_digest)
            _begin(tx, request, judged, targets)
            opener = _opener(judged.evaluation_key, request.id) if judged.evaluation_key is not None else None
            for name in filter(None, (key, opener)):
                remember_key(tx, call.agent, name, call_digest=of_submitted, request_id=request.id)
            return Asked(request=request, attached=False)

        try:
            return await self._open(call, unit)
        except TooManyError:
            # A repetition opens nothing: it may come back to its request however many others wait.
            known = await self._store.write(come_back, org=call.org)
            if known is None:
                raise
            return known

    async def ask_again(self, judged: Judged, ruling: Ask) -> Answered | Asked:
        """Open a request in the place of the expired one that `judged` names, once; later calls return the same one.

        Raises TooManyError, UnavailableError, IdempotencyMismatchError.
        """
        # No caller's key has a line break: nobody else can stand on it.
        return await self._ask(judged, ruling, f"asked again\n{judged.predecessor_id}")

    async def refuse_foreign(self, org: str, request_id: str, *, agent: str, evaluation_key: str) -> None:
        """Refuse an evaluation key a request that it did not open itself. Raises WrongScopeError, NotFoundError."""

        def unit(tx: Tx) -> bool:
            request = find_request(tx, request_id)
            if request is None or request.call.agent != agent:
                raise NotFoundError
            return opened_with(tx, request, evaluation_key)

        if not await self._store.read(unit, org=org):
            raise WrongScopeError("an evaluation key claims and settles only what it opened itself, within a day")

    async def _open(self, call: ToolCall, unit: Callable[[Tx], Answered | Asked | AssentError]) -> Answered | Asked:
        """Open the request if the agent may have one more waiting. Raises TooManyError."""
        if not self._quota.has_place(call.org, call.agent):
            # What was settled since the last count is not in it: nobody is refused on an old number.
            pending = await self._store.read(lambda tx: count_pending(tx, call.agent), org=call.org, long=True)
            self._quota.counted(call.org, call.agent, pending)
        with self._quota.place(call.org, call.agent) as keep:
            found = await self._store.write(unit, org=call.org)
            if isinstance(found, Asked) and not found.attached:
                keep()
        return found

    def _build(self, tx: Tx, judged: Judged, ruling: Ask, *, of_digest: str) -> ConfirmationRequest:
        call, tool = judged.call, judged.tool
        now, asking = tx.now(), ruling.asking
        request_id, nonce = tx.ids.new("req"), tx.ids.new("n")
        expires_at = now + asking.timeout
        bound = binding_digest(
            call, request_id=request_id, nonce=nonce, policy_version=judged.policy.version, expires_at=expires_at
        )
        return ConfirmationRequest(
            id=request_id,
            call=call,
            call_digest=of_digest,
            digest=bound,
            nonce=nonce,
            code=self._seals.code(nonce=nonce, digest=bound),
            title=visible(title_for(tool, call.arguments, judged.policy.language.value)),
            pinned=tool.pin,
            sensitive=tool.sensitive,
            rule_id=ruling.rule_id,
            policy_version=judged.policy.version,
            why=why(ruling),
            stages=asking.stages,
            channels=asking.channels,
            claim_within=asking.claim_within,
            lease=asking.lease,
            created_at=now,
            expires_at=expires_at,
            predecessor_id=judged.predecessor_id,
            risk=asking.risk,
            fallback=asking.fallback,
            timers=timetable(now, asking.timeout, remind=asking.remind, escalate=asking.escalate),
        )


def _begin(tx: Tx, request: ConfirmationRequest, judged: Judged, targets: Mapping[str, str]) -> None:
    """Write a request, with its cards: they go out at once, or when people are to be asked about such a call."""
    posting = hold_cards(tx, request, judged.policy)
    open_request(tx, opened(request, sub_agent=judged.sub_agent), targets=targets, due_at=posting.at)
    if posting.held is not None:
        tx.append(held(posting, request), request_id=request.id)
    if judged.predecessor_id is not None and judged.asked_again_by is not None:
        facts = {"successor": request.id, "code": request.code}
        again = Record(kind=Kind.REOPENED, actor=judged.asked_again_by, facts=facts)
        tx.append(again, request_id=judged.predecessor_id)
    for note in notes_of(judged):
        tx.append(note, request_id=request.id)


def _turn_away(tx: Tx, judged: Judged, refusal: Deny, record: Record) -> Answered:
    """Refuse a call without asking anybody, and say so in the trail."""
    for each in (record, *notes_of(judged)):
        tx.append(each)
    return Answered(allowed=False, rule_id=refusal.rule_id, reason=refusal.reason)


def opened_with(tx: Tx, request: ConfirmationRequest, evaluation_key: str) -> bool:
    """Say whether an evaluation key opened a request, within the time for which idempotency keys are remembered."""
    return find_key(tx, request.call.agent, _opener(evaluation_key, request.id)) is not None


def _opener(evaluation_key: str, request_id: str) -> str:
    return f"opened by\n{evaluation_key}\n{request_id}"  # no caller's key has a line break


def _named(of_digest: str, sub_agent: str | None) -> str:
    """Tell a sub-agent's call from the agent's own: people were asked about one of them."""
    return of_digest if sub_agent is None else hashlib.sha256(f"{of_digest}{sub_agent}".encode()).hexdigest()


def _with_its_people(standing: Asked | AssentError | None, ruling: Ask) -> Asked | AssentError | None:
    """Keep a sub-agent's call off a request of the agent's own for which fewer people are asked."""
    if not isinstance(standing, Asked) or Counter(ruling.asking.stages) <= Counter(standing.request.stages):
        return standing
    return ConflictError("a request for the same call stands in this session, without this sub-agent's people")


def _unroutable(answered: Answered, provider: str) -> Answered:
    why = (
        f"It may only run in the sandbox {provider!r}, and a request stands for this idempotency key: an approval "
        "cannot carry the sandbox to its run."
    )
    return replace(answered, allowed=False, reason=why)


def _standing(
    tx: Tx, call: ToolCall, of_digest: str, attached_by: str | None, key: str | None
) -> Asked | AssentError | None:
    """Find the request on which this call already stands."""
    by_key = _by_key(tx, call, of_digest, key)
    if by_key is not None:
        return by_key
    standing_id = (find_attached(tx, attached_by) or _changed_to(tx, call)) if attached_by else None
    locked = lock_request(tx, standing_id) if standing_id else None
    if locked is None:
        return None
    request, now = locked
    # Its time may be over without the sweep having come by: then it is settled here, and the call asks anew.
    over = lapse(request, now=now) if request.status.final else advance(request, DeadlinePassed(), now=now)
    if over.refusal is None:
        carry_out(tx, request, over)
        return None
    return Asked(request=request, attached=True)


def _changed_to(tx: Tx, call: ToolCall) -> str | None:
    """Find the request that people changed to this very call: the agent makes it as it was told to."""
    if call.session is None:
        return None
    return find_edited(tx, call.agent, call.session, call_digest(call), states={State.PENDING, State.APPROVED})


def _by_key(tx: Tx, call: ToolCall, of_digest: str, key: str | None) -> Asked | AssentError | None:
    """Find the request for which an idempotency key stands; refuse a key that stands for another call."""
    known = find_key(tx, call.agent, key) if key is not None else None
    if known is None:
        return None
    if known[0] != of_digest:
        return IdempotencyMismatchError()
    request = find_request(tx, known[1])
    return Asked(request=request, attached=True) if request else None
