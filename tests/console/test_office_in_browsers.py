"""The pages beside the requests in a real browser: nothing is wider than a phone, and drawings are as they are said."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect

from tests.fixtures.browsers import DESK, PHONE, needs_chromium, seats
from tests.fixtures.second_factors import ALICE, OLGA, STEPS_UP

if TYPE_CHECKING:
    from playwright.async_api import Page

    from tests.fixtures.browsers import Seats
    from tests.fixtures.gateway import Gateway

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(120)]

ORDER = {"payee": "Hengtong Trading Co. Ltd", "amount": "80000.50", "currency": "CNY", "ref": "INV-2026-031"}
PICTURES = os.environ.get("PICTURES_TO")
"""A folder for pictures of what was looked at, for whoever wants to look as well."""


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(STEPS_UP.replace("org: acme\n", f"org: acme\nroles: {{admin: [{OLGA}]}}\n"))
    return config


async def an_operator(gateway: Gateway, served: Seats, who: str = OLGA, **how: Any) -> Page:
    """Sign somebody in who may open all of the pages."""
    page = await served.sit(**how)
    await page.goto((await gateway.container.console.sessions.invite("acme", who, by="cli")).url)
    await page.locator("button.go").click()
    await page.wait_for_url(served.url + "/")
    return page


async def a_story(gateway: Gateway) -> dict[str, Any]:
    """Ask, wait, approve, claim, and lose the outcome."""
    request = await gateway.ask("pay_L1", ORDER, requester="dave@acme.example")
    await gateway.advance(timedelta(minutes=12))
    await gateway.decide(request, who=ALICE)
    await gateway.advance(timedelta(seconds=40))
    await gateway.claim(request)
    await gateway.advance(timedelta(minutes=3))
    await gateway.report(request, "unknown")
    await gateway.advance(timedelta(minutes=7))
    return request


async def assert_nothing_sticks_out(page: Page, name: str) -> None:
    """Nothing is wider than the window, small or large, light or dark; and what is pressed is as large as a thumb."""
    for size, kind in ((PHONE, "phone"), (DESK, "desk")):
        await page.set_viewport_size({"width": size["width"], "height": size["height"]})
        assert await page.evaluate("document.documentElement.scrollWidth") == size["width"], (name, kind)
        for pressed in await page.locator("main button:visible, .pages a").all():
            bounds = await pressed.bounding_box()
            assert bounds is not None
            assert bounds["height"] >= 40, await pressed.text_content()
        if PICTURES:
            await page.screenshot(path=str(Path(PICTURES) / f"{name}-{kind}.png"), full_page=True)


async def test_a_story_is_drawn_to_scale_and_settled_by_evidence_in_both_languages(gateway: Gateway) -> None:
    request = await a_story(gateway)
    async with seats(gateway) as served:
        page = await an_operator(gateway, served, locale="zh-CN", color_scheme="dark")
        await page.goto(f"{served.url}/console/requests/{request['id']}")
        await expect(page.locator(".settle")).to_contain_text("是否执行尚不清楚")
        await assert_nothing_sticks_out(page, "story-zh")
        page = await an_operator(gateway, served)
        await page.goto(f"{served.url}/r/{request['id']}")
        await page.get_by_role("link", name="What happened, step by step").click()
        await assert_nothing_sticks_out(page, "story-en")
        lanes = await page.locator("svg.lanes").bounding_box()
        people, ran = page.locator("svg rect.waiting").first, page.locator("svg rect.lost")
        long, lost = await people.bounding_box(), await ran.bounding_box()
        assert lanes is not None
        assert long is not None
        assert lost is not None
        assert long["width"] / lost["width"] == pytest.approx(12 / 3, abs=0.2)  # to scale, with the line's own width
        assert lanes["x"] <= long["x"] < lost["x"] < lanes["x"] + lanes["width"]
        await page.locator("textarea").fill("statement of 12 March, line 7: it is there")
        await page.get_by_role("button", name="It ran", exact=True).click()
        await expect(page.locator(".pill")).to_have_text("Done · approved")
        await expect(page.locator(".settle")).to_have_count(0)
    assert (await gateway.read(request))["state"] == "succeeded"


async def test_the_trail_is_searched_and_verified_without_any_script_on_a_phone_and_at_a_desk(gateway: Gateway) -> None:
    request = await a_story(gateway)
    async with seats(gateway) as served:
        page = await an_operator(gateway, served, java_script_enabled=False)
        await page.get_by_role("link", name="Trail").click()
        await page.locator(".search > summary").click()
        await assert_nothing_sticks_out(page, "trail-en")
        await page.get_by_label("Payee").fill("hengtong")
        await page.get_by_label("Outcome").select_option("unknown")
        await page.get_by_role("button", name="Find").click()
        await expect(page.locator("a.row")).to_have_count(1)
        await page.get_by_label("Amount from").fill("80000.51")
        await page.get_by_role("button", name="Find").click()
        await expect(page.locator("main")).to_contain_text("Nothing was found")
        await page.get_by_role("link", name="outcome unknown").click()
        await page.locator("a.row").click()
        await expect(page.locator(".settle")).to_be_visible()
        await expect(page).to_have_url(f"{served.url}/console/requests/{request['id']}")
        page = await an_operator(gateway, served, locale="zh-CN")
        await page.goto(f"{served.url}/console/trail")
        await page.get_by_role("button", name="立即核验").click()
        await expect(page.locator("#verified")).to_contain_text("链条完整")
        await assert_nothing_sticks_out(page, "trail-zh")


async def test_the_pulse_draws_what_its_table_says_on_a_phone_and_at_a_desk(gateway: Gateway) -> None:
    await a_story(gateway)
    await gateway.ask("pay_L1", {**ORDER, "ref": "INV-2026-032"})
    async with seats(gateway) as served:
        for locale, scheme in (("en", "light"), ("zh-CN", "dark")):
            page = await an_operator(gateway, served, locale=locale, color_scheme=scheme)
            await page.goto(f"{served.url}/console/pulse")
            await assert_nothing_sticks_out(page, f"pulse-{locale[:2]}")
            await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
            cut = "[...document.querySelectorAll('.scroll')].map(each => each.scrollWidth - each.clientWidth)"
            assert max(await page.evaluate(cut)) <= 0, "no table is cut at the edge of a phone"
            heights = [(await each.bounding_box() or {})["height"] for each in await page.locator("svg rect").all()]
            assert heights == [pytest.approx(50, abs=1), pytest.approx(50, abs=1)]  # one waits, one is unknown
        await page.locator(".search > summary").click()
        await page.locator("#reason").fill("账目不符")
        await page.locator("[name=sure]").check()
        await page.get_by_role("button", name="全部暂停").click()
        await expect(page.locator(".notice")).to_contain_text("已暂停：全部")


async def test_rules_are_tried_and_a_file_is_judged_without_any_script_on_a_phone_and_at_a_desk(
    gateway: Gateway, tmp_path: Path
) -> None:
    await a_story(gateway)
    proposed = tmp_path / "proposed.yaml"
    running = (gateway.config / "acme.yaml").read_text()
    narrower = "tools: [pay_L1], when: args.payee != 'Hengtong Trading Co. Ltd', then: ask"
    proposed.write_text(running.replace("tools: [pay_L1], then: ask", narrower))
    async with seats(gateway) as served:
        page = await an_operator(gateway, served, java_script_enabled=False)
        await page.get_by_role("link", name="Rules").click()
        await page.locator("#try > summary").click()
        await page.get_by_label("Tool", exact=True).fill("pay_L4")
        await page.get_by_role("button", name="Show its form").click()
        await page.get_by_label("payee").fill("Hengtong")
        await page.get_by_label("amount").fill("80000.50")
        await page.get_by_label("currency").fill("CNY")
        await page.get_by_role("button", name="What would the rules say?").click()
        await expect(page.locator("#tried")).to_contain_text("ask people")
        await expect(page.locator("#tried")).to_contain_text("Asks 2 × finance: alice@acme.example")
        await assert_nothing_sticks_out(page, "rules-tried-en")
        page = await an_operator(gateway, served, locale="zh-CN", color_scheme="dark")
        await page.goto(f"{served.url}/console/rules")
        await page.locator("#replay > summary").click()
        await page.locator("#file").set_input_files(proposed)
        await page.get_by_role("button", name="重判").click()
        await expect(page.locator("#judged")).to_contain_text("结论会不同的调用")
        await assert_nothing_sticks_out(page, "rules-judged-zh")
