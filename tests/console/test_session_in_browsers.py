"""Allowing for a session in a real browser: read, held, allowed; and ended with one tap, on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from tests.fixtures.browsers import PHONE, needs_chromium, seats
from tests.fixtures.standing import PAY, approved, submit
from tests.requirements import requirement
from tests.usecases.permits.test_session_approvals import S1, asked, listed, session_acme

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(120)]


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(session_acme())
    return config


@requirement("S-26")
@pytest.mark.parametrize(
    ("locale", "opens", "holds", "says", "ends"),
    [
        ("en", "Allow for this session", "Hold to approve and allow", "Up to 3 more payments to", "End it now"),
        ("zh-CN", "本会话内允许", "按住以批准并允许", "付款最多 3 次", "立即终止"),
    ],
)
async def test_what_is_allowed_for_a_session_is_read_first_held_for_a_second_and_ended_with_one_tap(  # noqa: PLR0917
    gateway: Gateway, locale: str, opens: str, holds: str, says: str, ends: str
) -> None:
    request = await asked(gateway)
    async with seats(gateway) as served:
        page = await served.before(request, locale=locale)
        part = page.locator("details#session")
        await expect(part.locator("button")).to_be_hidden()  # nobody presses it by mistake
        await part.get_by_text(opens, exact=True).click()
        await expect(part).to_contain_text(says)
        button = part.locator("button")
        await expect(button).to_have_text(holds)
        await button.evaluate("it => it.scrollIntoView({block: 'center'})")
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide == PHONE["width"]
        bounds = await button.bounding_box()
        bar = await page.locator(".bar").bounding_box()
        assert bounds is not None
        assert bar is not None
        assert bounds["height"] >= 44
        assert bounds["y"] + bounds["height"] <= bar["y"]
        await button.hover()
        await page.mouse.down()
        end = page.get_by_role("button", name=ends)
        await expect(end).to_be_visible()
        await page.mouse.up()
        assert (await submit(gateway, "pay", {**PAY, "amount": "5"}, **S1))["decision"] == "allow"
        await page.reload()
        await expect(page.locator("main")).to_contain_text("1 / 3")
        assert len(await page.content()) < 60_000
        await end.click()
        await expect(end).to_have_count(0)
        assert [each["state"] for each in await listed(gateway)] == ["revoked"]


@requirement("S-26")
async def test_without_scripts_it_is_a_button_like_any_other(gateway: Gateway) -> None:
    request = await asked(gateway)
    async with seats(gateway) as served:
        page = await served.before(request, java_script_enabled=False)
        await page.locator("details#session > summary").click()
        await page.get_by_role("button", name="Approve, and allow for this session").click()
        await expect(page.get_by_role("button", name="End it now")).to_be_visible()
        await approved(gateway, "pay", {**PAY, "amount": "6"}, session="s-2")
        assert [each["state"] for each in await listed(gateway)] == ["active"]
