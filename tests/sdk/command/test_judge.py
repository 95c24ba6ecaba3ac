"""An approval is spent only while somebody is there to use it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assent.command import judge as judging
from assent.command.claiming import Claiming
from assent.command.faults import HookError
from assent.command.judge import Judge


def test_no_claim_is_sent_once_the_watch_says_that_the_host_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def gone() -> None:
        raise HookError("too late, or the host is gone")

    monkeypatch.setattr(judging, "persist", lambda *call, **_: sent.append(call))
    watch: Any = SimpleNamespace(commit=gone)
    event: Any = SimpleNamespace(claim_id=lambda: "clm_1")
    identity: Any = None
    claiming = Claiming(identity, watch, event, at_once=True)
    asking = Judge.__new__(Judge)
    asking.__dict__ |= {
        "_watch": watch,
        "_claiming": claiming,
        "_request": {"id": "req_1", "digest": "d"},
        "_identity": None,
        "_patience": 1.0,
    }
    with pytest.raises(HookError, match="the host is gone"):
        asking._claim()
    assert sent == []
    assert not claiming.sent, "there is nothing to give back"
