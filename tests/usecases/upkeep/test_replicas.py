"""Replicas know each other: what must be the same and is not shows in readiness, figures, log, trail and `doctor`."""

from __future__ import annotations

import asyncio
import json
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.cli.doctor.replicas import look_at_replicas
from app.domain.text.language import Language
from app.domain.trail.replicas import GRACE
from app.domain.words.say import say
from app.ports import Severity
from tests.fixtures.gateway import SECRET, ManualClock, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = pytest.mark.may_block  # the files of two gateways are written and read

ANOTHER = "another-master-secret-of-the-tests-0123456789"


class Ahead:
    """A process's clock that is wrong."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return datetime.now(UTC) + self._by


def copied(config: Path) -> Path:
    """Return a second copy of the files: every replica has its own disk."""
    return shutil.copytree(config, config.with_name("other-disk"))


def lasted(g: Gateway) -> None:
    """Let everything that stands have stood for as long as a rollout may take."""
    g.rows(f"UPDATE replicas SET since = since - {GRACE // timedelta(microseconds=1)}")


async def beat(*gateways: Gateway) -> None:
    """Let everybody write down what they have, and then look at what the others wrote."""
    for _ in range(2):
        for g in gateways:
            await g.container.replicas()


async def ready(g: Gateway) -> tuple[int, dict[str, Any]]:
    said = await g.http.get("/readyz")
    return said.status_code, said.json()


def told(g: Gateway) -> list[tuple[str, list[str]]]:
    """Return what acme's trail says of replicas, in order: the kind, and in what they differ."""
    rows = g.rows("SELECT kind, facts FROM audit_events WHERE org = 'acme' AND kind LIKE 'replicas.%' ORDER BY seq")
    return [(row["kind"], sorted(set(json.loads(row["facts"])) - {"replicas"})) for row in rows]


async def figures(g: Gateway) -> set[str]:
    lines = (await g.http.get("/metrics")).text.splitlines()
    return {line for line in lines if line.startswith("assent_replicas")}


