"""Allow calls for a session beside approving one, and end that with the session, or with the file's leave for it.

What is offered follows from the request, today's file and the instant at which its page was drawn; its digest goes into
the form. Whoever presses allows exactly that, in the transaction that approves the call, or nothing is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.card.request_warnings import warnings_of
from app.domain.errors import AssentError, ConflictError, UnknownToolError
from app.domain.request.request import State, Status
from app.domain.rules.permits import BY_RULE, Permit, PermitKind, PermitStatus, permit_digest
from app.domain.rules.policy import Ask, rulings_of
from app.domain.rules.session_approval import scope_for
from app.domain.text.canonical import digest
from app.domain.trail.audit import Kind, Record
from app.storage.permits.permits import find_permit, insert_permit, list_active
from app.storage.trail.audit_chain import list_of_request
from app.usecases.cards.compose import terms_for
from app.usecases.permits.permit_before import may_make_together, session_scope_of
from app.usecases.permits.standing import record_of, revoke, shown_at, still_lets

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.rules.session_approval import SessionScope
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.permits.standing import ShownPermit

_SESSION_ENDED = "the session ended"
_FILE_CHANGED = "the file lets nobody allow as much any more"


def offered(
    request: ConfirmationRequest, policy: Policy, language: Language, *, person: str, drawn_at: datetime, now: datetime
) -> SessionScope | None:
    """Return what a person may allow for the session beside approving this call; None: nothing.

    Only where one rule alone asks, for one person's click, about a call without any warning, and lets one; and where
    that person may approve it in their own right, did not ask for it and does not answer for its agent.
    """
    if request.state is not State.PENDING or not _is_plain(request, policy, language):
        return None
    ruling, call = _ruling(request, policy, now), request.call
    terms = ruling.asking.session if ruling is not None else None
    if ruling is None or terms is None or not ruling.asking.by_one_click:
        return None
    try:
        tool = policy.whole_tool(call.tool)
    except UnknownToolError:
        return None
    if tool.irreversible or tool.requires_confirmation:
        return None
    until = drawn_at + terms.lasts
    scope = scope_for(request.id, call, request.payments, tool, terms, rule_id=ruling.rule_id, until=until)
    if scope is None or now >= until or not may_make_together((person,), call, ruling, policy, now=now):
        return None
    return scope


def offer_digest(scope: SessionScope) -> str:
    """Name what is offered: the form says it, and the press is refused where it would be something else by then."""
    return digest(scope.written())


def allow_for_session(
    tx: Tx, request: ConfirmationRequest, scope: SessionScope, policy: Policy, *, person: str, now: datetime
) -> Permit | AssentError:
    """Write it down, and put it in force, beside the approval of its call that the same transaction has written."""
    votes = [each.person for each in request.decisions]
    if request.status is not Status.APPROVED or votes != [person]:
        return ConflictError("the call was not approved by this person alone: nothing is allowed beside it")
    permit_id, written = tx.ids.new("sta"), scope.written()
    permit = Permit(
        id=permit_id,
        kind=PermitKind.STANDING,
        status=PermitStatus.ACTIVE,
        scope=written,
        digest=permit_digest(permit_id, tx.org, PermitKind.STANDING, written, ""),
        reason="",
        proposed_by=person,
        proposed_at=now,
        confirmed_by=f"{BY_RULE}{scope.stands.rule}",
        confirmed_at=now,
        expires_at=scope.stands.until,
    )
    insert_permit(tx, permit)
    shown = shown_at(tx, permit, policy, now)
    said = record_of(Kind.STANDING_ALLOWED, shown, by=person)
    tx.append(Record(kind=said.kind, actor=said.actor, facts=said.facts), request_id=request.id)
    return permit


def allowed_beside(tx: Tx, request: ConfirmationRequest, policy: Policy, now: datetime) -> tuple[ShownPermit, ...]:
    """Return what was allowed for the session beside this request, or has let it through; also what is over."""
    made = [
        str(event.record.facts.get("standing"))
        for event in list_of_request(tx, request.id)
        if event.record.kind is Kind.STANDING_ALLOWED
    ]
    named = [request.allowed_by.removeprefix("standing:")] if request.allowed_by else []
    found = [find_permit(tx, each) for each in dict.fromkeys((*made, *named))]
    return tuple(shown_at(tx, permit, policy, now) for permit in found if permit is not None and permit.for_session)


class EndSessionApprovals:
    """End them with what they rest on. What is used is asked of the file of that instant anyway: this is for good."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def with_session(self, org: str, agent: str, session: str) -> None:
        """End those of a session that its agent says is over."""

        def found(tx: Tx) -> list[str]:
            ended = (agent, session)
            return [permit.id for permit, scope in _active(tx) if (scope.stands.agent, scope.stands.session) == ended]

        await self._end(org, await self._store.read(found, org=org), _SESSION_ENDED)

    async def with_file(self, org: str) -> None:
        """End those that the file, as it has just been taken into use, lets nobody make any more."""
        policy = self._book.current(org).policy

        def found(tx: Tx) -> list[str]:
            return [
                permit.id for permit, scope in _active(tx) if not still_lets(policy, scope, made_at=permit.proposed_at)
            ]

        await self._end(org, await self._store.read(found, org=org), _FILE_CHANGED)

    async def _end(self, org: str, permits: list[str], why: str) -> None:
        policy = self._book.current(org).policy

        def unit(tx: Tx) -> None:
            for permit_id in permits:
                revoke(tx, permit_id, policy, by="system", person=None, why=why)

        if permits:
            await self._store.write(unit, org=org)


def _active(tx: Tx) -> list[tuple[Permit, SessionScope]]:
    of_sessions = [permit for permit in list_active(tx, after=tx.now()) if permit.for_session]
    return [(permit, scope) for permit in of_sessions if (scope := session_scope_of(permit)) is not None]


def _is_plain(request: ConfirmationRequest, policy: Policy, language: Language) -> bool:
    """Say whether nothing was added to the call, nothing is to be warned of, and one person's click decides it."""
    untouched = request.edited_by is None and not request.handovers and request.predecessor_id is None
    added = any(stage.added_by is not None for stage in request.stages)
    votes = sum(stage.need for stage in request.stages)
    warned = bool(request.cautions) or bool(warnings_of(request, terms_for(request, policy, language)))
    return untouched and not added and votes == 1 and not request.decisions and not warned


def _ruling(request: ConfirmationRequest, policy: Policy, now: datetime) -> Ask | None:
    """Return what today's rules say of the call, if it is still the one rule that asked, at no higher level."""
    rulings = rulings_of(policy, request.call, now=now)
    ruling = rulings[0][1]
    if len(rulings) > 1 or not isinstance(ruling, Ask) or ruling.rule_id != request.rule_id:
        return None
    return ruling if request.assurance <= ruling.asking.assurance else None
