"""The demo's page in a real browser: the console beside both chats, one language at a time, and nothing cut off."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from playwright.async_api import async_playwright, expect

from app.domain.text.language import Language
from examples.demo import bank
from examples.demo.act import until
from examples.demo.hands import Cards
from examples.demo.page import serve_page
from examples.demo.words import say
from examples.screenshots import find_chromium, open_page
from tests.examples.test_demo import needs_chromium, puts_a_database_up
from tests.fixtures.demo_stage import stage
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import FrameLocator, Page

    from examples.demo.stage import Stage

__all__ = ["stage"]

pytestmark = [pytest.mark.process, needs_chromium, puts_a_database_up, pytest.mark.timeout(240)]

PATIENCE = 90_000
SIZES = {"laptop": (1280, 800), "small laptop": (1024, 768), "tablet": (820, 1180), "phone": (390, 844)}
SIX_DIGITS = re.compile(r"^\d{3} \d{3}$")
APPROVE, DENY = {"en": "Approve", "zh": "批准"}, {"en": "Deny", "zh": "拒绝"}

# What sticks out of the window, of its own box, or of a box that hides what sticks out of it.
_CUT_OFF = """() => {
  const wrong = [];
  const name = (node) => `${node.id || node.className || node.tagName}: ${node.textContent.trim().slice(0, 40)}`;
  const shown = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility === "visible";
  const whole = document.documentElement.scrollWidth;
  if (whole > innerWidth) wrong.push(`the page is ${whole} wide`);
  const looked = ".top *, .now *, .chat-head *, .machine *, .ask, h2, .queue, .authenticator *, .said";
  for (const node of document.querySelectorAll(looked)) {
    if (!shown(node)) continue;
    const box = node.getBoundingClientRect();
    if (box.left < -1 || box.right > innerWidth + 1) wrong.push(`outside the window: ${name(node)}`);
    const { clientWidth: wide, clientHeight: high } = node;
    if (node.scrollWidth > wide + 1 && wide > 0) wrong.push(`wider than its box: ${name(node)}`);
    if (node.scrollHeight > high + 2 && high > 0) wrong.push(`higher than its box: ${name(node)}`);
    for (let outer = node.parentElement; outer; outer = outer.parentElement) {
      const around = outer.getBoundingClientRect();
      const hides = getComputedStyle(outer).overflowY !== "visible" && outer !== document.body;
      if (hides && box.bottom > around.bottom + 1) wrong.push(`cut off below: ${name(node)}`);
    }
  }
  for (const id of ["feishu", "slack", "log", "ledger", "trail"]) {
    const list = document.getElementById(id);
    if (list.scrollWidth > list.clientWidth + 1) wrong.push(`${id} is ${list.scrollWidth} wide of ${list.clientWidth}`);
  }
  const page = document.getElementById("console").contentDocument?.documentElement;
  if (page && page.scrollWidth > page.clientWidth + 1) wrong.push(`the console is ${page.scrollWidth} wide`);
  const banner = document.getElementById("now").getBoundingClientRect();
  const toast = document.querySelector(".toast")?.getBoundingClientRect();
  if (toast && innerWidth <= 1000 && toast.top < banner.bottom) wrong.push("a toast is under the banner");
  const first = document.querySelector("main").getBoundingClientRect();
  if (scrollY === 0 && first.top < banner.bottom - 1) wrong.push("the first pane is under the banner");
  return wrong;
}"""


def console(page: Page) -> FrameLocator:
    return page.frame_locator("#console")


async def waiting(page: Page, language: str = "en") -> None:
    """Wait until the newest request can be decided in all three places."""
    for place in (page.locator("#feishu"), page.locator("#slack"), console(page)):
        await expect(place.get_by_role("button", name=APPROVE[language], exact=True)).to_be_visible(timeout=PATIENCE)


async def be(page: Page, name: str) -> None:
    await page.locator(".person", has_text=name).click()


@pytest.mark.heavy
async def test_the_console_stands_beside_both_chats_and_a_press_there_settles_them(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        await waiting(page)
        await expect(console(page).locator(".amount")).to_have_text("¥80,000.00 CNY")
        await console(page).get_by_role("button", name="Approve", exact=True).click()

        await expect(page.locator("#ledger .paid")).to_contain_text("80,000 CNY", timeout=PATIENCE)
        for chat in ("#feishu", "#slack"):
            await expect(page.locator(chat).get_by_role("button")).to_have_count(0, timeout=PATIENCE)
        await expect(page.locator("#trail")).to_contain_text("王芳 Wang Fang approved on the console at L1")
        await expect(page.locator("#hint")).to_have_text(
            "Paid once, exactly as approved: CNY 80,000 → 恒通钢铁 Hengtong Steel. Every card is settled.",
            timeout=PATIENCE,
        )
        await expect(console(page).locator(".pill")).to_have_text("Done · approved", timeout=PATIENCE)
        await page.locator("#console-inbox").click()
        await expect(console(page).locator("main.inbox")).to_contain_text("Done", timeout=PATIENCE)
    assert len(stage.ledger.entries()) == 1


@pytest.mark.heavy
async def test_a_denial_in_the_console_takes_its_reason_to_the_agent(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        await waiting(page)
        await console(page).locator("summary", has_text="Deny").click()
        await console(page).locator("#reason").fill("The order was for half of it.")
        await page.wait_for_timeout(2500)  # the page is looked at again meanwhile: what is typed stays
        await console(page).locator("button.no").click()

        await expect(page.locator("#log")).to_contain_text("The order was for half of it.", timeout=PATIENCE)
        await expect(page.locator("#hint")).to_contain_text("This one was not paid")
    assert stage.paid() == []


@pytest.mark.heavy
async def test_it_opens_signed_in_in_a_tab_of_its_own_by_a_link_that_works_once(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        await waiting(page)
        async with page.context.expect_page() as opened:
            await page.locator("#console-tab").click()
        tab = await opened.value
        await tab.wait_for_url(f"{stage.url}/sign-in?t=*", timeout=PATIENCE)
        link = tab.url
        await tab.locator("button.go").click()
        await expect(tab.locator("main.inbox")).to_contain_text("恒通钢铁 Hengtong Steel", timeout=PATIENCE)

        again = httpx2.post(
            f"{stage.url}/sign-in", data={"t": link.partition("?t=")[2]}, headers={"Origin": stage.url}, trust_env=False
        )
        assert again.status_code == 401


async def test_the_gateways_pages_still_refuse_frames_and_what_is_drawn_runs_nothing(stage: Stage) -> None:
    served = httpx2.get(f"{stage.url}/", trust_env=False, timeout=HANGS)
    assert served.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in served.headers["content-security-policy"]
    seen = await stage.visits.look(stage.visitors["wang"], "/")
    assert (seen.status, "<script" in seen.html) == (200, False)
    assert "nonce" not in seen.html


async def test_the_page_looks_at_nothing_but_the_gateway(stage: Stage) -> None:
    async with serve_page(stage) as url, httpx2.AsyncClient(base_url=url, trust_env=False, timeout=HANGS) as client:
        for path in ("", "sign-in", "//evil.example/", "http://evil.example/", "/\\evil.example"):
            looked = await client.get("/console", params={"who": "wang", "path": path})
            act = {"act": "console", "who": "wang", "path": path, "fields": {}}
            pressed = await client.post("/act", json=act)
            assert (looked.status_code, pressed.status_code) == (400, 400), path
        stranger = await client.post("/act", json={"act": "link", "who": "mallory"})
    assert stranger.status_code == 400
    assert "mallory@acme.example is not under people" in stranger.json()["error"]


@pytest.mark.heavy
async def test_whoever_owns_the_agent_and_is_alone_decides_with_a_second_factor_and_nobody_else(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        await waiting(page)
        await console(page).get_by_role("button", name="Approve", exact=True).click()
        await page.locator("#ask-alone").click()
        await expect(page.locator("#hint")).to_contain_text("Li Lei is alone with this one", timeout=PATIENCE)
        # Finance has no say in it: her page is her inbox, not a refusal.
        await expect(console(page).locator("main.inbox")).to_be_visible(timeout=PATIENCE)
        await be(page, "Li Lei")
        await expect(page.locator("#hint")).to_contain_text("You own this agent and are alone with it")
        label = await console(page).locator("label[for=typed]").inner_text(timeout=PATIENCE)
        await console(page).locator("#typed").fill(label.rpartition(" ")[2])
        digits = page.locator("#totp-now")
        await expect(digits).to_have_text(SIX_DIGITS, timeout=40_000)
        await console(page).locator("#totp").fill(await digits.inner_text())
        await console(page).get_by_role("button", name="Approve", exact=True).click()

        await expect(page.locator("#trail")).to_contain_text("at L3, alone: it was their own", timeout=PATIENCE)
        await expect(page.locator("#hint")).to_contain_text("It ran, once, as approved", timeout=PATIENCE)
        await expect(page.locator("#feishu")).to_contain_text("alone: their own call", timeout=PATIENCE)
        await expect(digits).to_contain_text("used")


@pytest.mark.heavy
async def test_one_switch_changes_the_page_both_cards_and_the_console_while_it_waits(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        await waiting(page)
        await page.get_by_role("button", name="中文", exact=True).click()
        await waiting(page, "zh")
        for place in ("#feishu", "#slack"):
            await expect(page.locator(place)).not_to_contain_text("Approve", timeout=PATIENCE)
            await expect(page.locator(place)).to_contain_text("到期不付款")
        await expect(console(page).locator("html")).to_have_attribute("lang", "zh-CN", timeout=PATIENCE)
        await expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        for node in await page.locator("[data-t]").all():
            key = await node.get_attribute("data-t") or ""
            await expect(node).to_have_text(say(Language.ZH, key))
        await expect(page.locator("#hint")).to_have_text(say(Language.ZH, "wait"))
        await page.locator("#feishu").get_by_role("button", name="批准", exact=True).click()
        await expect(page.locator("#trail")).to_contain_text("通过 飞书 批准", timeout=PATIENCE)
        await page.locator("#ask-large").click()
        await expect(page.locator("#log")).to_contain_text("三月交付的钢材", timeout=PATIENCE)
        await page.get_by_role("button", name="EN", exact=True).click()
        await waiting(page)


# --- nothing is cut off -----------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Windows:
    """The same page in windows of every size, measured in each state."""

    pages: dict[str, Page]
    language: str

    @property
    def first(self) -> Page:
        return self.pages["laptop"]

    async def look(self, state: str, key: str, *, who: str = "Wang Fang", decides: bool = False) -> None:
        """Measure every window in a state, which is that of a sentence of the banner."""
        for page in self.pages.values():
            await be(page, who)
            await expect(page.locator("#now")).to_have_attribute("data-key", key, timeout=PATIENCE)
            if decides:
                await waiting(page, self.language)
        await self.first.wait_for_timeout(900)  # frames and smooth scrolls end; a browser tells nobody when
        for size, page in self.pages.items():
            assert await page.evaluate(_CUT_OFF) == [], (state, size, self.language)
            if decides and size != "phone":
                await self._decides_at_a_glance(page, (state, size, self.language))
        if decides:
            phone = self.pages["phone"]
            for button in await phone.locator(".top button, main button:visible").all():
                await button.click(trial=True)  # whole, and under nothing, once it is scrolled to
            await phone.evaluate("scrollTo(0, 0)")

    async def _decides_at_a_glance(self, page: Page, at: Any) -> None:
        """Approve and Deny are in sight in all three panes, without scrolling."""
        for pane in ("feishu", "slack", "console"):
            frame = await page.locator(f"#{pane}").bounding_box()
            inner = console(page) if pane == "console" else page.locator(f"#{pane}")
            deny = (
                inner.locator("summary") if pane == "console" else inner.get_by_role("button", name=DENY[self.language])
            )
            for button in (
                inner.get_by_role("button", name=APPROVE[self.language], exact=True).last,
                deny.filter(has_text=DENY[self.language]).last,
            ):
                box = await button.bounding_box()
                assert frame is not None, at
                assert box is not None, (pane, at)
                assert frame["y"] <= box["y"], (pane, at)
                assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 1, (pane, at)


@asynccontextmanager
async def windows(url: str, language: str) -> AsyncIterator[Windows]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        pages = {
            size: await browser.new_page(viewport={"width": width, "height": height})
            for size, (width, height) in SIZES.items()
        }
        for page in pages.values():
            await page.goto(url)
        yield Windows(pages=pages, language=language)
        await browser.close()


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", Language)
async def test_nothing_is_cut_off_or_under_the_banner_in_any_state_at_any_size(
    stage: Stage, language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank, "ANSWERS_AFTER", 600.0)  # not before the executor is killed, on a slow day either
    stage._besides = {"lease: 10s": "lease: 25s"}  # nor is its claim over before that
    stage._write_config()
    await stage.speak(language)
    async with serve_page(stage) as url, windows(url, language) as seen:
        page = seen.first
        await seen.look("waits", "wait", decides=True)
        await seen.look("waits, for a stranger", "wait.other", who="Mallory")
        await page.locator("#kill-gateway").click()
        await page.locator("#kill-agent").click()
        await seen.look("both killed", "wait.gateway")
        await page.locator("#start-gateway").click()
        await expect(page.locator(".machine.alive")).to_have_count(2, timeout=PATIENCE)
        await page.locator("#feishu").get_by_role("button", name=APPROVE[language], exact=True).click()
        await seen.look("approved, no agent", "approved.agent")
        await page.locator("#start-agent").click()
        await seen.look("paid", "paid")
        await page.locator("#ask-small").click()
        await seen.look("allowed", "allowed.paid")
        await page.locator("#ask-alone").click()
        await page.locator("#ask-stranger").click()
        await page.locator("#ask-split").click()
        await seen.look("alone, and orders wait", "wait.own", who="Li Lei")
        await be(page, "Wang Fang")
        await _deny(stage, "li")
        await seen.look("a new payee", "wait.L2")
        await _deny(stage, "wang")
        await seen.look("over a budget", "wait")
        await _deny(stage, "wang")
        await seen.look("denied", "denied")
        await page.locator("#ask-foreign").click()
        await seen.look("expired", "expired")
        asked = len(stage.trail.requests())
        await page.locator("#ask-wire").click()
        await until("the wire is asked for", lambda: len(stage.trail.requests()) > asked, within=HANGS)
        await waiting(page, language)
        pressed = await stage.feishu.press(stage.visitors["wang"].feishu, await _card_of_newest(stage), "approve")
        assert (pressed.toast or {}).get("type") == "success", pressed
        await expect(page.locator("#now")).to_have_attribute("data-key", "runs.booked", timeout=PATIENCE)
        await page.locator("#kill-executor").click()
        await seen.look("unknown", "unknown.dead")
        await page.locator("#start-executor").click()
        await seen.look("settled afterwards", "reconciled")


async def _card_of_newest(stage: Stage) -> str:
    """Wait until the newest request can be decided in both chats, and return its message in Feishu.

    The newest message may still be the card of the one before.
    """
    cards = Cards(stage)
    await until("its cards are there", lambda: cards.live(stage.trail.requests()[-1]) == [True, True], within=HANGS)
    return str((cards.feishu(stage.trail.requests()[-1]) or {})["message_id"])


async def _deny(stage: Stage, who: str) -> None:
    shown = await stage.feishu.deny(stage.visitors[who].feishu, await _card_of_newest(stage), "no")
    assert (shown.toast or {}).get("type") == "success", shown
