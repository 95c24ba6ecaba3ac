"""Do something about a waiting request besides voting: hand over, add an approver, ask, answer, remind.

Whichever way it comes in, a click or the API, it ends in `consult`: a unit of work on a locked request, with
everybody's authority looked up at that instant. None of it approves anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

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
from app.domain.lifecycle.lifecycle import advance
from app.domain.lifecycle.step import Refusal
from app.domain.lifecycle.wishes import Wish, Wished
from app.domain.request.action import Action
from app.domain.request.decision import Evidence
from app.domain.request.redact import scrubbed_for
from app.domain.rules.name_of import name_of
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.deciding.decide import LEFT_TO_OTHERS
from app.usecases.voters.electorate import may_take, voters_of, without_account
from app.usecases.writing.carry_out import carry_out
from app.usecases.writing.door import door_of
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.quorum import Electorate, Stage
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

UNENTITLED = frozenset({Refusal.BARRED, Refusal.EDITED, Refusal.NOT_ELIGIBLE})
"""Refusals for want of authority: the trail keeps them."""


class Consulted(Struct, frozen=True, kw_only=True):
    """The request as it stands afterwards, and why nothing changed, if nothing did."""

    request: ConfirmationRequest
    refusal: Refusal | None


def consult(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, wish: Wish, *, by: str, evidence: Evidence
) -> Consulted:
    """Carry a wish out on a locked request.

    `by` is an e-mail of the file, "agent:<name>" or "key:<id>" of an administrator; whoever calls has identified them.
    """
    said = replace(wish, text=scrubbed_for(wish.text, request))  # an agent may repeat its arguments
    people = PeopleNow(tx, request, now, policy, by)
    wished = Wished(wish=said, by=by, people=people, new_id=tx.ids.new, facts=door_of(evidence))
    step = advance(request, wished, now=now)
    after, refusal = carry_out(tx, request, step), step.refusal
    if refusal in UNENTITLED:
        tx.append(refused_click(evidence, why=str(refusal), person=by), request_id=request.id)
    return Consulted(request=after, refusal=refusal)


@dataclass(slots=True)
class PeopleNow:
    """Who may what about a locked request, by the file and the accounts of this instant: `wishes.People`."""

    _tx: Tx
    _request: ConfirmationRequest
    _now: datetime
    _policy: Policy
    _by: str
    """Whoever acts has just been identified: their own account stands, whatever their vote came from."""
    _without: frozenset[str] | None = None

    def voters(self) -> Electorate:
        """Return who may vote on the request as it stands."""
        return self.after(self._request)

    def after(self, changed: ConfirmationRequest, /) -> Electorate:
        """Return who may vote on it once it is changed."""
        if self._without is None:
            self._without = without_account(self._tx, self._request) - {self._by}
        return voters_of(changed, self._policy, now=self._now, without=self._without)

    def may_take(self, stage: Stage, /) -> frozenset[str]:
        """Return everyone whom the file lets take a place of a stage."""
        return may_take(stage, self._policy)


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
        case Refusal.BARRED | Refusal.EDITED as why:
            return NotEligibleError(LEFT_TO_OTHERS[why])
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
