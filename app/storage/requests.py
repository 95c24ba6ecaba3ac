"""Requests with their decisions, grant and execution: one aggregate, read in one statement, saved under guard."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update

from app.domain.decision import Decision, Evidence, Verdict
from app.domain.quorum import Stage
from app.domain.request import (
    ConfirmationRequest,
    Execution,
    ExecutionStatus,
    Grant,
    GrantStatus,
    Settlement,
    Status,
)
from app.domain.tool_call import ToolCall
from app.storage.decisions import drop_decision
from app.storage.dialect import MICROSECOND, from_us, to_us
from app.storage.tables import decisions, executions, grants, requests
from app.storage.transaction import Row, Statement, Tx

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

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
        decisions.c.assurance,
        decisions.c.on_behalf_of,
    )
    .select_from(requests)
    .outerjoin(grants, grants.c.request_id == requests.c.id)
    .outerjoin(executions, executions.c.request_id == requests.c.id)
    .outerjoin(decisions, decisions.c.request_id == requests.c.id)
)
_LOCK = Statement(
    select(requests.c.id)
    .where(requests.c.id == bindparam("request_id"), requests.c.org == bindparam("for_org"))
    .with_for_update()
)
_GET = Statement(
    _AGGREGATE.where(requests.c.id == bindparam("request_id"), requests.c.org == bindparam("for_org")).order_by(
        decisions.c.decided_at, decisions.c.id
    )
)


@cache
def _many(size: int) -> tuple[Statement, Statement]:
    """The lock and the read of `size` requests; sizes are powers of two, so that there are few statements."""
    named = requests.c.id.in_([bindparam(f"id_{index}") for index in range(size)])
    lock = select(requests.c.id).where(named).order_by(requests.c.id).with_for_update()
    return Statement(lock), Statement(_AGGREGATE.where(named).order_by(decisions.c.decided_at, decisions.c.id))


_ATTACHED = Statement(
    select(requests.c.id).where(
        requests.c.org == bindparam("for_org"), requests.c.attach_key == bindparam("attach_key")
    )
)
_INSERT = Statement(insert(requests))
_SAVE = Statement(
    update(requests)
    .where(requests.c.id == bindparam("request_id"), requests.c.version == bindparam("old_version"))
    .values(
        {
            name: bindparam(name)
            for name in (
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
        }
    )
)


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
        arguments=_text(dict(request.call.arguments)),
        claim=request.call.claim,
        call_digest=request.call_digest,
        digest=request.digest,
        nonce=request.nonce,
        code=request.code,
        title=request.title,
        pinned=_text(list(request.pinned)),
        sensitive=_text(list(request.sensitive)),
        rule_id=request.rule_id,
        policy_version=request.policy_version,
        why=request.why,
        stages=_text([stage.facts() for stage in request.stages]),
        channels=_text(list(request.channels)),
        claim_within=request.claim_within // MICROSECOND,
        lease=request.lease // MICROSECOND,
        created_at=to_us(request.created_at),
        expires_at=to_us(request.expires_at),
        settled_at=None,
        settled_by=None,
        settled_reason=None,
        settled_via=None,
        revoked_why=request.revoked_why,
        predecessor_id=request.predecessor_id,
        attach_key=attach_key,
    )


def find_request(tx: Tx, request_id: str) -> ConfirmationRequest | None:
    """Read a request as it stands."""
    rows = tx.all(_GET, request_id=request_id, for_org=tx.org)
    return _from_rows(rows) if rows else None


def lock_request(tx: Tx, request_id: str) -> tuple[ConfirmationRequest, datetime] | None:
    """Lock a request, *then* read the clock and the request: the order that makes a late approval impossible.

    (A deadline compared in the statement that waits for the lock lets an approval through after the deadline.)
    """
    taken = tx.take_locked(request_id)
    if taken is None:
        if tx.locks_rows:
            tx.write(_LOCK, request_id=request_id, for_org=tx.org)
        taken = tx.all_now(_GET, request_id=request_id, for_org=tx.org)
    rows, now = taken
    return (_from_rows(rows), now) if rows else None


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
    tx.guard(
        _SAVE,
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
    )
    kept = {decision.person for decision in after.decisions}
    for person in sorted({decision.person for decision in before.decisions} - kept):
        drop_decision(tx, after.id, person)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=1024)  # few different texts: those of the rules and tools of a file
def _names(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=1024)
def _stages(text: str) -> tuple[Stage, ...]:
    return tuple(_stage(**stage) for stage in json.loads(text))


def _stage(of: list[str], **more: Any) -> Stage:
    return Stage(of=tuple(of), **more)


def _from_rows(rows: Sequence[Row]) -> ConfirmationRequest:
    """Build the aggregate: one row a decision, everything else repeated."""
    row = rows[0]
    call = ToolCall(
        org=row["org"],
        agent=row["agent"],
        session=row["session"],
        call_id=row["call_id"],
        tool=row["tool"],
        arguments=json.loads(row["arguments"]),
        requester=row["requester"],
        owner=row["owner"],
        claim=row["claim"],
    )
    return ConfirmationRequest(
        id=row["id"],
        call=call,
        call_digest=row["call_digest"],
        digest=row["digest"],
        nonce=row["nonce"],
        code=row["code"],
        title=row["title"],
        pinned=_names(row["pinned"]),
        sensitive=_names(row["sensitive"]),
        rule_id=row["rule_id"],
        policy_version=row["policy_version"],
        why=row["why"],
        stages=_stages(row["stages"]),
        channels=_names(row["channels"]),
        claim_within=timedelta(microseconds=row["claim_within"]),
        lease=timedelta(microseconds=row["lease"]),
        created_at=from_us(row["created_at"]),
        expires_at=from_us(row["expires_at"]),
        status=Status(row["status"]),
        version=row["version"],
        settlement=_settlement(row),
        decisions=tuple(_decision(each) for each in rows if each["decision_id"]),
        grant=_grant(row),
        execution=_execution(row),
        predecessor_id=row["predecessor_id"],
        revoked_why=row["revoked_why"],
    )


def _settlement(row: Row) -> Settlement | None:
    if row["settled_at"] is None:
        return None
    return Settlement(
        at=from_us(row["settled_at"]), by=row["settled_by"], reason=row["settled_reason"], via=row["settled_via"]
    )


def _grant(row: Row) -> Grant | None:
    if row["grant_id"] is None:
        return None
    return Grant(id=row["grant_id"], status=GrantStatus(row["grant_status"]), not_after=from_us(row["not_after"]))


def _execution(row: Row) -> Execution | None:
    if row["execution_id"] is None:
        return None
    return Execution(
        id=row["execution_id"],
        claim_id=row["claim_id"],
        status=ExecutionStatus(row["execution_status"]),
        started_at=from_us(row["started_at"]),
        lease_until=from_us(row["lease_until"]),
        settled_at=from_us(row["ended_at"]) if row["ended_at"] is not None else None,
        result=row["result"],
        error=row["error"],
    )


def _decision(row: Row) -> Decision:
    return Decision(
        id=row["decision_id"],
        person=row["person"],
        verdict=Verdict(row["verdict"]),
        reason=row["reason"],
        at=from_us(row["decided_at"]),
        evidence=Evidence(
            channel=row["channel"],
            account_id=row["account_id"],
            tenant=row["tenant"],
            app_id=row["app_id"],
            chat_id=row["chat_id"],
            message_id=row["message_id"],
            card_revision=row["card_revision"],
            assurance=row["assurance"],
        ),
        on_behalf_of=row["on_behalf_of"],
    )
