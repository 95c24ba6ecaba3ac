"""Many units, one commit: each gets its own verdict, none fails for a neighbour, none is answered before the commit."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import bindparam, select, update

from app.domain.errors import NotFoundError, UnavailableError
from app.domain.lifecycle.lifecycle import advance
from app.domain.request.quorum import Stage
from app.domain.request.request import Status
from app.identifiers import RandomIds
from app.storage.engine import lane
from app.storage.engine.transaction import EVERY_ORG, Statement
from app.storage.make_store import make_store
from app.storage.requests.requests import find_request, insert_request, lock_request, save_request
from app.storage.requests.seen_before import remember_key
from app.storage.sessions.sessions import note_session
from app.storage.statements.together import LostGuardError
from app.storage.tables.hook_tables import sessions
from app.usecases.writing.carry_out import carry_out
from tests.domain.samples import a_request, vote
from tests.fixtures.patience import HANGS, eventually
from tests.requirements import requirement
from tests.storage.rig import (
    ORG,
    ManualClock,
    given_request,
    look,
    manual_dialect,
    note,
    notes,
    opening,
    overhear_writer,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from app.storage.engine.transaction import Batch, Tx


@dataclass(frozen=True, slots=True)
class About:
    """A unit, the request that it is about, and its org."""

    request_id: str
    unit: Callable[[Tx], Any]
    org: str = ORG


class WatchedStore:
    """A store with one writer, its connection watched."""

    def __init__(self, url: str) -> None:
        dialect = manual_dialect(url, ManualClock())
        self.said: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.batches: list[Batch] = []
        overhear_writer(dialect, self._hear)
        self.store = make_store(dialect, RandomIds(), seals=None)
        self.store.on_commit(self.batches.append)

    async def together(self, *units: Callable[[Tx], Any] | About) -> list[Any]:
        """Hand units in while the lane is busy, so that they wait together; return results and exceptions."""
        entered, release = threading.Event(), threading.Event()

        def busy(_: Tx) -> None:
            entered.set()
            assert release.wait(HANGS)

        first = asyncio.ensure_future(self.store.write(busy, org=ORG))
        assert await asyncio.to_thread(entered.wait, HANGS)
        del self.said[:], self.batches[:]
        known = [unit if isinstance(unit, About) else About("", unit) for unit in units]
        waiting = [asyncio.ensure_future(self.store.write(u.unit, org=u.org, about=u.request_id)) for u in known]
        await asyncio.sleep(0)  # each has handed in its unit
        release.set()
        await first
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), HANGS)

    async def notes(self) -> list[str]:
        return await notes(self.store)

    def _hear(self, statement: str) -> None:
        """Write down when it begins, commits and rolls back; it can be held before a commit."""
        word = statement.split(maxsplit=1)[0]
        if word == "COMMIT":
            assert self.gate.wait(HANGS)
        if word in {"BEGIN", "COMMIT", "ROLLBACK"}:
            self.said.append(word)


@asynccontextmanager
async def staged(url: str) -> AsyncIterator[WatchedStore]:
    stage = WatchedStore(url)
    stage.store.start()
    try:
        yield stage
    finally:
        stage.gate.set()
        await stage.store.stop()


def unaudited(tx: Tx) -> str:
    """Write a request without its event, as a bug would."""
    insert_request(tx, a_request())
    return "taken"


def refusing(tx: Tx) -> NotFoundError:
    del tx
    return NotFoundError("not here")


async def test_units_that_wait_together_share_a_commit(database_url: str) -> None:
    async with staged(database_url) as stage:
        results = await stage.together(*(note(f"n{index}") for index in range(20)))
        assert results == [f"n{index}" for index in range(20)]
        assert stage.said == ["COMMIT", "BEGIN", "COMMIT"]  # the busy one's end, then one for all
        assert await stage.notes() == results
        assert [len(batch.changed) for batch in stage.batches] == [20]


async def test_a_unit_that_raises_fails_alone(database_url: str) -> None:
    def broken(tx: Tx) -> None:
        note("broken")(tx)
        raise ZeroDivisionError

    async with staged(database_url) as stage:
        results = await stage.together(note("a"), broken, note("b"))
        assert (results[0], results[2]) == ("a", "b")
        assert isinstance(results[1], ZeroDivisionError)
        assert await stage.notes() == ["a", "b"]
        assert {name for batch in stage.batches for _, name in batch.changed} == {"a", "b"}


async def test_a_unit_whose_sql_is_refused_fails_alone(database_url: str) -> None:
    def twice(tx: Tx) -> None:
        opening(a_request())(tx)
        opening(a_request())(tx)

    async with staged(database_url) as stage:
        results = await stage.together(note("a"), twice, note("b"))
        assert (results[0], results[2]) == ("a", "b")
        assert isinstance(results[1], UnavailableError)
        assert await stage.notes() == ["a", "b"]


async def test_a_refusal_costs_no_rollback_and_keeps_what_the_unit_wrote(database_url: str) -> None:
    def refused_but_noted(tx: Tx) -> NotFoundError:
        note("tried")(tx)
        return NotFoundError("not here")

    async with staged(database_url) as stage:
        results = await stage.together(note("a"), refusing, refused_but_noted)
        assert results[0] == "a"
        assert all(isinstance(result, NotFoundError) for result in results[1:])
        assert "ROLLBACK" not in stage.said
        assert await stage.notes() == ["a", "tried"]


async def test_a_lost_race_is_decided_anew_without_its_neighbours_noticing(database_url: str) -> None:
    tries: list[int] = []

    def loses_twice(tx: Tx) -> str:
        tries.append(len(tries))
        note("loser")(tx)
        if len(tries) < 3:
            raise LostGuardError
        return "won"

    async with staged(database_url) as stage:
        assert await stage.together(note("a"), loses_twice, note("b")) == ["a", "won", "b"]
        assert sorted(await stage.notes()) == ["a", "b", "loser"]  # once, though it ran three times


async def test_a_guarded_write_that_touches_no_row_takes_its_whole_unit_back(database_url: str) -> None:
    tries: list[int] = []

    def unguarded_at_first(tx: Tx) -> str:
        tries.append(len(tries))
        note("guarded")(tx)
        if len(tries) < 3:
            save_request(tx, a_request("req_gone"), a_request("req_gone", version=2))
        return "done"

    async with staged(database_url) as stage:
        assert await stage.together(note("a"), unguarded_at_first, note("b")) == ["a", "done", "b"]
        assert len(tries) == 3
        assert sorted(await stage.notes()) == ["a", "b", "guarded"]


_OF_AGENT = (sessions.c.org == bindparam("of_org"), sessions.c.agent.like(bindparam("agent")))
_TOUCH = Statement(update(sessions).where(*_OF_AGENT).values(noted_at=sessions.c.noted_at + 1))
_FIND = Statement(select(sessions.c.session).where(*_OF_AGENT))


@pytest.mark.parametrize(
    ("must", "lost"), [(lambda tx: tx.guard, ["nobody", "%"]), (lambda tx: tx.hold, ["nobody"])], ids=["guard", "hold"]
)
async def test_what_must_touch_one_row_or_find_one_takes_its_whole_unit_back(
    database_url: str, must: Callable[[Tx], Callable[..., None]], lost: list[str]
) -> None:
    agents = iter([*lost, "alice"])

    def unit(tx: Tx) -> str:
        note("written")(tx)
        agent = next(agents)
        must(tx)({"guard": _TOUCH, "hold": _FIND}[must(tx).__name__], of_org=tx.org, agent=agent)
        return agent

    async with staged(database_url) as stage:
        for agent in ("alice", "bob"):
            await stage.store.write(partial(note_session, agent=agent, session="s"), org=ORG)
        assert await stage.together(note("a"), unit, note("b")) == ["a", "alice", "b"]
        assert sorted(await stage.notes()) == ["a", "b", "written"]


async def test_whoever_always_loses_is_told_to_try_later(database_url: str) -> None:
    tries: list[int] = []

    def always_loses(tx: Tx) -> None:
        tries.append(0)
        note("loser")(tx)
        raise LostGuardError

    async with staged(database_url) as stage:
        with pytest.raises(UnavailableError):
            await stage.store.write(always_loses, org=ORG)
        assert 2 <= len(tries) <= 10
        assert await stage.notes() == []


@requirement("F-06")
async def test_nobody_is_answered_before_the_commit(database_url: str) -> None:
    async with staged(database_url) as stage:
        stage.gate.clear()
        ran = threading.Event()

        def unit(tx: Tx) -> str:
            note("a")(tx)
            ran.set()
            return "a"

        answer = asyncio.ensure_future(stage.store.write(unit, org=ORG))
        assert await asyncio.to_thread(ran.wait, HANGS)
        done, _ = await asyncio.wait({answer}, timeout=0.05)
        assert not done
        assert stage.batches == []
        assert await stage.notes() == []  # readers see nothing of it either
        stage.gate.set()
        assert await asyncio.wait_for(answer, HANGS) == "a"
        assert await stage.notes() == ["a"]


async def test_a_commit_that_fails_answers_nobody_with_success(database_url: str) -> None:
    """A deferred constraint speaks only at COMMIT: by then every unit of the batch had its result."""
    async with staged(database_url) as stage:
        results = await stage.together(note("a"), unaudited, note("b"))
        assert (results[0], results[2]) == ("a", "b")
        assert isinstance(results[1], UnavailableError)
        assert await stage.notes() == ["a", "b"]


@requirement("F-13")
async def test_what_took_too_long_is_not_committed(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process had been frozen inside the transaction and had thawed."""
    monkeypatch.setattr(lane, "LONGEST", 0.05)

    def frozen(tx: Tx) -> str:
        note("frozen")(tx)
        time.sleep(0.06)  # on the lane's own thread
        return "frozen"

    async with staged(database_url) as stage:
        results = await stage.together(note("a"), frozen, note("b"))
        assert (results[0], results[2]) == ("a", "b")
        assert isinstance(results[1], UnavailableError)
        assert await stage.notes() == ["a", "b"]


