"""How often rows are counted for the bounds on what waits: never far from them, once a commit near them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.trail.audit import Kind, Record
from app.usecases.asking import quota
from app.usecases.asking.quota import Quota
from tests.storage.rig import ORG, open_store

if TYPE_CHECKING:
    import pytest

    from app.storage.engine.transaction import Tx


async def test_near_a_bound_rows_are_counted_once_a_commit_and_again_at_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    def count(tx: Tx, agent: str, *, on_cards: bool) -> int:
        del tx, on_cards
        counted.append(agent)
        return 12

    monkeypatch.setattr(quota, "count_pending", count)
    bounds = Quota(most_pending=20, most_cards=20)

    def submissions(tx: Tx, many: int) -> list[bool]:
        tx.append(Record(kind=Kind.CREATED, actor="agent:shop", facts={}))
        return [bounds.place("shop").take(tx, on_cards=False) is None for _ in range(many)]

    async with open_store(database_url) as store:
        assert all(await store.write(lambda tx: submissions(tx, 5), org=ORG))
        assert len(counted) == 1
        assert all(await store.write(lambda tx: submissions(tx, 8), org=ORG))  # another commit: others may be there
        assert len(counted) == 2
        monkeypatch.setattr(quota, "count_pending", lambda *_, **__: 20)
        assert await store.write(lambda tx: submissions(tx, 1), org=ORG) == [False]
        monkeypatch.setattr(quota, "count_pending", count)
        assert all(await store.write(lambda tx: submissions(tx, 9), org=ORG))
        assert len(counted) == 4, "what is known to be at the bound may be too high, and is counted again"
