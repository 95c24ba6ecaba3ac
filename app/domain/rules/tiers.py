"""Which tier of a rule answers a call: the lowest that all of its totals are within."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import BadArgumentsError
from app.domain.money.payment import payments_of, totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.call.tool import Tool
    from app.domain.rules.rule import Tier
    from app.domain.text.canonical import JsonValue


def tier_for(tiers: Sequence[Tier], tool: Tool, arguments: Mapping[str, JsonValue]) -> int:
    """Return the index of the tier that answers. Payments that cannot be read are above all of them."""
    highest = len(tiers) - 1
    if tool.payment is None:
        return highest
    try:
        sums = totals(payments_of(tool.payment, arguments))
    except BadArgumentsError:
        return highest
    return next((at for at, tier in enumerate(tiers) if tier.holds(sums)), highest)
