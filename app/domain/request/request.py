"""The durable question, the permission it may yield, and what then ran: the words of the four state machines.

    request    pending ─stages met─▶ approved    ─denials─▶ denied    ─deadline─▶ expired
                       ─withdrawn──▶ cancelled   ─nobody reachable─▶ undeliverable          all but pending are final
    grant      issued ─claim─▶ consumed          ─not claimed in time─▶ lapsed   ─kill switch─▶ revoked
    execution  started ─▶ succeeded | failed     ─lease over─▶ unknown ─reconciled─▶ succeeded | failed
                       ─the service asks its own people─▶ pending_elsewhere ─its answer─▶ succeeded | failed
    delivery   queued ─▶ live ─▶ retired         ─▶ undeliverable

They are four because they have four owners: the sweep that expires requests can never touch an execution.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.call.tool_call import attach_key
from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.request.quorum import barred_from_all

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from app.domain.call.tool_call import ToolCall
    from app.domain.money.payment import Payment
    from app.domain.request.caution import Caution
    from app.domain.request.consultation import HandOver, Question
    from app.domain.request.decision import Decision
    from app.domain.request.elsewhere import Elsewhere
    from app.domain.request.quorum import Stage
    from app.domain.request.timetable import Timer
    from app.domain.text.canonical import JsonValue


BROKEN_GLASS = "standing:gls_"
"""How `allowed_by` of a request under a broken glass begins."""

API = "api"
"""The channel name that stands for the HTTP API itself: people decide with their own keys, and no card is posted."""


CONSOLE = "console"
"""The channel name that stands for the gateway's own pages: people decide there in a session of theirs."""


class Risk(StrEnum):
    """How much a rule says hangs on a call: what of people's attention it takes."""

    LOW = "low"  # may wait for the digest
    NORMAL = "normal"
    HIGH = "high"  # always at once, and not approved before it could be read


