"""``python -m examples.gallery``: draw every card, in both languages and on both platforms, into docs/images/gallery.

Each card is as wide as on a phone.
The cards go through the stand-ins' own checks and are drawn by the demo's page, in a real browser. Needs a Chromium.
"""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import async_playwright

from app.domain.request.action import Action
from app.domain.text.language import Language
from app.ports import Click
from app.usecases.clicks.receive import approval_form
from channels.feishu.card import TEXT_BUDGET as FEISHU_BUDGET
from channels.feishu.card import render_content
from channels.feishu.simulator.cards import check_card
from channels.slack.card import TEXT_BUDGET as SLACK_BUDGET
from channels.slack.card import render
from channels.slack.details.forms import modal
from channels.slack.simulator.blocks import check_blocks, check_view
from examples.demo.words import words
from examples.gallery_assurance import assurance, assurance_forms
from examples.gallery_catalogue import ASKED_AT, PEOPLE, Exhibit, Pane, card_of, hostile, states
from examples.gallery_console import draw_console
from examples.gallery_consulting import consulting, modals
from examples.gallery_palette import draw_marks, take_picture
from examples.gallery_payments import payments
from examples.gallery_review import draw_pages
from examples.screenshots import find_chromium, has_chinese_font

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import Browser, Page, Route

    from app.domain.card.card import Card
    from app.domain.card.form import Form

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images" / "gallery"
_STATIC = ROOT / "examples" / "demo" / "static"
_ORIGIN = "http://gallery.localhost"
_WIDTH = 1736  # four columns, each as wide as a phone of 390
_SHEETS: dict[str, Callable[[Language], list[Exhibit]]] = {
    "states": states,
    "consulting": consulting,
    "hostile": hostile,
    "payments": payments,
    "assurance": assurance,
    "forms": lambda language: [*modals(language), *assurance_forms(language)],
}
_SLACK_ONLY = frozenset({"forms"})  # in Feishu, forms stand on a person's own card
_KINDS = {".css": "text/css", ".js": "text/javascript"}
_PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>gallery</title>
<link rel="stylesheet" href="/PLATFORM.css">
<style>
:root { --sans: system-ui, "Noto Sans", sans-serif; }
* { box-sizing: border-box; }
body { margin: 0; padding: 16px; background: #e9ebee; }
main { columns: 4; column-gap: 16px; }
figure { break-inside: avoid; margin: 0 0 16px; padding: 10px 12px 12px; border-radius: 8px; background: #fff; }
.feishu figure { background: #f5f6f7; }
#slack-overlay { position: static; padding: 0; background: none; }
select.sl-button.open { width: auto; height: auto; padding: 4px; text-align: left; font-weight: 400; }
.sl-dialog { border: 1px solid #ddd; box-shadow: none; }
figcaption { margin-bottom: 6px; color: #63676d; font: 600 12px/1.4 ui-monospace, monospace; }
</style></head><body class="PLATFORM"><main></main><div id="slack-overlay"></div>
<script type="module">
import * as platform from "/PLATFORM.js";
import { el } from "/dom.js";
import { setWords } from "/words.js";
const draw = platform.slackEntry ?? platform.feishuMessage;
const { people, exhibits, words } = await (await fetch("/entries")).json();
setWords(words);
const overlay = document.querySelector("#slack-overlay");
for (const { name, entry, view, menu_open } of exhibits) {
  let drawn;
  if (view) {
    platform.slackModal({ id: name, view, errors: {} }, () => "", people);
    drawn = overlay.firstElementChild;
    overlay.replaceChildren();
  } else drawn = draw(entry, () => "");
  document.querySelector("main").append(el("figure", {}, el("figcaption", {}, name), drawn));
  if (menu_open) for (const menu of drawn.querySelectorAll("select.sl-button")) {
    menu.options[0].remove();
    menu.size = menu.options.length;
    menu.selectedIndex = -1;
    menu.classList.add("open");
  }
}
overlay.remove();
document.activeElement.blur();
document.body.dataset.drawn = "yes";
</script></body></html>"""


def entries(platform: str, sheet: str, language: Language) -> dict[str, object]:
    """Return what the page draws: every exhibit as the platform has taken it. Raises what the stand-ins raise."""
    shown = _slack if platform == "slack" else _feishu
    return {
        "words": words(language),
        "people": [{"name": name, "slack": f"U{number}"} for number, name in enumerate(PEOPLE.values())],
        "exhibits": [{"name": exhibit.name, **shown(exhibit, language)} for exhibit in _SHEETS[sheet](language)],
    }


async def draw() -> None:
    """Draw one sheet for each platform and language."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-lcd-text"]
        )
        for platform, sheet, language in product(("slack", "feishu"), _SHEETS, Language):
            if platform == "slack" or sheet not in _SLACK_ONLY:
                page = await open_sheet(browser, platform, sheet, language)
                target = IMAGES / f"{platform}-{sheet}-{language}.png"
                target.write_bytes(await take_picture(page))
                _tell(target)
                await page.close()
        for picture in [*await draw_pages(browser, IMAGES), *await draw_console(browser, IMAGES)]:
            _tell(picture)
        await browser.close()


def _tell(picture: Path) -> None:
    print(f"{picture.relative_to(ROOT)}  {picture.stat().st_size // 1024} KB")


async def open_sheet(browser: Browser, platform: str, sheet: str, language: Language) -> Page:
    """Return the page of one sheet, drawn. Raises what the stand-ins raise, and where something is not drawn."""
    page = await browser.new_page(
        viewport={"width": _WIDTH, "height": 900}, timezone_id="Asia/Shanghai", locale=f"{language}"
    )

    async def answer(route: Route) -> None:
        name = route.request.url.removeprefix(f"{_ORIGIN}/")
        if name == "":
            await route.fulfill(body=_PAGE.replace("PLATFORM", platform), content_type="text/html")
        elif name == "entries":
            await route.fulfill(body=json.dumps(entries(platform, sheet, language)), content_type="application/json")
        elif (file := _STATIC / name).is_file():
            await route.fulfill(body=file.read_text(encoding="utf-8"), content_type=_KINDS[file.suffix])
        else:
            await route.abort()

    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await page.route("**/*", answer)
    await page.goto(f"{_ORIGIN}/")
    await page.locator("body[data-drawn]").wait_for(timeout=20_000)
    await draw_marks(page)
    if complaints or await page.locator(".unknown").count():
        raise AssertionError(f"the page does not draw everything: {complaints}")
    return page


def _slack(exhibit: Exhibit, language: Language) -> dict[str, object]:
    card = card_of(exhibit, Pane(name="slack", language=language, text_budget=SLACK_BUDGET, opens_forms=True))
    _, blocks = render(card)
    check_blocks(blocks)
    found = _form(card, exhibit.modal)
    if found is not None:
        view = modal(found[0], _click(found[1]))
        check_view(view)
        return {"view": view}
    entry = {"kind": "message", "ts": str(ASKED_AT.timestamp()), "versions": 1, "blocks": blocks, "text": ""}
    own = {"only_for": exhibit.person} if exhibit.person else {}
    return {"entry": {**entry, **own}, "menu_open": exhibit.menu_open}


def _form(card: Card, action: Action | None) -> tuple[Form, str] | None:
    """Return the form that a control of a card opens, and the control's token."""
    buttons = card.buttons
    if action is Action.APPROVE and buttons is not None and buttons.approve is not None and buttons.typed is not None:
        return approval_form(card, buttons.typed), buttons.approve
    control = next((each for each in card.controls if each.action is action), None)
    return (control.form, control.token) if control is not None and control.form is not None else None


def _click(token: str) -> Click:
    """Return the press that opens a modal; nothing of it can be seen there."""
    return Click(token=token, app_id="", tenant="", account_id="", chat_id="gallery", message_id="1", event_key="")


def _feishu(exhibit: Exhibit, language: Language) -> dict[str, object]:
    pane = Pane(name="feishu", language=language, text_budget=FEISHU_BUDGET, opens_forms=False)
    card = check_card(json.loads(render_content(card_of(exhibit, pane))))
    entry = {"key": exhibit.name, "created_at": ASKED_AT.isoformat(), "card": card, "own": exhibit.person}
    return {"entry": entry}


if __name__ == "__main__":
    if find_chromium() is None:
        sys.exit("no Chromium here: apt-get install chromium")
    if not has_chinese_font():
        sys.exit("no Chinese font here, half of the cards would be boxes: apt-get install fonts-noto-cjk")
    asyncio.run(draw())
