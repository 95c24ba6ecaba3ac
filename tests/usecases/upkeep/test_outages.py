"""What keeps a loop or a tick from its work is said when it begins and when it is over, in one line each."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest
from structlog.testing import capture_logs

from app.clock import SystemClock
from app.domain.errors import UnavailableError
from app.workers.notifications import Notifications
from app.workers.supervisor import Supervisor
from app.workers.timers import Timers
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

AWAY = "the database cannot be reached"


class Work:
    """Fails so often, and then does what it is to do."""

    def __init__(self, error: Callable[[], Exception], *, times: int) -> None:
        self.error, self.left = error, times
        self.at_work = asyncio.Event()

    async def loop(self) -> None:
        await self.tick()
        await asyncio.Event().wait()

    async def tick(self) -> None:
        if self.left:
            self.left -= 1
            raise self.error()
        self.at_work.set()


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.workers.supervisor._PAUSE", 0.0)
    monkeypatch.setattr("app.workers.supervisor._RUNS_AGAIN", 0.05)


def told(logs: Sequence[Mapping[str, object]]) -> list[str]:
    return [str(each["event"]) for each in logs]


async def test_an_outage_is_two_lines_of_a_loop_and_a_defect_one_each_time() -> None:
    away = Work(lambda: UnavailableError(AWAY), times=20)
    broken = Work(lambda: ZeroDivisionError(), times=2)  # noqa: PLW0108 - a new one each time
    supervisor = Supervisor()
    with capture_logs() as logs:
        supervisor.keep("away", away.loop)
        supervisor.keep("broken", broken.loop)
        await asyncio.wait_for(asyncio.gather(away.at_work.wait(), broken.at_work.wait()), HANGS)
        await asyncio.sleep(0.15)
        await supervisor.stop()
    of_away = [each for each in logs if each["worker"] == "away"]
    assert [(each["event"], each["log_level"], each.get("why")) for each in of_away] == [
        ("worker.waits", "warning", AWAY),
        ("worker.resumed", "info", None),
    ]
    assert told([each for each in logs if each["worker"] == "broken"]) == ["worker.failed", "worker.failed"]


async def test_an_outage_is_two_lines_of_a_tick() -> None:
    work = Work(lambda: UnavailableError(AWAY), times=5)
    timers = Timers(SystemClock())
    timers.every(timedelta(milliseconds=10), "sweep", work.tick)
    with capture_logs() as logs:
        timers.start()
        await asyncio.wait_for(work.at_work.wait(), HANGS)
        await asyncio.sleep(0.03)
        timers.stop()
    assert told(logs) == ["tick.waits", "tick.resumed"]


async def test_a_tick_that_is_cancelled_since_the_gateway_stops_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    ends: list[str] = []
    begun = asyncio.Event()

    async def tick() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")

    timers = Timers(SystemClock())
    timers.every(timedelta(milliseconds=10), "sweep", tick)
    timers.start()
    await asyncio.wait_for(begun.wait(), HANGS)
    [job] = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
    timers.stop()
    await asyncio.wait([job], timeout=HANGS)
    assert ends == ["cancelled"]
    assert [each.message for each in caplog.records if each.levelname in {"ERROR", "WARNING"}] == []


async def test_listening_to_a_database_that_is_away_is_an_outage_and_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object, **__: object) -> None:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", refused)
    listener = Notifications("postgresql://nobody@127.0.0.1:1/none", own="", heard=lambda _: None, missed=lambda: None)
    with pytest.raises(UnavailableError, match=AWAY):
        await listener.run()
