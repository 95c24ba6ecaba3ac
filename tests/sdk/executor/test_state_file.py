"""Where an executor cannot write what it has seen of restores, it says so and spends no approval."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway
from assent.executor.epoch import Epoch, StateFileError
from assent.executor.executor import Executor, NotRun, ToolFailed, ToolSucceeded, ToolUnknown
from tests.fixtures.enforced import CALL, approved, enforce
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS, eventually
from tests.requirements import requirement
from tests.sdk.executor.executor_gateway import Spy, executing, restored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.fixture
async def gateway(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    async with open_gateway(sqlite_url, config, platform) as running:
        yield await enforce(running)


@pytest.fixture
def spy() -> Spy:
    return Spy()


@contextmanager
def full_disk(file: Path, *ends: str) -> Iterator[None]:
    """Refuse to write files beside the state file whose names end so."""
    opened, patch = os.open, pytest.MonkeyPatch()

    def refuse(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if str(path).startswith(str(file)) and str(path).endswith(ends or ("",)) and flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, flags, mode, **more)

    patch.setattr("os.open", refuse)
    try:
        yield
    finally:
        patch.undo()


@pytest.mark.parametrize("place", ["nowhere/x", "file/x", "folder"])
def test_a_state_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("1\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=rf"state file .*{place} cannot be read and written: \w+"):
        Executor(AsyncGateway("http://gateway.test", "ak_1"), state_file=tmp_path / place)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_is_refused_at_once(tmp_path: Path) -> None:
    with full_disk(tmp_path / "state"), pytest.raises(ValueError, match="No space left"):
        Executor(AsyncGateway("http://gateway.test", "ak_1"), state_file=tmp_path / "state")


@requirement("F-40", "S-08")
@pytest.mark.parametrize("ends", [(), (".new",), (".lock",)], ids=["all", "in its place", "lock"])
async def test_nothing_is_claimed_while_it_cannot_be_written_and_then_it_runs(
    gateway: Gateway, spy: Spy, tmp_path: Path, ends: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "state"
    async with executing(gateway, spy, state_file=file) as (executor, line):
        restored(line, 1)
        request = await approved(gateway)
        with full_disk(file, *ends):
            for _ in range(2):
                outcome = (await executor.carry_out(request["id"])).outcome
                assert isinstance(outcome, NotRun)
                assert outcome.code == "state_file"
                assert "No space left" in outcome.why
        assert (line.called.count("claim"), spy.calls) == (0, [])
        assert f"request {request['id']}: not run (state_file)" in caplog.text
        assert (await executor.carry_out(request["id"])).outcome == ToolSucceeded(result="paid")
    assert file.read_text() == "1\n"
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("state.")] == ["state.lock"]


@requirement("F-40")
async def test_it_notices_before_the_claim_that_the_disk_has_become_full(
    gateway: Gateway, spy: Spy, tmp_path: Path
) -> None:
    file = tmp_path / "state"
    first, second = await approved(gateway), await approved(gateway, arguments={**CALL, "amount": "2.00"})
    async with executing(gateway, spy, state_file=file) as (executor, line):
        assert (await executor.carry_out(first["id"])).outcome == ToolSucceeded(result="paid")
        with full_disk(file):
            outcome = (await executor.carry_out(second["id"])).outcome
        assert isinstance(outcome, NotRun)
        assert line.called.count("claim") == 1


@requirement("F-40", "F-09")
@pytest.mark.parametrize("what", ["written", "read"])
async def test_what_goes_wrong_behind_the_claim_runs_nothing_and_holds_up_the_next(
    gateway: Gateway, spy: Spy, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim whose number cannot be written did not run; where nobody knows what others saw, it may have before."""
    file = tmp_path / "state"
    first, second = await approved(gateway), await approved(gateway, arguments={**CALL, "amount": "2.00"})
    async with executing(gateway, spy, state_file=file) as (executor, line):
        restored(line, 1)

        def unreadable(_: Path) -> int:
            raise OSError(errno.EIO, "Input/output error")

        assert await executor._epoch.fault() is None
        with full_disk(file, ".new" if what == "written" else ".never"):
            if what == "read":
                line.after["claim"] = lambda: monkeypatch.setattr(Epoch, "_read", unreadable)
            outcome = (await executor.carry_out(first["id"])).outcome
            assert isinstance(outcome, ToolFailed if what == "written" else ToolUnknown)
            assert isinstance((await executor.carry_out(second["id"])).outcome, NotRun)
        assert (line.called.count("claim"), spy.calls) == (1, [])
    states = [(await gateway.read(request))["state"] for request in (first, second)]
    assert states == ["failed" if what == "written" else "unknown", "approved"]


@requirement("F-40")
async def test_work_says_so_at_its_start_and_goes_on_when_it_can_be_written(
    gateway: Gateway, spy: Spy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, ran = tmp_path / "state", asyncio.Event()
    spy.does = ran.set
    async with executing(gateway, spy, state_file=file) as (executor, line):
        with full_disk(file), caplog.at_level(logging.WARNING, "assent"):
            working = asyncio.ensure_future(executor.work())
            await eventually(lambda: "executor payments claims nothing until it can" in caplog.text or working.done())
            waiting = await gateway.ask("by_api", CALL)
            await eventually(lambda: gateway.container.waiters.waited_for() or working.done())
            await gateway.decide(waiting)
            await eventually(lambda: "not run (state_file)" in caplog.text or working.done() or spy.calls)
            assert (working.done(), spy.calls) == (False, [])
            assert "outcome" not in line.called
            assert (await gateway.read(waiting))["state"] == "approved"
        await asyncio.wait_for(ran.wait(), HANGS)
        executor.stop()
        await asyncio.wait_for(working, HANGS)
    assert len(spy.calls) == 1


async def test_a_number_that_others_wrote_meanwhile_is_not_overwritten_by_the_first_look(tmp_path: Path) -> None:
    file = tmp_path / "state"
    epoch = await asyncio.to_thread(Epoch, file)
    await asyncio.to_thread(file.write_text, "3\n")
    assert await epoch.fault() is None
    assert file.read_text() == "3\n"
    assert not await epoch.holds(2)
    await asyncio.to_thread(file.write_text, "something else")
    assert isinstance(await epoch.fault(), StateFileError)
    assert await Epoch(None).fault() is None
