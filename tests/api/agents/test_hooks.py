"""The hooks' door: every moment over HTTP, and no way to a tool that goes around the hooks of PreToolUse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assent.hooks.contract.moments import Moment
from tests.api.agents import acme_hooks
from tests.fixtures.gateway import ACME, open_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

NOTE_WANTS = "The hook by-note wants people to be asked: “the note wants people”"
ASK = "ask: {stages: [{of: [finance]}], channels: [api], timeout: 30m}\n"
HOOKS = """\
hooks:
  - {id: by-note, on: PreToolUse, tools: [pay, ping, destroy, by_api], python: tests.api.agents.acme_hooks.by_note}
  - {id: broken, on: PreToolUse, tools: [long], python: tests.api.agents.acme_hooks.crash}
  - {id: broken-asks, on: PreToolUse, tools: [staged], python: tests.api.agents.acme_hooks.crash, on_error: ask}
  - {id: broken-passes, on: PreToolUse, tools: [read_all], python: tests.api.agents.acme_hooks.crash, on_error: allow}
  - {id: slow, on: PreToolUse, tools: [owned], python: tests.api.agents.acme_hooks.hang, timeout: 50ms}
  - {id: see, on: PreToolUse, python: tests.api.agents.acme_hooks.see, priority: 200}
  - {id: tidy, on: UserPromptSubmit, python: tests.api.agents.acme_hooks.tidy_prompt}
  - {id: polite, on: UserPromptSubmit, python: tests.api.agents.acme_hooks.Polite, options: {word: damn}}
  - {id: cheaper, on: PreModelRequest, python: tests.api.agents.acme_hooks.cheaper}
  - {id: clean, on: PostToolUse, python: tests.api.agents.acme_hooks.clean}
  - {id: seen-after, on: PostToolUse, python: tests.api.agents.acme_hooks.see, priority: 1}
  - {id: start, on: SessionStart, python: tests.api.agents.acme_hooks.start}
  - {id: once-more, on: Stop, python: tests.api.agents.acme_hooks.once_more}
  - {id: broken-end, on: SessionEnd, python: tests.api.agents.acme_hooks.crash}
agents:
  shop: {}
  careful: {confirm_all_tools: true}
  clerk:
    hooks:
      - {id: not-clerks, on: PreToolUse, tools: [ping], python: tests.api.agents.acme_hooks.forbid}
