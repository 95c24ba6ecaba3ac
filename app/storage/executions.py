"""Grants and what they were spent on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, or_, update

from app.domain.request import GrantStatus
from app.storage.dialect import to_us
from app.storage.tables import executions, grants
from app.storage.transaction import Statement, Tx

if TYPE_CHECKING:
    from app.domain.request import ConfirmationRequest, Execution, Grant

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


def save_grant(tx: Tx, request_id: str, before: Grant | None, after: Grant | None) -> bool:
    """Issue, consume, lapse or revoke. False: the grant was no longer issued; decide anew."""
    if after is None or before == after:
        return True
    if before is None:
        tx.run(
            _ISSUE,
            id=after.id,
            org=tx.org,
            request_id=request_id,
            status=after.status.value,
            not_after=to_us(after.not_after),
        )
        return True
    return tx.run(_MOVE, grant_id=after.id, status=after.status.value) == 1


def save_execution(tx: Tx, request: ConfirmationRequest, before: Execution | None, after: Execution | None) -> bool:
    """Start an execution or record its outcome. False: it was already settled; decide anew."""
    if after is None or before == after:
        return True
    if before is None:
        tx.run(
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
        return True
    ended = to_us(after.settled_at) if after.settled_at else None
    touched = tx.run(
        _END, execution_id=after.id, status=after.status.value, ended_at=ended, result=after.result, error=after.error
    )
    return touched == 1
