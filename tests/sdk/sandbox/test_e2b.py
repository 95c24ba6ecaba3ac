"""E2B's own SDK over real HTTP against a stand-in: what comes back, what is a fault, and that nothing is left alive."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest

from assent.hooks.contract.sandbox import SandboxFault
from assent.sandbox.e2b import E2BSandbox
from assent.sandbox.providers import Sandboxes
from tests.fixtures.patience import HANGS
from tests.sdk.sandbox.e2b_stand_in import KEY, E2BStandIn
from tests.sdk.sandbox.jobs import context, routing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from assent.hooks.contract.sandbox import Report

pytestmark = pytest.mark.process

pytest.importorskip("e2b", reason="the SDK of E2B is not installed")


@pytest.fixture
async def e2b() -> AsyncIterator[E2BStandIn]:
    async with E2BStandIn() as stand_in:
        yield stand_in


def sandbox(e2b: E2BStandIn, **more: Any) -> E2BSandbox:
    access = {"api_key": KEY, "api_url": f"{e2b.url}/api", "sandbox_url": f"{e2b.url}/door", "patience": HANGS}
    return E2BSandbox(**{**access, **more})


async def run(provider: E2BSandbox, command: str, **options: Any) -> Report:
    return await Sandboxes([provider]).run(routing("e2b", command, **options), context())


async def test_a_command_runs_there_with_its_exit_code_and_both_streams(e2b: E2BStandIn) -> None:
    report = await run(sandbox(e2b), "echo out; echo err >&2")
    assert (report.exit_code, report.stdout, report.stderr, report.ended) == (0, "out\n", "err\n", "")
    assert e2b.killed == ["isb0"]
    assert not e2b.alive


async def test_an_exit_code_that_is_not_zero_is_a_report_and_no_fault(e2b: E2BStandIn) -> None:
    report = await run(sandbox(e2b), "echo broken >&2; exit 7")
    assert (report.exit_code, report.stderr) == (7, "broken\n")
    assert e2b.killed == ["isb0"]


async def test_the_sandbox_is_asked_for_without_network_and_ends_by_itself(e2b: E2BStandIn) -> None:
    await run(sandbox(e2b, template="ours"), "true", timeout=30)
    (asked,) = e2b.created
    assert (asked["templateID"], asked["allow_internet_access"], asked["autoPause"]) == ("ours", False, False)
    assert 30 < asked["timeout"] <= 300


async def test_network_template_directory_and_environment_are_passed_on(e2b: E2BStandIn) -> None:
    report = await run(
        sandbox(e2b), 'pwd; echo "$CITY"', network=True, template="node", cwd="/usr", env={"CITY": "Köln 科隆"}
    )
    assert report.stdout == "/usr\nKöln 科隆\n"
    assert (e2b.created[0]["templateID"], e2b.created[0]["allow_internet_access"]) == ("node", True)


async def test_output_is_kept_up_to_its_limit_and_the_rest_counted(e2b: E2BStandIn) -> None:
    report = await run(sandbox(e2b), "head -c 300000 /dev/zero | tr '\\0' x", output=100)
    assert (report.stdout, report.stdout_cut, report.stdout_truncated) == ("x" * 100, 299900, True)


async def test_what_is_no_utf_8_is_replaced(e2b: E2BStandIn) -> None:
    report = await run(sandbox(e2b), r"printf 'a\377b'")
    assert report.stdout == "a\N{REPLACEMENT CHARACTER}b"


async def test_a_command_that_does_not_end_is_ended_and_its_output_so_far_kept(e2b: E2BStandIn) -> None:
    report = await run(sandbox(e2b), "echo begun; sleep 60", timeout=2)
    assert (report.exit_code, report.timed_out, report.stdout) == (None, True, "begun\n")
    assert "longer than 2 s" in report.ended
    assert e2b.killed == ["isb0"]


async def test_a_door_that_does_not_answer_times_out_as_well(e2b: E2BStandIn) -> None:
    e2b.hanging.add("start")
    report = await run(sandbox(e2b), "true", timeout=0.5)
    assert (report.exit_code, report.timed_out) == (None, True)
    assert e2b.killed == ["isb0"]


async def test_a_wrong_key_is_refused_by_the_api_and_told_without_the_key(e2b: E2BStandIn) -> None:
    with pytest.raises(SandboxFault, match="'e2b' failed: AuthenticationException: 401") as fault:
        await run(sandbox(e2b, api_key="e2b_wrong"), "true")
    assert e2b.refused == ["invalid API key"]
    assert "e2b_wrong" not in str(fault.value)
    assert not e2b.created


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_an_error_of_the_api_is_a_fault(e2b: E2BStandIn, status: int) -> None:
    e2b.faults["create"] = status
    with pytest.raises(SandboxFault, match=str(status)) as raised:
        await run(sandbox(e2b), "true")
    assert raised.value.started is False
    assert not e2b.alive


@pytest.mark.parametrize("status", [401, 500])
async def test_an_error_of_the_door_is_a_fault_and_the_sandbox_is_killed(e2b: E2BStandIn, status: int) -> None:
    e2b.faults["start"] = status
    with pytest.raises(SandboxFault, match=f"fails with {status}") as raised:
        await run(sandbox(e2b), "true")
    assert raised.value.started is None
    assert e2b.killed == ["isb0"]


async def test_an_api_that_does_not_answer_is_a_fault_in_the_end(e2b: E2BStandIn) -> None:
    e2b.hanging.add("create")
    with pytest.raises(SandboxFault):
        await run(sandbox(e2b, patience=0.5), "true")


async def test_an_api_that_is_not_there_is_a_fault(e2b: E2BStandIn) -> None:
    with pytest.raises(SandboxFault):
        await run(sandbox(e2b, api_url="http://127.0.0.1:9", patience=2.0), "true")


async def test_a_sandbox_that_cannot_be_killed_is_told_in_the_log_and_the_report_stands(
    e2b: E2BStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    e2b.faults["kill"] = 500
    with caplog.at_level(logging.WARNING, logger="assent.sandbox"):
        report = await run(sandbox(e2b), "echo done")
    assert report.stdout == "done\n"
    assert "isb0 lives on" in caplog.text


async def test_cancelling_kills_the_sandbox_and_stays_a_cancellation(e2b: E2BStandIn) -> None:
    task = asyncio.create_task(run(sandbox(e2b), "sleep 60"))
    await e2b.arrival("start")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, HANGS)
    assert e2b.killed == ["isb0"]


async def test_cancelling_while_the_sandbox_is_being_made_does_not_lose_it(e2b: E2BStandIn) -> None:
    e2b.hanging.add("create")
    task = asyncio.create_task(run(sandbox(e2b), "true"))
    await e2b.arrival("create")
    task.cancel()
    e2b.release()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, HANGS)
    assert (e2b.killed, e2b.started) == (["isb0"], [])


async def test_without_the_sdk_the_fault_names_the_extra(e2b: E2BStandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "e2b", None)  # what an import meets that finds nothing
    with pytest.raises(SandboxFault, match=r"pip install 'assent\[e2b\]'") as raised:
        await run(sandbox(e2b), "true")
    assert raised.value.started is False


async def test_an_unknown_option_is_a_fault_that_names_the_known_ones(e2b: E2BStandIn) -> None:
    with pytest.raises(SandboxFault, match="no option 'memory'; it knows cwd, env, network, output, template, timeout"):
        await run(sandbox(e2b), "true", memory=1)
    assert not e2b.created


def test_a_key_is_wanted() -> None:
    with pytest.raises(ValueError, match="key"):
        E2BSandbox(api_key="")
