"""Of two workers one has a row, for as long as its lease lasts, and whoever lost it settles nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from app.storage.cards.outbox import claim_due, list_rows, reschedule, revive_dead, settle
from tests.requirements import requirement
from tests.storage.rig import behind, given_request, look

if TYPE_CHECKING:
    from app.storage.cards.outbox import OutboxRow
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from tests.storage.rig import ManualClock

LEASE = timedelta(seconds=30)


def due(tx: Tx) -> list[OutboxRow]:
    return claim_due(tx, channel="chat", most=10, lease=LEASE)


def one_due(tx: Tx) -> list[OutboxRow]:
    return claim_due(tx, channel="chat", most=1, lease=LEASE)


@requirement("F-02")
async def test_a_row_is_one_workers_until_its_lease_is_over(store: Store, clock: ManualClock) -> None:
    await given_request(store, channels=("chat",))
    [mine] = await store.write(due, org="acme")
    assert await store.write(due, org="acme") == [], "somebody has it"
    clock.advance(LEASE - timedelta(microseconds=1))
    assert await store.write(due, org="acme") == []
    clock.advance(timedelta(microseconds=1))
    [theirs] = await store.write(due, org="acme")
    assert (theirs.id, mine.attempts, theirs.attempts) == (mine.id, 1, 2)


@requirement("F-02")
async def test_whoever_lost_a_lease_neither_settles_nor_puts_off_what_another_has(
    store: Store, clock: ManualClock
) -> None:
    await given_request(store, channels=("chat",))
    [mine] = await store.write(due, org="acme")
    clock.advance(LEASE)
    [theirs] = await store.write(due, org="acme")
    assert await store.write(lambda tx: settle(tx, mine), org="acme") is False
    await store.write(lambda tx: reschedule(tx, mine, due_at=clock.now(), error="late"), org="acme")
    assert await store.write(due, org="acme") == [], "it was not put off by who had lost it"
    [(standing, error)] = await store.read(lambda tx: list_rows(tx, "queued", most=9), org="acme")
    assert (standing.id, error) == (theirs.id, None)
    assert await store.write(lambda tx: settle(tx, theirs), org="acme") is True
    assert await store.read(lambda tx: list_rows(tx, "queued", most=9), org="acme") == []


async def test_what_was_given_up_is_carried_out_again_only_where_somebody_says_so(
    store: Store, clock: ManualClock
) -> None:
    await given_request(store, channels=("chat",))
    [mine] = await store.write(due, org="acme")
    assert await store.write(lambda tx: settle(tx, mine, error="the chat is gone"), org="acme") is True
    clock.advance(100 * LEASE)
    assert await store.write(due, org="acme") == []
    assert await store.write(revive_dead, org="acme") == 1
    [again] = await store.write(due, org="acme")
    assert (again.id, again.attempts) == (mine.id, 1)


@requirement("S-64")
async def test_a_row_that_cannot_be_read_lets_those_behind_it_by(
    store: Store, clock: ManualClock, database_url: str
) -> None:
    spoilt, sound = [await given_request(store, name, channels=("chat",)) for name in ("req_1", "req_2")]
    with behind(database_url) as stranger:
        if database_url.startswith("sqlite"):
            stranger.execute("PRAGMA ignore_check_constraints = ON")
        else:
            stranger.execute("ALTER TABLE outbox DROP CONSTRAINT ck_outbox_kind")
        of = f"SELECT id FROM deliveries WHERE request_id = '{spoilt.id}'"
        stranger.execute(f"UPDATE outbox SET kind = 'none of ours', due_at = due_at - 1 WHERE delivery_id IN ({of})")
    assert await store.write(one_due, org="acme") == [], "the first is no row of a gateway's"
    [taken] = await store.write(one_due, org="acme")
    deliveries = look(database_url, f"SELECT id FROM deliveries WHERE request_id = '{sound.id}'")
    assert [(taken.delivery_id,)] == deliveries
