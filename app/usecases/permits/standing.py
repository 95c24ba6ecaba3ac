"""Make, list and end standing approvals: proposed on a request that people approved, confirmed by a second person.

Nothing holds before it is confirmed. Both people must be ones who may approve such a call by today's file, and neither
may have asked for it or answer for its agent. What it allows is spelled out and bound by a digest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from app.domain.card.permit_sentence import permit_sentence
from app.domain.errors import (
    AssentError,
    ConflictError,
    DigestMismatchError,
    InvalidError,
    NotEligibleError,
    NotFoundError,
    UnknownToolError,
)
from app.domain.people.assurance import Assurance
from app.domain.people.people import Amount
from app.domain.request.request import Status
from app.domain.rules.permits import Permit, PermitKind, PermitStatus, StandingScope, kept, permit_digest, same_paths
from app.domain.rules.policy import Ask, rulings_of
from app.domain.rules.session_approval import SessionScope
from app.domain.text.language import Language
from app.domain.trail.audit import Kind, Record
from app.storage.permits.permits import insert_permit, list_permits, lock_permit, save_permit
from app.storage.permits.spent import spent_under
from app.storage.requests.requests import find_request
from app.usecases.cards.compose import labels_of
from app.usecases.permits.permit_before import is_intact, may_make, may_make_together, scope_of, session_scope_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta
    from decimal import Decimal

    from app.domain.call.tool import Tool
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.permits import StandingTerms
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.permits.permits import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What somebody would like to be allowed. `each` and `total` by currency, for payments only."""

    request_id: str
    uses: int
    lasts: timedelta
    each: Mapping[str, Decimal] = field(default_factory=dict[str, "Decimal"], hash=False)
    total: Mapping[str, Decimal] = field(default_factory=dict[str, "Decimal"], hash=False)
    for_session: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPermit:
    """One as it stands at an instant, spelled out in every language, with what was paid under it."""

    permit: Permit
    state: str
    sentences: Mapping[Language, str] = field(hash=False)
    spent: Mapping[str, Decimal] = field(default_factory=dict[str, "Decimal"], hash=False)


class ShownPage(NamedTuple):
    """A page of them, and the place behind it; None where nothing is behind it."""

    shown: list[ShownPermit]
    behind: Place | None


class _Ground(Struct, frozen=True, kw_only=True):
    """The approved request on which one is made, and what today's file says of such calls."""

    request: ConfirmationRequest
    ruling: Ask
    terms: StandingTerms
    tool: Tool


class StandingApprovals:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def propose(self, *, org: str, person: str, proposal: Proposal) -> ShownPermit:
        """Write down what is proposed, and spell it out. Nothing is allowed by it yet.

        Raises NotFoundError, NotEligibleError, ConflictError where the rule permits none, InvalidError where it
        permits less.
        """

        def unit(tx: Tx) -> ShownPermit | AssentError:
            now, policy = tx.now(), self._policy(org)
            base = _base(tx, proposal.request_id, policy, now)
            if isinstance(base, AssentError):
                return base
            call = base.request.call
            if proposal.for_session and call.session is None:
                return InvalidError("the request is of no session", path="session")
            scope = StandingScope(
                request=base.request.id,
                rule=base.ruling.rule_id,
                agent=call.agent,
                tool=call.tool,
                session=call.session if proposal.for_session else None,
                same=kept(call, same_paths(base.terms, base.tool), base.tool.sensitive),
                each=proposal.each,
                total=proposal.total,
                uses=proposal.uses,
                until=now + proposal.lasts,
            )
            refused = _refused(person, base, scope, policy, made_at=now, now=now)
            if refused is not None:
                return refused
            permit = _proposed(tx, scope, proposal.reason, by=person, now=now)
            insert_permit(tx, permit)
            shown = shown_at(tx, permit, policy, now)
            tx.append(record_of(Kind.STANDING_PROPOSED, shown, by=person))
            return shown

        return await self._store.write(unit, org=org)

    async def confirm(self, *, org: str, person: str, permit_id: str, digest: str) -> ShownPermit:
        """Put it in force, as its second person, who names by `digest` exactly what they read.

        The same confirmation again is answered like the first. Raises NotFoundError, DigestMismatchError,
        NotEligibleError, ConflictError.
        """

        def unit(tx: Tx) -> ShownPermit | AssentError:
            locked = lock_permit(tx, permit_id, kind=PermitKind.STANDING)
            if locked is None:
                return NotFoundError()
            permit, now = locked
            policy = self._policy(org)
            refused = _not_confirmable(permit, org, person, digest, now)
            if refused is not None:
                return refused
            if permit.status is PermitStatus.ACTIVE:
                return shown_at(tx, permit, policy, now)
            scope = scope_of(permit)
            base = _base(tx, scope.request, policy, now) if scope else None
            if scope is None or base is None:
                return ConflictError("what it allows cannot be read: propose it anew")
            if isinstance(base, AssentError):
                return base
            if base.ruling.rule_id != scope.rule:
                return ConflictError(f"another rule asks about such calls by now ({base.ruling.rule_id})")
            refused = _refused_to(
                (person, permit.proposed_by), base, scope, policy, made_at=permit.proposed_at, now=now
            )
            if refused is not None:
                return refused
            after = replace(permit, status=PermitStatus.ACTIVE, confirmed_by=person, confirmed_at=now)
            save_permit(tx, permit, after)
            shown = shown_at(tx, after, policy, now)
            tx.append(record_of(Kind.STANDING_CONFIRMED, shown, by=person))
            return shown

        return await self._store.write(unit, org=org)

    async def revoke(self, *, org: str, permit_id: str, by: str, person: str | None) -> ShownPermit:
        """End it for good: the next call asks, on every replica. `person` None: an administrator.

        Whoever made it may, and every approver of such calls. Raises NotFoundError, NotEligibleError.
        """
        return await self._store.write(
            lambda tx: revoke(tx, permit_id, self._policy(org), by=by, person=person), org=org
        )

    async def page(self, *, org: str, most: int, behind: Place | None = None) -> ShownPage:
        """Return a page of the org's: those that may still hold come first, then those that are over; newest first."""
        return await self._store.read(
            lambda tx: page_shown(tx, self._policy(org), most=most, behind=behind), org=org, long=True
        )

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy


