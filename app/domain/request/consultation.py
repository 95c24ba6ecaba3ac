"""What people say about a request besides yes and no: who decides in whose place, and what was asked and answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """`to` decides in the place of `by`, wherever that one could; `by` no longer does. Both are e-mails of the file."""

    by: str
    to: str
    at: datetime
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an approver wants to know before they decide, and the answer once there is one."""

    id: str
    by: str  # e-mail, as in the file
    text: str
    at: datetime
    answer: str | None = None
    answered_by: str | None = None  # e-mail of the requester, or "agent:<name>"
    answered_at: datetime | None = None
