"""A stand-in for a language model that needs no network: it reads a request to pay, calls the tool, and tells the end.

Only its words are scripted. The loop around it (payment_agent.py) is what an agent with a real model would have.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ORDER = re.compile(
    r"Pay (?P<payee>.+?) (?P<amount>[\d,]+) (?P<currency>[A-Z]{3}) "
    r"for invoice (?P<invoice>\S+), account (?P<account>\d+)\.(?: (?P<why>.+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of the conversation. `call_id` and `arguments` are those of a tool call that the model wants."""

    role: str  # "user", "assistant" or "tool"
    text: str
    call_id: str | None = None
    arguments: dict[str, str | int] | None = None


def answer(conversation: Sequence[Message]) -> Message:
    """Say what the model says next, after a message of the user or of the tool."""
    last = conversation[-1]
    if last.role == "tool":
        return Message(role="assistant", text=_conclude(last.text))
    order = _ORDER.fullmatch(last.text)
    if order is None:
        return Message(role="assistant", text="I only know how to pay invoices.")
    payment: dict[str, str | int] = {
        "payee": order["payee"],
        "amount": int(order["amount"].replace(",", "")),
        "currency": order["currency"],
        "invoice": order["invoice"],
        "bank_account": order["account"],
    }
    why = order["why"] or "The invoice is due."
    return Message(role="assistant", text=why, call_id=f"call_{secrets.token_hex(12)}", arguments=payment)


def explain(invoice: object) -> str:
    """Say what the model answers when an approver asks back about a payment."""
    return f"Invoice {invoice} has the tax in it; the order was before tax."


def _conclude(result: str) -> str:
    if result.startswith("Paid"):
        return f"Done. {result}"
    return "I did not pay, and I will not try another way."
