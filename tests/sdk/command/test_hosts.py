"""Every host's events are read, and answered in the host's own words; what cannot be read is a no."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from assent.command.faults import HookError
from assent.command.hosts.event import parse_event
from assent.command.hosts.table import HOSTS
from tests.places import ROOT
from tests.requirements import requirement
from tests.sdk.command.payloads import LS, OBSERVED, SAMPLES, UNREADABLE, Sample
from tests.sdk.hook_process import HookLine, finish

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

OTHER = {"command": "ls -l"}


def encoded(raw: dict[str, Any]) -> bytes:
    return json.dumps(raw).encode()


def first_of(host: str) -> Sample:
    return next(sample for sample in SAMPLES if sample.host == host and not sample.kind)


def test_each_host_has_its_payloads() -> None:
    assert {sample.host for sample in SAMPLES} == set(HOSTS)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_payload_means_what_it_says(sample: Sample) -> None:
    event = parse_event(HOSTS[sample.host], encoded(sample.raw))
    assert (event.kind, event.form is None) == (sample.kind, bool(sample.kind))
    assert event.session == sample.session
    assert event.sub_agent == sample.sub_agent
    if sample.kind != "over":
        assert (event.tool, event.arguments, event.call_id) == (sample.tool, sample.arguments, sample.call_id)


@pytest.mark.parametrize(("host", "raw"), OBSERVED)
def test_an_event_that_decides_nothing_is_heard(host: str, raw: dict[str, Any]) -> None:
    assert parse_event(HOSTS[host], encoded(raw)).kind == "seen"


@requirement("S-08")
@pytest.mark.parametrize(("host", "raw"), UNREADABLE)
def test_a_payload_that_may_be_about_a_call_and_cannot_be_read_is_a_fault(host: str, raw: dict[str, Any]) -> None:
    with pytest.raises(HookError):
        parse_event(HOSTS[host], encoded(raw))


CLAUDE_ALLOW = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "why",
    }
}
CLAUDE_DENY = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "why",
    }
}
PERMITTED = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
FORBIDDEN = {
    "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "why"}}
}
CURSOR_DENY = {"permission": "deny", "user_message": "why", "agent_message": "why"}
ANSWERS: dict[tuple[str, str], tuple[Any, Any]] = {
    ("claude-code", "PreToolUse"): (CLAUDE_ALLOW, CLAUDE_DENY),
    ("claude-code", "PermissionRequest"): (PERMITTED, FORBIDDEN),
    ("codex", "PreToolUse"): (None, CLAUDE_DENY),
    ("codex", "PermissionRequest"): (PERMITTED, FORBIDDEN),
    ("copilot", "preToolUse"): (
        {"permissionDecision": "allow"},
        {"permissionDecision": "deny", "permissionDecisionReason": "why"},
    ),
    ("copilot", "PreToolUse"): (CLAUDE_ALLOW, CLAUDE_DENY),
    ("copilot", "permissionRequest"): ({"behavior": "allow"}, {"behavior": "deny", "message": "why"}),
    ("gemini", "BeforeTool"): ({"decision": "allow"}, {"decision": "deny", "reason": "why"}),
    ("qwen", "PreToolUse"): (CLAUDE_ALLOW, CLAUDE_DENY),
    ("cursor", "preToolUse"): ({"permission": "allow"}, CURSOR_DENY),
    ("cursor", "beforeShellExecution"): ({"permission": "allow"}, CURSOR_DENY),
    ("cursor", "beforeMCPExecution"): ({"permission": "allow"}, CURSOR_DENY),
    ("cursor", "beforeReadFile"): ({"permission": "allow"}, CURSOR_DENY),
    ("opencode", "tool.execute.before"): ({"decision": "allow"}, {"decision": "deny", "reason": "why"}),
}


def test_every_event_that_asks_is_answered_here() -> None:
    assert set(ANSWERS) == {(host.name, event) for host in HOSTS.values() for event in host.asks}


@requirement("S-08")
@pytest.mark.parametrize(("host", "event"), ANSWERS)
def test_the_answers_are_the_hosts_own(host: str, event: str) -> None:
    form, (allow, deny) = HOSTS[host].asks[event], ANSWERS[host, event]
    said = form.allow(event, "why")
    assert (json.loads(said) if said else None) == allow
    assert json.loads(form.deny(event, "why")) == deny


@pytest.mark.parametrize(
    ("host", "event", "member"),
    [
        ("claude-code", "PreToolUse", "updatedInput"),
        ("codex", "PreToolUse", "updatedInput"),
        ("copilot", "PreToolUse", "updatedInput"),
        ("copilot", "preToolUse", "modifiedArgs"),
        ("gemini", "BeforeTool", "tool_input"),
        ("cursor", "preToolUse", "updated_input"),
        ("opencode", "tool.execute.before", "args"),
    ],
)
def test_new_arguments_stand_where_the_host_looks_for_them(host: str, event: str, member: str) -> None:
    form = HOSTS[host].asks[event]
    answer = json.loads(form.allow(event, "why", replaced=OTHER))
    assert answer.get("hookSpecificOutput", answer)[member] == OTHER
    assert form.takes(LS, OTHER)


@requirement("S-08")
def test_a_host_that_ignores_new_arguments_is_never_told_to_run_with_them() -> None:
    for host, event in (("qwen", "PreToolUse"), ("codex", "PermissionRequest"), ("copilot", "permissionRequest")):
        form = HOSTS[host].asks[event]
        assert not form.takes(LS, OTHER)
        with pytest.raises(ValueError, match="only as it was made"):
            form.allow(event, "why", replaced=OTHER)


@requirement("S-08")
@pytest.mark.parametrize(
    ("asked", "instead", "takes"),
    [
        ({"a": 1}, {"a": 2}, True),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "force": True}, {"a": 1}, False),
        ({"a": {"b": 1, "force": True}}, {"a": {"b": 1}}, False),
        ({"a": {"b": 1}}, {"a": "text"}, True),
        ({"a": [1, 2]}, {"a": [1]}, True),
    ],
)
def test_a_host_that_merges_is_not_told_to_run_without_what_was_taken_out(
    asked: dict[str, Any], instead: dict[str, Any], *, takes: bool
) -> None:
    assert HOSTS["gemini"].asks["BeforeTool"].takes(asked, instead) is takes


PAGE = (ROOT / "docs/hosts.md").read_text(encoding="utf-8")


def test_the_page_says_of_each_host_what_its_row_says() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| [`")]
    assert [row[0] for row in rows] == [f"[`{name}`](hosts/{name}.md)" for name in HOSTS]
    for row, host in zip(rows, HOSTS.values(), strict=True):
        form = host.asks[host.gate]
        timer = "none" if host.timer is None else f"{host.timer.unit}, {host.timer.default:g} s"
        rewrites = "merged" if form.merges else "yes" if form.arguments else "no"
        has_id = "yes" if any(each.call_id for each in SAMPLES if each.host == host.name) else "no"
        assert row[1:5] == [f"`~/{host.place.file}`", timer, rewrites, has_id]


# --- as processes -----------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize(("host", "raw"), [OBSERVED[0], OBSERVED[10], OBSERVED[-1]])
def test_an_observed_event_ends_well_and_says_nothing(
    gateway: StubGateway, tmp_path: Path, host: str, raw: dict[str, Any]
) -> None:
    said = HookLine(url=gateway.url, folder=tmp_path, host=host).run(encoded(raw))
    assert (said.code, said.out, said.err) == (0, b"", "")
    assert gateway.seen == []


@pytest.mark.process
@requirement("S-08")
def test_where_the_exit_code_is_not_heeded_a_fault_is_answered_with_a_no(tmp_path: Path) -> None:
    raw = {**first_of("claude-code").raw, "hook_event_name": "PermissionRequest"}
    said = HookLine(url="nowhere", folder=tmp_path).run(encoded(raw))
    assert said.code == 0
    assert json.loads(said.out)["hookSpecificOutput"]["decision"]["behavior"] == "deny"


@pytest.mark.process
@requirement("S-08")
@pytest.mark.parametrize(("host", "stays"), [("gemini", {}), ("qwen", LS)])
def test_an_edit_that_the_host_cannot_run_is_called_again_with(
    gateway: StubGateway, tmp_path: Path, host: str, stays: dict[str, Any]
) -> None:
    """Gemini merges, so that an argument that people took out would stay; Qwen runs what it was first told."""
    sample = first_of(host)
    process = HookLine(url=gateway.url, folder=tmp_path, host=host).begin(encoded(sample.raw))
    gateway.arrived("get")
    gateway.only.arguments = {**stays, "dry_run": True}
    gateway.decide("req_0001", "approved")
    said = finish(process)
    assert b"deny" in said.out
    assert b"dry_run" in said.out
    assert gateway.count("claim") == 0


@pytest.mark.process
def test_the_end_of_a_session_withdraws_what_still_waits(gateway: StubGateway, tmp_path: Path) -> None:
    line = HookLine(url=gateway.url, folder=tmp_path)
    assert b"still waits" in line.run(encoded(first_of("claude-code").raw), "--deadline", "2").out
    over = encoded({"session_id": "s-1", "hook_event_name": "SessionEnd", "reason": "other"})
    assert line.run(over, "--keep-pending").code == 0
    assert gateway.only.state == "pending"
    said = line.run(over)
    assert (said.code, said.out, said.err) == (0, b"", "")
    assert (gateway.only.state, gateway.only.reason) == ("cancelled", "the agent's session is over")
