"""The page in real browsers: a phone, a desk, without scripts, by the keyboard alone, two people at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect

from tests.fixtures.browsers import DESK, PHONE, needs_chromium, seats
from tests.fixtures.second_factors import ALICE, BOB, LEVELS, STEPS_UP, enrolled
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Locator, Page, Route

    from tests.fixtures.gateway import Gateway

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(120)]

TABLET = {"width": 820, "height": 1180}
ORDER = {"payee": "Hengtong Trading Co. Ltd", "amount": "80000.50", "currency": "CNY", "ref": "INV-2026-031"}


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(STEPS_UP)
    return config


async def order(gateway: Gateway, level: str, **changed: str) -> dict[str, Any]:
    """Ask for an ordinary payment at a level."""
    more = {"requester": "dave@acme.example", "claim": "The monthly order of steel, as agreed."}
    return await gateway.ask(f"pay_{level}", {**ORDER, **changed}, **more)


async def box(found: Locator) -> dict[str, float]:
    """Return where something stands."""
    bounds = await found.bounding_box()
    assert bounds is not None
    x, y, width, height = bounds["x"], bounds["y"], bounds["width"], bounds["height"]
    return {"x": x, "y": y, "height": height, "right": x + width, "bottom": y + height}


async def assert_on_one_screen(page: Page, size: dict[str, int]) -> None:
    """Nothing needs scrolling: all that is told and all that is pressed is inside the window, and nothing overlaps."""
    tall, wide = await page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
    assert (tall, wide) == (size["height"], size["width"])
    last, bar = await box(page.locator("details.part").last), await box(page.locator(".bar"))
    assert last["bottom"] <= bar["y"]
    deny, go = await box(page.locator(".deny > summary")), await box(page.locator("button.go"))
    assert deny["right"] + 16 <= go["x"]  # Deny left, Approve right, apart
    assert min(deny["height"], go["height"]) >= 44
    assert max(deny["bottom"], go["bottom"]) <= size["height"]
    sizes: dict[str, float] = await page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('body *')].filter(e => e.innerText && e.checkVisibility())"
        ".map(e => [e.className || e.tagName, parseFloat(getComputedStyle(e).fontSize)]))"
    )
    assert max(sizes, key=lambda name: sizes[name]).startswith("amount")  # the largest thing


@requirement("S-13")
async def test_an_ordinary_payment_fits_on_one_screen_at_every_level_in_both_languages_light_and_dark(
    gateway: Gateway,
) -> None:
    await enrolled(gateway)
    requests = {level: await order(gateway, level) for level in LEVELS}
    async with seats(gateway) as served:
        for level, request in requests.items():
            locale, scheme = ("en", "light") if level in {"L1", "L4"} else ("zh-CN", "dark")
            page = await served.before(request, locale=locale, color_scheme=scheme)
            await assert_on_one_screen(page, PHONE)
            assert await page.locator("html").get_attribute("lang") == locale
            ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, ground[4:-1].split(","))) > 400) is (scheme == "light")
            assert len(await page.content()) < 60_000
            for told in ("¥80,000.50", ORDER["payee"], "INV-2026-031", "dave@acme.example"):
                await expect(page.locator("article")).to_contain_text(told)
            await page.set_viewport_size({"width": DESK["width"], "height": DESK["height"]})
            await assert_on_one_screen(page, DESK)
        page = await served.before(requests["L1"])
        await expect(page.locator(".clock")).to_contain_text("left · then not paid")
        await page.get_by_role("link", name="中文").click()
        await expect(page.locator(".clock")).to_contain_text("到期不付款")
        await page.goto(page.url.partition("?")[0])
        await expect(page.locator(".clock")).to_contain_text("到期不付款")  # it is remembered


@requirement("S-22", "S-39")
async def test_approve_is_held_for_a_second_and_of_two_people_the_slower_is_told_who_was_faster(
    gateway: Gateway,
) -> None:
    request = await order(gateway, "L1")
    async with seats(gateway) as served:
        first, second = await served.before(request), await served.before(request, who=BOB)
        go = first.locator("button.go")
        await expect(go).to_have_text("Hold: approve anyway")
        at_once = "b => ['pointerdown', 'pointerup'].map(kind => b.dispatchEvent(new PointerEvent(kind, {button: 0})))"
        await go.evaluate(at_once)  # too short
        await expect(go).to_have_text("Hold: approve anyway")
        assert (await gateway.read(request))["status"] == "pending"
        await go.hover()
        await first.mouse.down()
        await expect(first.locator(".pill")).to_have_text("Approved")
        await first.mouse.up()
        await expect(first.locator("article")).to_contain_text("Approved by Alice")
        await expect(second.locator("#moved")).to_be_visible()  # nothing moved under the finger
        await second.locator(".deny > summary").click()
        await second.get_by_role("button", name="Wrong amount").click()
        await expect(second.locator(".notice").first).to_contain_text("Somebody was faster: ✅ Approved by Alice")
        await expect(second.locator("button")).to_have_count(0)
        await gateway.claim(request)
        await gateway.report(request)
        await expect(second.locator(".pill")).to_have_text("Done · approved")  # by itself
    assert (await gateway.read(request))["state"] == "succeeded"


@requirement("S-29")
async def test_it_is_decided_by_the_keyboard_alone_and_without_any_script(gateway: Gateway) -> None:
    phone = await enrolled(gateway, ALICE)
    by_keys, without = await order(gateway, "L3"), await order(gateway, "L1", ref="INV-2026-032")
    async with seats(gateway) as served:
        page = await served.before(by_keys)
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")  # to the decision
        for text in ("80,000.50", phone.next(gateway)):
            await page.keyboard.press("Tab")
            await page.keyboard.type(text)
        await page.keyboard.press("Enter")
        await expect(page.locator(".pill")).to_have_text("Approved")
        page = await served.before(without, java_script_enabled=False)
        await expect(page.locator("button.go")).to_have_text("Approve anyway")  # warned: nobody has paid them before
        for summary in await page.locator("details.part > summary").all():
            await summary.click()
        await expect(page.get_by_text("The monthly order of steel, as agreed.")).to_be_visible()
        await page.locator(".deny > summary").click()
        await expect(page.locator("button.go")).to_be_hidden()  # one thing at a time
        await page.locator("#reason").fill("No order of ours")
        await page.get_by_role("button", name="Deny with this reason").click()
        await expect(page.locator("article")).to_contain_text("“No order of ours”")
    assert [(await gateway.read(each))["status"] for each in (by_keys, without)] == ["approved", "denied"]


@requirement("S-15", "S-39")
async def test_a_page_is_in_no_frame_and_its_link_opens_nothing_twice(gateway: Gateway) -> None:
    request = await order(gateway, "L1")
    async with seats(gateway) as served:
        page = await served.before(request)
        said = await gateway.call("POST", f"/v1/requests/{request['id']}/review-link", {}, who=ALICE)
        again = await served.sit(said.json()["url"])
        await again.locator("button.go").click()
        await again.wait_for_url("**/r/*")
        served.complaints.clear()
        await again.goto(said.json()["url"])
        await again.locator("button.go").click()
        await expect(again.locator("h1")).to_have_text("This link does not work")
        await page.evaluate("document.body.append(document.createElement('iframe'))")
        framed = await page.evaluate(
            "new Promise(done => { const frame = document.querySelector('iframe');"
            " frame.onload = () => done(!!frame.contentDocument && !!frame.contentDocument.querySelector('article'));"
            " frame.src = location.href; setTimeout(() => done(false), 3000); })"
        )
        assert framed is False
        await page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned=1\">')")
        assert await page.evaluate("window.pwned") is None
        served.complaints.clear()  # the policy has said all of this to the console


async def test_the_inbox_is_gone_through_by_the_keyboard_and_fits_a_phone_with_nothing_and_with_much(
    gateway: Gateway,
) -> None:
    sessions = gateway.container.console.sessions
    async with seats(gateway) as served:
        page = await served.sit((await sessions.invite("acme", ALICE, by="cli")).url)
        await page.locator("button.go").click()
        await expect(page.locator(".empty")).to_contain_text("Nothing waits for you.")
        level_of = {(await order(gateway, level, ref=level))["id"]: level for level in LEVELS}
        await page.reload()
        await expect(page).to_have_title("(4) Requests · Assent")
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        for row in await page.locator("a.row").all():
            assert (await box(row))["height"] >= 44
        for key in ("j", "j", "k", "j", "Enter"):
            await page.keyboard.press(key)
        await page.wait_for_url("**/r/*")
        [second] = [id_ for id_ in level_of if id_ in page.url]
        await expect(page.locator(".clock")).to_contain_text("left")
        await page.get_by_role("link", name="All requests").click()
        rows = page.locator("a.row")
        await expect(rows.nth(1)).to_have_attribute("href", f"/r/{second}")
        without = await served.sit(java_script_enabled=False, viewport=DESK, locale="zh-CN")
        await without.goto((await sessions.invite("acme", BOB, by="cli")).url)
        await without.locator("button.go").click()
        await expect(without.locator("h1")).to_contain_text("待您决定")
        await without.get_by_role("button", name="在所有设备上退出").click()
        await expect(without.locator("h1")).to_have_text("您尚未登录")
        served.complaints.clear()  # that page is a 401


@requirement("S-29")
async def test_a_tablet_and_a_page_at_two_hundred_per_cent_show_all_of_it_and_the_bar_can_be_reached(
    gateway: Gateway,
) -> None:
    await enrolled(gateway)
    ordinary, typed = await order(gateway, "L1"), await order(gateway, "L3")
    async with seats(gateway) as served:
        for request in (ordinary, typed):
            page = await served.before(request, viewport=TABLET)
            await assert_on_one_screen(page, TABLET)
            for width in (PHONE["width"] // 2, DESK["width"] // 2):  # what is left of a window at 200 %
                await page.set_viewport_size({"width": width, "height": 400})
                await assert_all_can_be_reached(page, width)


async def assert_all_can_be_reached(page: Page, width: int) -> None:
    """Nothing hangs over the side, and the bar hides nothing for good."""
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    for each in ("button.go", ".deny > summary"):
        await page.locator(each).scroll_into_view_if_needed()
        found = await box(page.locator(each))
        assert 0 <= found["x"] < found["right"] <= width
    await page.locator("details.part").last.scroll_into_view_if_needed()
    last, bar = await box(page.locator("details.part").last), await box(page.locator(".bar"))
    assert last["y"] < bar["y"]


@requirement("S-22")
async def test_a_press_whose_answer_is_lost_counts_once_and_the_page_says_what_stands_when_the_gateway_is_back(
    gateway: Gateway,
) -> None:
    lost, unsent = await order(gateway, "L1"), await order(gateway, "L1", ref="INV-2026-032")

    async def without_answer(route: Route) -> None:
        if route.request.method == "POST" and lost["id"] in route.request.url:
            await route.fetch(max_redirects=0)  # it arrives and is recorded; then the gateway is gone
        await route.abort("connectionreset")

    async with seats(gateway) as served:
        for request in (lost, unsent):
            page = await served.before(request, java_script_enabled=False)
            await page.route("**/r/*", without_answer)
            async with page.expect_event("requestfailed"):
                await page.locator("button.go").click(no_wait_after=True)
            await page.unroute("**/r/*")
            await page.goto(f"{served.url}/r/{request['id']}")
            if request is unsent:  # nothing arrived: it is pressed again
                await page.locator("button.go").click()
            await expect(page.locator(".pill")).to_have_text("Approved")
        served.complaints.clear()  # the browser has said that it lost the gateway
    for request in (lost, unsent):
        assert [kind for kind, _ in gateway.trail(request)].count("request.approved") == 1
