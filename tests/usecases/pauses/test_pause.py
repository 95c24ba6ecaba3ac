"""The kill switch: a tool, an agent or an org is stopped at once, approvals included, and only people lift it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.storage.engine.transaction import Tx
from app.usecases.executing.claim import Caller
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway, ManualClock
    from tests.fixtures.memory_platform import MemoryPlatform

EVERYBODY_ELSE = ["agent:shop", "auditor", "alice@acme.example"]


async def pause(g: Gateway, *, on: bool = True, who: str = "admin", org: str = "acme", **body: Any) -> httpx2.Response:
    return await g.call("PUT", "/v1/switches/pause", {"on": on, **body}, who=who, org=org)


async def call(g: Gateway, tool: str = "ping", who: str = "agent:shop", **more: Any) -> dict[str, Any]:
    return (await g.call("POST", "/v1/requests", {"tool": tool, "arguments": {}, **more}, who=who)).json()


async def approved(g: Gateway, tool: str = "by_api", **more: Any) -> dict[str, Any]:
    request = await g.ask(tool, {"what": 1}, **more)
    await g.decide(request)
    return request


def refusals(g: Gateway) -> list[dict[str, Any]]:
    rows = g.rows("SELECT facts FROM audit_events WHERE kind = 'call.refused' ORDER BY seq")
    return [json.loads(row["facts"]) for row in rows]


@requirement("S-49")
async def test_nothing_passes_while_the_org_is_paused_not_even_what_a_rule_allows(either_gateway: Gateway) -> None:
    g = either_gateway
    assert (await pause(g, reason="the payee file leaked")).status_code == 200
    for tool in ("ping", "read_all", "pay", "never_heard_of"):
        said = await call(g, tool)
        assert (said["decision"], said["rule"]) == ("deny", "paused")
    assert g.rows("SELECT id FROM requests") == []
    assert (await pause(g, on=False)).json()["on"] is False
    assert (await call(g))["decision"] == "allow"
    assert [kind for kind, _ in g.trail() if kind == "switch.set"] == ["switch.set"] * 2
    told = [(each["rule"], each["paused"], each["tool"]) for each in refusals(g)]
    assert told == [("paused", "everything", tool) for tool in ("ping", "read_all", "pay", "never_heard_of")]


@requirement("S-49", "S-55")
async def test_the_model_is_told_that_nothing_ran_and_that_only_people_end_it(gateway: Gateway) -> None:
    setter = (await pause(gateway, tool="ping", reason="a bad\nrelease")).json()["set_by"]
    said = (await call(gateway))["message"]
    assert "The tool ping is paused since 2026-03-01 10:00:00 UTC (a bad release). Nothing was run." in said
    assert "do not call it again, in any form, until they say that it is lifted" in said
    assert "Do not retry it" in said
    assert setter not in said


@requirement("S-49", "S-03")
@pytest.mark.parametrize("whose", [{}, {"agent": "shop"}, {"tool": "by_api"}, {"agent": "shop", "tool": "by_api"}])
async def test_an_approval_is_not_handed_out_while_paused_and_is_not_spent(
    either_gateway: Gateway, whose: dict[str, Any]
) -> None:
    g = either_gateway
    request = await approved(g)
    await pause(g, reason="month end", **whose)
    refused = await g.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (409, "paused")
    assert "month end" in refused.json()["detail"]
    assert (await g.read(request))["state"] == "approved"
    assert [row["status"] for row in g.rows("SELECT status FROM grants")] == ["issued"]
    assert ("call.refused", "agent:shop") in g.trail(request)
    await pause(g, on=False, **whose)
    assert (await g.claim(request)).status_code == 200
    assert (await g.claim(request, claim_id="another")).json()["code"] == "already_claimed"


@requirement("S-49")
async def test_a_pause_of_another_tool_or_agent_stops_nothing_here(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await approved(g)
    others: list[dict[str, Any]] = [{"tool": "pay"}, {"agent": "other"}, {"agent": "other", "tool": "by_api"}]
    for whose in others:
        await pause(g, **whose)
    assert (await call(g))["decision"] == "allow"
    assert (await call(g, "pay"))["rule"] == "paused"
    assert (await call(g, who="agent:other"))["rule"] == "paused"
    assert (await g.claim(request)).status_code == 200
    await pause(g, org="globex")
    assert (await call(g))["decision"] == "allow"


@requirement("S-49")
async def test_lifting_one_pause_leaves_the_others(gateway: Gateway) -> None:
    await pause(gateway)
    await pause(gateway, tool="ping")
    await pause(gateway, on=False)
    assert (await call(gateway))["rule"] == "paused"
    assert (await call(gateway, "read_all"))["decision"] == "allow"
    await pause(gateway, on=False, tool="ping")
    assert (await call(gateway))["decision"] == "allow"


@requirement("S-49")
async def test_a_tool_is_paused_under_all_of_its_names_and_by_pattern(gateway: Gateway) -> None:
    await pause(gateway, tool="Bash")
    for name in ("bash", "Bash", "exec", "run_shell_command"):
        assert (await call(gateway, name))["rule"] == "paused", name
    await pause(gateway, tool="read_*")
    assert (await call(gateway, "read_all"))["rule"] == "paused"
    assert (await call(gateway))["decision"] == "allow"


@requirement("S-49")
async def test_who_is_above_a_session_is_paused_with_all_below(either_gateway: Gateway) -> None:
    g = either_gateway
    await g.call("POST", "/v1/hooks/SessionStart", {"session_id": "b"}, who="agent:boss")
    request = await approved(g, session="s", parent_session="b")
    await pause(g, agent="boss")
    assert (await g.claim(request)).json()["code"] == "paused"
    assert (await call(g, session="s", parent_session="b"))["rule"] == "paused"
    assert (await call(g, sub_agent="boss"))["rule"] == "paused"
    assert (await call(g, session="alone"))["decision"] == "allow"


@requirement("S-49", "S-16")
@pytest.mark.parametrize("who", EVERYBODY_ELSE)
async def test_only_an_admin_sets_or_lifts_it(gateway: Gateway, who: str) -> None:
    await pause(gateway)
    for on in (True, False):
        assert (await pause(gateway, on=on, who=who)).status_code == 403
    assert (await call(gateway))["rule"] == "paused"


@requirement("S-49")
async def test_it_is_in_force_on_other_replicas_at_once_for_approvals_and_in_a_second_for_calls(
    sqlite_url: str, config: Path, platform: MemoryPlatform, gateway: Gateway
) -> None:
    clock: ManualClock = gateway.clock  # pyright: ignore[reportAssignmentType] - of this fixture it is one
    async with open_gateway(sqlite_url, config, platform, clock=clock) as other:
        request = await approved(gateway)
        assert (await call(other))["decision"] == "allow"
        await pause(gateway)
        assert (await other.claim(request)).json()["code"] == "paused"
        clock.advance(timedelta(seconds=0.6))
        assert (await call(other))["rule"] == "paused"
    async with open_gateway(sqlite_url, config, platform, clock=clock) as again:
        assert (await call(again))["rule"] == "paused"


@requirement("S-49")
async def test_what_runs_goes_on_and_its_outcome_is_recorded_but_it_is_not_handed_out_again(gateway: Gateway) -> None:
    request = await approved(gateway)
    assert (await gateway.claim(request)).status_code == 200
    await pause(gateway)
    assert (await gateway.claim(request)).json()["code"] == "paused"  # the same claim, repeated
    assert (await gateway.report(request)).json()["state"] == "succeeded"


async def test_what_waits_goes_on_waiting_and_may_be_decided(gateway: Gateway) -> None:
    request = await gateway.ask("by_api", {"what": 1})
    await pause(gateway)
    assert (await gateway.decide(request)).json()["state"] == "approved"
    assert (await gateway.claim(request)).json()["code"] == "paused"
    await gateway.advance(timedelta(minutes=6))
    assert (await gateway.claim(request)).json()["code"] == "grant_lapsed"


async def test_a_repeated_call_meets_the_pause_and_not_its_approval(gateway: Gateway) -> None:
    body = {"tool": "by_api", "arguments": {"what": 1}, "session": "s"}
    request = (await gateway.call("POST", "/v1/requests", body, idempotency_key="k")).json()["request"]
    await gateway.decide(request)
    await pause(gateway)
    assert (await gateway.call("POST", "/v1/requests", body, idempotency_key="k")).json()["rule"] == "paused"
    await pause(gateway, on=False)
    again = (await gateway.call("POST", "/v1/requests", body, idempotency_key="k")).json()
    assert (again["attached"], again["request"]["id"]) == (True, request["id"])


async def test_names_that_nothing_knows_are_paused_with_a_warning(gateway: Gateway) -> None:
    await call(gateway)  # its key names the agent shop
    assert "warning" not in (await pause(gateway, agent="shop", tool="pay")).json()
    warned = (await pause(gateway, tool="pay_tow")).json()
    assert (warned["on"], warned["tool"], warned["agent"]) == (True, "pay_tow", None)
    assert 'did you mean "pay_two"?' in warned["warning"]
    listed = (await gateway.call("GET", "/v1/switches", who="admin")).json()["items"]
    assert [(each["name"], each["agent"], each["tool"]) for each in listed] == [
        ("pause", None, "pay_tow"),
        ("pause", "shop", "pay"),
    ]


@requirement("S-49")
async def test_while_nothing_is_paused_a_claim_asks_the_database_one_question_about_it(
    either_gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = either_gateway
    asked: list[str] = []

    def counting(before: Callable[..., Any]) -> Callable[..., Any]:
        def asking(self: Tx, statement: Any, **parameters: object) -> Any:
            asked.append(str(statement._construct))
            return before(self, statement, **parameters)

        return asking

    request = await approved(g)
    await pause(g, on=False)
    for name in ("all", "all_now"):
        monkeypatch.setattr(Tx, name, counting(getattr(Tx, name)))
    await g.container.claim(
        Caller(org="acme", agent="shop"), request_id=request["id"], digest=request["digest"], claim_id="c-1"
    )
    assert len([text for text in asked if "FROM switches" in text]) == 1  # with the request, or instead of it
