"""What every act of the played demo does: say its steps, look until something is so, and name what is not."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from app.domain.words.say import say
from examples.demo.hands import Cards, Hands
from examples.demo.stage import AGENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from examples.demo.orders import Order, Payment
    from examples.demo.stage import Stage, Visitor

ANY = "\0"
"""Stands for a value that cannot be known beforehand."""
_PATIENCE_SECONDS = 60.0  # the first card of a platform imports its SDK, which a busy machine is slow at
STARTS_WITHIN = 90.0
"""Seconds for the gateway's start: the first one after a checkout compiles every module."""


class NotSoError(Exception):
    """Something that the demo promises is not so."""


class Act:
    """A part of the story, with what it takes to play and check it."""

    def __init__(self, stage: Stage) -> None:
        """Play on one stage."""
        self._stage = stage
        self._hands = Hands(stage)
        self._cards = Cards(stage)

    async def _asked(self, order: Order, invoice: str) -> str:
        """Let the agent ask; return the request once its card is in both chats."""
        before = len(self._stage.trail.requests())
        self._stage.ask_agent(order.order(invoice, self._stage.language))
        request_id = await self._request(before + 1)
        await until("both cards are there", lambda: self._cards.live(request_id) == [True, True])
        return request_id

    async def _request(self, number: int) -> str:
        async def made() -> bool:
            await self._stage.trail.fetch()
            return len(self._stage.trail.requests()) >= number

        await until(f"people are asked (request {number})", made)
        return self._stage.trail.requests()[number - 1]

    async def _settled_as(self, request_id: str, kind: str, *, times: int = 1) -> None:
        async def told() -> bool:
            await self._stage.trail.fetch()
            return len(self._stage.trail.of(request_id, kind)) >= times

        await until(f"the trail says {kind}", told)

    async def _both_settled(self, request_id: str) -> None:
        await until("both cards are settled", lambda: self._cards.live(request_id) == [False, False])

    async def _on_both(self, request_id: str, *texts: str) -> None:
        """Look until both cards show these texts."""
        for text in texts:
            await until(f"both cards say “{text}”", lambda text=text: all(self._says(request_id, (text,))))

    async def _said(self, request_id: str, key: str, **values: str) -> None:
        """Look until both cards say a sentence of the gateway's in the language of now.

        Of a sentence with `ANY` among its values, only what follows on that.
        """
        await self._on_both(request_id, say(self._stage.language, key, **values).rpartition(ANY)[2])

    def _says(self, request_id: str, texts: Iterable[str]) -> list[bool]:
        shown = [json.dumps(card(request_id), ensure_ascii=False) for card in (self._cards.feishu, self._cards.slack)]
        return [all(text in each for text in texts) for each in shown]

    def _in_feishu(self, request_id: str) -> str:
        """Return the id of the message in Feishu."""
        return str((self._cards.feishu(request_id) or {})["message_id"])

    def _in_slack(self, request_id: str) -> str:
        """Return the ts of the message in Slack."""
        return str((self._cards.slack(request_id) or {})["ts"])

    async def _fill_in(self, visitor: Visitor, text: str) -> None:
        """Submit the modal that opens, with one text."""
        slack = self._stage.slack
        await until("the modal is open", lambda: slack.modal_of(visitor.slack) is not None)
        modal = slack.modal_of(visitor.slack)
        shown = await self._hands.submit_slack(visitor, modal.id if modal else "", text)
        require(shown.kind != "error", f"what was typed is taken, not {shown}")

    def _code(self, request_id: str) -> str:
        """Return the code that the agent says it waits for; it must be the one on the cards."""
        holds = [line["what"] for line in self._stage.agent_log() if line["who"] == "holds" and "code" in line["what"]]
        code = holds[-1].rpartition("code ")[2].rstrip(".")
        require(all(self._says(request_id, [code])), f"the cards have the code {code} that the agent waits for")
        return code

    async def _agent_says(self, what: str) -> None:
        await until(f"the agent knows: “{what}”", lambda: any(what in line["what"] for line in self._stage.agent_log()))

    def _paid_for(self, invoice: str) -> list[dict[str, object]]:
        return [entry for entry in self._stage.paid() if entry["invoice"] == invoice]

    async def _until_paid(self, invoice: str) -> None:
        await until(f"invoice {invoice} is paid", lambda: self._paid_for(invoice))

    def _require_line(self, payment: Payment, invoice: str) -> dict[str, object]:
        """Return the one line of the ledger for an invoice, which is exactly that payment."""
        entries = self._paid_for(invoice)
        require(len(entries) == 1, f"the ledger has one line for invoice {invoice}, not {len(entries)}")
        approved = (payment.payee, payment.amount, payment.currency, invoice, payment.account)
        paid = tuple(entries[0][name] for name in ("payee", "amount", "currency", "invoice", "account"))
        require(paid == approved, f"what was approved was paid, not {paid}")
        return entries[0]

    def _require_granted(self, request_id: str, *entries: dict[str, object]) -> None:
        """The agent took the approval once, and each of these payments names its grant."""
        claims = self._stage.trail.of(request_id, "grant.claimed")
        require(len(claims) == 1 and claims[0]["actor"] == f"agent:{AGENT}", "the agent took the approval once")
        granted = cast("dict[str, Any]", claims[0]["facts"])["grant"]
        require(all(entry["grant"] == granted for entry in entries), "the line names the grant of the approval")


def require(condition: bool, what: str) -> None:
    """Raise NotSoError, saying what should be so, unless it is."""
    if not condition:
        raise NotSoError(what)


async def until(what: str, so: Callable[[], object], *, within: float | None = None) -> None:
    """Look until it is so, twenty times a second, for some seconds. Raises NotSoError."""
    patience = _PATIENCE_SECONDS if within is None else within
    end = time.monotonic() + patience
    while True:
        seen = so()
        if await seen if asyncio.iscoroutine(seen) else seen:
            return
        if time.monotonic() > end:
            raise NotSoError(f"{what}: not within {patience:.0f} seconds")
        await asyncio.sleep(0.05)


@asynccontextmanager
async def step(sentence: str) -> AsyncIterator[None]:
    """Say what is going on, and then that it is done and how long it took."""
    back = "\r" if sys.stdout.isatty() else ""
    if back:
        print(f"  … {sentence}", end="", flush=True)
    started = time.monotonic()
    try:
        yield
    except BaseException:
        print(f"{back}  ✗ {sentence}", flush=True)
        raise
    print(f"{back}  ✓ {sentence}  ({time.monotonic() - started:.1f} s)", flush=True)
