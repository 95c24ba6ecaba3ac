"""The pulse says of each channel what does not work: also that it could not look everybody up, or was never built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.console.test_office import in_office
from tests.console.test_signed_in import OLGA
from tests.fixtures.review_visits import with_url
from tests.fixtures.second_factors import STEPS_UP

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(STEPS_UP)
    return with_url(config)


async def test_the_pulse_says_whose_people_could_not_all_be_looked_up(gateway: Gateway) -> None:
    olga = await in_office(gateway, OLGA, "auditor")
    gateway.platform.lookups.append(KeyError("of somebody else's package"))
    channel = gateway.container.channels.get("acme", "chat")
    await gateway.container.confirm_accounts.channel("acme", channel)
    assert "chat · looks everybody up: does not work" in (await olga.get("/console/pulse")).text
    await gateway.container.confirm_accounts.channel("acme", channel)
    assert "looks everybody up" not in (await olga.get("/console/pulse")).text


async def test_the_pulse_names_a_channel_that_could_not_be_built(gateway: Gateway) -> None:
    olga = await in_office(gateway, OLGA, "auditor")
    assert "chat · sends: does not work" not in (await olga.get("/console/pulse")).text
    gateway.container.contact.unbuilt = frozenset({"chat"})
    channels = gateway.container.channels
    channels.replace({at: each for at, each in channels.all().items() if at[1] != "chat"})
    assert "chat · sends: does not work" in (await olga.get("/console/pulse")).text
