"""Find the last call that people approved and that a new one is measured by: of the same agent and tool.

It went to the same payee, or was made in the same session. So many of each are looked at, newest first, in one
statement; what is not as a gateway sealed it is no measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Text, bindparam, func, select, union_all

from app.domain.errors import AssentError
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.requests.request_rows import AGGREGATE, request_from_rows
from app.storage.requests.sealing import is_as_sealed
from app.storage.tables.payment_tables import spends
from app.storage.tables.tables import audit_events, decisions, requests

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest

_MOST = 50
"""Calls to a payee, and calls of a session, that one look goes through."""

_earlier = requests.alias("earlier")
_PAID = (
    select(spends.c.request_id.label("id"))
    .where(
        spends.c.org == bindparam("for_org"),
        spends.c.payee_key == bindparam("payee", type_=Text()),
        spends.c.agent == bindparam("of_agent"),
        spends.c.tool == bindparam("of_tool"),
        spends.c.at <= bindparam("until"),
    )
    .order_by(spends.c.at.desc())
    .limit(_MOST)
    .subquery()
)
_IN_SESSION = (
    select(requests.c.id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.agent == bindparam("of_agent"),
        requests.c.session == bindparam("session", type_=Text()),
        requests.c.tool == bindparam("of_tool"),
        requests.c.created_at <= bindparam("until"),
    )
    .order_by(requests.c.created_at.desc())
    .limit(_MOST)
    .subquery()
)
_LAST = (
    select(_earlier.c.id)
    .where(
        _earlier.c.id.in_(union_all(select(_PAID.c.id), select(_IN_SESSION.c.id))),
        _earlier.c.id != bindparam("than"),
        _earlier.c.org == bindparam("for_org"),
        _earlier.c.status == "approved",
        _earlier.c.allowed_by.is_(None),  # people said yes, not a rule
        _earlier.c.settled_at <= bindparam("until"),
    )
    .order_by(_earlier.c.settled_at.desc(), _earlier.c.id)
    .limit(1)
    .scalar_subquery()
)
_FIND = Statement(
    AGGREGATE.add_columns(
        select(func.max(audit_events.c.request_version))
        .where(audit_events.c.request_id == requests.c.id)
        .correlate(requests)
        .scalar_subquery()
        .label("said_version")
    )
    .where(requests.c.id == _LAST)
    .order_by(decisions.c.decided_at, decisions.c.id)
)


def find_approved_alike(tx: Tx, request: ConfirmationRequest, *, until: datetime) -> ConfirmationRequest | None:
    """Return the last call like this one that people approved before an instant; None: there is none to measure by."""
    call = request.call
    payee = request.payments[0].payee_key if len(request.payments) == 1 else None
    if payee is None and call.session is None:
        return None
    named = {"of_agent": call.agent, "of_tool": call.tool, "session": call.session, "payee": payee, "than": request.id}
    rows = tx.all(_FIND, for_org=tx.org, until=to_us(until), **named)
    if not rows:
        return None
    try:
        found = request_from_rows(tx, rows)
    except (ValueError, KeyError, TypeError, ArithmeticError, AssentError):
        return None
    return found if is_as_sealed(tx, rows, found) else None
