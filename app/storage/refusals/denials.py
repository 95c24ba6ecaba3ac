"""What people denied a short while ago and nobody lifted, found by the call or by what must be seen of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, literal_column, select

from app.domain.call.tool_call import call_digest as digest_of
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.refusals.lifts import still_stands
from app.storage.requests.requests import find_request
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest

_DENIED = requests.c.status == literal_column("'denied'")  # not a parameter: the indexes are of these rows alone
_NEWEST = Statement(
    select(requests.c.id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.agent == bindparam("agent"),
        requests.c.call_digest == bindparam("call_digest"),
        _DENIED,
        requests.c.settled_at > bindparam("since"),
        still_stands(),
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
        _DENIED,
        requests.c.settled_at > bindparam("since"),
        requests.c.edited_by.is_not(None),
        still_stands(),
    )
    .order_by(requests.c.settled_at.desc(), requests.c.id)
    .limit(_MOST_ALIKE)
)
_NEAR = Statement(
    select(requests.c.id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.near_key == bindparam("of_near_key"),
        _DENIED,
        requests.c.settled_at > bindparam("since"),
        still_stands(),
    )
    .order_by(requests.c.settled_at.desc(), requests.c.id)
    .limit(1)
)


def find_denied(tx: Tx, agent: str, call_digest: str, *, since: datetime) -> ConfirmationRequest | None:
    """Return the request for this call of this agent that people denied last, if that was after `since`.

    Also one that was for another call until people changed it to this one. Not one whose refusal was lifted.
    """
    row = tx.one(_NEWEST, for_org=tx.org, agent=agent, call_digest=call_digest, since=to_us(since))
    if row is not None:
        return find_request(tx, row["id"])
    changed = (find_request(tx, row["id"]) for row in tx.all(_EDITED, for_org=tx.org, agent=agent, since=to_us(since)))
    return next((each for each in changed if each is not None and digest_of(each.call) == call_digest), None)


def find_near_denied(tx: Tx, near_key: str, *, since: datetime) -> ConfirmationRequest | None:
    """Return the request that says the same where it must be seen and that people denied last, whoever asked.

    Not one from before `since`, and none whose refusal was lifted.
    """
    row = tx.one(_NEAR, for_org=tx.org, of_near_key=near_key, since=to_us(since))
    return find_request(tx, row["id"]) if row is not None else None
