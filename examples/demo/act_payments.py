"""The acts about what a payment comes to, and to whom: by itself, over a budget, in a batch, to somebody new."""

from __future__ import annotations

from app.domain.words.say import say
from examples.demo.act import Act, require, step
from examples.demo.orders import BATCH, PAYMENTS, SLICES

SMALL, SPLIT, TOGETHER, NEW = "2026-0121", "2026-0130", "2026-0140", "2026-0150"
ENOUGH = "一张发票请勿拆成五笔"
WRONG = "ABCD-2345"


class Amounts(Act):
    """Three requests; and what no request is made for."""

    async def tiers(self) -> None:
        """Pay small ones without anybody, until they come to too much together."""
        stage, slice_ = self._stage, PAYMENTS["slice"]
        wang, before = stage.visitors["wang"], len(stage.trail.requests())
        async with step("¥3,200 to a payee whom the register knows: a rule allows it, and nobody is asked"):
            stage.ask_agent(PAYMENTS["small"].order(SMALL, stage.language))
            await self._until_paid(SMALL)
            self._require_line(PAYMENTS["small"], SMALL)
        invoices = [f"{SPLIT}-{number}" for number in range(1, SLICES + 1)]
        async with step("¥48,000 to one payee, four times in a row: each is below the limit and goes by itself"):
            for invoice in invoices[:-1]:
                stage.ask_agent(slice_.order(invoice, stage.language))
                await self._until_paid(invoice)
                self._require_line(slice_, invoice)
            await stage.trail.fetch()
            require(len(stage.trail.requests()) == before, "nobody was asked until now")
        async with step("the fifth makes it ¥240,000: over the payee's budget, so people are asked; the cards say why"):
            request_id = await self._asked(slice_, invoices[-1])
            await self._on_both(request_id, "payee-day", "192,000", slice_.payee)
        async with step("王芳 denies it in Feishu, with a reason: it is not paid"):
            shown = await self._hands.press_feishu(wang, self._in_feishu(request_id), "deny", {"reason": ENOUGH})
            require(shown.kind not in {"error", "warning"}, f"the denial is recorded, not {shown}")
            await self._settled_as(request_id, "request.denied")
            await self._agent_says(ENOUGH)
            require(not self._paid_for(invoices[-1]), "a denied payment is not paid")
            await self._both_settled(request_id)

    async def batch(self) -> None:
        """Approve several payments by one click, and pay each once."""
        async with step(
            "three invoices in one call: each is below the limit, the total is not; one card has all of it"
        ):
            request_id = await self._asked(BATCH, TOGETHER)
            await self._on_both(request_id, f"{BATCH.total:,}", *(line.payee for line in BATCH.lines))
            await self._said(request_id, "batch.total", count=str(len(BATCH.lines)))
        async with step("Wang approves in Slack: each line is paid once, exactly as approved, under one approval"):
            await self._press_slack(request_id, "assent_approve")
            await self._settled_as(request_id, "execution.succeeded")
            lines = zip(BATCH.lines, BATCH.invoices(TOGETHER), strict=True)
            self._require_granted(request_id, *(self._require_line(line, invoice) for line, invoice in lines))
            await self._both_settled(request_id)

    async def stranger(self) -> None:
        """Pay somebody for the first time: it takes one level more."""
        stage, payment = self._stage, PAYMENTS["stranger"]
        wang = stage.visitors["wang"]
        async with step("¥90,000 to somebody whom nobody here has paid: the cards warn, and a click is not enough"):
            request_id = await self._asked(payment, NEW)
            await self._said(request_id, "caution.first_payee", payee=payment.payee)
            await self._said(request_id, "level.L2")
        async with step("王芳 types a wrong code in Feishu: refused, and it still waits"):
            typed = {"approve_typed": WRONG}
            shown = await self._hands.press_feishu(wang, self._in_feishu(request_id), "approve", typed)
            refused = say(stage.language, "click.wrong_code", left="2")
            require(refused in shown.text, f"she is told “{refused}”, but she saw {shown}")
            await self._settled_as(request_id, "click.refused")
            require(self._cards.live(request_id) == [True, True], "the cards still wait")
        async with step("she types the card's code in the form that Slack opens: approved, and paid once"):
            await self._press_slack(request_id, "assent_form_approve")
            await self._fill_in(wang, self._code(request_id))
            await self._settled_as(request_id, "execution.succeeded")
            self._require_granted(request_id, self._require_line(payment, NEW))
            await self._both_settled(request_id)

    async def _press_slack(self, request_id: str, action: str) -> None:
        shown = await self._hands.press_slack(self._stage.visitors["wang"], self._in_slack(request_id), action)
        require(shown.kind == "info", f"Slack takes the press of {action}, not {shown}")
