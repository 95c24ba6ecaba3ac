"""The refusal of a call that nobody could approve: it is made at once, and nobody is asked in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.request.quorum import reachable
from app.domain.rules.policy import Ask, Deny
from app.usecases.voters.electorate import unfilled, voters_at_first

if TYPE_CHECKING:
    from app.domain.call.tool_call import ToolCall
    from app.domain.rules.policy import Policy


def nobody_left(ruling: Ask, call: ToolCall, policy: Policy) -> Deny | None:
    """Return the refusal where too few may approve; None where enough may."""
    stages = ruling.asking.stages
    if reachable(stages, voters_at_first(call, stages, policy)):
        return None
    why_nobody = "; ".join(unfilled(call, stages, policy))
    return Deny(
        rule_id=ruling.rule_id,
        reason="Nobody who may approve this is left once the requester, the agent's owner and those above "
        f"their limit are taken out{f' ({why_nobody})' if why_nobody else ''}.",
        policy_version=ruling.policy_version,
        trace=ruling.trace,
        record=True,
    )
