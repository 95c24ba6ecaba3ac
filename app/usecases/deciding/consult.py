"""Do something about a waiting request besides voting: hand over, add an approver, ask, answer, remind.

Whichever way it comes in, a click or the API, it ends in `consult`: a unit of work on a locked request, with
everybody's authority looked up at that instant. None of it approves anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.domain.card.card_for import outcome_sentence
from app.domain.errors import (
    AlreadyAnsweredError,
    AlreadySettledError,
    AssentError,
    DigestMismatchError,
    InvalidError,
    NotEligibleError,
    NotFoundError,
    TooOftenError,
    TooSoonError,
)
from app.domain.lifecycle.consultations import (
    ApproverAdded,
    HandedOver,
    QuestionAnswered,
    QuestionAsked,
    Reminded,
    may_answer,
    with_added,
)
from app.domain.lifecycle.lifecycle import advance
from app.domain.lifecycle.step import Refusal
from app.domain.request.action import Action
from app.domain.request.consultation import HandOver
from app.domain.request.decision import Evidence
from app.domain.request.redact import scrubbed_for
from app.domain.rules.name_of import name_of
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.voters.electorate import may_take, voters_of, without_account
from app.usecases.writing.carry_out import carry_out
from app.usecases.writing.door import door_of
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.lifecycle.consultations import Consulting
    from app.domain.request.quorum import Electorate
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

UNENTITLED = frozenset({Refusal.BARRED, Refusal.NOT_ELIGIBLE})
"""Refusals for want of authority: the trail keeps them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants done. `text` is the note, the question or the answer."""

    action: Action
    whom: str = ""  # e-mail of the person to hand over to, or to be added
    text: str = ""
    question_id: str | None = None  # None: the one that is open


@dataclass(frozen=True, slots=True, kw_only=True)
class Consulted:
    """The request as it stands afterwards, and why nothing changed, if nothing did."""

    request: ConfirmationRequest
    refusal: Refusal | None


def consult(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, wish: Wish, *, by: str, evidence: Evidence
) -> Consulted:
    """Carry a wish out on a locked request.

    `by` is an e-mail of the file, "agent:<name>" or "key:<id>" of an administrator; whoever calls has identified them.
    """
    said = scrubbed_for(wish.text, request)  # an agent may repeat its arguments
    event = _event(tx, request, now, policy, replace(wish, text=said), by, evidence)
    if isinstance(event, Refusal):
        after, refusal = request, event
    else:
        step = advance(request, event, now=now)
        after, refusal = carry_out(tx, request, step), step.refusal
    if refusal in UNENTITLED:
        tx.append(refused_click(evidence, why=str(refusal), person=by), request_id=request.id)
    return Consulted(request=after, refusal=refusal)


def may_begin(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, action: Action, *, by: str
) -> Refusal | None:
    """Say why somebody may not do this at all, whatever they would put into its form; None: they may."""
    if action is Action.ANSWER:
        if not may_answer(request, by):
            return Refusal.NOT_ELIGIBLE
        return None if request.open_question else Refusal.NO_QUESTION
    if action is Action.REMIND and (may_answer(request, by) or by.startswith("key:")):
        return None  # the requester, the agent, an administrator: whoever waits may say so
    voters = _voters(tx, request, now, policy, by)
    if voters.is_barred(by):
        return Refusal.BARRED
    may = voters.places_of(by, None) if action is Action.HAND_OVER else by in voters.entitled()
    return None if may else Refusal.NOT_ELIGIBLE


def _voters(tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, by: str) -> Electorate:
    return voters_of(request, policy, now=now, without=without_account(tx, request) - {by})


def _event(  # noqa: PLR0917 - what an event is made of
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, wish: Wish, by: str, evidence: Evidence
) -> Consulting | Refusal:
    facts = door_of(evidence)
    match wish.action:
        case Action.HAND_OVER:
            gone = without_account(tx, request) - {by}
            over = HandOver(by=by, to=wish.whom, at=now)
            later = replace(request, handovers=(*request.handovers, over))
            return HandedOver(
                by=by,
                to=wish.whom,
                note=wish.text or None,
                allowed=tuple(may_take(stage, policy) for stage in request.stages),
                voters=voters_of(request, policy, now=now, without=gone),
                after=voters_of(later, policy, now=now, without=gone),
                facts=facts,
            )
        case Action.ADD:
            gone = without_account(tx, request) - {by}
            voters = voters_of(request, policy, now=now, without=gone)
            stages = with_added(request, wish.whom, by=by, voters=voters)
            after = voters_of(request, policy, now=now, stages=stages, without=gone)
            return ApproverAdded(
                by=by, person=wish.whom, note=wish.text or None, voters=voters, stages=stages, after=after, facts=facts
            )
        case Action.ASK:
            voters = _voters(tx, request, now, policy, by)
            return QuestionAsked(id=tx.ids.new("que"), by=by, text=wish.text, voters=voters, facts=facts)
        case Action.ANSWER:
            return QuestionAnswered(question_id=wish.question_id, by=by, text=wish.text, facts=facts)
        case Action.REMIND:
            return may_begin(tx, request, now, policy, Action.REMIND, by=by) or Reminded(by=by, facts=facts)
        case _:
            raise ValueError(f"{wish.action} is no wish about a request that waits")


class Consult:
    """The same by API: identity from the credential, never from the body."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def __call__(
        self, *, org: str, request_id: str, wish: Wish, by: str, agent: str | None = None, digest: str | None = None
    ) -> ConfirmationRequest:
        """Carry a wish out on exactly what `digest` names (None: whatever it is by now).

        `agent` (None for people) must be the one that asked. The same again is answered like the first time. Raises
        NotFoundError, DigestMismatchError, NotEligibleError, InvalidError for whoever cannot be named here, and
        ConflictError: AlreadySettledError, AlreadyAnsweredError, TooOftenError, TooSoonError.
        """

        def unit(tx: Tx) -> Consulted | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            if agent is not None and request.call.agent != agent:
                return NotFoundError()
            if digest is not None and digest != request.digest:
                return DigestMismatchError("the digest is not that of this request: read it again before you act")
            if wish.question_id is not None and all(each.id != wish.question_id for each in request.questions):
                return NotFoundError()
            policy = self._book.current(org).policy
            whom = policy.directory.find(wish.whom) if wish.whom else None
            if wish.whom and whom is None:
                return InvalidError("this person is not known here", path=_named(wish.action))
            known = replace(wish, whom=whom.email) if whom else wish
            return consult(tx, request, now, policy, known, by=by, evidence=Evidence(channel="api"))

        consulted = await self._store.write(unit, org=org, about=request_id)
        error = _error(consulted, self._book.current(org).policy, wish.action)
        if error is not None:
            raise error
        return consulted.request


def _named(action: Action) -> str:
    return "to" if action is Action.HAND_OVER else "person"


def _error(consulted: Consulted, policy: Policy, action: Action) -> AssentError | None:
    request = consulted.request
    match consulted.refusal:
        case None | Refusal.REPEATED:
            return None
        case Refusal.SETTLED:
            sentence = outcome_sentence(request, policy.language, lambda email: name_of(policy, email), policy.zone)
            return AlreadySettledError(sentence, state=request.state.value)
        case Refusal.BARRED:
            return NotEligibleError("you asked for this, or the agent is yours: someone else must decide")
        case Refusal.UNSUITABLE:
            told = "this person cannot decide this request, or then nobody could: nothing was changed"
            return InvalidError(told, path=_named(action))
        case Refusal.TOO_OFTEN:
            return TooOftenError()
        case Refusal.TOO_SOON:
            return TooSoonError("they were reminded, or asked, a moment ago: try again in a few minutes")
        case Refusal.NO_QUESTION:
            return AlreadyAnsweredError()
        case _:
            return NotEligibleError()
