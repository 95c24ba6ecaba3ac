"""What hooks and callers try at the hooks' door: secrets in the trail, bags, routes, results, other names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assent.hooks.contract.verdicts import HookResult, allow, ask, deny, modify, route
from tests.fixtures.gateway import ACME

if TYPE_CHECKING:
    from pathlib import Path

    from assent.hooks.contract.context import HookContext
    from tests.fixtures.gateway import Gateway

HOOKS = """\
ask: {stages: [{of: [finance]}], channels: [api], timeout: 30m}
unknown_tools: rules
hooks:
  - {id: leaky, on: PreToolUse, tools: [pay], python: tests.api.agents.test_hooks_hardening.leaky, on_error: allow}
  - {id: noter, on: PreToolUse, tools: [pay_two], python: tests.api.agents.test_hooks_hardening.note}
  - {id: box, on: PreToolUse, tools: [by_api, ping], python: tests.api.agents.test_hooks_hardening.to_the_box}
  - {id: tagger, on: PreToolUse, tools: [tag_it], python: tests.api.agents.test_hooks_hardening.tag}
  - {id: meek, on: PreToolUse, tools: [tag_meekly], python: tests.api.agents.test_hooks_hardening.tag, on_error: allow}
  - {id: unsure, on: PreToolUse, tools: [tag_unsure], python: tests.api.agents.test_hooks_hardening.tag, on_error: ask}
  - {id: swap, on: PreToolUse, tools: [swapped], python: tests.api.agents.test_hooks_hardening.swap}
  - {id: seen, on: PostToolUse, tools: [pay], python: tests.api.agents.test_hooks_hardening.tell_the_result}
  - {id: passing, on: PostToolUse, tools: [ping], python: tests.api.agents.test_hooks_hardening.say_nothing}
  - {id: failed, on: PostToolUseFailure, tools: [ping], python: tests.api.agents.test_hooks_hardening.say_nothing}
  - {id: start, on: SessionStart, python: tests.api.agents.test_hooks_hardening.tag_the_start}
rules:
  - {id: no-shell, tools: [exec], then: deny, reason: No shell.}
  - {id: only-when, tools: [swapped], when: args.amount > 10, then: ask}
  - {id: free, tools: ["tag_*", swapped], then: allow}
