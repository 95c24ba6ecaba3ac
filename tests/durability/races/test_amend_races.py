"""Approve, withdraw and change at once: one of them wins, and no approval is ever worth anything for another digest."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.durability.invariants import faults
from tests.durability.races.test_races import all_at_once, number
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

ALICE, BOB, CAROL = (f"{name}@acme.example" for name in ("alice", "bob", "carol"))
ROUNDS = pytest.mark.parametrize(
    "rounds",
    [8, pytest.param((300, 10_000), marks=[pytest.mark.long, pytest.mark.timeout(7200)], id="many")],
)


class Round:
    """One request, and everybody who wants something of it."""

    def __init__(self, gateways: list[Gateway], request: dict[str, Any], index: int) -> None:
        self.one, self.other = gateways[0], gateways[-1]
        self.request = request
        self.changed = {"what": index, "to": "Beta"}

    async def approve(self) -> bool:
        return (await self.one.decide(self.request, who=ALICE)).status_code == 200

    async def edit(self) -> bool:
        return (await self.other.decide(self.request, who=BOB, arguments=self.changed)).status_code == 200

    async def withdraw(self) -> bool:
        said = await self.other.call("POST", f"/v1/requests/{self.request['id']}/cancel", {})
        return said.status_code == 200

    async def claims(self, digest: str) -> int:
        """Claim on every replica at once; return how many were given something."""
        said = await asyncio.gather(
            *(g.claim(self.request, digest=digest, claim_id=f"claim-{n}") for n, g in enumerate((self.one, self.other)))
        )
        return [each.status_code for each in said].count(200)


@requirement("F-16", "S-01", "S-02")
@ROUNDS
async def test_no_grant_is_ever_for_a_digest_that_nobody_approved(
    database_url: str, config: Path, platform: MemoryPlatform, rounds: Any, *, bounded: bool
) -> None:
    seen: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        gateways = [
            await stack.enter_async_context(open_gateway(database_url, config, platform, calls_per_second=1e9))
            for _ in range(1 if database_url.startswith("sqlite") else 2)
        ]
        for index in range(number(rounds, bounded=bounded)):
            seen[await race(gateways, index)] += 1
        g = gateways[0]
        wrong = g.rows("SELECT r.id FROM grants g JOIN requests r ON r.id = g.request_id WHERE r.status <> 'approved'")
        assert wrong == []
    assert faults(database_url, entitled=frozenset({ALICE, BOB, CAROL})) == []
    assert sum(seen.values()) == number(rounds, bounded=bounded)


async def race(gateways: list[Gateway], index: int) -> str:
    """Let all three go at once; return who won."""
    g = gateways[0]
    request = await g.ask("by_api", {"what": index})
    now = Round(gateways, request, index)
    # Whoever is asked first is not always the same one.
    acts = [now.approve, now.edit, now.withdraw]
    order = acts[index % 3 :] + acts[: index % 3]
    done = dict(zip([act.__name__ for act in order], await all_at_once(*(act() for act in order)), strict=True))
    after = await g.read(request)
    edited = after["digest"] != request["digest"]
    assert edited == done["edit"]
    assert not (done["approve"] and (done["edit"] or done["withdraw"])), "one winner"
    assert done["approve"] == (after["state"] == "approved")
    assert done["withdraw"] == (after["state"] == "cancelled")
    if after["state"] == "pending":
        assert edited, "somebody must have won"
        assert await now.claims(request["digest"]) == 0
        assert await now.claims(after["digest"]) == 0, "the change is approved by nobody but who made it"
        assert (await g.decide(request, who=ALICE)).json()["code"] == "digest_mismatch"
        assert (await g.decide(after, who=CAROL)).json()["state"] == "approved"
        assert await now.claims(request["digest"]) == 0
        claimed = await g.claim(after)
        assert claimed.json()["arguments"] == now.changed
        return "edited"
    if done["approve"]:
        assert not edited
        assert await now.claims("0" * 64) == 0
        assert await now.claims(request["digest"]) == 1
        return "approved"
    for digest in {request["digest"], after["digest"]}:
        assert await now.claims(digest) == 0
    return "edited, then withdrawn" if edited else "withdrawn"
