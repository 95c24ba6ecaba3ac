"""The primary dies and its standby takes over, with the real thing: two servers, streaming, `pg_ctl promote`."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.fixtures.standby import a_pair
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.durability.gateway_process import Gateway

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]

GOES_ON_WITHIN = 15.0
"""Seconds after the promotion, on a busy machine."""


async def _ready_again(gateway: Gateway) -> None:
    async with asyncio.timeout(GOES_ON_WITHIN):
        while (await gateway.call("payer", "GET", "/readyz")).status_code != 200:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)


@requirement("F-47")
async def test_with_both_hosts_in_its_url_a_gateway_goes_on_by_itself_after_a_promotion(tmp_path: Path) -> None:
    async with a_pair() as pair, scene(pair.url, tmp_path) as made, made.gateway() as gateway:
        await asyncio.to_thread(pair.synchronous)
        asked = await gateway.ask("wire", session="before")
        assert (await gateway.decide("ann", asked)).status_code == 200
        await asyncio.to_thread(pair.fail_over)
        began = time.monotonic()
        await _ready_again(gateway)
        assert time.monotonic() - began < GOES_ON_WITHIN
        assert (await gateway.read(asked))["state"] == "approved"
        after = await gateway.ask("wire", session="after")
        waiting = asyncio.ensure_future(gateway.read(after, wait=20))
        async with made.gateway() as second:  # and a start finds the new primary, too
            assert (await second.decide("bob", after)).status_code == 200
        assert (await waiting)["state"] == "approved"
        listening = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN assent'"
        await until("it listens at the new primary", lambda: pair.primary.ask(listening) == 1)
        assert faults(pair.primary.url()) == []
