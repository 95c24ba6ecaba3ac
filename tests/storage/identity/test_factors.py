"""A code is spent in its row, whoever looked at it before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.identity.factor import Factor, FactorStatus
from app.storage.identity.factors import find_factor, put_factor, use_step
from tests.domain.samples import START
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.storage.engine.store import Store

ANN = "ann@acme.example"


@requirement("S-29")
async def test_a_step_is_spent_once_and_none_before_it_afterwards(store: Store) -> None:
    active = Factor(person=ANN, status=FactorStatus.ACTIVE, secret="s", set_by="olga", set_at=START, last_step=7)
    await store.write(lambda tx: put_factor(tx, active, is_new=True), org="acme")

    async def spent(step: int, *, org: str = "acme") -> bool:
        return await store.write(lambda tx: use_step(tx, ANN, step, sealed=f"s{step}"), org=org)

    assert [await spent(step) for step in (7, 9, 9, 8, 10)] == [False, True, False, False, True]
    assert not await spent(11, org="globex")
    found = await store.read(lambda tx: find_factor(tx, ANN), org="acme")
    assert found is not None
    assert (found.last_step, found.secret) == (10, "s10")
