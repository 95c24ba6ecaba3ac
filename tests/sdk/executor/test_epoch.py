"""What an executor has seen of restores outlives a power cut."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from assent.executor.epoch import Epoch
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
