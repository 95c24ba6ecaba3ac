"""One approver's verdict, and how it reached us."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.people.assurance import Assurance

if TYPE_CHECKING:
    from datetime import datetime


class Verdict(StrEnum):
    """What an approver says."""

    APPROVE = "approve"
    DENY = "deny"


class Evidence(Struct, frozen=True, kw_only=True):
    """Through which door a verdict came in: kept with the decision, so that an auditor can ask the platform.

    `channel` is the channel's name, or ``api``. The rest is empty where the door has no such thing.
    """

    channel: str
    account_id: str = ""
    tenant: str = ""
    app_id: str = ""
    chat_id: str = ""
    message_id: str = ""
    card_revision: int = 0
    assurance: Assurance = Assurance.L1  # what the verdict is worth; never above L3
    shown_at: datetime | None = None  # when the card that was clicked arrived; only the trail keeps it


class Decision(Struct, frozen=True, kw_only=True):
    """A recorded verdict of one person on one request. Each person has one.

    `on_behalf_of` is set if they voted not in their own right, but for somebody who is away: both names are kept.
    """

    id: str
    person: str  # e-mail, as in the file
    verdict: Verdict
    reason: str | None
    at: datetime
    evidence: Evidence
    on_behalf_of: str | None = None  # e-mail, as in the file
