"""The stand-in gateway itself: what it leaves open would be another test's fault, when its garbage is collected."""

from __future__ import annotations

import gc
import socket
import sys
import warnings
from typing import TYPE_CHECKING

from tests.sdk.gateway_stub import StubGateway

if TYPE_CHECKING:
    import pytest


def test_whoever_connects_as_it_goes_away_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: left.append(str(found.exc_value)))
    for _ in range(20):
        with StubGateway() as gateway:
            callers = [socket.create_connection(("127.0.0.1", gateway.port), 5) for _ in range(3)]
        for caller in callers:
            caller.close()
        del gateway
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        gc.collect()
    assert left == []
