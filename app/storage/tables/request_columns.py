"""A request, its decisions, its grant and its execution as tables of columns.

This is the only place that says how a field of theirs is stored. A new one is a field of the dataclass, a row here, and
a migration: the table, INSERT, SELECT, SAVE, reading back and "has it changed" follow from the row.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from app.domain.call.exhibit import Exhibit, ExhibitKind
from app.domain.call.requester_proof import proof_from
from app.domain.call.tool_call import ToolCall
from app.domain.money.payment import Payment, plain
from app.domain.people.assurance import Assurance
from app.domain.request.caution import Caution, CautionKind
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.elsewhere import Elsewhere
from app.domain.request.quorum import Stage
from app.domain.request.request import (
    ConfirmationRequest,
    Execution,
    ExecutionStatus,
    Grant,
    GrantStatus,
    Risk,
    Settlement,
    State,
    Status,
)
from app.domain.request.timetable import Act, Timer
from app.storage.tables.columns import (
    FLAG,
    INSTANT,
    LIST,
    OBJECT,
    SPAN,
    TEXT,
    WHOLE,
    Column,
    Columns,
    Kept,
    documents,
    listed,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.storage.engine.transaction import Row


def _stage(of: Sequence[str], open_to: Sequence[str] = (), **more: Any) -> Stage:
    return Stage(of=tuple(of), open_to=tuple(open_to), **more)


_NAMES = listed(str, str, few=True)  # those of the rules and tools of a file
_STAGES = listed(Stage.facts, lambda found: _stage(**found), few=True)
_PROOF = Kept(
    TEXT.type, lambda proof: json.dumps(proof.facts(), sort_keys=True), lambda text: proof_from(json.loads(text))
)
_AMOUNT = Kept(TEXT.type, plain, Decimal)
_NO_OBJECT, _NO_TEXT, _NONE_OF_THEM = '{"":"unreadable"}', "(unreadable)", "[]"
"""What stands for an encrypted value that cannot be read, in a list of requests for one."""

REQUEST = Columns(
    ConfirmationRequest,
    (
        Column("id", TEXT, key=True),
        Column("org", TEXT, of="call.org", key=True),
        Column("version", WHOLE, often=True),
        Column("status", word(Status), often=True),
        Column("state", word(State), derived=True, often=True),  # for lists and filters
        Column("agent", TEXT, of="call.agent"),
        Column("session", TEXT, of="call.session", nullable=True),
        Column("call_id", TEXT, of="call.call_id", nullable=True),
        Column("requester", TEXT, of="call.requester", nullable=True),
        Column("owner", TEXT, of="call.owner", nullable=True),
        Column("tool", TEXT, of="call.tool"),
        Column("arguments", OBJECT, of="call.arguments", hidden=_NO_OBJECT),
        Column("claim", TEXT, of="call.claim", nullable=True, hidden=_NO_TEXT),
        Column("call_digest", TEXT),
        Column("digest", TEXT),
        Column("nonce", TEXT),
        Column("code", TEXT),
        Column("title", TEXT, hidden=_NO_TEXT),
        Column("pinned", _NAMES),
        Column("sensitive", _NAMES),
        Column("rule_id", TEXT, nullable=True),
        Column("policy_version", TEXT),
        Column("why", TEXT),
        Column("stages", _STAGES),
        Column("channels", _NAMES),
        Column("claim_within", SPAN),
        Column("lease", SPAN),
        Column("created_at", INSTANT),
        Column("expires_at", INSTANT),
        Column("settled_at", INSTANT, of="settlement.at", nullable=True, often=True),
        Column("settled_by", TEXT, of="settlement.by", nullable=True, often=True),
        Column("settled_reason", TEXT, of="settlement.reason", nullable=True, often=True),
        Column("settled_via", TEXT, of="settlement.via", nullable=True, often=True),
        Column("predecessor_id", TEXT, nullable=True, refers="requests.id"),
        # The same call of the same session stands on this request while it is set.
        Column("attach_key", TEXT, derived=True, nullable=True, often=True),
        Column("revoked_why", TEXT, nullable=True, often=True),
        Column("risk", word(Risk), default="normal"),
        Column("fallback", _NAMES, default="[]"),
        Column("timers", documents(Timer, at=INSTANT, act=word(Act), to=LIST, channels=LIST), default="[]"),
        Column("timer_at", INSTANT, derived=True, nullable=True),
        Column("reminded_at", INSTANT, nullable=True),
        Column("extensions", WHOLE, default="0"),
        Column("handovers", documents(HandOver, at=INSTANT), default="[]", hidden=_NONE_OF_THEM),
        Column("questions", documents(Question, at=INSTANT, answered_at=INSTANT), default="[]", hidden=_NONE_OF_THEM),
        Column("proposed", OBJECT, nullable=True, hidden=_NO_OBJECT),
        Column("edited_by", TEXT, nullable=True),
        Column("only_lowered", FLAG, default="0"),
        Column("assurance", word(Assurance), default="L1"),
        Column("payments", documents(Payment, amount=_AMOUNT), default="[]", hidden=_NONE_OF_THEM),
        Column(
            "cautions",
            documents(Caution, kind=word(CautionKind), values=Kept(TEXT.type, dict)),
            default="[]",
            hidden=_NONE_OF_THEM,
        ),
        Column("near_key", TEXT, nullable=True),
        Column("enforced", FLAG, default="0"),
        Column("allowed_by", TEXT, nullable=True),
        Column("sub_agent", TEXT, of="call.sub_agent", nullable=True),
        Column("alone", FLAG, default="0"),
        Column("cc", _NAMES, default="[]"),
        Column("host_event", TEXT, of="call.host_event", nullable=True, hidden=_NO_TEXT),
        Column(
            "evidence",
            documents(Exhibit, kind=word(ExhibitKind)),
            of="call.evidence",
            default="[]",
            hidden=_NONE_OF_THEM,
        ),
        Column("requester_proof", _PROOF, of="call.proof", nullable=True),
        # Both written by `storage/requests/known.py`.
        Column("bound_digest", TEXT, given=True, nullable=True),
        Column("seal", TEXT, given=True, nullable=True),
        # In which trace it was submitted. Nothing is decided by it, and no seal covers it.
        Column("traceparent", TEXT, given=True, nullable=True),
    ),
    parts={"call": ToolCall, "settlement": Settlement},
    elsewhere=("decisions", "grant", "execution"),  # the tables below
)

DECISION = Columns(
    Decision,
    (
        Column("id", TEXT, key=True),
        Column("org", TEXT, given=True),
        Column("request_id", TEXT, given=True, refers="requests.id"),
        Column("person", TEXT),
        Column("verdict", word(Verdict)),
        Column("reason", TEXT, nullable=True),
        Column("decided_at", INSTANT, of="at"),
        Column("channel", TEXT, of="evidence.channel"),
        Column("account_id", TEXT, of="evidence.account_id"),
        Column("tenant", TEXT, of="evidence.tenant"),
        Column("app_id", TEXT, of="evidence.app_id"),
        Column("chat_id", TEXT, of="evidence.chat_id"),
        Column("message_id", TEXT, of="evidence.message_id"),
        Column("card_revision", WHOLE, of="evidence.card_revision"),
        Column("assurance", word(Assurance), of="evidence.assurance"),
        Column("on_behalf_of", TEXT, nullable=True),
    ),
    parts={"evidence": Evidence},
    elsewhere=("evidence.shown_at",),  # only the trail keeps it
    prefix="decision_",
)

GRANT = Columns(
    Grant,
    (
        Column("id", TEXT, key=True),
        Column("org", TEXT, given=True),
        Column("request_id", TEXT, given=True, refers="requests.id", unique=True),
        Column("status", word(GrantStatus)),
        Column("not_after", INSTANT),
    ),
    prefix="grant_",
)

EXECUTION = Columns(
    Execution,
    (
        Column("id", TEXT, key=True),
        Column("org", TEXT, given=True),
        Column("request_id", TEXT, given=True, refers="requests.id", unique=True),
        Column("grant_id", TEXT, given=True, refers="grants.id", unique=True),
        Column("claim_id", TEXT),
        Column("status", word(ExecutionStatus)),
        Column("started_at", INSTANT),
        Column("lease_until", INSTANT),
        Column("ended_at", INSTANT, of="settled_at", nullable=True),
        Column("result", TEXT, nullable=True, hidden='"(unreadable)"'),  # it is JSON
        Column("error", TEXT, nullable=True, hidden=_NO_TEXT),
        Column("claimed_by", TEXT, nullable=True),
        Column("elsewhere_id", TEXT, of="elsewhere.id", nullable=True),
        Column("elsewhere_link", TEXT, of="elsewhere.link", nullable=True),
    ),
    parts={"elsewhere": Elsewhere},
    prefix="execution_",
)


def why_unlike(rows: Sequence[Row]) -> str | None:
    """Say which cell of a request's rows, as they were selected together, is of another type than its column."""
    first = rows[0]
    told = [
        REQUEST.why_unlike(first),
        GRANT.why_unlike(first) if first["grant_id"] is not None else None,
        EXECUTION.why_unlike(first) if first["execution_id"] is not None else None,
        *(DECISION.why_unlike(each) for each in rows if each["decision_id"] is not None),
    ]
    return next((why for why in told if why is not None), None)