"""
SECRET = "DE02-SECRET"


def leaky(ctx: HookContext) -> None:
    raise ValueError(f"cannot parse the account {ctx.args.get('account')}")


def note(ctx: HookContext) -> HookResult:
    account = ctx.args.get("account")
    return ask("sure?").with_side_effects(account=account, seen={"list": [f"of {account}"], account: 1}, whole=ctx.args)


def to_the_box(ctx: HookContext) -> HookResult | None:
    return route("local", "make pay", network=False) if "boxed" in ctx.args else None


def tag(ctx: HookContext) -> HookResult:
    value: Any = {"large": "x" * 17_000, "huge int": 2**60, "torn": "\ud800", "fine": "x"}[str(ctx.args["tag"])]
    return allow().with_tags(page=value, small=1)


def tag_the_start(ctx: HookContext) -> HookResult:
    return allow().with_tags(page="x" * 17_000)


def swap(ctx: HookContext) -> HookResult:
    return modify({**ctx.args, "amount": 11 if ctx.args["amount"] == 1 else 1})


def tell_the_result(ctx: HookContext) -> HookResult:
    return deny(f"saw {ctx.result}")


def say_nothing(ctx: HookContext) -> None:
    return


@pytest.fixture(autouse=True)
def hardened(config: Path) -> None:
    tools = "  ping: {}\n  tag_it: {}\n  tag_meekly: {}\n  tag_unsure: {}\n  swapped: {}\n"
    tools += "  exec: {requires_confirmation: true, writes: true, sensitive: [env]}\n"
    (config / "acme.yaml").write_text(ACME.replace("rules:\n", HOOKS, 1).replace("  ping: {}\n", tools))


async def pre(g: Gateway, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    body = {"tool_name": tool, "tool_input": arguments or {}, "session_id": "s", **more}
    return (await g.call("POST", "/v1/hooks/PreToolUse", body)).json()


def events(g: Gateway, kind: str) -> list[str]:
    return [row["facts"] for row in g.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")]


def everything(g: Gateway) -> str:
    return "\n".join(row["facts"] for row in g.rows("SELECT facts FROM audit_events"))


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "kind"), [("pay", "hook.faulted"), ("pay_two", "hook.noted")])
async def test_sensitive_arguments_stay_out_of_what_hooks_note_and_fail_with(
    gateway: Gateway, tool: str, kind: str
) -> None:
    assert (await pre(gateway, tool, {"payee": "x", "amount": 5, "account": SECRET}))["decision"] == "ask"
    [facts] = events(gateway, kind)
    assert "•••" in facts
    assert SECRET not in everything(gateway)


async def test_a_sensitive_number_is_hidden_as_well(gateway: Gateway) -> None:
    await pre(gateway, "pay_two", {"account": 90210123})
    assert "•••" in events(gateway, "hook.noted")[0]
    assert "90210123" not in everything(gateway)


async def test_sensitive_arguments_stay_out_of_what_a_hook_says_of_the_result(gateway: Gateway) -> None:
    body = {"tool_name": "pay", "tool_input": {"account": SECRET}, "tool_response": f"sent {SECRET}"}
    said = (await gateway.call("POST", "/v1/hooks/PostToolUse", body)).json()
    assert said["hook"] == "seen"
    assert "saw sent •••" in events(gateway, "hook.blocked")[0]
    assert SECRET not in everything(gateway)


async def test_the_requests_own_arguments_are_hidden_where_the_report_leaves_them_out(gateway: Gateway) -> None:
    arguments = {"payee": "x", "amount": 5, "account": SECRET}
    request = (await pre(gateway, "pay", arguments))["request"]
    await gateway.decide(request)
    await gateway.claim(request)
    body = {"tool_name": "pay", "request_id": request["id"], "tool_response": f"sent {SECRET}"}
    said = (await gateway.call("POST", "/v1/hooks/PostToolUse", body)).json()
    assert said["settled"]["changed"] is True
    assert "saw sent •••" in events(gateway, "hook.blocked")[0]
    assert SECRET not in everything(gateway)


# --- what is judged is what is answered -------------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "passed", "decision"), [(1, 11, "ask"), (11, 1, "allow")])
async def test_the_rules_judge_and_the_answer_has_what_the_hooks_left(
    gateway: Gateway, sent: int, passed: int, decision: str
) -> None:
    body = await pre(gateway, "swapped", {"amount": sent})
    assert (body["decision"], body["arguments"]) == (decision, {"amount": passed})
    if decision == "ask":
        assert body["request"]["arguments"] == {"amount": passed}


# --- sandboxes --------------------------------------------------------------------------------------------------------


async def test_a_routed_call_that_people_are_asked_about_is_denied_for_the_claim_could_not_carry_the_route(
    gateway: Gateway,
) -> None:
    body = await pre(gateway, "by_api", {"boxed": 1}, can_route=True)
    assert (body["decision"], body["hook"]) == ("deny", "box")
    assert "sandbox 'local'" in body["reason"]
    assert "an approval cannot carry the sandbox" in body["reason"]
    assert "route" not in body
    assert gateway.rows("SELECT id FROM requests") == []


async def test_a_routing_is_in_the_trail_and_the_command_is_what_the_rules_judge(gateway: Gateway) -> None:
    body = await pre(gateway, "ping", {"boxed": 1, "command": "ls"}, can_route=True)
    assert body["route"] == {"provider": "local", "command": "make pay", "options": {"network": False}}
    assert body["arguments"]["command"] == "make pay"
    [facts] = events(gateway, "hook.noted")
    assert '"routed":"local"' in facts
    assert '"hook":"box"' in facts


async def test_a_routed_call_does_not_come_back_to_a_request_of_before(gateway: Gateway) -> None:
    body = {"tool": "ping", "arguments": {"boxed": 1}, "can_route": True, "evaluation": False}
    gateway.rewrite("tools: [by_api, ping]", "tools: [by_api]")
    gateway.rewrite("  - {id: harmless, tools: [ping], then: allow}", "  - {id: harmless, tools: [ping], then: ask}")
    await gateway.reload()
    assert (await gateway.call("POST", "/v1/requests", body, idempotency_key="k")).status_code == 202
    gateway.rewrite("tools: [by_api]", "tools: [by_api, ping]")
    gateway.rewrite("  - {id: harmless, tools: [ping], then: ask}", "  - {id: harmless, tools: [ping], then: allow}")
    await gateway.reload()
    said = (await gateway.call("POST", "/v1/requests", body, idempotency_key="k")).json()
    assert said["decision"] == "deny"
    assert "cannot carry the sandbox" in said["reason"]


# --- the bag ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["large", "huge int"])
async def test_a_tag_that_no_body_could_bring_back_is_dropped_and_its_hooks_fault(gateway: Gateway, what: str) -> None:
    denied = await pre(gateway, "tag_it", {"tag": what}, metadata={"kept": 1})
    assert (denied["decision"], denied["hook"]) == ("deny", "tagger")
    assert "its tags are dropped (page)" in denied["reason"]
    assert denied["metadata"] == {"kept": 1, "small": 1}
    passed = await pre(gateway, "tag_meekly", {"tag": what})
    assert (passed["decision"], passed["tags"]) == ("allow", {"small": 1})
    assert "its tags are dropped" in events(gateway, "hook.faulted")[0]
    asked = await pre(gateway, "tag_unsure", {"tag": what})
    assert asked["decision"] == "ask"
    assert "its tags are dropped" in asked["request"]["reason"]


@pytest.mark.parametrize("what", ["fine", "torn"])
async def test_what_comes_back_is_taken_again(gateway: Gateway, what: str) -> None:
    first = await pre(gateway, "tag_it", {"tag": what}, metadata={"kept": {"deep": [1]}})
    assert first["decision"] == "allow"
    assert (await pre(gateway, "tag_it", {"tag": what}, metadata=first["metadata"]))["decision"] == "allow"


async def test_a_tag_that_pushes_an_almost_full_bag_over_the_edge_is_dropped_and_the_rest_stays(
    gateway: Gateway,
) -> None:
    full = {"old": "x" * 16_300}
    said = await pre(gateway, "tag_meekly", {"tag": "fine"}, metadata=full)
    assert said["metadata"]["old"] == full["old"]
    assert (await pre(gateway, "tag_meekly", {"tag": "fine"}, metadata=said["metadata"]))["decision"] == "allow"


async def test_where_nothing_can_be_stopped_the_tag_is_dropped_and_the_trail_says_so(gateway: Gateway) -> None:
    said = (await gateway.call("POST", "/v1/hooks/SessionStart", {"session_id": "s"})).json()
    assert (said["decision"], said.get("tags")) == ("allow", None)
    assert "its tags are dropped" in events(gateway, "hook.faulted")[0]


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", ["x" * 1_100_000, ["x" * 1_100_000]])
async def test_a_result_that_is_too_large_to_be_looked_at_is_withheld(gateway: Gateway, response: object) -> None:
    body = {"tool_name": "ping", "tool_response": response}
    said = (await gateway.call("POST", "/v1/hooks/PostToolUse", body)).json()
    assert (said["decision"], said["hook"]) == ("deny", "result-size")
    assert "xxx" not in said["result"]
    assert '"hook":"result-size"' in events(gateway, "hook.blocked")[0]
    unhooked = (await gateway.call("POST", "/v1/hooks/PostToolUse", {**body, "tool_name": "other"})).json()
    assert unhooked["decision"] == "allow"


async def test_an_error_that_is_too_large_to_be_looked_at_is_withheld_too(gateway: Gateway) -> None:
    body = {"tool_name": "ping", "error": "x" * 1_100_000}
    said = (await gateway.call("POST", "/v1/hooks/PostToolUseFailure", body)).json()
    assert (said["decision"], said["hook"]) == ("deny", "result-size")


async def test_a_result_that_no_hook_replaced_is_not_repeated(gateway: Gateway) -> None:
    body = {"tool_name": "ping", "tool_response": {"rows": [1, 2]}}
    assert "result" not in (await gateway.call("POST", "/v1/hooks/PostToolUse", body)).json()


# --- other names of a tool --------------------------------------------------------------------------------------------

SHELLS = ("exec", "bash", "Bash", "Exec", "run_shell_command", "local-shell")


@pytest.mark.parametrize("name", SHELLS)
async def test_no_name_of_the_shell_leads_around_a_rule_about_exec(gateway: Gateway, name: str) -> None:
    gateway.rewrite("default: deny", "default: allow")
    await gateway.reload()
    body = await pre(gateway, name, {"command": "id"})
    assert (body["decision"], body["rule"]) == ("deny", "no-shell")
    assert "No shell." in body["reason"]


@pytest.mark.parametrize("name", SHELLS)
async def test_flags_and_sensitive_fields_of_exec_count_under_every_name(gateway: Gateway, name: str) -> None:
    gateway.rewrite("default: deny", "default: allow")
    gateway.rewrite("tools: [exec], then: deny, reason: No shell.", "tools: [exec], then: allow")
    await gateway.reload()
    body = await pre(gateway, name, {"command": "id", "env": "TOKEN=hush-hush"})
    assert (body["decision"], body["request"]["rule"]) == ("ask", "requires-confirmation")
    rows = gateway.rows("SELECT sensitive FROM requests")
    assert ["env" in str(row["sensitive"]) for row in rows] == [True]


@pytest.mark.parametrize("name", ["exec", "Bash", "shell"])
async def test_a_schema_under_one_name_holds_under_another(gateway: Gateway, name: str) -> None:
    schema = "schema: {type: object, required: [command], properties: {command: {type: string}}}"
    gateway.rewrite("exec: {requires_confirmation: true,", f"exec: {{{schema}, requires_confirmation: true,")
    await gateway.reload()
    assert (await pre(gateway, name, {"cmd": "id"}))["code"] == "bad_arguments"


async def test_a_name_that_the_file_does_not_write_is_held_to_all_that_it_writes_of_the_same_tool(
    gateway: Gateway,
) -> None:
    gateway.rewrite("default: deny", "default: allow")
    gateway.rewrite("tools: [exec], then: deny", "tools: [bash], then: deny")
    gateway.rewrite("exec: {requires", "bash: {requires")
    await gateway.reload()
    for name in ("bash", "Bash", "shell"):
        assert (await pre(gateway, name, {"command": "id"}))["rule"] == "no-shell"


async def test_rules_that_name_both_names_and_the_default_answer_where_they_stand(gateway: Gateway) -> None:
    """A file that allows a tool by its runtime's name is not turned around by its own catch-all."""
    gateway.rewrite("[exec], then: deny, reason: No shell.}", "[Shell], then: allow}")
    gateway.rewrite("exec: {requires_confirmation: true, writes: true, sensitive: [env]}", "Shell: {}")
    path = gateway.config / "acme.yaml"
    path.write_text(path.read_text() + '  - {id: all-else, tools: ["*"], then: deny}\n')
    await gateway.reload()
    assert (await pre(gateway, "Shell", {"command": "id"}))["decision"] == "allow"
    assert (await pre(gateway, "Bash", {"command": "id"}))["decision"] == "deny"
