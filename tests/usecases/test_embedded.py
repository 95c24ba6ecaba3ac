"""The gateway inside the agent's process: the same promises, without a server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import structlog

from app.domain.identity.api_key import Scope
from app.embedded import EmbeddedGateway, embedded_gateway
from app.policies.marks.faults import PolicyFaultsError
from app.serve import StartRefusedError
from assent import Pending, State, ToolCall, current_grant
from assent.hooks import Hooks
from assent.hooks.ready.approval_gate import ApprovalGate
from tests.fixtures.gateway import SECRET, START, ManualClock, query
from tests.fixtures.patience import HANGS, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from assent.hooks import ToolResult
    from tests.fixtures.memory_platform import MemoryPlatform

ENVIRON = {"ASSENT_TICK": "PT1H", "ASSENT_POLL": "PT1H"}
"""Nothing is found by looking again: what a test waits for has to come by itself."""


@asynccontextmanager
async def embedded(url: str, config: Path, **given: Any) -> AsyncGenerator[EmbeddedGateway]:
    told = {"agent": "shop", "org": "acme", "session": "s-1", "secret": SECRET, "environ": ENVIRON, **given}
    async with embedded_gateway(url, config, **told) as gateway:
        yield gateway


async def decide(gateway: EmbeddedGateway, request: dict[str, Any], verdict: str, **more: Any) -> httpx2.Response:
    """Vote through the API of the embedded gateway, as its web server would let people do."""
    made = await gateway.container.keys.create(
        org="acme", scope=Scope.APPROVER, label="alice", person="alice@acme.example"
    )
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(gateway.app),
        base_url="http://embedded.test",
        headers={"authorization": f"Bearer {made.text}"},
    ) as http:
        body = {"verdict": verdict, "digest": request["digest"], **more}
        return await http.post(f"/v1/requests/{request['id']}/decisions", json=body)


def rows(url: str, table: str) -> list[dict[str, Any]]:
    return query(url, f"SELECT * FROM {table}")


class Shop:
    """A tool that remembers under which grants it ran."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str | None]] = []

    async def by_api(self, what: str) -> str:
        self.ran.append((what, current_grant()))
        return f"did {what}"


async def call(gateway: EmbeddedGateway, tool: str, shop: Shop, **gated: Any) -> ToolResult:
    hooks = Hooks()
    hooks.add(ApprovalGate(approvals=gateway, **gated))
    async with hooks.session(agent="shop", session="s-1", org="acme") as session:
        return await session.call_tool(tool, {"what": "books"}, shop.by_api, call_id="toolu_1")


async def pending(gateway: EmbeddedGateway) -> dict[str, Any]:
    async with asyncio.timeout(HANGS):
        while not (found := await gateway.list_open()):  # noqa: ASYNC110 - a row of another task's call has no event
            await asyncio.sleep(0.005)
    return found[0].raw


