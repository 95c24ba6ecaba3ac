"""What the hook answers when all goes well: the gateway's verdict, the people's, and one claim for one run."""

from __future__ import annotations

import json
import signal
import stat
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.hook_process import HookLine, event, finish, run_words

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.stub_faults import Fault

pytestmark = pytest.mark.process


def test_what_a_rule_allows_runs_and_says_which_rule(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "allow"
    said = hook.run(event())
    assert said.code == 0
    assert said.answer == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "Allowed by rule 'small'. told to allow",
    }


def test_what_a_rule_denies_is_blocked_with_words_for_the_model(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "deny"
    said = hook.run(event())
    assert said.decision == "deny"
    assert "rule 'small' forbids" in said.reason
    assert "do not retry" in said.reason


def test_what_may_only_run_in_a_sandbox_does_not_run_here(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "route"
    said = hook.run(event())
    assert said.decision == "deny"
    assert "sandbox" in said.reason


def test_an_approved_call_is_claimed_before_it_is_allowed(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    said = finish(process)
    assert said.decision == "allow"
    assert "updatedInput" not in said.answer
    assert gateway.only.state == "executing"


def test_the_agents_own_words_go_along_for_the_approver(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "deny"
    hook.run(event(arguments={"command": "rm x", "description": "tidy up"}))
    assert gateway.seen[0][1]["claim"] == "tidy up"


@pytest.mark.parametrize(
    "state", ["denied", "expired", "cancelled", "undeliverable", "lapsed", "executing", "succeeded", "unknown"]
)
def test_every_other_end_of_a_request_is_a_final_no(gateway: StubGateway, hook: HookLine, state: str) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.decide("req_0001", state, reason="not this week")
    said = finish(process)
    assert said.decision == "deny"
    assert ('Reason given: "not this week"' in said.reason) is (state != "expired")  # of a silence nobody gave one
    assert "req_0001" in said.reason
    ran = state in {"executing", "succeeded", "unknown"}  # then it is not said that it did not, nor that it may again
    assert said.reason.startswith("Not ") is not ran
    assert ("repeat it" if ran else "do not try to reach the same end another way") in said.reason
    assert gateway.count("claim") == 0


def test_edited_arguments_replace_the_ones_that_were_asked_for(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event(arguments={"command": "pay 80000"}))
    gateway.arrived("get")
    gateway.only.arguments = {"command": "pay 8000"}
    gateway.decide("req_0001", "approved")
    said = finish(process)
    assert said.decision == "allow"
    assert said.answer["updatedInput"] == {"command": "pay 8000"}


def test_a_true_is_not_a_one_when_arguments_are_compared(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event(arguments={"force": 1}))
    gateway.arrived("get")
    gateway.only.arguments = {"force": True}
    gateway.decide("req_0001", "approved")
    assert finish(process).answer["updatedInput"] == {"force": True}


def test_an_approval_of_another_tool_is_no_approval(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.only.tool = "Read"
    gateway.decide("req_0001", "approved")
    said = finish(process)
    assert said.decision == "deny"
    assert gateway.only.outcomes[0]["status"] == "failed"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("already_claimed", "good for one run"),
        ("grant_lapsed", "has lapsed, or was taken back"),
        ("digest_mismatch", "not what this call would do"),
        ("paused", "people have paused this"),
        ("not_approved", "could not judge"),
    ],
)
def test_a_claim_that_is_refused_is_a_no(gateway: StubGateway, hook: HookLine, code: Fault, words: str) -> None:
    gateway.faults["claim"].append(code)
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    said = finish(process)
    assert said.decision == "deny"
    assert words in said.reason


@requirement("F-07")
def test_asked_again_the_same_call_joins_the_request_that_stands(gateway: StubGateway, hook: HookLine) -> None:
    first = hook.run(event(call_id="toolu_1"), "--deadline", "2")
    assert first.decision == "deny"
    assert "still waits" in first.reason
    assert "req_0001, code ABCD-0001" in first.reason
    gateway.decide("req_0001", "approved")
    second = hook.run(event(call_id="toolu_2"))
    assert second.decision == "allow"
    assert len(gateway.rows) == 1


@requirement("F-07")
def test_a_hook_killed_while_it_waits_leaves_a_request_that_the_next_one_joins(
    gateway: StubGateway, hook: HookLine
) -> None:
    process = hook.begin(event(call_id="toolu_1"))
    gateway.arrived("get")
    process.send_signal(signal.SIGKILL)
    assert finish(process).out == b""
    process = hook.begin(event(call_id="toolu_2"))
    gateway.arrived("check", 2)
    gateway.decide("req_0001", "approved")
    assert finish(process).decision == "allow"
    assert len(gateway.rows) == 1


def test_a_gateway_that_restarts_while_people_think_is_come_back_to(gateway: StubGateway, hook: HookLine) -> None:
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.stop()
    gateway.decide("req_0001", "approved")
    gateway.start()
    assert finish(process).decision == "allow"


def test_a_lost_answer_to_the_check_is_asked_for_again_under_the_same_key(gateway: StubGateway, hook: HookLine) -> None:
    gateway.faults["check"].append("lost")
    process = hook.begin(event(session="s-2"))
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    assert finish(process).decision == "allow"
    keys = [headers["Idempotency-Key"] for kind, _, headers in gateway.seen if kind == "check"]
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_a_lost_answer_to_the_claim_is_asked_for_again_under_the_same_claim_id(
    gateway: StubGateway, hook: HookLine
) -> None:
    gateway.faults["claim"].append("lost")
    process = hook.begin(event())
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    assert finish(process).decision == "allow"
    assert len({body["claim_id"] for kind, body, _ in gateway.seen if kind == "claim"}) == 1
    assert gateway.count("claim") == 2


@pytest.mark.parametrize(
    ("moment", "more", "status"),
    [
        ("PostToolUse", {"tool_response": {"stdout": "secret"}}, "succeeded"),
        ("PostToolUseFailure", {"error": "exit 1", "is_interrupt": False}, "failed"),
        ("PostToolUseFailure", {"error": "stopped", "is_interrupt": True}, "unknown"),
    ],
)
def test_the_outcome_of_a_claimed_call_is_reported_without_its_output(
    gateway: StubGateway, hook: HookLine, moment: str, more: dict[str, Any], status: str
) -> None:
    process = hook.begin(event(call_id="toolu_9"))
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    finish(process)
    said = hook.run(event(moment=moment, call_id="toolu_9", **more))
    assert (said.code, said.out, said.err) == (0, b"", "")
    (outcome,) = gateway.only.outcomes
    assert outcome["status"] == status
    assert "secret" not in json.dumps(outcome)


def test_after_a_call_that_nobody_was_asked_about_nothing_is_reported(gateway: StubGateway, hook: HookLine) -> None:
    said = hook.run(event(moment="PostToolUse"))
    assert (said.code, said.out) == (0, b"")
    assert gateway.count("outcome") == 0


@pytest.mark.parametrize("fault", ["500", "nonsense", "reset", "401"])
def test_a_report_that_fails_does_not_disturb_the_agent(gateway: StubGateway, hook: HookLine, fault: Fault) -> None:
    gateway.faults["list"].extend([fault] * 9)
    said = hook.run(event(moment="PostToolUse"))
    assert (said.code, said.out, said.err) == (0, b"", "")


def test_the_users_file_wins_over_the_environment_that_a_project_can_set(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "deny"
    evil = {
        "ASSENT_URL": "http://127.0.0.1:1",
        "ASSENT_KEY": "ak_evil",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "PATH": "/usr/bin",
    }
    said = run_words(hook.words(), env=evil, stdin=event())
    assert "rule 'small' forbids" in said.reason


def test_the_environment_serves_when_it_is_asked_for(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "allow"
    words = [*hook.words()[:5], "--config", "env"]
    said = run_words(words, env={"ASSENT_URL": gateway.url, "ASSENT_KEY": KEY, "PATH": "/usr/bin"}, stdin=event())
    assert said.decision == "allow"


def test_a_configuration_that_others_can_read_is_refused(gateway: StubGateway, hook: HookLine) -> None:
    gateway.rules["Bash"] = "allow"
    words = hook.words()
    (hook.folder / "agent.json").chmod(stat.S_IRUSR | stat.S_IRGRP)
    said = run_words(words, stdin=event())
    assert said.code == 2
    assert "chmod 600" in said.err


def test_the_hook_loads_neither_the_http_client_nor_the_packages_heavy_parts(
    gateway: StubGateway, hook: HookLine, tmp_path: Path
) -> None:
    gateway.rules["Bash"] = "allow"
    words = hook.words()
    words[1:1] = ["-X", "importtime"]
    loaded = {line.rsplit("|", 1)[-1].strip() for line in run_words(words, stdin=event()).err.splitlines()}
    assert "assent.command.judge" in loaded
    heavy = {
        "httpx2",
        "anyio",
        "asyncio",
        "typing",
        "dataclasses",
        "inspect",
        "argparse",
        "logging",
        "pathlib",
        "urllib",
        "http",
        "ssl",
        "hashlib",
    }
    assert not loaded & heavy
    others = {name for name in loaded if name.startswith("assent.") and not name.startswith("assent.command")}
    assert others == {"assent.client", "assent.client.address", "assent.client.messages"}
