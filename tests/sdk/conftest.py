"""The SDK's stand-in gateway, and a hook process against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sdk.gateway_stub import StubGateway
from tests.sdk.hook_process import HookLine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def gateway() -> Iterator[StubGateway]:
    """A gateway that listens."""
    with StubGateway() as stub:
        yield stub


@pytest.fixture
def hook(gateway: StubGateway, tmp_path: Path) -> HookLine:
    """The hook command, configured for that gateway."""
    return HookLine(url=gateway.url, folder=tmp_path)
