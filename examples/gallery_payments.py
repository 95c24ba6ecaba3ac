"""Payments in the gallery: what a card warns of, a batch, a refusal remembered, a pause, the broken glass, a result."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from app.domain.call.switch import PAUSE, Switch
from app.domain.call.tool import Tool, title_for
from app.domain.money.payment import Payment, PaymentFields, payments_of
from app.domain.people.assurance import Assurance
from app.domain.request.caution import Caution, CautionKind
from app.domain.request.request import Execution, ExecutionStatus, GrantStatus, Status
from examples.gallery_catalogue import ASKED_AT, TOOL, WANG, ZHAO, Exhibit, grant, payment, settled

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language

_BATCH = Tool(
    name="oa__pay_batch",
    title="Pay {lines.payee}",
    titles={"en": "Pay the supplier run {run}", "zh": "支付供应商批次 {run}"},
    labels={
        "currency": {"en": "Currency", "zh": "币种"},
        "run": {"en": "Run", "zh": "批次"},
        "lines": {"en": "Payments", "zh": "各笔付款"},
    },
    pin=("lines.payee", "lines.amount", "currency", "run"),
    payment=PaymentFields(
        amount="lines.amount", currency="currency", payee="lines.payee", account="lines.iban", reference="lines.invoice"
    ),
)
_LINES = (
    ("恒通钢铁 Hengtong Steel", "80000.00", "6222 0202 0011 2233", "2026-0118"),
    ("Northwind Freight", "12400.50", "6217 0000 1001 2345", "2026-0119"),
    ("晨光文具 Chenguang", "3200.00", "6228 4804 0256 4890", "2026-0120"),
    ("恒通钢铁 Hengtong Steel", "9990.00", "6222 0202 0011 2233", "2026-0121"),
    ("Harbour Insurance", "41300.00", "6225 8801 1223 3445", "2026-0122"),
)


def payments(language: Language) -> list[Exhibit]:
    """Return what a payment's card says besides the payment."""
    one = paid(payment(language))
    return [
        Exhibit(name="new bank details, over a budget", request=warned(one, _new_account(), _over_budget())),
        Exhibit(name="a first payee, out of hours", request=warned(one, _first(), Caution(kind=CautionKind.OFF_HOURS))),
        Exhibit(name="perhaps a duplicate; denied before", request=warned(one, _near_denied(), _duplicate())),
        Exhibit(name="a batch", request=batch(language), tool=_BATCH),
        Exhibit(name="paused while it waits", request=one, pause=_paused()),
        Exhibit(name="under the broken glass", request=_unasked(one)),
        Exhibit(name="run by the executor", request=_run(one), tool=_with_result()),
    ]


def paid(request: ConfirmationRequest) -> ConfirmationRequest:
    """Return a payment of the gallery with what the file reads out of it."""
    call = request.call.arguments
    each = Payment(amount=Decimal(str(call["amount"])), currency=str(call["currency"]), payee=str(call["payee"]))
    return replace(request, payments=(each,))


def warned(request: ConfirmationRequest, *cautions: Caution) -> ConfirmationRequest:
    """Return it with what speaks against it, one level up."""
    return replace(request, cautions=cautions, assurance=Assurance.L2)


def batch(language: Language) -> ConfirmationRequest:
    """Return five payments in one call."""
    lines = [dict(zip(("payee", "amount", "iban", "invoice"), line, strict=True)) for line in _LINES]
    arguments = cast("dict[str, JsonValue]", {"run": "2026-03-02", "currency": "CNY", "lines": lines})
    asked = payment(language)
    fields = _BATCH.payment
    return replace(
        asked,
        call=replace(asked.call, tool=_BATCH.name, arguments=arguments),
        title=title_for(_BATCH, arguments, language.value),
        pinned=_BATCH.pin,
        sensitive=(),
        payments=payments_of(fields, arguments) if fields else (),
    )


def _new_account() -> Caution:
    values = {"payee": "恒通钢铁 Hengtong Steel", "before": "4711", "now": "3445"}
    return Caution(kind=CautionKind.NEW_ACCOUNT, values=values)


def _first() -> Caution:
    return Caution(kind=CautionKind.FIRST_PAYEE, values={"payee": "恒通钢铁 Hengtong Steel"})


def _over_budget() -> Caution:
    values = {"budget": "agent-day", "span": "86400", "currency": "CNY", "spent": "18000", "limit": "20000"}
    return Caution(kind=CautionKind.OVER_BUDGET, values={**values, "adds": "80000"})


def _duplicate() -> Caution:
    of = {"payee": "恒通钢铁 Hengtong Steel", "amount": "80000", "currency": "CNY", "reference": "2026-0118"}
    return Caution(
        kind=CautionKind.DUPLICATE, values={**of, "at": "2026-02-27", "request": "req_2b8xk1", "paid": "yes"}
    )


def _near_denied() -> Caution:
    values = {"at": "2026-03-01 16:40 UTC+8", "request": "req_9z2m4c", "reason": "The delivery is short by two tons."}
    return Caution(kind=CautionKind.NEAR_DENIED, values=values)


def _paused() -> Switch:
    return Switch(
        name=PAUSE,
        agent="payer",
        is_on=True,
        reason="an odd invoice was seen",
        set_by="ops@acme.example",
        set_at=ASKED_AT,
    )


def _unasked(request: ConfirmationRequest) -> ConfirmationRequest:
    why = f"BREAK-GLASS gls_7h2k: nobody was asked. {WANG} and {ZHAO} broke it: “the payroll run is stuck”"
    open_to_all = replace(request, allowed_by="standing:gls_7h2k", stages=(), why=why, grant=grant(GrantStatus.ISSUED))
    return settled(open_to_all, Status.APPROVED, "standing:gls_7h2k")


def _with_result() -> Tool:
    labels = {**TOOL.labels, "receipt": {"en": "Receipt", "zh": "回单号"}}
    return dataclasses.replace(TOOL, enforced=True, result=("receipt",), labels=labels)


def _run(request: ConfirmationRequest) -> ConfirmationRequest:
    ran = Execution(
        id="exe_1",
        claim_id="executor.payments",
        status=ExecutionStatus.SUCCEEDED,
        started_at=ASKED_AT,
        lease_until=ASKED_AT,
        settled_at=ASKED_AT,
        result=json.dumps({"receipt": "B-2026-7731", "balance": "not for chats"}),
    )
    approved = replace(request, allowed_by="rule:small", stages=(), enforced=True, grant=grant(GrantStatus.CONSUMED))
    return replace(settled(approved, Status.APPROVED, "rule:small"), execution=ran)
