"""``python -m examples.screenshots``: redraw docs/images/demo-*.png from the running demo. Needs a Chromium."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from playwright.async_api import async_playwright, expect

from examples.demo.page import serve_page
from examples.demo.stage import ROOT, Stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

IMAGES = ROOT / "docs" / "images"
LAPTOP = (1280, 800)
PHONE = (390, 844)


def find_chromium() -> str | None:
    """Return the path of this machine's Chromium."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def has_chinese_font() -> bool:
    """Say whether Chinese is drawn as Chinese here: without such a font it is rows of boxes."""
    try:
        said = subprocess.run(["fc-list", ":lang=zh", "family"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return True  # nobody can tell
    return bool(said.stdout.strip())


@asynccontextmanager
async def open_page(url: str, size: tuple[int, int] = LAPTOP) -> AsyncIterator[Page]:
    """Open the demo's page in a fresh browser, and fail on whatever the page complains about."""
    complaints: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": size[0], "height": size[1]}, device_scale_factor=1.5)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
        await page.goto(url)
        try:
            yield page
        finally:
            await browser.close()
    if complaints:
        raise AssertionError(f"the page complained: {complaints}")


async def draw() -> None:
    """Play through the page as a person would, and take pictures on the way."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with Stage() as stage, serve_page(stage) as url, open_page(url) as page:
        feishu, slack = page.locator("#feishu"), page.locator("#slack")
        await expect(feishu.get_by_role("button", name="Approve", exact=True)).to_be_visible(timeout=20_000)
        await expect(slack.get_by_role("button", name="Approve", exact=True)).to_be_visible(timeout=20_000)
        await _shoot(page, "demo-waiting")
        await page.locator(".person", has_text="Mallory").click()
        await slack.get_by_role("button", name="Approve", exact=True).click()
        await page.locator("#slack-overlay").get_by_role("button", name="Approve", exact=True).click()
        await feishu.get_by_role("button", name="Approve", exact=True).click()
        await expect(page.locator("#feishu-toasts .toast")).to_be_visible()
        await expect(slack.locator(".sl-note")).to_be_visible()
        await _shoot(page, "demo-refused")
        await page.locator(".person", has_text="Wang Fang").click()
        await page.locator("#kill-gateway").click()
        await page.locator("#kill-agent").click()
        await expect(page.locator("#start-gateway")).to_be_visible()
        await feishu.get_by_role("button", name="Approve", exact=True).click()
        await expect(page.locator("#feishu-toasts .toast")).to_be_visible()
        await _shoot(page, "demo-killed")
        await page.locator("#start-gateway").click()
        await expect(page.locator(".machine.alive")).to_have_count(2, timeout=20_000)
        await feishu.get_by_role("button", name="Approve", exact=True).click()
        await expect(feishu.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
        await page.locator("#start-agent").click()
        await expect(page.locator("#ledger .paid")).to_have_count(1, timeout=20_000)
        await expect(page.locator("#trail .card-retired")).to_have_count(2, timeout=20_000)
        await expect(page.locator(".toast")).to_have_count(0)
        await _shoot(page, "demo-paid")
        await page.locator("#ask-large").click()
        await expect(slack.get_by_role("button", name="Deny")).to_be_visible(timeout=20_000)
        await slack.get_by_role("button", name="Deny").click()
        box = page.locator("#slack-overlay textarea")
        await box.fill("The delivery is short by two tons; ask for a new invoice.")
        await _shoot(page, "demo-deny-slack")
        await page.locator("#slack-overlay").get_by_role("button", name="Deny").click()
        await expect(page.locator("#trail .request-denied")).to_have_count(1, timeout=20_000)
        await expect(page.locator("#trail .card-retired")).to_have_count(4, timeout=20_000)
        async with open_page(url, PHONE) as phone:
            await phone.locator("#ask-large").click()
            await expect(phone.locator("#feishu").get_by_role("button", name="Approve", exact=True)).to_be_visible(
                timeout=20_000
            )
            await phone.evaluate("scrollTo(0, 0)")
            await _shoot(phone, "demo-phone")


async def _shoot(page: Page, name: str) -> None:
    await page.wait_for_timeout(700)  # the smooth scroll and the flash end
    await page.screenshot(path=IMAGES / f"{name}.png")
    print(f"docs/images/{name}.png")


if __name__ == "__main__":
    if find_chromium() is None:
        sys.exit("no Chromium here: apt-get install chromium")
    asyncio.run(draw())
