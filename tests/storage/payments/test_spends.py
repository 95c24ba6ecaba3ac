"""What was spent is each org's own, and only what people have looked at vouches for a payee."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from app.domain.request.request import ExecutionStatus, Settlement, Status
from app.storage.payments.spends import insert_spends, list_paid, list_spent
from tests.domain.samples import START, claimed
from tests.requirements import requirement
from tests.storage.rig import given_request

if TYPE_CHECKING:
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.payments.spends import Paid, Spent

SPENT: dict[str, Any] = {
    "request_id": None,
    "standing_id": None,
    "agent": "shop",
    "owner": None,
    "tool": "pay",
    "payee": "Acme Ltd",
    "payee_key": "acmeltd",
    "account_key": "",
    "account_tail": "",
    "reference": None,
    "currency": "CNY",
}


async def spend(store: Store, org: str, amount: int, **more: Any) -> None:
    await store.write(lambda tx: insert_spends(tx, [{**SPENT, "amount": amount, **more}]), org=org)


@requirement("S-14")
async def test_what_another_org_has_spent_is_not_counted(store: Store) -> None:
    await spend(store, "acme", 100)
    await spend(store, "globex", 900)

    def sums(tx: Tx) -> list[Spent]:
        return list_spent(tx, "agent", ["shop"], since=START - timedelta(days=1), instead_of="")

    assert [each.units for each in await store.read(sums, org="acme")] == [100]
    assert [each.units for each in await store.read(sums, org="globex")] == [900]


async def test_only_a_payment_that_people_approved_vouches_for_its_payee(store: Store) -> None:
    paid = claimed(ExecutionStatus.SUCCEEDED)
    settled = Settlement(at=START, by="ann@acme.example", reason=None, via=None)
    for name, allowed_by in (("req_1", "rule:small"), ("req_2", None)):
        ended = {"status": Status.APPROVED, "settlement": settled, "grant": paid.grant, "execution": paid.execution}
        await given_request(store, name, allowed_by=allowed_by, **ended)
    await spend(store, "acme", 100, request_id="req_1", payee_key="by-rule")
    await spend(store, "acme", 100, request_id="req_2", payee_key="by-people")
    await spend(store, "acme", 100, payee_key="at-once")

    def known(tx: Tx) -> list[Paid]:
        return list_paid(tx, ["by-rule", "by-people", "at-once"])

    assert [each.payee_key for each in await store.read(known, org="acme")] == ["by-people"]
    assert await store.read(known, org="globex") == []
