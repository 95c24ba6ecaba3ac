"""Requests and their parts as the columns of rows, and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from app.domain.call.tool_call import ToolCall
from app.domain.money.payment import Payment, plain
from app.domain.people.assurance import Assurance
from app.domain.request.caution import Caution, CautionKind
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import (
    ConfirmationRequest,
    Execution,
    ExecutionStatus,
    Grant,
    GrantStatus,
    Risk,
    Settlement,
    Status,
)
from app.domain.request.timetable import Act, Timer
from app.storage.engine.dialect import MICROSECOND, from_us, to_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.storage.engine.transaction import Row


def asides_columns(request: ConfirmationRequest) -> dict[str, object]:
    """Return the columns of what people may change while a request waits."""
    timers = [
        {"at": to_us(each.at), "act": each.act.value, "to": each.to, "channels": each.channels}
        for each in request.timers
    ]
    return {
        "arguments": json_text(dict(request.call.arguments)),
        "digest": request.digest,
        "code": request.code,
        "title": request.title,
        "claim_within": request.claim_within // MICROSECOND,
        "lease": request.lease // MICROSECOND,
        "fallback": json_text(list(request.fallback)),
        "pinned": json_text(list(request.pinned)),
        "sensitive": json_text(list(request.sensitive)),
        "rule_id": request.rule_id,
        "policy_version": request.policy_version,
        "why": request.why,
        "stages": json_text([stage.facts() for stage in request.stages]),
        "channels": json_text(list(request.channels)),
        "expires_at": to_us(request.expires_at),
        "timers": json_text(timers),
        "timer_at": timers[0]["at"] if timers else None,
        "reminded_at": to_us(request.reminded_at) if request.reminded_at else None,
        "extensions": request.extensions,
        "handovers": json_text([_instants(asdict(over)) for over in request.handovers]),
        "questions": json_text([_instants(asdict(question)) for question in request.questions]),
        "proposed": None if request.proposed is None else json_text(dict(request.proposed)),
        "edited_by": request.edited_by,
        "only_lowered": int(request.only_lowered),
        "risk": request.risk.value,
        "assurance": request.assurance.value,
        "payments": json_text([_payment_fields(payment) for payment in request.payments]),
        "cautions": json_text([{"kind": each.kind.value, "values": dict(each.values)} for each in request.cautions]),
        "near_key": request.near_key,
    }


def _payment_fields(payment: Payment) -> dict[str, str | None]:
    return {**asdict(payment), "amount": plain(payment.amount)}


def _instants(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: to_us(value) if isinstance(value, datetime) else value for name, value in fields.items()}


def json_text(value: Any) -> str:
    """Write JSON as the database keeps it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=1024)  # few different texts: those of the rules and tools of a file
def _names(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=1024)
def _stages(text: str) -> tuple[Stage, ...]:
    return tuple(_stage(**stage) for stage in json.loads(text))


def _stage(of: list[str], open_to: Sequence[str] = (), **more: Any) -> Stage:
    return Stage(of=tuple(of), open_to=tuple(open_to), **more)


def _timer(at: int, act: str, to: list[str], channels: list[str]) -> Timer:
    return Timer(at=from_us(at), act=Act(act), to=tuple(to), channels=tuple(channels))


def _hand_over(at: int, **more: Any) -> HandOver:
    return HandOver(at=from_us(at), **more)


def _question(at: int, answered_at: int | None, **more: Any) -> Question:
    return Question(at=from_us(at), answered_at=from_us(answered_at) if answered_at is not None else None, **more)


def _payment(amount: str, **more: Any) -> Payment:
    return Payment(amount=Decimal(amount), **more)


def _caution(kind: str, values: dict[str, str]) -> Caution:
    return Caution(kind=CautionKind(kind), values=values)


def _list(text: str) -> list[Any]:
    return json.loads(text) if text != "[]" else []


def request_from_rows(rows: Sequence[Row]) -> ConfirmationRequest:
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
        risk=Risk(row["risk"]),
        fallback=_names(row["fallback"]),
        timers=tuple(_timer(**each) for each in _list(row["timers"])),
        reminded_at=from_us(row["reminded_at"]) if row["reminded_at"] is not None else None,
        extensions=row["extensions"],
        handovers=tuple(_hand_over(**each) for each in _list(row["handovers"])),
        questions=tuple(_question(**each) for each in _list(row["questions"])),
        proposed=json.loads(row["proposed"]) if row["proposed"] is not None else None,
        edited_by=row["edited_by"],
        only_lowered=bool(row["only_lowered"]),
        assurance=Assurance(row["assurance"]),
        payments=tuple(_payment(**each) for each in _list(row["payments"])),
        cautions=tuple(_caution(**each) for each in _list(row["cautions"])),
        near_key=row["near_key"],
        enforced=bool(row["enforced"]),
        allowed_by=row["allowed_by"],
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
            assurance=Assurance(row["vote_assurance"]),
        ),
        on_behalf_of=row["on_behalf_of"],
    )
