"""What the page says of how much room a call takes is what it takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.places import ROOT
from tests.usecases.upkeep.sizes import measure

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.mark.heavy
@pytest.mark.may_block
async def test_the_page_says_what_a_call_takes_in_the_archive(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    found = await measure(sqlite_url, tmp_path, platform, 10)
    assert found.whole > found.trail > found.rest  # pages are coarse: the page's figures took hundreds of calls
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    said = re.search(r"in a segment, in the archive \| ([0-9.]+) KB", page)
    assert said is not None
    assert float(said[1]) == pytest.approx(found.segment / 1000, rel=0.1)
