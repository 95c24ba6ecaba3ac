"""The commands that write beside a gateway seal what they write as it does, and seal anew on an operator's word."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.commands import app
from app.clock import SystemClock
from app.domain.identity.seals import Seals
from app.storage.requests.requests import lock_request
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET, ManualClock, open_gateway, query
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement
from tests.storage.rig import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else

OLGA = "olga@acme.example"
NEW = "another-master-secret-of-the-tests-0123456789"


@pytest.fixture
def desk(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("ASSENT_DATABASE_URL", database_url)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    return lambda *words: CliRunner().invoke(app, [*words], env={"COLUMNS": "200"})


async def of_each_state(g: Gateway) -> list[dict[str, Any]]:
    """Leave requests that wait, were approved, and run."""
    requests = [await g.ask("by_api", {"n": n}) for n in range(4)]
    for request in requests[1:3]:
        assert (await g.decide(request)).status_code == 200
    assert (await g.claim(requests[2])).status_code == 200
    return requests


async def forged(url: str, requests: list[dict[str, Any]], secret: str = SECRET) -> set[str]:
    """Return which requests a gateway with this secret would refuse as none of its own."""

    def unit(tx: Tx) -> set[str]:
        return {request["id"] for request in requests if lock_request(tx, request["id"]) is None}

    async with open_store(url, seals=Seals([secret])) as store:
        return await store.write(unit, org="acme")


@requirement("S-63", "S-49")
async def test_what_a_pause_or_a_restore_ends_is_sealed_as_the_gateway_seals_it(
    database_url: str, config: Path, platform: MemoryPlatform, desk: Callable[..., Result]
) -> None:
    clock = ManualClock(SystemClock().now())  # a command is a process of its own: it has no other
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        paused, restored = await of_each_state(g), await of_each_state(g)
        await g.call("POST", f"/v1/requests/{restored[0]['id']}/cancel", {})
        words = ("pause", "--org", "acme", "--tool", "by_api", "--deny-waiting", "-c", str(config))
        done = await to_thread(desk, *words)
        assert (done.exit_code, done.stdout.splitlines()[-1]) == (
            0,
            "acme: 3 requests cancelled, 2 unused approvals revoked",
        )
        assert await forged(g.url, [*paused, *restored]) == set()
        await to_thread(desk, "pause", "--org", "acme", "--tool", "by_api", "--lift", "-c", str(config))
        waiting = await of_each_state(g)
        done = await to_thread(desk, "restored", "--by", OLGA, "--reason", "the disk died")
        assert done.exit_code == 0, done.output
        assert [(await g.read(each))["state"] for each in waiting] == ["cancelled", "lapsed", "unknown", "cancelled"]
        assert await forged(g.url, [*paused, *restored, *waiting]) == set()
        assert "request.forged" not in {kind for each in waiting for kind, _ in g.trail(each)}


@requirement("S-63", "S-67")
async def test_with_another_secret_nothing_that_waits_is_ended_and_a_pause_is_in_force_all_the_same(
    database_url: str, config: Path, platform: MemoryPlatform, desk: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    clock = ManualClock(SystemClock().now())
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        requests = await of_each_state(g)
        monkeypatch.setenv("ASSENT_SECRET", NEW)
        done = await to_thread(desk, "pause", "--org", "acme", "--deny-waiting", "-c", str(config))
        assert (done.exit_code, done.stdout.splitlines()[0][:27]) == (1, "acme: everything is paused ")
        assert "were sealed with the secrets" in done.stderr
        assert "the pause is in force, and nothing that waits under it was ended" in done.stderr
        refused = await to_thread(desk, "restored", "--by", OLGA, "--reason", "the disk died")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.endswith("; nothing was declared\n")
        assert query(g.url, "SELECT epoch FROM restores") == []
        assert [(await g.read(each))["state"] for each in requests] == ["pending", "approved", "executing", "pending"]
        assert (await g.claim(requests[1])).json()["code"] == "paused"
        assert await forged(g.url, requests) == set()


@requirement("S-38", "S-63", "S-67")
async def test_an_operator_ends_what_stands_when_the_secret_is_lost_and_seals_it_when_the_seals_are(
    database_url: str, config: Path, platform: MemoryPlatform, desk: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    words = ("reseal", "--by", OLGA, "--reason", "the secret is lost", "-c", str(config))
    async with open_gateway(database_url, config, platform) as g:
        await of_each_state(g)
        stranger = await to_thread(Stranger, g)
        stranger("UPDATE requests SET seal = NULL")
    without = await to_thread(desk, *words)
    assert (without.exit_code, "say which org with --org: acme, globex" in without.stderr) == (2, True)
    assert (await to_thread(desk, "reseal", "--org", "acme", "-c", str(config))).exit_code == 2, "who, and why?"
    done = await to_thread(desk, *words, "--org", "acme")
    sealed = "acme: 4 open requests sealed as they stand; API keys of another secret stay dead\n"
    assert (done.exit_code, done.stdout) == (0, sealed)
    kept = query(database_url, "SELECT actor, facts FROM audit_events WHERE kind = 'secret.known' ORDER BY seq")
    assert kept[-1]["actor"] == OLGA
    assert "the secret is lost" in str(kept[-1]["facts"])
    assert "4" in str(kept[-1]["facts"])
    verified = await to_thread(desk, "audit", "verify", "--org", "acme", "-c", str(config))
    assert verified.exit_code == 0, verified.output
    monkeypatch.setenv("ASSENT_SECRET", NEW)
    verified = await to_thread(desk, "audit", "verify", "--org", "acme", "-c", str(config))
    assert (verified.exit_code, verified.stdout) == (2, "")
    assert verified.stderr.startswith("nothing was verified: the rows of acme were sealed with the secrets ")
    looked = (await to_thread(desk, "doctor", "-c", str(config))).output
    assert "acme: the trail was not held against the rows: they are sealed with another secret" in looked
    assert "the trail is broken" not in looked
    done = await to_thread(desk, *words, "--org", "acme")
    assert done.exit_code == 0, done.output
    assert "acme: 4 open requests ended: what they carried is lost with the secret" in done.stdout
    assert "acme: 0 open requests sealed as they stand" in done.stdout
    verified = await to_thread(desk, "audit", "verify", "--org", "acme", "-c", str(config))
    assert verified.exit_code == 1, "what cannot be read is not said to be as it was"
    said = ("--by", OLGA, "--reason", "the secret is lost", "--yes", "--org", "acme", "-c", str(config))
    assert (await to_thread(desk, "destroy-values", *said)).exit_code == 0
    verified = await to_thread(desk, "audit", "verify", "--org", "acme", "-c", str(config))
    assert verified.exit_code == 0, verified.output


@requirement("S-63", "S-67")
async def test_commands_with_a_secret_that_went_too_early_say_so_and_end_nothing(
    database_url: str, config: Path, platform: MemoryPlatform, desk: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    clock = ManualClock(SystemClock().now())
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        await of_each_state(g)
        agents, approvers = (g.keys[f"acme/{who}"].split("_")[1] for who in ("agent:shop", "alice@acme.example"))
    at = ("--org", "acme", "-c", str(config))
    async with open_gateway(database_url, config, platform, clock=clock, secret=f"{NEW},{SECRET}") as g:
        listed = await to_thread(desk, "keys", "list", *at)  # with the old secret alone: it is a foreign one now
        assert {line[30:51].strip() for line in listed.stdout.splitlines()} == {"live"}
        monkeypatch.setenv("ASSENT_SECRET", NEW)
        listed = await to_thread(desk, "keys", "list", *at)
        said = {line[:16]: line[30:51].strip() for line in listed.stdout.splitlines()}
        assert {said[agents], said[approvers]} == {"dead with its secret"}
        assert "warning: 4 open requests of acme are sealed with " in listed.stderr
        assert "warning: 2 of these keys are dead with a secret that ASSENT_SECRET does not have" in listed.stderr
        done = await to_thread(desk, "pause", "--deny-waiting", *at)
        assert (done.exit_code, "nothing that waits under it was ended" in done.stderr) == (1, True)
        refused = await to_thread(desk, "restored", "--by", OLGA, "--reason", "the disk died")
        assert (refused.exit_code, refused.stderr.endswith("; nothing was declared\n")) == (2, True)
        looked = (await to_thread(desk, "doctor", "-c", str(config))).output
        assert "put the old secret back, ASSENT_SECRET=new,old, until they are over; if it is lost: assent" in looked
        assert "dead with their secret: the keys" in looked
        assert "put the old secret back behind the new one until each was used once" in looked
        assert "the trail is broken" not in looked
        verified = await to_thread(desk, "audit", "verify", *at)
        assert (verified.exit_code, verified.stderr.count("which ASSENT_SECRET does not have")) == (1, 4)
        done = await to_thread(desk, "reseal", "--by", OLGA, "--reason", "the old one is lost", *at)
        assert (done.exit_code, "4 open requests sealed as they stand" in done.stdout) == (0, True)
        assert (await to_thread(desk, "audit", "verify", *at)).exit_code == 0
        looked = (await to_thread(desk, "doctor", "-c", str(config))).output
        assert "make them anew, and revoke these" in looked
        assert "request.forged" not in {kind for kind, _ in g.trail()}
