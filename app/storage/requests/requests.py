"""Requests with their decisions, grant and execution: one aggregate, read in one statement, saved under guard."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, exists, func, insert, select, update

from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.requests.decisions import drop_decision
from app.storage.requests.request_rows import asides_columns, request_from_rows
from app.storage.tables.hook_tables import switches
from app.storage.tables.payment_tables import restores
from app.storage.tables.tables import decisions, executions, grants, requests

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest

_AGGREGATE = (
    select(
        requests,
        grants.c.id.label("grant_id"),
        grants.c.status.label("grant_status"),
        grants.c.not_after,
        executions.c.id.label("execution_id"),
        executions.c.claim_id,
        executions.c.status.label("execution_status"),
        executions.c.started_at,
        executions.c.lease_until,
        executions.c.ended_at,
        executions.c.result,
        executions.c.error,
        decisions.c.id.label("decision_id"),
        decisions.c.person,
        decisions.c.verdict,
        decisions.c.reason,
        decisions.c.decided_at,
        decisions.c.channel,
        decisions.c.account_id,
        decisions.c.tenant,
        decisions.c.app_id,
        decisions.c.chat_id,
        decisions.c.message_id,
        decisions.c.card_revision,
        decisions.c.assurance.label("vote_assurance"),
        decisions.c.on_behalf_of,
    )
    .select_from(requests)
    .outerjoin(grants, grants.c.request_id == requests.c.id)
    .outerjoin(executions, executions.c.request_id == requests.c.id)
    .outerjoin(decisions, decisions.c.request_id == requests.c.id)
)
_HELD = _AGGREGATE.add_columns(
    # Read behind the lock, in the same statement: a claim needs no further one to know that no switch is on.
    exists().where(switches.c.org == requests.c.org, switches.c.is_on == 1).correlate(requests).label("any_switch"),
    select(func.coalesce(func.max(restores.c.epoch), 0)).scalar_subquery().label("epoch"),
    select(func.max(restores.c.restored_at)).scalar_subquery().label("restored_at"),
)
_LOCK = Statement(
    select(requests.c.id)
    .where(requests.c.id == bindparam("request_id"), requests.c.org == bindparam("for_org"))
    .with_for_update()
)
_ONE = (requests.c.id == bindparam("request_id"), requests.c.org == bindparam("for_org"))
_GET = Statement(_AGGREGATE.where(*_ONE).order_by(decisions.c.decided_at, decisions.c.id))
_GET_HELD = Statement(_HELD.where(*_ONE).order_by(decisions.c.decided_at, decisions.c.id))


@cache
def _many(size: int) -> tuple[Statement, Statement]:
    """The lock and the read of `size` requests; sizes are powers of two, so that there are few statements."""
    named = requests.c.id.in_([bindparam(f"id_{index}") for index in range(size)])
    lock = select(requests.c.id).where(named).order_by(requests.c.id).with_for_update()
    return Statement(lock), Statement(_HELD.where(named).order_by(decisions.c.decided_at, decisions.c.id))


_ATTACHED = Statement(
    select(requests.c.id).where(
        requests.c.org == bindparam("for_org"), requests.c.attach_key == bindparam("attach_key")
    )
)
_INSERT = Statement(insert(requests))
_MOVES = (
    "version",
    "status",
    "state",
    "settled_at",
    "settled_by",
    "settled_reason",
    "settled_via",
    "revoked_why",
    "attach_key",
)
_ASIDES = (
    "arguments",
    "digest",
    "code",
    "title",
    "pinned",
    "sensitive",
    "claim_within",
    "lease",
    "fallback",
    "rule_id",
    "policy_version",
    "why",
    "stages",
    "channels",
    "expires_at",
    "timers",
    "timer_at",
    "reminded_at",
    "extensions",
    "handovers",
    "questions",
    "proposed",
    "edited_by",
    "only_lowered",
    "risk",
    "assurance",
    "payments",
    "cautions",
    "near_key",
)


def _save(*names: str) -> Statement:
    same = (requests.c.id == bindparam("request_id"), requests.c.version == bindparam("old_version"))
    return Statement(update(requests).where(*same).values({name: bindparam(name) for name in names}))


_SAVE = _save(*_MOVES)
_SAVE_ALL = _save(*_MOVES, *_ASIDES)


def insert_request(tx: Tx, request: ConfirmationRequest, *, attach_key: str | None) -> None:
    """Write a new request."""
    tx.write(
        _INSERT,
        id=request.id,
        org=request.call.org,
        version=request.version,
        status=request.status.value,
        state=request.state.value,
        agent=request.call.agent,
        session=request.call.session,
        call_id=request.call.call_id,
        requester=request.call.requester,
        owner=request.call.owner,
        tool=request.call.tool,
        claim=request.call.claim,
        call_digest=request.call_digest,
        nonce=request.nonce,
        created_at=to_us(request.created_at),
        **asides_columns(request),
        settled_at=None,
        settled_by=None,
        settled_reason=None,
        settled_via=None,
        revoked_why=request.revoked_why,
        predecessor_id=request.predecessor_id,
        enforced=int(request.enforced),
        allowed_by=request.allowed_by,
        attach_key=attach_key,
    )


def find_request(tx: Tx, request_id: str) -> ConfirmationRequest | None:
    """Read a request as it stands."""
    rows = tx.all(_GET, request_id=request_id, for_org=tx.org)
    return request_from_rows(rows) if rows else None


def lock_request(tx: Tx, request_id: str) -> tuple[ConfirmationRequest, datetime] | None:
    """Lock a request, *then* read the clock and the request: the order that makes a late approval impossible.

    (A deadline compared in the statement that waits for the lock lets an approval through after the deadline.)
    """
    rows, now = _locked_rows(tx, request_id)
    return (request_from_rows(rows), now) if rows else None


class Held(NamedTuple):
    """A locked request, and what else a claim must know: read with it, not before."""

    request: ConfirmationRequest
    now: datetime
    any_switch: bool  # whether any switch (a pause, read-only) is on in its org
    epoch: int  # how many restores of the database were declared
    restored_at: datetime | None  # when the last of them was


def lock_to_claim(tx: Tx, request_id: str) -> Held | None:
    """Lock a request as `lock_request` does, and read what else a claim must know in the same statement."""
    rows, now = _locked_rows(tx, request_id)
    if not rows:
        return None
    first = rows[0]
    restored = first["restored_at"]
    return Held(
        request=request_from_rows(rows),
        now=now,
        any_switch=bool(first["any_switch"]),
        epoch=first["epoch"],
        restored_at=None if restored is None else from_us(restored),
    )


def _locked_rows(tx: Tx, request_id: str) -> tuple[list[Row], datetime]:
    taken = tx.take_locked(request_id)
    if taken is not None:
        return taken
    if tx.locks_rows:
        tx.write(_LOCK, request_id=request_id, for_org=tx.org)
    return tx.all_now(_GET_HELD, request_id=request_id, for_org=tx.org)


def lock_many(tx: Tx, ids: Sequence[str]) -> tuple[dict[str, list[Row]], datetime]:
    """Lock requests in the order of their ids, *then* read the clock and their rows: one round trip for a batch."""
    size = 2 ** (len(ids) - 1).bit_length()
    wanted = {f"id_{index}": request_id for index, request_id in enumerate([*ids, *[""] * (size - len(ids))])}
    lock, get = _many(size)
    if tx.locks_rows:
        tx.write(lock, **wanted)
    rows, now = tx.all_now(get, **wanted)
    by_id: dict[str, list[Row]] = {}
    for row in rows:
        by_id.setdefault(row["id"], []).append(row)
    return by_id, now


def find_attached(tx: Tx, attach_key: str) -> str | None:
    """Return the id of the request on which the same call of the same session stands."""
    row = tx.one(_ATTACHED, for_org=tx.org, attach_key=attach_key)
    return row["id"] if row else None


def save_request(tx: Tx, before: ConfirmationRequest, after: ConfirmationRequest, *, attach_key: str | None) -> None:
    """Write the next version, if the row is still at the last one; else the unit runs again and decides anew.

    Votes that were withdrawn go with it; the trail keeps them.
    """
    settlement = after.settlement
    more = {} if _same_asides(before, after) else asides_columns(after)
    tx.guard(
        _SAVE_ALL if more else _SAVE,
        request_id=after.id,
        old_version=before.version,
        version=after.version,
        status=after.status.value,
        state=after.state.value,
        settled_at=to_us(settlement.at) if settlement else None,
        settled_by=settlement.by if settlement else None,
        settled_reason=settlement.reason if settlement else None,
        settled_via=settlement.via if settlement else None,
        revoked_why=after.revoked_why,
        attach_key=attach_key if after.attachable else None,
        **more,
    )
    kept = {decision.person for decision in after.decisions}
    for person in sorted({decision.person for decision in before.decisions} - kept):
        drop_decision(tx, after.id, person)


def _same_asides(before: ConfirmationRequest, after: ConfirmationRequest) -> bool:
    """Whether nothing but the state has moved on, as with nearly every change."""
    return (
        before.digest == after.digest
        and before.expires_at == after.expires_at
        and before.stages == after.stages
        and before.timers == after.timers
        and before.reminded_at == after.reminded_at
        and before.handovers == after.handovers
        and before.questions == after.questions
    )
