"""Folders for this ring: a sandbox shows a place of its own at /dev, so that none of its folders may lie there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Return a folder on the disk, where those of other rings may be in memory."""
    with tempfile.TemporaryDirectory(prefix="assent-sandbox-") as folder:
        inner = Path(folder).resolve() / "test"  # /tmp itself, a sandbox has of its own
        inner.mkdir()
        yield inner
