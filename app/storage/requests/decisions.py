"""What approvers decided: one row a person and request, which that person may replace or take back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete

from app.storage.engine.transaction import Statement, Tx
from app.storage.statements.together import Rank, inserting
from app.storage.tables.request_columns import DECISION
from app.storage.tables.tables import decisions

if TYPE_CHECKING:
    from app.domain.request.decision import Decision

_INSERT = inserting(decisions, rank=Rank.BELONG)
_DELETE = Statement(
    delete(decisions).where(
        decisions.c.request_id == bindparam("of_request"), decisions.c.person == bindparam("by_person")
    )
)


def put_decision(tx: Tx, request_id: str, decision: Decision, *, replaces: bool) -> None:
    """Write a decision. The trail keeps the one that it replaces."""
    if replaces:
        drop_decision(tx, request_id, decision.person)
    tx.gather(_INSERT, org=tx.org, request_id=request_id, **DECISION.inserted(decision))


def drop_decision(tx: Tx, request_id: str, person: str) -> None:
    """Remove a person's decision. The trail keeps what it said."""
    tx.write(_DELETE, of_request=request_id, by_person=person)
