"""What an executor has seen of restores outlives a power cut, and holds for others that share its file."""

from __future__ import annotations

import asyncio
import fcntl
import os
from typing import TYPE_CHECKING, Any

from assent.executor.epoch import Epoch
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


@requirement("F-40")
async def test_a_higher_number_is_on_the_disk_before_it_takes_the_old_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "executor.state"
    file.write_text("1\n")
    forced: list[tuple[str, str]] = []

    def force(number: int) -> None:
        forced.append((file.read_text(), os.pread(number, 99, 0).decode()))

    opened = os.open

    def readable(path: Path, flags: int, mode: int = 0o777) -> int:
        return opened(path, (flags & ~os.O_WRONLY) | os.O_RDWR, mode)

    monkeypatch.setattr("os.fsync", force)
    monkeypatch.setattr("os.open", readable)
    epoch = await asyncio.to_thread(Epoch, file)
    assert await epoch.holds(2)
    assert forced == [("1\n", "2\n")], "all of the new number, while the old one still stands"
    assert file.read_text() == "2\n"
    assert await epoch.holds(2)
    assert not await epoch.holds(1)
    assert len(forced) == 1


@requirement("S-79", "F-40")
async def test_what_one_executor_has_seen_holds_for_another_with_the_same_file(tmp_path: Path) -> None:
    file = tmp_path / "executor.state"
    one, two = await asyncio.to_thread(Epoch, file), await asyncio.to_thread(Epoch, file)
    assert await two.holds(1)
    assert await one.holds(3)
    assert not await two.holds(1)
    assert not await two.holds(2)
    assert file.read_text() == "3\n"
    await asyncio.to_thread(file.unlink)
    assert await one.holds(3)  # what it has seen itself it does not forget, and says again
    assert file.read_text() == "3\n"


@requirement("S-79", "F-40")
async def test_a_number_that_waited_for_its_turn_does_not_take_a_larger_one_s_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, waiting = tmp_path / "executor.state", list[int]()
    file.write_text("1\n")
    lock, flock = fcntl.flock, fcntl.LOCK_EX

    def noted(of: Any, how: int) -> None:
        waiting.append(how)
        lock(of, how)

    epoch = await asyncio.to_thread(Epoch, file)
    with (tmp_path / "executor.state.lock").open("w") as other:
        lock(other, flock)
        monkeypatch.setattr(fcntl, "flock", noted)
        asked = asyncio.ensure_future(epoch.holds(2))
        await eventually(lambda: waiting)
        file.write_text("3\n")  # as another executor does, which has the lock
    assert not await asked
    assert file.read_text() == "3\n"
