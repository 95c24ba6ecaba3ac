"""Two replicas that lock a payment's rows the other way round, because of what else is in their commits.

Each unit locks requests, then the org's spending, then a permission, then the trail's head. A group commit is many
units: two of them may meet crosswise. PostgreSQL ends one; its units are run again alone, and each takes effect once.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.trail.audit import Kind, Record
from app.storage.payments.spends import lock_spending
from app.storage.permits.permits import lock_permit
from app.storage.requests.requests import lock_request
from tests.fixtures.gateway import open_gateway
from tests.fixtures.standing import approved, standing, write_standing
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org that permits standing approvals."""
    return write_standing(tmp_path)


@pytest.mark.postgres
@pytest.mark.timeout(60)
@requirement("S-08")
@pytest.mark.parametrize("crossed", ["request and spending", "spending and permission", "request and permission"])
async def test_commits_that_lock_crosswise_both_take_effect_once(
    postgres_url: str, config: Path, platform: MemoryPlatform, crossed: str
) -> None:
    async with (
        open_gateway(postgres_url, config, platform) as one,
        open_gateway(postgres_url, config, platform) as two,
    ):
        base = await approved(one)
        permit, waiting = await standing(one, base), await one.ask("note", {"to": "x"})
        locks: dict[str, Callable[[Tx], object]] = {
            "request": lambda tx: lock_request(tx, waiting["id"]),
            "spending": lock_spending,
            "permission": lambda tx: lock_permit(tx, permit["id"]),
        }
        first, second = (locks[name] for name in crossed.split(" and "))
        both = threading.Barrier(2, timeout=20)
        done = await asyncio.gather(
            *together(one.container.store, both, ("a", first), ("b", second)),
            *together(two.container.store, both, ("c", second), ("d", first)),
        )
        assert done == ["a", "b", "c", "d"]
        written = one.rows("SELECT facts FROM audit_events WHERE kind = 'hook.noted'")
        assert sorted(str(each["facts"]) for each in written) == [f'{{"unit":"{name}"}}' for name in "abcd"]
        _, fault = await one.verify()
        assert fault is None


def together(store: Store, both: threading.Barrier, *units: tuple[str, Callable[[Tx], object]]) -> list[Any]:
    """Hand units in as one commit; after the first one's lock, wait for the other side's, the first time round."""
    gate, met = threading.Event(), threading.Event()

    def held(_: Tx) -> None:
        gate.wait(20)

    def unit(name: str, lock: Callable[[Tx], object], *, is_first: bool) -> Callable[[Tx], str]:
        def work(tx: Tx) -> str:
            lock(tx)
            if is_first and not met.is_set():
                met.set()
                both.wait()
            tx.append(Record(kind=Kind.HOOK_NOTED, actor="system", facts={"unit": name}))
            return name

        return work

    before = asyncio.ensure_future(store.write(held, org="acme"))
    found = [
        asyncio.ensure_future(store.write(unit(name, lock, is_first=at == 0), org="acme"))
        for at, (name, lock) in enumerate(units)
    ]

    async def release() -> None:
        gate.set()  # they are in the lane's queue: their tasks began before this one
        await before

    opened = asyncio.ensure_future(release())

    async def answered(future: asyncio.Future[str]) -> str:
        await opened
        return await future

    return [answered(each) for each in found]