@requirement("S-75")
async def test_one_alone_is_ready_and_is_gone_when_it_has_stopped(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        assert await ready(g) == (200, {"status": "ready", "replicas": 1})
        assert {row["org"] for row in g.rows("SELECT org FROM replicas")} == {"acme", "globex"}
        assert told(g) == []
        assert await figures(g) == {"assent_replicas 1.0"}
    assert g.rows("SELECT id FROM replicas") == []


@requirement("S-75")
async def test_one_tightened_file_and_one_that_cannot_be_read(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock() if database_url.startswith("sqlite") else None
    other = copied(config)
    async with (
        open_gateway(database_url, config, platform, clock=clock) as a,
        open_gateway(database_url, other, platform, clock=clock) as b,
    ):
        await beat(a, b)
        assert (await ready(a))[1] == {"status": "ready", "replicas": 2}
        a.rewrite("{id: harmless, tools: [ping], then: allow}", "{id: harmless, tools: [ping], then: deny}")
        await a.reload()
        (other / "acme.yaml").write_bytes(b"\xff\xfe not a text")
        await b.container.configuration.use_if_changed()
        # At once, before anybody has beaten: it is its own file that is refused.
        status, problem = await ready(b)
        assert (status, problem["code"]) == (503, "unavailable")
        assert "acme.yaml, line 1" in problem["detail"]
        await beat(a, b)
        assert await ready(a) == (
            200,
            {"status": "ready", "replicas": 2, "differ": {"refused": [b.container.replicas.id]}},
        )
        assert await figures(a) == {"assent_replicas 2.0", 'assent_replicas_differ{matter="refused"} 1.0'}
        lasted(a)
        with capture_logs() as logs:
            await beat(a, b)
        alarms = [each for each in logs if each["event"] == "replicas.differ"]
        assert {(each["matter"], each["log_level"]) for each in alarms} == {("policy", "critical")}
        versions = [each.container.book.current("acme").policy.version for each in (a, b)]
        for version in versions:
            assert version in str((await ready(a))[1]["differ"]["policy"])
        found = await look_at_replicas(a.container.store)
        assert {each.severity for each in found} == {Severity.ERROR}
        assert [each.what.split(" (")[0] for each in found] == [
            "gateways differ: a refused configuration",
            "gateways differ: the configuration",
        ]
        assert versions[0] in found[1].what
        # Once for each change, whoever beats how often.
        await beat(a, b)
        assert told(a) == [("replicas.differ", ["refused"]), ("replicas.differ", ["policy", "refused"])]
        shutil.copy(config / "acme.yaml", other / "acme.yaml")
        await b.container.configuration.use_if_changed()
        await beat(a, b)
        assert await ready(b) == await ready(a) == (200, {"status": "ready", "replicas": 2})
        assert told(a)[2:] == [("replicas.agree", [])]
        assert [each.severity for each in await look_at_replicas(a.container.store)] == [Severity.OK]


@requirement("S-75")
async def test_a_file_that_is_not_the_same_for_long_is_shown_but_makes_nobody_unready(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock() if database_url.startswith("sqlite") else None
    async with (
        open_gateway(database_url, config, platform, clock=clock) as a,
        open_gateway(database_url, copied(config), platform, clock=clock) as b,
    ):
        lasted(a)
        a.rewrite("{id: harmless, tools: [ping], then: allow}", "{id: harmless, tools: [ping], then: deny}")
        await a.reload()
        await beat(a, b)
        assert (await ready(a))[1] == {"status": "ready", "replicas": 2}  # it may still be on its way to the other
        lasted(a)
        await beat(a, b)
        for g in (a, b):
            status, body = await ready(g)
            assert (status, [*body["differ"]]) == (200, ["policy"])
        assert told(a) == [("replicas.differ", ["policy"])]


@requirement("S-75")
async def test_another_secret_is_the_strangers_fault_and_its_clicks_hear_the_truth(
    postgres_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with (
        open_gateway(postgres_url, config, platform) as a,
        open_gateway(postgres_url, config, platform, secret=ANOTHER) as b,
    ):
        await beat(a, b)
        status, problem = await ready(b)
        assert status == 503
        assert a.container.seals.key_ids[0] in problem["detail"]
        status, body = await ready(a)
        assert (status, [*body["differ"]]) == (200, ["secret"])
        assert [each.severity for each in await look_at_replicas(a.container.store)] == [Severity.ERROR]
        request = await a.ask()
        click = platform.press(a.card(request), "U_ALICE", "approve")
        refused = (await b.send(click)).body or {}
        assert (refused["result"], refused["sentence"]) == ("refused", say(Language.EN, "click.other_secret"))
        assert "request.forged" not in {kind for kind, _ in a.trail()}  # nobody has forged anything
        counted = (await a.send(click)).body or {}
        assert counted["result"] == "recorded"
    assert told(a)[0] == ("replicas.differ", ["secret"])


@requirement("S-75")
async def test_the_steps_of_a_rotation_make_nobody_unready_and_leaving_one_out_does(
    postgres_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(postgres_url, config, platform) as a:
        async with open_gateway(postgres_url, config, platform, secret=f"{SECRET},{ANOTHER}") as b:
            await beat(a, b)
            assert (await ready(a))[0] == (await ready(b))[0] == 200
            assert told(a) == []
        async with open_gateway(postgres_url, config, platform, secret=f"{ANOTHER},{SECRET}") as b:
            await beat(a, b)  # it seals with what the first one cannot read
            assert ((await ready(a))[0], (await ready(b))[0]) == (503, 200)


@requirement("S-44", "S-75")
async def test_a_clock_that_is_forty_seconds_off_is_an_alarm(
    postgres_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(postgres_url, config, platform) as a:
        wrong: Any = Ahead(timedelta(seconds=40))
        with capture_logs() as logs:
            async with open_gateway(postgres_url, config, platform, clock=wrong) as b:
                await beat(a, b)
                said = [await ready(g) for g in (a, b)]
                assert [(status, [*body["differ"]]) for status, body in said] == [(200, ["clock"])] * 2
                assert all(f"{b.container.replicas.id}: +40 s" in body["differ"]["clock"] for _, body in said)
                assert 'assent_replicas_differ{matter="clock"} 1.0' in await figures(a) & await figures(b)
                # What decides is the database's clock: no request is over before its time.
                request = await b.ask(tool="by_api")
                assert (await b.decide(request)).status_code == 200
        assert {"critical"} == {each["log_level"] for each in logs if each["event"] == "replicas.differ"}
        await a.container.replicas()
        assert told(a) == [("replicas.differ", ["clock"]), ("replicas.agree", [])]


@requirement("S-75")
async def test_of_many_that_notice_at_the_same_time_one_says_it(
    postgres_url: str, config: Path, platform: MemoryPlatform
) -> None:
    other = copied(config)
    async with (
        open_gateway(postgres_url, config, platform) as a,
        open_gateway(postgres_url, other, platform) as b,
        open_gateway(postgres_url, config, platform) as c,
    ):
        await beat(a, b, c)
        (other / "acme.yaml").write_text("org: [")
        await b.container.configuration.use_if_changed()
        await asyncio.gather(*(g.container.replicas() for g in (a, b, c) for _ in range(5)))
        await beat(a, b, c)
        assert told(a) == [("replicas.differ", ["refused"])]


@requirement("S-75")
async def test_whoever_went_without_a_word_is_dropped(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        columns = "org, id, policy_version, key_ids, software, ahead, since, seen_at, said"
        g.rows(
            f"INSERT INTO replicas ({columns}) SELECT org, 'gw_dead', 'v0', key_ids, software, 0, since, "
            "seen_at - 21000000, '' FROM replicas"
        )
        await g.container.replicas()
        assert (await ready(g))[1] == {"status": "ready", "replicas": 1}
        assert len(g.rows("SELECT id FROM replicas WHERE id = 'gw_dead'")) == 2
        g.rows("UPDATE replicas SET seen_at = seen_at - 600000000 WHERE id = 'gw_dead'")
        await g.container.replicas()
        assert g.rows("SELECT id FROM replicas WHERE id = 'gw_dead'") == []


@requirement("S-63", "S-75")
async def test_the_last_step_of_a_rotation_taken_too_early_is_told_by_both(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock() if database_url.startswith("sqlite") else None
    old, new = SECRET, ANOTHER
    async with open_gateway(database_url, config, platform, clock=clock, secret=old) as a:
        request, keys = await a.ask("by_api"), a.keys
    async with open_gateway(database_url, config, platform, clock=clock, secret=f"{new},{old}") as a:
        a.keys.update(keys)
        async with open_gateway(database_url, config, platform, clock=clock, secret=new) as b:
            with capture_logs() as logs:
                await beat(a, b)
            assert ((await ready(a))[0], (await ready(b))[0]) == (200, 503)
            assert "1 open request of acme is sealed with" in (await ready(b))[1]["detail"]
            assert "secret" in (await ready(a))[1]["differ"]
            assert {each["matter"] for each in logs if each["event"] == "replicas.differ"} == {"secret"}
            found = await look_at_replicas(a.container.store)
            mends = [each.mend for each in found if each.severity is Severity.ERROR]  # the other org rotates in peace
            assert ["the old one behind the new one" in mend for mend in mends] == [True]
            assert (await a.decide(request)).status_code == 200  # sealed anew: nothing needs the old one any more
            await beat(a, b)
            assert ((await ready(a))[0], (await ready(b))[0]) == (200, 200)
            assert told(a) == [("replicas.differ", ["secret"]), ("replicas.agree", [])]
            # A rotation that is under way: doctor does not call them the same, however young it is.
            found = await look_at_replicas(a.container.store)
            assert [each.severity for each in found] == [Severity.WARNING]
            assert "the secrets that are accepted" in found[0].what
