"""Weigh the payments of a call against what was spent before, in the unit that opens it, and count what it spends.

What speaks against taking it as one of many is returned, the weightiest first; `raised` says what follows.
Payments of an org are weighed one after the other, on all replicas: of two calls that would each be the last to fit
into a budget, one finds the other counted.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from app.domain.request.caution import Caution, CautionKind
from app.storage.payments.spends import drop_spends, insert_spends, lock_spending, units_of
from app.usecases.payments.weigh_budgets import over_budgets
from app.usecases.payments.weigh_payees import account_tail, duplicates, strangers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from app.storage.engine.transaction import Tx
    from app.usecases.judging.judge_call import Judged

ORDER = (
    CautionKind.NEW_ACCOUNT,
    CautionKind.FIRST_PAYEE,
    CautionKind.DUPLICATE,
    CautionKind.OVER_BUDGET,
    CautionKind.OFF_HOURS,
)
MOST_OF_A_KIND = 4
"""More of one kind are counted, not told one by one: a card must be read in seconds."""


def weigh(tx: Tx, judged: Judged, *, now: datetime, instead_of: str | None = None) -> tuple[Caution, ...]:
    """Return what speaks against taking a call as one of many. `instead_of`: a request whose own spends do not count.

    From here to the commit nobody else weighs payments of this org: what is found is still true when it is counted.
    """
    if not judged.payments:
        return ()
    now = max(now, lock_spending(tx))
    hours = judged.policy.hours
    found = [
        *strangers(tx, judged),
        *duplicates(tx, judged, now=now, instead_of=instead_of or ""),
        *over_budgets(tx, judged, now=now, instead_of=instead_of or ""),
    ]
    if hours is not None and not hours.is_working(now):
        found.append(Caution(kind=CautionKind.OFF_HOURS))
    return tuple(each for kind in ORDER for each in _at_most(each for each in found if each.kind is kind))


def spend(tx: Tx, judged: Judged, *, request_id: str | None, standing_id: str | None = None) -> None:
    """Count the payments of a call: reserved with its request, or spent at once where it was allowed without one."""
    if not judged.payments:
        return
    call = judged.call
    rows: list[dict[str, object]] = [
        {
            "request_id": request_id,
            "standing_id": standing_id,
            "agent": call.agent,
            "owner": call.owner,
            "tool": call.tool,
            "payee": unicodedata.normalize("NFC", payment.payee),
            "payee_key": payment.payee_key,
            "account_key": payment.account_key,
            "account_tail": account_tail(judged, payment),
            "reference": payment.reference,
            "currency": payment.currency,
            "amount": units_of(payment.amount),
        }
        for payment in judged.payments
    ]
    insert_spends(tx, rows)


def spend_instead(tx: Tx, judged: Judged, *, request_id: str) -> None:
    """Count the payments of a request's call after people have changed it, and no longer those that it had before."""
    drop_spends(tx, request_id)
    spend(tx, judged, request_id=request_id)


def _at_most(cautions: Iterable[Caution]) -> list[Caution]:
    """Return the first of one kind; the last of them says how many more there are."""
    found = list(cautions)
    more = len(found) - MOST_OF_A_KIND
    if more <= 0:
        return found
    last = found[MOST_OF_A_KIND - 1]
    return [*found[: MOST_OF_A_KIND - 1], Caution(kind=last.kind, values={**last.values, "more": str(more)})]
