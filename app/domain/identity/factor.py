"""A second factor: at most one a person, its secret sealed, and the last step whose code was used."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class FactorStatus(StrEnum):
    """How far a person has come."""

    INVITED = "invited"
    ENROLLED = "enrolled"  # the secret was shown; its first code is awaited
    ACTIVE = "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One person's. An active one may be invited again: `new_secret` then takes over once its first code has come."""

    person: str
    status: FactorStatus
    secret: str | None = field(default=None, repr=False)
    new_secret: str | None = field(default=None, repr=False)
    invite_hash: str | None = field(default=None, repr=False)
    invite_until: datetime | None = None  # of the invitation, and then of the first code
    set_by: str
    set_at: datetime
    last_step: int = -1

    @property
    def is_active(self) -> bool:
        """Whether its codes count."""
        return self.status is FactorStatus.ACTIVE and self.secret is not None
