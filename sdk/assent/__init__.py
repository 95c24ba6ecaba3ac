"""Assent for agents: ask the gateway before a tool runs, wait for people, run at most once what they approved.

Names load on first use: `assent-hook` starts once per tool call and must not pay for the HTTP client.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs the hook command 3 ms; type checkers know the name
if TYPE_CHECKING:
    from assent.client.call import ToolCall, evidence_file, evidence_link
    from assent.client.errors import (
        AssentError,
        CallRefusedError,
        ClaimRefusedError,
        GatewayAwayError,
        GatewayError,
        KeyRefusedError,
        NotEntitledError,
        UnexpectedAnswerError,
        UnknownRequestError,
    )
    from assent.client.gateway import AsyncGateway
    from assent.client.messages import RefusalCode
    from assent.client.models import (
        Allowed,
        Claimed,
        Denied,
        Elsewhere,
        Execution,
        OutcomeStatus,
        Pending,
        Question,
        Request,
        State,
        Taken,
        Verdict,
    )
    from assent.client.unapproved import NotApprovedError, StillPendingError
    from assent.gate.aftermath import ToolElsewhere, UnknownOutcomeError
    from assent.gate.blocking import BlockingGate, Gateway
    from assent.gate.gate import Gate
    from assent.gate.guarded import guarded
    from assent.gate.outcomes import Ran, Refused, Replayed
    from assent.gate.permission import current_changes, current_grant
    from assent.gate.resumption import Failed, LeftAlone, Lost, Resumed, resume
    from assent.gate.suspended import SuspendedCall

__all__ = [  # noqa: RUF022 - grouped as _HOMES is
    "AsyncGateway",
    "Gateway",
    "ToolCall",
    "evidence_file",
    "evidence_link",
    "AssentError",
    "CallRefusedError",
    "ClaimRefusedError",
    "GatewayAwayError",
    "GatewayError",
    "KeyRefusedError",
    "NotApprovedError",
    "NotEntitledError",
    "StillPendingError",
    "UnexpectedAnswerError",
    "UnknownRequestError",
    "current_changes",
    "current_grant",
    "guarded",
    "ToolElsewhere",
    "UnknownOutcomeError",
    "RefusalCode",
    "Allowed",
    "Claimed",
    "Denied",
    "Elsewhere",
    "Execution",
    "OutcomeStatus",
    "Pending",
    "Question",
    "Request",
    "State",
    "Taken",
    "Verdict",
    "Gate",
    "BlockingGate",
    "Ran",
    "Refused",
    "Replayed",
    "SuspendedCall",
    "Failed",
    "LeftAlone",
    "Lost",
    "Resumed",
    "resume",
]

_HOMES = {
    "client.gateway": "AsyncGateway",
    "gate.aftermath": "ToolElsewhere UnknownOutcomeError",
    "gate.blocking": "BlockingGate Gateway",
    "client.call": "ToolCall evidence_file evidence_link",
    "client.errors": "AssentError CallRefusedError ClaimRefusedError GatewayAwayError GatewayError KeyRefusedError "
    "NotEntitledError UnexpectedAnswerError UnknownRequestError",
    "client.unapproved": "NotApprovedError StillPendingError",
    "gate.guarded": "guarded",
    "gate.permission": "current_changes current_grant",
    "client.messages": "RefusalCode",
    "client.models": "Allowed Claimed Denied Elsewhere Execution OutcomeStatus Pending Question Request State Taken "
    "Verdict",
    "gate.gate": "Gate",
    "gate.outcomes": "Ran Refused Replayed",
    "gate.suspended": "SuspendedCall",
    "gate.resumption": "Failed LeftAlone Lost Resumed resume",
}


def __getattr__(name: str) -> object:
    """A public name, from its home (PEP 562)."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"assent.{home}"), name)
    raise AttributeError(f"module 'assent' has no attribute {name!r}")
