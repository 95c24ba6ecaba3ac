"""Nothing on any page stands in anybody's way: axe with its best practices, in both languages, light and dark."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect

from tests.console.barriers import assert_no_barrier, barriers_of
from tests.fixtures.browsers import needs_chromium, seats
from tests.fixtures.second_factors import ALICE, BOB, DAVE, LEVELS, OLGA, STEPS_UP, enrolled, invited
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page

    from tests.fixtures.browsers import Seats
    from tests.fixtures.gateway import Gateway

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(240)]

ORDER = {"payee": "Hengtong Trading Co. Ltd", "amount": "80000.50", "currency": "CNY", "ref": "INV-2026-031"}
BOTH = pytest.mark.parametrize("locale", ["en", "zh-CN"])


@pytest.fixture
def config(config: Path) -> Path:
    text = STEPS_UP.replace("org: acme\n", f"org: acme\nroles: {{admin: [{OLGA}]}}\n")
    day = "{id: day, per: agent, within: 1d, limit: {CNY: 900000, EUR: 9}}"
    (config / "acme.yaml").write_text(text.replace("payments: {", f"payments: {{budgets: [{day}], "))
    return config


async def order(gateway: Gateway, tool: str, ref: str, **changed: Any) -> dict[str, Any]:
    """Ask for a payment in somebody's name."""
    return await gateway.ask(
        tool, {**ORDER, "ref": ref, **changed}, requester=DAVE, claim="The monthly order of steel, as agreed."
    )


async def at_home(gateway: Gateway, served: Seats, who: str, locale: str) -> Page:
    """Sign somebody in, at the only browser that is open."""
    for each in served.browser.contexts:
        await each.close()
    page = await served.sit((await gateway.container.console.sessions.invite("acme", who, by="cli")).url, locale=locale)
    await page.locator("button.go").click()
    await page.wait_for_url(f"{served.url}/")
    return page


async def look(page: Page, address: str, name: str) -> None:
    """Go to a page and look at it."""
    await page.goto(address)
    await assert_no_barrier(page, name)


@BOTH
@requirement("S-29")
async def test_nobody_trips_on_the_page_of_a_request_at_any_level_and_in_any_state(
    gateway: Gateway, locale: str
) -> None:
    await enrolled(gateway, ALICE)
    pending = {level: await order(gateway, f"pay_{level}", level) for level in LEVELS}
    voted, denied, ran, lost = [await order(gateway, "pay_L1", ref) for ref in ("voted", "denied", "ran", "lost")]
    plain = await gateway.ask("by_api", {"note": "a line\n" * 400, "n": {"deep": [1, 2]}})
    staged = await gateway.ask("staged", {"what": "the contract"})
    await gateway.decide(denied, "deny")
    await gateway.decide(staged)
    for request, status in ((ran, "succeeded"), (lost, "unknown")):
        await gateway.decide(request)
        await gateway.claim(request, claim_id=request["id"])
        await gateway.report(request, status, claim_id=request["id"])
    await gateway.decide(voted)
    async with seats(gateway) as served:
        page = await at_home(gateway, served, ALICE, locale)
        for request in (*pending.values(), voted, denied, ran, lost, plain, staged):
            await look(page, f"{served.url}/r/{request['id']}", request["tool"])
        page = await at_home(gateway, served, DAVE, locale)  # asked for them: may read alone
        await look(page, f"{served.url}/r/{pending['L1']['id']}", "to read alone")
        page = await at_home(gateway, served, BOB, locale)
        await page.goto(f"{served.url}/r/{pending['L1']['id']}")
        await gateway.decide(pending["L1"], "deny")
        await page.locator(".deny > summary").click()
        await page.locator(".ready button").first.click()
        await expect(page.locator(".notice").first).to_be_visible()
        await assert_no_barrier(page, "somebody was faster")
        await gateway.advance(timedelta(hours=3))
        page = await at_home(gateway, served, BOB, locale)
        await look(page, f"{served.url}/r/{pending['L2']['id']}", "expired")


