"""Find the permission that two people gave beforehand for a call about which people would be asked.

All of it is asked of today's file at every use: the rule, what it permits, and who may decide. Whatever is in doubt
(a row that cannot be read, a person who left, a caution of any kind) leaves the call to people.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from app.domain.card.shown_call import texts_in
from app.domain.errors import InvalidError, UnknownToolError
from app.domain.money.amounts import has_too_many_decimals
from app.domain.money.payment import payments_of, plain
from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.request.quorum import reachable
from app.domain.rules.permits import BY_RULE, GlassScope, Permit, PermitKind, StandingScope, permit_digest
from app.domain.rules.policy import Allow, Ask, Deny
from app.domain.rules.session_approval import SessionScope
from app.domain.text.lookalike import find_lookalikes
from app.domain.text.visible import quoted
from app.domain.trail.audit import Kind, Record
from app.storage.permits.permits import list_active, lock_permit, save_permit
from app.usecases.voters.electorate import amount_of, voters_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal

    from app.domain.call.tool_call import ToolCall
    from app.domain.money.payment import Payment
    from app.domain.request.caution import Caution
    from app.domain.rules.policy import Policy, Ruling
    from app.storage.engine.transaction import Tx
    from app.usecases.judging.judge_call import Judged

log = structlog.get_logger(__name__)


class Permitted(Struct, frozen=True, kw_only=True):
    """The permission that was used for one call, and what the trail is told of it.

    `loud`: the glass was broken. Such a call is always a request of its own, with cards for everybody to see.
    """

    standing_id: str
    reason: str  # one sentence
    record: Record
    loud: bool = False
    channels: tuple[str, ...] = ()  # where its cards go, besides those of the rule

    @property
    def by(self) -> str:
        """How a request names it as the reason why it may run."""
        return f"standing:{self.standing_id}"


def permitted_before(
    tx: Tx, judged: Judged, ruling: Ask, cautions: Sequence[Caution], *, now: datetime
) -> Permitted | None:
    """Use a standing approval or a broken glass that covers this call, once; None: people are asked."""
    policy = judged.policy
    standing = not cautions and _may_stand(judged, ruling)
    if not standing and policy.break_glass is None:
        return None
    active = list_active(tx, after=now)
    if standing:
        for permit in active:
            used = _use(tx, permit, judged, ruling)
            if used is not None:
                return used
    for permit in active:
        used = _use_glass(tx, permit, judged, ruling) if permit.kind is PermitKind.BREAK_GLASS else None
        if used is not None:
            return used
    return None


def still_permits(
    tx: Tx, standing_id: str, call: ToolCall, ruling: Ruling, policy: Policy, *, now: datetime, wished: bool
) -> bool:
    """Say whether a permission that was used for a call would still hold for that very call, before it runs.

    `ruling` is what today's rules say of it; `wished`: they want people to be asked besides.
    """
    held = _held(tx, standing_id, now=now)  # to the commit: whoever revokes it meanwhile is answered after it
    if held is None:
        return False
    permit = held[0]
    if permit.kind is PermitKind.BREAK_GLASS:
        return not isinstance(ruling, Deny) and _glass_still_covers(permit, call, ruling, policy)
    scope = scope_of(permit)
    if scope is None or not isinstance(ruling, Ask) or wished:
        return False
    if permit.for_session:
        return session_holds(permit, call, ruling, policy, now=now)
    return (
        ruling.rule_id == scope.rule
        and scope.matches(call)
        and _within_terms(permit, scope, ruling, policy)
        and may_make_together(permit.people, call, ruling, policy, now=now)
    )


def may_make(person: str, call: ToolCall, ruling: Ask, policy: Policy, *, now: datetime) -> bool:
    """Say whether a person may approve such a call in their own right, and neither asked for it nor owns its agent."""
    if _is_of(call, person):
        return False
    voters = voters_for(call, ruling.asking.stages, policy, now=now)
    return bool(voters.places_of(person, None)) and voters.may_approve(person, None)


def may_make_together(people: Sequence[str], call: ToolCall, ruling: Ask, policy: Policy, *, now: datetime) -> bool:
    """Say whether people may each approve such a call, and are together all whom its stages ask: nobody is left out."""
    if not all(may_make(person, call, ruling, policy, now=now) for person in people):
        return False
    stages = ruling.asking.stages
    voters = voters_for(call, stages, policy, now=now)
    return reachable(stages, voters, without=voters.entitled() - {*people})


def _is_of(call: ToolCall, person: str) -> bool:
    """Say whether a person asked for a call, or answers for its agent."""
    return email_key(person) in {email_key(who) for who in (call.requester, call.owner) if who}


def scope_of(permit: Permit) -> StandingScope | None:
    """Return what a standing approval allows, of one for a session the part that all have; None: it cannot be read."""
    with suppress(KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return StandingScope.read(permit.scope)
    log.error("standing.unreadable", permit=permit.id)
    return None


def session_scope_of(permit: Permit) -> SessionScope | None:
    """Return what one for a session allows; None for what cannot be read."""
    with suppress(KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return SessionScope.read(permit.scope)
    log.error("standing.unreadable", permit=permit.id)
    return None


def session_holds(permit: Permit, call: ToolCall, ruling: Ask, policy: Policy, *, now: datetime) -> bool:
    """Say whether one for a session is of such a call by today's file, whose click alone would still decide it."""
    scope, asking = session_scope_of(permit), ruling.asking
    if scope is None or asking.session is None or scope.stands.rule != ruling.rule_id or not scope.matches(call):
        return False
    by_rule = permit.confirmed_by == f"{BY_RULE}{scope.stands.rule}"
    if not by_rule or not asking.by_one_click or scope.stands.until != permit.expires_at:
        return False
    try:
        tool = policy.whole_tool(call.tool)
    except UnknownToolError:
        return False
    if tool.irreversible or tool.requires_confirmation:
        return False
    if scope.beyond(asking.session, tool, made_at=permit.proposed_at) is not None:
        return False
    return may_make_together(permit.people, call, ruling, policy, now=now)


