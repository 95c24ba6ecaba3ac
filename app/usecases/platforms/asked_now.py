"""What waits, and whom it asks: the people about whose accounts a platform is asked first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.request.request import Status
from app.storage.requests.request_lists import END_OF_TIME, list_requests
from app.usecases.voters.electorate import voters_of

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.storage.engine.transaction import Tx

_LOOKED_AT = 100
"""Waiting requests, the newest: what comes first is a courtesy, and must cost no more than one."""


def people_asked_now(tx: Tx, policy: Policy) -> frozenset[str]:
    """Return, by e-mail, everybody who may vote on a waiting request."""
    filters = {"status": Status.PENDING.value}
    waiting = list_requests(tx, filters=filters, before=(END_OF_TIME, ""), most=_LOOKED_AT)
    electorates = [voters_of(request, policy, now=tx.now()) for request in waiting]
    voting = (stage for voters in electorates for stage in voters.stages)
    acting = (delegate for voters in electorates for delegate, _ in voters.acting)
    return frozenset[str]().union(frozenset(acting), *voting)


def list_unfinished(tx: Tx) -> list[ConfirmationRequest]:
    """Return the newest requests that wait for an answer, and the newest that may wait to be claimed."""
    pages = (
        list_requests(tx, filters={"status": status.value}, before=(END_OF_TIME, ""), most=_LOOKED_AT)
        for status in (Status.PENDING, Status.APPROVED)
    )
    return [request for page in pages for request in page]
