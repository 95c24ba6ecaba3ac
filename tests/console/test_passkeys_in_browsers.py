"""Passkeys in a real browser with a virtual device: made, approved with, signed in with, refused by the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect
from pyotp import TOTP

from tests.fixtures.browsers import PHONE, needs_chromium, seats
from tests.fixtures.second_factors import ALICE, STEPS_UP, invited
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import CDPSession, Page

    from tests.fixtures.browsers import Seats
    from tests.fixtures.gateway import Gateway

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(120)]

ORDER = {"payee": "Hengtong Trading Co. Ltd", "amount": "80000.50", "currency": "CNY", "ref": "INV-2026-031"}


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(STEPS_UP)
    return config


async def device_of(page: Page) -> tuple[CDPSession, str]:
    """Give a browser a device that knows its person."""
    wire = await page.context.new_cdp_session(page)
    await wire.send("WebAuthn.enable")
    made: dict[str, Any] = await wire.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
                     "isUserVerified": True, "automaticPresenceSimulation": True}},
    )  # fmt: skip
    return wire, made["authenticatorId"]


async def arrived(served: Seats, **how: Any) -> Page:
    """Sign a person in by a link, at a phone."""
    way = await served.gateway.container.console.sessions.invite("acme", ALICE, by="cli")
    page = await served.sit(way.url, **how)
    await page.locator("button.go").click()
    await page.wait_for_url(f"{served.url}/")
    return page


async def fits(page: Page) -> None:
    """Nothing hangs over the side."""
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@requirement("S-29", "S-85")
async def test_l3_is_approved_on_a_phone_with_a_passkey_that_was_made_there_and_signs_in_next_time(
    gateway: Gateway,
) -> None:
    request = await gateway.ask("pay_L3", ORDER, requester="dave@acme.example")
    async with seats(gateway, host="localhost") as served:
        page = await arrived(served)
        wire, device = await device_of(page)
        await page.get_by_role("link", name="Alice", exact=True).click()
        await fits(page)
        await page.get_by_label("The invitation's code").fill("WRONG-CODE")
        await page.get_by_role("button", name="Make a passkey").click()
        await expect(page.get_by_role("alert")).to_contain_text("not your invitation")
        await page.get_by_label("The invitation's code").fill(await invited(gateway, ALICE))
        await page.get_by_role("button", name="Make a passkey").click()
        await expect(page.get_by_role("alert")).to_contain_text("counts from now on")

        await page.goto(f"{served.url}/r/{request['id']}")
        await fits(page)
        await page.get_by_label("Amount, or").fill("80000.50")
        await wire.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
        await page.locator("button.go").click()
        await expect(page.locator("#told")).to_contain_text("did not confirm")
        await wire.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": True})
        await page.locator("button.go").click()
        await expect(page.locator(".pill")).to_contain_text("Approved")
        assert (await gateway.read(request))["state"] == "approved"

        await page.context.clear_cookies()
        await page.goto(f"{served.url}/sign-in")
        await fits(page)
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await page.wait_for_url(f"{served.url}/")
        await expect(page.locator("h1")).to_contain_text("To decide")
        served.complaints[:] = [each for each in served.complaints if "401" not in each]


async def test_an_app_is_set_up_on_the_page_which_shows_its_secret_once_in_chinese(gateway: Gateway) -> None:
    async with seats(gateway, host="localhost") as served:
        page = await arrived(served, locale="zh-CN", color_scheme="dark")
        await page.goto(f"{served.url}/me")
        await page.get_by_label("邀请码").fill(await invited(gateway, ALICE))
        await page.get_by_role("button", name="使用身份验证器应用").click()
        secret = await page.locator(".secret").inner_text()
        picture, squares = [await page.locator(each).bounding_box() for each in (".qr svg", ".qr path.qrline")]
        assert picture is not None
        assert squares is not None
        assert squares["width"] > 0.7 * picture["width"] > 150  # large enough for a camera
        await fits(page)
        await page.get_by_label("应用显示的六位数字").fill(TOTP(secret).at(gateway.clock.now()))
        await page.get_by_role("button", name="开始使用").click()
        await expect(page.get_by_role("alert")).to_contain_text("现已生效")
        assert secret not in await page.content()