async def test_what_people_approve_runs_once_under_its_grant_on_either_database(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    shop = Shop()
    async with embedded(database_url, config) as gateway:
        running = asyncio.ensure_future(call(gateway, "by_api", shop))
        request = await pending(gateway)
        assert (await decide(gateway, request, "approve")).status_code == 200
        result = await asyncio.wait_for(running, HANGS)
    assert result.content == "did books"
    assert result.request_id == request["id"]
    (execution,) = await asyncio.to_thread(rows, database_url, "executions")
    (grant,) = await asyncio.to_thread(rows, database_url, "grants")
    assert execution["status"] == "succeeded"
    assert shop.ran == [("books", grant["id"])]


async def test_a_denial_reaches_the_model_and_nothing_runs(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    shop = Shop()
    async with embedded(sqlite_url, config) as gateway:
        running = asyncio.ensure_future(call(gateway, "by_api", shop))
        await decide(gateway, await pending(gateway), "deny", reason="not today")
        result = await asyncio.wait_for(running, HANGS)
    assert not result.ran
    assert "not today" in result.content
    assert shop.ran == []


async def test_rules_allow_and_deny_without_people(sqlite_url: str, config: Path, platform: MemoryPlatform) -> None:
    shop = Shop()
    async with embedded(sqlite_url, config) as gateway:
        assert (await call(gateway, "ping", shop)).ran
        refused = await call(gateway, "destroy", shop)
    assert not refused.ran
    assert "Nobody may." in refused.content
    assert shop.ran == [("books", None)]


async def test_what_a_flag_wants_confirmed_is_asked_about_though_a_rule_allows_it(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    acme = config / "acme.yaml"
    text = await asyncio.to_thread(acme.read_text)
    asking = "ask: {stages: [{of: [finance], need: 1}], channels: [api], timeout: 30m}\nrules:\n"
    await asyncio.to_thread(acme.write_text, text.replace("rules:\n", asking))
    shop = Shop()
    async with embedded(sqlite_url, config) as gateway:
        assert (await call(gateway, "ping", shop, rules=False)).ran
        running = asyncio.ensure_future(call(gateway, "ping", shop, requires_confirmation=["ping"]))
        assert (await decide(gateway, await pending(gateway), "approve")).status_code == 200
        assert (await asyncio.wait_for(running, HANGS)).ran
        refused = await call(gateway, "destroy", shop, requires_confirmation=["destroy"])
    assert not refused.ran
    assert [grant is None for _, grant in shop.ran] == [True, False]


async def test_what_must_be_confirmed_does_not_run_where_there_is_nobody_to_ask(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    shop = Shop()
    async with embedded(sqlite_url, config) as gateway:
        refused = await call(gateway, "ping", shop, all_tools=True)
    assert not refused.ran
    assert "nobody to ask" in refused.content
    assert shop.ran == []


async def test_cards_go_out_and_clicks_decide(sqlite_url: str, config: Path, platform: MemoryPlatform) -> None:
    async with embedded(sqlite_url, config) as gateway:
        verdict = await gateway.check(ToolCall("long", {"n": 1}))
        assert isinstance(verdict, Pending)
        await eventually(lambda: platform.of(verdict.request.id), seconds=10)
        waiting = asyncio.ensure_future(gateway.wait(verdict.request))
        container = gateway.container

        async def press() -> object:
            click = platform.press(platform.of(verdict.request.id)[-1], "U_ALICE", "approve")
            heard = await container.clicks("acme", container.channels.get("acme", "chat"), click)
            return (heard.body or {})["result"]

        said: object = "retry"
        for _ in range(500):
            if (said := await press()) != "retry":  # where the card is may not be noted yet, as a person is told
                break
            await asyncio.sleep(0.02)
        assert said == "recorded"
        assert (await asyncio.wait_for(waiting, HANGS)).state is State.APPROVED


async def test_a_process_that_ends_leaves_its_requests_to_the_next(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with embedded(sqlite_url, config) as gateway:
        asked = await gateway.check(ToolCall("by_api", {"n": 1}))
        assert isinstance(asked, Pending)
    async with embedded(sqlite_url, config) as gateway:
        (found,) = await gateway.list_open()
        assert found.id == asked.request.id
        assert (await decide(gateway, found.raw, "approve")).status_code == 200
        claimed = await gateway.claim(await gateway.wait(found))
    assert claimed.arguments == {"n": 1}


async def test_an_empty_database_gets_its_tables(tmp_path: Path, config: Path, platform: MemoryPlatform) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    async with embedded(url, config) as gateway:
        assert isinstance(await gateway.check(ToolCall("by_api", {})), Pending)
    assert len(await asyncio.to_thread(rows, url, "requests")) == 1


async def test_the_agents_key_is_renewed_in_time_and_revoked_at_the_end(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock()
    async with embedded(sqlite_url, config, clock=clock, owner="olga@acme.example") as gateway:
        await asyncio.gather(*(gateway.check(ToolCall("ping", {"n": n})) for n in range(5)))
        (first,) = await asyncio.to_thread(rows, sqlite_url, "api_keys")
        assert (first["scope"], first["agent"], first["person"]) == ("agent", "shop", "olga@acme.example")
        clock.advance(timedelta(hours=13))
        await asyncio.gather(*(gateway.check(ToolCall("ping", {"n": n})) for n in range(5)))
        keys = await asyncio.to_thread(rows, sqlite_url, "api_keys")
        assert sorted(key["revoked_at"] is None for key in keys) == [False, True]
        clock.advance(timedelta(days=3))  # the machine slept: the key has ended, and is made anew
        await gateway.check(ToolCall("ping", {}))
    keys = await asyncio.to_thread(rows, sqlite_url, "api_keys")
    assert len(keys) == 3
    assert all(key["revoked_at"] is not None for key in keys)


async def test_the_client_knows_the_gateways_clock(sqlite_url: str, config: Path, platform: MemoryPlatform) -> None:
    async with embedded(sqlite_url, config, clock=ManualClock()) as gateway:
        assert gateway._wire.seconds_to(START) is None
        await gateway.check(ToolCall("ping", {}))
        left = gateway._wire.seconds_to(START + timedelta(hours=1))
    assert left is not None
    assert 3500 < left <= 3600


async def test_a_second_gateway_on_one_sqlite_file_is_refused_and_the_file_is_free_afterwards(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with embedded(sqlite_url, config) as gateway:
        with pytest.raises(StartRefusedError, match="another gateway already uses"):
            async with embedded(sqlite_url, config):
                pytest.fail("two gateways on one file")
        await gateway.check(ToolCall("ping", {}))
    async with embedded(sqlite_url, config) as gateway:
        await gateway.check(ToolCall("ping", {}))


async def test_standard_output_stays_the_agents_own(
    sqlite_url: str, config: Path, platform: MemoryPlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    structlog.reset_defaults()
    async with embedded(sqlite_url, config) as gateway:
        structlog.get_logger("app.somewhere").warning("something.happened", token="hidden")
        await gateway.check(ToolCall("by_api", {}))
    assert capsys.readouterr().out == ""


async def test_a_channel_that_hears_by_webhook_is_warned_of(
    sqlite_url: str, config: Path, platform: MemoryPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    async with embedded(sqlite_url, config):
        pass
    assert "the channel chat hears clicks by webhook" in caplog.text
    assert "globex-chat" not in caplog.text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"secret": None}, r"secret \(ASSENT_SECRET\): is missing; `assent secret` makes a secret"),
        ({"secret": "short"}, r"secret \(ASSENT_SECRET\): needs at least 32 characters"),
        ({"environ": {**ENVIRON, "ASSENT_MAX_WAITERS": "many"}}, r"max_waiters \(ASSENT_MAX_WAITERS\)"),
        ({"org": None}, "org: say which org; the configuration has acme, globex"),
        ({"org": "umbrella"}, "org: there is no org 'umbrella'; the configuration has acme, globex"),
    ],
)
async def test_a_bad_setting_is_named_with_its_mend(
    sqlite_url: str, config: Path, *, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch, given: Any, words: str
) -> None:
    monkeypatch.setenv("ASSENT_SECRET", SECRET)  # not asked: `environ` says all there is
    with pytest.raises(StartRefusedError, match=words):
        async with embedded(sqlite_url, config, **given):
            pytest.fail("it started")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://db/assent", r"database_url \(ASSENT_DATABASE_URL\): is sqlite"),
        ("postgresql://app:hunter2@127.0.0.1:1/x", "database_url: the database does not answer"),
        ("sqlite:////nowhere/at/all/assent.db", "cannot be opened"),
    ],
)
async def test_a_database_that_will_not_do_is_told_without_its_password(
    config: Path, platform: MemoryPlatform, url: str, words: str
) -> None:
    with pytest.raises(StartRefusedError, match=words) as caught:
        async with embedded(url, config):
            pytest.fail("it started")
    assert "hunter2" not in str(caught.value)


async def test_a_database_of_a_newer_release_is_refused(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    await asyncio.to_thread(query, sqlite_url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StartRefusedError, match="the database is at 9999"):
        async with embedded(sqlite_url, config):
            pytest.fail("it started")


async def test_a_faulty_configuration_is_refused_with_its_faults(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    (config / "acme.yaml").write_text("org: acme\nrulez: []\n")
    with pytest.raises(PolicyFaultsError, match="rulez"):
        async with embedded(sqlite_url, config):
            pytest.fail("it started")


@pytest.mark.usefixtures("platform")
async def test_a_token_of_whom_the_agent_acts_for_is_asked_for_with_each_call_and_looked_at(
    database_url: str, config: Path
) -> None:
    given: list[str] = []

    async def token_of_now() -> str:
        given.append("e30.e30.e30")
        return given[-1]

    async with embedded(database_url, config, requester_token=token_of_now) as gateway:
        with structlog.testing.capture_logs() as logs:
            for n in range(2):
                await gateway.check(ToolCall(tool="by_api", arguments={"n": n}))
    assert len(given) == 2
    assert [line["event"] for line in logs].count("requester.unproven") == 2  # no issuer of the file signed such a one
