"""Without a live grant of exactly this call, an executor runs nothing; and of any number at once, one runs it."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from assent.executor.epoch import Epoch
from assent.executor.executor import NotRun, ToolFailed, ToolSucceeded, ToolUnknown
from tests.fixtures.enforced import CALL, EXECUTOR, approved, enforce, reported
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement
from tests.sdk.executor.executor_gateway import Spy, executing, restored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

AT_ONCE = 64


@pytest.fixture
async def gateway(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    async with open_gateway(sqlite_url, config, platform) as running:
        yield await enforce(running)


@pytest.fixture
def spy() -> Spy:
    return Spy()


# --- S-01: what has no grant ------------------------------------------------------------------------------------------


async def no_grant(gateway: Gateway) -> dict[str, Any]:
    return await gateway.ask("by_api", CALL)


async def random_bytes(gateway: Gateway) -> dict[str, Any]:
    request = await approved(gateway)
    return {**request, "id": "req_" + "\u00ff\u0000".encode().hex() * 5}


async def of_another_org(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("by_api", CALL, org="globex")
    await gateway.decide(request, who="gina@globex.example")
    return request


async def of_another_agents_own_tool(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("long", CALL, who="agent:other")
    await gateway.press(request)
    return request


async def of_another_tool(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("pay", {"payee": "Acme", "amount": 1})
    await gateway.press(request)
    return request


async def denied(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("by_api", CALL)
    await gateway.decide(request, "deny")
    return request


async def expired(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("by_api", CALL)
    await gateway.advance(timedelta(minutes=31))
    return request


async def cancelled(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("by_api", CALL)
    await gateway.call("POST", f"/v1/requests/{request['id']}/cancel", {})
    return request


async def lapsed(gateway: Gateway) -> dict[str, Any]:
    request = await approved(gateway)
    await gateway.advance(timedelta(minutes=6))
    return request


async def consumed(gateway: Gateway) -> dict[str, Any]:
    request = await approved(gateway)
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200
    return request


async def settled(gateway: Gateway) -> dict[str, Any]:
    request = await consumed(gateway)
    assert (await reported(gateway, request)).status_code == 200
    return request


async def revoked(gateway: Gateway) -> dict[str, Any]:
    request = await approved(gateway)
    gateway.rewrite("finance: [alice@acme.example, ", "finance: [")
    await gateway.reload()
    return request


async def with_the_digest_of_other_arguments(gateway: Gateway) -> dict[str, Any]:
    other = await approved(gateway, arguments={**CALL, "amount": "0.01"})
    request = await approved(gateway)
    return {**request, "digest": other["digest"]}


async def with_the_digest_of_the_call_alone(gateway: Gateway) -> dict[str, Any]:
    request = await approved(gateway)
    return {**request, "digest": request["call_digest"]}


WITHOUT = [
    no_grant, random_bytes, of_another_org, of_another_agents_own_tool, of_another_tool, denied, expired, cancelled,
    lapsed, consumed, settled, revoked, with_the_digest_of_other_arguments, with_the_digest_of_the_call_alone,
]  # fmt: skip


@requirement("S-01", "S-02")
@pytest.mark.parametrize("case", WITHOUT, ids=lambda case: case.__name__)
@pytest.mark.sampled(4)
async def test_without_a_grant_of_this_very_call_nothing_runs(
    gateway: Gateway, spy: Spy, case: Callable[[Gateway], Awaitable[dict[str, Any]]]
) -> None:
    """The executor is handed each request as it stands there, its claim forced past everything that it looks at."""
    request = await case(gateway)
    async with executing(gateway, spy) as (executor, line):
        whole = line.handle_async_request

        async def forced(asked: httpx2.Request) -> httpx2.Response:
            """Answer a read with an approved request of that id: whatever refuses now is the claim itself."""
            answer = await whole(asked)
            if asked.method != "GET" or not asked.url.path.endswith(request["id"]):
                return answer
            shown = {**request, "state": "approved", "tool": "by_api", "enforced": True, "execution": None}
            return type(answer)(200, content=json.dumps(shown), headers={"Date": answer.headers["Date"]})

        line.handle_async_request = forced  # type: ignore[method-assign]
        outcome = (await executor.carry_out(request["id"])).outcome
        line.handle_async_request = whole  # type: ignore[method-assign]
    # What was approved for another tool is claimed here, and then not run: what came back was not what was asked for.
    assert isinstance(outcome, ToolFailed if case is of_another_tool else NotRun)
    assert spy.calls == []


@requirement("S-01", "S-16")
@pytest.mark.parametrize("who", ["agent:shop", "agent:other", "admin", "auditor", "alice@acme.example"])
async def test_any_other_key_runs_nothing_and_is_told_what_to_do(gateway: Gateway, spy: Spy, who: str) -> None:
    request = await approved(gateway)
    async with executing(gateway, spy, who=who) as (executor, _):
        outcome = (await executor.carry_out(request["id"])).outcome
    assert isinstance(outcome, NotRun)
    assert outcome.code == ("not_found" if who == "agent:other" else "wrong_key")
    assert who == "agent:other" or "assent keys create --scope executor" in outcome.why
    assert spy.calls == []
    assert (await gateway.read(request))["state"] == "approved"


@requirement("S-01")
async def test_a_tool_that_is_not_enforced_is_left_to_its_agent(gateway: Gateway, spy: Spy) -> None:
    request = await gateway.ask("pay_two", {"payee": "x"})
    async with executing(gateway, spy, tool="pay_two", who="agent:shop") as (executor, line):
        assert await executor.once() == []
        outcome = (await executor.carry_out(request["id"])).outcome
    assert isinstance(outcome, NotRun)
    assert (outcome.code, "claim" in line.called) == ("not_enforced", False)
    assert "enforced: true" in outcome.why


async def test_one_executor_runs_what_every_agent_of_its_org_and_every_rule_has_approved(
    gateway: Gateway, spy: Spy
) -> None:
    one, two = await approved(gateway), await approved(gateway, arguments={**CALL, "amount": "2.00"}, who="agent:other")
    async with executing(gateway, spy) as (executor, _):
        executor.tool("ping", run=spy.run)
        said = await gateway.call("POST", "/v1/requests", {"tool": "ping", "arguments": {"host": "a"}})
        carried = await executor.once()
        assert await executor.once() == []
    three = said.json()["request"]
    assert {each.request_id for each in carried} == {one["id"], two["id"], three["id"]}
    assert all(each.outcome == ToolSucceeded(result="paid") for each in carried)
    # The arguments are the stored ones, the sensitive ones among them, which the list does not show.
    ran = [arguments for arguments, _ in spy.calls]
    assert all(arguments in ran for arguments in (CALL, {**CALL, "amount": "2.00"}, {"host": "a"}))


# --- S-03: at once ----------------------------------------------------------------------------------------------------


async def claimed_at_once(gateway: Gateway, rounds: int) -> None:
    headers = await gateway.key(EXECUTOR)
    for number in range(rounds):
        request = await approved(gateway, arguments={**CALL, "amount": f"{number}.00"}, session=f"s-{number}")
        path = f"/v1/requests/{request['id']}/claim"
        said = await asyncio.gather(
            *(
                gateway.http.post(path, json={"digest": request["digest"], "claim_id": f"c-{n}"}, headers=headers)
                for n in range(AT_ONCE)
            )
        )
        refused = [each.json()["code"] for each in said if each.status_code == 409]
        assert (sum(each.status_code == 200 for each in said), refused) == (1, ["already_claimed"] * (AT_ONCE - 1))
    grants = {row["status"] for row in gateway.rows("SELECT status FROM grants")}
    assert (grants, len(gateway.rows("SELECT id FROM executions"))) == ({"consumed"}, rounds)


@requirement("S-03")
@pytest.mark.timeout(120)
async def test_of_sixty_four_claims_at_once_exactly_one_is_given_the_call(either_gateway: Gateway) -> None:
    await claimed_at_once(await enforce(either_gateway), 3)


@requirement("S-03")
@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_of_sixty_four_claims_at_once_exactly_one_is_given_the_call_a_thousand_times(
    either_gateway: Gateway, *, bounded: bool
) -> None:
    await claimed_at_once(await enforce(either_gateway), 20 if bounded else 1_000)


# --- a database that was set back -------------------------------------------------------------------------------------


@requirement("F-09")
async def test_a_gateway_with_an_older_database_is_not_followed_also_after_a_restart(
    gateway: Gateway, spy: Spy, tmp_path: Path
) -> None:
    first, second = await approved(gateway), await approved(gateway, arguments={**CALL, "amount": "2.00"})
    file = tmp_path / "executor.state"

    async def told(request: dict[str, Any], epoch: int) -> Any:
        async with executing(gateway, spy, state_file=file) as (executor, line):
            restored(line, epoch)
            return (await executor.carry_out(request["id"])).outcome

    assert await told(first, 2) == ToolSucceeded(result="paid")
    assert file.read_text() == "2\n"
    assert isinstance(await told(second, 1), ToolUnknown)
    assert len(spy.calls) == 1
    after = await gateway.read(second)
    assert after["state"] == "unknown"
    assert "old database" in after["execution"]["error"]


@pytest.mark.parametrize("text", ["", "two", "-1", "1 2", "9" * 40])
def test_a_state_file_that_holds_something_else_is_refused_at_once(tmp_path: Path, text: str) -> None:
    file = tmp_path / "state"
    file.write_text(text)
    with pytest.raises(ValueError, match="state file"):
        Epoch(file)
