"""The registry of sandboxes, and what the model is told of a report."""

from __future__ import annotations

from typing import Any

import pytest

from assent.hooks.contract.sandbox import Job, Report, SandboxFault
from assent.hooks.contract.verdicts import route
from assent.hooks.session.sandbox_report import render_report
from assent.sandbox.providers import Sandboxes
from tests.sdk.sandbox.jobs import context, routing


class Recording:
    """A provider of somebody else's."""

    def __init__(self, name: str = "theirs", error: Exception | None = None) -> None:
        self.name = name
        self.jobs: list[Job] = []
        self._error = error

    async def run(self, job: Job) -> Report:
        self.jobs.append(job)
        if self._error is not None:
            raise self._error
        return Report(exit_code=0, stdout="done")


async def test_what_a_hook_routes_reaches_the_provider_with_its_options_and_the_call_s_directory() -> None:
    theirs = Recording()
    verdict = route("theirs", "make test", timeout=5, env={"CI": "1"})
    assert verdict.route is not None
    report = await Sandboxes([theirs]).run(verdict.route, context(cwd="/work", command="make deploy"))
    assert report.stdout == "done"
    assert theirs.jobs == [Job(command="make test", cwd="/work", env={"CI": "1"}, options={"timeout": 5})]


async def test_without_a_command_the_call_s_own_runs_as_it_finally_stands() -> None:
    theirs = Recording()
    await Sandboxes([theirs]).run(routing("theirs"), context(command="ls"))
    assert theirs.jobs[0].command == "ls"


@pytest.mark.parametrize("args", [{}, {"command": ""}, {"command": "  "}, {"command": ["ls"]}, {"command": 1}])
async def test_a_call_without_a_command_is_a_fault(args: dict[str, Any]) -> None:
    theirs = Recording()
    with pytest.raises(SandboxFault, match="nothing to run") as raised:
        await Sandboxes([theirs]).run(routing("theirs"), context(**args))
    assert raised.value.started is False
    assert not theirs.jobs


async def test_a_nul_in_the_command_is_a_fault() -> None:
    with pytest.raises(SandboxFault, match="NUL"):
        await Sandboxes([Recording()]).run(routing("theirs", "ls\0rm"), context())


@pytest.mark.parametrize(
    "env", ["CI=1", ["CI"], {"CI": 1}, {1: "CI"}, {"": "x"}, {"A=B": "x"}, {"A": "x\0y"}, {"A\0": "x"}, None]
)
async def test_an_environment_that_is_none_is_a_fault(env: object) -> None:
    theirs = Recording()
    with pytest.raises(SandboxFault) as raised:
        await Sandboxes([theirs]).run(routing("theirs", "ls", env=env), context())
    assert raised.value.started is False
    assert not theirs.jobs


async def test_an_unknown_sandbox_is_a_fault_that_names_those_there_are() -> None:
    sandboxes = Sandboxes([Recording("zoo"), Recording("ark")])
    with pytest.raises(SandboxFault, match="no sandbox 'thiers': there are ark, zoo"):
        await sandboxes.run(routing("thiers", "ls"), context())
    with pytest.raises(SandboxFault, match="none is set up") as raised:
        await Sandboxes().run(routing("local", "ls"), context())
    assert raised.value.started is False


async def test_a_provider_s_fault_is_passed_on_as_it_is() -> None:
    fault = SandboxFault("the ark is full")
    with pytest.raises(SandboxFault) as raised:
        await Sandboxes([Recording(error=fault)]).run(routing("theirs", "ls"), context())
    assert raised.value is fault


async def test_whatever_else_a_provider_raises_is_a_fault_with_its_cause() -> None:
    cause = KeyError("id")
    with pytest.raises(SandboxFault, match=r"'theirs' failed \(KeyError: 'id'\)") as raised:
        await Sandboxes([Recording(error=cause)]).run(routing("theirs", "ls"), context())
    assert raised.value.__cause__ is cause
    assert raised.value.started is None  # it may have run, and only its report be lost


def test_a_fault_that_says_nothing_leaves_unknown_whether_the_command_began() -> None:
    assert SandboxFault("the ark is full").started is None


def test_a_name_is_wanted_and_may_be_taken_once() -> None:
    sandboxes = Sandboxes([Recording("ark")])
    with pytest.raises(ValueError, match="'ark' already"):
        sandboxes.add(Recording("ark"))
    with pytest.raises(ValueError, match="needs a name"):
        sandboxes.add(Recording(""))
    assert sandboxes.names == ("ark",)


def test_the_model_is_told_the_exit_code_first_and_both_streams() -> None:
    report = Report(exit_code=2, stdout="a\nb\n", stderr="no rule\n", duration=1.24)
    assert render_report(report, provider="local").splitlines() == [
        "This command ran in the sandbox 'local', not on the machine itself.",
        "exit code: 2 (after 1.2 s)",
        "stdout:",
        "a",
        "b",
        "stderr:",
        "no rule",
    ]


def test_the_model_is_told_what_was_cut_and_what_is_empty() -> None:
    told = render_report(Report(exit_code=0, stdout="é" * 5, stdout_cut=123456))
    assert "stdout (the first 10 bytes; 123,456 more were cut):\nééééé" in told
    assert told.endswith("stderr: (empty)")


def test_the_model_is_told_why_the_sandbox_ended_the_command() -> None:
    told = render_report(Report(exit_code=None, timed_out=True, ended="it ran longer than 5 s", duration=5.0))
    assert "exit code: none; the sandbox ended it after 5.0 s: it ran longer than 5 s" in told
