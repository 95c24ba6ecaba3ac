"""Break the glass: for an emergency, two people let calls pass about which people would be asked. Louder, not weaker.

What a rule or a hook denies stays denied, and a pause stands. One person asks with a reason, a second one confirms
exactly that; it ends by itself within the hour, or when anybody who might break it says so; and before it can be asked
for again, somebody of the file's `review` who was neither of the two has looked at what was done under it. How often
it may be used and how much may be paid under it is bounded; where a rule that it covers takes a second factor, so do
asking for it and confirming it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from app.domain.card.card_for import instant_text
from app.domain.card.permit_sentence import permit_sentence
from app.domain.errors import (
    AssentError,
    ConflictError,
    DigestMismatchError,
    InvalidError,
    NotEligibleError,
    NotFoundError,
)
from app.domain.lifecycle.lifecycle import SYSTEM
from app.domain.rules.permits import GlassScope, Permit, PermitKind, PermitStatus, permit_digest
from app.domain.text.language import Language
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.domain.words.say import say
from app.storage.engine.transaction import EVERY_ORG
from app.storage.permits.permits import (
    insert_permit,
    list_over,
    list_permits,
    lock_permit,
    lock_permits,
    save_permit,
)
from app.storage.permits.spent import spent_under
from app.usecases.permits.glass_terms import Emergency, may_break, may_review, not_askable, takes_factor
from app.usecases.permits.permit_before import glass_channels, glass_scope_of, is_intact
from app.usecases.permits.standing import ShownPage, ShownPermit
from app.usecases.proving.proof import prove_factor

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.permits.permits import Place
    from app.usecases.platforms.announce import Announce

log = structlog.get_logger(__name__)

_CONFIRM_WITHIN = timedelta(minutes=15)


class BreakGlass:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, announce: Announce, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._announce = announce
        self._seals = seals

    async def ask(self, *, org: str, person: str, emergency: Emergency, totp: str | None = None) -> ShownPermit:
        """Write down what somebody asks for; a second person must confirm it within a quarter of an hour.

        With `totp`, a code of their second factor, it covers calls that take one; then the second person gives one too.
        Raises NotEligibleError, InvalidError, StepUpNeededError, LockedError, and ConflictError while an earlier one
        has not been reviewed.
        """

        def unit(tx: Tx) -> ShownPermit | AssentError:
            policy = self._policy(org)
            earlier, now = lock_permits(tx, PermitKind.BREAK_GLASS)
            refused = not_askable(emergency, (person,), policy) or _unreviewed(earlier)
            terms = policy.break_glass
            if refused is not None or terms is None:
                return refused or ConflictError()
            if totp is not None or takes_factor(emergency.tools, policy):
                unproven = prove_factor(tx, self._seals, person=person, totp=totp)
                if unproven is not None:
                    return unproven
            scope = GlassScope(
                tools=emergency.tools,
                agent=emergency.agent,
                minutes=emergency.minutes,
                bounds=terms.bounds,
                factor=totp is not None,
            ).written()
            permit_id = tx.ids.new("gls")
            permit = Permit(
                id=permit_id,
                kind=PermitKind.BREAK_GLASS,
                status=PermitStatus.PROPOSED,
                scope=scope,
                digest=permit_digest(permit_id, tx.org, PermitKind.BREAK_GLASS, scope, emergency.reason),
                reason=emergency.reason,
                proposed_by=person,
                proposed_at=now,
                expires_at=now + _CONFIRM_WITHIN,
            )
            insert_permit(tx, permit)
            return _told(tx, Kind.GLASS_PROPOSED, permit, policy, now, by=person)

        return self._alarm("break_glass.asked", org, await self._store.write(unit, org=org))

    async def confirm(
        self, *, org: str, person: str, permit_id: str, digest: str, totp: str | None = None
    ) -> ShownPermit:
        """Break the glass, as the second person, who names by `digest` exactly what they read.

        Raises NotFoundError, DigestMismatchError, NotEligibleError, ConflictError, StepUpNeededError, LockedError.
        """

        def unit(tx: Tx) -> ShownPermit | AssentError:
            all_of_them, now = lock_permits(tx, PermitKind.BREAK_GLASS)
            policy = self._policy(org)
            permit = next((each for each in all_of_them if each.id == permit_id), None)
            if permit is None:
                return NotFoundError()
            if permit.status is PermitStatus.ACTIVE and permit.confirmed_by == person and digest == permit.digest:
                return _shown(tx, permit, policy, now)
            scope = glass_scope_of(permit)
            refused = _not_confirmable(permit, scope, org, person, digest, policy, now) or _unreviewed(all_of_them)
            if refused is not None or scope is None:
                return refused or ConflictError("what it allows cannot be read: ask anew")
            if takes_factor(scope.tools, policy) and not scope.factor:
                return ConflictError("by now a rule that it covers takes a second factor: ask anew, with one")
            if scope.factor:
                unproven = prove_factor(tx, self._seals, person=person, totp=totp)
                if unproven is not None:
                    return unproven
            after = replace(
                permit,
                status=PermitStatus.ACTIVE,
                confirmed_by=person,
                confirmed_at=now,
                expires_at=now + timedelta(minutes=scope.minutes),
            )
            save_permit(tx, permit, after)
            return _told(tx, Kind.GLASS_BROKEN, after, policy, now, by=person)

        return self._alarm("break_glass.broken", org, await self._store.write(unit, org=org))

    async def end(self, *, org: str, person: str, permit_id: str) -> ShownPermit:
        """End it early, or withdraw what was asked for: whoever asked for it or might. Raises as `confirm`."""

        def unit(tx: Tx) -> ShownPermit | AssentError:
            locked = lock_permit(tx, permit_id, kind=PermitKind.BREAK_GLASS)
            if locked is None:
                return NotFoundError()
            permit, now = locked
            policy = self._policy(org)
            terms = policy.break_glass
            if person not in permit.people and (terms is None or not may_break(person, terms, policy)):
                return NotEligibleError("it is ended early by those who broke it, or who might")
            return _ended(tx, permit, policy, now, by=person)

        return self._alarm("break_glass.ended", org, await self._store.write(unit, org=org))

    async def review(self, *, org: str, person: str, permit_id: str, note: str) -> ShownPermit:
        """Say that one has looked at what was done. Whoever broke the glass does not review it. Raises as `confirm`."""

        def unit(tx: Tx) -> ShownPermit | AssentError:
            locked = lock_permit(tx, permit_id, kind=PermitKind.BREAK_GLASS)
            if locked is None:
                return NotFoundError()
            permit, now = locked
            policy = self._policy(org)
            if person in permit.people or not may_review(person, policy):
                return NotEligibleError(
                    "it is reviewed by somebody of `review` of `break_glass` in the file who was neither of the two"
                )
            if permit.confirmed_by is None or permit.in_force(now):
                return ConflictError(f"it is {permit.state(now)}: it is reviewed when it is over")
            if permit.reviewed_by is not None:
                return ConflictError(f"{permit.reviewed_by} has reviewed it already")
            if not note.strip():
                return InvalidError("a review says what was found", path="note")
            after = replace(permit, reviewed_by=person, reviewed_at=now, review=note.strip())
            save_permit(tx, permit, after)
            return _told(tx, Kind.GLASS_REVIEWED, after, policy, now, by=person)

        return await self._store.write(unit, org=org)

    async def page(self, *, org: str, most: int, behind: Place | None = None) -> ShownPage:
        """Return a page of the org's: what is not reviewed yet first, then the newest first."""

        def unit(tx: Tx) -> ShownPage:
            now, policy = tx.now(), self._policy(org)
            page = list_permits(tx, PermitKind.BREAK_GLASS, most=most, behind=behind)
            return ShownPage([_shown(tx, permit, policy, now) for permit in page.permits], page.behind)

        return await self._store.read(unit, org=org)

    async def end_over(self) -> int:
        """Say of each whose time is over that it has ended, in every org. Return how many there were."""
        found = await self._store.read(lambda tx: list_over(tx, by=tx.now()), org=EVERY_ORG)
        over = [each for each in found if each[0] in self._book.orgs()]
        for org, permit_id in over:

            def unit(tx: Tx, permit_id: str = permit_id, org: str = org) -> ShownPermit | None:
                locked = lock_permit(tx, permit_id)
                if locked is None or locked[0].status is not PermitStatus.ACTIVE or locked[1] < locked[0].expires_at:
                    return None
                return _ended(tx, locked[0], self._policy(org), locked[1], by=SYSTEM)

            ended = await self._store.write(unit, org=org)
            if ended is not None:
                self._alarm("break_glass.ended", org, ended)
        return len(over)

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy

    def _alarm(self, event: str, org: str, shown: ShownPermit) -> ShownPermit:
        """Log it, and say it in the chats, after the commit: whoever watches either hears of it at once."""
        permit, policy = shown.permit, self._policy(org)
        self._announce(org, glass_channels(policy), lambda language: _announcement(shown, policy, language))
        log.critical(
            event,
            org=org,
            permit=permit.id,
            by=permit.people,
            scope=shown.sentences[Language.EN],
            reason=permit.reason,
            state=shown.state,
            uses=permit.used,
        )
        return shown


