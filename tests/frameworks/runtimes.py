"""The runtimes that the suite drives, where their programs run, and what they cannot do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

IN_PROCESS = "the gate runs inside of the agent's process: there is no hook that could be killed without it"
NO_CONTROL_FLOW = "it has no exceptions by which a tool directs the flow"
WAITS_ONLY = "it has nothing by which a run could end and go on later: the adapter waits"
ONE_A_TURN = (
    "it keeps one suspended call a turn: others that people have to be asked about are not run, leave no card, and the "
    "model reads that it may call them again"
)
ON_A_LOOP = "its agents run on an event loop alone; `run_sync` starts one"


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """A framework: its adapter, the program that drives it, and the cases that it cannot have, each with its reason."""

    name: str
    title: str
    suspends: str
    """By what it suspends; nothing, if it cannot."""
    flow: str
    """How a call is carried out again whose tool directed the flow: the run is `resumed`, or in it `retried`."""
    says_of_errors: str = "the bank is closed: boom"
    """What it makes, by itself, of a tool's own error."""
    says_of_killed: str = "it is not known whether it ran. It may be running still."
    """What its model reads of a suspended call whose agent was killed while it ran."""
    no_json: Any = "half of a pair: \ud83d"
    """A value that is no JSON, and that it hands on."""
    prefix: str = ""
    """What it puts before a tool's name."""
    environment: str = ".venv-frameworks"
    cannot: Mapping[str, str] = field(default_factory=dict[str, str])


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        Runtime(
            name="langgraph",
            title="LangChain, LangGraph",
            suspends="`interrupt()`",
            flow="resumed",
            cannot={"hook_killed": IN_PROCESS},
        ),
        Runtime(
            name="openai_agents",
            title="OpenAI Agents",
            suspends="`needs_approval`",
            flow="",
            says_of_errors="An error occurred while running the tool.",
            no_json=float("nan"),
            cannot={
                "hook_killed": IN_PROCESS,
                "synchronous": ON_A_LOOP,
                "control_flow": NO_CONTROL_FLOW,
            },
        ),
        Runtime(
            name="pydantic_ai",
            title="Pydantic AI",
            suspends="deferred tools",
            flow="retried",
            no_json=float("nan"),
            cannot={"hook_killed": IN_PROCESS, "synchronous": ON_A_LOOP},
        ),
        Runtime(
            name="claude_agent_sdk",
            title="Claude Agent SDK",
            suspends="`defer`",
            says_of_killed="It may or may not have completed",
            flow="",
            prefix="mcp__t__",
            no_json=float("nan"),
            cannot={
                "hook_killed": IN_PROCESS,
                "synchronous": ON_A_LOOP,
                "control_flow": NO_CONTROL_FLOW,
                "suspended_beside_others": ONE_A_TURN,
            },
        ),
        Runtime(
            name="google_adk",
            title="Google ADK",
            suspends="a request for a confirmation",
            flow="resumed",
            cannot={"hook_killed": IN_PROCESS, "synchronous": ON_A_LOOP},
        ),
        Runtime(
            name="agent_framework",
            title="Microsoft Agent Framework",
            suspends="an approval request",
            flow="",
            says_of_errors="Error: Function failed.",
            no_json=float("nan"),
            cannot={
                "hook_killed": IN_PROCESS,
                "synchronous": ON_A_LOOP,
                "control_flow": "a tool's own wish for input ends its run, and comes back as another call",
            },
        ),
        Runtime(
            name="crewai",
            title="CrewAI",
            suspends="",
            flow="",
            no_json=float("nan"),
            environment=".venv-crewai",
            cannot={
                "hook_killed": IN_PROCESS,
                "cancelled": "a crew runs on threads, and a thread that waits cannot be cancelled",
                "control_flow": NO_CONTROL_FLOW,
                "suspended": WAITS_ONLY,
                "suspended_too_early": WAITS_ONLY,
                "suspended_beside_others": WAITS_ONLY,
                "suspended_judged": WAITS_ONLY,
                "suspended_edited": WAITS_ONLY,
                "suspended_killed": WAITS_ONLY,
            },
        ),
    )
}


def python_of(runtime: Runtime) -> Path:
    """The Python of a framework's environment; without one the test is skipped, or fails where there has to be one."""
    folder = ROOT / runtime.environment
    if not (folder / ".installed").exists():
        why = f"{runtime.environment} is not there: `make frameworks` makes it"
        if runtime.environment in os.environ.get("NEEDS_FRAMEWORKS", "").split():
            pytest.fail(why)
        pytest.skip(why)
    return folder / "bin" / "python"


class Driver:
    """A framework's program, which forks an agent for each scene."""

    def __init__(self, runtime: Runtime, folder: Path) -> None:
        self._words = [str(python_of(runtime)), "-m", f"tests.frameworks.drivers.{runtime.name}_agent"]
        self._log = folder / "driver.log"

    def __enter__(self) -> Self:
        environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self._log.parent),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
            "PYTHONUTF8": "1",
        }
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._words, cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._answer() == {"ready": True}
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, folder: Path, **scene: Any) -> Agent:
        """Start an agent."""
        folder.mkdir(parents=True, exist_ok=True)
        return Agent(self, self.ask({"scene": {"folder": str(folder), **scene}})["pid"], folder)

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Say a line, and read its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._log.read_text()
        return json.loads(line)


@dataclass
class Agent:
    """One agent of a scene, and what became of it."""

    driver: Driver
    pid: int
    folder: Path

    def kill(self) -> None:
        """End it as a power cut would."""
        os.kill(self.pid, signal.SIGKILL)
        assert self.died()

    def died(self) -> bool:
        """Wait for its end; whether it was killed."""
        return self.driver.ask({"wait": {"pid": self.pid}})["code"] == -signal.SIGKILL

    def ended(self) -> Said:
        """Wait for its end, and read what it said."""
        code = self.driver.ask({"wait": {"pid": self.pid}})["code"]
        assert code == 0, (self.folder / "log").read_text()
        return Said(**json.loads((self.folder / "said.json").read_text()))


@dataclass
class Said:
    """What a run ended with."""

    error: str | None
    told: dict[str, str]
    """What the model read of each call, by its id."""
    final: str = ""
    waits: list[dict[str, Any]] = field(default_factory=list)
    """The calls that were suspended."""
