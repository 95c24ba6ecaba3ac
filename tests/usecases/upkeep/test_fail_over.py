"""Another server of the database answers: what it lacks is named, and what was approved before is not handed out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from app.storage.engine.line import Server
from app.storage.engine.postgres import Postgres
from app.storage.engine.transaction import EVERY_ORG, Link
from app.storage.trail.restores import get_epoch
from app.usecases.upkeep.fail_over import FailOver
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


async def approved(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("by_api")
    assert (await gateway.decide(request)).status_code == 200
    return request


async def meets(gateway: Gateway, server: Server | None, *, synchronous: bool = False) -> int:
    """Look at the database as through the first connection to a server, and return the epoch that is then."""
    store = gateway.container.store
    store.succession.server = server
    await store.write(FailOver(store=store, is_synchronous=synchronous).resume, org=EVERY_ORG)
    return await store.read(get_epoch, org=EVERY_ORG)


def kinds(gateway: Gateway) -> list[str]:
    return [row["kind"] for row in gateway.rows("SELECT kind FROM audit_events WHERE org = 'acme' ORDER BY seq")]


def reasons(gateway: Gateway) -> set[str]:
    rows = gateway.rows("SELECT facts FROM audit_events WHERE kind = 'trail.restored'")
    return {json.loads(row["facts"])["reason"] for row in rows}


@requirement("F-24", "F-47")
@pytest.mark.parametrize("how", ["gone", "replaced"])
async def test_what_the_new_server_lacks_is_named_once_and_the_past_fenced_off(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    same = Server("system", 1)
    assert await meets(gateway, same) == 0
    request = await approved(gateway)
    known = gateway.container.store.tails()["acme"]
    at = known[-1].seq + (1 if how == "gone" else 0)
    lost = Link("acme", at, "f" * 64, "req_lost")
    before = known if how == "gone" else known[:-1]
    monkeypatch.setattr(gateway.container.store, "tails", lambda: {"acme": (*before, lost)})
    assert await meets(gateway, same) == 1
    put_back = "the database lacks what it had committed: a standby took over, or a backup was put back"
    assert reasons(gateway) == {put_back}  # on the very same server no standby need have been
    [row] = gateway.rows("SELECT facts FROM audit_events WHERE kind = 'database.commits_lost'")
    assert json.loads(row["facts"]) == {"first": at, "last": at, "events": 1, "requests": ["req_lost"]}
    assert (await gateway.claim(request)).status_code != 200
    monkeypatch.setattr(gateway.container.store, "tails", lambda: {"acme": known[:1]})  # nothing of these is missing
    assert await meets(gateway, None) == 1
    assert kinds(gateway).count("database.commits_lost") == 1


@requirement("F-24", "F-47")
@pytest.mark.parametrize("synchronous", [False, True])
async def test_a_promotion_alone_fences_the_past_off_unless_nothing_can_be_lost(
    gateway: Gateway, *, synchronous: bool
) -> None:
    request = await approved(gateway)
    epochs = [await meets(gateway, Server("system", timeline), synchronous=synchronous) for timeline in (1, 1, 2, 2)]
    assert epochs[:2] == [0, 0]  # the first one that is met
    claimed = await gateway.claim(request)
    if synchronous:
        assert claimed.status_code == 200
        assert kinds(gateway).count("database.failed_over") == 1
        assert "trail.restored" not in kinds(gateway)
    else:
        assert claimed.status_code != 200
        assert epochs[2:] == [1, 1]
        assert reasons(gateway) == {"a standby of the database took over (timeline 2)"}


@pytest.mark.postgres
@requirement("F-24", "F-47")
async def test_what_is_asked_in_the_very_transaction_that_meets_the_new_server_is_of_the_new_epoch(
    postgres_url: str, config: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call behind a promotion opens the connection itself, and its instant is the fence's."""
    monkeypatch.setattr(Postgres, "server", lambda *_: Server("system", 1))
    async with open_gateway(postgres_url, config, platform) as g:
        before = await approved(g)
        monkeypatch.setattr(Postgres, "server", lambda *_: Server("system", 2))
        others = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        g.rows(f"SELECT pg_terminate_backend(pid) FROM {others}")
        after = await g.ask("by_api", {"n": 2})
        at = "SELECT at FROM audit_events WHERE kind = 'trail.restored' OR request_id = '{}' ORDER BY seq LIMIT 2"
        assert len({row["at"] for row in g.rows(at.format(after["id"]))}) == 1, "the fence stood before"
        await g.container.fail_over.clear()
        assert (await g.read(after))["state"] == "pending"
        assert (await g.decide(after)).status_code == 200
        assert (await g.claim(after)).status_code == 200
        assert (await g.claim(before)).status_code == 409