"""
TOOLS = "  ping: {}\n  read_all: {}\n  refund: {requires_confirmation: true}\n"
RULES = "  - {id: refunds, tools: [refund], then: allow}\nrules:\n"


@pytest.fixture
async def hooked(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    """Run a gateway whose acme has hooks of every kind, and an `ask` of its own."""
    text = ACME.replace("  ping: {}\n", TOOLS).replace("rules:\n", f"{ASK}{HOOKS}rules:\n")
    text += "  - {id: refunds, tools: [refund], then: allow}\n"
    (config / "acme.yaml").write_text(text)
    acme_hooks.SEEN.clear()
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


async def pre(g: Gateway, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> httpx2.Response:
    who = more.pop("who", "agent:shop")
    body = {"tool_name": tool, "tool_input": arguments or {}, "session_id": "s", **more}
    return await g.call("POST", "/v1/hooks/PreToolUse", body, who=who)


async def moment(g: Gateway, name: str, who: str = "agent:shop", **body: Any) -> dict[str, Any]:
    said = await g.call("POST", f"/v1/hooks/{name}", {"session_id": "s", **body}, who=who)
    assert said.status_code == 200, said.text
    return said.json()


def events(g: Gateway, kind: str) -> list[str]:
    return [row["facts"] for row in g.rows(f"SELECT facts FROM audit_events WHERE kind = '{kind}' ORDER BY seq")]


# --- PreToolUse and its twin ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["hooks", "requests"])
async def test_a_hook_denies_through_both_doors_and_stands_in_the_trail(hooked: Gateway, door: str) -> None:
    arguments = {"payee": "x", "amount": 5, "account": "DE02-SECRET", "note": "deny"}
    if door == "hooks":
        said = await pre(hooked, "pay", arguments)
    else:
        said = await hooked.call("POST", "/v1/requests", {"tool": "pay", "arguments": arguments})
    body = said.json()
    assert (said.status_code, body["decision"], body["hook"], body["rule"]) == (200, "deny", "by-note", None)
    assert body["reason"] == "the note says so: •••"  # what is sensitive stays out of reasons
    assert "the guard 'by-note' blocks this call" in body["message"]
    [facts] = events(hooked, "call.refused")
    assert '"hook":"by-note"' in facts
    assert "SECRET" not in facts
    assert hooked.rows("SELECT id FROM requests") == []


async def test_rules_and_people_see_the_arguments_as_hooks_left_them(hooked: Gateway) -> None:
    said = await pre(hooked, "pay", {"payee": "x", "amount": 80, "note": "halve"})
    body = said.json()
    assert (said.status_code, body["decision"]) == (202, "ask")
    assert body["arguments"] == {"payee": "x", "amount": 40, "note": "halved"} == body["request"]["arguments"]
    assert body["request"]["title"] == "Pay x 40"
    allowed = (await pre(hooked, "ping", {"amount": 8, "note": "halve"})).json()
    assert (allowed["decision"], allowed["arguments"]) == ("allow", {"amount": 4, "note": "halved"})
    noted = events(hooked, "hook.noted")
    assert len(noted) == 2
    assert '"hook":"by-note"' in noted[0]
    assert '"rewrote":"amount, note"' in noted[0]


async def test_arguments_that_no_hook_changed_are_not_repeated(hooked: Gateway) -> None:
    assert set((await pre(hooked, "ping")).json()) == {"decision", "rule", "reason", "message"}


async def test_a_rewrite_that_cannot_be_run_is_the_hooks_fault(hooked: Gateway) -> None:
    body = (await pre(hooked, "pay", {"payee": "x", "amount": 80, "note": "misfit"})).json()
    assert (body["decision"], body["hook"]) == ("deny", "by-note")
    assert "amount: money must be" in body["reason"]
    assert "check 'by-note' of this call failed" in body["message"]


async def test_a_hook_that_changes_the_arguments_in_place_is_at_fault(hooked: Gateway) -> None:
    for tool in ("pay", "ping"):
        body = (await pre(hooked, tool, {"payee": "x", "amount": 80, "note": "mutate"})).json()
        assert (body["decision"], body["hook"]) == ("deny", "by-note")
        assert "changed the arguments in place" in body["reason"]
        assert "arguments" not in body


async def test_a_repeated_key_comes_back_although_a_hook_rewrites_the_call(hooked: Gateway) -> None:
    body = {"tool": "pay", "arguments": {"payee": "x", "amount": 80, "note": "halve"}}
    first = await hooked.call("POST", "/v1/requests", body, idempotency_key="k")
    again = await hooked.call("POST", "/v1/requests", body, idempotency_key="k")
    assert (first.status_code, again.status_code, again.json()["attached"]) == (202, 202, True)
    assert first.json()["request"]["id"] == again.json()["request"]["id"]
    other = {"tool": "pay", "arguments": {"payee": "x", "amount": 40, "note": "halved"}}  # as the hook left it
    mismatch = await hooked.call("POST", "/v1/requests", other, idempotency_key="k")
    assert mismatch.json()["code"] == "idempotency_mismatch"


async def test_a_hook_that_asks_raises_an_allow_to_the_orgs_own_question(hooked: Gateway) -> None:
    said = await pre(hooked, "ping", {"note": "ask"})
    request = said.json()["request"]
    assert (said.status_code, request["rule"], request["reason"]) == (202, "hook:by-note", f"{NOTE_WANTS}.")
    assert [stage["of"] for stage in request["stages"]] == [["finance"]]
    assert request["channels"] == ["api"]


async def test_a_rule_that_asks_keeps_its_people_and_gets_the_hooks_reason(hooked: Gateway) -> None:
    request = (await pre(hooked, "pay", {"payee": "x", "amount": 1, "note": "ask"})).json()["request"]
    assert (request["rule"], request["channels"]) == ("pay", ["chat"])
    assert request["reason"].endswith(" wants people to be asked: “the note wants people”.")


async def test_a_rule_that_denies_is_not_softened_by_a_hook_that_asks(hooked: Gateway) -> None:
    body = (await pre(hooked, "destroy", {"note": "ask"})).json()
    assert (body["decision"], body["rule"]) == ("deny", "never")


async def test_without_an_ask_of_the_org_a_raised_call_is_denied_and_says_so(hooked: Gateway) -> None:
    hooked.rewrite(ASK, "")
    await hooked.reload()
    body = (await pre(hooked, "ping", {"note": "ask"})).json()
    assert (body["decision"], body["reason"]) == ("deny", f"{NOTE_WANTS}; but there is nobody to ask.")


async def test_flags_of_the_catalogue_and_of_the_agent_ask(hooked: Gateway) -> None:
    by_tool = (await pre(hooked, "refund")).json()["request"]
    assert (by_tool["rule"], by_tool["reason"]) == (
        "requires-confirmation",
        "The tool refund always requires confirmation.",
    )
    by_agent = (await pre(hooked, "ping", who="agent:careful")).json()["request"]
    assert by_agent["rule"] == "confirm-all-tools"
    assert (await pre(hooked, "ping")).json()["decision"] == "allow"


async def test_the_caller_may_ask_for_people_but_not_for_fewer(hooked: Gateway) -> None:
    body = {"tool": "ping", "arguments": {}, "confirm": "the library's flag"}
    said = await hooked.call("POST", "/v1/requests", body)
    assert (said.status_code, said.json()["request"]["rule"]) == (202, "caller")
    assert "the library's flag" in said.json()["request"]["reason"]
    denied = await hooked.call("POST", "/v1/requests", {"tool": "destroy", "arguments": {}, "confirm": "please"})
    assert denied.json()["decision"] == "deny"


@pytest.mark.parametrize(("tool", "hook", "why"), [("long", "broken", "is broken"), ("owned", "slow", "0.05")])
async def test_a_hook_that_fails_or_hangs_denies_and_names_itself(
    hooked: Gateway, tool: str, hook: str, why: str
) -> None:
    body = (await pre(hooked, tool)).json()
    assert (body["decision"], body["hook"]) == ("deny", hook)
    assert why in body["reason"]
    assert f"the check '{hook}' of this call failed" in body["message"]
    assert '"fault":true' in events(hooked, "call.refused")[0]
    assert events(hooked, "hook.faulted") == []  # it stands in the denial


async def test_a_fault_that_a_hook_lets_pass_is_seen_in_the_trail(hooked: Gateway) -> None:
    assert (await pre(hooked, "read_all")).json()["decision"] == "allow"
    [facts] = events(hooked, "hook.faulted")
    assert '"hook":"broken-passes"' in facts
    assert '"on_error":"allow"' in facts


async def test_a_fault_that_a_hook_wants_asked_about_asks(hooked: Gateway) -> None:
    said = await pre(hooked, "staged")
    assert said.status_code == 202
    assert "the check crash failed" in said.json()["request"]["reason"]
    [row] = hooked.rows("SELECT request_id FROM audit_events WHERE kind = 'hook.faulted'")
    assert row["request_id"] == said.json()["request"]["id"]


async def test_context_tags_and_hiding_come_back_and_the_bag_goes_round(hooked: Gateway) -> None:
    body = (await pre(hooked, "ping", {"note": "context"}, metadata={"turn": 3, "assent.request_id": "forged"})).json()
    assert (body["context"], body["hidden"]) == (["the ledger is closed"], True)
    assert body["tags"] == {"ledger": "closed"}
    assert body["metadata"] == {"turn": 3, "ledger": "closed"}
    assert acme_hooks.SEEN[-1].metadata == {"turn": 3}


async def test_what_hooks_note_stands_in_the_trail_in_a_form_that_the_chain_can_hold(hooked: Gateway) -> None:
    await pre(hooked, "ping", {"note": "facts"})
    [facts] = events(hooked, "hook.noted")
    assert '"score":7' in facts
    assert '"share":"0.5"' in facts
    _, fault = await hooked.verify()
    assert fault is None


async def test_a_call_that_must_run_in_a_sandbox_is_denied_to_a_runtime_that_cannot_route(hooked: Gateway) -> None:
    denied = (await pre(hooked, "ping", {"note": "route"})).json()
    assert (denied["decision"], denied["hook"]) == ("deny", "by-note")
    assert "sandbox 'local'" in denied["reason"]
    routed = (await pre(hooked, "ping", {"note": "route"}, can_route=True)).json()
    assert (routed["decision"], routed["route"]) == (
        "allow",
        {"provider": "local", "command": "make pay", "options": {"network": False}},
    )


async def test_hooks_of_one_agent_run_for_it_alone(hooked: Gateway) -> None:
    assert (await pre(hooked, "ping", who="agent:clerk")).json()["reason"] == "not for clerk"
    assert (await pre(hooked, "ping")).json()["decision"] == "allow"


async def test_hooks_see_who_calls_what_under_both_of_its_names(hooked: Gateway) -> None:
    await pre(
        hooked, "Bash", {"command": "ls"}, tool_use_id="t1", user="wang@acme.example", cwd="/srv", claim="to look"
    )
    seen = acme_hooks.SEEN[-1]
    assert (seen.org, seen.agent, seen.session, seen.user, seen.cwd) == (
        "acme", "shop", "s", "wang@acme.example", "/srv",
    )  # fmt: skip
    assert (seen.tool_name, seen.called_as, seen.call_id) == ("exec", "Bash", "t1")
    assert (seen.args, seen.claim) == ({"command": "ls"}, "to look")


# --- the other moments ------------------------------------------------------------------------------------------------


async def test_a_prompt_is_rewritten_and_tagged_or_blocked(hooked: Gateway) -> None:
    body = await moment(hooked, "UserPromptSubmit", prompt="  hello ")
    assert (body["decision"], body["prompt"], body["tags"], body["context"]) == (
        "allow", "hello", {"checked": True}, ["be brief"],
    )  # fmt: skip
    blocked = await moment(hooked, "UserPromptSubmit", prompt="the secret")
    assert (blocked["decision"], blocked["hook"], blocked["reason"]) == ("deny", "tidy", "secrets stay here")
    assert "blocked the prompt" in blocked["message"]
    assert "prompt" not in blocked
    assert (await moment(hooked, "UserPromptSubmit", prompt="damn"))["hook"] == "polite"
    assert len(events(hooked, "hook.blocked")) == 2


async def test_a_model_request_is_changed_and_keeps_what_we_do_not_know(hooked: Gateway) -> None:
    request = {"model": "big", "system": "hi", "messages": [{"role": "user", "content": "x"}], "top_k": 3}
    body = await moment(hooked, "PreModelRequest", request=request)
    changed = body["request"]
    assert (changed["model"], changed["system"], changed["top_k"]) == ("small", "hi!", 3)
    assert changed["messages"] == request["messages"]
    blocked = await moment(hooked, "PreModelRequest", request={"model": "forbidden"})
    assert (blocked["decision"], blocked["hook"]) == ("deny", "cheaper")


@pytest.mark.parametrize("said", [{}, {"provider": None, "model": None}, {"provider": "", "model": ""}])
async def test_a_model_request_whose_provider_and_model_nobody_knows_is_judged_all_the_same(
    hooked: Gateway, said: dict[str, Any]
) -> None:
    shown = (await moment(hooked, "PreModelRequest", request=said))["request"]
    assert (shown["provider"], shown["model"]) == ("", "small")


async def test_a_hook_sees_whose_model_is_asked_and_may_refuse_it(hooked: Gateway) -> None:
    """OpenClaw's message.before tells provider and model."""
    for whose, decision in (("openai", "allow"), ("elsewhere", "deny")):
        body = await moment(hooked, "PreModelRequest", request={"provider": whose, "model": "big"})
        assert (body["decision"], body.get("request", {}).get("provider")) == (
            decision, whose if decision == "allow" else None,
        )  # fmt: skip


