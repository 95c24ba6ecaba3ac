"""Migrations 0006 to 0009 with rows in the way: what waited goes on, and going back never makes anything laxer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.domain.identity.api_key import Scope
from migrations import run
from tests.fixtures.gateway import SECRET, open_gateway
from tests.fixtures.standing import BOB, RITA, write_standing
from tests.requirements import requirement
from tests.storage.rig import in_clear

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = pytest.mark.may_block  # migrations wait for the database on this thread
WIRE = {"payee": "Acme Ltd", "amount": "400", "currency": "CNY"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org whose payments wait for people."""
    return write_standing(tmp_path)


@pytest.mark.heavy
async def test_what_waited_before_the_upgrade_takes_a_click_and_earlier_votes_count(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    file = config / "acme.yaml"
    two = '- {id: rest, tools: [unsay, wrap, "stop_*"], then: ask, stages: [{of: [finance], need: 2}], channels: [api]}'
    file.write_text(file.read_text().replace(file.read_text().splitlines()[-1].strip(), two))
    async with open_gateway(database_url, config, platform) as g:
        request = await g.ask("wrap", {"n": 1})
        assert (await g.decide(request, who=BOB)).json()["state"] == "pending"
        keys = dict(g.keys)
    in_clear(database_url, SECRET)
    run.downgrade(database_url, "0005")
    run.upgrade(database_url)
    async with open_gateway(database_url, config, platform) as g:
        # Going back took the seals along: an operator says that what stands may be taken for what was asked.
        done = await g.container.seal_standing.again("acme", by="olga@acme.example", reason="went back and forth")
        assert done == (1, 0)
        g.keys |= keys
        before = await g.read(request)
        assert (before["assurance"], before["enforced"], before["payments"]) == ("L1", False, [])
        assert (await g.decide(request, who=RITA)).json()["state"] == "approved"
        assert (await g.claim(request)).json()["arguments"] == {"n": 1}


@pytest.mark.heavy
@requirement("S-29")
async def test_going_back_is_refused_while_something_open_would_become_laxer(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        request = await g.ask("wire", WIRE)  # only an executor runs it: the older gateway would hand it to the agent
    in_clear(database_url, SECRET)
    with pytest.raises(RuntimeError, match="1 open request"):
        run.downgrade(database_url, "0005")
    run.upgrade(database_url)  # from the step that was refused
    async with open_gateway(database_url, config, platform) as g:
        assert (await g.decide(request, who=RITA, verdict="deny", reason="no")).json()["state"] == "denied"
    in_clear(database_url, SECRET)
    run.downgrade(database_url, "0005")


@pytest.mark.heavy
@requirement("S-73")
async def test_keys_run_what_they_ran_claims_are_their_claimers_and_going_back_widens_no_key(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        request = await g.ask("wire", WIRE)
        assert (await g.decide(request, who=RITA)).json()["state"] == "approved"
        assert (await g.claim(request, who="executor")).status_code == 200
        claimed = g.rows("SELECT claimed_by FROM executions")
        keys = dict(g.keys)
    in_clear(database_url, SECRET)
    run.downgrade(database_url, "0006")
    run.upgrade(database_url)
    async with open_gateway(database_url, config, platform) as g:
        g.keys |= keys
        assert g.rows("SELECT tools FROM api_keys WHERE scope = 'executor'") == [{"tools": '["*"]'}]
        assert g.rows("SELECT claimed_by FROM executions") == claimed != [{"claimed_by": None}]
        await g.container.keys.create(org="acme", scope=Scope.EXECUTOR, label="sms", tools=["sms_*"])
    in_clear(database_url, SECRET)
    with pytest.raises(RuntimeError, match="1 executor's key would run every tool"):
        run.downgrade(database_url, "0006")


@pytest.mark.heavy
@requirement("S-72")
async def test_what_was_sealed_before_holds_after_the_upgrade_and_what_waits_elsewhere_is_in_the_way_back(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        first, second, third = [await g.ask("unsay", {"n": n}) for n in range(3)]
        for request in (first, second):
            await g.decide(request, who=RITA)
        assert (await g.claim(first)).status_code == 200
        rows = g.rows("SELECT id, seal FROM requests ORDER BY id")
        keys = dict(g.keys)
    in_clear(database_url, SECRET)
    run.downgrade(database_url, "0008")
    run.upgrade(database_url)
    async with open_gateway(database_url, config, platform) as g:
        g.keys |= keys
        assert g.rows("SELECT id, seal FROM requests ORDER BY id") == rows
        assert (await g.claim(second)).status_code == 200  # nothing had to be sealed anew
        assert (await g.decide(third, who=RITA)).json()["state"] == "approved"
        said = await g.report(first, "pending_elsewhere")
        assert said.json()["state"] == "pending_elsewhere", said.text
    in_clear(database_url, SECRET)
    with pytest.raises(RuntimeError, match="1 call waits at the service"):
        run.downgrade(database_url, "0008")
    run.upgrade(database_url)  # the newer steps were taken back before this one refused
    async with open_gateway(database_url, config, platform) as g:  # and nothing of it was taken apart
        g.keys |= keys
        assert (await g.report(first, "failed", error="refused there")).json()["state"] == "failed"
    in_clear(database_url, SECRET)
    run.downgrade(database_url, "0008")
    run.upgrade(database_url)
