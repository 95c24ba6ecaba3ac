"""What the file says about payments of a whole org: budgets over time, duplicates, and what takes one level more."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.request.caution import RAISING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from app.domain.call.name_pattern import NamePattern
    from app.domain.request.caution import CautionKind


class Per(StrEnum):
    """Whose payments one budget counts together."""

    AGENT = "agent"
    OWNER = "owner"  # all agents of one person
    PAYEE = "payee"  # whatever agent pays them; by name, and by account
    ORG = "org"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """So much, or so many payments, within a sliding time. No `tools` means every tool with a `payment`.

    `limit` is by currency; a currency that it does not name is above it. None: only `count` is limited. `unasked_only`
    counts what ran without anybody being asked, and stops nothing else: what people approve uses none of it up.
    """

    id: str
    per: Per
    within: timedelta
    limit: Mapping[str, Decimal] | None = field(default=None, hash=False)
    count: int | None = None
    tools: tuple[NamePattern, ...] = ()
    unasked_only: bool = False


class PaymentTerms(Struct, frozen=True, kw_only=True):
    """The file's `payments`. `duplicates` zero: not looked for. `step_up` is what takes one level of assurance more."""

    budgets: tuple[Budget, ...] = ()
    duplicates: timedelta = timedelta(days=30)
    step_up: frozenset[CautionKind] = RAISING
