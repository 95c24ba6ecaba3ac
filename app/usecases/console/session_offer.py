"""What a request's page says of its session: what may be allowed beside an approval, what was, and how to end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import AssentError
from app.domain.request.request import Status
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.usecases.permits.session_approval import allowed_beside, offer_digest, offered
from app.usecases.permits.standing import may_end, revoke, sentence_of

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.storage.engine.transaction import Tx


class SessionOffer(Struct, frozen=True, kw_only=True):
    """What this reader may allow for the session, spelled out; `digest` names it in the form."""

    sentence: str
    digest: str


class AllowedForSession(Struct, frozen=True, kw_only=True):
    """What was allowed for the session, spelled out, and where it stands: one of the words of the page of the rules."""

    id: str
    state: str
    sentence: str
    by: str
    used: str
    may_end: bool


def offer_for(  # noqa: PLR0917 - what an offer is made of
    request: ConfirmationRequest, policy: Policy, language: Language, person: str, drawn_at: datetime, now: datetime
) -> SessionOffer | None:
    """Return what a person who may approve the request may allow beside it."""
    scope = offered(request, policy, language, person=person, drawn_at=drawn_at, now=now)
    if scope is None:
        return None
    return SessionOffer(sentence=sentence_of(scope, policy, language), digest=offer_digest(scope))


def allowed_for(  # noqa: PLR0917 - whose page it is
    tx: Tx, request: ConfirmationRequest, policy: Policy, language: Language, person: str, now: datetime
) -> tuple[AllowedForSession, ...]:
    """Return what was allowed beside the request, or let it through."""
    if request.status is not Status.APPROVED:
        return ()
    return tuple(
        AllowedForSession(
            id=shown.permit.id,
            state=shown.state,
            sentence=shown.sentences[language],
            by=visible(name_of(policy, shown.permit.proposed_by)),
            used=f"{shown.permit.used} / {shown.permit.scope.get('uses', '?')}",
            may_end=shown.state == "active" and may_end(tx, shown.permit, person, policy, now),
        )
        for shown in allowed_beside(tx, request, policy, now)
    )


def end_beside(
    tx: Tx, request: ConfirmationRequest, standing_id: str, policy: Policy, *, person: str, now: datetime
) -> bool:
    """End one that this request's page shows, as the person may; False: nothing was done."""
    if standing_id not in {each.permit.id for each in allowed_beside(tx, request, policy, now)}:
        return False
    return not isinstance(revoke(tx, standing_id, policy, by=person, person=person), AssentError)
