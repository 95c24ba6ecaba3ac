"""What people denied a short while ago, found by the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, literal_column, select

from app.domain.tool_call import call_digest as digest_of
from app.storage.dialect import to_us
from app.storage.requests import find_request
from app.storage.tables import requests
from app.storage.transaction import Statement, Tx

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request import ConfirmationRequest

_NEWEST = Statement(
    select(requests.c.id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.agent == bindparam("agent"),
        requests.c.call_digest == bindparam("call_digest"),
        requests.c.status == literal_column("'denied'"),  # not a parameter: the index is of these rows alone
        requests.c.settled_at > bindparam("since"),
    )
    .order_by(requests.c.settled_at.desc(), requests.c.id)
    .limit(1)
)
_MOST_ALIKE = 20
_EDITED = Statement(
    select(requests.c.id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.agent == bindparam("agent"),
        requests.c.status == literal_column("'denied'"),
        requests.c.settled_at > bindparam("since"),
        requests.c.edited_by.is_not(None),
    )
    .order_by(requests.c.settled_at.desc(), requests.c.id)
    .limit(_MOST_ALIKE)
)


def find_denied(tx: Tx, agent: str, call_digest: str, *, since: datetime) -> ConfirmationRequest | None:
    """Return the request for this call of this agent that people denied last, if that was after `since`.

    Also one that was for another call until people changed it to this one.
    """
    row = tx.one(_NEWEST, for_org=tx.org, agent=agent, call_digest=call_digest, since=to_us(since))
    if row is not None:
        return find_request(tx, row["id"])
    changed = (find_request(tx, row["id"]) for row in tx.all(_EDITED, for_org=tx.org, agent=agent, since=to_us(since)))
    return next((each for each in changed if each is not None and digest_of(each.call) == call_digest), None)
