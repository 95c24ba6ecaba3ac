"""Requests that concern one person: what waits for people, what they decided, what was asked for in their name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, or_, select

from app.storage.engine.transaction import Statement, Tx
from app.storage.requests.request_rows import request_from_rows
from app.storage.requests.requests import list_rows_of
from app.storage.tables.tables import decisions, requests

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest

_OF_ORG = requests.c.org == bindparam("for_org")
_WAITING = Statement(
    select(requests.c.id)
    .where(_OF_ORG, requests.c.status == "pending")
    .order_by(requests.c.expires_at, requests.c.id)
    .limit(bindparam("most"))
)
_DECIDED = Statement(
    select(requests.c.id)
    .select_from(decisions.join(requests, requests.c.id == decisions.c.request_id))
    .where(_OF_ORG, decisions.c.person == bindparam("of_person"), requests.c.status != "pending")
    .order_by(decisions.c.decided_at.desc(), requests.c.id)
    .limit(bindparam("most"))
)
_ASKED = Statement(
    select(requests.c.id)
    .where(_OF_ORG, or_(requests.c.requester == bindparam("of_person"), requests.c.owner == bindparam("of_person")))
    .order_by(requests.c.created_at.desc(), requests.c.id)
    .limit(bindparam("most"))
)


def list_waiting(tx: Tx, *, most: int) -> list[ConfirmationRequest]:
    """Return what waits for people, the next to expire first."""
    return _read(tx, [row["id"] for row in tx.all(_WAITING, for_org=tx.org, most=most)])


def list_decided(tx: Tx, person: str, *, most: int) -> list[ConfirmationRequest]:
    """Return what is settled and had a vote of this person, their last one first."""
    return _read(tx, [row["id"] for row in tx.all(_DECIDED, for_org=tx.org, of_person=person, most=most)])


def list_asked(tx: Tx, person: str, *, most: int) -> list[ConfirmationRequest]:
    """Return what was asked for in this person's name, or by an agent of theirs, the newest first."""
    return _read(tx, [row["id"] for row in tx.all(_ASKED, for_org=tx.org, of_person=person, most=most)])


def _read(tx: Tx, ids: list[str]) -> list[ConfirmationRequest]:
    found = list_rows_of(tx, ids) if ids else {}
    return [request_from_rows(tx, found[each]) for each in ids if each in found]
