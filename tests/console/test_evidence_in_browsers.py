"""Evidence in a real browser: the picture is seen, and nothing of the agent's is fetched or run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from tests.console.test_evidence import HOSTILE
from tests.domain.exhibit_files import ALL
from tests.fixtures.browsers import needs_chromium, seats
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(120)]


@requirement("S-105")
async def test_a_browser_shows_the_picture_and_opens_nothing_by_itself(gateway: Gateway) -> None:
    request = await gateway.ask(evidence=[*ALL, *HOSTILE])
    async with seats(gateway) as served:
        page = await served.before(request)
        asked: list[str] = []
        page.on("request", lambda each: asked.append(each.url))
        await page.reload()
        picture = page.locator(".exhibits img")
        await picture.scroll_into_view_if_needed()
        await expect(picture).to_have_js_property("naturalWidth", 64)
        await page.locator("a.picture").click()
        await expect(page.locator(".exhibits img")).to_be_visible()
        assert {each.partition("//")[2].partition("/")[0] for each in asked} == {page.url.split("/")[2]}
        assert len(await page.content()) < 60_000