async def test_a_caller_that_went_away_changes_nothing_for_the_others(database_url: str) -> None:
    async with staged(database_url) as stage:
        stage.gate.clear()
        gone = asyncio.ensure_future(stage.store.write(note("gone"), org=ORG))
        stays = asyncio.ensure_future(stage.store.write(note("stays"), org=ORG))
        await asyncio.sleep(0)
        gone.cancel()
        stage.gate.set()
        assert await asyncio.wait_for(stays, HANGS) == "stays"
        assert sorted(await stage.notes()) == ["gone", "stays"]  # what was handed in stands


async def test_readers_see_what_was_answered(database_url: str) -> None:
    async with staged(database_url) as stage:
        for index in range(20):
            await stage.store.write(note(f"n{index}"), org=ORG)
            assert len(await stage.notes()) == index + 1


async def test_a_stopped_store_takes_nothing_more_but_finishes_what_it_has(database_url: str) -> None:
    async with staged(database_url) as stage:
        stage.gate.clear()
        waiting = [asyncio.ensure_future(stage.store.write(note(f"n{index}"), org=ORG)) for index in range(5)]
        await asyncio.sleep(0)
        stopping = asyncio.ensure_future(stage.store.stop())
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError):
            await asyncio.wait_for(stage.store.write(note("late"), org=ORG), HANGS)
        stage.gate.set()
        assert len(await asyncio.wait_for(asyncio.gather(*waiting), HANGS)) == 5
        await asyncio.wait_for(stopping, HANGS)


