"""What a phone shows of a card without a touch, measured in a real browser over the gallery's own drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from playwright.async_api import async_playwright

from app.domain.text.language import Language
from examples.gallery import open_sheet
from examples.screenshots import find_chromium
from tests.requirements import requirement

if TYPE_CHECKING:
    from playwright.async_api import Browser

PHONE_SHOWS = 300
"""Pixels of a card, from its top, within which people must be able to decide."""

WARNED = (
    "new bank details, over a budget",
    "a first payee, out of hours",
    "perhaps a duplicate; denied before",
    "paused while it waits",
)

_MEASURE = """() => [...document.querySelectorAll("figure")].map((figure) => {
  const card = figure.querySelector(".fs-card, .sl-body");
  const author = card.querySelector(".sl-author");  // who posted it is no part of a card
  const top = author ? author.getBoundingClientRect().bottom : card.getBoundingClientRect().top;
  const below = (node) => Math.round(node.getBoundingClientRect().bottom - top);
  const said = ".fs-title, .fs-text, .fs-button, .sl-header, .sl-section p, .sl-context, .sl-button";
  const texts = [...card.querySelectorAll(said)];
  const lowest = (has) => texts.filter((each) => has(each.innerText)).map(below)[0] ?? null;
  const button = (names) => lowest((text) => names.includes(text.trim()));
  return {
    name: figure.querySelector("figcaption").innerText,
    amount: lowest((text) => /[¥$]?[0-9]{1,3},[0-9]{3}\\.[0-9]{2}/.test(text)),
    payee: lowest((text) => text.includes("Hengtong")),
    warning: texts.filter((each) => each.innerText.startsWith("⚠") && !each.matches(".fs-title"))
      .map(below)[0] ?? null,
    deadline: lowest((text) => text.includes("then not paid") || text.includes("到期不付款")),
    approve: button(["Approve", "批准"]),
    deny: button(["Deny", "拒绝"]),
    reopen: button(["Ask again", "重新发起"]),
  };
})"""


needs_chromium = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


async def measured(browser: Browser, platform: str, sheet: str, language: Language) -> dict[str, dict[str, int | None]]:
    page = await open_sheet(browser, platform, sheet, language)
    found = cast("list[dict[str, int | None]]", await page.evaluate(_MEASURE))
    await page.close()
    return {str(each["name"]): each for each in found}


@pytest.mark.heavy
@requirement("F-70")
@needs_chromium
@pytest.mark.process
@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("platform", ["slack", "feishu"])
async def test_a_phone_shows_all_that_deciding_takes_without_a_touch(platform: str, language: Language) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        states, payments, assurance = [
            await measured(browser, platform, sheet, language) for sheet in ("states", "payments", "assurance")
        ]
        await browser.close()
    asked = {**states, **payments, **assurance}
    for name in ("pending", "pending, one of two has agreed", "L2: something is typed", "a batch", *WARNED):
        seen = asked[name]
        warned = ["warning"] if name in WARNED else []
        order = [seen[each] for each in ("amount", "payee", *warned, "deadline", "deny")]
        found = [each for each in order if each is not None]
        assert found == sorted(found), (name, seen)
        assert len(found) == len(order), (name, seen)
        approve, deny = seen["approve"], seen["deny"]
        assert approve is not None, (name, seen)
        assert deny is not None, (name, seen)
        assert approve <= deny <= PHONE_SHOWS, (name, seen)
    again, approve = states["expired"]["reopen"], states["pending"]["approve"]
    assert again is not None
    assert approve is not None
    assert again - approve > PHONE_SHOWS  # a press that is on its way to Approve does not ask again