@BOTH
@requirement("S-29")
async def test_nobody_trips_at_the_doors_on_the_inbox_or_at_home(gateway: Gateway, locale: str) -> None:
    async with seats(gateway, host="localhost") as served:
        link = (await gateway.container.console.sessions.invite("acme", ALICE, by="cli")).url
        page = await served.sit(link, locale=locale)
        await assert_no_barrier(page, "the door of a link")
        await page.goto(f"{served.url}/sign-in")
        await assert_no_barrier(page, "the door")
        await page.goto(f"{served.url}/")
        await assert_no_barrier(page, "closed")
        page = await at_home(gateway, served, ALICE, locale)
        await assert_no_barrier(page, "the empty inbox")
        for number in range(3):
            await gateway.ask("by_api", {"n": number})
        for level in LEVELS:
            await order(gateway, f"pay_{level}", level)
        done = await order(gateway, "pay_L1", "done")
        await gateway.decide(done, who=ALICE)
        await look(page, f"{served.url}/", "the inbox")
        await page.goto(f"{served.url}/")
        await page.keyboard.press("?")
        await expect(page.locator("dialog")).to_be_visible()
        await assert_no_barrier(page, "the keys")
        await look(page, f"{served.url}/?list=done", "done")
        await look(page, f"{served.url}/me", "at home")
        await page.locator("#code").fill(await invited(gateway, ALICE))
        await page.locator("[formaction]").click()
        await expect(page.locator(".secret")).to_be_visible()
        await assert_no_barrier(page, "a secret")
        await look(page, f"{served.url}/console/trail", "not for you")
        served.complaints[:] = [each for each in served.complaints if "401" not in each and "403" not in each]


@BOTH
@requirement("S-29")
async def test_nobody_trips_on_the_pages_beside_the_requests(gateway: Gateway, locale: str) -> None:
    ran, lost = await order(gateway, "pay_L1", "ran"), await order(gateway, "pay_L1", "lost")
    for request, status in ((ran, "succeeded"), (lost, "unknown")):
        await gateway.decide(request)
        await gateway.advance(timedelta(minutes=3))
        await gateway.claim(request, claim_id=request["id"])
        await gateway.report(request, status, claim_id=request["id"])
    waits = await order(gateway, "pay_L4", "waits")
    async with seats(gateway) as served:
        page = await at_home(gateway, served, OLGA, locale)
        for request in (ran, lost, waits):
            await look(page, f"{served.url}/console/requests/{request['id']}", "story")
        await look(page, f"{served.url}/console/trail", "trail")
        await page.goto(f"{served.url}/console/trail")
        await page.locator("#verified button").click()
        await expect(page.locator("#verified .code")).to_be_visible()
        await expect(page.locator("#verified")).not_to_have_attribute("data-walks", "3000")
        await look(page, f"{served.url}/console/trail?payee=nobody", "nothing found")
        await look(page, f"{served.url}/console/trail?least=many", "a field that is no such thing")
        await look(page, f"{served.url}/console/pulse", "pulse")
        await page.goto(f"{served.url}/console/pulse")
        await page.locator("form[action$=test] button").first.click()
        await expect(page.locator("#test")).to_be_visible()
        await assert_no_barrier(page, "a test card")
        await page.locator("#reason").fill("the books do not agree")
        await page.locator("[name=sure]").check()
        await page.locator("form[action$=pause] button.plain").click()
        await expect(page.locator(".notice")).to_be_visible()
        await assert_no_barrier(page, "paused")
        await look(page, f"{served.url}/console/rules", "rules")
        await look(page, f"{served.url}/console/rules/proposed", "proposed rules")
        await look(page, f"{served.url}/console/rules?tool=pay_L4", "a call's form")
        await page.locator("form[action*='/rules/try'] button").click()
        await expect(page.locator("#tried")).to_be_visible()
        await assert_no_barrier(page, "a call that was tried")
        served.complaints[:] = [each for each in served.complaints if "400" not in each and "422" not in each]


@BOTH
@requirement("S-29")
async def test_nobody_trips_on_the_administrators_page(gateway: Gateway, locale: str) -> None:
    await gateway.key("agent:a-shop-with-a-rather-long-name")
    async with seats(gateway, host="localhost") as served:
        page = await at_home(gateway, served, OLGA, locale)
        await look(page, f"{served.url}/console/admin", "the administrators' page, who has no second factor")
        phone = await enrolled(gateway, OLGA)
        await enrolled(gateway, ALICE)
        await look(page, f"{served.url}/console/admin", "the administrators' page")
        await look(page, f"{served.url}/console/admin?q=nobody-of-this-name", "nobody found")
        await page.goto(f"{served.url}/console/admin?q=dave")
        await page.locator("details summary").first.click()
        await page.locator("[name=totp]").first.fill(phone.next(gateway))
        await page.locator("form[action$=invite] button").first.click()
        await expect(page.locator(".secret")).to_be_visible()
        await assert_no_barrier(page, "an invitation")


async def test_a_page_that_somebody_would_trip_on_is_found(gateway: Gateway) -> None:
    async with seats(gateway) as served:
        page = await at_home(gateway, served, ALICE, "en")
        await page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<input id=nameless>')")
        assert [each.partition(":")[0] for each in await barriers_of(page)] == ["label"]
