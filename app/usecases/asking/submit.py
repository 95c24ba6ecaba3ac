"""Judge a tool call: answer at once, or open the durable question and let its cards go out."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import structlog
from msgspec.structs import replace

from app.domain.call.submission import Submission
from app.domain.call.tool_call import attach_base, call_digest
from app.domain.errors import ExecutorOnlyError, NotFoundError, WrongScopeError
from app.domain.request.request import API
from app.domain.rules.policy import Allow, Ask, Deny, why
from app.domain.trail.audit import Kind, Record
from app.storage.requests.requests import find_request
from app.storage.requests.seen_before import remember_key
from app.usecases.asking.opening import Answered, Asked, Opening
from app.usecases.asking.standing_call import Doubted, StandingCall, by_key, named_digest
from app.usecases.executing.opened_with import opened_with, opener_key
from app.usecases.judging.call_records import facts_of, ruled
from app.usecases.judging.denied_before import denials_sought, near_copies
from app.usecases.pauses.pauses import PAUSED, told
from app.usecases.pauses.stop_paused import call_refused
from app.usecases.permits.permit_before import glass_channels

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from app.domain.errors import AssentError
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.asking.quota import Quota
    from app.usecases.judging.judge_call import JudgeCall, Judged
    from app.usecases.platforms.channel_book import ChannelBook

__all__ = ("Answered", "Asked", "Submission", "Submit")

log = structlog.get_logger(__name__)

_NOT_TO_CLAIM = "this tool runs behind an executor: leave `claim_id` out, and wait for its outcome"


class Submit:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        judge: JudgeCall,
        channels: ChannelBook,
        seals: Seals,
        quota: Quota,
        attended: Callable[[str, str, int], Awaitable[bool]],
        prove: Callable[[Submission], Awaitable[Submission]],
    ) -> None:
        """Take what it works on. `attended` says whether somebody waits for a request (org, id, version).

        `prove` looks at the token by which the caller proves who asked.
        """
        self._store = store
        self._judge = judge
        self._channels = channels
        self._seals = seals
        self._quota = quota
        self._attended = attended
        self._prove = prove

    async def __call__(self, submission: Submission, *, claims: bool = False) -> Answered | Asked:
        """Judge a call. `claims`: the caller means to spend the approval itself, which for some tools it may not.

        Raises UnknownToolError, BadArgumentsError, InvalidError, IdempotencyMismatchError, TooManyError,
        UnavailableError, ExecutorOnlyError: each of them means that the tool must not run.
        """
        if submission.requester_token is not None:
            submission = await self._prove(submission)
        known = await self._judge.look_up(submission)
        pause = known.pause(submission.tool)
        if pause is not None:  # before any hook runs or counts, and whatever stands for the call already
            await self._store.write(lambda tx: tx.append(call_refused(submission, pause)), org=submission.org)
            return Answered(allowed=False, rule_id=PAUSED, reason=told(pause))
        judged = await self._judge(submission, known)
        key = submission.idempotency_key
        if claims and judged.tool.enforced and not isinstance(judged.ruling, Deny):
            raise ExecutorOnlyError(_NOT_TO_CLAIM)  # now, for nobody is to be asked in vain
        match judged.ruling:
            case Ask() if submission.evaluation:
                found = await self._bypass(judged, judged.ruling)
            case Ask():
                found = await self._settle(judged, judged.ruling, key, joins=submission.joins)
            case Allow() if not submission.evaluation and (
                judged.payments or judged.tool.enforced or await self._is_near_copy(judged)
            ):
                found = await self._settle(judged, judged.ruling, key, joins=submission.joins)
            case Allow() | Deny():
                found = await self._answer(judged, judged.ruling, key)
            case _:
                assert_never(judged.ruling)
        return replace(found, said=judged.said)

    async def _is_near_copy(self, judged: Judged) -> bool:
        """Say whether people denied a call like this one; it is then weighed, and never allowed by a rule alone."""
        if judged.hook is not None or not judged.tool.pin or not judged.policy.attention.remember_denials:
            return False
        found = await self._store.read(lambda tx: near_copies(tx, judged, now=tx.now()), org=judged.call.org)
        return bool(found)

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
        notes = judged.notes
        if not ruling.record and key is None and not notes:
            return answered

        def unit(tx: Tx) -> Answered | Asked | AssentError:
            # People were asked under this key before: their answer stands, whatever the rules say by now. A hook that
            # denies is heard all the same.
            named = named_digest(call_digest(judged.submitted), sub_agent)
            standing = by_key(tx, call, named, key) if hook is None else None
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
            for each in (record, *judged.notes):
                tx.append(each)

        await self._store.write(unit, org=judged.call.org)
        return Answered(
            allowed=True, rule_id=ruling.rule_id, reason=f"An evaluation run: nobody was asked. {why(ruling)}"
        )

    async def _settle(
        self, judged: Judged, ruling: Ask | Allow, key: str | None, *, joins: bool = True
    ) -> Answered | Asked:
        """Weigh a call against what was spent and denied before, and open what follows from it: all in one unit.

        Where the same call stands that an agent made under another id, and may still wait for, the unit is over before
        it has written anything: whether anybody waits is asked outside, and then it runs again.
        """
        call = judged.call
        asking = ruling.asking if isinstance(ruling, Ask) else ruling.otherwise
        loudly = glass_channels(judged.policy) if judged.policy.break_glass else ()
        channels = (*(asking.channels if asking else ()), *loudly)
        targets = {name: self._channels.chats[call.org, name] for name in channels if name != API}
        of_digest = judged.call_digest
        of_submitted = named_digest(
            of_digest if call is judged.submitted else call_digest(judged.submitted), judged.sub_agent
        )
        attached_by = attach_base(call, of_digest) if joins else None
        place = self._quota.place(call.agent)

        sought = denials_sought(judged)
        standing_call = StandingCall(judged, of_submitted, attached_by, key)

        def unit(tx: Tx) -> Answered | Asked | AssentError | Doubted:
            standing = standing_call.find(tx)
            if standing is not None:
                return standing  # a repetition opens nothing: it takes no place, however many others wait
            opening = Opening(tx, judged, self._seals, place, sought=sought, alone=not joins)
            found = opening.settle(ruling, targets)
            if isinstance(found, Asked):
                opened, lasts = found.request.id, judged.policy.retention.deduplication
                if key is not None:
                    remember_key(tx, call.agent, key, call_digest=of_submitted, request_id=opened, lasts=lasts)
                if judged.evaluation_key is not None:
                    opener = opener_key(judged.evaluation_key, opened)
                    remember_key(tx, call.agent, opener, call_digest=of_submitted, request_id=opened)
            return found

        found = await self._store.write(unit, org=call.org, seeks=sought)
        while isinstance(found, Doubted):
            attended = [each[0] for each in found.versions if await self._attended(call.org, *each)]
            standing_call.left = frozenset(request_id for request_id, _ in found.versions).difference(attended)
            found = await self._store.write(unit, org=call.org, seeks=sought)
        if isinstance(found, Asked) and not found.attached and found.request.by_broken_glass:
            _alarm(found.request)  # after the commit: a unit may run twice or for nothing, an alarm must not
        return found

    async def ask_again(self, judged: Judged, ruling: Ask) -> Answered | Asked:
        """Open a request in the place of the expired one that `judged` names, once; later calls return the same one.

        Raises TooManyError, UnavailableError, IdempotencyMismatchError.
        """
        # No caller's key has a line break: nobody else can stand on it.
        return await self._settle(judged, ruling, f"asked again\n{judged.predecessor_id}")

    async def refuse_foreign(self, org: str, request_id: str, *, agent: str, evaluation_key: str) -> None:
        """Refuse an evaluation key a request that it did not open itself. Raises WrongScopeError, NotFoundError."""

        def unit(tx: Tx) -> bool:
            request = find_request(tx, request_id)
            if request is None or request.call.agent != agent:
                raise NotFoundError
            return opened_with(tx, request, evaluation_key)

        if not await self._store.read(unit, org=org):
            raise WrongScopeError("an evaluation key claims and settles only what it opened itself, within a day")


def _alarm(request: ConfirmationRequest) -> None:
    call = request.call
    log.critical(
        "break_glass.used", org=call.org, request=request.id, tool=call.tool, agent=call.agent, reason=request.why
    )


def _unroutable(answered: Answered, provider: str) -> Answered:
    why = (
        f"It may only run in the sandbox {provider!r}, and a request stands for this idempotency key: an approval "
        "cannot carry the sandbox to its run."
    )
    return replace(answered, allowed=False, reason=why)
