"""A statement that fails midway holds nothing on: whoever reads behind it reads what is there by then."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from sqlalchemy import select

from app.domain.errors import UnsealedError
from app.storage.engine.transaction import Statement
from app.storage.tables.hook_tables import switches
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.storage.rig import ORG, behind, look, open_store

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx

REASONS = Statement(select(switches.c.reason).order_by(switches.c.tool))
TOOLS = Statement(select(switches.c.tool).order_by(switches.c.tool))
PUT = f"INSERT INTO switches VALUES ('{ORG}', 'paused', '', ?, 1, CAST(? AS TEXT), 'olga@acme.example', 1)"


@requirement("S-64")
async def test_a_neighbour_of_a_unit_that_met_a_text_that_is_none_sees_what_was_written_since(sqlite_url: str) -> None:
    runs: list[int] = []
    entered, release = threading.Event(), threading.Event()

    def busy(_: Tx) -> None:
        entered.set()
        assert release.wait(HANGS)

    def spoilt(tx: Tx) -> list[str]:
        runs.append(1)
        if len(runs) == 2:  # by itself, behind the batch that it has made fail
            with behind(sqlite_url) as stranger:
                stranger.execute(PUT, ("d", b"audit"))
        return [row["reason"] for row in tx.all(REASONS)]

    def neighbour(tx: Tx) -> list[str]:
        return [row["tool"] for row in tx.all(TOOLS)]

    async with open_store(sqlite_url) as store:
        with behind(sqlite_url) as stranger:
            stranger.executemany(PUT, [("a", b"audit"), ("b", b"\xff"), ("c", b"audit")])
        first = asyncio.ensure_future(store.read(busy, org=ORG))
        assert await asyncio.to_thread(entered.wait, HANGS)
        waiting = [asyncio.ensure_future(store.read(unit, org=ORG)) for unit in (spoilt, neighbour)]
        await asyncio.sleep(0)  # both have handed in their unit
        release.set()
        await first
        refused, seen = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(refused, UnsealedError), refused
    assert len(runs) == 2, "once in a batch, and once by itself"
    assert seen == ["a", "b", "c", "d"]
    assert look(sqlite_url, "PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0, "no reader is kept at it"