def glass_scope_of(permit: Permit) -> GlassScope | None:
    """Return what a broken glass allows; None for what cannot be read."""
    with suppress(KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return GlassScope.read(permit.scope)
    log.error("break_glass.unreadable", permit=permit.id)
    return None


def glass_holds(permit: Permit, policy: Policy) -> bool:
    """Say whether the file of today still lets these two people break the glass, for as long, and for as much."""
    terms, scope = policy.break_glass, glass_scope_of(permit)
    if terms is None or scope is None or permit.confirmed_at is None:
        return False
    entitled = {email_key(who) for name in terms.of for who in policy.directory.members(name)}
    people = {email_key(who) for who in permit.people}
    lasts = permit.expires_at - permit.confirmed_at
    return people <= entitled and len(people) > 1 and lasts <= min(terms.lasts, timedelta(minutes=scope.minutes))


def _glass_covers(permit: Permit, call: ToolCall, level: Assurance, policy: Policy) -> bool:
    """Say whether a broken glass is of such a call, which would take `level`.

    Neither of the two lets their own pass by it, nor what is above their limit; and what takes a second factor passes
    only if both have shown theirs.
    """
    scope, terms = glass_scope_of(permit), policy.break_glass
    if scope is None or terms is None or not scope.matches(call, terms):
        return False
    if level >= Assurance.L3 and not scope.factor:
        return False
    directory = policy.directory
    over = directory.over_limit(amount_of(call, policy.tools.get(call.tool))) if directory.limited else ()
    unfit = {email_key(who) for who in over} & {email_key(who) for who in permit.people}
    return not unfit and glass_holds(permit, policy) and not any(_is_of(call, person) for person in permit.people)


def _glass_has_room(permit: Permit, payments: Sequence[Payment], spent: Mapping[str, Decimal], policy: Policy) -> bool:
    """Say whether a broken glass, used and spent as it is, is within what was confirmed and what today's file says."""
    scope, terms = glass_scope_of(permit), policy.break_glass
    if scope is None or scope.bounds is None or terms is None:
        return False
    return all(bounds.hold(payments, used=permit.used, spent=spent) for bounds in (scope.bounds, terms.bounds))


def _glass_still_covers(permit: Permit, call: ToolCall, ruling: Ask | Allow, policy: Policy) -> bool:
    """Say whether a call that was let pass, and is counted already, would be by today's file."""
    level = ruling.asking.assurance if isinstance(ruling, Ask) else Assurance.L1
    try:
        fields = policy.whole_tool(call.tool).payment
        payments = payments_of(fields, call.arguments) if fields else ()
    except InvalidError:
        return False
    if not _glass_covers(permit, call, level, policy):
        return False
    return _glass_has_room(permit, payments, permit.paid, policy)


def glass_channels(policy: Policy) -> tuple[str, ...]:
    """Return where everybody is told of what runs under a broken glass, besides where its rule asks."""
    terms, ask = policy.break_glass, policy.ask
    if terms is None:
        return ()
    return terms.channels or (ask.channels if ask else ())


def _may_stand(judged: Judged, ruling: Ask) -> bool:
    """Say whether any standing approval may answer this: one rule alone asks, permits it, and asks for a click."""
    asking = ruling.asking
    return (
        (asking.standing is not None or asking.session is not None)
        and asking.assurance < Assurance.L3
        and not judged.tool.irreversible
        and judged.sub_agent is None
        and judged.predecessor_id is None
    )


def _use(tx: Tx, found: Permit, judged: Judged, ruling: Ask) -> Permitted | None:
    if found.kind is PermitKind.BREAK_GLASS:
        return None
    return (_use_session if found.for_session else _use_standing)(tx, found, judged, ruling)


def _use_session(tx: Tx, found: Permit, judged: Judged, ruling: Ask) -> Permitted | None:
    policy, call = judged.policy, judged.call
    if not session_holds(found, call, ruling, policy, now=tx.now()) or judged.offered or _looks_odd(judged):
        return None
    held = _held(tx, found.id)
    if held is None:
        return None
    permit, now = held
    scope = scope_of(permit)
    if scope is None or not session_holds(permit, call, ruling, policy, now=now):
        return None
    if not scope.leaves_room(judged.payments, used=permit.used, spent=permit.paid):
        return None
    after = _counted(tx, permit, judged, now)
    facts: dict[str, object] = {
        **_facts(judged, after),
        "used": after.used,
        "uses": scope.uses,
        "allowed_by": permit.proposed_by,
        "approved_request": scope.request,
        "rule": ruling.rule_id,
    }
    return Permitted(
        standing_id=permit.id,
        reason=f"{permit.proposed_by} allowed it for the session, as the standing approval {permit.id} "
        f"(use {after.used} of {scope.uses}).",
        record=Record(kind=Kind.STANDING_SESSION_USED, actor=f"agent:{call.agent}", facts=facts),
    )


def _looks_odd(judged: Judged) -> bool:
    """Say whether people would be warned of how a text or an amount looks: what may differ was not seen by anybody."""
    odd = any(find_lookalikes(text) for text in texts_in(dict(judged.call.arguments)))
    return odd or any(has_too_many_decimals(plain(each.amount), each.currency) for each in judged.payments)


def _use_standing(tx: Tx, found: Permit, judged: Judged, ruling: Ask) -> Permitted | None:
    scope = scope_of(found)
    if scope is None or scope.rule != ruling.rule_id or not scope.matches(judged.call):
        return None
    held = _held(tx, found.id)
    if held is None:
        return None
    permit, now = held
    policy, call = judged.policy, judged.call
    if not _within_terms(permit, scope, ruling, policy):
        return None
    if not may_make_together(permit.people, call, ruling, policy, now=now):
        return None
    if bool(judged.payments) != bool(scope.each):
        return None
    if not scope.leaves_room(judged.payments, used=permit.used, spent=permit.paid):
        return None
    after = _counted(tx, permit, judged, now)
    facts: dict[str, object] = {
        **_facts(judged, after),
        "used": after.used,
        "uses": scope.uses,
        "proposed_by": permit.proposed_by,
        "confirmed_by": permit.confirmed_by,
        "rule": ruling.rule_id,
    }
    return Permitted(
        standing_id=permit.id,
        reason=f"The standing approval {permit.id} covers it (use {after.used} of {scope.uses}).",
        record=Record(kind=Kind.STANDING_USED, actor=f"agent:{call.agent}", facts=facts),
    )


def _use_glass(tx: Tx, found: Permit, judged: Judged, ruling: Ask) -> Permitted | None:
    level = ruling.asking.assurance
    if not _glass_covers(found, judged.call, level, judged.policy):
        return None
    held = _held(tx, found.id)
    if held is None:
        return None
    permit, now = held  # to the commit: of two at the same time, the second reads what the first has used and spent
    after = permit.used_for(judged.payments, now)
    if not _glass_covers(permit, judged.call, level, judged.policy):
        return None
    if not _glass_has_room(after, judged.payments, after.paid, judged.policy):
        return None
    save_permit(tx, permit, after)
    call, people = judged.call, " and ".join(permit.people)
    return Permitted(
        standing_id=permit.id,
        reason=f"BREAK-GLASS {permit.id}: nobody was asked. {people} broke it: {quoted(permit.reason)}",
        record=Record(
            kind=Kind.GLASS_USED,
            actor=f"agent:{call.agent}",
            facts={**_facts(judged, after), "used": after.used},
        ),
        loud=True,
        channels=glass_channels(judged.policy),
    )


def _within_terms(permit: Permit, scope: StandingScope, ruling: Ask, policy: Policy) -> bool:
    terms = ruling.asking.standing
    if terms is None or ruling.asking.assurance >= Assurance.L3:
        return False
    try:
        tool = policy.whole_tool(scope.tool)
    except UnknownToolError:
        return False
    if tool.irreversible or scope.until != permit.expires_at:
        return False
    return scope.beyond(terms, tool, made_at=permit.proposed_at) is None


def _held(tx: Tx, permit_id: str, *, now: datetime | None = None) -> tuple[Permit, datetime] | None:
    """Lock one that is in force (also at `now`, if that is later than the clock), and says what was confirmed."""
    locked = lock_permit(tx, permit_id)
    if locked is None:
        return None
    permit, at = locked
    return locked if permit.in_force(max(at, now or at)) and is_intact(permit, tx.org) else None


def is_intact(permit: Permit, org: str) -> bool:
    """Say whether the row is as a gateway wrote it, and says what was confirmed."""
    return permit.is_sealed and permit.digest == permit_digest(permit.id, org, permit.kind, permit.scope, permit.reason)


def _counted(tx: Tx, permit: Permit, judged: Judged, now: datetime) -> Permit:
    after = permit.used_for(judged.payments, now)
    save_permit(tx, permit, after)
    return after


def _facts(judged: Judged, permit: Permit) -> dict[str, object]:
    call = judged.call
    return {
        "standing": permit.id,
        "tool": call.tool,
        "session": call.session,
        "call_id": call.call_id,
        "requester": call.requester,
        "call_digest": judged.call_digest,
        "policy_version": judged.policy.version,
        **permit.told_spent(),
    }
