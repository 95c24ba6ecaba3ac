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
from examples.gallery_palette import draw_marks, shrink

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

IMAGES = ROOT / "docs" / "images"
LAPTOP = (1280, 800)
PHONE = (390, 844)
PATIENCE = 90_000  # milliseconds


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
        await _waits(page)
        await _survives(page)
        await _decided(page)
        async with open_page(url, PHONE) as phone:
            await expect(phone.locator("#feishu").get_by_role("button", name="Deny")).to_be_visible(timeout=PATIENCE)
            await phone.evaluate("scrollTo(0, 0)")
            await _shoot(phone, "demo-phone")


async def _everywhere(page: Page, name: str) -> None:
    """Wait until a button stands in both chats."""
    for chat in ("#feishu", "#slack"):
        button = page.locator(chat).get_by_role("button", name=name, exact=True)
        await expect(button).to_be_visible(timeout=PATIENCE)


async def _waits(page: Page) -> None:
    """Draw a payment that waits, in both languages, and a stranger's presses."""
    console = page.frame_locator("#console")
    await _everywhere(page, "Approve")
    await expect(console.locator("button.go")).to_be_visible(timeout=PATIENCE)
    await _shoot(page, "demo-waiting")
    await page.get_by_role("button", name="中文", exact=True).click()
    await _everywhere(page, "批准")
    await expect(console.locator("html[lang=zh-CN] button.go")).to_be_visible(timeout=PATIENCE)
    await _shoot(page, "demo-waiting-zh")
    await page.get_by_role("button", name="EN", exact=True).click()
    await _everywhere(page, "Approve")
    await page.locator(".person", has_text="Mallory").click()
    slack = page.locator("#slack")
    await slack.get_by_role("button", name="Approve", exact=True).click()
    await page.locator("#slack-overlay").get_by_role("button", name="Approve", exact=True).click()
    await page.locator("#feishu").get_by_role("button", name="Approve", exact=True).click()
    await expect(page.locator("#feishu-toasts .toast")).to_be_visible()
    await expect(slack.locator(".sl-note")).to_be_visible()
    await _shoot(page, "demo-refused")
    await page.locator(".person", has_text="Wang Fang").click()


async def _survives(page: Page) -> None:
    """Draw a click that finds nobody, and the payment after all."""
    approve = page.locator("#feishu").get_by_role("button", name="Approve", exact=True)
    await page.locator("#kill-gateway").click()
    await page.locator("#kill-agent").click()
    await expect(page.locator("#start-gateway")).to_be_visible()
    await approve.click()
    await expect(page.locator("#feishu-toasts .toast")).to_be_visible()
    await _shoot(page, "demo-killed")
    await page.locator("#start-gateway").click()
    await expect(page.locator(".machine.alive")).to_have_count(2, timeout=PATIENCE)
    await approve.click()
    await expect(approve).to_have_count(0)
    await page.locator("#start-agent").click()
    await expect(page.locator("#ledger .paid")).to_have_count(1, timeout=PATIENCE)
    await expect(page.locator("#trail .card-retired")).to_have_count(2, timeout=PATIENCE)
    await expect(page.locator(".toast")).to_have_count(0)
    await _shoot(page, "demo-paid")


async def _decided(page: Page) -> None:
    """Draw a denial with its reason, and what only the agent's owner decides."""
    deny = page.locator("#slack").get_by_role("button", name="Deny")
    await page.locator("#ask-large").click()
    await expect(deny).to_be_visible(timeout=PATIENCE)
    await deny.click()
    await page.locator("#slack-overlay textarea").fill("The delivery is short by two tons; ask for a new invoice.")
    await _shoot(page, "demo-deny-slack")
    await page.locator("#slack-overlay").get_by_role("button", name="Deny").click()
    await expect(page.locator("#trail .request-denied")).to_have_count(1, timeout=PATIENCE)
    await expect(page.locator("#trail .card-retired")).to_have_count(4, timeout=PATIENCE)
    await page.locator("#ask-alone").click()
    await page.locator(".person", has_text="Li Lei").click()
    await expect(page.frame_locator("#console").locator("#totp")).to_be_visible(timeout=PATIENCE)
    await _shoot(page, "demo-alone")


async def _shoot(page: Page, name: str) -> None:
    await page.wait_for_timeout(1_200)  # the smooth scroll and the flash end, the console is drawn
    await draw_marks(page)
    shot = await page.screenshot()
    if page.context.browser is None:
        raise AssertionError("a page without a browser")
    camera = await page.context.browser.new_page()  # which may read pictures; the demo's page may not
    target = IMAGES / f"{name}.png"
    target.write_bytes(await shrink(camera, shot))
    await camera.close()
    print(f"docs/images/{name}.png  {target.stat().st_size // 1024} KB")


if __name__ == "__main__":
    if find_chromium() is None:
        sys.exit("no Chromium here: apt-get install chromium")
    if not has_chinese_font():
        sys.exit("no Chinese font here: half of what is drawn would be boxes. apt-get install fonts-noto-cjk")
    asyncio.run(draw())
