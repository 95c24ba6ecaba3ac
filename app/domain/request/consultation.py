"""What people say about a request besides yes and no: who decides in whose place, and what was asked and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime


class HandOver(Struct, frozen=True, kw_only=True):
    """`to` decides in the place of `by`, wherever that one could; `by` no longer does. Both are e-mails of the file."""

    by: str
    to: str
    at: datetime
    note: str | None = None


class Question(Struct, frozen=True, kw_only=True):
    """What an approver wants to know before they decide, and the answer once there is one."""

    id: str
    by: str  # e-mail, as in the file
    text: str
    at: datetime
    answer: str | None = None
    answered_by: str | None = None  # e-mail of the requester, or "agent:<name>"
    answered_at: datetime | None = None
