"""What an agent's call carries is encrypted where it is kept: who has the database, or a backup, reads none of it."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures.at_rest import at_rest
from tests.fixtures.editing import BOB, EDITING, edit
from tests.fixtures.gateway import SECRET, open_gateway
from tests.requirements import requirement
from tests.storage.rig import in_clear

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CALL = {"payee": "Acme Ltd", "amount": 80000, "currency": "CNY", "urgent": False, "memo": "rent"}
NAMES = {"sealed-1", "sealed-2", "sealed-3", "sealed-4", "sealed-5"}
"""The account of each call: as asked, as changed, of a denied one, of a failed one, of a withdrawn one."""


async def lived(g: Gateway) -> list[dict[str, Any]]:
    """Let calls with a sensitive account live all lives: changed and run, denied, failed, withdrawn."""
    first = await g.ask("transfer", {**CALL, "account": "sealed-1"}, claim="sealed-1 is what they wrote", session="s-1")
    assert (await edit(g, first, amount=70000, account="sealed-2")).status_code == 200
    seen = await g.read(first)
    asked = {"text": "why sealed-2, and not sealed-1?", "digest": seen["digest"]}
    said = await g.call("POST", f"/v1/requests/{first['id']}/questions", asked, who=BOB)
    assert said.status_code == 200, said.text
    assert (await g.decide(seen, who=BOB)).status_code == 200
    claimed = await g.claim(seen)
    assert claimed.json()["arguments"] == {**CALL, "amount": 70000, "account": "sealed-2"}
    assert (await g.report(first, result={"paid": "sealed-2", "of": "sealed-1"})).status_code == 200
    denied = await g.ask("transfer", {**CALL, "account": "sealed-3", "amount": 5000})
    assert (await g.press(denied, verdict="deny", reason="sealed-3 is not theirs"))["result"] == "recorded"
    failed = await g.ask("transfer", {**CALL, "account": "sealed-4", "amount": 6000, "payee": "Other Ltd"})
    assert (await g.press(failed))["result"] == "recorded"
    assert (await g.claim(failed)).status_code == 200
    assert (await g.report(failed, "failed", error="the account sealed-4 is closed")).status_code == 200
    gone = await g.ask("transfer", {**CALL, "account": "sealed-5", "amount": 7000, "payee": "Third Ltd"})
    why = {"reason": "sealed-5 was wrong"}
    assert (await g.call("POST", f"/v1/requests/{gone['id']}/cancel", why)).status_code == 200
    await g.quiet()
    return [first, denied, failed, gone]


@pytest.fixture
def config(config: Path) -> Path:
    """Let calls be changed."""
    (config / "acme.yaml").write_text(EDITING, encoding="utf-8")
    return config


@requirement("S-38", "S-67")
@pytest.mark.process
async def test_no_sensitive_value_stands_in_the_file_its_log_or_a_dump(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        requests = await lived(g)
        kept = await to_thread(at_rest, database_url)
        assert requests[0]["id"] in kept, "it is the right place"
        assert {name for name in NAMES if name in kept} == set()
        result = (await g.read(requests[0]))["execution"]["result"]
        assert result == {"paid": "sealed-2", "of": "sealed-1"}


@requirement("S-38", "S-67")
@pytest.mark.process
async def test_what_stood_in_clear_is_encrypted_where_it_stands_and_its_seals_hold(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        await lived(g)
        waits = await g.ask("transfer", {**CALL, "account": "sealed-1", "amount": 9000, "payee": "Fourth Ltd"})
        rows = g.rows("SELECT id, version, seal, bound_digest FROM requests ORDER BY id")
        keys = dict(g.keys)
    await to_thread(in_clear, database_url, SECRET)
    assert {name for name in NAMES if name in await to_thread(at_rest, database_url)} == NAMES
    async with open_gateway(database_url, config, platform) as g:
        g.keys |= keys
        assert g.rows("SELECT id, version, seal, bound_digest FROM requests ORDER BY id") == rows
        assert [kind for kind, _ in g.trail()].count("values.encrypted") == 1
        clear = "SELECT count(*) AS n FROM requests WHERE arguments NOT LIKE 'e1.%' OR title NOT LIKE 'e1.%'"
        assert g.rows(clear) == [{"n": 0}]
        assert g.rows("SELECT count(*) AS n FROM executions WHERE result NOT LIKE 'e1.%'") == [{"n": 0}]
        assert (await g.press(waits))["result"] == "recorded"
        assert (await g.claim(waits)).json()["arguments"]["account"] == "sealed-1"
    async with open_gateway(database_url, config, platform) as g:
        assert [kind for kind, _ in g.trail()].count("values.encrypted") == 1, "once"
