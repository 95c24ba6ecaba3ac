"""``python -m examples.gallery``: draw every card, in both languages and on both platforms, into docs/images/gallery.

The cards go through the stand-ins' own checks and are drawn by the demo's page, in a real browser. Needs a Chromium.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import async_playwright

from app.domain.card import Language
from channels.feishu.card import TEXT_BUDGET as FEISHU_BUDGET
from channels.feishu.card import render_content
from channels.feishu.simulator_cards import check_card
from channels.slack.card import TEXT_BUDGET as SLACK_BUDGET
from channels.slack.card import render
from channels.slack.simulator_blocks import check_blocks
from examples.gallery_catalogue import ASKED_AT, Exhibit, card_of, exhibits
from examples.gallery_palette import take_picture
from examples.screenshots import find_chromium

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images" / "gallery"
_STATIC = ROOT / "examples" / "demo" / "static"
_ORIGIN = "http://gallery.localhost"
_WIDTH = {"slack": 1560, "feishu": 1500}
_KINDS = {".css": "text/css", ".js": "text/javascript"}
_PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>gallery</title>
<link rel="stylesheet" href="/PLATFORM.css">
<style>
:root { --sans: system-ui, "Noto Sans", sans-serif; }
* { box-sizing: border-box; }
body { margin: 0; padding: 16px; background: #e9ebee; }
main { columns: 3; column-gap: 16px; }
figure { break-inside: avoid; margin: 0 0 16px; padding: 10px 12px 12px; border-radius: 8px; background: #fff; }
.feishu figure { background: #f5f6f7; }
.fs-text.heading-2 { font-size: 20px; font-weight: 700; } .fs-text.heading-4 { font-size: 15px; font-weight: 600; }
.mark { display: inline-block; min-width: 1.1em; font-style: normal; font-weight: 700; }
figcaption { margin-bottom: 6px; color: #63676d; font: 600 12px/1.4 ui-monospace, monospace; }
</style></head><body class="PLATFORM"><main></main>
<script type="module">
import * as platform from "/PLATFORM.js";
import { el } from "/dom.js";
const draw = platform.slackEntry ?? platform.feishuMessage;
for (const { name, entry } of await (await fetch("/entries")).json())
  document.querySelector("main").append(el("figure", {}, el("figcaption", {}, name), draw(entry, () => "")));
// Not every machine has a font for emoji; their place is drawn, their text is what the platform was sent.
const MARKS = { "🟠": ["●", "#e8912d"], "✅": ["✔", "#1e8e5a"], "⛔": ["⊘", "#c8102e"], "❌": ["✘", "#c8102e"],
  "⌛": ["◔", "#6b6f76"], "⏳": ["◔", "#b46508"], "👥": ["⚇", "#3b5bdb"], "⚠️": ["⚠", "#c8102e"] };
const emoji = new RegExp(Object.keys(MARKS).join("|"), "u");
const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const found = emoji.exec(node.data);
  if (!found || node.parentNode.className === "mark") continue;
  const rest = node.splitText(found.index);
  rest.data = rest.data.slice(found[0].length);
  const [glyph, colour] = MARKS[found[0]];
  const mark = el("i", { class: "mark" }, glyph);
  mark.style.color = colour;
  rest.before(mark);
}
document.body.dataset.drawn = "yes";
</script></body></html>"""


def entries(platform: str, language: Language) -> list[dict[str, object]]:
    """Return what the page draws: every exhibit as the platform has taken it. Raises what the stand-ins raise."""
    return [
        {"name": exhibit.name, "entry": (_slack if platform == "slack" else _feishu)(exhibit, language)}
        for exhibit in exhibits(language)
    ]


async def draw() -> None:
    """Draw one sheet for each platform and language."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-lcd-text"]
        )
        for platform, width in _WIDTH.items():
            for language in Language:
                page = await browser.new_page(
                    viewport={"width": width, "height": 900}, timezone_id="Asia/Shanghai", locale=f"{language}"
                )
                await _draw_sheet(page, platform, language)
                await page.close()
        await browser.close()


async def _draw_sheet(page: Page, platform: str, language: Language) -> None:
    async def answer(route: Route) -> None:
        name = route.request.url.removeprefix(f"{_ORIGIN}/")
        if name == "":
            await route.fulfill(body=_PAGE.replace("PLATFORM", platform), content_type="text/html")
        elif name == "entries":
            await route.fulfill(body=json.dumps(entries(platform, language)), content_type="application/json")
        elif (file := _STATIC / name).is_file():
            await route.fulfill(body=file.read_text(encoding="utf-8"), content_type=_KINDS[file.suffix])
        else:
            await route.abort()

    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await page.route("**/*", answer)
    await page.goto(f"{_ORIGIN}/")
    await page.locator("body[data-drawn]").wait_for(timeout=20_000)
    if complaints or await page.locator(".unknown").count():
        raise AssertionError(f"the page does not draw everything: {complaints}")
    target = IMAGES / f"{platform}-{language}.png"
    target.write_bytes(await take_picture(page))
    print(f"{target.relative_to(ROOT)}  {target.stat().st_size // 1024} KB")


def _slack(exhibit: Exhibit, language: Language) -> dict[str, object]:
    _, blocks = render(card_of(exhibit, language, SLACK_BUDGET))
    check_blocks(blocks)
    return {"kind": "message", "ts": str(ASKED_AT.timestamp()), "versions": 1, "blocks": blocks, "text": ""}


def _feishu(exhibit: Exhibit, language: Language) -> dict[str, object]:
    card = check_card(json.loads(render_content(card_of(exhibit, language, FEISHU_BUDGET))))
    return {"key": exhibit.name, "created_at": ASKED_AT.isoformat(), "card": card}


if __name__ == "__main__":
    if find_chromium() is None:
        sys.exit("no Chromium here: apt-get install chromium")
    asyncio.run(draw())
