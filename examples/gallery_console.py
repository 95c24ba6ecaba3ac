"""The console in the gallery: pages of the demo's own gateway after a short day, on a phone and a desk.

Each is in both languages, and one of each size is dark.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import httpx2

from app.domain.identity.api_key import Scope
from app.domain.text.language import Language
from examples.demo.orders import PAYMENTS, WIRE
from examples.demo.stage import OWNER, Stage
from examples.gallery_palette import draw_marks, shrink
from examples.scripted_model import DROP, PAY
from examples.scripted_model import WIRE as WIRE_TOOL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from playwright.async_api import Browser, Page

SIZES = {"phone": (390, 844), "desk": (1200, 900)}
WANG, LI = "wang@acme.example", OWNER
_LOCALES = {Language.EN: "en-GB", Language.ZH: "zh-CN"}
_PATIENCE_SECONDS = 40.0
CHEN = "chen@acme.example"
_BESIDES = {
    "roles: {auditor: [li@acme.example]}": f"roles: {{auditor: [{LI}], admin: [{CHEN}]}}",
    "groups:\n": f"  {CHEN}: {{name: 陈静 Chen Jing}}\ngroups:\n",
    "  - id: invoices\n": """\
  - id: deliveries
    tools: [oa__purchase_pay]
    when: 'args.invoice.startsWith("2026-02")'
    then: ask
    session: {lasts: 30m, uses: 5, each: {CNY: 100000}}
    reason: {en: "One of several deliveries", zh: 分批交付中的一批}
  - id: invoices
""",
}
"""What the gallery's gateway has besides the demo's: an administrator, and a rule that may be allowed for a session."""
OPENED = {"decide-session": "details#session"}
"""Of a page, the part that is opened and looked at."""
DARK = {"phone": "decide-warned", "desk": "pulse"}
"""Of each size, the page that is drawn dark as well."""


async def draw_console(browser: Browser, folder: Path) -> list[Path]:
    """Draw every page in every size; return the pictures. Raises AssertionError for one wider than its window."""
    drawn: list[Path] = []
    async with _day() as (stage, pages):
        for size, language, who in product(SIZES, Language, (WANG, LI, CHEN)):
            tab = await _signed_in(browser, stage, who, size, language)
            for name, path in pages[who].items():
                target = folder / f"console-{name}-{language}-{size}.png"
                drawn.append(await _draw(tab, f"{stage.url}{path}", target, opened=OPENED.get(name)))
            if language is Language.EN and DARK[size] in pages[who]:
                await tab.emulate_media(color_scheme="dark")
                target = folder / f"console-{DARK[size]}-{language}-{size}-dark.png"
                drawn.append(await _draw(tab, f"{stage.url}{pages[who][DARK[size]]}", target))
            await tab.context.close()
    return drawn


async def _draw(tab: Page, url: str, target: Path, *, opened: str | None = None) -> Path:
    await tab.goto(url)
    if opened is not None:
        await tab.locator(f"{opened} > summary").click()
        await tab.locator(opened).evaluate("it => it.scrollIntoView({block: 'center'})")
    wide = await tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wide > 0:
        raise AssertionError(f"{target.stem} is wider than its window, by {wide}")
    await draw_marks(tab)
    shot = await tab.screenshot(full_page=False)
    await tab.goto("about:blank")  # the camera reads the picture back, which the page's policy forbids
    target.write_bytes(await shrink(tab, shot))
    return target


async def _signed_in(browser: Browser, stage: Stage, who: str, size: str, language: Language) -> Page:
    width, height = SIZES[size]
    context = await browser.new_context(
        viewport={"width": width, "height": height}, locale=_LOCALES[language], color_scheme="light"
    )
    tab = await context.new_page()
    await tab.goto(await stage.beside.link(who))
    await tab.locator("button.go").click()
    await tab.wait_for_url(f"{stage.url}/")
    return tab


@asynccontextmanager
async def _day() -> AsyncIterator[tuple[Stage, dict[str, dict[str, str]]]]:
    """Put the demo up, let a few things happen and a few wait; give each reader's pages, by name."""
    async with Stage(besides=_BESIDES) as stage:
        await _until(stage.trail.fetch)
        await stage.agent.kill()  # what is asked for below would wait behind its own
        headers = {"Authorization": f"Bearer {stage.keys[Scope.AGENT]}"}
        async with httpx2.AsyncClient(base_url=stage.url, headers=headers, trust_env=False, timeout=20) as agent:
            ask = partial(_ask, stage, agent)
            told = await ask(PAY, _pay("large", "2026-0112"))
            await stage.feishu.press(stage.visitors["wang"].feishu, _message(stage, told), "approve")
            (await agent.get(f"/v1/requests/{told}?wait=5&claim_id=once")).raise_for_status()
            outcome = {"claim_id": "once", "status": "succeeded", "result": {"receipt": "A-0001"}}
            (await agent.post(f"/v1/requests/{told}/outcome", json=outcome)).raise_for_status()
            denied = await ask(PAY, _pay("stranger", "2026-0113", amount=72_000))
            await stage.feishu.deny(stage.visitors["wang"].feishu, _message(stage, denied), "The offer was lower.")
            first, warned = await ask(PAY, _pay("large", "2026-0118")), await ask(PAY, _pay("stranger", "2026-0119"))
            await ask(WIRE_TOOL, {"payee": WIRE.payee, "amount": "120000.00", "currency": "CNY", "reference": "2026-9"})
            again = await ask(PAY, _pay("large", "2026-0201", amount=36_000), session="spring-deliveries")
            alone = await ask(DROP, {"table": "staging_0120"})
            await stage.trail.fetch()
            yield (
                stage,
                {
                    WANG: {
                        "decide-l1": f"/r/{first}",
                        "decide-warned": f"/r/{warned}",
                        "decide-session": f"/r/{again}",
                        "inbox": "/",
                    },
                    LI: {
                        "decide-l3": f"/r/{alone}",
                        "story": f"/console/requests/{told}",
                        "trail": "/console/trail",
                        "pulse": "/console/pulse",
                        "rules": "/console/rules",
                    },
                    CHEN: {"admin": "/console/admin"},
                },
            )


def _pay(key: str, invoice: str, *, amount: int = 0) -> dict[str, Any]:
    payment = PAYMENTS[key]
    return {
        "payee": payment.payee, "amount": amount or payment.amount, "currency": payment.currency, "invoice": invoice,
        "bank_account": payment.account,
    }  # fmt: skip


async def _ask(
    stage: Stage, agent: httpx2.AsyncClient, tool: str, arguments: dict[str, Any], *, session: str | None = None
) -> str:
    """Ask as the agent does, and wait until the card is in the chat."""
    answer = await agent.post("/v1/requests", json={"tool": tool, "arguments": arguments, "session": session})
    answer.raise_for_status()
    request_id = cast("str", answer.json()["request"]["id"])

    async def posted() -> bool:
        await stage.trail.fetch()
        return len(stage.trail.of(request_id, "card.posted")) == 2

    await _until(posted)
    return request_id


def _message(stage: Stage, request_id: str) -> str:
    return next(str(each["message_id"]) for each in stage.feishu.view(stage.chat) if request_id in str(each))


async def _until(so: Any) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not await so():  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(0.1)
