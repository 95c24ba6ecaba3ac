"""The wall clock steps, back or forward: ticks go on at their span, and what is believed for a while grows old."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from apscheduler.schedulers import base
from apscheduler.triggers import interval
from structlog.testing import capture_logs

from app.abilities.directories import ReportsTo
from app.usecases.platforms.fetch_groups import FetchGroups
from app.usecases.platforms.hearing import Hearing
from app.workers.timers import Timers, _Interval  # pyright: ignore[reportPrivateUsage]
from tests.requirements import requirement
from tests.storage.rig import ManualClock

SPAN = timedelta(milliseconds=100)
STEPS = {"5 min back": -300, "1 h back": -3600, "1 h forward": 3600, "10 years forward": 315_360_000}


class Wall:
    """The wall clock of this process, as the scheduler sees it too, and how far somebody has set it."""

    def __init__(self) -> None:
        self.set_by = timedelta(0)

    def now(self, tz: object = UTC) -> datetime:
        """Return the wall's time."""
        del tz
        return datetime.now(UTC) + self.set_by


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    made = Wall()

    class Shown(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return made.now(tz)

    for module in (base, interval):
        monkeypatch.setattr(module, "datetime", Shown)
    monkeypatch.setattr("app.workers.timers._LOOK_EVERY", 0.05)
    return made


@requirement("F-42")
@pytest.mark.parametrize("seconds", STEPS.values(), ids=STEPS)
@pytest.mark.heavy
async def test_ticks_go_on_when_the_wall_clock_steps_and_the_step_is_logged(wall: Wall, seconds: int) -> None:
    ticks: dict[str, asyncio.Queue[None]] = {
        "sweep": asyncio.Queue(),
        "reload": asyncio.Queue(),
        "rare": asyncio.Queue(),
    }
    timers = Timers(wall)

    def ticking(name: str) -> Any:
        async def tick() -> None:
            ticks[name].put_nowait(None)

        return tick

    timers.every(SPAN, "sweep", ticking("sweep"))
    timers.every(SPAN, "reload", ticking("reload"), jitter=1)
    timers.every(timedelta(hours=6), "rare", ticking("rare"))
    timers.start()
    try:
        for name in ("sweep", "reload"):
            await asyncio.wait_for(ticks[name].get(), 10)
        assert ticks["rare"].empty()
        with capture_logs() as logged:
            wall.set_by = timedelta(seconds=seconds)
            for name in ("sweep", "sweep", "sweep", "reload", "reload", "rare"):  # at once, and then again
                await asyncio.wait_for(ticks[name].get(), 10)
        [step] = [line for line in logged if line["event"] == "clock.stepped"]
        assert abs(step["seconds"] - seconds) < 2
        assert step["log_level"] == "warning"
    finally:
        timers.stop()


@requirement("F-42")
async def test_clocks_that_agree_make_no_step(wall: Wall) -> None:
    seen: asyncio.Queue[None] = asyncio.Queue()

    async def tick() -> None:
        seen.put_nowait(None)

    timers = Timers(wall)
    timers.every(SPAN, "sweep", tick)
    with capture_logs() as logged:
        timers.start()
        for _ in range(5):
            wall.set_by += timedelta(milliseconds=2)  # slewed, as time servers do
            await asyncio.wait_for(seen.get(), 10)
        timers.stop()
    assert not [line for line in logged if line["event"] == "clock.stepped"]


@requirement("F-42")
def test_a_year_ahead_is_one_tick_and_not_thirty_million() -> None:
    """Counted: APScheduler asks for the next time until it has come to the present, on the event loop."""
    trigger, now = _Interval(timedelta(seconds=1), 0), datetime(2027, 1, 1, tzinfo=UTC)
    due: datetime | None = now - timedelta(days=365)
    asked = 0
    while due is not None and due <= now:
        due = trigger.get_next_fire_time(due, now)
        asked += 1
    assert asked == 1
    assert due == now + timedelta(seconds=1)
    regular = now - timedelta(milliseconds=400)
    assert trigger.get_next_fire_time(regular, now) == now + timedelta(milliseconds=600)  # in its own rhythm else


@requirement("F-42")
async def test_what_a_platform_said_of_a_group_grows_old_though_the_clock_was_set_back() -> None:
    clock = ManualClock()
    groups = FetchGroups(store=None, book=None, channels=None, clock=clock)  # type: ignore[arg-type]
    source: Any = type("Source", (), {"channel": "pay", "source": "finance"})()
    groups._told["acme", source] = (clock.now(), frozenset({"U_ANN"}))  # pyright: ignore[reportPrivateUsage]
    clock.advance(timedelta(minutes=1))
    assert (await groups._list("acme", source)).accounts == {"U_ANN"}  # pyright: ignore[reportPrivateUsage]
    clock.advance(-timedelta(hours=1))
    assert (await groups._list("acme", source)).accounts == frozenset()  # pyright: ignore[reportPrivateUsage]


@requirement("F-42")
async def test_what_a_platform_said_of_an_account_grows_old_though_the_clock_was_set_back() -> None:
    clock = ManualClock()
    hearing = Hearing[ReportsTo]("managers", "pay", clock=clock)

    async def ask(accounts: tuple[str, ...]) -> dict[str, ReportsTo]:
        return dict.fromkeys(accounts, ReportsTo(account_id="U_BOB"))

    assert await hearing.round(hearing.due(["U_ANN"]), at_once=1, ask=ask) == {"U_ANN"}
    assert hearing.said("U_ANN") == ReportsTo(account_id="U_BOB")
    clock.advance(-timedelta(seconds=1))
    assert hearing.said("U_ANN") is None
    assert hearing.due(["U_ANN"]) == ["U_ANN"]  # nor does it keep anybody from asking


def test_the_monotonic_clock_is_what_the_loop_goes_by() -> None:
    """What the comparison rests on."""
    loop = asyncio.new_event_loop()
    try:
        before, told, after = time.monotonic(), loop.time(), time.monotonic()
        assert before - 1 <= told <= after + 1
    finally:
        loop.close()
