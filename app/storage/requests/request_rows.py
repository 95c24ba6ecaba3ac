"""A request with its decisions, grant and execution as one SELECT, and back as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from app.storage.tables.request_columns import DECISION, EXECUTION, GRANT, REQUEST
from app.storage.tables.tables import decisions, executions, grants, requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Row

AGGREGATE = (
    select(
        *REQUEST.selected(requests),
        requests.c.bound_digest,
        requests.c.seal,
        *GRANT.selected(grants),
        *EXECUTION.selected(executions),
        *DECISION.selected(decisions),
    )
    .select_from(requests)
    .outerjoin(grants, grants.c.request_id == requests.c.id)
    .outerjoin(executions, executions.c.request_id == requests.c.id)
    .outerjoin(decisions, decisions.c.request_id == requests.c.id)
)
"""One row a decision, everything else repeated."""


def request_from_rows(rows: Sequence[Row]) -> ConfirmationRequest:
    """Build the aggregate of its rows."""
    row = rows[0]
    return REQUEST.read(
        row,
        decisions=tuple([DECISION.read(each) for each in rows if each["decision_id"]]),
        grant=GRANT.read(row) if row["grant_id"] else None,
        execution=EXECUTION.read(row) if row["execution_id"] else None,
    )