def _announcement(shown: ShownPermit, policy: Policy, language: Language) -> str:
    permit = shown.permit
    over = "ended" if permit.confirmed_by is not None else "dropped"
    kind = {PermitStatus.PROPOSED: "asked", PermitStatus.ACTIVE: "broken"}.get(permit.status, over)
    return say(
        language,
        f"glass.told.{kind}",
        id=permit.id,
        people=("、" if language is Language.ZH else " and ").join(visible(person) for person in permit.people),
        reason=visible(permit.reason),
        scope=shown.sentences[language],
        until=instant_text(permit.expires_at, policy.zone),
        uses=permit.used,
    )


def awaits_review(permit: Permit) -> bool:
    """Say whether a glass was broken, and nobody has looked at what was done since."""
    return permit.confirmed_by is not None and permit.reviewed_by is None


def _unreviewed(earlier: list[Permit]) -> AssentError | None:
    waiting = next((each for each in earlier if awaits_review(each)), None)
    if waiting is None:
        return None
    return ConflictError(
        f"what was done under {waiting.id} has to be reviewed first, by somebody who was neither of the two",
        unreviewed=waiting.id,
    )


def _not_confirmable(  # noqa: PLR0917 - what is confirmed, by whom, when
    permit: Permit, scope: GlassScope | None, org: str, person: str, digest: str, policy: Policy, now: datetime
) -> AssentError | None:
    if digest != permit.digest or not is_intact(permit, org):
        return DigestMismatchError("the digest is not that of this permission: read it again before you confirm")
    if person == permit.proposed_by:
        return NotEligibleError("you asked for it: a second, different person must confirm it")
    if permit.status is not PermitStatus.PROPOSED or now >= permit.expires_at:
        return ConflictError(f"it is {permit.state(now)} already", state=permit.state(now))
    if scope is None:
        return ConflictError("what it allows cannot be read: ask anew")
    terms = policy.break_glass
    if terms is not None and scope.bounds != terms.bounds:
        return ConflictError("the file has other bounds by now: ask anew")
    asked = Emergency(tools=scope.tools, agent=scope.agent, minutes=scope.minutes, reason=permit.reason)
    return not_askable(asked, (permit.proposed_by, person), policy)


