"""An approval is spent only while somebody is there to use it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assent.command import judge as judging
from assent.command.faults import HookError
from assent.command.judge import Judge


def test_no_claim_is_sent_once_the_watch_says_that_the_host_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def gone() -> None:
        raise HookError("too late, or the host is gone")

    monkeypatch.setattr(judging, "persist", lambda *call, **_: sent.append(call))
    asking = Judge.__new__(Judge)
    asking.__dict__ |= {
        "_watch": SimpleNamespace(commit=gone),
        "_event": SimpleNamespace(claim_id=lambda: "clm_1"),
        "_request": {"id": "req_1", "digest": "d"},
        "_identity": None,
        "_patience": 1.0,
        "_claim_id": None,
    }
    with pytest.raises(HookError, match="the host is gone"):
        asking._claim()
    assert sent == []
    assert asking._claim_id is None, "there is nothing to give back"
