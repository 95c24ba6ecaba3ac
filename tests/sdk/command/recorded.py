"""The recorded payloads through the hook, as a process: the first level of the conformance suite, for every host.

The cases have the names of `tests/frameworks/suite.py`, and its sentences; the verdict on each stands in the host's own
words (`ANSWERS` in test_hosts.py says which those are), so that here is compared with what `Form` makes of a text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assent.client.messages import approved
from assent.command.hosts.event import Event, parse_event
from assent.command.hosts.row import OVER
from assent.command.hosts.table import HOSTS
from tests.sdk.command.payloads import SAMPLES, UNREADABLE, Sample
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.hook_process import HookLine, Said, finish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FINAL = (
    "This is final: do not retry or rephrase the call, and do not try to reach the same end another way. Tell the user."
)
NO_SUB_AGENT = "its payloads name no sub-agent"
NO_END = "it does not tell its hook that a session is over: what waits then ends with its rule's time"
_WAITS = "the hook waits, and suspends no run; the Claude Agent SDK's adapter does, by Claude Code's own `defer`"
_BEGUN = "what a call that was begun before is told is the gateway's answer, which its stand-in does not give"
LEFT_OUT = {
    "killed_after_claim": _BEGUN,
    "killed_after_run": _BEGUN,
    "hook_killed": "what a program does without its hook is its own: the real programs show it",
    "synchronous": "a hook is a process; it has no other way",
    "two_identical": "whether a call is another one is the gateway's judgement (`test_two_wanted_calls.py`)",
    "tool_raises": "with the gateway itself, for every program that tells of it (`test_hook_rewrites.py`)",
    "control_flow": "a program's tools have none that its hook sees",
    "unknown_tool": "which tools a file names is the gateway's to judge",
    "example": "no agent is written here",
    "suspended": _WAITS,
    "suspended_too_early": _WAITS,
    "suspended_beside_others": _WAITS,
    "suspended_judged": _WAITS,
    "suspended_edited": _WAITS,
    "suspended_killed": _WAITS,
}
"""The suite's other cases, and why there is nothing to see of them in recorded payloads."""
CANNOT: dict[str, dict[str, str]] = {
    host.name: {
        **({} if any(host.tells.get(event) == OVER for event in host.installs) else {"cancelled": NO_END}),
        **({} if host.sub_agent else {"sub_agent": NO_SUB_AGENT}),
        **(
            {}
            if host.asks[host.gate].arguments
            else {"edit": "it ignores new arguments: the call is denied, and the model is told what to call with"}
        ),
    }
    for host in HOSTS.values()
}
CASES: dict[str, Callable[[Recorded], None]] = {}


def case(check: Callable[[Recorded], None]) -> Callable[[Recorded], None]:
    """Add a case."""
    CASES[check.__name__] = check
    return check


@dataclass(frozen=True)
class Recorded:
    """One host's payload, before a gateway."""

    host: str
    gateway: StubGateway
    folder: Path

    @property
    def sample(self) -> Sample:
        """The host's first one that asks."""
        return next(each for each in SAMPLES if each.host == self.host and not each.kind)

    @property
    def event(self) -> Event:
        """What the hook reads in it."""
        return self.read(self.sample.raw)

    @property
    def session(self) -> dict[str, Any]:
        """The members that name the session."""
        return {name: self.sample.raw[name] for name in HOSTS[self.host].session if name in self.sample.raw}

    def read(self, raw: dict[str, Any]) -> Event:
        """What the hook reads in a payload."""
        return parse_event(HOSTS[self.host], json.dumps(raw).encode())

    def with_command(self, command: str) -> dict[str, Any]:
        """The payload of another call, under an id of its own where the host gives one."""
        raw, host = self.sample.raw, HOSTS[self.host]
        name = next(name for name in host.arguments if name in raw)
        return {**raw, name: {"command": command}, **{each: command for each in host.call_id if each in raw}}

    def line(self, key: str = KEY) -> HookLine:
        """The hook's command line."""
        return HookLine(url=self.gateway.url, folder=self.folder, host=self.host, key=key)

    def run(self, *options: str, raw: dict[str, Any] | None = None, key: str = KEY) -> Said:
        """Give it an event, and read its answer."""
        return self.line(key).run(json.dumps(raw or self.sample.raw).encode(), *options)

    def asked(self, *options: str, state: str, reason: str | None = None, **changes: Any) -> Said:
        """Give it the call that people are asked about, and settle that."""
        process = self.line().begin(json.dumps(self.sample.raw).encode(), *options)
        self.gateway.arrived("get")
        assert process.poll() is None
        for name, value in changes.items():
            setattr(self.gateway.only, name, value)
        self.gateway.decide("req_0001", state, reason=reason)
        return finish(process)

    def killed(self) -> None:
        """Give it the call that people are asked about, and kill it while it waits."""
        first = self.line().begin(json.dumps(self.sample.raw).encode())
        self.gateway.arrived("get")
        first.kill()
        assert finish(first).out == b""

    def denied(self, said: Said, words: str) -> None:
        """The answer is that no, and nothing was claimed."""
        assert (said.code, said.out) == (0, self.event.deny(words))
        assert self.gateway.count("claim") == 0