async def test_requests_of_a_batch_are_read_together_and_a_second_unit_reads_anew(
    database_url: str,
) -> None:
    two_of_finance = (Stage(of=("finance",), need=2),)
    async with staged(database_url) as stage:
        for request_id in ("req_a", "req_b"):
            await given_request(stage.store, request_id, stages=two_of_finance)
        seen: list[tuple[str, int]] = []

        def voting(person: str) -> Callable[[Tx], None]:
            def unit(tx: Tx) -> None:
                locked = lock_request(tx, "req_a")
                assert locked is not None
                request, now = locked
                seen.append((person, request.version))
                carry_out(tx, request, advance(request, vote(request, person), now=now))

            return unit

        def reading(tx: Tx) -> None:
            locked = lock_request(tx, "req_b")
            assert locked is not None
            seen.append(("reader", locked[0].version))

        def foreign(tx: Tx) -> bool:
            return lock_request(tx, "req_b") is None

        results = await stage.together(
            About("req_b", foreign, org="abroad"),
            About("req_a", voting("ann@acme.example")),
            About("req_b", reading),
            About("req_a", voting("bob@acme.example")),
            About("req_b", foreign, org="abroad"),
        )
        assert stage.said == ["COMMIT", "BEGIN", "COMMIT"]  # of the unit that kept the lane busy, and of all of ours
        assert seen == [("ann@acme.example", 1), ("reader", 1), ("bob@acme.example", 2)]
        # What was read for one org is never another's, not even if that one comes first (units go by their orgs).
        assert [results[0], results[-1]] == [True, True]
        approved = await stage.store.read(lambda tx: find_request(tx, "req_a"), org=ORG)
        assert approved is not None
        assert (approved.status, approved.version) == (Status.APPROVED, 3)


