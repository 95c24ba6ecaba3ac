"""What speaks against taking a call as one of many: seen when it is asked, shown on the card, kept with the request.

Where a rule would allow the call by itself, any caution asks people instead. Where people are asked anyway, those in
`RAISING` take one level of assurance more (see `assurance.py`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping


class CautionKind(StrEnum):
    """The kinds. Each has a sentence in `app/domain/words/payments.py`, filled with the caution's values."""

    FIRST_PAYEE = "first_payee"  # payee
    NEW_ACCOUNT = "new_account"  # payee, before, now: the last characters of the accounts
    OFF_HOURS = "off_hours"  # nothing
    OVER_BUDGET = "over_budget"  # budget, spent, limit, currency, span; or count for one of velocity
    DUPLICATE = "duplicate"  # payee, amount, currency, reference, at, request
    NEAR_DENIED = "near_denied"  # at, request, reason


RAISING = frozenset({
    CautionKind.FIRST_PAYEE,
    CautionKind.NEW_ACCOUNT,
    CautionKind.OFF_HOURS,
    CautionKind.OVER_BUDGET,
})  # fmt: skip
"""What takes one level of assurance more, once, however many of them there are."""


class Caution(Struct, frozen=True, kw_only=True):
    """One of them, with the texts that its sentence names."""

    kind: CautionKind
    values: Mapping[str, str] = field(default_factory=dict[str, str])

    def __hash__(self) -> int:
        """Be found among others by its kind."""
        return hash(self.kind)
