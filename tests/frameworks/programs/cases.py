"""What the real programs are held to: cases of the suite, under the names and the sentences that they have there."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.frameworks import suite
from tests.frameworks.programs.model import Model
from tests.sdk.command.claude_program import hook_processes
from tests.sdk.command.fake_llm import Call
from tests.sdk.hook_process import HOOK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.frameworks.programs.table import Program
    from tests.sdk.real_gateway import RealGateway

BOUND = 150.0
TICK = 0.02
SOON = 40.0
BEGINS_WITHIN = 120.0  # opencode asks npm for a package before it begins: 77 s were seen where nothing answered
PRINTED_DEADLINE = "86385"
SHELLS = "[Bash, bash, run_shell_command, exec_command, shell]"
POLICY = f"""
org: acme
default: allow
attention: {{cool_down: 0s}}
people:
  wang@acme.example: {{name: Wang}}
groups:
  finance: [wang@acme.example]
tools: {{Bash: {{}}, bash: {{}}, run_shell_command: {{}}, exec_command: {{}}, shell: {{}}}}
ask: {{stages: [{{of: [finance], allow_editor: true}}], channels: [api]}}
rules:
  - {{id: never, tools: {SHELLS}, when: 'args.command.startsWith("echo drop ")', then: deny}}
  - {{id: fine, tools: {SHELLS}, when: 'args.command.startsWith("echo look ")', then: allow}}
  - {{id: soon, tools: {SHELLS}, when: 'args.command.startsWith("echo hurry ")', then: ask, timeout: 10s}}
  - {{id: gate, tools: {SHELLS}, then: ask}}
"""

_NOT_AGAIN = "a killed program does not ask for its call again: the model makes it anew, if at all"
_ONE_CALL = "the scripted model makes one call a turn on the wires of the programs"
_WAITS = "the hook waits, and suspends no run; the Claude Agent SDK's adapter does, by Claude Code's own `defer`"
LEFT_OUT = {
    "killed_while_pending": _NOT_AGAIN,
    "approved_while_dead": _NOT_AGAIN,
    "killed_after_claim": _NOT_AGAIN,
    "killed_after_run": _NOT_AGAIN,
    "cancelled": "nobody is there to cancel it; of a session's end the recorded payloads tell",
    "synchronous": "a program is a process; it has no other way",
    "three_parallel": _ONE_CALL,
    "two_identical": _ONE_CALL,
    "sub_agent": "the scripted model starts none; of the two that name theirs, the recorded payloads show it",
    "tool_raises": "the tools are the program's own; what it tells of a failure is shown in `test_hook_rewrites.py`",
    "control_flow": "a program's tools have none that its hook sees",
    "unknown_tool": "which tools a file names is the gateway's to judge, and no program's",
    "odd_arguments": "a megabyte is more than a command line takes; the hook itself is shown with recorded payloads",
    "wrong_payload": "a program writes what it writes; the hook itself is shown with recorded payloads",
    "example": "no agent is written here",
    "suspended": _WAITS,
    "suspended_too_early": _WAITS,
    "suspended_beside_others": _WAITS,
    "suspended_judged": _WAITS,
    "suspended_edited": _WAITS,
    "suspended_killed": _WAITS,
}
"""The suite's other cases, and why the programs are not taken through them."""
CASES: dict[str, Callable[[Scene], None]] = {}


