"""The page on which one person decides one request: what it shows, and what is pressed on it.

A press says what its page showed. If the request stands otherwise by now, nothing is recorded, and the page says who
was faster. All else is decided where every verdict is: in `decide`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.card.card_for import outcome_sentence
from app.domain.errors import (
    AssentError,
    ForbiddenError,
    LockedError,
    NotFoundError,
    StepUpNeededError,
    UnauthenticatedError,
)
from app.domain.identity.passkey import rp_id
from app.domain.identity.press import drawn, parse_press, render_press, stands
from app.domain.identity.seals import BadTokenError
from app.domain.lifecycle.step import Refusal
from app.domain.people.people import email_key
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.request import CONSOLE, GrantStatus, Status
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.domain.words.say import say
from app.storage.identity.passkeys import list_passkeys
from app.storage.requests.requests import find_request, lock_request
from app.storage.requests.sealing import why_missing
from app.storage.requests.seen_before import seen_before, was_seen
from app.storage.searching.find_alike import find_approved_alike
from app.storage.trail.audit_chain import get_head, list_of_request
from app.usecases.console.glance import glance_at
from app.usecases.console.other_forms import others_for
from app.usecases.console.rows import facts_together
from app.usecases.console.session_offer import allowed_for, end_beside, offer_for
from app.usecases.deciding.decide import decide, withdraw_vote
from app.usecases.pauses.stop_paused import pause_shown
from app.usecases.permits.session_approval import allow_for_session, offer_digest, offered
from app.usecases.proving.proof import NOTHING_GIVEN, worth_of
from app.usecases.proving.second_factor import has_totp
from app.usecases.proving.step_up import MOST_WRONG
from app.usecases.reading.evidence import find_piece
from app.usecases.reading.review import may_look
from app.usecases.reading.review_sheet import sheet_for

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.identity.press import Press
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.rules.session_approval import SessionScope
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.glance import Glance
    from app.usecases.console.other_forms import Other
    from app.usecases.console.session_offer import AllowedForSession, SessionOffer
    from app.usecases.console.sessions import Right
    from app.usecases.deciding.decide import Decided
    from app.usecases.proving.proof import Given
    from app.usecases.reading.evidence import Piece
    from app.usecases.reading.review_sheet import Sheet

MOST_REASON = 1_000
"""Characters of a reason that is typed here."""

_LOOKED = "console look"
"""Where it is remembered, for a quarter of an hour, that a session has looked at a request."""

_PLAINLY = {
    Refusal.BARRED: "click.barred",
    Refusal.EDITED: "click.barred_editor",
    Refusal.OUTDATED: "click.outdated",
    Refusal.OVER_LIMIT: "click.over_limit",
    Refusal.STEP_UP: "click.step_up",
    Refusal.NO_VOTE: "click.no_vote",
}


class DecidePage(Struct, frozen=True, kw_only=True):
    """One request as one person sees it, with what makes its forms pressable."""

    sheet: Sheet
    glance: Glance
    press: str
    stands: str
    by_app: bool  # the reader's second factors: an app that shows codes
    by_passkey: bool
    head: int  # how far the trail had come: what is behind it has not been shown
    others: tuple[Other, ...] = ()  # what else this reader may do about it
    offer: SessionOffer | None = None  # what may be allowed for the session beside an approval
    allowed: tuple[AllowedForSession, ...] = ()  # what was


class Refused(Struct, frozen=True, kw_only=True):
    """Nothing was recorded, and why; `press` goes into the page that says so, so that no reading begins anew."""

    sentence: str
    press: Press | None = None


class Wanted(Struct, frozen=True, kw_only=True):
    """What was pressed, and what came along. No verdict: the person's vote is taken back."""

    verdict: Verdict | None
    press: str
    reason: str | None = None
    given: Given = NOTHING_GIVEN
    together: bool = False  # in a list, beside others
    allow: str = ""  # the digest of what is to be allowed for the session as well


