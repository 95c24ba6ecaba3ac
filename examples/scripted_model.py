"""A stand-in for a language model that needs no network: it reads a request to pay, calls a tool, and tells the end.

Only its words are scripted. The loop around it (payment_agent.py) is what an agent with a real model would have.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PAY, PAY_BATCH, WIRE = "oa__purchase_pay", "oa__pay_batch", "bank__wire"

_AMOUNT = r"(?P<payee>[^;:]+?) (?P<amount>[\d,]+) (?P<currency>[A-Z]{3}) for invoice (?P<invoice>\S+)"
_INVOICE = re.compile(rf"{_AMOUNT}, account (?P<account>\d+)")
_ORDER = re.compile(rf"Pay {_INVOICE.pattern}\.(?: (?P<why>.+))?")
_BATCH = re.compile(r"Pay these together: (?P<lines>[^.]+)\.(?: (?P<why>.+))?")
_WIRE = re.compile(rf"Wire {_AMOUNT}\.(?: (?P<why>.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of the conversation. `call_id`, `tool` and `arguments` are those of a tool call that the model wants."""

    role: str  # "user", "assistant" or "tool"
    text: str
    call_id: str | None = None
    tool: str = PAY
    arguments: dict[str, Any] | None = None


def answer(conversation: Sequence[Message]) -> Message:
    """Say what the model says next, after a message of the user or of the tool."""
    last = conversation[-1]
    if last.role == "tool":
        return Message(role="assistant", text=_conclude(last.text))
    call = _call(last.text)
    if call is None:
        return Message(role="assistant", text="I only know how to pay invoices.")
    tool, arguments, why = call
    text = why or "The invoice is due."
    return Message(role="assistant", text=text, call_id=f"call_{secrets.token_hex(12)}", tool=tool, arguments=arguments)


def explain(invoice: object) -> str:
    """Say what the model answers when an approver asks back about a payment."""
    return f"Invoice {invoice} has the tax in it; the order was before tax."


def _call(order: str) -> tuple[str, dict[str, Any], str | None] | None:
    """Return the tool that a user's order takes, its arguments, and why."""
    if batch := _BATCH.fullmatch(order):
        lines = [_INVOICE.fullmatch(line) for line in batch["lines"].split("; ")]
        found = [line for line in lines if line is not None]
        return PAY_BATCH, {"currency": found[0]["currency"], "lines": [_line(each) for each in found]}, batch["why"]
    if wire := _WIRE.fullmatch(order):
        exact = f"{wire['amount'].replace(',', '')}.00"
        sent = {"payee": wire["payee"], "amount": exact, "currency": wire["currency"], "reference": wire["invoice"]}
        return WIRE, sent, wire["why"]
    if pay := _ORDER.fullmatch(order):
        return PAY, {**_line(pay), "currency": pay["currency"]}, pay["why"]
    return None


def _line(found: re.Match[str]) -> dict[str, Any]:
    amount = int(found["amount"].replace(",", ""))
    return {
        "payee": found["payee"], "amount": amount, "invoice": found["invoice"], "bank_account": found["account"],
    }  # fmt: skip


def _conclude(result: str) -> str:
    if result.startswith(("Paid", "Done")):
        return f"Done. {result.removeprefix('Done: ')}"
    if "it is not known" in result.lower():
        return "I do not know whether it was paid, and I will not pay it again. People can find out."
    return "I did not pay, and I will not try another way."