def case(check: Callable[[Scene], None]) -> Callable[[Scene], None]:
    """Add a case; the suite says what it shows."""
    assert check.__name__ in suite.CASES
    CASES[check.__name__] = check
    return check


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One program in a home of its own, before one gateway."""

    program: Program
    binary: str
    real: RealGateway
    folder: Path

    @property
    def config(self) -> Path:
        """What tells the hook where the gateway is; the hook's processes are known by it."""
        return self.folder / "agent.json"

    def command(self, word: str) -> str:
        """A command that leaves its mark."""
        return f"echo {word} >> {shlex.quote(str(self.folder / 'ran'))}"

    def call(self, word: str) -> Call:
        """The call of the shell that leaves it."""
        program = self.program
        return Call(tool=program.tool, arguments={program.argument: self.command(f"{word} now"), **program.more})

    @contextmanager
    def running(self, *turns: Call | str, deadline: str = "", url: str = "", key: str = "") -> Iterator[Run]:
        """Install the hook as its reader would, and run the program, whose model says these turns."""
        home, work = self.folder / "home", self.folder / "work"
        for folder in (home, work):
            folder.mkdir()
        self.config.write_text(json.dumps({"url": url or self.real.url, "key": key or self.real.key}))
        self.config.chmod(0o600)
        with Model([*turns, suite.DONE]) as model:
            for name, text in self.program.files(model.url).items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_text(text)
            self._install(home, deadline)
            environ = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1"}
            with (self.folder / "log").open("wb") as log:
                process = subprocess.Popen(
                    [self.binary, *self.program.words[1:]],
                    cwd=work,
                    env={**environ, **self.program.environ(model.url)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            try:
                yield Run(self, model, process)
            finally:
                end(process)

    def _install(self, home: Path, deadline: str) -> None:
        host = self.program.host
        words = [sys.executable, "-I", "-S", str(HOOK), host, "--install", "--yes", "--config", str(self.config)]
        environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False, env=environ)
        assert done.returncode == 0, done.stdout + done.stderr
        if deadline:
            written = [path for path in home.rglob("*") if path.is_file() and PRINTED_DEADLINE in path.read_text()]
            assert len(written) == 1
            written[0].write_text(written[0].read_text().replace(PRINTED_DEADLINE, deadline))

    def requests(self) -> list[dict[str, Any]]:
        """The requests of this scene."""
        return [each for each in self.real.requests() if str(self.folder) in json.dumps(each["arguments"])]

    def waiting(self) -> dict[str, Any]:
        """The one that waits for people, once it is there."""
        end = time.monotonic() + BEGINS_WITHIN
        while time.monotonic() < end:
            found = [each for each in self.requests() if each["state"] == "pending"]
            if found:
                (only,) = found
                return only
            time.sleep(TICK)
        raise TimeoutError(f"no request came: {(self.folder / 'log').read_text()[-2000:]}")

    def decide(self, verdict: str = "approve", **more: Any) -> dict[str, Any]:
        """Decide it."""
        asked = self.waiting()
        self.real.decide(asked, verdict, **more)
        return asked

    def ran(self) -> list[str]:
        """What the shell did."""
        book = self.folder / "ran"
        return book.read_text().splitlines() if book.exists() else []

    def settled(self, *states: str) -> None:
        """Wait until its requests stand so."""
        end = time.monotonic() + SOON
        while sorted(each["state"] for each in self.requests()) != sorted(states):
            assert time.monotonic() < end, self.requests()
            time.sleep(TICK)


@dataclass(frozen=True)
class Run:
    """A program that runs."""

    scene: Scene
    model: Model
    process: subprocess.Popen[bytes]

    def ended(self) -> list[str]:
        """Wait for its end; what its model was told of its calls."""
        self.process.wait(BOUND)
        log = (self.scene.folder / "log").read_text(errors="replace")
        assert self.model.told, log[-2000:]
        return self.model.told


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program and whatever it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@case
def allow(scene: Scene) -> None:
    with scene.running(scene.call("look")) as run:
        run.ended()
    assert (scene.ran(), scene.requests()) == (["look now"], [])


@case
def deny(scene: Scene) -> None:
    with scene.running(scene.call("drop")) as run:
        told = run.ended()
    assert (
        "Not approved: rule 'never' forbids this call. Reason given: \"Rule never forbids it.\". This is final: do not "
        "retry or rephrase the call, and do not try to reach the same end another way. Tell the user."
    ) in told[0].replace('\\"', '"')
    assert scene.ran() == []


@case
def approve(scene: Scene) -> None:
    with scene.running(scene.call("pay")) as run:
        scene.waiting()
        assert scene.ran() == []
        scene.decide()
        run.ended()
    assert scene.ran() == ["pay now"]


@case
def outcome_recorded(scene: Scene) -> None:
    with scene.running(scene.call("pay")) as run:
        scene.decide()
        run.ended()
        scene.settled("succeeded")


@case
def people_deny(scene: Scene) -> None:
    with scene.running(scene.call("pay"), scene.call("look")) as run:
        asked = scene.decide("deny", reason="not on a Friday")
        told = run.ended()
    assert (
        'Not approved: an approver denied this call. Reason given: "not on a Friday". '
        f"Request {asked['id']}, code {asked['code']}. This is final"
    ) in told[0].replace('\\"', '"')
    assert scene.ran() == ["look now"]


@case
def edit(scene: Scene) -> None:
    with scene.running(scene.call("pay")) as run:
        asked = scene.waiting()
        scene.real.decide(asked, "approve", arguments={**asked["arguments"], "command": scene.command("pay less")})
        run.ended()
    assert scene.ran() == ["pay less"]


@case
def rule_times_out(scene: Scene) -> None:
    with scene.running(scene.call("hurry")) as run:
        told = run.ended()
    assert "nobody decided before the deadline, and silence is not consent" in told[0]
    assert (scene.ran(), [each["state"] for each in scene.requests()]) == ([], ["expired"])


@case
def deadline(scene: Scene) -> None:
    with scene.running(scene.call("pay"), deadline="6") as run:
        told = run.ended()
    assert "this call still waits for a person's decision" in told[0]
    assert scene.ran() == []


@case
def gateway_down(scene: Scene) -> None:
    with scene.running(scene.call("pay"), deadline="2", url="http://127.0.0.1:9") as run:
        told = run.ended()
    assert "the approval gateway could not be reached, and no answer means no" in told[0]
    assert scene.ran() == []


@case
def gateway_restarts(scene: Scene) -> None:
    with scene.running(scene.call("pay")) as run:
        scene.waiting()
        scene.real.kill()
        scene.real.start()
        scene.decide()
        run.ended()
    assert scene.ran() == ["pay now"]


@case
def key_refused(scene: Scene) -> None:
    with scene.running(scene.call("pay"), key="ak_" + "0" * 32) as run:
        told = run.ended()
    assert "the gateway refused this agent's key" in told[0]
    assert scene.ran() == []


@case
def hook_killed(scene: Scene) -> None:
    with scene.running(scene.call("pay")) as run:
        scene.waiting()
        for process in hook_processes(scene.config):
            os.kill(process, signal.SIGKILL)
        run.ended()
    assert scene.ran() == []
