"""Grants and what they were spent on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, or_, select, update

from app.domain.request.request import GrantStatus
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import executions, grants

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest, Execution, Grant

_ISSUE = Statement(insert(grants))
_MOVE = Statement(
    update(grants)
    .where(grants.c.id == bindparam("grant_id"), grants.c.status == GrantStatus.ISSUED.value)
    .values(status=bindparam("status"))
)
_START = Statement(insert(executions))
_END = Statement(
    update(executions)
    .where(
        executions.c.id == bindparam("execution_id"),
        or_(executions.c.status == "started", executions.c.status == "unknown"),
    )
    .values({name: bindparam(name) for name in ("status", "ended_at", "result", "error")})
)
_UNKNOWN = Statement(
    select(executions.c.request_id)
    .where(
        executions.c.org == bindparam("for_org"),
        executions.c.status == "unknown",
        executions.c.ended_at <= bindparam("until"),
    )
    .order_by(executions.c.ended_at)
    .limit(bindparam("most"))
)


def list_unknown(tx: Tx, until: datetime, *, most: int) -> list[str]:
    """Return the org's requests whose outcome has been unknown since an instant or longer, the longest first."""
    return [row["request_id"] for row in tx.all(_UNKNOWN, for_org=tx.org, until=to_us(until), most=most)]


def save_grant(tx: Tx, request_id: str, before: Grant | None, after: Grant | None) -> None:
    """Issue, consume, lapse or revoke; guarded: only an issued grant moves."""
    if after is None or before == after:
        return
    if before is not None:
        tx.guard(_MOVE, grant_id=after.id, status=after.status.value)
        return
    tx.write(
        _ISSUE,
        id=after.id,
        org=tx.org,
        request_id=request_id,
        status=after.status.value,
        not_after=to_us(after.not_after),
    )


def save_execution(tx: Tx, request: ConfirmationRequest, before: Execution | None, after: Execution | None) -> None:
    """Start an execution or record its outcome; guarded: only one that is not settled moves."""
    if after is None or before == after:
        return
    if before is not None:
        ended = to_us(after.settled_at) if after.settled_at else None
        tx.guard(
            _END,
            execution_id=after.id,
            status=after.status.value,
            ended_at=ended,
            result=after.result,
            error=after.error,
        )
        return
    tx.write(
        _START,
        id=after.id,
        org=tx.org,
        request_id=request.id,
        grant_id=request.grant.id if request.grant else None,
        claim_id=after.claim_id,
        status=after.status.value,
        started_at=to_us(after.started_at),
        lease_until=to_us(after.lease_until),
        ended_at=None,
        result=None,
        error=None,
    )