async def test_a_result_is_replaced_or_withheld(hooked: Gateway) -> None:
    for response, result in (("dirty", "cleaned"), ("fine", None)):
        body = await moment(hooked, "PostToolUse", tool_name="ping", tool_response=response)
        assert (body["decision"], body.get("result")) == ("allow", result)
    withheld = await moment(hooked, "PostToolUse", tool_name="ping", tool_response="secret")
    assert (withheld["decision"], withheld["hook"], withheld["reason"]) == ("deny", "clean", "it holds a secret")
    assert "withholds its result" in withheld["result"]


async def test_a_result_that_no_wire_can_carry_is_told_as_text(hooked: Gateway) -> None:
    body = await moment(hooked, "PostToolUse", tool_name="ping", tool_response="torn")
    assert "inf" in body["result"]


async def test_a_session_starts_stops_and_ends_and_no_fault_disturbs_it(hooked: Gateway) -> None:
    assert (await moment(hooked, "SessionStart", source="startup"))["context"] == ["a new session"]
    assert (await moment(hooked, "SessionStart", source="resume"))["context"] == ["a resumed session"]
    assert (await moment(hooked, "Stop"))["send_back"] == "run the tests first"
    assert "send_back" not in await moment(hooked, "Stop", stop_hook_active=True)
    assert (await moment(hooked, "SessionEnd", reason="logout"))["decision"] == "allow"
    assert len(events(hooked, "hook.faulted")) == 1