def page_shown(tx: Tx, policy: Policy, *, most: int, behind: Place | None = None) -> ShownPage:
    """Return a page of the org's standing approvals: those that may still hold come first; newest first."""
    now, page = tx.now(), list_permits(tx, PermitKind.STANDING, most=most, behind=behind)
    return ShownPage([shown_at(tx, permit, policy, now) for permit in page.permits], page.behind)


def revoke(
    tx: Tx, permit_id: str, policy: Policy, *, by: str, person: str | None, why: str | None = None
) -> ShownPermit | AssentError:
    """End one for good, whoever made it and however many they were. `person` None: it is no approver that ends it."""
    locked = lock_permit(tx, permit_id, kind=PermitKind.STANDING)
    if locked is None:
        return NotFoundError()
    permit, now = locked
    if person is not None and not may_end(tx, permit, person, policy, now):
        return NotEligibleError("only those who may approve such calls, or an administrator, may end it")
    if permit.status is PermitStatus.REVOKED:
        return shown_at(tx, permit, policy, now)
    after = replace(permit, status=PermitStatus.REVOKED, revoked_by=by, revoked_at=now)
    save_permit(tx, permit, after)
    shown = shown_at(tx, after, policy, now)
    tx.append(record_of(Kind.STANDING_REVOKED, shown, by=by, why=why))
    return shown


def may_end(tx: Tx, permit: Permit, person: str, policy: Policy, now: datetime) -> bool:
    """Say whether a person may end one: whoever made it, and every approver of such calls."""
    return person in permit.people or _is_approver(tx, permit, person, policy, now)


def _base(tx: Tx, request_id: str, policy: Policy, now: datetime) -> _Ground | AssentError:
    """Find the request, and what today's file says of it; or why no standing approval can be made on it."""
    request = find_request(tx, request_id)
    if request is None:
        return NotFoundError()
    if request.status is not Status.APPROVED or request.allowed_by is not None:
        return ConflictError("a standing approval is made on a request that people approved, and this is none")
    try:
        tool = policy.whole_tool(request.call.tool)
    except UnknownToolError as error:
        return error
    if tool.irreversible or tool.requires_confirmation:
        return ConflictError(
            f"{tool.name} cannot be undone, or always requires confirmation: people are asked each time"
        )
    return _of_rule(request, tool, policy, now)


def _of_rule(request: ConfirmationRequest, tool: Tool, policy: Policy, now: datetime) -> _Ground | AssentError:
    rulings = rulings_of(policy, request.call, now=now)
    ruling = rulings[0][1]
    if len(rulings) > 1 or not isinstance(ruling, Ask) or ruling.rule_id != request.rule_id:
        return ConflictError("today's rules no longer ask about it as they did: there is nothing to stand for")
    terms = ruling.asking.standing
    if terms is None:
        return ConflictError(f"the rule {ruling.rule_id} permits no standing approvals (`standing` in the file)")
    if max(ruling.asking.assurance, request.assurance) >= Assurance.L3:
        return ConflictError("calls that take a second factor are asked about each time")
    return _Ground(request=request, ruling=ruling, terms=terms, tool=tool)


def _refused(
    person: str, base: _Ground, scope: StandingScope, policy: Policy, *, made_at: datetime, now: datetime
) -> AssentError | None:
    """Say why somebody may not stand for this; None: they may."""
    if not may_make(person, base.request.call, base.ruling, policy, now=now):
        return NotEligibleError(f"{person} may not approve such a call, asked for it, or answers for its agent")
    beyond = scope.beyond(base.terms, base.tool, made_at=made_at)
    if beyond is not None:
        return InvalidError(f"more than the rule {base.ruling.rule_id} permits: {beyond}", path="")
    known = policy.directory.find(person)
    most = [Amount(value=amount, currency=currency) for currency, amount in scope.each.items()]
    if known is None or not all(map(known.may_approve, most)):
        return NotEligibleError(f"an amount is above what {person} may approve")
    return None


