"""What readers trip over who see little, hear, or use keys alone, as axe finds it: its rules and its best practices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axe_playwright_python.async_playwright import Axe

from tests.fixtures.browsers import DESK, PHONE

if TYPE_CHECKING:
    from playwright.async_api import Page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_AXE = Axe()
_OPTIONS = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}


async def barriers_of(page: Page) -> list[str]:
    """Return what stands in somebody's way on a page as it is drawn now; nothing is in anybody's where it is empty."""
    found = (await _AXE.run(page, options=_OPTIONS)).response
    told: list[dict[str, Any]] = found["violations"]
    return [f"{each['id']}: {node['target']} {node['failureSummary']}" for each in told for node in each["nodes"]]


async def assert_no_barrier(page: Page, name: str) -> None:
    """Nothing is found on a phone in one face, as the page is drawn, and at a desk in the other, with all unfolded."""
    lang = await page.locator("html").get_attribute("lang")
    faces = ("light", "dark") if lang == "en" else ("dark", "light")  # so that both languages are seen in both
    for size, scheme in zip((PHONE, DESK), faces, strict=True):
        await page.set_viewport_size({"width": size["width"], "height": size["height"]})
        await page.emulate_media(color_scheme=scheme)  # pyright: ignore[reportArgumentType] - one of the two words
        found = await barriers_of(page)
        assert found == [], f"{name}, {lang}, {scheme}, {size['width']} px: {found}"
        await page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