@case
def allow(scene: Recorded) -> None:
    scene.gateway.rules[scene.sample.tool] = "allow"
    said = scene.run()
    assert (said.code, said.out, said.err) == (0, scene.event.allow("Allowed by rule 'small'. told to allow"), "")


@case
def deny(scene: Recorded) -> None:
    scene.gateway.rules[scene.sample.tool] = "deny"
    scene.denied(scene.run(), f"Not approved: rule 'small' forbids this call. Reason given: \"told to deny\". {FINAL}")


@case
def approve(scene: Recorded) -> None:
    said = scene.asked(state="approved")
    words = approved(request_id="req_0001", short_code="ABCD-0001", changed=False)
    assert (said.code, said.out) == (0, scene.event.allow(words))
    assert (scene.gateway.only.state, scene.gateway.count("claim")) == ("executing", 1)


@case
def people_deny(scene: Recorded) -> None:
    said = scene.asked(state="denied", reason="not on a Friday")
    scene.denied(
        said,
        'Not approved: an approver denied this call. Reason given: "not on a Friday". Request req_0001, code '
        f"ABCD-0001. {FINAL}",
    )


@case
def edit(scene: Recorded) -> None:
    instead = {**scene.sample.arguments, "command": "ls -l"}
    said = scene.asked(state="approved", arguments=instead)
    words = approved(request_id="req_0001", short_code="ABCD-0001", changed=True)
    assert (said.code, said.out) == (0, scene.event.allow(words, replaced=instead))


@case
def rule_times_out(scene: Recorded) -> None:
    said = scene.asked(state="expired")
    assert b"nobody decided before the deadline, and silence is not consent" in said.out
    assert scene.gateway.count("claim") == 0


@case
def deadline(scene: Recorded) -> None:
    said = scene.run("--deadline", "2")
    assert b"this call still waits for a person's decision" in said.out
    assert (scene.gateway.only.state, scene.gateway.count("claim")) == ("pending", 0)


@case
def gateway_down(scene: Recorded) -> None:
    scene.gateway.stop()
    said = scene.run("--patience", "0.2")
    assert said.code == 0
    assert json.loads(said.out)
    assert b"no answer means no" in said.out


@case
def gateway_restarts(scene: Recorded) -> None:
    process = scene.line().begin(json.dumps(scene.sample.raw).encode())
    scene.gateway.arrived("get")
    scene.gateway.stop()
    scene.gateway.decide("req_0001", "approved")
    scene.gateway.start()
    words = approved(request_id="req_0001", short_code="ABCD-0001", changed=False)
    assert finish(process).out == scene.event.allow(words)
    assert (len(scene.gateway.rows), scene.gateway.count("claim")) == (1, 1)


@case
def key_refused(scene: Recorded) -> None:
    said = scene.run(key="ak_another")
    assert b"the gateway refused this agent's key" in said.out
    assert scene.gateway.rows == {}


