"""Judge a tool call: answer at once, or open the durable question and let its cards go out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from app.domain.audit import Kind, Record
from app.domain.errors import IdempotencyMismatchError, TooManyError
from app.domain.execution import lapse
from app.domain.lifecycle import DeadlinePassed, advance, opened
from app.domain.people import email_key
from app.domain.policy import Allow, Ask, Deny, judge
from app.domain.quorum import reachable
from app.domain.request import API, ConfirmationRequest
from app.domain.tool import check_arguments, title_for
from app.domain.tool_call import ToolCall, attach_key, binding_digest, call_digest
from app.domain.visible import visible
from app.storage.memory import find_key, remember_key
from app.storage.request_lists import count_pending
from app.storage.requests import find_attached, find_request, lock_request
from app.usecases.carry_out import carry_out, open_request
from app.usecases.electorate import voters_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.errors import AssentError
    from app.domain.policy import Policy, Ruling
    from app.domain.seals import Seals
    from app.domain.tool import Tool
    from app.policies.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.store import Store
    from app.storage.transaction import Tx
    from app.usecases.channel_book import ChannelBook
    from app.usecases.quota import Quota


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A call as the agent reports it. `org`, `agent` and `owner` come from its key, never from the body."""

    org: str
    agent: str
    owner: str | None
    tool: str
    arguments: object
    session: str | None = None
    call_id: str | None = None
    requester: str | None = None
    claim: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Allowed or denied at once, by a rule."""

    allowed: bool
    rule_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request stands for the call. `attached`: it stood before, and nothing new was posted."""

    request: ConfirmationRequest
    attached: bool


class Submit:
    """The use case."""

    def __init__(
        self, *, store: Store, book: PolicyBook, channels: ChannelBook, seals: Seals, clock: Clock, quota: Quota
    ) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._channels = channels
        self._seals = seals
        self._clock = clock
        self._quota = quota

    async def __call__(self, submission: Submission) -> Answered | Asked:
        """Judge a call.

        Raises UnknownToolError, BadArgumentsError, IdempotencyMismatchError, TooManyError, UnavailableError: each of
        them means that the tool must not run.
        """
        policy = self._book.current(submission.org).policy
        tool = policy.get_tool(submission.tool)
        call = ToolCall(
            org=submission.org,
            agent=submission.agent,
            session=submission.session,
            call_id=submission.call_id,
            tool=submission.tool,
            arguments=check_arguments(tool, submission.arguments),
            requester=email_key(submission.requester) if submission.requester else None,
            owner=email_key(submission.owner) if submission.owner else None,
            claim=submission.claim,
        )
        ruling = judge(policy, call, now=self._clock.now())
        match ruling:
            case Ask():
                return await self._ask(call, tool, policy, ruling, submission.idempotency_key)
            case Allow() | Deny():
                return await self._answer(call, ruling, submission.idempotency_key)
            case _:
                assert_never(ruling)

    async def _answer(self, call: ToolCall, ruling: Allow | Deny, key: str | None) -> Answered | Asked:
        answered = Answered(allowed=isinstance(ruling, Allow), rule_id=ruling.rule_id, reason=ruling.reason)
        if not ruling.record and key is None:
            return answered

        def unit(tx: Tx) -> Answered | Asked | AssentError:
            # People were asked under this key before: their answer stands, whatever the rules say by now.
            standing = _by_key(tx, call, call_digest(call), key)
            if standing is not None:
                return standing
            if ruling.record:
                tx.append(_ruled(call, ruling, allowed=answered.allowed))
            return answered

        return await self._store.write(unit, org=call.org)

    async def _ask(self, call: ToolCall, tool: Tool, policy: Policy, ruling: Ask, key: str | None) -> Answered | Asked:
        stages = ruling.asking.stages
        barred = frozenset(who for who in (call.requester, call.owner) if who)
        if not reachable(stages, voters_of(stages, barred, policy.directory)):
            nobody = Deny(
                rule_id=ruling.rule_id,
                reason="Nobody who may approve this is left once the requester and the agent's owner are taken out.",
                policy_version=ruling.policy_version,
                trace=ruling.trace,
                record=True,
            )
            return await self._answer(call, nobody, key)
        targets = {name: self._channels.get(call.org, name).chat_id for name in ruling.asking.channels if name != API}
        of_digest = call_digest(call)
        attached_by = attach_key(call, of_digest)

        def unit(tx: Tx) -> Asked | AssentError:
            standing = _standing(tx, call, of_digest, attached_by, key)
            if standing is not None:
                return standing
            request = self._build(tx, call, of_digest=of_digest, tool=tool, policy=policy, ruling=ruling)
            open_request(tx, opened(request), targets=targets)
            if key is not None:
                remember_key(tx, call.agent, key, call_digest=of_digest, request_id=request.id)
            return Asked(request=request, attached=False)

        def come_back(tx: Tx) -> Asked | AssentError | None:
            return _standing(tx, call, of_digest, attached_by, key)

        try:
            return await self._open(call, unit)
        except TooManyError:
            # A repetition opens nothing: it may come back to its request however many others wait.
            known = await self._store.write(come_back, org=call.org)
            if known is None:
                raise
            return known

    async def _open(self, call: ToolCall, unit: Callable[[Tx], Asked | AssentError]) -> Asked:
        """Open the request if the agent may have one more waiting. Raises TooManyError."""
        if not self._quota.has_place(call.org, call.agent):
            # What was settled since the last count is not in it: nobody is refused on an old number.
            pending = await self._store.read(lambda tx: count_pending(tx, call.agent), org=call.org, long=True)
            self._quota.counted(call.org, call.agent, pending)
        with self._quota.place(call.org, call.agent) as keep:
            asked = await self._store.write(unit, org=call.org)
            if not asked.attached:
                keep()
        return asked

    def _build(
        self, tx: Tx, call: ToolCall, *, of_digest: str, tool: Tool, policy: Policy, ruling: Ask
    ) -> ConfirmationRequest:
        now = tx.now()
        request_id, nonce = tx.ids.new("req"), tx.ids.new("n")
        expires_at = now + ruling.asking.timeout
        bound = binding_digest(
            call, request_id=request_id, nonce=nonce, policy_version=policy.version, expires_at=expires_at
        )
        return ConfirmationRequest(
            id=request_id,
            call=call,
            call_digest=of_digest,
            digest=bound,
            nonce=nonce,
            code=self._seals.code(nonce=nonce, digest=bound),
            title=visible(title_for(tool, call.arguments)),
            pinned=tool.pin,
            sensitive=tool.sensitive,
            rule_id=ruling.rule_id,
            policy_version=policy.version,
            why=_why(ruling),
            stages=ruling.asking.stages,
            channels=ruling.asking.channels,
            claim_within=ruling.asking.claim_within,
            lease=ruling.asking.lease,
            created_at=now,
            expires_at=expires_at,
        )


