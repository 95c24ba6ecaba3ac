"""Weeks pass over gateways that serve: what is too old by the file goes, by one of them, and the trail says so."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from tests.durability import stepped
from tests.durability.gateway_process import SECRET, scene, until
from tests.durability.stepped import SteppedClock
from tests.fixtures import forked
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.durability.gateway_process import Gateway, Scene

pytestmark = [pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(240)]

MANY = 70
"""More than one transaction removes."""

KEEPS = "retention: {requests: 31d, deliveries: 14d, outbox: 7d}\n"


@requirement("S-53")
async def test_a_gateway_that_serves_removes_what_has_grown_too_old_while_another_one_runs(
    database_url: str, tmp_path: Path
) -> None:
    clock = SteppedClock(tmp_path, owner=database_url)
    async with scene(database_url, tmp_path) as made, AsyncExitStack() as stack:
        made.program, made.more = stepped.PROGRAM, KEEPS
        made.environ |= clock.environ
        gateways = [await stack.enter_async_context(made.gateway()) for _ in range(1 if _lite(database_url) else 2)]
        old, unknown, waits = await _lived(gateways[0])
        assert _standing(database_url) == {*old, unknown, waits}
        clock.ahead(timedelta(days=40))
        await until("what is too old is gone", lambda: _standing(database_url) == {unknown, waits}, seconds=60)
        assert (await gateways[0].read({"id": unknown}))["state"] == "unknown"
        assert (await gateways[-1].read({"id": waits}))["state"] == "expired"  # over since today only
        assert (await gateways[-1].call("payer", "GET", f"/v1/requests/{old[0]}")).status_code == 404
        assert sorted(_told(database_url)) == sorted(old)  # each by name, and by one of them
        async with asyncio.timeout(60):  # it is counted once the round is over, which goes on behind its last commit
            while await _removed(gateways) < len(old):  # noqa: ASYNC110 - no event comes from another process
                await asyncio.sleep(0.1)
        assert await _removed(gateways) == len(old)
        new = await gateways[0].ask("wire", "s-new")
        assert (await gateways[-1].decide("ann", new)).json()["state"] == "approved"
        assert "unbroken" in await asyncio.to_thread(_verified, made)


async def _lived(g: Gateway) -> tuple[list[str], str, str]:
    """Let requests end, one of them as nobody knows, and leave one waiting."""
    asked = [await g.ask("wire", f"s-{number}") for number in range(MANY + 2)]
    *old, lost, waits = asked
    for number, request in enumerate(old):
        assert (await g.decide("ann", request, "deny" if number % 2 else "approve")).status_code == 200
        if number % 2 == 0:
            assert (await g.claim(request)).status_code == 200
            assert (await g.report(request)).status_code == 200
    assert (await g.decide("ann", lost)).status_code == 200
    assert (await g.claim(lost)).status_code == 200
    return [each["id"] for each in old], lost["id"], waits["id"]


def _lite(url: str) -> bool:
    return url.startswith("sqlite")


def _standing(url: str) -> set[str]:
    return {str(row[0]) for row in look(url, "SELECT id FROM requests")}


def _told(url: str) -> list[str]:
    """Return the requests that the trail says were removed, as often as it does."""
    said = [_facts(row[0]) for row in look(url, "SELECT facts FROM audit_events WHERE kind = 'rows.removed'")]
    return list(chain.from_iterable(each["ids"] for each in said))


def _facts(stored: Any) -> dict[str, Any]:
    return json.loads(stored) if isinstance(stored, str) else stored


async def _removed(gateways: Iterable[Gateway]) -> float:
    return sum([await _figure(each, 'assent_retention_removed_total{what="requests"}') for each in gateways])


async def _figure(g: Gateway, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", (await g.call("payer", "GET", "/metrics")).text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def _verified(made: Scene) -> str:
    """Verify the trail by the same clock; return what was said."""
    environ = {**made.environ, "ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": made.url}
    done = forked.run(stepped.PROGRAM, "audit", "verify", env=environ, cwd=made.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout
