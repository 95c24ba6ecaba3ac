"""What a hook sees: the moment, the call or prompt or request at hand, and whose run it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.verdicts import NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from assent.hooks.contract.model_request import ModelRequest
    from assent.hooks.contract.moments import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class HookContext:
    """One moment of one run. Frozen but for `metadata`, the bag that goes from moment to moment within a turn."""

    moment: Moment
    timestamp: datetime
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    org: str = ""
    agent: str = ""
    session: str = ""
    parent_session: str = ""
    """The session that started this one, for a sub-agent or a node of a workflow."""
    user: str = ""
    """On whose behalf the agent acts."""
    cwd: str = ""

    tool_name: str = ""
    """The tool's canonical name (`bash` is `exec`; `assent.hooks.contract.tool_names`)."""
    called_as: str = ""
    """The tool's name as the agent's runtime says it."""
    args: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """The arguments as they stand after the rewrites so far."""
    call_id: str = ""
    claim: str = ""
    """The agent's own words on why it calls, for the approvers, who see them marked as such."""
    rejudging: bool = False
    """True when this hook has judged this call before and a later hook has since rewritten it: judge, do not count."""
    asks: tuple[str, ...] = ()
    """Why earlier hooks want people to be asked: for the approval gate."""
    route: str = ""
    """The sandbox that an earlier hook routes the call to."""

    prompt: str = ""
    request: ModelRequest | None = None
    result: Any = None
    """The tool's result, after earlier hooks' replacements."""
    error: str = ""
    """PostToolUseFailure: what the tool failed with."""
    request_id: str = ""
    """PostToolUse, PostToolUseFailure: the request that people approved, if they were asked."""
    duration: float | None = None
    """Seconds that the tool took."""
    source: str = ""
    """SessionStart: `new` or `resumed`."""
    reason: str = ""
    """SessionEnd: why it ends. PreCompact: what triggered it."""
    last_message: str = ""
    """Stop, SubagentStop: the agent's last words."""
    sent_back: bool = False
    """Stop: the agent was sent back in this turn already; it will not be sent back again."""
