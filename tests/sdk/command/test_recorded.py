"""Every host's recorded payloads through the cases that it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assent.command.hosts.table import HOSTS
from tests.requirements import requirement
from tests.sdk.command.recorded import CANNOT, CASES, Recorded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

pytestmark = pytest.mark.process


@requirement("S-08", "F-07")
@pytest.mark.parametrize(
    ("host", "name"), [(host, name) for host in HOSTS for name in CASES if name not in CANNOT[host]]
)
@pytest.mark.sampled(5)
def test_a_host_is_answered_as_every_runtime_is(gateway: StubGateway, tmp_path: Path, host: str, name: str) -> None:
    CASES[name](Recorded(host, gateway, tmp_path))