def _standing(
    tx: Tx, call: ToolCall, of_digest: str, attached_by: str | None, key: str | None
) -> Asked | AssentError | None:
    """Find the request on which this call already stands."""
    by_key = _by_key(tx, call, of_digest, key)
    if by_key is not None:
        return by_key
    standing_id = find_attached(tx, attached_by) if attached_by else None
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


def _by_key(tx: Tx, call: ToolCall, of_digest: str, key: str | None) -> Asked | AssentError | None:
    """Find the request for which an idempotency key stands; refuse a key that stands for another call."""
    known = find_key(tx, call.agent, key) if key is not None else None
    if known is None:
        return None
    if known[0] != of_digest:
        return IdempotencyMismatchError()
    request = find_request(tx, known[1])
    return Asked(request=request, attached=True) if request else None


def _ruled(call: ToolCall, ruling: Ruling, *, allowed: bool) -> Record:
    return Record(
        kind=Kind.ALLOWED if allowed else Kind.REFUSED,
        actor=f"agent:{call.agent}",
        facts={
            "tool": call.tool,
            "session": call.session,
            "call_id": call.call_id,
            "requester": call.requester,
            "call_digest": call_digest(call),
            "rule": ruling.rule_id,
            "reason": ruling.reason,
            "policy_version": ruling.policy_version,
        },
    )


def _why(ruling: Ask) -> str:
    """Say in a sentence which rule asks, and the values that tripped it."""
    tripped = [f"{name} = {value}" for step in ruling.trace if step.matched for name, value in step.values]
    why = f"{ruling.reason} ({', '.join(tripped)})" if tripped else ruling.reason
    return why.replace("\0", "\\u{0}")  # PostgreSQL's texts have no NUL
