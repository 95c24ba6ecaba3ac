"""Grants and what they were spent on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, or_, select, text

from app.domain.request.request import ExecutionStatus, GrantStatus
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.identity.vault import hidden
from app.storage.statements.together import Rank, inserting, saving
from app.storage.tables.request_columns import EXECUTION, GRANT
from app.storage.tables.tables import executions, grants

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest, Execution, Grant

_ISSUE = inserting(grants, rank=Rank.BELONG)
_MOVE = saving(
    grants,
    rank=Rank.SAVE,
    named={"grant_id": "id"},
    values=GRANT.saved.names,
    # Not plainly: PostgreSQL would take all grants that are issued for few, by their own index, and read each of them.
    only=(func.coalesce(grants.c.status, "") == GrantStatus.ISSUED.value,),
)
_START = inserting(executions, rank=Rank.BELONG_TO_THAT)
_END = saving(
    executions,
    rank=Rank.SAVE,
    named={"execution_id": "id"},
    values=EXECUTION.saved.names,
    only=(or_(*(executions.c.status == status for status in ("started", "unknown", "pending_elsewhere"))),),
)
_STILL = {
    status: Statement(
        select(executions.c.request_id)
        .where(
            executions.c.org == bindparam("for_org"),
            text(f"executions.status = '{status.value}'"),  # as it stands in the index, not as a parameter
            executions.c.ended_at <= bindparam("until"),
        )
        .order_by(executions.c.ended_at)
        .limit(bindparam("most"))
    )
    for status in (ExecutionStatus.UNKNOWN, ExecutionStatus.PENDING_ELSEWHERE)
}


def list_unknown(tx: Tx, until: datetime, *, most: int) -> list[str]:
    """Return the org's requests whose outcome has been unknown since an instant or longer, the longest first."""
    return _list_still(tx, ExecutionStatus.UNKNOWN, until, most)


def list_elsewhere(tx: Tx, until: datetime, *, most: int) -> list[str]:
    """Return the org's requests that have waited at their service since an instant or longer, the longest first."""
    return _list_still(tx, ExecutionStatus.PENDING_ELSEWHERE, until, most)


def _list_still(tx: Tx, status: ExecutionStatus, until: datetime, most: int) -> list[str]:
    rows = tx.all(_STILL[status], for_org=tx.org, until=to_us(until), most=most)
    return [row["request_id"] for row in rows]


def save_grant(tx: Tx, request_id: str, before: Grant | None, after: Grant | None) -> None:
    """Issue, consume, lapse or revoke; guarded: only an issued grant moves."""
    if after is None or before == after:
        return
    if before is not None:
        tx.gather(_MOVE, grant_id=after.id, **GRANT.saved(after))
        return
    tx.gather(_ISSUE, org=tx.org, request_id=request_id, **GRANT.inserted(after))


def save_execution(tx: Tx, request: ConfirmationRequest, before: Execution | None, after: Execution | None) -> None:
    """Start an execution or record its outcome; guarded: only one that is not settled moves."""
    if after is None or before == after:
        return
    if before is not None:
        tx.gather(_END, execution_id=after.id, **_hidden(tx, request, after, EXECUTION.saved(after)))
        return
    tx.gather(
        _START,
        org=tx.org,
        request_id=request.id,
        grant_id=request.grant.id if request.grant else None,
        **_hidden(tx, request, after, EXECUTION.inserted(after)),
    )


def _hidden(
    tx: Tx, request: ConfirmationRequest, execution: Execution, columns: Mapping[str, object]
) -> Mapping[str, object]:
    if execution.result is None and execution.error is None:
        return columns
    return hidden(tx, columns, EXECUTION.hidden, request_id=request.id, row_id=execution.id)
