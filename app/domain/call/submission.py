"""A call as it comes in, before anything was judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.domain.call.requester_proof import RequesterProof


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A call as the agent reports it. `org`, `agent` and `owner` (as e-mails are compared) come from its key alone.

    `evaluation` may be True only for a key of that scope: the caller has looked. `can_route`: the agent's runtime can
    run a call in the sandbox that a hook sends it to.
    """

    org: str
    agent: str
    owner: str | None
    tool: str
    arguments: object
    session: str | None = None
    call_id: str | None = None
    requester: str | None = None
    requester_token: str | None = field(default=None, repr=False)
    """What may prove who asked, as it came in: it is checked and let go before anything else is done with the call."""
    proof: RequesterProof | None = None
    """What it proved."""
    unproven: str | None = None
    """Why it proved nothing."""
    claim: str | None = None
    idempotency_key: str | None = None
    joins: bool = True
    """Whether it may stand on a request that was opened under another key, or none."""
    parent_session: str | None = None
    parent_agent: str | None = None
    sub_agent: str | None = None
    """The agent acts through a sub-agent of this name: what is written about that one binds the call as well."""
    cwd: str | None = None
    host_event: str | None = None
    """What the agent's program sent to its hook, as it sent it."""
    evidence: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Links and files for the people who are asked, as they were sent: nobody has looked at them yet."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    confirm: str | None = None
    """Why the caller wants people to be asked whatever the rules would allow."""
    evaluation: bool = False
    evaluation_key: str | None = None
    """The id of the key, if it is one of that scope: the requests that it opens are its own."""
    can_route: bool = False
    is_small: bool = False
    """Whether its arguments and evidence are known to be small, and cost less to check than to look through first."""
