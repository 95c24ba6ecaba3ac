"""Daytona's own SDK over real HTTP against a stand-in: what comes back, what is a fault, and that nothing is left."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest

from assent.hooks.contract.sandbox import SandboxFault
from assent.sandbox.daytona import DaytonaSandbox
from assent.sandbox.providers import Sandboxes
from tests.fixtures.patience import HANGS
from tests.sdk.sandbox.daytona_stand_in import KEY, DaytonaStandIn
from tests.sdk.sandbox.jobs import context, routing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from assent.hooks.contract.sandbox import Report

pytestmark = pytest.mark.process

pytest.importorskip("daytona", reason="the SDK of Daytona is not installed")


@pytest.fixture
async def daytona() -> AsyncIterator[DaytonaStandIn]:
    async with DaytonaStandIn() as stand_in:
        yield stand_in


def sandbox(daytona: DaytonaStandIn, **more: Any) -> DaytonaSandbox:
    access = {"api_key": KEY, "api_url": f"{daytona.url}/api", "target": "eu", "patience": HANGS}
    return DaytonaSandbox(**{**access, **more})


async def run(provider: DaytonaSandbox, command: str, **options: Any) -> Report:
    return await Sandboxes([provider]).run(routing("daytona", command, **options), context())


async def test_a_command_runs_there_with_its_exit_code_and_both_streams(daytona: DaytonaStandIn) -> None:
    report = await run(sandbox(daytona), "echo out; echo err >&2")
    assert (report.exit_code, report.stdout, report.stderr, report.ended) == (0, "out\n", "err\n", "")
    assert daytona.deleted == ["sb-0"]
    assert not daytona.alive


async def test_an_exit_code_that_is_not_zero_is_a_report_and_no_fault(daytona: DaytonaStandIn) -> None:
    report = await run(sandbox(daytona), "echo broken >&2; exit 7")
    assert (report.exit_code, report.stderr) == (7, "broken\n")
    assert daytona.deleted == ["sb-0"]


async def test_a_command_with_every_kind_of_quote_arrives_as_it_was_given(daytona: DaytonaStandIn) -> None:
    report = await run(
        sandbox(daytona), """a='x y'; echo "$a" '"' "it's" $((1 + 1)) `echo z`\n[[ -n $a ]] && echo bash"""
    )
    assert (report.stdout, report.stderr) == ("x y \" it's 2 z\nbash\n", "")


async def test_the_sandbox_is_asked_for_without_network_and_ends_by_itself(daytona: DaytonaStandIn) -> None:
    await run(sandbox(daytona, snapshot="ours"), "true", timeout=30)
    (asked,) = daytona.created
    assert (asked["snapshot"], asked["networkBlockAll"], asked["autoDeleteInterval"]) == ("ours", True, 0)
    assert asked["ttlMinutes"] == asked["autoStopInterval"] == 3


async def test_network_snapshot_directory_and_environment_are_passed_on(daytona: DaytonaStandIn) -> None:
    report = await run(
        sandbox(daytona), 'pwd; echo "$CITY"', network=True, snapshot="node", cwd="/usr", env={"CITY": "Köln 科隆"}
    )
    assert report.stdout == "/usr\nKöln 科隆\n"
    assert (daytona.created[0]["snapshot"], daytona.created[0]["networkBlockAll"]) == ("node", False)
    assert "科隆" not in daytona.commands[0]  # others in the sandbox may read command lines


async def test_a_sandbox_that_starts_slowly_is_waited_for(daytona: DaytonaStandIn) -> None:
    daytona.polls = 2
    report = await run(sandbox(daytona), "echo there")
    assert report.stdout == "there\n"


async def test_output_is_kept_up_to_its_limit_and_the_rest_counted(daytona: DaytonaStandIn) -> None:
    report = await run(sandbox(daytona), "head -c 300000 /dev/zero | tr '\\0' x", output=100)
    assert (report.stdout, report.stdout_cut, report.stdout_truncated) == ("x" * 100, 299900, True)


async def test_a_command_that_does_not_end_is_ended_and_its_output_so_far_kept(daytona: DaytonaStandIn) -> None:
    report = await run(sandbox(daytona), "echo begun; sleep 60", timeout=2)
    assert (report.exit_code, report.timed_out, report.stdout) == (None, True, "begun\n")
    assert daytona.deleted == ["sb-0"]


@pytest.mark.parametrize("call", ["session", "exec", "logs"])
async def test_a_toolbox_that_does_not_answer_times_out_as_well(daytona: DaytonaStandIn, call: str) -> None:
    daytona.hanging.add(call)
    report = await run(sandbox(daytona), "true", timeout=0.5)
    assert (report.exit_code, report.timed_out) == (None, True)
    assert daytona.deleted == ["sb-0"]


async def test_a_wrong_key_is_refused_by_the_api_and_told_without_the_key(daytona: DaytonaStandIn) -> None:
    with pytest.raises(SandboxFault, match="invalid credentials") as fault:
        await run(sandbox(daytona, api_key="dtn_wrong"), "true")
    assert "invalid credentials" in daytona.refused
    assert "dtn_wrong" not in str(fault.value)
    assert not daytona.created


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_an_error_of_the_api_is_a_fault(daytona: DaytonaStandIn, status: int) -> None:
    daytona.faults["create"] = status
    with pytest.raises(SandboxFault, match=f"fails with {status}") as raised:
        await run(sandbox(daytona), "true")
    assert raised.value.started is False
    assert not daytona.alive


@pytest.mark.parametrize("call", ["session", "exec", "logs"])
@pytest.mark.parametrize("status", [401, 500])
@pytest.mark.sampled(3)
async def test_an_error_of_the_toolbox_is_a_fault_and_the_sandbox_is_deleted(
    daytona: DaytonaStandIn, call: str, status: int
) -> None:
    daytona.faults[call] = status
    with pytest.raises(SandboxFault, match=str(status)) as raised:
        await run(sandbox(daytona), "true")
    assert raised.value.started is (False if call == "session" else None)
    assert daytona.deleted == ["sb-0"]


async def test_a_sandbox_that_never_starts_is_a_fault_and_deleted(daytona: DaytonaStandIn) -> None:
    daytona.polls = 10**6
    with pytest.raises(SandboxFault, match="timeout"):
        await run(sandbox(daytona, patience=3.0), "true")
    assert daytona.deleted == ["sb-0"]


async def test_an_api_that_is_not_there_is_a_fault(daytona: DaytonaStandIn) -> None:
    with pytest.raises(SandboxFault):
        await run(sandbox(daytona, api_url="http://127.0.0.1:9/api", patience=2.0), "true")


async def test_a_sandbox_that_cannot_be_deleted_is_told_in_the_log_and_the_report_stands(
    daytona: DaytonaStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    daytona.faults["delete"] = 500
    with caplog.at_level(logging.WARNING, logger="assent.sandbox"):
        report = await run(sandbox(daytona), "echo done")
    assert report.stdout == "done\n"
    assert f"{daytona.created[0]['name']} lives on" in caplog.text


async def test_cancelling_deletes_the_sandbox_and_stays_a_cancellation(daytona: DaytonaStandIn) -> None:
    task = asyncio.create_task(run(sandbox(daytona), "sleep 60"))
    await daytona.arrival("logs")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, HANGS)
    assert daytona.deleted == ["sb-0"]


async def test_cancelling_while_the_sandbox_is_being_made_does_not_lose_it(daytona: DaytonaStandIn) -> None:
    daytona.hanging.add("create")
    task = asyncio.create_task(run(sandbox(daytona), "true"))
    await daytona.arrival("create")
    task.cancel()
    daytona.release()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, HANGS)
    assert (daytona.deleted, daytona.commands) == (["sb-0"], [])


async def test_without_the_sdk_the_fault_names_the_extra(
    daytona: DaytonaStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "daytona", None)  # what an import meets that finds nothing
    with pytest.raises(SandboxFault, match=r"pip install 'assent\[daytona\]'") as raised:
        await run(sandbox(daytona), "true")
    assert raised.value.started is False


async def test_an_unknown_option_is_a_fault_that_names_the_known_ones(daytona: DaytonaStandIn) -> None:
    with pytest.raises(SandboxFault, match="no option 'memory'; it knows cwd, env, network, output, snapshot, timeout"):
        await run(sandbox(daytona), "true", memory=1)
    assert not daytona.created


def test_a_key_is_wanted() -> None:
    with pytest.raises(ValueError, match="key"):
        DaytonaSandbox(api_key="")
