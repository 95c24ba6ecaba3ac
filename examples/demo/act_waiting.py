"""The acts about one large payment that waits: it survives every kill, it is denied, it expires."""

from __future__ import annotations

import asyncio

from app.domain.words.say import say
from examples.demo.act import STARTS_WITHIN, Act, require, step, until
from examples.demo.orders import PAYMENTS
from examples.scripted_model import explain

FIRST_INVOICE = "2026-0118"
QUESTION = "Why is this more than the order?"
REASON = "The delivery is short by two tons; ask for a new invoice."


class Waiting(Act):
    """Three requests; one of them is paid."""

    async def survives(self) -> None:
        """Request, kill, click, start: it runs exactly once."""
        stage, hands, cards = self._stage, self._hands, self._cards
        wang, mallory = stage.visitors["wang"], stage.visitors["mallory"]
        async with step("the gateway serves (a process of its own, on SQLite)"):
            await until("the gateway answers", stage.trail.fetch, within=STARTS_WITHIN)
        async with step("the agent asks; the call is on hold, and a card is in Feishu and in Slack"):
            request_id = await self._asked(PAYMENTS["large"], FIRST_INVOICE)
        feishu = self._in_feishu(request_id)
        async with step("Mallory, who is in both chats, presses Approve: refused, and it still waits"):
            shown = await hands.press_feishu(mallory, feishu, "approve")
            require(bool(shown.text) and shown.kind != "success", f"Mallory is refused, but she saw {shown}")
            await self._settled_as(request_id, "click.refused")
            require(cards.live(request_id) == [True, True], "the cards still wait")
        async with step("kill -9 the gateway, kill -9 the agent; the click of 王芳 finds nobody, Feishu says so"):
            await asyncio.gather(stage.gateway.kill(), stage.agent.kill())
            require(stage.gateway.pid is None and stage.agent.pid is None, "both are dead")
            shown = await hands.press_feishu(wang, feishu, "approve")
            require(shown.kind == "error", f"Feishu reports an error, not {shown}")
        async with step("the gateway starts again; 王芳 presses Approve while the agent is still dead"):
            await stage.gateway.start()
            await until("the gateway answers", stage.trail.fetch, within=STARTS_WITHIN)
            shown = await hands.press_feishu(wang, feishu, "approve")
            require(shown.kind == "success", f"the click is recorded, not {shown}")
            await self._settled_as(request_id, "request.approved")
            require(not stage.paid(), "nothing is paid without the agent")
        async with step("the agent starts again, finds its approved call, and pays: exactly once, exactly as approved"):
            await stage.agent.start()
            await self._settled_as(request_id, "execution.succeeded")
            self.require_paid_once(request_id)
        async with step("both cards are settled, without buttons"):
            await self._both_settled(request_id)
        async with step("the very same signed click arrives again, and the agent dies and starts again: one line"):
            reply = await stage.feishu.deliver(stage.feishu.last_delivery)
            require(reply.status == 200, f"a repeated click is answered, not {reply.status}")
            await stage.agent.kill()
            await stage.agent.start()
            await until("the agent is back", lambda: stage.agent_log()[-1]["who"] == "started")
            self.require_paid_once(request_id)

    async def denied(self) -> None:
        """Ask and be answered, then deny in Slack, through the modal; the agent is told why."""
        stage, hands, cards = self._stage, self._hands, self._cards
        wang = stage.visitors["wang"]
        async with step("the agent asks again; both cards are there"):
            request_id = await self._asked(PAYMENTS["large"], "2026-0119")
        slack = self._in_slack(request_id)
        async with step("Wang asks a question in Slack; the agent answers, and both cards say so; nothing is decided"):
            await stage.slack.use(wang.slack, stage.slack.room.id, slack, say(stage.language, "control.ask"))
            await self._fill_in(wang, QUESTION)
            await self._settled_as(request_id, "request.answered")
            await self._on_both(request_id, explain(QUESTION, {"invoice": "2026-0119"}))
            require(cards.live(request_id) == [True, True], "the cards still wait")
        async with step("Wang presses Deny; a modal asks why; she says why"):
            await hands.press_slack(wang, slack, "assent_deny")
            await self._fill_in(wang, REASON)
            await self._settled_as(request_id, "request.denied")
        async with step("the agent is told no, and why; it does not pay"):
            await self._agent_says(REASON)
            require(len(stage.paid()) == 1, "a denied payment is not paid")
        async with step("both cards are settled, the one in Feishu too"):
            await self._both_settled(request_id)

    async def expires(self) -> None:
        """Let a short deadline pass."""
        async with step("the agent asks; the rule gives ten seconds"):
            request_id = await self._asked(PAYMENTS["foreign"], "2026-0120")
        async with step("nobody answers: it expires, for silence is not consent; the agent is told"):
            await self._settled_as(request_id, "request.expired")
            await self._agent_says("silence is not consent")
            require(len(self._stage.paid()) == 1, "an expired payment is not paid")
        async with step("both cards are settled"):
            await self._both_settled(request_id)

    def require_paid_once(self, request_id: str) -> None:
        """The first payment was made once, exactly as approved, under its approval. Raises NotSoError."""
        self._require_granted(request_id, self._require_line(PAYMENTS["large"], FIRST_INVOICE))
