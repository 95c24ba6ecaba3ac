"""Which calls say the same where it must be seen: a copy in other words of what people denied is known by it.

Other words are also another spelling: of payments the amounts and names count as they are compared everywhere
(`payment.py`), not as they are written, and the order of a batch does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.money.payment import payee_key, plain
from app.domain.text.canonical import digest
from app.domain.text.paths import values_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.call.tool import Tool
    from app.domain.call.tool_call import ToolCall
    from app.domain.money.payment import Payment
    from app.domain.text.canonical import JsonValue

SCHEMA = "assent.near.v1"


def near_key(call: ToolCall, tool: Tool, payments: Sequence[Payment]) -> str | None:
    """Name what must be seen of a call, whichever agent makes it; None where the file pins nothing of the tool."""
    if not tool.pin:
        return None
    paid = tool.payment.paths if tool.payment is not None and payments else ()
    shown: list[JsonValue] = [
        [path, [value for _, value in values_at(call.arguments, path)]] for path in sorted(tool.pin) if path not in paid
    ]
    told: list[JsonValue] = [*sorted(_told(payment, tool) for payment in payments)]
    return digest({"schema": SCHEMA, "org": call.org, "tool": call.tool, "shown": shown, "payments": told})


def _told(payment: Payment, tool: Tool) -> str:
    """Return what must be seen of one payment, as it is compared."""
    fields = tool.payment
    account = payment.account_key if fields is not None and fields.account in tool.pin else ""
    reference = payment.reference if fields is not None and fields.reference in tool.pin else None
    seen: list[JsonValue] = [payment.payee_key, plain(payment.amount), payment.currency, account]
    return digest([*seen, None if reference is None else payee_key(reference)])