async def test_a_database_that_is_away_is_tried_once_for_all_who_wait(database_url: str) -> None:
    dialect = manual_dialect(database_url, ManualClock())
    tries: list[int] = []

    def away() -> Any:
        tries.append(1)
        raise OSError("no route to the database")

    dialect.connect = away  # type: ignore[method-assign]
    store = make_store(dialect, RandomIds(), seals=None)
    store._open = True  # they are handed in before the lanes serve, so that they make one batch
    waiting = [asyncio.ensure_future(store.write(note("never"), org=ORG)) for _ in range(20)]
    await asyncio.sleep(0)
    store.start()
    answers = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), HANGS)
    await store.stop()
    assert all(isinstance(answer, UnavailableError) for answer in answers)
    assert len(tries) == 1


async def test_the_heads_of_a_commits_trails_are_locked_in_one_order(database_url: str) -> None:
    """Two replicas that locked them as their units came would wait for each other's."""

    def sweep(tx: Tx) -> None:
        for org in ("initech", "acme"):  # in no order, as it finds them
            note("sweep")(tx.of(org))

    async with staged(database_url) as stage:
        orgs = ["globex", "acme"]
        units = [About("", note(f"n{index}"), org) for index, org in enumerate(orgs)]
        await stage.together(*units, About("", sweep, EVERY_ORG))
    place = "rowid" if database_url.startswith("sqlite") else "ctid"
    written = look(database_url, f"SELECT org FROM audit_events ORDER BY {place}")
    assert [org for (org,) in written] == ["acme", "acme", "globex", "initech"]


async def test_a_key_that_another_commit_took_is_decided_anew(database_url: str) -> None:
    async with staged(database_url) as stage:
        for request_id in ("req_1", "req_2"):
            await given_request(stage.store, request_id)
        tries: list[int] = []

        def unit(tx: Tx) -> str:
            tries.append(1)
            if len(tries) == 1:  # as if another replica's commit came in between: the same key is there twice
                remember_key(tx, "shop", "k", call_digest="d", request_id="req_1")
                remember_key(tx, "shop", "k", call_digest="d", request_id="req_2")
            return "decided anew"

        assert await stage.store.write(unit, org=ORG) == "decided anew"
        assert len(tries) == 2
        tries.clear()
        assert await stage.together(unit, note("a neighbour")) == ["decided anew", "a neighbour"]
        assert len(tries) > 1


