"""Groups that a platform keeps: who is in them decides, as last told, and nobody where that cannot be said."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import AccountStatus
from app.usecases.platforms import fetch_groups
from app.usecases.platforms.fetch_groups import TRUSTED_FOR
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.memory_platform import MemoryChannel, MemoryPlatform
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

ALICE, BOB, CAROL = (f"{name}@acme.example" for name in ("alice", "bob", "carol"))
LEGAL = "  legal: [dave@acme.example, alice@acme.example]\n"
BOARD = LEGAL + "  board: {channel: chat, group: S0BOARD}\n"
BY_API = "- {id: by-api, tools: [by_api], then: ask, stages: [{of: [finance]}]"


async def with_board(g: Gateway, *accounts: str) -> None:
    """Let the by_api rule ask the platform's group, with these accounts in it."""
    g.platform.groups["group:S0BOARD"] = accounts
    g.rewrite(LEGAL, BOARD)
    g.rewrite(BY_API, BY_API.replace("[finance]", "[board]"))
    await g.reload()


async def submitted(g: Gateway) -> dict[str, Any]:
    return (await g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": 1}})).json()


@requirement("S-07")
async def test_whoever_is_in_the_platforms_group_decides_and_nobody_else_does(gateway: Gateway) -> None:
    await with_board(gateway, "U_BOB", "U_CAROL", "U_STRANGER")
    request = await gateway.ask("by_api", {"n": 1})
    assert (await gateway.decide(request, who=ALICE)).json()["code"] == "not_eligible"
    assert (await gateway.decide(request, who=BOB)).json()["state"] == "approved"


@requirement("S-07")
@pytest.mark.parametrize("members", [(), ("U_STRANGER",)], ids=["empty", "only strangers"])
async def test_a_group_without_anybody_we_know_is_nobody_and_the_call_is_denied(
    gateway: Gateway, members: tuple[str, ...]
) -> None:
    await with_board(gateway, *members)
    said = await submitted(gateway)
    assert said["decision"] == "deny"
    assert "Nobody who may approve" in said["reason"]


@requirement("S-07")
async def test_a_group_that_the_platform_does_not_know_is_nobody(gateway: Gateway) -> None:
    await with_board(gateway, "U_BOB")
    del gateway.platform.groups["group:S0BOARD"]
    gateway.clock.advance(TRUSTED_FOR + timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    await gateway.container.fetch_groups()
    assert (await submitted(gateway))["decision"] == "deny"


@requirement("S-07", "S-27")
async def test_what_a_platform_said_holds_for_five_minutes_and_then_nobody_may_decide(gateway: Gateway) -> None:
    await with_board(gateway, "U_BOB")
    request = await gateway.ask("by_api", {"n": 1})
    del gateway.platform.groups["group:S0BOARD"]
    await gateway.container.fetch_groups()
    assert gateway.container.book.current("acme").policy.directory.members("board") == {BOB}
    gateway.clock.advance(TRUSTED_FOR + timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    await gateway.container.fetch_groups()
    assert (await gateway.decide(request, who=BOB)).json()["code"] == "not_eligible"
    gateway.platform.groups["group:S0BOARD"] = ("U_BOB",)
    await gateway.container.fetch_groups()
    assert (await gateway.decide(request, who=BOB)).json()["state"] == "approved"


@requirement("S-07", "S-27")
@pytest.mark.parametrize("fault", [RuntimeError("a defect"), KeyError("members"), TimeoutError()], ids=repr)
async def test_what_a_platform_said_grows_old_whatever_goes_wrong_when_it_is_asked_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    await with_board(gateway, "U_BOB")
    request = await gateway.ask("by_api", {"n": 1})

    async def broken(_self: MemoryChannel, _source: str) -> tuple[str, ...]:
        raise fault

    monkeypatch.setattr(MemoryChannel, "group_members", broken)
    gateway.clock.advance(TRUSTED_FOR + timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    await gateway.container.fetch_groups()
    assert (await gateway.decide(request, who=BOB)).json()["code"] == "not_eligible"


@requirement("S-07", "S-27")
async def test_a_platform_that_never_answers_keeps_nobody_in_its_groups(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_board(gateway, "U_BOB")
    monkeypatch.setattr(fetch_groups, "_PATIENCE", 0.01)

    async def silent(_self: MemoryChannel, _source: str) -> tuple[str, ...]:
        return await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(MemoryChannel, "group_members", silent)
    gateway.clock.advance(TRUSTED_FOR + timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    await gateway.container.fetch_groups()
    assert (await submitted(gateway))["decision"] == "deny"


@requirement("S-27")
async def test_whoever_left_the_group_before_the_claim_has_approved_nothing(gateway: Gateway) -> None:
    await with_board(gateway, "U_BOB", "U_CAROL")
    request = await gateway.ask("by_api", {"n": 1})
    assert (await gateway.decide(request, who=BOB)).json()["state"] == "approved"
    gateway.platform.groups["group:S0BOARD"] = ("U_CAROL",)
    await gateway.container.fetch_groups()
    said = await gateway.claim(request)
    assert (said.status_code, said.json()["code"]) == (409, "not_approved")


@requirement("S-06", "S-28")
async def test_a_deactivated_account_in_the_group_is_nobody(gateway: Gateway) -> None:
    gateway.platform.statuses["U_BOB"] = AccountStatus.DEACTIVATED
    await gateway.container.confirm_accounts()
    await with_board(gateway, "U_BOB")
    assert (await submitted(gateway))["decision"] == "deny"


async def test_a_group_is_known_again_before_the_first_call_after_a_change_of_the_file(gateway: Gateway) -> None:
    """The hooks are not built anew when people come and go, but the people are those of the platform at once."""
    await with_board(gateway, "U_BOB")
    first = gateway.container.hooks.current("acme")[1]
    gateway.platform.groups["group:S0BOARD"] = ("U_BOB", "U_CAROL")
    await gateway.container.fetch_groups()
    loaded, hooks = gateway.container.hooks.current("acme")
    assert loaded.policy.directory.members("board") == {BOB, CAROL}
    assert hooks is first
    gateway.rewrite("Nobody may.", "Nobody may do that.")
    await gateway.reload()
    assert gateway.container.book.current("acme").policy.directory.members("board") == {BOB, CAROL}


@requirement("S-07")
@pytest.mark.parametrize(("then", "code"), [(("U_BOB",), 200), (("U_CAROL",), 409), ((), 409)])
async def test_an_approval_waits_for_a_group_that_was_not_told_since_a_restart_and_ends_by_what_is_told(
    database_url: str, config: Path, platform: MemoryPlatform, then: tuple[str, ...], code: int
) -> None:
    clock = ManualClock() if database_url.startswith("sqlite") else None
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        await with_board(g, "U_BOB")
        request = await g.ask("by_api", {"n": 1})
        assert (await g.decide(request, who=BOB)).json()["state"] == "approved"
    del platform.groups["group:S0BOARD"]
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        for _ in range(2):
            early = await g.claim(request)
            assert (early.status_code, early.json()["code"], early.headers["retry-after"]) == (503, "unavailable", "2")
            assert (await g.read(request))["state"] == "approved"
        assert g.rows("SELECT id FROM executions") == []
        platform.groups["group:S0BOARD"] = then
        await g.container.fetch_groups()
        assert (await g.claim(request)).status_code == code
        assert (await g.read(request))["state"] == ("executing" if code == 200 else "lapsed")


async def test_a_group_that_was_told_before_and_is_not_any_more_keeps_no_approval(gateway: Gateway) -> None:
    await with_board(gateway, "U_BOB")
    request = await gateway.ask("by_api", {"n": 1})
    gateway.clock.advance(TRUSTED_FOR - timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    assert (await gateway.decide(request, who=BOB)).json()["state"] == "approved"
    del gateway.platform.groups["group:S0BOARD"]
    gateway.clock.advance(timedelta(seconds=2))  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    await gateway.container.fetch_groups()
    assert (await gateway.claim(request)).json()["code"] == "not_approved"
    assert (await gateway.read(request))["state"] == "lapsed"
