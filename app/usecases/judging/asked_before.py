"""A call that was asked before, put together again so that hooks and rules can judge it anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.domain.call.submission import Submission
from app.domain.trail.audit import Kind
from app.storage.trail.audit_chain import list_of_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.call.tool_call import ToolCall
    from app.domain.text.canonical import JsonValue
    from app.storage.engine.transaction import Tx


def sub_agent_of(tx: Tx, request_id: str) -> str | None:
    """Return the sub-agent through which a request was asked: its rules and hooks bind the call as well."""
    began = next((event.record for event in list_of_request(tx, request_id) if event.record.kind is Kind.CREATED), None)
    sub_agent = began.facts.get("sub_agent") if began else None
    return str(sub_agent) if sub_agent else None


def asked_again(
    call: ToolCall,
    arguments: Mapping[str, JsonValue],
    *,
    sub_agent: str | None,
    evidence: Sequence[dict[str, Any]] = (),
) -> Submission:
    """Return a call of the same agent, session and people with these arguments, as the agent would have submitted it.

    What came with the call and is kept nowhere (its folder, the bag of its turn) is not there; nor is its `evidence`,
    unless it is given along.
    """
    return Submission(
        org=call.org,
        agent=call.agent,
        owner=call.owner,
        tool=call.tool,
        arguments=dict(arguments),
        session=call.session,
        call_id=call.call_id,
        requester=call.requester,
        proof=call.proof,
        claim=call.claim,
        sub_agent=sub_agent,
        evidence=list(evidence),
    )
