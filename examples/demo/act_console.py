"""The acts in the console: a payment decided there in either language, and a call decided by the agent's owner."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from app.domain.text.language import Language
from app.domain.words.say import say
from examples.demo.act import Act, require, step, until
from examples.demo.orders import DROP, PAYMENTS

if TYPE_CHECKING:
    from examples.demo.stage import Visitor
    from examples.demo.visits import Seen

INVOICE, TABLE = "2026-0170", "2026-0180"
_PRESS = re.compile(r'name="press" value="([^"]+)"')


class InConsole(Act):
    """Two requests."""

    alone_as = ""
    """The request that one person decided alone."""

    async def decides(self) -> None:
        """Look at a payment and approve it in the console."""
        stage, payment = self._stage, PAYMENTS["large"]
        wang, mallory = stage.visitors["wang"], stage.visitors["mallory"]
        async with step("the agent asks; the console has it beside both chats, once a link has signed 王芳 in"):
            request_id = await self._asked(payment, INVOICE)
            page = await self._page(wang, request_id)
            require(f"¥{payment.amount:,}.00" in page.html, "her page says how much")
            require(payment.payee in page.html, "her page says to whom")
        async with step("Mallory is nobody to the gateway: no link for her, no page"):
            shown = await stage.visits.look(mallory, f"/r/{request_id}")
            require(shown.status == 401, f"she is not signed in, not {shown.status}")
            require(payment.payee not in shown.html, "she sees nothing of it")
        async with step("one switch: the file says zh, and both cards and the page speak Chinese while it waits"):
            await stage.speak(Language.ZH)
            await self._said(request_id, "headline.pending")
            page = await self._page(wang, request_id)
            require(say(Language.ZH, "approve") in page.html, "her page has a Chinese button")
        async with step("王芳 approves in the console: paid once, exactly as approved; both chats settle"):
            after = await self._press(wang, request_id, page)
            require(after.status == 200, f"her press counts, not {after.status}")
            await self._settled_as(request_id, "execution.succeeded")
            self._require_granted(request_id, self._require_line(payment, INVOICE))
            await self._both_settled(request_id)

    async def alone(self) -> None:
        """Let the one who owns the agent approve, who is alone: the rule says so, and takes a second factor for it."""
        stage, li = self._stage, self._stage.visitors["li"]
        async with step("the agent wants to drop a table; 李雷 owns the agent, and nobody else may decide"):
            request_id = self.alone_as = await self._asked(DROP, TABLE)
        async with step("in the console, without his app's six digits: refused; the wrong person does not even see it"):
            page = await self._page(li, request_id)
            code = self._code(request_id)
            refused = await self._press(li, request_id, page, typed=code)
            require(refused.status == 409, f"without a second factor nothing counts, not {refused.status}")
            stranger = await stage.visits.look(stage.visitors["wang"], f"/r/{request_id}")
            require(stranger.status == 403, f"finance has no say in it, not {stranger.status}")
        async with step("with the code and the six digits: approved, alone, and every card says so"):
            await until("his app shows a fresh code", lambda: stage.authenticators["li"].now()[0])
            digits = stage.authenticators["li"].now()[0]
            after = await self._press(li, request_id, await self._page(li, request_id), typed=code, totp=digits)
            require(after.status == 200, f"his press counts, not {after.status}")
            await self._settled_as(request_id, "execution.succeeded")
            await self._said(request_id, "voted.alone", person=li.name)

    async def _page(self, visitor: Visitor, request_id: str) -> Seen:
        seen = await self._stage.visits.look(visitor, f"/r/{request_id}")
        require(seen.status == 200, f"{visitor.name} sees the page of the request, not {seen.status}")
        return seen

    async def _press(self, visitor: Visitor, request_id: str, page: Seen, **fields: str) -> Seen:
        """Press Approve on a page, as its form says."""
        found = _PRESS.search(page.html)
        require(found is not None, "the page can be pressed")
        press = unescape(found[1]) if found else ""
        return await self._stage.visits.press(
            visitor, f"/r/{request_id}", {"press": press, "verdict": "approve", **fields}
        )
