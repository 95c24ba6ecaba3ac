"""An agent that pays invoices, and pays large ones only when people say so.

    ASSENT_URL=http://127.0.0.1:8080 ASSENT_KEY=ak_… python -m examples.payment_agent FOLDER

Users' requests are lines of FOLDER/inbox.jsonl; the conversation so far is FOLDER/conversation.jsonl, so that the agent
goes on where it was killed. What is about Assent: the gateway it asks, the gate in its hooks, the session around its
tool calls, and `resume` after a restart. It pays from its own ledger; wires it can only ask for: an executor runs them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent import AsyncGateway, Failed, GatewayError, LeftAlone, Lost, Ran, Refused, Replayed, current_grant, resume
from assent.hooks import Hooks, Settled, Suspended
from assent.hooks.ready.approval_gate import ApprovalGate
from examples.payment_ledger import Ledger
from examples.scripted_model import DROP, PAY, PAY_BATCH, WIRE, Message, answer, explain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from assent import Question, Request
    from assent.hooks import Session, Step

    Tools = Mapping[str, Callable[..., Awaitable[str]]]

SESSION = "supplier-invoices"


async def main(folder: Path) -> None:
    """Serve users for ever."""
    say("started", f"process {os.getpid()}")
    ledger = Ledger(folder / "ledger.jsonl")

    async def pay(payee: str, amount: int, currency: str, invoice: str, bank_account: str) -> str:
        receipt = ledger.pay(
            grant=current_grant(), payee=payee, amount=amount, currency=currency, invoice=invoice, account=bank_account
        )
        return f"Paid {amount:,} {currency} to {payee}, receipt {receipt}."

    async def pay_batch(currency: str, lines: list[dict[str, Any]]) -> str:
        receipts = [ledger.find(line["invoice"]) for line in lines]
        for number, line in enumerate(lines):  # one that a killed predecessor paid is not paid again
            receipts[number] = receipts[number] or ledger.pay(
                grant=current_grant(), payee=line["payee"], amount=line["amount"], currency=currency,
                invoice=line["invoice"], account=line["bank_account"],
            )  # fmt: skip
        return f"Paid {len(lines)} invoices, receipts {', '.join(map(str, receipts))}."

    async def wire(**_: object) -> str:
        raise PermissionError("only the executor has the bank's token")

    async def drop(table: str) -> str:
        return f"Dropped the table {table}."  # this example has no database to lose

    tools = {PAY: pay, PAY_BATCH: pay_batch, WIRE: wire, DROP: drop}
    conversation = Conversation(folder)
    url, key = os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"]
    async with AsyncGateway(url, key, session=SESSION, on_question=answer_question) as gateway:
        hooks = Hooks(known_tools=list(tools))
        hooks.add(ApprovalGate(approvals=gateway))
        async with hooks.session(session=SESSION, resumed=bool(conversation.messages), on_step=tell_step) as session:
            if (call := conversation.open_call()) is not None:  # a predecessor died in the middle of this one
                conversation.add(Message(role="tool", text=await carry_on(gateway, session, tools, ledger, call)))
            while True:
                conversation.add(await next_message(conversation, session, tools))


async def next_message(conversation: Conversation, session: Session, tools: Tools) -> Message:
    """Wait until it is our turn; then answer the person, or make the call that the model wants."""
    last = await conversation.wait_for_turn()
    if last.arguments is None:
        return answer(conversation.messages)
    return Message(role="tool", text=await call_tool(session, tools, last))


async def call_tool(session: Session, tools: Tools, call: Message) -> str:
    """Pay, if it is allowed; the answer is for the model either way."""
    tool, wanted = tools[call.tool], call.arguments or {}
    result = await session.call_tool(call.tool, wanted, tool, call_id=call.call_id or "", claim=call.text)
    return str(result.content)


def answer_question(question: Question, request: Request) -> str:
    """Answer what an approver asks back; they read it on the card before they decide."""
    said = explain(question.text, request.arguments)
    say("asked", question.text)
    say("assistant", said)
    return said


async def carry_on(gateway: AsyncGateway, session: Session, tools: Tools, ledger: Ledger, call: Message) -> str:
    """Finish a predecessor's call: by its open request, else by what the bank or the settled request knows."""
    say("resumes", "a call of mine was open when I was killed", said="log.open")
    while True:
        try:
            past = await resume(gateway, tools=tools)
            break
        except GatewayError as away:
            say("waits", f"{away}")
    if not past:
        receipts = [ledger.find(invoice) for invoice in _invoices(call)]
        if receipts and all(receipts):
            return f"Paid already, receipt {', '.join(map(str, receipts))}."
        return await call_tool(session, tools, call)
    match past[-1].outcome:
        case Ran(result=result):
            return result if isinstance(result, str) else f"Done: the executor ran it. Its result: {json.dumps(result)}"
        case Refused(message=message) | Replayed(message=message):
            return message
        case Failed(error=error):
            return f"The payment failed: {error}"
        case Lost():
            return "It is not known whether this was paid. A person has to look."
        case LeftAlone(why=why):
            return f"Nothing was done: {why}."


def tell_step(step: Step) -> None:
    """Say how a call stands that waits for people."""
    match step:
        case Suspended():
            until = f"{step.expires_at:%H:%M:%S}"
            said = f"Waits for people until {until} UTC, code {step.code}."
            say("holds", said, said="log.held", until=until, code=str(step.code))
        case Settled():
            say("holds", f"No longer waits: {step.state}.", said="log.settled", state=str(step.state))
        case _:
            pass


class Conversation:
    """What was said so far, on the disk before it is acted upon."""

    def __init__(self, folder: Path) -> None:
        """Read what a predecessor left."""
        self._inbox, self._path = folder / "inbox.jsonl", folder / "conversation.jsonl"
        self.messages = [Message(**json.loads(line)) for line in _lines(self._path)]

    def open_call(self) -> Message | None:
        """Return the tool call that has no result yet."""
        return self.messages[-1] if self.messages and self.messages[-1].arguments is not None else None

    async def wait_for_turn(self) -> Message:
        """Return the message to act upon; when the model has finished, the next one of a user."""
        while not self.messages or (self.messages[-1].role == "assistant" and self.open_call() is None):
            heard = sum(message.role == "user" for message in self.messages)
            fresh = _lines(self._inbox)[heard:]
            if fresh:
                self.add(Message(role="user", text=json.loads(fresh[0])))
            else:
                await asyncio.sleep(0.1)
        return self.messages[-1]

    def add(self, message: Message) -> None:
        """Remember a message, and say it."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(message)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.messages.append(message)
        say(message.role, message.text)
        if message.arguments is not None:
            named = ", ".join(f"{name}={value}" for name, value in message.arguments.items())
            say("calls", f"{message.tool}({named})")


def say(who: str, what: str, **more: str) -> None:
    """Print one line of the log; account numbers are nobody's business there.

    `more` is for whoever shows it in another language: the name of the sentence (`said`), and its values.
    """
    print(json.dumps({"who": who, "what": re.sub(r"[0-9]{10,}", "•••", what), **more}), flush=True)


def _invoices(call: Message) -> list[str]:
    """Return the invoices that the agent itself pays by a call."""
    wanted = call.arguments or {}
    return [line["invoice"] for line in wanted.get("lines", [wanted]) if "invoice" in line]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