@case
def killed_while_pending(scene: Recorded) -> None:
    scene.killed()
    again = scene.line().begin(json.dumps(scene.sample.raw).encode())
    scene.gateway.arrived("get", 2)
    scene.gateway.decide("req_0001", "approved")
    words = approved(request_id="req_0001", short_code="ABCD-0001", changed=False)
    assert finish(again).out == scene.event.allow(words)
    assert len(scene.gateway.rows) == 1


@case
def approved_while_dead(scene: Recorded) -> None:
    scene.killed()
    scene.gateway.decide("req_0001", "approved")
    assert scene.run().out == scene.event.allow(approved(request_id="req_0001", short_code="ABCD-0001", changed=False))
    assert (len(scene.gateway.rows), scene.gateway.count("claim")) == (1, 1)


@case
def cancelled(scene: Recorded) -> None:
    scene.killed()
    over = next(each for each in SAMPLES if each.host == scene.host and each.kind == "over")
    assert scene.run(raw={**over.raw, **scene.session}).code == 0
    assert (scene.gateway.only.state, scene.gateway.count("claim")) == ("cancelled", 0)


@case
def three_parallel(scene: Recorded) -> None:
    calls = [scene.with_command(f"echo {number}") for number in (1, 2, 3)]
    processes = [scene.line().begin(json.dumps(raw).encode()) for raw in calls]
    scene.gateway.arrived("get", 3)
    rows = {row.arguments["command"]: row for row in scene.gateway.rows.values()}
    for command, row in rows.items():
        scene.gateway.decide(row.id, "denied" if command == "echo 2" else "approved")
    for raw, process in zip(calls, processes, strict=True):
        row = rows[scene.read(raw).arguments["command"]]
        said, words = finish(process), approved(request_id=row.id, short_code=f"ABCD-{row.id[-4:]}", changed=False)
        assert (said.out == scene.read(raw).allow(words)) is (row.state == "executing")
        assert (b"an approver denied this call" in said.out) is (row.state == "denied")
    assert sorted(row.state for row in rows.values()) == ["denied", "executing", "executing"]


@case
def sub_agent(scene: Recorded) -> None:
    raw = {**scene.sample.raw, "agent_id": "a-1", HOSTS[scene.host].sub_agent: "Explore"}
    scene.gateway.rules[scene.sample.tool] = "deny"
    scene.run(raw=raw)
    assert scene.gateway.seen[0][1]["sub_agent"] == "Explore"


@case
def odd_arguments(scene: Recorded) -> None:
    odd = {"command": "a\0b 付款 💸 é\u202e", "long": "x" * 1_000_000}
    host = HOSTS[scene.host]
    name = next(name for name in host.arguments if name in scene.sample.raw)
    scene.gateway.rules[scene.sample.tool] = "deny"
    said = scene.run(raw={**scene.sample.raw, name: odd})
    assert (said.code, bool(said.out)) == (0, True)
    assert [body.get("tool_input") for _, body, _ in scene.gateway.seen] == [odd]


@case
def outcome_recorded(scene: Recorded) -> None:
    ran = next(each for each in SAMPLES if each.host == scene.host and each.kind == "ran")
    host = HOSTS[scene.host]
    named = {next(name for name in names if name in scene.sample.raw) for names in (host.tool, host.arguments)}
    asked = {name: ran.raw.get(name, value) if name in named else value for name, value in scene.sample.raw.items()}
    ids = {name: ran.raw[name] for name in host.call_id if name in ran.raw}
    process = scene.line().begin(json.dumps({**asked, **ids}).encode())
    scene.gateway.arrived("get")
    scene.gateway.decide("req_0001", "approved")
    finish(process)
    assert scene.gateway.only.state == "executing"
    assert scene.run(raw=ran.raw).code == 0
    assert scene.gateway.only.state == "succeeded"


@case
def wrong_payload(scene: Recorded) -> None:
    wrong = next(raw for host, raw in UNREADABLE if host == scene.host)
    said = scene.run(raw=wrong)
    assert (said.code, said.out, bool(said.err)) == (2, b"", True)
    assert scene.gateway.seen == []
