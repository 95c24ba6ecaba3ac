"""The head that a commit links to is read before it is locked: who comes in between is noticed, and nothing is lost."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import UnsealedError
from app.identifiers import RandomIds
from app.storage.make_store import make_store
from app.storage.statements.together import LostGuardError
from app.storage.trail import audit_chain
from app.storage.trail.audit_chain import list_events
from tests.fixtures.patience import HANGS, eventually, in_one_commit
from tests.requirements import requirement
from tests.storage.rig import (
    ORG,
    WAITING_FOR_A_LOCK,
    ManualClock,
    behind,
    look,
    manual_dialect,
    note,
    notes,
    overhear_writer,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

pytestmark = pytest.mark.postgres  # SQLite has one writer, whose lock covers the head from its BEGIN


class Replica:
    """A store whose writer is overheard."""

    def __init__(self, url: str) -> None:
        dialect = manual_dialect(url, ManualClock())
        self.said: list[str] = []
        overhear_writer(dialect, self._hear)
        self.store: Store = make_store(dialect, RandomIds(), seals=None)

    async def note(self, *names: str, org: str = ORG) -> list[str]:
        """Say something in the trail, one commit a name; return what was asked of the heads for it."""
        del self.said[:]
        for name in names:
            await self.store.write(note(name), org=org)
        return self.said[:]

    async def notes(self, org: str = ORG) -> list[str]:
        """Return who says something in the trail, which is whole, and its head the last of it."""
        return await notes(self.store, org)

    def _hear(self, statement: str) -> None:
        if statement == "ROLLBACK":
            self.said.append("taken back")
        if statement.startswith("SELECT audit_heads.seq"):
            self.said.append("locked" if statement.endswith("FOR UPDATE") else "read")

    async def while_it_runs(
        self, act: Callable[[], Awaitable[object]], *units: Callable[[Tx], Any], org: str = ORG
    ) -> list[Any]:
        """Run units in one commit, and `act` once, behind what the first of them has read; return their results."""
        began, may_go = threading.Event(), threading.Event()

        def first(tx: Tx) -> Any:
            tx.now()
            if not began.is_set():
                del self.said[:-1]  # what was asked for the commit that kept the writer busy until they stood there
                began.set()
            assert may_go.wait(HANGS)
            return units[0](tx)

        calls = [self.store.write(unit, org=org) for unit in (first, *units[1:])]
        ran = asyncio.ensure_future(in_one_commit(self.store, calls, in_turn=True))
        assert await asyncio.to_thread(began.wait, HANGS)
        await act()
        may_go.set()
        return await ran


@asynccontextmanager
async def replicas(url: str, many: int) -> AsyncIterator[list[Replica]]:
    async with AsyncExitStack() as stack:
        found = [Replica(url) for _ in range(many)]
        for replica in found:
            replica.store.start()
            stack.push_async_callback(replica.store.stop)
        yield found


async def test_a_commit_reads_the_head_and_locks_it_as_it_moves_it_for_each_org(postgres_url: str) -> None:
    async with replicas(postgres_url, 1) as [one]:
        assert await one.note("a", "b") == ["read"] * 2
        assert await one.note("c", org="globex") == ["read"]
        assert await one.notes() == ["a", "b"]
        assert await one.notes("globex") == ["c"]


@pytest.mark.parametrize("before", [0, 1])
async def test_what_another_wrote_meanwhile_is_noticed_and_the_whole_commit_is_linked_behind_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    async with replicas(postgres_url, 2) as [one, other]:
        await one.note(*["before"] * before)  # or the trail has no head yet
        units = [note("a"), note("b"), note("c")]
        assert await one.while_it_runs(lambda: other.note("other"), *units) == ["a", "b", "c"]
        assert one.said == ["read", "taken back", "locked"]
        assert await one.notes() == [*["before"] * before, "other", "a", "b", "c"]
        assert await one.note("d", "e", "f") == ["locked"] * 3
        monkeypatch.setattr(audit_chain, "_BUSY", 0.0)  # it is over at once
        assert await one.note("g", org="globex") == ["read"]
        await one.while_it_runs(lambda: other.note("other", org="globex"), note("h"), org="globex")
        assert await one.note("i", org="globex") == ["read"]


async def test_what_another_wrote_in_another_org_is_nothing_to_it(postgres_url: str) -> None:
    async with replicas(postgres_url, 2) as [one, other]:
        await one.while_it_runs(lambda: other.note("other", org="globex"), note("a"))
        assert one.said == ["read"]


async def test_who_waits_for_a_head_that_is_being_moved_links_behind_it(postgres_url: str) -> None:
    """The other one holds the head's lock until it has committed, and this one has read it before."""
    async with replicas(postgres_url, 1) as [one]:
        await one.note("a")
        with behind(postgres_url) as other:
            other.execute("BEGIN")
            other.execute("UPDATE audit_heads SET seq = seq")
            waiting = asyncio.ensure_future(one.store.write(note("b"), org=ORG))
            await eventually(lambda: look(postgres_url, WAITING_FOR_A_LOCK) == [(1,)])
            assert not waiting.done()
            other.execute("COMMIT")
        await waiting
        assert await one.notes() == ["a", "b"]


async def test_behind_a_commit_that_failed_for_something_else_the_head_is_read_as_before(postgres_url: str) -> None:
    def broken(tx: Tx) -> None:
        note("broken")(tx)
        raise ZeroDivisionError

    async with replicas(postgres_url, 1) as [one]:
        with pytest.raises(ZeroDivisionError):
            await one.store.write(broken, org=ORG)
        assert await one.note("a") == ["read"]
        assert await one.notes() == ["a"]


@pytest.mark.parametrize("others", [0, 1])
async def test_a_unit_that_loses_its_race_on_such_a_head_is_decided_anew_alone(postgres_url: str, others: int) -> None:
    tries: list[int] = []

    def loses_three_times(tx: Tx) -> str:
        tries.append(0)
        note("loser")(tx)
        if len(tries) <= 3:
            raise LostGuardError
        return "won"

    async with replicas(postgres_url, 2) as [one, other]:
        ran = await one.while_it_runs(lambda: other.note(*["other"] * others), note("a"), loses_three_times, note("b"))
        assert ran == ["a", "won", "b"]
        assert len(tries) == 4
        assert sorted(await one.notes()) == sorted(["a", "b", "loser", *["other"] * others])


@requirement("S-64")
@pytest.mark.parametrize("change", [f"hash = '{'ab' * 32}', seq = -5", "hash = 'NaN'"])
async def test_a_head_that_somebody_changes_under_a_commit_is_met_and_nothing_is_linked_to_it(
    postgres_url: str, change: str
) -> None:
    async with replicas(postgres_url, 1) as [one]:
        await one.note("a")

        def changed() -> None:
            with behind(postgres_url) as stranger:
                stranger.execute(f"UPDATE audit_heads SET {change} WHERE org = '{ORG}'")

        with pytest.raises(UnsealedError):
            await one.while_it_runs(lambda: asyncio.to_thread(changed), note("b"))
        assert one.said == ["read", "taken back", "locked", "taken back"]
        events = await one.store.read(lambda tx: list_events(tx, after=-1, most=1_000), org=ORG)
        assert [event.record.actor for event in events] == ["a"]
