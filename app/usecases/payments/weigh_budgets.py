"""Hold a call's payments against the file's budgets: what was spent lately, by whom or to whom, and what it adds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from app.domain.money.payment import plain, totals
from app.domain.request.caution import Caution, CautionKind
from app.domain.rules.policy import Allow
from app.domain.rules.spending import Budget, Per
from app.storage.payments.spends import amount_of, list_spent
from app.usecases.payments.weigh_payees import payee_told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from app.domain.money.payment import Payment
    from app.storage.engine.transaction import Tx
    from app.usecases.judging.judge_call import Judged


class _Share(Struct, frozen=True, kw_only=True):
    """Payments of one call that one budget counts together: the column and the value by which earlier ones are found.

    `payee` is to whom they go, where the budget is one for each payee.
    """

    column: str
    whose: str
    payments: tuple[Payment, ...]
    payee: str | None = None


@dataclass(slots=True)
class _Before:
    """What earlier payments come to."""

    sums: dict[str, Decimal] = field(default_factory=lambda: defaultdict[str, Decimal](Decimal))
    payments: int = 0


def over_budgets(tx: Tx, judged: Judged, *, now: datetime, instead_of: str) -> Iterator[Caution]:
    """Yield a caution for each budget that this call does not fit into."""
    is_asked = bool(instead_of) or not isinstance(judged.ruling, Allow)
    for budget in judged.policy.payments.budgets:
        if not _is_about(budget, judged, judged.call.tool) or (budget.unasked_only and is_asked):
            continue
        shares = _shares(budget.per, judged)
        before = _spent_before(tx, budget, judged, shares, now=now, instead_of=instead_of)
        over = (_over(budget, share, before[share.column, share.whose]) for share in shares)
        first = next((values for values in over if values is not None), None)
        if first is not None:
            yield Caution(kind=CautionKind.OVER_BUDGET, values=first)


def _is_about(budget: Budget, judged: Judged, tool: str) -> bool:
    """Say whether a budget counts the payments of a tool, under any of its names."""
    names = judged.policy.names_of(tool)
    return not budget.tools or any(pattern.matches(name) for pattern in budget.tools for name in names)


def _shares(per: Per, judged: Judged) -> list[_Share]:
    call, payments = judged.call, judged.payments
    match per:
        case Per.ORG:
            return [_Share(column="org", whose=call.org, payments=payments)]
        case Per.AGENT:
            return [_Share(column="agent", whose=call.agent, payments=payments)]
        case Per.OWNER if call.owner is not None:
            return [_Share(column="owner", whose=call.owner, payments=payments)]
        case Per.OWNER:  # nobody answers for it: then it stands for itself
            return [_Share(column="agent", whose=call.agent, payments=payments)]
        case Per.PAYEE:
            return [*_by("payee_key", judged), *_by("account_key", judged)]
        case _:
            assert_never(per)


def _by(column: str, judged: Judged) -> Iterator[_Share]:
    """Count together what goes to one name, or into one account; payments that name no account are in none."""
    grouped: dict[str, list[Payment]] = {}
    for payment in judged.payments:
        whose = payment.payee_key if column == "payee_key" else payment.account_key
        if whose:
            grouped.setdefault(whose, []).append(payment)
    for whose, group in grouped.items():
        yield _Share(column=column, whose=whose, payments=tuple(group), payee=payee_told(judged, group[0]))


def _spent_before(
    tx: Tx, budget: Budget, judged: Judged, shares: Sequence[_Share], *, now: datetime, instead_of: str
) -> Mapping[tuple[str, str], _Before]:
    before: dict[tuple[str, str], _Before] = defaultdict(_Before)
    since = now - budget.within
    for column in dict.fromkeys(share.column for share in shares):
        keys = [share.whose for share in shares if share.column == column]
        for spent in list_spent(tx, column, keys, since=since, instead_of=instead_of, unasked_only=budget.unasked_only):
            if _is_about(budget, judged, spent.tool):
                of_one = before[column, spent.whose]
                of_one.sums[spent.currency] += amount_of(spent.units)
                of_one.payments += spent.payments
    return before


def _over(budget: Budget, share: _Share, before: _Before) -> dict[str, str] | None:
    """Return what a card says of a budget that this share does not fit into; None: it fits."""
    told = {"budget": budget.id, "span": str(int(budget.within.total_seconds()))}
    if share.payee is not None:
        told["payee"] = share.payee
    for currency, adds in totals(share.payments).items() if budget.limit is not None else ():
        limit = (budget.limit or {}).get(currency)
        if limit is None:
            return {**told, "currency": currency}
        if before.sums[currency] + adds > limit:
            spent = plain(before.sums[currency])
            return {**told, "currency": currency, "spent": spent, "limit": plain(limit), "adds": plain(adds)}
    if budget.count is not None and before.payments + len(share.payments) > budget.count:
        return {**told, "made": str(before.payments), "count": str(budget.count), "adds": str(len(share.payments))}
    return None
