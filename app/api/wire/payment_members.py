"""What a request pays, and what speaks against it, as the wire shows it: texts that its arguments hide are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from typing_extensions import TypedDict

from app.domain.card.payments_shown import ShownPayments
from app.domain.card.request_warnings import caution_sentences
from app.domain.money.payment import plain
from app.domain.request.caution import CautionKind
from app.domain.text.language import Language
from app.domain.text.masking import mask, masked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.request.caution import Caution
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue


class PaymentView(TypedDict):
    """One payment that the call makes; the amount is a decimal text, and what is sensitive is masked."""

    amount: str
    currency: str
    payee: Any
    reference: Any


class CautionView(TypedDict):
    """What speaks against taking the call as one of many, such as `first_payee`, and the sentence that tells it."""

    kind: str
    text: str
    values: dict[str, Any]


class WarningView(TypedDict):
    """What people are warned of, as on the card: the kind, the argument that it is about, and the sentence."""

    kind: str
    field: str | None
    text: str
    values: dict[str, str]


class PaymentMembers(TypedDict):
    """The members of a request that are about payments."""

    payments: list[PaymentView]
    cautions: list[CautionView]


def payment_members(request: ConfirmationRequest, *, whole: bool) -> PaymentMembers:
    """Return the members of a request that are about payments. `whole`: for the agent that made the call."""
    arguments = request.call.arguments
    seen = frozenset(_texts(dict(arguments) if whole else masked(arguments, request.sensitive)))
    hidden = frozenset(_texts(dict(arguments))) - seen

    def shown(text: str | None) -> JsonValue:
        return text if text is None or text in seen else mask(text)

    # The register of payees is not the agent's to read, not even by asking for a payment into another account.
    cautions = [_for_agent(caution) for caution in request.cautions] if whole else [*request.cautions]
    sentences = caution_sentences(ShownPayments(request.payments, cautions, Language.EN, seen).cautions(), Language.EN)
    return {
        "payments": [
            {
                "amount": plain(payment.amount),
                "currency": payment.currency,
                "payee": shown(payment.payee),
                "reference": shown(payment.reference),
            }
            for payment in request.payments
        ],
        "cautions": [
            {
                "kind": caution.kind.value,
                "text": text,
                "values": {name: mask(value) if value in hidden else value for name, value in caution.values.items()},
            }
            for caution, text in zip(cautions, sentences, strict=True)
        ],
    }


def _for_agent(caution: Caution) -> Caution:
    """Leave out what would help to fit below it: how much is left of a budget, which account is the known one."""
    values = dict(caution.values)
    match caution.kind:
        case CautionKind.NEW_ACCOUNT:
            return replace(caution, values={**values, "before": ""})
        case CautionKind.OVER_BUDGET:
            return replace(caution, values={name: values[name] for name in ("budget", "span") if name in values})
        case _:
            return caution


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield every text and whole number in a value, as texts."""
    match value:
        case str():
            yield value
        case bool() | float() | None:
            pass
        case int():
            yield str(value)
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)
