"""What a stand-in starts is ended: left over, it would be another test's fault when its garbage is collected."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import warnings
from typing import TYPE_CHECKING

import pytest

from tests.sdk.sandbox.shells import Shells

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.process
def test_a_shell_whose_caller_went_as_it_was_made_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    left: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: left.append(str(found.exc_value)))

    async def run() -> None:
        shells = Shells()
        starting = asyncio.ensure_future(shells.start("/bin/sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 60"))
        await asyncio.sleep(0)  # it has begun
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await shells.end_left()

    asyncio.run(run())
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        gc.collect()
    assert left == []
    if (written := tmp_path / "pid").exists() and (pid := written.read_text().strip()):
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
