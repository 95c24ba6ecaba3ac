"""What an approver is told privately once a request is approved that took more than a click: that it was them.

It goes to a chat, where the approval did not come from. Whoever has somebody's key and second factor, but not their
chat, is found out by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.card.card_for import instant_text
from app.domain.request.decision import Verdict
from app.domain.request.request import GrantStatus, Status
from app.domain.words.say import say

if TYPE_CHECKING:
    from datetime import tzinfo

    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.language import Language


def approval_told(
    request: ConfirmationRequest,
    person: str | None,
    language: Language,
    zone: tzinfo,
    *,
    title: str | None = None,
    page: str = "",
) -> str | None:
    """Return what a person is told of their own approval; None where there is nothing to tell.

    `title` is what it was, where the words do not stand on its card; `page` where it can be taken back.
    """
    if person is None or request.status is not Status.APPROVED or request.assurance.on_cards:
        return None
    own = (each for each in request.decisions if each.person == person and each.verdict is Verdict.APPROVE)
    approval = next(own, None)
    if approval is None:
        return None
    at = instant_text(approval.at.replace(second=0, microsecond=0), zone)
    then = say(language, f"approved.then.{_then(request, page)}", page=page, request=request.id)
    return say(language, f"approved.{'notice' if title is None else 'note'}", at=at, title=title or "", then=then)


def _then(request: ConfirmationRequest, page: str) -> str:
    """Name what can still be done about an approval, as the request stands when that is told."""
    if request.execution is not None:
        return "ran"
    if request.grant is None or request.grant.status is not GrantStatus.ISSUED:
        return "ended"
    return "page" if page else "terminal"
