"""Whoever watches over the hook knows, before an approval is spent, whether anybody is there to use it."""

from __future__ import annotations

import os
import time

import pytest

from assent.command.faults import HookError
from assent.command.watch import Watch


@pytest.fixture
def watch() -> Watch:
    return Watch(started=time.monotonic(), deadline=60)


def test_a_host_that_died_is_gone_and_no_claim_is_begun(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not watch.host_is_gone()
    watch.commit()
    monkeypatch.setattr("os.getppid", lambda: 1)  # whoever is left behind is init's
    assert watch.host_is_gone()
    with pytest.raises(HookError, match="the host is gone"):
        watch.commit()


def test_a_host_that_stopped_reading_is_gone(watch: Watch) -> None:
    reading, writing = os.pipe()
    kept = os.dup(1)
    try:
        os.dup2(writing, 1)
        assert not watch.host_is_gone()
        os.close(reading)
        assert watch.host_is_gone()
        with pytest.raises(HookError, match="the host is gone"):
            watch.commit()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(writing)


def test_past_the_deadline_no_claim_is_begun() -> None:
    late = Watch(started=time.monotonic() - 61, deadline=60)
    with pytest.raises(HookError, match="too late"):
        late.commit()