class Status(StrEnum):
    """Where the question stands. All but PENDING are final."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNDELIVERABLE = "undeliverable"

    @property
    def final(self) -> bool:
        """Whether this status never changes again."""
        return self is not Status.PENDING


class GrantStatus(StrEnum):
    """Whether the permission can still be used."""

    ISSUED = "issued"
    CONSUMED = "consumed"
    LAPSED = "lapsed"
    REVOKED = "revoked"


class ExecutionStatus(StrEnum):
    """What the tool did, as far as is known."""

    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    PENDING_ELSEWHERE = "pending_elsewhere"  # the service that was to do it asks its own people


class DeliveryStatus(StrEnum):
    """Where one card stands. A card is a view, never the truth."""

    QUEUED = "queued"
    LIVE = "live"
    RETIRED = "retired"
    UNDELIVERABLE = "undeliverable"


SEEN = frozenset({DeliveryStatus.LIVE, DeliveryStatus.RETIRED})
"""People have it before them, whatever it says by now."""


class Audience(StrEnum):
    """Whom a card is for."""

    APPROVERS = "approvers"
    REQUESTER = "requester"  # whoever asked, and who hears how it ends: takes an answer at most, decides nothing


class State(StrEnum):
    """The one word that people read, derived from request, grant and execution."""

    PENDING = "pending"
    APPROVED = "approved"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    PENDING_ELSEWHERE = "pending_elsewhere"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNDELIVERABLE = "undeliverable"
    LAPSED = "lapsed"


UNCERTAIN_STATES = frozenset({State.UNKNOWN, State.PENDING_ELSEWHERE})
"""It was begun, and whether it was done is not known (yet): settled by evidence, never run again."""

OPEN_STATES = UNCERTAIN_STATES | {State.PENDING, State.APPROVED, State.EXECUTING}
"""States in which something is still owed: an answer, a claim, an outcome."""


class Settlement(Struct, frozen=True, kw_only=True):
    """How a request became final: by whom, when, why and through which door.

    `by` is a person only if one voted in time.
    """

    at: datetime
    by: str  # e-mail, or "system", or "agent:<name>"
    reason: str | None
    via: str | None  # the channel's name, "api", or None for the system's own doing


class Grant(Struct, frozen=True, kw_only=True):
    """The single-use permission. Its id is the idempotency key that the tool is handed."""

    id: str
    status: GrantStatus
    not_after: datetime


class Execution(Struct, frozen=True, kw_only=True):
    """What came of the grant. `claim_id` was made by the caller, so that a repeated claim is recognised.

    `claimed_by` is who claimed, as the trail names it ("agent:<name>", "key:<id>" of an executor): what it claimed
    nobody else repeats or settles.
    """

    id: str
    claim_id: str
    status: ExecutionStatus
    started_at: datetime
    lease_until: datetime
    claimed_by: str | None = None  # None: claimed before this was kept
    settled_at: datetime | None = None
    result: str | None = None  # canonical JSON
    error: str | None = None
    elsewhere: Elsewhere | None = None  # kept when it is settled: what people decided there is part of the story


class ConfirmationRequest(Struct, frozen=True, kw_only=True):
    """The question with all that belongs to it, as one value.

    `version` grows by one with every change of any part, and each change has exactly one audit event of that version.
    """

    id: str
    call: ToolCall
    call_digest: str
    digest: str  # what is approved and claimed
    nonce: str
    code: str  # the short code that people compare
    title: str
    pinned: tuple[str, ...]  # argument names that must be seen first
    sensitive: tuple[str, ...]  # argument names whose values never leave the store
    rule_id: str | None
    policy_version: str
    why: str  # why this needs approval, in a sentence
    stages: tuple[Stage, ...]
    channels: tuple[str, ...]
    claim_within: timedelta  # how long the grant lives
    lease: timedelta  # how long an execution may take before its outcome is unknown
    created_at: datetime
    expires_at: datetime
    status: Status = Status.PENDING
    version: int = 1
    settlement: Settlement | None = None
    decisions: tuple[Decision, ...] = ()
    grant: Grant | None = None
    execution: Execution | None = None
    predecessor_id: str | None = None
    revoked_why: str | None = None  # why the grant was taken back before it was used, in a sentence
    risk: Risk = Risk.NORMAL
    fallback: tuple[str, ...] = ()  # channels that are tried when none of `channels` can be reached
    timers: tuple[Timer, ...] = ()  # what is still to happen while it waits, the next first
    reminded_at: datetime | None = None
    extensions: int = 0
    handovers: tuple[HandOver, ...] = ()
    questions: tuple[Question, ...] = ()
    proposed: Mapping[str, JsonValue] | None = None  # the agent's own arguments, where people changed them
    edited_by: str | None = None  # e-mail of whoever changed them last
    only_lowered: bool = False  # the changes did nothing but lower amounts
    assurance: Assurance = Assurance.L1  # what an approval takes
    payments: tuple[Payment, ...] = ()  # what it pays, as the file reads its arguments
    cautions: tuple[Caution, ...] = ()  # what speaks against taking it as one of many
    near_key: str | None = None  # calls that say the same where it must be seen have the same
    enforced: bool = False  # only an executor may claim it
    alone: bool = False  # its caller's idempotency key alone finds it again: no other call joins it
    cc: tuple[str, ...] = ()  # who hears how it ends, by e-mail, besides the requester
    allowed_by: str | None = None  # "rule:<id>" or "standing:<id>": no people were asked, and this is why it may run

    @property
    def by_broken_glass(self) -> bool:
        """Whether nobody was asked because two people broke the glass: everybody must see such a request."""
        return (self.allowed_by or "").startswith(BROKEN_GLASS)

    @property
    def card_channels(self) -> tuple[str, ...]:
        """The channels that carry cards."""
        return tuple(name for name in self.channels if name != API)

    @property
    def state(self) -> State:
        """The one word for people."""
        if self.execution is not None:
            return _EXECUTED[self.execution.status]
        if self.grant is not None and self.grant.status in {GrantStatus.LAPSED, GrantStatus.REVOKED}:
            return State.LAPSED
        return _ASKED[self.status]

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it by itself: it was answered with no, was never used, or has run."""
        return self.status.final and self.state not in {State.APPROVED, State.EXECUTING}

    @property
    def hearers(self) -> tuple[str, ...]:
        """Who is told privately how it ended, as accounts know them; whoever ended it knows."""
        asked = (self.call.requester,) if self.call.requester else ()
        ended_by = email_key(self.settlement.by) if self.settlement and self.status is not Status.APPROVED else None
        return tuple(dict.fromkeys(who for who in map(email_key, (*asked, *self.cc)) if who != ended_by))

    @property
    def attachable(self) -> bool:
        """Whether the same call of the same session stands on this request instead of asking again."""
        state = self.state
        return state is State.PENDING or state is State.APPROVED

    @property
    def attach_key(self) -> str | None:
        """By what the same call of the same session finds this request, while it may stand on it."""
        return attach_key(self.call, self.call_digest) if self.attachable and not self.alone else None

    @property
    def timer_at(self) -> datetime | None:
        """When the next of what is still to happen while it waits is due."""
        return self.timers[0].at if self.timers else None

    @property
    def barred(self) -> frozenset[str]:
        """Who may decide in no stage, by `email_key`: the requester, the owner and the editor, unless a rule allows."""
        call = self.call
        return barred_from_all(self.stages, requester=call.requester, owner=call.owner, editor=self.editor)

    def is_alone(self, person: str) -> bool:
        """Say whether a vote of this person counts only as nobody else may decide: it is about their own."""
        return all(stage.allow_alone for stage in self.stages) and email_key(person) in self.barred

    @property
    def editor(self) -> str | None:
        """Whose the arguments are by now: somebody else must approve them. Nobody's where amounts were but lowered."""
        return None if self.only_lowered else self.edited_by

    def bars_as_editor(self, person: str) -> bool:
        """Say whether somebody may not decide because they changed the call, and for no other reason of their own."""
        who, call = email_key(person), self.call
        own = any(who in stage.barred(requester=call.requester, owner=call.owner) for stage in self.stages)
        changed = any(who in stage.barred(requester=None, owner=None, editor=self.editor) for stage in self.stages)
        return changed and not own

    @property
    def open_question(self) -> Question | None:
        """The first question that has no answer yet."""
        return next((question for question in self.questions if question.answer is None), None)


_ASKED = {status: State(status.value) for status in Status}
_EXECUTED = {
    ExecutionStatus.STARTED: State.EXECUTING,
    ExecutionStatus.SUCCEEDED: State.SUCCEEDED,
    ExecutionStatus.FAILED: State.FAILED,
    ExecutionStatus.UNKNOWN: State.UNKNOWN,
    ExecutionStatus.PENDING_ELSEWHERE: State.PENDING_ELSEWHERE,
}
