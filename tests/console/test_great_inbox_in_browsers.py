"""An inbox of thousands in a real browser: it opens as a small one does, and says that there are more."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from app.usecases.console.inbox import MOST_LOOKED, MOST_SHOWN
from tests.console.test_inbox import copies
from tests.fixtures.browsers import needs_chromium, seats
from tests.fixtures.second_factors import ALICE
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(300)]

ROWS = 10_000
SECONDS = 5.0  # on a busy machine of two cores, all the same with hundreds and with thousands
BUDGET = 60_000  # bytes of a page


@requirement("S-32")
async def test_an_inbox_of_thousands_opens_by_its_first_page_and_is_gone_through_by_the_keyboard(
    gateway: Gateway,
) -> None:
    first = await gateway.ask("by_api", {"note": "one of many"})
    for _ in range(ROWS // 100):
        await copies(gateway, first, 100)
    sessions = gateway.container.console.sessions
    async with seats(gateway) as served:
        page = await served.sit((await sessions.invite("acme", ALICE, by="cli")).url)
        began = time.monotonic()
        await page.locator("button.go").click()
        await expect(page.locator("a.row").first).to_be_visible()
        assert time.monotonic() - began < SECONDS
        answer = await page.request.get(f"{served.url}/")
        assert len(await answer.body()) <= BUDGET
        shown = await page.locator("a.row").count()
        assert 1 < shown <= MOST_SHOWN
        assert f"{MOST_LOOKED}+" in await page.title()  # how many more there are is said, and that it is not all
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        assert await page.evaluate("[...document.querySelectorAll('a.row')].indexOf(document.activeElement)") == 1
        await page.keyboard.press("k")
        assert await page.evaluate("[...document.querySelectorAll('a.row')].indexOf(document.activeElement)") == 0
        assert (
            await page.locator("[name=pick], input[type=checkbox]").count() <= MOST_SHOWN
        )  # nobody marks what is unseen
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/r/*")
        assert [each["n"] for each in gateway.rows("SELECT count(*) AS n FROM requests WHERE status = 'pending'")] == [
            ROWS + 1
        ]