def _ended(tx: Tx, permit: Permit, policy: Policy, now: datetime, *, by: str) -> ShownPermit:
    if permit.status is PermitStatus.REVOKED:
        return _shown(tx, permit, policy, now)
    after = replace(permit, status=PermitStatus.REVOKED, revoked_by=by, revoked_at=now)
    save_permit(tx, permit, after)
    return _told(tx, Kind.GLASS_ENDED, after, policy, now, by=by)


def _shown(tx: Tx, permit: Permit, policy: Policy, now: datetime) -> ShownPermit:
    scope, spent = glass_scope_of(permit), spent_under(tx, permit.id)
    permit = permit if spent.adds_up else replace(permit, is_sealed=False)
    return ShownPermit(
        permit=permit,
        state=permit.state(now) if scope else "unreadable",
        sentences={language: permit_sentence(scope, language, policy.zone) if scope else "?" for language in Language},
        spent=spent.amounts,
    )


def _told(tx: Tx, kind: Kind, permit: Permit, policy: Policy, now: datetime, *, by: str) -> ShownPermit:
    """Say it in the trail, and show how it stands."""
    shown = _shown(tx, permit, policy, now)
    facts: dict[str, object] = {
        "standing": permit.id,
        "scope": shown.sentences[Language.EN],
        "digest": permit.digest,
        "reason": permit.reason,
        "until": permit.expires_at.isoformat(),
        "proposed_by": permit.proposed_by,
        "confirmed_by": permit.confirmed_by,
        "used": permit.used,
        **permit.told_spent(),
        "review": permit.review,
    }
    tx.append(Record(kind=kind, actor=by, facts=facts))
    return shown
