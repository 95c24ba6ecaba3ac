"""Refusals that people lifted: such a call may be asked about again, and nothing is said of the denial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, exists, insert, select

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.payment_tables import lifts
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement

_PUT = Statement(insert(lifts))
_GET = Statement(
    select(lifts.c.lifted_by).where(lifts.c.org == bindparam("for_org"), lifts.c.request_id == bindparam("lifted_id"))
)


def is_lifted(tx: Tx, request_id: str) -> bool:
    """Say whether the refusal that follows from this request was lifted."""
    return tx.one(_GET, for_org=tx.org, lifted_id=request_id) is not None


def put_lift(tx: Tx, request_id: str, *, by: str, at: datetime) -> None:
    """Lift it. The request is locked by the caller, and its refusal stands."""
    tx.write(_PUT, org=tx.org, request_id=request_id, lifted_by=by, lifted_at=to_us(at))


def still_stands() -> ColumnElement[bool]:
    """Return the condition on rows of `requests` whose refusal nobody lifted."""
    return ~exists().where(lifts.c.org == requests.c.org, lifts.c.request_id == requests.c.id)
