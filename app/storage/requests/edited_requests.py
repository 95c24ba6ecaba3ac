"""Requests whose call people changed, by the call that it is now: their own digest still names what the agent asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from app.domain.call.tool_call import call_digest
from app.storage.engine.transaction import Statement, Tx
from app.storage.requests.requests import find_request
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.domain.request.request import State

_MOST_ALIKE = 20
_EDITED = Statement(
    select(requests.c.id, requests.c.state)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.agent == bindparam("of_agent"),
        requests.c.session == bindparam("of_session"),
        requests.c.edited_by.is_not(None),
    )
    .order_by(requests.c.created_at.desc(), requests.c.id.desc())
    .limit(_MOST_ALIKE)
)


def find_edited(tx: Tx, agent: str, session: str, of_digest: str, *, states: Collection[State]) -> str | None:
    """Return the id of a session's newest request in one of `states` that was changed to the call of this digest."""
    for row in tx.all(_EDITED, for_org=tx.org, of_agent=agent, of_session=session):
        if row["state"] not in {state.value for state in states}:
            continue
        request = find_request(tx, row["id"])
        if request is not None and call_digest(request.call) == of_digest:
            return request.id
    return None
