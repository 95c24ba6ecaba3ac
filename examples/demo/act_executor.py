"""The act about what only an executor may run: it is killed after it has paid and before it could say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from examples.demo.act import ANY, Act, require, step, until
from examples.demo.orders import WIRE

if TYPE_CHECKING:
    from examples.demo.trail import Event

INVOICE = "2026-0160"


class Enforced(Act):
    """One request, whose outcome is unknown for a while."""

    async def unknown(self) -> None:
        """Kill the executor in the middle of its payment, and let its successor find out what became of it."""
        stage = self._stage
        wang, before = stage.visitors["wang"], len(stage.bank.entries())
        async with step(
            "the agent asks for a wire; it has nothing to pay with, only the executor has the bank's token"
        ):
            request_id = await self._asked(WIRE, INVOICE)
        async with step("王芳 approves in Feishu; the executor pays; the bank is slow to answer: kill -9 the executor"):
            shown = await self._hands.press_feishu(wang, self._in_feishu(request_id), "approve")
            require(shown.kind == "success", f"the click is recorded, not {shown}")
            await until("the bank has booked it", lambda: len(stage.bank.entries()) > before)
            await stage.executor.kill()
            await stage.trail.fetch()
            require(not stage.trail.of(request_id, "execution.succeeded"), "the executor died before it could report")
        async with step("its time is over: nobody knows what became of it; both cards say so; nothing runs again"):
            await self._settled_as(request_id, "execution.unknown")
            await self._said(request_id, "outcome.unknown", by=ANY, at=ANY)
            await stage.executor.start()
        async with step("the executor starts again, asks the bank by the approval's key, and runs nothing"):
            await self._settled_as(request_id, "execution.reconciled")
            self.require_paid_once(request_id)
            await self._agent_says(str(self._paid_for(INVOICE)[0]["receipt"]))  # it waited for what became of its call
        async with step("both cards say that it is done, and show the bank's receipt"):
            await self._said(request_id, "outcome.succeeded", by=ANY, at=ANY)
            await self._on_both(request_id, str(self._paid_for(INVOICE)[0]["receipt"]))
            await self._both_settled(request_id)

    def require_paid_once(self, request_id: str) -> None:
        """The bank was paid once, under the grant as its idempotency key. Raises NotSoError."""
        entries = self._paid_for(INVOICE)
        require(len(entries) == 1, f"the bank has one payment for invoice {INVOICE}, not {len(entries)}")
        claims = self._stage.trail.of(request_id, "grant.claimed")
        require(len(claims) == 1, f"the approval was taken once, not {len(claims)} times")
        require(entries[0]["grant"] == _grant(claims[0]), "the bank's key is the grant of the approval")
        paid = (entries[0]["payee"], entries[0]["amount"], entries[0]["currency"])
        require(paid == (WIRE.payee, f"{WIRE.amount:,}.00", "CNY"), f"what was approved was paid, not {paid}")


def _grant(claim: Event) -> object:
    return cast("dict[str, Any]", claim["facts"])["grant"]