async def test_every_moment_answers_an_org_without_hooks(gateway: Gateway) -> None:
    needed: dict[str, dict[str, Any]] = {
        "PreToolUse": {"tool_name": "ping", "tool_input": {}},
        "PostToolUse": {"tool_name": "ping", "tool_response": {"stdout": "x"}},
        "PostToolUseFailure": {"tool_name": "ping", "error": "no"},
        "UserPromptSubmit": {"prompt": "hi"},
        "PreModelRequest": {"request": {"model": "m"}},
    }
    for name in Moment:
        body = await moment(gateway, name, unknown_member=1, **needed.get(name, {}))
        assert body["decision"] == "allow", name


async def test_an_unknown_moment_is_told_the_known_ones(gateway: Gateway) -> None:
    said = await gateway.call("POST", "/v1/hooks/PreToolUsed", {})
    assert said.status_code == 404
    assert all(name in said.json()["detail"] for name in Moment)


@pytest.mark.parametrize(
    ("name", "body", "path"),
    [
        ("PreToolUse", {"tool_name": "ping", "tool_input": "{}"}, "tool_input"),
        ("PreToolUse", {"tool_name": "ping", "tool_input": {}, "session_id": 5}, "session_id"),
        ("UserPromptSubmit", {}, "prompt"),
        ("PreModelRequest", {"request": {"messages": "x"}}, "request.messages"),
        ("PreModelRequest", {"request": {"provider": 5}}, "request.provider"),
        ("PreModelRequest", {"request": {"provider": ["openai"]}}, "request.provider"),
        ("PreModelRequest", {"request": {"model": {}}}, "request.model"),
        ("PostToolUse", {"tool_name": "ping", "duration_ms": "5"}, "duration_ms"),
        ("Stop", {"stop_hook_active": "yes"}, "stop_hook_active"),
        ("SessionStart", {"metadata": {"x": "y" * 17_000}}, "metadata"),
    ],
)
@pytest.mark.sampled(3)
async def test_bodies_are_read_strictly(gateway: Gateway, name: str, body: dict[str, Any], path: str) -> None:
    said = await gateway.call("POST", f"/v1/hooks/{name}", body)
    assert (said.status_code, said.json()["path"]) == (422, path)


async def test_only_agents_may_report_moments(gateway: Gateway) -> None:
    for who in ("admin", "auditor", "alice@acme.example"):
        assert (await gateway.call("POST", "/v1/hooks/Stop", {}, who=who)).status_code == 403


async def test_hooks_that_cannot_be_built_let_nothing_pass(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> object:
        raise ImportError("gone")

    monkeypatch.setattr(gateway.container.hooks, "_build", refuse)
    gateway.container.hooks._built.clear()
    said = await pre(gateway, "ping")
    assert (said.status_code, said.json()["code"]) == (503, "unavailable")
