"""The page on which one person decides one request: what it shows, and what is pressed on it.

A press says what its page showed. If the request stands otherwise by now, nothing is recorded, and the page says who
was faster. All else is decided where every verdict is: in `decide`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.domain.card.card_for import outcome_sentence
from app.domain.errors import AssentError, ForbiddenError, LockedError, NotFoundError, StepUpNeededError
from app.domain.identity.press import drawn, parse_press, render_press, stands
from app.domain.identity.seals import BadTokenError
from app.domain.lifecycle.step import Refusal
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.request import CONSOLE
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.storage.requests.requests import find_request, lock_request
from app.storage.requests.sealing import why_missing
from app.storage.trail.audit_chain import list_of_request
from app.usecases.console.glance import glance_at
from app.usecases.deciding.decide import decide, withdraw_vote
from app.usecases.pauses.stop_paused import pause_shown
from app.usecases.proving.proof import NOTHING_GIVEN, worth_of
from app.usecases.reading.review import may_look
from app.usecases.reading.review_sheet import sheet_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.domain.identity.press import Press
    from app.domain.identity.review_link import SignIn
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.glance import Glance
    from app.usecases.deciding.decide import Decided
    from app.usecases.proving.proof import Given
    from app.usecases.reading.review import Review
    from app.usecases.reading.review_sheet import Sheet

MOST_REASON = 1_000
"""Characters of a reason that is typed here."""

_PLAINLY = {
    Refusal.BARRED: "click.barred",
    Refusal.EDITED: "click.barred_editor",
    Refusal.OVER_LIMIT: "click.over_limit",
    Refusal.STEP_UP: "click.step_up",
    Refusal.NO_VOTE: "click.no_vote",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidePage:
    """One request as one person sees it, with what makes its forms pressable."""

    sheet: Sheet
    glance: Glance
    press: str
    stands: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing was recorded, and why; `press` goes into the page that says so, so that no reading begins anew."""

    sentence: str
    press: Press | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was pressed, and what came along. No verdict: the person's vote is taken back."""

    verdict: Verdict | None
    press: str
    reason: str | None = None
    given: Given = NOTHING_GIVEN


class DecideOnPage:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, review: Review) -> None:
        """Take what it works on; `review` knows who is in which session."""
        self._store = store
        self._book = book
        self._seals = seals
        self._review = review

    async def show(
        self, session: str, request_id: str, choose: Callable[[Policy], Language], *, since: Press | None = None
    ) -> DecidePage:
        """Return the page. `choose` says in which language, given the file; `since`: what it is drawn again after.

        Raises UnauthenticatedError without a session, NotFoundError for another request than its own, and
        ForbiddenError for who may no longer look.
        """

        def unit(tx: Tx) -> DecidePage | AssentError:
            policy, now = self._policy(right.org), tx.now()
            request = find_request(tx, request_id)
            refused = self._refusal(session, request, request_id, policy, now)
            if refused is not None or request is None:
                return refused or NotFoundError()
            language = choose(policy)
            again = since is not None and since.stood == stands(request)
            press = drawn(request, session=right.nonce, at=since.drawn_at if since and again else now)
            events, pause = list_of_request(tx, request_id), pause_shown(tx, request)
            return DecidePage(
                sheet=sheet_for(request, events, policy, language, reader=right.person, pause=pause),
                glance=glance_at(tx, request, policy, language, reader=right.person, now=now),
                press=render_press(self._seals, press),
                stands=press.stood,
            )

        right = self._review.right_of(session)
        return await self._store.read(unit, org=right.org, long=True)

    async def press(
        self, session: str, request_id: str, wanted: Wanted, choose: Callable[[Policy], Language]
    ) -> Refused | None:
        """Carry out what was pressed; None: it is recorded, or was before. Raises what `show` raises."""

        def unit(tx: Tx) -> tuple[Refused | None] | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            policy = self._policy(right.org)
            refused = self._refusal(session, request, request_id, policy, now)
            if refused is not None:
                return refused
            return (self._pressed(tx, request, now, policy, choose(policy), right, wanted),)

        right = self._review.right_of(session)
        [refused] = await self._store.write(unit, org=right.org, about=request_id)
        return refused

    def _refusal(
        self, session: str, request: ConfirmationRequest | None, request_id: str, policy: Policy, now: datetime
    ) -> AssentError | None:
        """Say why somebody may not see this page, or no longer."""
        try:
            right = self._review.right_of(session, now)
        except AssentError as error:
            return error
        if request is None or right.request_id != request_id:
            return NotFoundError()
        return None if may_look(request, policy, right.person, now=now) else ForbiddenError()

    def _pressed(  # noqa: PLR0917 - what a press is made of
        self,
        tx: Tx,
        request: ConfirmationRequest,
        now: datetime,
        policy: Policy,
        language: Language,
        right: SignIn,
        wanted: Wanted,
    ) -> Refused | None:
        try:
            press = parse_press(self._seals, wanted.press, session=right.nonce, request_id=request.id)
        except BadTokenError:
            return Refused(sentence=say(language, "console.old_form"))
        person, verdict = right.person, wanted.verdict
        if press.stood != stands(request):
            if _is_so_already(request, person, verdict):
                return None
            return Refused(sentence=say(language, "console.stale", faster=_faster(request, press, policy, language)))
        evidence = Evidence(channel=CONSOLE, shown_at=press.drawn_at)
        if verdict is None:
            return _answered(
                withdraw_vote(tx, request, now, policy, person=person, evidence=evidence), policy, language, press
            )
        if verdict is Verdict.DENY:
            if not wanted.reason:
                return Refused(sentence=say(language, "click.reason_needed"), press=press)
            if len(wanted.reason) > MOST_REASON:
                return Refused(sentence=say(language, "console.long_reason", most=MOST_REASON), press=press)
        else:
            worth = worth_of(
                tx, self._seals, request, now, policy, person=person, given=wanted.given, evidence=evidence
            )
            if isinstance(worth, AssentError):
                return Refused(sentence=_proof_told(worth, language), press=press)
            evidence = replace(evidence, assurance=worth)
        decided = decide(
            tx, request, now, policy, person=person, verdict=verdict, reason=wanted.reason, evidence=evidence
        )
        return _answered(decided, policy, language, press)

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy


def _is_so_already(request: ConfirmationRequest, person: str, verdict: Verdict | None) -> bool:
    """Say whether this very answer stands: pressed twice, or the first answer was lost on its way."""
    mine = next((each for each in request.decisions if each.person == person), None)
    return mine is not None and mine.verdict is verdict


def _faster(request: ConfirmationRequest, press: Press, policy: Policy, language: Language) -> str:
    """Say who has moved the request since the page was drawn."""

    def named(email: str) -> str:
        return visible(name_of(policy, email))

    if request.status.final:
        outcome = outcome_sentence(request, language, named, policy.zone)
        return say(language, "console.faster.settled", outcome=outcome)
    new = [each for each in request.decisions if each.id not in press.votes]
    if new:
        return say(language, f"console.faster.{new[-1].verdict.value}", person=named(new[-1].person))
    if request.edited_by is not None:
        return say(language, "console.faster.edited", person=named(request.edited_by))
    return say(language, "console.faster.moved")


def _answered(decided: Decided, policy: Policy, language: Language, press: Press) -> Refused | None:
    match decided.refusal:
        case None | Refusal.REPEATED:
            return None
        case Refusal.TOO_SOON:
            sentence = say(language, "click.read_first", seconds=decided.wait_seconds)
        case Refusal.SETTLED:
            outcome = outcome_sentence(
                decided.request, language, lambda email: visible(name_of(policy, email)), policy.zone
            )
            sentence = say(language, "click.settled", outcome=outcome)
        case why:
            sentence = say(language, _PLAINLY.get(why, "click.not_eligible"))
    return Refused(sentence=sentence, press=press)


def _proof_told(error: StepUpNeededError | LockedError, language: Language) -> str:
    """Say what was wrong, or missing, beside an approval."""
    more = error.more
    if isinstance(error, LockedError):
        minutes = math.ceil(int(str(more.get("retry_after", 60))) / 60)
        return say(language, "console.locked", minutes=minutes)
    if more.get("wrong") == "typed":
        return say(language, "console.wrong_typed", left=more.get("left", 0))
    if more.get("wrong") == "totp":
        return say(language, "console.wrong_totp")
    missing = more.get("missing")
    if isinstance(missing, list) and "typed" in missing:
        return say(language, "console.typed_missing")
    return say(language, "console.totp_missing" if missing else "console.no_factor")