async def test_a_batch_of_slow_units_is_several_commits_and_none_comes_near_the_end_of_patience(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where this process's other threads are busy: each answer that a unit reads costs a turn among them."""
    monkeypatch.setattr(lane, "LONGEST", 0.5)  # the whole batch takes longer, and would be thrown away
    monkeypatch.setattr(lane, "ENOUGH", 0.1)
    ran: list[str] = []

    def slow(name: str) -> Callable[[Tx], str]:
        def unit(tx: Tx) -> str:
            ran.append(name)
            time.sleep(0.02)
            return note(name)(tx)

        return unit

    names = [f"n{index:02}" for index in range(40)]
    async with staged(database_url) as stage:
        assert await stage.together(*map(slow, names)) == names
        assert ran == names  # each once, in the order in which they came
        assert await stage.notes() == names
        assert 3 <= len(stage.batches) <= 20
        assert max(batch.seconds for batch in stage.batches) < 0.5


async def test_what_a_batch_has_not_come_to_goes_before_whatever_came_later(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "ENOUGH", 0.0)  # one unit a commit
    ran: list[str] = []
    async with staged(database_url) as stage:
        later: list[asyncio.Future[Any]] = []
        loop = asyncio.get_running_loop()

        def unit(name: str, then: str = "") -> Callable[[Tx], None]:
            def work(_: Tx) -> None:
                ran.append(name)
                if then:
                    loop.call_soon_threadsafe(
                        lambda: later.append(asyncio.ensure_future(stage.store.write(unit(then), org=ORG)))
                    )
                    time.sleep(0.05)

            return work

        await stage.together(About("", unit("a", then="late"), ORG), About("", unit("z"), "zebra"))
        await asyncio.wait_for(asyncio.gather(*later), HANGS)
    assert ran == ["a", "z", "late"]


async def test_a_store_that_is_to_stop_ends_what_a_batch_has_not_come_to(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "ENOUGH", 0.0)
    async with staged(database_url) as stage:
        entered, release = threading.Event(), threading.Event()

        def busy(_: Tx) -> None:
            entered.set()
            assert release.wait(HANGS)

        waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(stage.store.write(busy, org=ORG))]
        assert await asyncio.to_thread(entered.wait, HANGS)
        waiting += [asyncio.ensure_future(stage.store.write(note(name), org=ORG)) for name in "abc"]
        await asyncio.sleep(0)
        stopped = asyncio.ensure_future(stage.store.stop())
        await asyncio.sleep(0)
        release.set()
        await asyncio.wait_for(asyncio.gather(*waiting, stopped), HANGS)
        assert [each.result() for each in waiting[1:]] == ["a", "b", "c"]


async def test_what_a_batch_had_not_come_to_when_it_was_given_up_never_runs(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "ENOUGH", 0.0)
    ran: list[str] = []

    def unit(name: str) -> Callable[[Tx], None]:
        def work(tx: Tx) -> None:
            ran.append(name)
            stage.gate.clear()  # the COMMIT is not answered
            note(name)(tx)

        return work

    async with staged(database_url) as stage:
        writer = stage.store._writer
        waiting = asyncio.ensure_future(stage.together(unit("a"), unit("b")))
        await eventually(lambda: bool(ran) and writer._committing)
        writer.abandon(writer.turn)
        stage.gate.set()
        told = await waiting
        assert [type(each) for each in told] == [UnavailableError] * 2
        assert await stage.store.write(lambda _: "the next", org=ORG) == "the next"
        assert ran == ["a"]
