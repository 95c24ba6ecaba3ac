"""Sub-agents: what binds the one that started a session binds the session, and its own rules only add to it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.agents import acme_hooks
from tests.fixtures.gateway import ACME, open_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

FILE = ACME.replace(
    "rules:\n",
    """\
ask: {stages: [{of: [finance]}], channels: [api], timeout: 30m}
agents:
  boss:
    hooks:
      - {id: not-boss, on: PreToolUse, tools: [ping], python: tests.api.agents.acme_hooks.forbid}
  strict: {confirm_all_tools: true}
  worker: {}
  free: {inherit: false}
  looker: {}
  chief: {}
  both: {}
rules:
  - {id: boss-never, tools: [look], agents: [boss], then: deny, reason: The boss may not look.}
  - {id: look, tools: [look], then: allow}
  - {id: chief-asks, tools: [both], agents: [chief], then: ask, stages: [{of: [legal]}], channels: [api], timeout: 10m}
  - {id: both-asks, tools: [both], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}
""",
).replace("  ping: {}\n", "  ping: {}\n  look: {}\n  both: {}\n")

SEEING = "  looker: {hooks: [{id: see, on: PreToolUse, python: tests.api.agents.acme_hooks.see}]}\n"


@pytest.fixture(autouse=True)
def family(config: Path) -> None:
    (config / "acme.yaml").write_text(FILE)


async def call(g: Gateway, who: str, session: str, tool: str = "ping", **more: Any) -> dict[str, Any]:
    body = {"tool_name": tool, "tool_input": {}, "session_id": session, **more}
    return (await g.call("POST", "/v1/hooks/PreToolUse", body, who=f"agent:{who}")).json()


async def begin(g: Gateway, who: str, session: str) -> None:
    await g.call("POST", "/v1/hooks/SessionStart", {"session_id": session}, who=f"agent:{who}")


async def test_a_sub_agents_session_inherits_the_hooks_of_its_parents_and_need_not_say_so_again(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    assert (await call(g, "worker", "w"))["decision"] == "allow"
    await begin(g, "boss", "b")
    said = await call(g, "worker", "w", parent_session_id="b")
    assert (said["decision"], said["hook"]) == ("deny", "not-boss")
    assert (await call(g, "worker", "w"))["hook"] == "not-boss"
    assert (await call(g, "worker", "other"))["decision"] == "allow"
    grandchild = await call(g, "looker", "l", parent_session_id="w")
    assert grandchild["hook"] == "not-boss"
    assert g.rows("SELECT agent, session, parent_agent, parent_session FROM sessions WHERE agent = 'looker'") == [
        {"agent": "looker", "session": "l", "parent_agent": "worker", "parent_session": "w"}
    ]


async def test_it_inherits_over_the_other_door_after_a_restart_and_on_another_replica(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(sqlite_url, config, platform) as first:
        await begin(first, "boss", "b")
        body = {"tool": "ping", "arguments": {}, "session": "w", "parent_session": "b"}
        assert (await first.call("POST", "/v1/requests", body, who="agent:worker")).json()["hook"] == "not-boss"
        async with open_gateway(sqlite_url, config, platform) as second:
            assert (await call(second, "worker", "w"))["hook"] == "not-boss"
    async with open_gateway(sqlite_url, config, platform) as third:
        assert (await call(third, "worker", "w"))["hook"] == "not-boss"


async def test_another_replica_knows_it_within_a_second(
    sqlite_url: str, config: Path, platform: MemoryPlatform, gateway: Gateway
) -> None:
    async with open_gateway(sqlite_url, config, platform, clock=gateway.clock) as other:  # pyright: ignore[reportArgumentType] - a manual one
        assert (await call(other, "worker", "w"))["decision"] == "allow"
        await begin(gateway, "boss", "b")
        await call(gateway, "worker", "w", parent_session_id="b")
        await gateway.advance(timedelta(seconds=0.6))
        assert (await call(other, "worker", "w"))["hook"] == "not-boss"


async def test_the_strictest_of_the_agents_rules_wins(gateway: Gateway) -> None:
    await begin(gateway, "boss", "b")
    assert (await call(gateway, "looker", "l", "look"))["decision"] == "allow"
    said = await call(gateway, "looker", "l", "look", parent_session_id="b")
    assert (said["decision"], said["rule"]) == ("deny", "boss-never")
    assert "as for boss" in said["reason"]


async def test_two_that_ask_both_have_to_be_satisfied(gateway: Gateway) -> None:
    await begin(gateway, "chief", "c")
    request = (await call(gateway, "both", "b", "both", parent_session_id="c"))["request"]
    assert [stage["of"] for stage in request["stages"]] == [["finance"], ["legal"]]
    assert request["channels"] == ["chat", "api"]
    assert request["expires_at"] < (await call(gateway, "both", "alone", "both"))["request"]["expires_at"]
    approved = await gateway.decide(request)
    assert approved.json()["state"] == "pending"
    assert (await gateway.decide(request, who="dave@acme.example")).json()["state"] == "approved"


async def test_the_gate_of_all_tools_and_the_read_only_switch_are_inherited(gateway: Gateway) -> None:
    await begin(gateway, "strict", "s")
    assert (await call(gateway, "worker", "w", parent_session_id="s"))["request"]["rule"] == "confirm-all-tools"
    await gateway.call("PUT", "/v1/switches/read-only", {"on": True, "agent": "strict"}, who="admin")
    assert (await call(gateway, "worker", "w"))["hook"] == "read-only"
    assert (await call(gateway, "worker", "alone"))["decision"] == "allow"


async def test_only_the_file_can_stop_it_and_each_such_session_is_in_the_trail(gateway: Gateway) -> None:
    await begin(gateway, "boss", "b")
    for session in ("f1", "f2"):
        assert (await call(gateway, "free", session, parent_session_id="b"))["decision"] == "allow"
        assert (await call(gateway, "free", session))["decision"] == "allow"
    events = gateway.rows("SELECT actor, facts FROM audit_events WHERE kind = 'session.detached' ORDER BY seq")
    assert [row["actor"] for row in events] == ["agent:free"] * 2
    assert '"parent_agent":"boss"' in events[0]["facts"]
    gateway.rewrite("free: {inherit: false}", "free: {}")
    await gateway.reload()
    await gateway.advance(timedelta(seconds=1))
    assert (await call(gateway, "free", "f1"))["hook"] == "not-boss"  # the setting is gone


async def test_a_session_that_inherits_keeps_doing_so_when_the_setting_comes_later(gateway: Gateway) -> None:
    await begin(gateway, "boss", "b")
    await call(gateway, "worker", "w", parent_session_id="b")
    gateway.rewrite("worker: {}", "worker: {inherit: false}")
    await gateway.reload()
    await gateway.advance(timedelta(seconds=1))
    assert (await call(gateway, "worker", "w"))["hook"] == "not-boss"


@pytest.mark.parametrize(
    ("parent", "whose"), [("unknown", "boss"), ("globexs", "shop"), ("w", None), ("w", "worker"), ("w", "boss")]
)
async def test_a_parent_that_cannot_be_one_is_refused(gateway: Gateway, parent: str, whose: str | None) -> None:
    await gateway.call("POST", "/v1/hooks/SessionStart", {"session_id": "globexs"}, org="globex")
    await gateway.container.lineage.flush()
    await begin(gateway, "worker", "w")
    said = await gateway.call(
        "POST",
        "/v1/hooks/PreToolUse",
        {
            "tool_name": "ping",
            "tool_input": {},
            "session_id": "w",
            "parent_session_id": parent,
            **({"parent_agent": whose} if whose else {}),
        },
        who="agent:worker",
    )
    assert (said.status_code, said.json()["path"]) == (422, "parent_session")


@pytest.mark.parametrize("whose", [None, "worker"])
async def test_an_agents_own_session_need_not_have_been_seen_to_be_named_as_parent(
    either_gateway: Gateway, whose: str | None
) -> None:
    g = either_gateway
    more = {"parent_agent": whose} if whose else {}
    assert (await call(g, "worker", "child", parent_session_id="main", **more))["decision"] == "allow"
    assert g.rows("SELECT session, parent_agent, parent_session FROM sessions ORDER BY session") == [
        {"session": "child", "parent_agent": "worker", "parent_session": "main"},
        {"session": "main", "parent_agent": None, "parent_session": None},
    ]
    await begin(g, "boss", "b")
    await call(g, "worker", "main", parent_session_id="b")  # what it learns of its own parent later counts below it
    assert (await call(g, "worker", "other", parent_session_id="main"))["hook"] == "not-boss"


async def hang(g: Gateway, session: str, parent: str) -> dict[str, Any]:
    return await call(g, "worker", session, parent_session_id=parent)


async def test_no_line_gets_deeper_than_16_from_whichever_end_it_is_made(gateway: Gateway) -> None:
    for depth in range(1, 16):  # from below: s0 under s1 under … s15
        assert (await hang(gateway, f"s{depth - 1}", f"s{depth}"))["decision"] == "allow"
    too_deep = await hang(gateway, "s15", "s16")
    assert (too_deep["status"], too_deep["path"]) == (422, "parent_session")
    assert "16 deep" in too_deep["detail"]
    for depth in range(1, 9):  # two lines of nine do not become one
        assert (await hang(gateway, f"t{depth}", f"t{depth - 1}"))["decision"] == "allow"
        assert (await hang(gateway, f"u{depth}", f"u{depth - 1}"))["decision"] == "allow"
    assert (await hang(gateway, "u0", "t8"))["status"] == 422
    assert (await hang(gateway, "u1", "u0"))["decision"] == "allow"  # it keeps the parent that it has
    assert (await hang(gateway, "u0", "t6"))["decision"] == "allow"


async def test_a_line_that_is_too_deep_already_lets_no_call_pass_with_only_some_of_those_above(
    gateway: Gateway,
) -> None:
    for depth in range(1, 16):
        await hang(gateway, f"s{depth - 1}", f"s{depth}")
    await begin(gateway, "boss", "b")
    await gateway.container.lineage.flush()
    gateway.rows("UPDATE sessions SET parent_agent = 'boss', parent_session = 'b' WHERE session = 's15'")
    await gateway.advance(timedelta(seconds=1))
    assert (await call(gateway, "worker", "s0"))["status"] == 422
    assert (await call(gateway, "worker", "s1"))["hook"] == "not-boss"


async def test_a_named_sub_agents_hooks_rules_and_flags_are_added_and_none_is_dropped(gateway: Gateway) -> None:
    assert (await call(gateway, "worker", "w"))["decision"] == "allow"
    assert (await call(gateway, "worker", "w", sub_agent="boss"))["hook"] == "not-boss"
    assert (await call(gateway, "boss", "b", sub_agent="worker"))["hook"] == "not-boss"
    looked = await call(gateway, "worker", "w", "look", sub_agent="boss")
    assert (looked["decision"], looked["rule"]) == ("deny", "boss-never")
    assert (await call(gateway, "worker", "w", sub_agent="strict"))["request"]["rule"] == "confirm-all-tools"
    await gateway.call("PUT", "/v1/switches/read-only", {"on": True, "agent": "looker"}, who="admin")
    assert (await call(gateway, "worker", "w", sub_agent="looker"))["hook"] == "read-only"
    body = {"tool": "ping", "arguments": {}, "sub_agent": "boss"}
    assert (await gateway.call("POST", "/v1/requests", body, who="agent:worker")).json()["hook"] == "not-boss"


async def test_a_sub_agents_call_does_not_stand_on_a_request_that_asks_fewer_people(gateway: Gateway) -> None:
    plain = (await call(gateway, "both", "b", "both"))["request"]
    own = (await call(gateway, "both", "b", "both", sub_agent="chief"))["request"]
    assert own["id"] != plain["id"]  # its people are asked as well
    assert [stage["of"] for stage in own["stages"]] == [["finance"], ["legal"]]
    other = (await call(gateway, "both", "other", "both", sub_agent="chief"))["request"]
    assert [stage["of"] for stage in other["stages"]] == [["finance"], ["legal"]]
    assert (await call(gateway, "both", "other", "both", sub_agent="chief"))["request"]["id"] == other["id"]
    assert (await call(gateway, "both", "b", "both"))["request"]["id"] == plain["id"]


async def test_one_idempotency_key_is_not_for_an_agent_and_its_sub_agent(gateway: Gateway) -> None:
    body = {"tool": "both", "arguments": {}}
    first = await gateway.call("POST", "/v1/requests", body, who="agent:both", idempotency_key="k")
    again = await gateway.call(
        "POST", "/v1/requests", {**body, "sub_agent": "chief"}, who="agent:both", idempotency_key="k"
    )
    assert (first.status_code, again.json()["code"]) == (202, "idempotency_mismatch")


async def test_cycles_and_second_parents_are_refused(gateway: Gateway) -> None:
    for who in ("boss", "strict"):
        await begin(gateway, who, who)
    await call(gateway, "worker", "w", parent_session_id="boss")
    await call(gateway, "looker", "l", parent_session_id="w")
    for who, session, parent, why in (
        ("boss", "boss", "l", "was itself started from this one"),
        ("worker", "w", "strict", "has another parent already"),
    ):
        said = await call(gateway, who, session, parent_session_id=parent)
        assert (said["status"], said["path"]) == (422, "parent_session")
        assert why in said["detail"]
    again = await call(gateway, "worker", "w", parent_session_id="boss")
    assert again["hook"] == "not-boss"


async def test_a_name_that_two_agents_use_must_be_told_apart(gateway: Gateway) -> None:
    for who in ("boss", "looker"):
        await begin(gateway, who, "same")
    said = await call(gateway, "worker", "w", parent_session_id="same")
    assert (said["status"], said["path"]) == (422, "parent_agent")
    told = await call(gateway, "worker", "w", parent_session_id="same", parent_agent="boss")
    assert told["hook"] == "not-boss"


async def test_hooks_are_told_the_parent_session_also_when_the_call_does_not_say_it(gateway: Gateway) -> None:
    gateway.rewrite("  looker: {}\n", SEEING)
    await gateway.reload()
    await begin(gateway, "chief", "c")
    await call(gateway, "looker", "l", parent_session_id="c")
    acme_hooks.SEEN.clear()
    await call(gateway, "looker", "l")
    assert [(ctx.session, ctx.parent_session) for ctx in acme_hooks.SEEN] == [("l", "c")]


async def test_a_sub_agent_may_run_under_its_parents_session_name(gateway: Gateway) -> None:
    await begin(gateway, "boss", "run")
    assert (await call(gateway, "worker", "run", parent_session_id="run"))["hook"] == "not-boss"


async def test_an_org_without_sub_agents_pays_no_query_a_call(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"tool": "read_it", "arguments": {}, "session": "s"}
    await gateway.call("POST", "/v1/requests", body)
    await gateway.container.lineage.flush()
    asked: list[str] = []

    async def refuse(*_: object, **__: object) -> None:
        asked.append("the store")
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(gateway.container.store, "read", refuse)
        patched.setattr(gateway.container.store, "write", refuse)
        for _ in range(5):
            assert (await gateway.call("POST", "/v1/requests", body)).json()["decision"] == "allow"
    assert asked == []


async def test_old_sessions_without_a_parent_are_forgotten_and_inherited_ones_never(gateway: Gateway) -> None:
    await begin(gateway, "boss", "b")
    await call(gateway, "worker", "w", parent_session_id="b")
    await gateway.advance(timedelta(days=31))
    await gateway.container.sweep.forget()
    assert [row["session"] for row in gateway.rows("SELECT session FROM sessions")] == ["w"]
    assert (await call(gateway, "worker", "w"))["hook"] == "not-boss"
