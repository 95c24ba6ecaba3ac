"""API keys: what each is for, and whose it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.call.name_pattern import NamePattern


class Scope(StrEnum):
    """What a key is for. They do not include one another: an admin's key cannot vote, an agent's can only ask.

    An evaluation key is an agent's that may also have its questions answered without people, run by run. An executor's
    is nobody's: it runs the calls of those enforced tools that it names, of every agent of its org, and sees nothing
    else.
    """

    AGENT = "agent"
    EVALUATION = "evaluation"
    APPROVER = "approver"
    EXECUTOR = "executor"
    AUDITOR = "auditor"
    ADMIN = "admin"


AGENTS = (Scope.AGENT, Scope.EVALUATION)
"""The scopes of keys that speak for an agent."""


READERS = tuple(scope for scope in Scope if scope is not Scope.EXECUTOR)
"""The scopes of keys that may read whatever concerns them: an executor sees what it is to run, and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One key. `person` is the approver, or who answers for the agent; `tools` what an executor's key may run."""

    id: str
    org: str
    scope: Scope
    agent: str | None
    person: str | None
    label: str
    secret_hash: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    tools: tuple[NamePattern, ...] = ()

    def live(self, now: datetime) -> bool:
        """Whether the key works at `now`."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def runs(self, tool: str) -> bool:
        """Whether this is an executor's key that may run a tool."""
        return any(pattern.matches(tool) for pattern in self.tools)
