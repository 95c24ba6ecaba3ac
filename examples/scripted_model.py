"""A stand-in for a language model that needs no network: it reads a request to pay, calls a tool, and tells the end.

Only its words are scripted. The loop around it (payment_agent.py) is what an agent with a real model would have.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAY, PAY_BATCH, WIRE, DROP = "oa__purchase_pay", "oa__pay_batch", "bank__wire", "db__drop_table"

_AMOUNT = r"(?P<payee>[^;:]+?) (?P<amount>[\d,]+) (?P<currency>[A-Z]{3}) for invoice (?P<invoice>\S+)"
_ZH_AMOUNT = r"(?P<payee>[^；：]+?) (?P<amount>[\d,]+) (?P<currency>[A-Z]{3})，发票 (?P<invoice>[^\s，。；]+)"
_WHY, _ZH_WHY = r"\.(?: (?P<why>.+))?", r"。(?P<why>.+)?"
# Each order in both languages: it is answered in its own.
_INVOICE = (re.compile(rf"{_AMOUNT}, account (?P<account>\d+)"), re.compile(rf"{_ZH_AMOUNT}，账号 (?P<account>\d+)"))
_ORDER = (
    re.compile(rf"Pay {_INVOICE[0].pattern}{_WHY}"),
    re.compile(rf"付款：{_INVOICE[1].pattern}{_ZH_WHY}"),
)
_BATCH = (
    re.compile(rf"Pay these together: (?P<lines>[^.]+){_WHY}"),
    re.compile(rf"一并付款：(?P<lines>[^。]+){_ZH_WHY}"),
)
_WIRE = (re.compile(rf"Wire {_AMOUNT}{_WHY}"), re.compile(rf"电汇：{_ZH_AMOUNT}{_ZH_WHY}"))
_DROP = (
    re.compile(rf"Drop the table (?P<table>\w+){_WHY}"),
    re.compile(rf"删除数据表 (?P<table>\w+?){_ZH_WHY}"),
)
_CHINESE = re.compile(r"付款：|一并付款：|电汇：|删除数据表")
_HAN = re.compile(r"[\u4e00-\u9fff]")


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
    order = next((message.text for message in reversed(conversation) if message.role == "user"), "")
    is_chinese = _CHINESE.match(order) is not None
    if last.role == "tool":
        pays = not any(message.tool == DROP for message in conversation[-2:-1])
        return Message(role="assistant", text=_conclude(last.text, is_chinese=is_chinese, pays=pays))
    call = _call(last.text)
    if call is None:
        return Message(role="assistant", text="I only know how to pay invoices, and to drop a table.")
    tool, arguments, why = call
    text = why or ("发票到期。" if is_chinese else "The invoice is due.")
    return Message(role="assistant", text=text, call_id=f"call_{secrets.token_hex(12)}", tool=tool, arguments=arguments)


_ABOUT: tuple[tuple[str, str, str], ...] = (
    (
        r"account|iban|bank details|账号|账户|卡号",
        "The account stands on {what}; I have not checked it with {payee}.",
        "账号出自{what}，我没有与{payee}核对过。",
    ),
    (
        r"\b(more|higher|differ|order|tax|much)|多|更高|不一致|订单|税",
        "There is tax in {what}; the order was before tax.",
        "{what}含税，订单金额为税前。",
    ),
    (
        r"\b(when|due|urgent|today|deadline|hurry)|何时|什么时候|到期|着急|今天|期限",
        "It is due today, says {what}. What a day later costs, nobody told me.",
        "{what}写明今天到期；没有人告诉我晚一天会怎样。",
    ),
    (
        r"\b(who|whose)\b|谁",
        "A user asked me to; {what} is from {payee}. I know nobody else.",
        "是用户让我付的；{what}来自{payee}。其他人我不知道。",
    ),
)
"""What a question is about, and what is said then, by language; in the order in which it is looked for."""


def explain(question: str, arguments: Mapping[str, Any]) -> str:
    """Say what the model answers when an approver asks back: to what was asked, in the language of the question."""
    lines = arguments.get("lines") or [arguments]
    invoices = [str(line.get("invoice") or line.get("reference")) for line in lines]
    payees = ", ".join(str(line.get("payee")) for line in lines)
    is_chinese = _HAN.search(question) is not None
    what = ("发票 " if is_chinese else "invoice ") + ", ".join(invoices)
    if "table" in arguments:
        table = arguments["table"]
        return (
            f"没有程序再读取 {table}，我没有备份它。"
            if is_chinese
            else f"Nothing reads {table} any more; I kept no copy."
        )
    for asks, en, zh in _ABOUT:
        if re.search(asks, question, re.IGNORECASE):
            return (zh if is_chinese else en).format(what=what, payee=payees)
    if is_chinese:
        return f"这个我不知道。我只有{what}（{payees}），没有更多信息。"
    return f"I do not know that. All that I have is {what} from {payees}."


def _call(order: str) -> tuple[str, dict[str, Any], str | None] | None:
    """Return the tool that a user's order takes, its arguments, and why."""
    if batch := _match(_BATCH, order):
        lines = [_match(_INVOICE, line) for line in re.split("; |；", batch["lines"])]
        found = [line for line in lines if line is not None]
        return PAY_BATCH, {"currency": found[0]["currency"], "lines": [_line(each) for each in found]}, batch["why"]
    if wire := _match(_WIRE, order):
        exact = f"{wire['amount'].replace(',', '')}.00"
        sent = {"payee": wire["payee"], "amount": exact, "currency": wire["currency"], "reference": wire["invoice"]}
        return WIRE, sent, wire["why"]
    if drop := _match(_DROP, order):
        return DROP, {"table": drop["table"]}, drop["why"]
    if pay := _match(_ORDER, order):
        return PAY, {**_line(pay), "currency": pay["currency"]}, pay["why"]
    return None


def _match(patterns: tuple[re.Pattern[str], re.Pattern[str]], text: str) -> re.Match[str] | None:
    return patterns[0].fullmatch(text) or patterns[1].fullmatch(text)


def _line(found: re.Match[str]) -> dict[str, Any]:
    amount = int(found["amount"].replace(",", ""))
    return {
        "payee": found["payee"], "amount": amount, "invoice": found["invoice"], "bank_account": found["account"],
    }  # fmt: skip


def _conclude(result: str, *, is_chinese: bool, pays: bool) -> str:
    if result.startswith(("Paid", "Done", "Dropped")):
        if not is_chinese:
            return f"Done. {result.removeprefix('Done: ')}"
        receipts = re.findall(r"[A-Z]-\d{4,}", result)
        return f"已完成，回执 {'、'.join(receipts)}。" if receipts else "已完成。"
    if "it is not known" in result.lower():
        if is_chinese:
            return "我不知道是否已付款，也不会再付一次。请人来查。"
        return "I do not know whether it was paid, and I will not pay it again. People can find out."
    if is_chinese:
        return f"我没有{'付款' if pays else '执行'}，也不会换别的办法。"
    return f"I did not {'pay' if pays else 'do it'}, and I will not try another way."