def _refused_to(
    two: tuple[str, str], base: _Ground, scope: StandingScope, policy: Policy, *, made_at: datetime, now: datetime
) -> AssentError | None:
    """Say why two people may not stand for this together; None: they may."""
    for person in two:
        refused = _refused(person, base, scope, policy, made_at=made_at, now=now)
        if refused is not None:
            return refused
    if not may_make_together(two, base.request.call, base.ruling, policy, now=now):
        return NotEligibleError("the rule asks more people about such a call than the two of you")
    return None


def _not_confirmable(permit: Permit, org: str, person: str, digest: str, now: datetime) -> AssentError | None:
    if digest != permit.digest or not is_intact(permit, org):
        return DigestMismatchError("the digest is not that of this permission: read it again before you confirm")
    if person == permit.proposed_by:
        return NotEligibleError("you proposed it: a second, different person must confirm it")
    if permit.status is PermitStatus.ACTIVE and permit.confirmed_by == person:
        return None
    if permit.status is not PermitStatus.PROPOSED or now >= permit.expires_at:
        return ConflictError(f"it is {permit.state(now)} already", state=permit.state(now))
    return None


def _proposed(tx: Tx, scope: StandingScope, reason: str, *, by: str, now: datetime) -> Permit:
    permit_id, written = tx.ids.new("sta"), scope.written()
    return Permit(
        id=permit_id,
        kind=PermitKind.STANDING,
        status=PermitStatus.PROPOSED,
        scope=written,
        digest=permit_digest(permit_id, tx.org, PermitKind.STANDING, written, reason),
        reason=reason,
        proposed_by=by,
        proposed_at=now,
        expires_at=scope.until,
    )


def _is_approver(tx: Tx, permit: Permit, person: str, policy: Policy, now: datetime) -> bool:
    """Say whether somebody is in a group that is asked about such calls, barred from this one or not."""
    scope = scope_of(permit)
    request = find_request(tx, scope.request) if scope else None
    if request is None:
        return False
    rulings = [ruling for _, ruling in rulings_of(policy, request.call, now=now) if isinstance(ruling, Ask)]
    stages = [stage for ruling in rulings for stage in ruling.asking.stages]
    return any(person in policy.directory.members(name) for stage in stages for name in stage.of)


def shown_at(tx: Tx, permit: Permit, policy: Policy, now: datetime) -> ShownPermit:
    """Return one as it stands at an instant. One for a session is over once the file lets nobody make it any more."""
    spent = spent_under(tx, permit.id)
    permit = permit if spent.adds_up else replace(permit, is_sealed=False)
    of_session = session_scope_of(permit) if permit.for_session else None
    scope = of_session if permit.for_session else scope_of(permit)
    state = permit.state(now) if scope else "unreadable"
    if of_session is not None and not still_lets(policy, of_session, made_at=permit.proposed_at):
        state = "ended" if state in {"active", "used up"} else state
    return ShownPermit(
        permit=permit,
        state=state,
        sentences={language: sentence_of(scope, policy, language) if scope else "?" for language in Language},
        spent=spent.amounts,
    )


def sentence_of(scope: StandingScope | SessionScope, policy: Policy, language: Language) -> str:
    """Spell out what one allows, or would, under the names that the file gives to arguments."""
    tool = (scope.stands if isinstance(scope, SessionScope) else scope).tool
    return permit_sentence(scope, language, policy.zone, labels=labels_of(policy.tools.get(tool), language))


def still_lets(policy: Policy, scope: SessionScope, *, made_at: datetime) -> bool:
    """Say whether a file, some rule or tier of it, still lets an approver allow as much."""
    stands = scope.stands
    rule = next((each for each in policy.rules if each.id == stands.rule), None)
    try:
        tool = policy.whole_tool(stands.tool)
    except UnknownToolError:
        return False
    if rule is None or tool.irreversible or tool.requires_confirmation:
        return False
    askings = (rule.asking, *(tier.asking for tier in rule.tiers))
    terms = [asking.session for asking in askings if asking is not None and asking.session is not None]
    return any(scope.beyond(each, tool, made_at=made_at) is None for each in terms)


def record_of(kind: Kind, shown: ShownPermit, *, by: str, why: str | None = None) -> Record:
    """Return what the trail is told of one. `why`: what ended it, where no person did."""
    permit = shown.permit
    facts: dict[str, object] = {
        "standing": permit.id,
        "scope": shown.sentences[Language.EN],
        "digest": permit.digest,
        "until": permit.expires_at.isoformat(),
        "reason": permit.reason,
        "proposed_by": permit.proposed_by,
        "confirmed_by": permit.confirmed_by,
        "used": permit.used,
        **permit.told_spent(),
        **({"why": why} if why is not None else {}),
    }
    return Record(kind=kind, actor=by, facts=facts)
