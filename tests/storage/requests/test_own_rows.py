"""A request that this lane wrote last is not read again; whatever could have changed its rows has them read."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from app.domain.identity.seals import Seals
from app.domain.lifecycle.lifecycle import advance
from app.domain.request.decision import Verdict
from app.storage.engine import lane
from app.storage.identity.clear_values import encrypt_values
from app.storage.requests.requests import find_own, find_request, lock_request
from app.storage.retention.removals import remove_requests
from tests.domain.samples import START, vote
from tests.requirements import requirement
from tests.storage.rig import ORG, ManualClock, behind, given_request, open_store, stepping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

SEALS = Seals(["a-master-secret-of-these-tests-0123456789"])


@pytest.fixture
async def store(sqlite_url: str, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(sqlite_url, clock, seals=SEALS) as opened:
        yield opened


async def is_own(store: Store) -> bool:
    return await store.write(lambda tx: find_own(tx, "req_1") is not None, org=ORG)


async def test_what_this_lane_wrote_or_read_last_is_its_own(store: Store) -> None:
    request = await given_request(store)
    assert await is_own(store)
    approving = vote(request, "ann@acme.example")
    await store.write(stepping("req_1", lambda r, now: advance(r, approving, now=now)), org=ORG, about="req_1")
    assert await is_own(store)


async def test_on_postgresql_no_row_is_for_others_write_it(postgres_url: str, clock: ManualClock) -> None:
    async with open_store(postgres_url, clock, seals=SEALS) as store:
        await given_request(store)
        assert not await is_own(store)


@requirement("S-63")
async def test_whatever_somebody_else_commits_has_all_read_again(store: Store, sqlite_url: str) -> None:
    await given_request(store)
    with behind(sqlite_url) as connection:
        connection.execute("CREATE TABLE somebody_elses (anything INTEGER)")
    assert not await is_own(store)
    assert await store.write(lambda tx: lock_request(tx, "req_1"), org=ORG) is not None
    assert await is_own(store)  # it was read


@requirement("S-63")
async def test_a_row_that_was_only_looked_at_is_not_taken_for_one_that_was_not_set_back(
    store: Store, sqlite_url: str
) -> None:
    """Whether the trail has a later version of it is seen where it is locked."""
    await given_request(store)
    with behind(sqlite_url) as connection:
        connection.execute("CREATE TABLE somebody_elses (anything INTEGER)")
    assert await store.write(lambda tx: find_request(tx, "req_1"), org=ORG) is not None
    assert not await is_own(store)


async def test_what_a_transaction_has_touched_it_reads(store: Store) -> None:
    request = await given_request(store)
    approving = vote(request, "ann@acme.example")

    def unit(tx: Tx) -> bool:
        stepping("req_1", lambda r, now: advance(r, approving, now=now))(tx)
        return find_own(tx, "req_1") is not None

    assert not await store.write(unit, org=ORG)


async def test_a_transaction_that_failed_has_all_read_again(store: Store) -> None:
    await given_request(store)

    def unit(tx: Tx) -> None:
        raise RuntimeError("the commit does not happen")

    with pytest.raises(RuntimeError):
        await store.write(unit, org=ORG)
    assert not await is_own(store)


async def test_a_new_connection_has_all_read_again(store: Store) -> None:
    await given_request(store)
    store._writer._disconnect()
    assert not await is_own(store)


async def test_with_what_is_remembered_forgotten_all_is_read_again(store: Store) -> None:
    """As it is where a key of the values is destroyed."""
    await given_request(store)

    def unit(tx: Tx) -> None:
        assert tx.vault is not None
        tx.vault.shown.clear()

    await store.write(unit, org=ORG)
    assert not await is_own(store)


def _remove(tx: Tx) -> None:
    assert remove_requests(tx, [(0, "req_1")], before=START + timedelta(days=400)).requests == ("req_1",)


def _encrypt(tx: Tx) -> None:
    encrypt_values(tx, ["req_1"])


@pytest.mark.parametrize("otherwise", [_remove, _encrypt])
async def test_what_is_written_in_another_way_is_read_again(
    store: Store, clock: ManualClock, otherwise: Callable[[Tx], None]
) -> None:
    request = await given_request(store)
    denying = vote(request, "ann@acme.example", Verdict.DENY)
    await store.write(stepping("req_1", lambda r, now: advance(r, denying, now=now)), org=ORG, about="req_1")
    assert await is_own(store)
    clock.advance(timedelta(days=500))
    await store.write(otherwise, org=ORG)
    assert not await is_own(store)


async def test_they_are_bounded_in_number_and_the_oldest_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "_MOST_OWN", 5)
    for number in range(8):
        await given_request(store, f"req_{number}")
    assert sorted(store._writer._own) == [f"req_{number}" for number in range(3, 8)]


async def test_what_was_touched_is_read_in_the_same_commit_also_if_it_is_remembered(store: Store) -> None:
    await given_request(store)

    def unit(tx: Tx) -> tuple[bool, bool]:
        before = find_own(tx, "req_1") is not None
        tx.leaves["req_1"] = tx.own["req_1"]
        return before, find_own(tx, "req_1") is not None

    assert await store.write(unit, org=ORG) == (True, False)
