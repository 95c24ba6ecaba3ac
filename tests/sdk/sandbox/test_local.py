"""The local sandbox, with the real bubblewrap: what a command gives, and what it cannot use up or outlive."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from assent.hooks.contract.sandbox import SandboxFault
from assent.sandbox.bubblewrap import Limits
from assent.sandbox.local import LocalSandbox
from assent.sandbox.providers import Sandboxes
from tests.sdk.sandbox.jobs import BOUND, context, routing, running, until_gone, until_running
from tests.sdk.sandbox.local_runs import needs_bubblewrap, run

pytestmark = [pytest.mark.process, needs_bubblewrap]


# --- what it does -----------------------------------------------------------------------------------------------------


async def test_a_command_runs_with_its_exit_code_and_both_streams() -> None:
    report = await run("echo out; echo err >&2; exit 3")
    assert (report.exit_code, report.stdout, report.stderr) == (3, "out\n", "err\n")
    assert (report.ended, report.timed_out, report.stdout_truncated) == ("", False, False)
    assert 0 < report.duration < BOUND


async def test_the_call_s_own_command_runs_if_the_hook_names_none() -> None:
    report = await Sandboxes([LocalSandbox()]).run(routing("local"), context(command="echo own"))
    assert report.stdout == "own\n"


async def test_a_command_that_a_signal_killed_tells_it_as_a_shell_does() -> None:
    report = await run("kill -9 $$")
    assert report.exit_code == 137


async def test_standard_input_is_empty() -> None:
    report = await run("cat; echo end")
    assert report.stdout == "end\n"


async def test_what_is_no_utf_8_is_replaced() -> None:
    report = await run(r"printf 'a\377b'; printf '\200' >&2")
    assert (report.stdout, report.stderr) == ("a\N{REPLACEMENT CHARACTER}b", "\N{REPLACEMENT CHARACTER}")


# --- limits -----------------------------------------------------------------------------------------------------------


async def test_a_command_that_takes_too_long_is_ended_with_its_children_and_its_output_kept() -> None:
    report = await run("echo begun; sleep 42.7311 & setsid sleep 42.7311 & sleep 42.7311", timeout=2)
    assert (report.exit_code, report.timed_out, report.stdout) == (None, True, "begun\n")
    assert "longer than 2 s" in report.ended
    assert 2 <= report.duration < BOUND
    assert not await asyncio.to_thread(running, "sleep 42.7311")


async def test_more_memory_than_allowed_is_not_given() -> None:
    take = "python3 -c 'x = bytearray(200 * 1024 * 1024); print(len(x))'"
    assert (await run(take, memory=1024)).exit_code == 0
    report = await run(take, memory=128)
    assert (report.exit_code, report.stdout) == (1, "")
    assert "MemoryError" in report.stderr


async def test_the_memory_of_all_its_processes_together_is_limited() -> None:
    one = "python3 -c 'x = bytearray(60 * 1024 * 1024); import time; time.sleep(90)' & "
    report = await run(one * 2 + "sleep 0.5; echo enough", memory=180)
    assert (report.exit_code, report.stdout) == (0, "enough\n")
    report = await run(one * 4 + "wait", memory=180)
    assert (report.exit_code, report.timed_out) == (None, False)
    assert "more than 180 MiB of memory together (the option 'memory')" in report.ended
    assert report.duration < BOUND


async def test_pages_that_processes_share_count_once() -> None:
    fork = "import os, time; x = bytearray(60 * 1024 * 1024); [os.fork() for _ in range(3)]; time.sleep(0.5)"
    report = await run(f"python3 -c '{fork}'; echo over", memory=180)
    assert (report.exit_code, report.stdout, report.ended) == (0, "over\n", "")


async def test_more_processes_than_allowed_are_not_given() -> None:
    report = await run("for i in $(seq 300); do sleep 43.1177 & done; wait", processes=20, timeout=10)
    assert report.exit_code != 0
    assert not report.timed_out
    assert not await asyncio.to_thread(running, "sleep 43.1177")


async def test_a_file_larger_than_allowed_cannot_be_written(tmp_path: Path) -> None:
    report = await run("head -c 3000000 /dev/zero > big", cwd=tmp_path, writable=True, file_size=1)
    assert report.exit_code != 0
    assert (tmp_path / "big").stat().st_size == 1024 * 1024


async def test_its_own_tmp_has_a_limit() -> None:
    report = await run("head -c 3000000 /dev/zero > /tmp/big || head -c 3000000 /dev/zero > /dev/shm/big", scratch=1)
    assert report.exit_code != 0
    assert report.stderr.count("No space left") == 2


@pytest.mark.parametrize("stream", [1, 2])
async def test_of_much_output_the_head_is_kept_and_the_rest_counted(stream: int) -> None:
    report = await run(f"head -c 5000000 /dev/zero | tr '\\0' x >&{stream}", output=1000)
    kept, cut = (report.stdout, report.stdout_cut) if stream == 1 else (report.stderr, report.stderr_cut)
    assert (kept, cut, report.exit_code) == ("x" * 1000, 4999000, 0)
    assert (report.stdout_truncated, report.stderr_truncated) == (stream == 1, stream == 2)


async def test_output_without_end_on_both_streams_hangs_nothing() -> None:
    report = await run("yes & yes >&2", timeout=1, output=10)
    assert report.timed_out
    assert (report.stdout, report.stderr) == ("y\n" * 5, "y\n" * 5)
    assert report.duration < BOUND


async def test_a_character_that_the_cut_splits_is_left_out() -> None:
    report = await run("printf 'aé科b'", output=4)
    assert (report.stdout, report.stdout_cut) == ("aé", 3)


async def test_a_background_child_that_keeps_the_output_open_neither_hangs_nor_stays() -> None:
    report = await run("sleep 44.2593 & (setsid sleep 44.2593 &) ; echo over")
    assert (report.exit_code, report.stdout) == (0, "over\n")
    assert report.duration < BOUND
    assert await until_gone("sleep 44.2593")


async def test_cancelling_leaves_no_process() -> None:
    task = asyncio.create_task(run("trap '' TERM INT; sleep 45.6127 & setsid sleep 45.6127; true"))
    assert await until_running("sleep 45.6127")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    assert not await asyncio.to_thread(running, "sleep 45.6127")


@pytest.mark.parametrize("milliseconds", [0, 1, 2, 3, 4, 6, 8, 11, 15, 20])
async def test_cancelling_while_the_sandbox_is_being_set_up_leaves_no_process(milliseconds: int) -> None:
    task = asyncio.create_task(run("sleep 46.3381"))
    await asyncio.wait({task}, timeout=milliseconds / 1000)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    assert not await asyncio.to_thread(running, "sleep 46.3381")


async def test_many_run_at_once_while_the_event_loop_stays_free() -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    reports = await asyncio.wait_for(asyncio.gather(*(run(f"sleep 0.5; echo {number}") for number in range(8))), 30)
    heart.cancel()
    assert [report.stdout for report in reports] == [f"{number}\n" for number in range(8)]
    assert beats > 10


async def test_no_descriptor_and_no_process_of_ours_is_left_over() -> None:
    await run("true")
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for command, limit in (("true", 5.0), ("yes", 0.2), ("sleep 9 &", 5.0)):
        await run(command, timeout=limit)
    await asyncio.sleep(0)  # asyncio closes its ends in the next turn
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before


# --- faults -----------------------------------------------------------------------------------------------------------


async def test_without_bubblewrap_the_fault_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assent.sandbox.bubblewrap._PATH", "/nowhere")
    with pytest.raises(SandboxFault, match="needs `bwrap`, which is not installed: install the package bubblewrap"):
        await run("true")


async def test_a_sandbox_that_cannot_be_set_up_is_a_fault_with_bubblewrap_s_own_words() -> None:
    with pytest.raises(SandboxFault, match=r"could not be set up \(bwrap: .*/no/such/place") as raised:
        await run("true", local=LocalSandbox(readable=["/no/such/place"]))
    assert raised.value.started is False


async def test_a_bubblewrap_that_is_killed_under_way_leaves_unknown_whether_the_command_began() -> None:
    task = asyncio.create_task(run("sleep 47.9103"))
    assert await until_running("sleep 47.9103")
    outermost = min(await asyncio.to_thread(running, "47.9103"))
    os.kill(outermost, signal.SIGKILL)
    with pytest.raises(SandboxFault, match="bubblewrap was killed") as raised:
        await asyncio.wait_for(task, BOUND)
    assert raised.value.started is None
    assert await until_gone("sleep 47.9103")


async def test_a_command_that_is_too_long_for_the_kernel_is_a_fault() -> None:
    with pytest.raises(SandboxFault, match=r"could not be started: .*too long") as raised:
        await run("true " + "x" * 200_000)
    assert raised.value.started is False


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"memroy": 1}, "no option 'memroy'; it knows env, file_size, memory, network, output, processes, scratch"),
        ({"network": True}, "has no network"),
        ({"timeout": 0}, "'timeout' to be above 0"),
        ({"timeout": float("nan")}, "'timeout' to be a number"),
        ({"timeout": "5"}, "'timeout' to be a number"),
        ({"memory": 1.5}, "'memory' to be a whole number"),
        ({"processes": True}, "'processes' to be a whole number"),
        ({"output": -1}, "'output' to be a whole number"),
        ({"writable": "yes"}, "'writable' to be True or False"),
    ],
)
async def test_an_option_that_is_unknown_or_has_no_sense_is_a_fault(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SandboxFault, match=says) as raised:
        await run("true", **options)
    assert raised.value.started is False


async def test_no_network_may_be_said_aloud() -> None:
    assert (await run("true", network=False)).exit_code == 0


async def test_the_limits_of_the_set_up_hold_unless_an_option_says_otherwise() -> None:
    local = LocalSandbox(limits=Limits(output=3))
    assert (await run("echo 123456", local=local)).stdout == "123"
    assert (await run("echo 123456", local=local, output=5)).stdout == "12345"
