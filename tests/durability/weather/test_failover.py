"""The primary dies and its standby takes over, with the real thing: two servers, streaming, `pg_ctl promote`."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from assent.executor.epoch import Epoch
from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.fixtures.standby import a_pair
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from pathlib import Path

    from tests.durability.gateway_process import Gateway, Scene
    from tests.fixtures.standby import Pair

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
            said = await second.decide("bob", after)
            assert said.status_code == 200, said.text
        assert (await waiting)["state"] == "approved"
        listening = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN assent'"
        await until("it listens at the new primary", lambda: pair.primary.ask(listening) == 1)
        assert faults(pair.primary.url()) == []


# --- a synchronous standby --------------------------------------------------------------------------------------------


@requirement("F-23")
@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_with_a_synchronous_standby_no_acknowledged_decision_is_lost(
    tmp_path: Path, rounds: int, *, bounded: bool
) -> None:
    """Killed while people decide; what was approved before stays approved, and can be used."""
    async with a_pair() as pair, scene(pair.url, tmp_path) as made:
        made.environ["ASSENT_SYNCHRONOUS_STANDBY"] = "true"
        async with made.gateway() as gateway:
            for turn in range(many := min(rounds, 3) if bounded else rounds):
                await _none_is_lost(pair, gateway, turn)
                await _rebuilt(pair, last=turn + 1 == many)
        assert look(pair.primary.url(), _COUNT_LOST) == [(0,)]
        assert faults(pair.primary.url()) == []


async def _none_is_lost(pair: Pair, gateway: Gateway, turn: int) -> None:
    await asyncio.to_thread(pair.synchronous)
    asked = [await gateway.ask("wire", session=f"s-{turn}-{n}") for n in range(12)]
    told: dict[str, str] = {}
    deciding = [asyncio.ensure_future(_decide(gateway, request, told)) for request in asked]
    await until("some are decided", lambda: len(told) >= 4)
    await asyncio.to_thread(pair.fail_over)
    await asyncio.gather(*deciding)
    await _ready_again(gateway)
    states = {request["id"]: (await gateway.read(request))["state"] for request in asked}
    assert {id_: states[id_] for id_ in told} == dict.fromkeys(told, "approved")
    for request in asked:
        assert (await gateway.decide("ann", request)).status_code in {200, 409}
        claimed = await gateway.claim(request)
        assert (claimed.status_code, claimed.json()["epoch"]) == (200, turn + 1), claimed.text


async def _decide(gateway: Gateway, request: dict[str, Any], told: dict[str, str]) -> None:
    said = await gateway.decide("ann", request)
    if said.status_code == 200:
        told[request["id"]] = said.json()["state"]
    else:
        assert said.status_code == 503, said.text


async def _rebuilt(pair: Pair, *, last: bool) -> None:
    if not last:
        await asyncio.to_thread(pair.rebuild)


_COUNT_LOST = "SELECT count(*) FROM audit_events WHERE kind = 'database.commits_lost'"


# --- an asynchronous one, behind --------------------------------------------------------------------------------------


@requirement("F-24", "F-47")
@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_what_a_standby_lacks_is_named_and_nothing_of_before_is_handed_out(
    tmp_path: Path, rounds: int, *, bounded: bool
) -> None:
    """Its newest commits are gone: an approval, a claim, a whole request. Who ran something does not run it again."""
    async with a_pair() as pair, scene(pair.url, tmp_path) as made, made.gateway() as gateway:
        before = 0
        for turn in range(many := min(rounds, 3) if bounded else rounds):
            asked = {name: await gateway.ask("wire", session=f"{name}-{turn}") for name in ("kept", "decided", "ran")}
            for name in ("kept", "ran"):
                assert (await gateway.decide("ann", asked[name])).status_code == 200
            await asyncio.to_thread(pair.caught_up)
            await asyncio.to_thread(pair.part)
            assert (await gateway.decide("ann", asked["decided"])).status_code == 200
            assert (await gateway.claim(asked["ran"])).status_code == 200
            asked["new"] = await gateway.ask("wire", session=f"new-{turn}")
            assert (await gateway.decide("ann", asked["new"])).status_code == 200
            await asyncio.to_thread(pair.fail_over)
            await _ready_again(gateway)
            for name, answer in {"kept": 409, "decided": 409, "ran": 409, "new": 404}.items():
                assert (await gateway.claim(asked[name], claim_id=f"again-{name}")).status_code == answer, name
            [*_, (said,)] = look(pair.primary.url(), _LOST)
            assert json.loads(said)["requests"] == [asked[name]["id"] for name in ("decided", "ran", "new")]
            alarms = re.findall(r"critical *\] database\.commits_lost", gateway.log.read_text())
            assert len(alarms) == turn + 1
            anew = await gateway.ask("wire", session=f"anew-{turn}")
            assert (await gateway.decide("ann", anew)).status_code == 200
            claimed = await gateway.claim(anew)
            assert claimed.status_code == 200
            assert claimed.json()["epoch"] > before
            assert (await gateway.report(anew)).status_code == 200
            before = claimed.json()["epoch"]
            await until("the past is cleared up", lambda: look(pair.primary.url(), _OPEN) == [(0,)])
            await _rebuilt(pair, last=turn + 1 == many)
        assert faults(pair.primary.url()) == []


_LOST = "SELECT facts FROM audit_events WHERE kind = 'database.commits_lost' ORDER BY seq"
_OPEN = (
    "SELECT count(*) FROM requests r LEFT JOIN grants g ON g.request_id = r.id "
    "WHERE r.status = 'pending' OR g.status = 'issued'"
)


@requirement("F-24")
async def test_each_gateway_names_what_it_had_answered_itself_and_the_past_is_fenced_off_once(tmp_path: Path) -> None:
    async with a_pair() as pair, scene(pair.url, tmp_path) as made, made.gateway() as one, made.gateway() as two:
        asked = [await one.ask("wire", session="one"), await two.ask("wire", session="two")]
        await asyncio.to_thread(pair.caught_up)
        await asyncio.to_thread(pair.part)
        for gateway, request in zip((one, two), asked, strict=True):
            assert (await gateway.decide("ann", request)).status_code == 200
        await asyncio.to_thread(pair.fail_over)
        await asyncio.gather(_ready_again(one), _ready_again(two))
        await until("both have said what is lost", lambda: len(look(pair.primary.url(), _LOST)) == 2)
        named = sorted(json.loads(facts)["requests"] for (facts,) in look(pair.primary.url(), _LOST))
        assert named == sorted([request["id"]] for request in asked)
        assert look(pair.primary.url(), "SELECT count(*) FROM restores") == [(1,)]
        assert {(await one.claim(request)).status_code for request in asked} == {409}
        assert faults(pair.primary.url()) == []


# --- two primaries ----------------------------------------------------------------------------------------------------


@requirement("F-25", "F-47")
@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_an_old_primary_that_comes_back_hands_out_nothing_that_an_executor_takes(
    tmp_path: Path, rounds: int, *, bounded: bool
) -> None:
    """Both can be written to; one gateway finds the old one. Its grants are of an epoch that is over."""
    async with a_pair() as pair, scene(pair.url, tmp_path) as made:
        made.environ["ASSENT_SYNCHRONOUS_STANDBY"] = "true"
        for turn in range(many := min(rounds, 3) if bounded else rounds):
            await _old_one_counts_for_nothing(pair, made, turn)
            await _rebuilt(pair, last=turn + 1 == many)
        assert faults(pair.primary.url()) == []


async def _old_one_counts_for_nothing(pair: Pair, made: Scene, turn: int) -> None:
    epoch = Epoch(None)
    async with made.gateway() as right:
        asked = [await right.ask("wire", session=f"s-{turn}-{n}") for n in range(2)]
        for request in asked:
            assert (await right.decide("ann", request)).status_code == 200
        await asyncio.to_thread(pair.caught_up)
        await asyncio.to_thread(pair.fail_over)
        await _ready_again(right)
        claimed = await right.claim(asked[0])
        assert claimed.status_code == 200
        assert await epoch.holds(claimed.json()["epoch"])
        await asyncio.to_thread(pair.standby.start)  # it knows of nothing, and is a primary as before
        async with made.gateway(url=pair.standby.url()) as wrong:
            grants = [await wrong.claim(request, claim_id="split") for request in asked]
        assert [grant.status_code for grant in grants] == [200, 200]
        assert not any([await epoch.holds(grant.json()["epoch"]) for grant in grants])
        await asyncio.to_thread(pair.primary.kill)
        await until("the old one is not taken", lambda g=right: "SupersededError" in g.log.read_text())
        assert (await right.call("payer", "GET", "/readyz")).status_code == 503
        assert (await right.claim(asked[1])).status_code == 503
        await asyncio.to_thread(pair.standby.kill)
        await asyncio.to_thread(pair.primary.start)
        await _ready_again(right)
        late = await right.claim(asked[1])
        assert late.status_code == 200
        assert await epoch.holds(late.json()["epoch"])