class DecideOnPage:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def show(
        self, right: Right, request_id: str, language: Language, *, since: Press | None = None
    ) -> DecidePage:
        """Return the page. `since`: what it is drawn again after.

        That it was looked at is in the trail: with the link that opened it alone, or else now, once in a while.

        Raises UnauthenticatedError for a session that is over, NotFoundError for another request than its own, and
        ForbiddenError for who may no longer look.
        """
        looked = f"{right.name}:{request_id}"

        def unit(tx: Tx) -> tuple[DecidePage, bool] | AssentError:
            loaded, now = self._book.current(right.org), tx.now()
            policy, request = loaded.policy, find_request(tx, request_id)
            refused = refusal_to_look(right, request, request_id, policy, now)
            if refused is not None or request is None:
                return refused or NotFoundError()
            again = since is not None and since.stood == stands(request)
            press = drawn(request, session=right.name, at=since.drawn_at if since and again else now)
            events, pause = list_of_request(tx, request_id), pause_shown(tx, request)
            page = DecidePage(
                sheet=sheet_for(
                    request,
                    events,
                    policy,
                    language,
                    reader=right.person,
                    pause=pause,
                    earlier=_earlier(tx, request, policy, right.person, now),
                ),
                glance=glance_at(tx, request, loaded, language, reader=right.person, now=now),
                press=render_press(self._seals, press),
                stands=press.stood,
                by_app=has_totp(tx, right.person),
                by_passkey=rp_id(policy.url) is not None and bool(list_passkeys(tx, email_key(right.person))),
                head=get_head(tx)[0],
                others=others_for(tx, request, policy, language, reader=right.person, now=now),
                allowed=allowed_for(tx, request, policy, language, right.person, now),
            )
            if page.glance.may.approve:
                page = replace(page, offer=offer_for(request, policy, language, right.person, press.drawn_at, now))
            return page, right.request_id is not None or was_seen(tx, _LOOKED, looked)

        def note(tx: Tx) -> None:
            if not seen_before(tx, _LOOKED, looked):
                facts = {"via": CONSOLE, "digest": page.sheet.digest}
                tx.append(Record(kind=Kind.REVIEWED, actor=right.person, facts=facts), request_id=request_id)

        page, is_noted = await self._store.read(unit, org=right.org, long=True)
        if not is_noted:
            await self._store.write(note, org=right.org)
        return page

    async def file(self, right: Right, request_id: str, number: str) -> Piece:
        """Return one file of the request's evidence to whoever may see its page.

        Raises what `show` raises, and UnsealedError for a file that is not what was sent.
        """

        def unit(tx: Tx) -> Piece | AssentError:
            request = find_request(tx, request_id)
            refused = refusal_to_look(right, request, request_id, self._policy(right.org), tx.now())
            return refused or (find_piece(tx, request, number) if request else NotFoundError())

        return await self._store.read(unit, org=right.org, long=True)

    async def press(self, right: Right, request_id: str, wanted: Wanted, language: Language) -> Refused | None:
        """Carry out what was pressed; None: it is recorded, or was before. Raises what `show` raises."""

        def unit(tx: Tx) -> tuple[Refused | None] | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            loaded = self._book.current(right.org)
            refused = refusal_to_look(right, request, request_id, loaded.policy, now)
            if refused is not None:
                return refused
            return (self._pressed(tx, request, now, loaded, language, right, wanted),)

        [refused] = await self._store.write(unit, org=right.org, about=request_id)
        return refused

    async def end_for_session(
        self, right: Right, request_id: str, standing_id: str, press: str, language: Language
    ) -> Refused | None:
        """End what was allowed for the session beside this request; None: it is over. Raises what `show` raises."""

        def unit(tx: Tx) -> tuple[Refused | None] | AssentError:
            policy, now = self._policy(right.org), tx.now()
            request = find_request(tx, request_id)
            refused = refusal_to_look(right, request, request_id, policy, now)
            if refused is not None or request is None:
                return refused or NotFoundError()
            try:
                parse_press(self._seals, press, session=right.name, request_id=request_id)
            except BadTokenError:
                return (Refused(sentence=say(language, "console.old_form")),)
            if end_beside(tx, request, standing_id, policy, person=right.person, now=now):
                return (None,)
            return (Refused(sentence=say(language, "rules.standing.not")),)

        [refused] = await self._store.write(unit, org=right.org, about=request_id)
        return refused

    def _pressed(  # noqa: PLR0917 - what a press is made of
        self,
        tx: Tx,
        request: ConfirmationRequest,
        now: datetime,
        loaded: LoadedPolicy,
        language: Language,
        right: Right,
        wanted: Wanted,
    ) -> Refused | None:
        policy = loaded.policy
        try:
            press = parse_press(self._seals, wanted.press, session=right.name, request_id=request.id)
        except BadTokenError:
            return Refused(sentence=say(language, "console.old_form"))
        person, verdict = right.person, wanted.verdict
        if press.stood != stands(request):
            if _is_so_already(request, person, verdict):
                return None
            faster = who_was_faster(request, press, policy, language)
            return Refused(sentence=say(language, "console.stale", faster=faster))
        if wanted.together and not facts_together(request, policy, language, pause_shown(tx, request)):
            return Refused(sentence=say(language, "inbox.on_its_own"))
        evidence = Evidence(channel=CONSOLE, shown_at=press.drawn_at)
        if verdict is None:
            return what_became(
                withdraw_vote(tx, request, now, policy, person=person, evidence=evidence), policy, language, press
            )
        allowing = _allowing(request, policy, language, person, wanted, press, now)
        fault = _reason_fault(wanted.reason, language) if verdict is Verdict.DENY else None
        if fault is not None or isinstance(allowing, Refused):
            return allowing if isinstance(allowing, Refused) else Refused(sentence=fault or "", press=press)
        if verdict is Verdict.APPROVE:
            worth = worth_of(
                tx, self._seals, request, now, policy, person=person, given=wanted.given, evidence=evidence
            )
            if isinstance(worth, AssentError):
                return Refused(sentence=proof_told(worth, language), press=press)
            evidence = replace(evidence, assurance=worth)
        decided = decide(
            tx, request, now, loaded, person=person, verdict=verdict, reason=wanted.reason, evidence=evidence
        )
        if allowing is not None and decided.refusal is None:
            allow_for_session(tx, decided.request, allowing, policy, person=person, now=now)
        return what_became(decided, policy, language, press)

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy


def refusal_to_look(
    right: Right, request: ConfirmationRequest | None, request_id: str, policy: Policy, now: datetime
) -> AssentError | None:
    """Say why somebody may not see this page, or no longer."""
    if now >= right.until:
        return UnauthenticatedError()
    if request is None or right.request_id not in {None, request_id}:
        return NotFoundError()
    return None if may_look(request, policy, right.person, now=now) else ForbiddenError()


def _earlier(
    tx: Tx, request: ConfirmationRequest, policy: Policy, person: str, now: datetime
) -> ConfirmationRequest | None:
    """Return the last call like it that people approved before it was settled, if this person may see that one."""
    until = request.settlement.at if request.settlement else now
    found = find_approved_alike(tx, request, until=until)
    return found if found is not None and may_look(found, policy, person, now=now) else None


def _allowing(  # noqa: PLR0917 - what a press is made of
    request: ConfirmationRequest,
    policy: Policy,
    language: Language,
    person: str,
    wanted: Wanted,
    press: Press,
    now: datetime,
) -> SessionScope | Refused | None:
    """Return what is to be allowed for the session as well; None: nothing. Another than was shown is refused."""
    if not wanted.allow:
        return None
    scope = offered(request, policy, language, person=person, drawn_at=press.drawn_at, now=now)
    as_shown = scope is not None and offer_digest(scope) == wanted.allow
    if wanted.verdict is Verdict.APPROVE and not wanted.together and as_shown:
        return scope
    return Refused(sentence=say(language, "console.session.other"), press=press)


def _reason_fault(reason: str | None, language: Language) -> str | None:
    if not reason:
        return say(language, "click.reason_needed")
    return say(language, "console.long_reason", most=MOST_REASON) if len(reason) > MOST_REASON else None


def _is_so_already(request: ConfirmationRequest, person: str, verdict: Verdict | None) -> bool:
    """Say whether this very answer stands: pressed twice, or the first answer was lost on its way."""
    mine = next((each for each in request.decisions if each.person == person), None)
    if verdict is None:
        return mine is not None and request.grant is not None and request.grant.status is GrantStatus.REVOKED
    return mine is not None and mine.verdict is verdict


def who_was_faster(request: ConfirmationRequest, press: Press, policy: Policy, language: Language) -> str:
    """Say who has moved the request since the page was drawn."""

    def named(email: str) -> str:
        return visible(name_of(policy, email))

    if request.status is Status.EXPIRED:
        return say(language, "console.faster.expired")
    if request.status.final:
        outcome = outcome_sentence(request, language, named, policy.zone)
        return say(language, "console.faster.settled", outcome=outcome)
    new = [each for each in request.decisions if each.id not in press.votes]
    if new:
        return say(language, f"console.faster.{new[-1].verdict.value}", person=named(new[-1].person))
    if request.edited_by is not None:
        return say(language, "console.faster.edited", person=named(request.edited_by))
    return say(language, "console.faster.moved")


def what_became(decided: Decided, policy: Policy, language: Language, press: Press) -> Refused | None:
    """Say why a vote was not recorded; None: it was, or stood already."""
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


def proof_told(error: StepUpNeededError | LockedError, language: Language) -> str:
    """Say what was wrong, or missing, beside an approval."""
    more = error.more
    if isinstance(error, LockedError):
        minutes = math.ceil(int(str(more.get("retry_after", 60))) / 60)
        return say(language, "console.locked", minutes=minutes)
    if more.get("wrong") == "typed":
        return say(language, "console.wrong_typed", left=more.get("left", 0))
    if more.get("wrong") in {"totp", "passkey"}:
        left = more.get("left", MOST_WRONG)
        counted = say(language, "console.tries_left", left=left) if left != MOST_WRONG else ""
        return say(language, f"console.wrong_{more['wrong']}") + counted
    missing = more.get("missing")
    if isinstance(missing, list) and "typed" in missing:
        return say(language, "console.typed_missing")
    return say(language, "console.totp_missing" if missing else "console.no_factor")
